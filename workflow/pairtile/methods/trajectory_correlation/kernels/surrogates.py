"""What the surrogates of a block come to, added up by all threads.

Beside a GPU one thread needs ten times as long for that as the estimates take.

Arrays are float64 (pairs,) and in place where they are sums.
"""

from __future__ import annotations

import numpy as np

from pairtile.cpu.threaded import threaded


@threaded(entries=1 << 14)
def add(first, last, values, number, mean, squares):  # type: ignore[no-untyped-def]
    """Take the ``number``-th values into their mean and sum of squared differences (Welford)."""
    # Counted from 0: the compiler then knows that no index counts from the end, and takes many.
    values, mean, squares = values[first:last], mean[first:last], squares[first:last]
    for pair in range(values.size):
        difference = values[pair] - mean[pair]
        mean[pair] += difference / number
        squares[pair] += difference * (values[pair] - mean[pair])


@threaded()
def count_correlations(first, last, values, d, counts):  # type: ignore[no-untyped-def]
    """Histogram of generalized correlations, from 0 to 1, of nats of variables of d coordinates;
    with d = 0 of the values themselves, from -1 to 1. NaN counts as the lowest.

    counts : int64 (parts, bins), 0 before; a part is done by one thread.
    """
    parts, bins = counts.shape
    n = values.shape[0]
    for part in range(first, last):
        for pair in range(part * n // parts, (part + 1) * n // parts):
            value = values[pair]
            share = np.sqrt(-np.expm1(-2.0 * max(value, 0.0) / d)) if d else (value + 1.0) / 2.0
            place = int(share * bins) if share > 0.0 else 0
            counts[part, min(place, bins - 1)] += 1
