"""Values that were missing and are filled in from others, told by their digits.

A value that was measured has as many digits as others of its size; a mean, or what a model
predicts, has more. Where all have as many as a computer holds, a mean of nearest neighbours is
still the mean of some of them to the last digit, which a value that was measured is not.
"""

from __future__ import annotations

import numpy as np

from pairtile.arrays import BoolArray, Float64Array, IntegerArray
from pairtile.engine.state import copy_rows
from pairtile.preprocess.statistics import column_medians
from pairtile.preprocess.value_kind import INVERSES, MAX_DECIMALS, in_decimals
from pairtile.runtime.threads import in_threads
from pairtile.statistics.dependence import MAX_GENES, MAX_SAMPLES, evenly_spaced, remembered

MAX_COMMON_DECIMALS = 6
"""Values that most have more decimals of are computed: no digit tells of what they were made."""

MAX_VALUES, MAX_LINES = 1 << 24, 24
"""Larger tables are not searched for means; rows, and columns, of which values are looked at."""

NEIGHBOURS, MIN_MEANS = 22, 3
"""Nearest rows of which some may make a mean; fewer means tell nothing."""


@remembered
def are_filled_in(values: Float64Array) -> bool:
    """Whether missing values of a table seem to be filled in from others of it.

    values : float64 (genes, samples), as they were read, NaN where missing.
    """
    genes, samples = map(evenly_spaced, values.shape, (MAX_GENES, MAX_SAMPLES))
    if _longer_share(copy_rows(values, genes, samples).astype(np.float64)) >= 0.01:
        return True
    precise = values.dtype == np.float64 and values.size <= MAX_VALUES
    return precise and any(map(_holds_means, (values, values.T)))


def _longer_share(values: Float64Array) -> float:
    """Share of the values that have more decimals, and more digits in all, than is usual in their
    row, in rows and columns where these are few: 1.234 and 12.34 both have four digits."""

    def decimals_of(rows: Float64Array) -> IntegerArray:
        # Where two, four or eight rows of a gene are averaged, half of the values have a digit more
        # than the others.
        return np.sum([~in_decimals(8.0 * np.abs(rows), k) for k in range(MAX_DECIMALS)], axis=0)

    # So many values that they stay in a core's caches.
    parts = np.array_split(values, 1 + (values.size >> 14))
    number = np.concatenate(list(in_threads(decimals_of, parts)))
    decimals = np.where(np.isfinite(values), number, np.nan)
    with np.errstate(divide="ignore"):
        digits = decimals + np.floor(np.log10(np.abs(values)))
    # Each value of a row once: most may be 0 or a limit of detection, which has few digits.
    order, again = np.argsort(values, axis=1), np.zeros(values.shape, dtype=bool)
    steps = np.diff(np.take_along_axis(values, order, axis=1), axis=1)
    np.put_along_axis(again, order[:, 1:], steps == 0.0, axis=1)
    distinct = (np.where(again, np.nan, some).T for some in (decimals, digits))
    usual, usual_digits = (column_medians(some)[:, None] for some in distinct)
    longer = (decimals > usual) & (digits > usual_digits) & (usual <= MAX_COMMON_DECIMALS)
    longer &= (~again & np.isfinite(values)).sum(axis=1, keepdims=True) > 2  # of two none is usual
    for axis in (1, 0):  # samples may have digits of their own
        longer = longer & (2 * longer.sum(axis, keepdims=True) <= values.shape[axis])
    if min(longer.any(axis=0).mean(), longer.any(axis=1).mean()) < 0.1:
        return 0.0
    # A limit of detection by the root of 2 is the same in many cells of a row or column.
    cells = np.where(longer, values, np.nan)
    repeated = max(np.sum(np.diff(np.sort(cells, axis), axis=axis) == 0.0) for axis in (0, 1))
    return float(longer.mean()) if 3 * (longer.sum() - repeated) > longer.sum() else 0.0


def _holds_means(values: Float64Array) -> bool:
    """Whether some values are, to the last digit, the mean of some of those that the nearest rows
    have in their column."""
    norms = np.einsum("ij,ij->i", values, values)
    rows = np.flatnonzero(np.isfinite(norms))
    if min(rows.size, len(values) - 1) < NEIGHBOURS:
        return False
    rows = rows[evenly_spaced(rows.size, MAX_LINES)]
    distances = norms - 2.0 * values[rows] @ values.T
    distances[np.arange(rows.size), rows] = np.inf
    some = values[:, evenly_spaced(values.shape[1], MAX_LINES)]
    own, near = some[rows], some[np.argsort(distances, axis=1)[:, :NEIGHBOURS]]
    found = _are_means(own, near)
    # A row may be the mean of others altogether: those are not counted.
    n_found = (found & (found.mean(axis=1, keepdims=True) < 0.5)).sum()
    # Numbers of a unit, such as shares of a total, or thirds of numbers of few digits (averages of
    # three rows of a gene), are means of others by chance: also of those that are near another row,
    # and where they stand in another column.
    return bool(
        n_found >= MIN_MEANS
        and n_found
        >= MIN_MEANS
        + 10 * _are_means(own, near[::-1]).sum()
        + 10 * _are_means(np.roll(own, 1, axis=1), near).sum()
    )


def _are_means(own: Float64Array, near: Float64Array) -> BoolArray:
    """Which values, (rows, columns), are the mean of some of their others, (rows, others, columns):
    whether some of the differences from it add up to 0.

    All sums of one half of the differences are looked for among all those of the other half
    (Horowitz and Sahni 1974, J ACM 21:277).
    """
    differences = near - own[:, None]
    chosen = np.arange(1 << NEIGHBOURS // 2)[:, None] >> np.arange(NEIGHBOURS // 2) & 1
    one, two = (chosen @ differences[:, half::2] for half in (0, 1))
    rounding = 3e-15 * np.abs(near).sum(axis=1)

    def of_row(row: int) -> list[bool]:
        found = []
        for ours, theirs, least in zip(one[row].T, two[row].T, rounding[row], strict=True):
            sums, wanted = np.sort(-theirs), ours[1:]  # not of none
            at = np.searchsorted(sums, wanted - least)
            found.append(bool(np.abs(sums.take(at, mode="clip") - wanted).min() <= least))
        return found

    found = np.array(list(in_threads(of_row, range(len(own)))))
    found &= (differences != 0.0).all(axis=1)  # a limit is the mean of limits
    # Numbers of few digits, and logarithms of such, are often means of others.
    return np.asarray(found & ~_few_digits(own) & (own != own.astype(np.float32)))


def _few_digits(values: Float64Array) -> BoolArray:
    """Which values, or what they may be logarithms of, have at most ``MAX_DECIMALS`` digits behind
    their first, but for rounding."""
    with np.errstate(all="ignore"):
        numbers = np.array([inverse(values) for inverse in INVERSES.values()])
        mantissas = numbers / 10.0 ** np.floor(np.log10(np.abs(numbers)))
        return np.asarray(in_decimals(mantissas, MAX_DECIMALS).any(axis=0))
