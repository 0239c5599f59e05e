"""Correlation of pairs of genes with samples of their own on the CPU (plain_correlation.cu).

A pair's samples are those that both genes have, without outliers. Spearman's coefficient needs
ranks among these samples, which change from pair to pair. Nothing is sorted again for that: with
c(k) the number of the pair's samples among the first k in a gene's order over all samples, a value
whose ties stand at places a to b - 1 of that order has c(a) + c(b) + 1 as twice its mean rank. Sums
of these whole numbers are exact, so that CPU and GPU agree to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from pairtile.methods.multimodal_correlation.kernels.plain_correlation_blocks import TO_DO, in_range


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

    values: Any
    order: Any
    start: Any
    end: Any
    tied: Any
    usable: Any
    inside: Any
    of_pair: Any
    inverse_scale: Any


@njit(cache=True, parallel=True, nogil=True)
def pair_correlations(  # type: ignore[no-untyped-def]
    genes, rows, columns, diagonal, least, spearman, nearly, r, n
):
    """Compute what is left to do in ``r``, with ``n``; NaN where it is undefined.

    rows, columns   int64: the genes
    diagonal        only columns after ``row + diagonal`` are wanted
    least           pairs with fewer samples are not computed
    """
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _both(of_x, of_y, member):  # type: ignore[no-untyped-def]
    count = np.int32(0)
    for s in range(len(member)):
        member[s] = of_x[s] & of_y[s]
        count += member[s]
    return count


@njit(cache=True, nogil=True)
def _keep_within(values, low, high, member):  # type: ignore[no-untyped-def]
    """Take away the members that are outliers; returns how many are left."""
    count = np.int32(0)
    for s in range(len(member)):
        member[s] &= np.uint8(values[s] >= low) & np.uint8(values[s] <= high)
        count += member[s]
    return count


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _pearson(genes, x, y, member, count):  # type: ignore[no-untyped-def]
    first = _first(member)
    if _all_equal(genes.values[x], member, first) or _all_equal(genes.values[y], member, first):
        return np.nan
    _, _, spread_x, spread_y, together = _moments(genes, x, y, member, first, count)
    return together / np.sqrt(spread_x * spread_y)


@njit(cache=True, nogil=True)
def _first(member):  # type: ignore[no-untyped-def]
    s = 0
    while not member[s]:
        s += 1
    return s


@njit(cache=True, nogil=True)
def _all_equal(values, member, first):  # type: ignore[no-untyped-def]
    for s in range(first + 1, len(member)):
        if member[s] and values[s] != values[first]:
            return False
    return True


@njit(cache=True, nogil=True)
def _moments(genes, x, y, member, first, count):  # type: ignore[no-untyped-def]
    """Means, then sums of squares and products about them.

    All of differences to the first member, scaled: digits that members share cost nothing.
    """
    of_x, of_y = genes.values[x], genes.values[y]
    start_x, scale_x = of_x[first], genes.inverse_scale[x]
    start_y, scale_y = of_y[first], genes.inverse_scale[y]
    mean_x = _sum(of_x, start_x, scale_x, member) / count
    mean_y = _sum(of_y, start_y, scale_y, member) / count
    spread_x, spread_y, together = _products(
        of_x, start_x, scale_x, mean_x, of_y, start_y, scale_y, mean_y, member
    )
    return mean_x, mean_y, spread_x, spread_y, together


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _sum(values, start, scale, member):  # type: ignore[no-untyped-def]
    total = 0.0
    for s in range(len(member)):
        total += (values[s] - start) * scale if member[s] else 0.0
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _products(  # type: ignore[no-untyped-def]
    of_x, start_x, scale_x, mean_x, of_y, start_y, scale_y, mean_y, member
):
    xx = yy = xy = 0.0
    for s in range(len(member)):
        a = (of_x[s] - start_x) * scale_x - mean_x if member[s] else 0.0
        b = (of_y[s] - start_y) * scale_y - mean_y if member[s] else 0.0
        xx += a * a
        yy += b * b
        xy += a * b
    return xx, yy, xy


@njit(cache=True, parallel=True, nogil=True)
def describe_entries(  # type: ignore[no-untyped-def]
    genes, rows, columns, row_of, column_of, least, moments, members, outliers
):
    """Samples and moments of kept pairs.

    moments             float32 (5, entries): means, variances (divided by n), covariance
    members, outliers   uint8 (entries, bytes): bits, sample 0 the highest of byte 0
    """
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
