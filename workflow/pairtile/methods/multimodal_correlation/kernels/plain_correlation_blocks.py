"""Blocks of correlations on the CPU: twin of plain_correlation_blocks.cuh.

From products of matrices to correlations, and from a block of correlations to the pairs kept.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit, prange

TO_DO: Final = 2.0
"""Stands in place of a correlation that must be computed from the pair's own samples."""

R_BINS: Final = 200
"""Bins of the histogram of correlations, from -1 to 1."""

TOO_FEW, CONSTANT, DEGENERATE, KEPT, BELOW, ABOVE = range(6)
COUNTS: Final = 6
"""What ``count_rows`` counts, and how many such numbers there are."""


@njit(cache=True, parallel=True, nogil=True)
def tie_groups(values, order, usable_counts, start, end, tied):  # type: ignore[no-untyped-def]
    """Fill ``start``, ``end`` and ``tied`` from each gene's order of its usable samples."""
    for gene in prange(len(values)):
        count = usable_counts[gene]
        start[gene] = 0
        end[gene] = 0
        tied[gene] = 0
        first = 0
        while first < count:
            value = values[gene, order[gene, first]]
            last = first + 1
            while last < count and values[gene, order[gene, last]] == value:
                last += 1
            if last - first > 1:
                tied[gene] = 1
            for place in range(first, last):
                start[gene, order[gene, place]] = first
                end[gene, order[gene, place]] = last
            first = last


@njit(cache=True, parallel=True, nogil=True)
def finish_products(  # type: ignore[no-untyped-def]
    length_x, length_y, whole_x, whole_y, samples, nearly, r, n
):
    """Correlations of genes with all samples, from products of their centred values, in place.

    length_*  float64: sums of squares of the centred values; 0: a constant gene
    whole_*   uint8: whether a gene has all samples; a pair of others is left to do
    nearly    a correlation as near to 1 as this is taken as 1
    r, n      (rows, columns): r holds the products
    """
    rows, columns = r.shape
    for row in prange(rows):
        for column in range(columns):
            n[row, column] = samples
            if not (whole_x[row] and whole_y[column]):
                r[row, column] = TO_DO
            elif length_x[row] == 0.0 or length_y[column] == 0.0:
                r[row, column] = np.nan
            else:
                length = np.sqrt(length_x[row] * length_y[column])
                r[row, column] = in_range(r[row, column] / length, nearly)


@njit(cache=True, parallel=True, nogil=True)
def finish_masked_products(  # type: ignore[no-untyped-def]
    sum_x, sum_y, square_x, square_y, counts, pair_x, pair_y, least, trust, nearly, r, n
):
    """Pearson's r from sums over the samples that both genes have, in place.

    sum_*, square_*  float64 (rows, columns): sums of a gene's values and their squares
    counts           float64 (rows, columns): samples of the pair
    pair_*           uint8: whether a gene's outliers must be found pair by pair
    least            pairs with fewer samples are not computed
    trust            a variance under this part of the mean square has lost too many digits: the
                     pair is left to do
    r, n             (rows, columns): r holds the sums of products
    """
    rows, columns = r.shape
    for row in prange(rows):
        for column in range(columns):
            count = counts[row, column]
            n[row, column] = int(count)
            if pair_x[row] or pair_y[column]:
                r[row, column] = TO_DO
                continue
            xx, yy = square_x[row, column], square_y[row, column]
            if count < least or xx == 0.0 or yy == 0.0:
                r[row, column] = np.nan
                continue
            mean_x, mean_y = sum_x[row, column] / count, sum_y[row, column] / count
            spread_x = xx - sum_x[row, column] * mean_x
            spread_y = yy - sum_y[row, column] * mean_y
            if spread_x <= trust * xx or spread_y <= trust * yy:
                r[row, column] = TO_DO
                continue
            together = r[row, column] - sum_x[row, column] * mean_y
            r[row, column] = in_range(together / np.sqrt(spread_x * spread_y), nearly)


@njit(cache=True, parallel=True, nogil=True)
def count_rows(  # type: ignore[no-untyped-def]
    r, n, diagonal, least, lowest, highest, kept, counts, histogram
):
    """Count what each row keeps, and the kinds and correlations of all wanted pairs.

    least             samples that a pair must have
    lowest, highest   pairs are kept where lowest <= |r| <= highest
    kept              int64 (rows,): filled
    counts            int64 (rows, COUNTS): filled
    histogram         int64 (rows, R_BINS): filled
    """
    rows, columns = r.shape
    for row in prange(rows):
        counts[row] = 0
        histogram[row] = 0
        for column in range(max(0, row + diagonal + 1), columns):
            value = r[row, column]
            if n[row, column] < least:
                counts[row, TOO_FEW] += 1
            elif np.isnan(value):
                counts[row, CONSTANT] += 1
            else:
                histogram[row, min(int((value + 1.0) * (R_BINS / 2)), R_BINS - 1)] += 1
                strength = abs(value)
                counts[row, DEGENERATE] += strength == 1.0
                if strength < lowest:
                    counts[row, BELOW] += 1
                elif strength > highest:
                    counts[row, ABOVE] += 1
                else:
                    counts[row, KEPT] += 1
        kept[row] = counts[row, KEPT]


@njit(cache=True, parallel=True, nogil=True)
def write_rows(  # type: ignore[no-untyped-def]
    r, n, diagonal, least, lowest, highest, first, row_of, column_of, r_of, n_of
):
    """Write the kept pairs, those of row k from place ``first[k]`` on, by column."""
    rows, columns = r.shape
    for row in prange(rows):
        place = first[row]
        for column in range(max(0, row + diagonal + 1), columns):
            strength = abs(r[row, column])  # NaN is in no range
            if n[row, column] >= least and strength >= lowest and strength <= highest:
                row_of[place] = row
                column_of[place] = column
                r_of[place] = r[row, column]
                n_of[place] = n[row, column]
                place += 1


@njit(cache=True, nogil=True)
def in_range(r, nearly):  # type: ignore[no-untyped-def]
    """r, or exactly 1 or -1 where it is as near to them as rounding may bring it."""
    if r >= nearly:
        return 1.0
    return -1.0 if r <= -nearly else r
