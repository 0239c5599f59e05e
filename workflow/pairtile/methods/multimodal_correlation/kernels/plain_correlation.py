"""Correlation of pairs of genes on the CPU: twin of plain_correlation.cu.

A block is a matrix of pairs, ``r`` and ``n`` (rows, columns). It comes as products of matrices; the
``finish`` kernels turn these into correlations and leave TO_DO where a pair's own samples must be
looked at. ``pair_correlations`` does these pairs. Then ``count_rows`` says how many pairs each row
keeps, so that ``write_rows`` knows where each row's begin, and ``describe_entries`` adds moments
and masks of samples. Rows are spread over threads and share nothing.

A pair's samples are those that both genes have, without outliers. Spearman's coefficient needs
ranks among these samples, which change from pair to pair. Nothing is sorted again for that: with
c(k) the number of the pair's samples among the first k in a gene's order over all samples, a value
whose ties stand at places a to b - 1 of that order has c(a) + c(b) + 1 as twice its mean rank. Sums
of these whole numbers are exact, so that CPU and GPU agree to the last bit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import prange

from pairtile.arrays import (
    Float32Array,
    Float64Array,
    Int32Array,
    Int64Array,
    UInt8Array,
    UInt16Array,
)
from pairtile.cpu.njit import njit

WORD: Final = 32
"""Samples are padded to whole words of bits."""

TO_DO: Final = 2.0
"""Stands in place of a correlation that must be computed from the pair's own samples."""

R_BINS: Final = 200
"""Bins of the histogram of correlations, from -1 to 1."""

TOO_FEW, CONSTANT, DEGENERATE, KEPT, BELOW, ABOVE = range(6)
COUNTS: Final = 6
"""What ``count_rows`` counts, and how many such numbers there are."""


class GeneArrays(NamedTuple):
    """What the kernels know of genes, on the host or the GPU; P samples with padding.

    values          float64 (genes, P): as given, NaN where missing
    order           unsigned (genes, P): samples by value, those that cannot be used last
    start, end      unsigned (genes, P): places of a sample's ties in ``order``: start .. end - 1
    tied            uint8 (genes,): whether any two values are equal
    usable          samples observed and in range: uint8 (genes, P); on the GPU uint32 words
    inside          the same without outliers, where these depend on the gene alone
    of_pair         uint8 (genes,): whether outliers must be found pair by pair
    inverse_scale   float64 (genes,): what differences of values are multiplied by
    """

    values: Float64Array
    order: UInt16Array
    start: UInt16Array
    end: UInt16Array
    tied: UInt8Array
    usable: UInt8Array
    inside: UInt8Array
    of_pair: UInt8Array
    inverse_scale: Float64Array


class Limits(NamedTuple):
    """What decides over a pair, and what rounding may do."""

    least: int
    """Samples that a pair must have."""
    lowest: float
    highest: float
    """A pair is kept where ``lowest <= |r| <= highest``."""
    nearly: float
    """A correlation as near to 1 as this is taken as 1."""
    min_relative_variance: float
    """A variance under this part of the mean square, from sums over many pairs, has lost too many
    digits: the pair is left to do."""


class Kept(NamedTuple):
    """Pairs kept of a block (arrays of the device), and counts of all its pairs (on the host)."""

    row: Int32Array
    column: Int32Array
    correlation: Float32Array
    n_samples: Int32Array
    counts: Int64Array
    histogram: Int64Array


@njit(parallel=True, nogil=True)
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


@njit(parallel=True, nogil=True)
def finish_products(lengths, whole, samples, nearly, r, n):  # type: ignore[no-untyped-def]
    """Correlations of genes with all samples, from products of their centred values, in place.

    lengths  of the rows' and the columns' genes, float64: sums of squares of the centred values; 0:
             a constant gene
    whole    of both, uint8: whether a gene has all samples; a pair of others is left to do
    r, n     (rows, columns): r holds the products
    """
    length_x, length_y = lengths
    whole_x, whole_y = whole
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


@njit(parallel=True, nogil=True)
def finish_masked_products(sums, of_pair, limits, r, n):  # type: ignore[no-untyped-def]
    """Pearson's r from sums over the samples that both genes have, in place.

    sums     float64 (rows, columns): of each gene's values (two), of their squares (two), and how
             many samples there are
    of_pair  of the rows' and the columns' genes, uint8: whether outliers must be found pair by pair
    limits   ``Limits``; pairs with fewer samples than ``least`` are not computed
    r, n     (rows, columns): r holds the sums of products
    """
    sum_x, sum_y, square_x, square_y, counts = sums
    pair_x, pair_y = of_pair
    least, min_relative_variance, nearly = limits.least, limits.min_relative_variance, limits.nearly
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
            if spread_x <= min_relative_variance * xx or spread_y <= min_relative_variance * yy:
                r[row, column] = TO_DO
                continue
            together = r[row, column] - sum_x[row, column] * mean_y
            r[row, column] = in_range(together / np.sqrt(spread_x * spread_y), nearly)


