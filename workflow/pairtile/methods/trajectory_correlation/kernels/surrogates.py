"""What the surrogates of a block come to, added up by all threads.

Beside a GPU one thread needs ten times as long for that as the estimates take.

Arrays are float64 (pairs,) and in place where they are sums.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from pairtile.cpu.njit import njit


@njit(parallel=True, nogil=True)
def add(values, number, mean, squares):  # type: ignore[no-untyped-def]
    """Take the ``number``-th values into their mean and sum of squared differences (Welford)."""
    for pair in prange(values.shape[0]):
        difference = values[pair] - mean[pair]
        mean[pair] += difference / number
        squares[pair] += difference * (values[pair] - mean[pair])


@njit(parallel=True, nogil=True)
def count_correlations(values, d, counts):  # type: ignore[no-untyped-def]
    """Histogram of generalized correlations, from 0 to 1, of nats of variables of d coordinates;
    with d = 0 of the values themselves, from -1 to 1. NaN counts as the lowest.

    counts : int64 (parts, bins), 0 before; a part is done by one thread.
    """
    parts, bins = counts.shape
    n = values.shape[0]
    for part in prange(parts):
        for pair in range(part * n // parts, (part + 1) * n // parts):
            value = values[pair]
            share = np.sqrt(-np.expm1(-2.0 * max(value, 0.0) / d)) if d else (value + 1.0) / 2.0
            place = int(share * bins) if share > 0.0 else 0
            counts[part, min(place, bins - 1)] += 1
