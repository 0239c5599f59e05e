"""From expression values to a few levels: low, high; or low, middle, high; or four of them.

The one-dimensional k-means is ours: exact and without random starts, which no library here offers.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.engine.large_table import row_blocks
from pairtile.engine.state import release
from pairtile.methods.predictor_pairs.config import QuantizeConfig
from pairtile.methods.predictor_pairs.read_input import MISSING_LEVEL


def quantize(values: NDArray[np.float64], settings: QuantizeConfig) -> NDArray[np.int8]:
    """Turn the values of each gene into levels, over its observed samples.

    Every rule finds ``levels`` - 1 borders for a gene; a value's level is the number of borders
    below it, so a value on a border belongs to the lower level. z is the value's z-score, with the
    standard deviation of n - 1.

    | rule | levels | borders |
    |---|---|---|
    | mean_split | 2 | z = 0, the mean |
    | mean_split | 3 | (mean of all z < 0) / 3 and (mean of all z >= 0) / 3 |
    | extreme_split | 3 | (least z) / 3 and (greatest z) / 3 |
    | quantile | 2 to 4 | for k = 1, 2, ...: the least observed value with at least k / levels of \
the observed values at or below it; equal values share a level, so levels may be of unlike size, \
or empty |
    | kmeans | 2 to 4 | between the clusters of the optimal partition (``kmeans_borders``) |
    | thresholds | 2 to 4 | ``thresholds``, in units of the values, the same for all genes |

    values : float64 (genes, samples), NaN where missing. settings : the section ``quantize``,
    checked; ``levels: auto`` is as many as an expression table gets.

    Returns int8 (genes, samples): 0 to levels - 1, -1 where missing. A gene that is constant over
    its observed samples has level 0 there, under ``thresholds`` too.

    Sources: mean_split and extreme_split, the normal transform of DimReduction (Lopes, Martins-Jr
    & Cesar 2008, BMC Bioinformatics 9:451).
    """
    settings = settings.for_expression()
    values = np.asarray(values, dtype=np.float64)
    result = np.empty(values.shape, dtype=np.int8)
    for rows in row_blocks(values.shape):
        result[rows] = _block_levels(values[rows], settings)
        release(values)
    return result


def _block_levels(values: NDArray[np.float64], settings: QuantizeConfig) -> NDArray[np.int8]:
    levels, rule = int(settings.levels), settings.rule
    observed = ~np.isnan(values)
    low = np.where(observed, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(observed, values, -np.inf).max(axis=1, initial=-np.inf)
    n, compared = observed.sum(axis=1), values
    if rule in ("mean_split", "extreme_split"):
        # z-scores (ddof 1), NaN in a row without spread. Powers of two change no digit of z, and
        # keep squares from over- and underflow.
        exponents = np.frexp(np.where(n > 0, np.maximum(np.abs(low), np.abs(high)), 1.0))[1]
        scaled = np.ldexp(values, -exponents[:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            centred = scaled - (np.where(observed, scaled, 0.0).sum(axis=1) / n)[:, None]
            squares = np.where(observed, centred, 0.0) ** 2
            compared = z = centred / np.sqrt(squares.sum(axis=1) / (n - 1))[:, None]
        z[~np.isfinite(z)] = np.nan
        if rule == "extreme_split":
            low_z = np.fmin.reduce(z, axis=1, initial=np.inf)
            high_z = np.fmax.reduce(z, axis=1, initial=-np.inf)
            borders = np.stack([low_z, high_z], axis=1) / 3
        elif levels == 2:
            borders = np.zeros((len(z), 1))
        else:
            with np.errstate(invalid="ignore"):
                sides = [
                    np.where(side, z, 0.0).sum(axis=1) / side.sum(axis=1)
                    for side in (z < 0, z >= 0)
                ]
            borders = np.stack(sides, axis=1) / 3
    elif rule == "quantile":
        ordered = np.sort(values, axis=1)  # NaN last
        # In whole numbers, so that no rounding decides: ceil(n k / levels), counted from 1.
        ranks = [-(-n * k // levels) for k in range(1, levels)]
        borders = np.take_along_axis(ordered, np.maximum(np.stack(ranks, axis=1) - 1, 0), axis=1)
    elif rule == "kmeans":
        borders = kmeans_borders(values, levels)
    else:
        borders = np.tile(np.asarray(settings.thresholds, np.float64), (len(values), 1))
    result = np.zeros(values.shape, dtype=np.int8)
    for k in range(levels - 1):
        # A NaN is above nothing.
        result += compared > borders[:, k, None]
    result[low >= high] = 0
    result[~observed] = MISSING_LEVEL
    return result


def kmeans_borders(values: NDArray[np.float64], n_clusters: int) -> NDArray[np.float64]:
    """The borders between the clusters of each row.

    values : float64 (rows, samples), C order, NaN where missing. n_clusters : 2 or more.

    Returns float64 (rows, n_clusters - 1), increasing: the greatest value of each cluster but the
    last, so that a value's cluster is the number of borders below it. A row with fewer distinct
    values than clusters has one cluster for each of them, and infinite borders after those.

    The partition with the least sum of squared distances from the clusters' means, by dynamic
    programming over the sorted values (Wang & Song 2011, The R Journal 3:29), divide and conquer
    within each step (O(clusters x samples x log samples)). It works on distinct values with their
    counts, so equal values are always together. Of partitions that are equally good the one with
    the lower borders is taken.
    """
    borders = np.full((len(values), n_clusters - 1), np.inf)
    if values.size:
        _all_borders(np.ascontiguousarray(values, dtype=np.float64), n_clusters, borders)
    return borders


@njit(parallel=True)
def _all_borders(values, n_clusters, borders):  # type: ignore[no-untyped-def]
    for row in prange(values.shape[0]):
        _borders(values[row], n_clusters, borders[row])


@njit()
def _borders(row, n_clusters, borders):  # type: ignore[no-untyped-def]
    ordered = np.sort(row[~np.isnan(row)])
    is_new = np.ones(ordered.size, np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    distinct = ordered[is_new]
    n = distinct.size
    if n <= n_clusters:
        for k in range(n - 1):
            borders[k] = distinct[k]
        return
    # Centred and scaled, so that sums of squares neither cancel nor overflow.
    scaled = (distinct - distinct[n // 2]) / max(
        distinct[n - 1] - distinct[n // 2], distinct[n // 2] - distinct[0]
    )
    # Of the values before each distinct one: their number, sum and sum of squares.
    total = np.append(np.flatnonzero(is_new), ordered.size).astype(np.float64)
    first = np.zeros(n + 1)
    second = np.zeros(n + 1)
    for i in range(n):
        weight = total[i + 1] - total[i]
        first[i + 1] = first[i] + weight * scaled[i]
        second[i + 1] = second[i] + weight * scaled[i] * scaled[i]

    # cost[j]: of the best partition of the first j values into so many clusters; start[k, j]: where
    # the last of its clusters begins.
    cost = np.empty(n + 1)
    start = np.zeros((n_clusters, n + 1), dtype=np.int64)
    cost[0] = 0.0
    for j in range(1, n + 1):
        cost[j] = _spread(total, first, second, 0, j)
    for k in range(1, n_clusters):
        cost = _next_cost(total, first, second, cost, k, start[k])
    end = n
    for k in range(n_clusters - 1, 0, -1):
        end = start[k, end]
        borders[k - 1] = distinct[end - 1]


@njit()
def _spread(total, first, second, begin, end):  # type: ignore[no-untyped-def]
    """Sum of squared distances of values begin..end-1 from their mean."""
    if end - begin < 2:
        return 0.0
    sum_1 = first[end] - first[begin]
    value = second[end] - second[begin] - sum_1 * sum_1 / (total[end] - total[begin])
    return max(value, 0.0)


@njit()
def _next_cost(total, first, second, cost, k, start):  # type: ignore[no-untyped-def]
    """Cost of partitions with one cluster more, where ``cost`` is for ``k`` clusters.

    The best start of the last cluster never decreases with the number of values, so the middle
    one of a range bounds those on both sides of it.
    """
    n = cost.size - 1
    result = np.full(n + 1, np.inf)
    stack = np.empty((2 * n + 2, 4), dtype=np.int64)
    stack[0] = (k + 1, n, k, n - 1)
    depth = 1
    while depth:
        depth -= 1
        low, high, start_low, start_high = stack[depth]
        if low > high:
            continue
        j = (low + high) // 2
        best, best_start = np.inf, start_low
        for i in range(max(start_low, k), min(start_high, j - 1) + 1):
            candidate = cost[i] + _spread(total, first, second, i, j)
            if candidate < best:
                best, best_start = candidate, i
        result[j] = best
        start[j] = best_start
        stack[depth] = (low, j - 1, start_low, best_start)
        stack[depth + 1] = (j + 1, high, best_start, start_high)
        depth += 2
    return result