@njit(parallel=True, nogil=True)
def count_rows(r, n, diagonal, limits, kept, counts, histogram):  # type: ignore[no-untyped-def]
    """Count what each row keeps, and the kinds and correlations of all wanted pairs.

    kept        int64 (rows,): filled
    counts      int64 (rows, COUNTS): filled
    histogram   int64 (rows, R_BINS): filled
    """
    least, lowest, highest = limits.least, limits.lowest, limits.highest
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


@njit(parallel=True, nogil=True)
def write_rows(r, n, diagonal, limits, first, kept):  # type: ignore[no-untyped-def]
    """Write the pairs into ``Kept``, those of row k from place ``first[k]`` on, by column."""
    least, lowest, highest = limits.least, limits.lowest, limits.highest
    row_of, column_of, r_of, n_of = kept.row, kept.column, kept.correlation, kept.n_samples
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


@njit(nogil=True)
def in_range(r, nearly):  # type: ignore[no-untyped-def]
    """r, or exactly 1 or -1 where it is as near to them as rounding may bring it."""
    if r >= nearly:
        return 1.0
    return -1.0 if r <= -nearly else r


@njit(parallel=True, nogil=True)
def pair_correlations(genes, rows, columns, diagonal, limits, spearman, r, n):  # type: ignore[no-untyped-def]
    """Compute what is left to do in ``r``, with ``n``; NaN where it is undefined.

    rows, columns   int64: the genes
    diagonal        only columns after ``row + diagonal`` are wanted
    limits          ``Limits``; pairs with fewer samples than ``least`` are not computed
    """
    least, nearly = limits.least, limits.nearly
    padded = genes.values.shape[1]
    for row in prange(len(rows)):
        member = np.empty(padded, dtype=np.uint8)
        of_x = np.empty(padded, dtype=np.int32)
        of_y = np.empty(padded, dtype=np.int32)
        before = np.empty(padded + 1, dtype=np.int32)
        for column in range(max(0, row + diagonal + 1), len(columns)):
            if r[row, column] != TO_DO:
                continue
            x, y = rows[row], columns[column]
            count = _members(genes, x, y, least, member)
            n[row, column] = count
            if count < least:
                r[row, column] = np.nan
            elif spearman:
                _twice_ranks(genes, x, member, before, of_x)
                _twice_ranks(genes, y, member, before, of_y)
                r[row, column] = _spearman(of_x, of_y, count)
            else:
                r[row, column] = in_range(_pearson(genes, x, y, member, count), nearly)


@njit(nogil=True)
def _members(genes, x, y, least, member):  # type: ignore[no-untyped-def]
    """Mark the samples of a pair, outliers left out; returns how many they are."""
    if not (genes.of_pair[x] or genes.of_pair[y]):
        return _both(genes.inside[x], genes.inside[y], member)
    count = _both(genes.usable[x], genes.usable[y], member)
    if count < least:
        return count
    low_x, high_x = _limits(genes, x, member, count)
    low_y, high_y = _limits(genes, y, member, count)
    _keep_within(genes.values[x], low_x, high_x, member)
    return _keep_within(genes.values[y], low_y, high_y, member)


@njit(nogil=True)
def _both(of_x, of_y, member):  # type: ignore[no-untyped-def]
    count = np.int32(0)
    for s in range(len(member)):
        member[s] = of_x[s] & of_y[s]
        count += member[s]
    return count


@njit(nogil=True)
def _keep_within(values, low, high, member):  # type: ignore[no-untyped-def]
    """Take away the members that are outliers; returns how many are left."""
    count = np.int32(0)
    for s in range(len(member)):
        member[s] &= np.uint8(values[s] >= low) & np.uint8(values[s] <= high)
        count += member[s]
    return count


@njit(nogil=True)
def _limits(genes, gene, member, count):  # type: ignore[no-untyped-def]
    """Tukey's limits: 1.5 interquartile ranges beyond the quartiles, these without averaging."""
    order, values = genes.order[gene], genes.values[gene]
    place, left = 0, count // 4 + 1
    while left > 0:
        left -= member[order[place]]
        place += 1
    quartile_1 = values[order[place - 1]]
    left = 3 * count // 4 - count // 4
    while left > 0:
        left -= member[order[place]]
        place += 1
    quartile_3 = values[order[place - 1]]
    reach = 1.5 * (quartile_3 - quartile_1)
    return quartile_1 - reach, quartile_3 + reach


@njit(nogil=True)
def _twice_ranks(genes, gene, member, before, ranks):  # type: ignore[no-untyped-def]
    """Twice the mean rank of every member, 0 for others."""
    order = genes.order[gene]
    if not genes.tied[gene]:
        count = 0
        for place in range(len(order)):
            s = order[place]
            count += member[s]
            ranks[s] = 2 * count * member[s]
        return
    before[0] = 0
    for place in range(len(order)):
        before[place + 1] = before[place] + member[order[place]]
    start, end = genes.start[gene], genes.end[gene]
    for s in range(len(order)):
        ranks[s] = (before[start[s]] + before[end[s]] + 1) * member[s]


