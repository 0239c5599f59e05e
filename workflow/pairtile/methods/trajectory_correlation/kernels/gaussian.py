"""Mutual information of jointly normal variables on the CPU: twin of gaussian.cu.

Of whitened variables, one matrix product gives the cross-covariances K of all pairs of a tile; a
pair is a d x d block of it. Its mutual information is -1/2 ln det(I - K K^T), and the determinant
is the product of the pivots of an elimination in place. Each thread takes rows, and keeps
one d x d table for all its pairs.
"""

from __future__ import annotations

import numpy as np

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded


@njit(inline="always")
def _nats(k, m, smallest):  # type: ignore[no-untyped-def]
    """-1/2 ln det(I - K K^T) of one pair; ``m``: room of the same shape, (d, d)."""
    d = k.shape[0]
    for a in range(d):
        for b in range(a + 1):
            total = 1.0 if a == b else 0.0
            for c in range(d):
                total -= k[a, c] * k[b, c]
            m[a, b] = total
    log_determinant = 0.0
    for p in range(d):
        pivot = max(m[p, p], smallest)
        log_determinant += np.log(pivot)
        for a in range(p + 1, d):
            for b in range(p + 1, a + 1):
                m[a, b] -= m[a, p] * m[b, p] / pivot
    return max(0.0, -0.5 * log_determinant)


@threaded(entries=1 << 10)
def gaussian_mutual_information(first, last, correlation, d, smallest, mi_nats):  # type: ignore[no-untyped-def]
    """-1/2 ln det(I - K K^T) of every pair, by elimination.

    correlation  float64 (rows * d, columns * d): covariances K of whitened variables
    d            coordinates of a variable
    smallest     what a pivot that rounding has brought to nothing counts as
    mi_nats      float64 (rows, columns): filled in place
    """
    for row in range(first, last):
        k = correlation[row * d : (row + 1) * d]
        m = np.empty((d, d))
        for column in range(mi_nats.shape[1]):
            mi_nats[row, column] = _nats(k[:, column * d : (column + 1) * d], m, smallest)


@njit(inline="always")
def _dot(x, y):  # type: ignore[no-untyped-def]
    """In the order of the frames; that of a BLAS depends on how many threads it has."""
    total = 0.0
    for t in range(x.size):
        total += x[t] * y[t]
    return total


@threaded(entries=1 << 4)
def gaussian_of_cells(first, last, x, y, rows, columns, smallest, mi_nats):  # type: ignore[no-untyped-def]
    """The same of some pairs alone, where a product of all would be mostly in vain.

    x, y           float64 (variables, d, frames): whitened
    rows, columns  int64 (pairs,): of x, of y
    mi_nats        float64 (pairs,): filled in place
    """
    d = x.shape[1]
    for pair in range(first, last):
        k = np.empty((d, d))
        for a in range(d):
            for b in range(d):
                k[a, b] = _dot(x[rows[pair], a], y[columns[pair], b])
        mi_nats[pair] = _nats(k, np.empty((d, d)), smallest)


@threaded(entries=1 << 6)
def products_of_cells(first, last, x, y, rows, columns, products):  # type: ignore[no-untyped-def]
    """x[row] . y[column] of some pairs, as ``gaussian_of_cells``; x, y : float64 (variables, n)."""
    for pair in range(first, last):
        products[pair] = _dot(x[rows[pair]], y[columns[pair]])
