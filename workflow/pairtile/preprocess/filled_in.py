"""Values that were missing and are filled in from others, told by their digits.

A value that was measured has as many digits as others of its size; a mean, or what a model
predicts, has more. Where all have as many as a computer holds, a mean of nearest neighbours is
still the mean of some of them to the last digit, which a value that was measured is not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pairtile.arrays import BoolArray, Float64Array
from pairtile.cpu.njit import njit
from pairtile.engine.state import copy_rows
from pairtile.preprocess.value_kind import INVERSES, MAX_DECIMALS, in_decimals
from pairtile.statistics.dependence import MAX_GENES, MAX_SAMPLES, evenly_spaced

MAX_COMMON_DECIMALS = 6
"""Values that most have more decimals of are computed: no digit tells of what they were made."""

MAX_VALUES, MAX_ROWS, MAX_CELLS = 1 << 24, 300, 400
"""Larger tables are not searched for means; rows of which neighbours are sought, and values."""

NEIGHBOURS, USUAL = 22, (5, 10)
"""Nearest rows of which some may make a mean, and how many do by custom: where some of these miss a
value, others take their place."""

MIN_ROWS = 8

MIN_MEANS = 3
"""Values that are means by chance: one in ten thousand at most."""


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
    """Share of the values that have more decimals than most of their size in their row, in rows and
    columns where these are few."""
    doubled = 2.0 * np.abs(values)  # duplicates that are averaged have a digit more
    decimals = sum(~in_decimals(doubled, digits) for digits in range(MAX_DECIMALS))
    with np.errstate(divide="ignore"):
        sizes = np.floor(np.log10(np.abs(values)))  # 1.234 and 12.34: both have four digits
    common = np.zeros(values.shape)
    for size in np.unique(sizes[np.isfinite(sizes)]):
        inside = sizes == size
        ascending = np.sort(np.where(inside, decimals, MAX_DECIMALS), axis=1)
        number = inside.sum(axis=1, keepdims=True)
        middle = np.take_along_axis(ascending, number // 2, axis=1)
        most = 2 * (inside & (decimals == middle)).sum(axis=1, keepdims=True) >= number
        common = np.where(inside & most, middle, common)
    known = (common > 0) & (common <= MAX_COMMON_DECIMALS)
    longer = known & (decimals > common)
    for axis in (1, 0):  # samples may have digits of their own
        usual = 2 * longer.sum(axis, keepdims=True) <= known.sum(axis, keepdims=True)
        usual &= 2 * known.sum(axis, keepdims=True) >= values.shape[axis]
        known, longer = known & usual, longer & usual
    if min(longer.any(axis=0).mean(), longer.any(axis=1).mean()) < 0.1:
        return 0.0
    # A limit of detection by the root of 2 is the same in many cells of a row or column.
    cells = pd.DataFrame(np.where(longer, values, np.nan))
    distinct = min(cells.nunique(axis=axis).sum() for axis in (0, 1))
    return float(longer.sum() / known.sum()) if 3 * distinct > longer.sum() else 0.0


def _holds_means(values: Float64Array) -> bool:
    """Whether values are means of others of their column, in rows that are near theirs."""
    norms = np.einsum("ij,ij->i", values, values)
    rows = np.flatnonzero(np.isfinite(norms))
    if rows.size < MIN_ROWS:
        return False
    rows = rows[evenly_spaced(rows.size, MAX_ROWS)]
    distances = norms - 2.0 * values[rows] @ values.T
    distances[np.arange(rows.size), rows] = np.inf
    near = np.argsort(distances, axis=1)[:, : min(NEIGHBOURS, len(values) - 1)]
    gaps = np.min([np.abs(values[rows] - values[near[:, :k]].mean(axis=1)) for k in USUAL], axis=0)
    spread = gaps.mean(axis=1, keepdims=True)
    nearest = np.argsort(gaps / np.where(spread > 0.0, spread, 1.0), axis=None)[:MAX_CELLS]
    own, column = np.divmod(nearest, values.shape[1])
    cells = values[rows[own], column]
    means = are_means(cells, values[near[own].T, column].T)
    # Numbers of few digits, and logarithms of such, are often means of others.
    means &= ~_few_digits(cells) & (cells != cells.astype(np.float32))
    if means.sum() < MIN_MEANS:
        return False
    # A row may be the mean of others altogether.
    farthest = gaps.argmax(axis=1)[own]
    means &= ~are_means(values[rows[own], farthest], values[near[own].T, farthest].T)
    closest = np.argsort(np.abs(values[:, column] - cells), axis=0)[: NEIGHBOURS + 1]
    by_chance = are_means(cells, values[closest, column].T)
    return bool(means.sum() >= MIN_MEANS + 2 * by_chance.sum())


def _few_digits(values: Float64Array) -> BoolArray:
    """Which values, or what they may be logarithms of, have at most ``MAX_DECIMALS`` digits behind
    their first, but for rounding."""
    with np.errstate(all="ignore"):
        numbers = np.array([inverse(values) for inverse in INVERSES.values()])
        mantissas = numbers / 10.0 ** np.floor(np.log10(np.abs(numbers)))
        return np.asarray(in_decimals(mantissas, MAX_DECIMALS).any(axis=0))


@njit(nogil=True)
def are_means(values, others):  # type: ignore[no-untyped-def]
    """Whether each of the values, float64 (values,), is the mean of some of its ``others``, float64
    (values, others): whether some of their differences from it sum to 0.

    All sums of one half of the differences meet all those of the other half, both in ascending
    order (Horowitz and Sahni 1974, J ACM 21:277). Others that are equal to it or NaN do not count.
    """
    found = np.zeros(values.size, np.bool_)
    for k in range(values.size):
        differences = others[k] - values[k]
        differences = differences[np.abs(differences) > 0.0]
        rounding = 3e-15 * (np.abs(differences).sum() + differences.size * abs(values[k]))
        one, two = _sorted_sums(differences[::2]), _sorted_sums(differences[1::2])
        # Of each half the sum of none is 0.
        found[k] = max((np.abs(one) <= rounding).sum(), (np.abs(two) <= rounding).sum()) > 1
        i, j = 0, two.size - 1
        while i < one.size and j >= 0 and not found[k]:
            total = one[i] + two[j]
            if abs(total) <= rounding and abs(one[i]) > rounding:
                found[k] = True
            elif total > rounding:
                j -= 1
            else:
                i += 1
    return found


@njit(nogil=True)
def _sorted_sums(numbers):  # type: ignore[no-untyped-def]
    """The sums of all choices of some of these numbers, and of none, ascending."""
    sums = np.zeros(1)
    for number in numbers:
        merged = np.empty(2 * sums.size)
        i = j = 0
        for k in range(merged.size):
            if j == sums.size or (i < sums.size and sums[i] <= sums[j] + number):
                merged[k] = sums[i]
                i += 1
            else:
                merged[k] = sums[j] + number
                j += 1
        sums = merged
    return sums
