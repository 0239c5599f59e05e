"""Optimal k-means of single numbers (one dimension), exact and without random starts."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray


def kmeans_borders(values: NDArray[np.float64], n_clusters: int) -> NDArray[np.float64]:
    """The borders between the clusters of each row.

    Parameters
    ----------
    values : float64, shape (rows, samples), C order, NaN where missing
    n_clusters : 2 or more

    Returns
    -------
    float64, shape (rows, n_clusters - 1), increasing: the greatest value of each cluster but the
    last, so that a value's cluster is the number of borders below it. A row with fewer distinct
    values than clusters has one cluster for each of them, and infinite borders after those.

    Notes
    -----
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


@njit(cache=True, parallel=True)
def _all_borders(values, n_clusters, borders):  # type: ignore[no-untyped-def]
    for row in prange(values.shape[0]):
        _borders(values[row], n_clusters, borders[row])


@njit(cache=True)
def _borders(row, n_clusters, borders):  # type: ignore[no-untyped-def]
    ordered = np.sort(row[~np.isnan(row)])
    distinct, weight = _distinct(ordered)
    n = distinct.size
    if n <= n_clusters:
        for k in range(n - 1):
            borders[k] = distinct[k]
        return
    # Centred and scaled, so that sums of squares neither cancel nor overflow.
    scaled = (distinct - distinct[n // 2]) / max(
        distinct[n - 1] - distinct[n // 2], distinct[n // 2] - distinct[0]
    )
    total = np.zeros(n + 1)
    first = np.zeros(n + 1)
    second = np.zeros(n + 1)
    for i in range(n):
        total[i + 1] = total[i] + weight[i]
        first[i + 1] = first[i] + weight[i] * scaled[i]
        second[i + 1] = second[i] + weight[i] * scaled[i] * scaled[i]

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


@njit(cache=True)
def _distinct(ordered):  # type: ignore[no-untyped-def]
    distinct = np.empty(ordered.size)
    weight = np.zeros(ordered.size)
    n = 0
    for i in range(ordered.size):
        if n == 0 or ordered[i] != distinct[n - 1]:
            distinct[n] = ordered[i]
            n += 1
        weight[n - 1] += 1.0
    return distinct[:n], weight[:n]


@njit(cache=True)
def _spread(total, first, second, begin, end):  # type: ignore[no-untyped-def]
    """Sum of squared distances of values begin..end-1 from their mean."""
    if end - begin < 2:
        return 0.0
    sum_1 = first[end] - first[begin]
    value = second[end] - second[begin] - sum_1 * sum_1 / (total[end] - total[begin])
    return max(value, 0.0)


@njit(cache=True)
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
