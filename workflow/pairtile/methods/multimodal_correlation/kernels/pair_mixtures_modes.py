"""What surrounds the fit of a pair's mixture: outliers, standardised values, correlation of modes.

Order and ties are judged by ``order`` and ``codes`` of the genes, prepared once, so that nothing is
sorted here. Sums of values are float64 in 32 lanes (element i in lane i % 32), added pairwise; sums
of ranks are whole numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_vectors import LANES


@njit(cache=True, nogil=True)
def sorted_members(order, usable, label, members, sizes):  # type: ignore[no-untyped-def]
    """The samples of each label 0, 1, ... by ascending value of one gene, and how many.

    order: int32 (S,), the first ``usable`` count; label: int32 (S,), below 0 for no label
    members: int32 (K, S), sizes: int64 (K,), both written
    """
    sizes[:] = 0
    for place in range(usable):
        sample = order[place]
        k = label[sample]
        if k >= 0:
            members[k, sizes[k]] = sample
            sizes[k] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def mark_outliers(values, members, size, single, out):  # type: ignore[no-untyped-def]
    """Set ``out`` of the samples beyond 1.5 interquartile ranges (Tukey 1977); returns how many.

    Quartiles are elements n / 4 and 3 n / 4 (rounded down) of the sorted values.
    values: float64 (S,); members: samples by ascending value; single: compute in float32
    """
    if size == 0:
        return 0
    first, third = values[members[size // 4]], values[members[3 * size // 4]]
    if single:
        q1, q3 = np.float32(first), np.float32(third)
        reach = np.float32(1.5) * (q3 - q1)
        low, high = np.float64(q1 - reach), np.float64(q3 + reach)
    else:
        low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
    found = 0
    # Sorted: outliers are at both ends.
    for i in range(size):
        if not values[members[i]] < low:
            break
        out[members[i]] = 1
        found += 1
    for i in range(size - 1, -1, -1):
        if not values[members[i]] > high:
            break
        out[members[i]] = 1
        found += 1
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def lane_sum(lanes):  # type: ignore[no-untyped-def]
    """Sum of 32 numbers, lane l with lane l xor 16, 8, 4, 2, 1; ``lanes`` is used up."""
    half = LANES // 2
    while half > 0:
        for lane in range(half):
            lanes[lane] = lanes[lane] + lanes[lane + half]
        half //= 2
    return lanes[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _sum(values, n, lanes):  # type: ignore[no-untyped-def]
    lanes[:] = 0.0
    for i in range(n):
        lanes[i % LANES] += values[i]
    return lane_sum(lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_products(first, second, n, lanes):  # type: ignore[no-untyped-def]
    lanes[:] = 0.0
    for i in range(n):
        lanes[i % LANES] += first[i] * second[i]
    return lane_sum(lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def centre(values, n, lanes):  # type: ignore[no-untyped-def]
    """Subtract the mean from n float64 in place; the mean and the population variance."""
    mean = _sum(values, n, lanes) / np.float64(n)
    for i in range(n):
        values[i] = values[i] - mean
    return mean, _sum_products(values, values, n, lanes) / np.float64(n)


@njit(cache=True, nogil=True, error_model="numpy")
def standardised_correlation(dx, dy, n, inverse_x, inverse_y, lanes):  # type: ignore[no-untyped-def]
    """Correlation of centred values, given 1 / standard deviation of each."""
    return ((_sum_products(dx, dy, n, lanes) / np.float64(n)) * inverse_x) * inverse_y


@njit(cache=True, nogil=True)
def doubled_ranks(codes, members, size, ranks):  # type: ignore[no-untyped-def]
    """Set twice the average rank, less size + 1, for each member; ties share a rank.

    codes: int32 (S,): equal where values are; members: by ascending value; ranks: int64 (S,)
    """
    first = 0
    while first < size:
        end = first + 1
        code = codes[members[first]]
        while end < size and codes[members[end]] == code:
            end += 1
        rank = np.int64(first + 1 + end - (size + 1))
        for i in range(first, end):
            ranks[members[i]] = rank
        first = end


@njit(cache=True, nogil=True, error_model="numpy")
def spearman(members, size, ranks_x, ranks_y):  # type: ignore[no-untyped-def]
    """Spearman's correlation from ``doubled_ranks`` of both genes; the sums are exact."""
    xx, yy, xy = np.int64(0), np.int64(0), np.int64(0)
    for i in range(size):
        rank_x, rank_y = ranks_x[members[i]], ranks_y[members[i]]
        xx += rank_x * rank_x
        yy += rank_y * rank_y
        xy += rank_x * rank_y
    return _clamped(np.float64(xy) / np.sqrt(np.float64(xx) * np.float64(yy)))


@njit(cache=True, nogil=True, error_model="numpy")
def moments(x, y, label, n, k, lanes):  # type: ignore[no-untyped-def]
    """Size, means, sums of squares and of products about them of the elements with label k.

    x, y: float64 (n,); label: int32 (n,)
    """
    count = 0
    for i in range(n):
        count += label[i] == k
    size = np.float64(count)
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += x[i]
    mean_x = lane_sum(lanes) / size
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += y[i]
    mean_y = lane_sum(lanes) / size
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += (x[i] - mean_x) * (x[i] - mean_x)
    xx = lane_sum(lanes)
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += (y[i] - mean_y) * (y[i] - mean_y)
    yy = lane_sum(lanes)
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += (x[i] - mean_x) * (y[i] - mean_y)
    return size, mean_x, mean_y, xx, yy, lane_sum(lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def pearson(x, y, label, n, k, lanes):  # type: ignore[no-untyped-def]
    """Pearson's correlation of the elements with label k."""
    _size, _mean_x, _mean_y, xx, yy, xy = moments(x, y, label, n, k, lanes)
    return _clamped(xy / np.sqrt(xx * yy))


@njit(cache=True, nogil=True, error_model="numpy")
def pearson_as_kinc(x, y, label, n, k):  # type: ignore[no-untyped-def]
    """Pearson's correlation as KINC sums it up: float32, one element after another."""
    sum_x, sum_y = np.float32(0.0), np.float32(0.0)
    xx, yy, xy = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    count = 0
    for i in range(n):
        if label[i] == k:
            a, b = np.float32(x[i]), np.float32(y[i])
            sum_x += a
            sum_y += b
            xx += a * a
            yy += b * b
            xy += a * b
            count += 1
    size = np.float32(count)
    scale = np.sqrt((size * xx - sum_x * sum_x) * (size * yy - sum_y * sum_y))
    r = np.float64((size * xy - sum_x * sum_y) / scale)
    return _clamped(r) if np.isfinite(r) else np.nan


@njit(cache=True, nogil=True)
def _clamped(r):  # type: ignore[no-untyped-def]
    return min(max(r, -1.0), 1.0)