@njit(nogil=True)
def _spearman(of_x, of_y, count):  # type: ignore[no-untyped-def]
    xx = yy = xy = np.int64(0)
    for s in range(len(of_x)):
        a, b = np.int64(of_x[s]), np.int64(of_y[s])
        xx += a * a
        yy += b * b
        xy += a * b
    # The mean of twice the ranks is count + 1, whatever the ties.
    n = np.int64(count)
    of_means = n * (n + 1) * (n + 1)
    if xx == of_means or yy == of_means:
        return np.nan
    return float(xy - of_means) / np.sqrt(float(xx - of_means) * float(yy - of_means))


@njit(nogil=True)
def _pearson(genes, x, y, member, count):  # type: ignore[no-untyped-def]
    first = _first(member)
    if _all_equal(genes.values[x], member, first) or _all_equal(genes.values[y], member, first):
        return np.nan
    _, _, spread_x, spread_y, together = _moments(genes, x, y, member, first, count)
    return together / np.sqrt(spread_x * spread_y)


@njit(nogil=True)
def _first(member):  # type: ignore[no-untyped-def]
    s = 0
    while not member[s]:
        s += 1
    return s


@njit(nogil=True)
def _all_equal(values, member, first):  # type: ignore[no-untyped-def]
    for s in range(first + 1, len(member)):
        if member[s] and values[s] != values[first]:
            return False
    return True


@njit(nogil=True)
def _moments(genes, x, y, member, first, count):  # type: ignore[no-untyped-def]
    """Means, then sums of squares and products about them.

    All of differences to the first member, scaled: digits that members share cost nothing.
    """
    of_x, of_y = genes.values[x], genes.values[y]
    start_x, scale_x = of_x[first], genes.inverse_scale[x]
    start_y, scale_y = of_y[first], genes.inverse_scale[y]
    mean_x = _sum(of_x, start_x, scale_x, member) / count
    mean_y = _sum(of_y, start_y, scale_y, member) / count
    frame_x, frame_y = (start_x, scale_x, mean_x), (start_y, scale_y, mean_y)
    spread_x, spread_y, together = _products(of_x, frame_x, of_y, frame_y, member)
    return mean_x, mean_y, spread_x, spread_y, together


@njit(nogil=True, fastmath={"reassoc", "nsz"})
def _sum(values, start, scale, member):  # type: ignore[no-untyped-def]
    total = 0.0
    for s in range(len(member)):
        total += (values[s] - start) * scale if member[s] else 0.0
    return total


@njit(nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _products(of_x, frame_x, of_y, frame_y, member):  # type: ignore[no-untyped-def]
    """Sums of squares and products of (value - start) * scale - mean; a frame is these three."""
    start_x, scale_x, mean_x = frame_x
    start_y, scale_y, mean_y = frame_y
    xx = yy = xy = 0.0
    for s in range(len(member)):
        a = (of_x[s] - start_x) * scale_x - mean_x if member[s] else 0.0
        b = (of_y[s] - start_y) * scale_y - mean_y if member[s] else 0.0
        xx += a * a
        yy += b * b
        xy += a * b
    return xx, yy, xy


@njit(parallel=True, nogil=True)
def describe_entries(genes, rows, columns, kept, least, moments, members, outliers):  # type: ignore[no-untyped-def]
    """Samples and moments of the pairs of ``Kept``.

    moments             float32 (5, entries): means, variances (divided by n), covariance
    members, outliers   uint8 (entries, bytes): bits, sample 0 the highest of byte 0
    """
    row_of, column_of = kept.row, kept.column
    padded = genes.values.shape[1]
    for entry in prange(len(row_of)):
        x, y = rows[row_of[entry]], columns[column_of[entry]]
        member = np.empty(padded, dtype=np.uint8)
        count = _members(genes, x, y, least, member)
        first = _first(member)
        mean_x, mean_y, spread_x, spread_y, together = _moments(genes, x, y, member, first, count)
        back_x, back_y = 1.0 / genes.inverse_scale[x], 1.0 / genes.inverse_scale[y]
        moments[0, entry] = genes.values[x, first] + mean_x * back_x
        moments[1, entry] = genes.values[y, first] + mean_y * back_y
        moments[2, entry] = spread_x / count * back_x * back_x
        moments[3, entry] = spread_y / count * back_y * back_y
        moments[4, entry] = together / count * back_x * back_y
        for place in range(members.shape[1]):
            bits = out = 0
            for s in range(8 * place, 8 * place + 8):  # padding reaches beyond the last byte
                usable = genes.usable[x, s] & genes.usable[y, s]
                bits = 2 * bits + member[s]
                out = 2 * out + (usable & (1 - member[s]))
            members[entry, place] = bits
            outliers[entry, place] = out
