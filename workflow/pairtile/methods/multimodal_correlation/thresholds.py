"""What every threshold search walks over: one correlation of each pair, from high to low."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


@dataclass
class Threshold:
    """Outcome of a search for a threshold of the correlation.

    ``threshold``: keep the pairs with ``|r| >= np.float32(threshold)``; None where none was found.
    ``curve``: a row for each step of the walk. ``message``: the outcome in words; where there is
    none, why, and what to do. ``spacings``: see ``random_matrix_threshold``; empty otherwise.
    """

    threshold: float | None
    curve: pd.DataFrame
    message: str
    spacings: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class RankedPairs:
    """Pairs of genes by falling ``|r|``, so that those of a threshold are the first so many.

    ``i``, ``j``: int64 (pairs,), i < j. ``r``, ``size``: float32 (pairs,), the correlation and
    its absolute value. Make one with ``RankedPairs.of``.
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    r: NDArray[np.float32]
    size: NDArray[np.float32]

    @classmethod
    def of(cls, i: ArrayLike, j: ArrayLike, r: ArrayLike, n_genes: int) -> RankedPairs:
        """From modes in any order: of several modes of a pair that of largest ``|r|`` counts, of
        equally large ones the positive.

        Raises
        ------
        ValueError
            Where arrays differ in length, a gene is not in 0 .. n_genes - 1 or paired with
            itself, or a correlation is missing or not within -1 .. 1.
        """
        first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        value = np.asarray(r, dtype=np.float32)
        if not first.shape == second.shape == value.shape or first.ndim != 1:
            raise ValueError("i, j and r: expected three lists of equal length")
        low, high = np.minimum(first, second), np.maximum(first, second)
        if low.size and (low.min() < 0 or high.max() >= n_genes or (low == high).any()):
            raise ValueError(f"i and j: expected pairs of two genes from 0 to {n_genes - 1}")
        if not (np.abs(value) <= 1).all():
            raise ValueError("r: expected correlations from -1 to 1")
        size = np.abs(value)
        order = np.lexsort((-value, high, low, -size))
        low, high, value, size = low[order], high[order], value[order], size[order]
        _, strongest = np.unique(low * n_genes + high, return_index=True)
        if strongest.size < low.size:
            strongest.sort()
            low, high, value, size = (
                low[strongest],
                high[strongest],
                value[strongest],
                size[strongest],
            )
        return cls(low, high, value, size)

    def count(self, threshold: float) -> int:
        """How many pairs have ``|r|`` of at least ``threshold`` (taken in single precision)."""
        return int(np.searchsorted(-self.size, -np.float32(threshold), side="right"))


def walk(
    start: float, step: float, stop: float | None, lowest: float, single: bool = False
) -> list[float]:
    """Thresholds from ``start`` down by ``step``, none below ``stop`` or ``lowest``.

    Parameters
    ----------
    start, step : float
        Above 0.
    stop : float or None
        Where to end; None: at ``lowest``.
    lowest : float
        Least ``|r|`` that was kept: below it the network is not known.
    single : bool
        Subtract in single precision, errors adding up, as KINC does.
    """
    if not (0 < start <= 1 and 0 < step < 1):
        raise ValueError(f"start {start}, step {step}: expected from above 0 to 1")
    end = lowest if stop is None else max(stop, lowest)
    if single:
        values = [np.float32(start)]
        while values[-1] > end:
            values.append(np.float32(values[-1] - np.float32(step)))
        return [float(value) for value in values if value >= np.float32(end)]
    n_steps = max(0, int((start - end) / step) + 2)
    decimal = (round(start - k * step, 9) for k in range(n_steps))
    return [value for value in decimal if np.float32(value) >= np.float32(end)]
