"""From time series to transitions: which sample predicts which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError


@dataclass(frozen=True)
class Transitions:
    """Pairs of samples: predictors are read in one, the target in the other, ``lag`` steps later.

    ``source_samples``, ``target_samples``: int32, shape (transitions,), column numbers of the
    table. They stand series by series, each in the order of time, so that the transitions of one
    series are neighbours; ``series``: int32, the series of each. ``n_short``: series that are too
    short to have a transition; ``n_series``: all of them.
    """

    source_samples: NDArray[np.int32]
    target_samples: NDArray[np.int32]
    series: NDArray[np.int32]
    n_series: int
    n_short: int

    def __len__(self) -> int:
        return len(self.source_samples)


def transitions(
    n_samples: int,
    lag: int,
    series: NDArray[np.int32] | None = None,
    source: str = "series",
) -> Transitions:
    """All pairs of samples that lie ``lag`` steps apart in the same series.

    Within a series, time runs as the samples stand in the table, whether or not samples of other
    series stand between them; no pair joins two series. With ``lag`` 0 every sample is paired with
    itself.

    Parameters
    ----------
    n_samples : samples of the table
    lag : 0 or more
    series : int32, shape (samples,), not negative; None: all samples are one series
    source : where the series come from, for the message

    Raises
    ------
    InputError
        If no series is longer than ``lag``, so that there is no pair at all.

    Examples
    --------
    >>> found = transitions(5, 1, np.array([0, 0, 1, 0, 1], dtype=np.int32))
    >>> list(zip(found.source_samples.tolist(), found.target_samples.tolist()))
    [(0, 1), (1, 3), (2, 4)]
    """
    numbers = np.zeros(n_samples, dtype=np.int32) if series is None else np.asarray(series)
    if numbers.shape != (n_samples,):
        raise ValueError(f"series has shape {numbers.shape}; expected ({n_samples},)")
    if lag < 0:
        raise ValueError(f"lag is {lag}; expected 0 or more")
    order = np.argsort(numbers, kind="stable").astype(np.int32)
    earlier, later = order[: max(n_samples - lag, 0)], order[lag:]
    same = numbers[earlier] == numbers[later]
    _, lengths = np.unique(numbers, return_counts=True)
    if not same.any():
        longest = int(lengths.max(initial=0))
        raise InputError.at(
            source,
            "",
            f"{len(lengths)} series of at most {longest} sample{'s' if longest != 1 else ''}",
            f"a series of at least {lag + 1} samples for lag: {lag} (set lag: 0 if the samples are "
            "no time series)",
        )
    return Transitions(
        source_samples=earlier[same],
        target_samples=later[same],
        series=numbers[earlier[same]].astype(np.int32),
        n_series=len(lengths),
        n_short=int((lengths <= lag).sum()),
    )
