"""Pairs of samples of one series, a number of steps apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError


class Lagged(NamedTuple):
    """Columns of a table: ``source`` stands ``lag`` steps before ``target``, in the same series.
    int32 (transitions,); series by series, each in the order of time."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]


def lagged_samples(series: NDArray[np.integer], lag: int, source: str) -> Lagged:
    """All pairs of samples that lie ``lag`` steps apart in the same series.

    Within a series, time runs as the samples stand in the table, whether or not samples of other
    series stand between them; no pair joins two series. With ``lag`` 0 every sample is paired with
    itself.

    Parameters
    ----------
    series : int (samples,), not negative
    lag : 0 or more
    source : where the series come from, for the message

    Raises
    ------
    InputError
        If no series is longer than ``lag``, so that there is no pair at all.
    """
    order = np.argsort(series, kind="stable").astype(np.int32)
    earlier, later = order[: max(series.size - lag, 0)], order[lag:]
    same = series[earlier] == series[later]
    if not same.any():
        lengths = np.unique(series, return_counts=True)[1]
        longest = int(lengths.max(initial=0))
        raise InputError.at(
            source,
            "",
            f"{len(lengths)} series of at most {longest} sample{'s' if longest != 1 else ''}",
            f"a series of at least {lag + 1} samples for lag: {lag} (set lag: 0 if the samples are "
            "no time series)",
        )
    return Lagged(earlier[same], later[same])
