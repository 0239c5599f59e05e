"""Sums over the samples of modes: least squares on the two genes, moments in and out of the mode.

One mode at a time, in float64 and in the order of samples, so that a result depends neither on
threads nor on the other modes. The samples of a mode are first copied next to each other; a thread
does some hundred modes in the same scratch. Least squares is Gram-Schmidt on columns that are
centred and scaled in the mode. Bit masks are those of ``numpy.packbits``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from pairtile.arrays import Float64Array, Int32Array, Int64Array, UInt8Array
from pairtile.cpu.njit import njit, subroutine
from pairtile.cpu.threaded import threaded

MODES_AT_ONCE = 256
"""Modes that share the scratch memory of one turn of a thread."""


class ModeMoments(NamedTuple):
    """Of both genes in both groups: n int64, mean and sd float64, (2 genes, 2 groups, M). The
    standard deviation (divisor n - 1) is 0 exactly where all values are the same, and for n < 2."""

    n: Int64Array
    mean: Float64Array
    sd: Float64Array


@njit(parallel=True, nogil=True)
def unexplained_shares(
    i: Int64Array,
    j: Int64Array,
    members: UInt8Array,
    values: Float64Array,
    y: Float64Array,
    collinear: float,
    size: Int32Array,
    rank: Int32Array,
) -> Float64Array:
    """Share of y's variance that least squares on g_i, g_j, g_i g_j leaves, 1 - R^2.

    Parameters
    ----------
    i, j : int64 (M,), rows of ``values``, float64 (genes, S), finite for members.
    members : uint8 (M, ceil(S / 8)), the samples of each mode.
    y : float64 (S,), NaN where unknown: such samples are left out.
    collinear : a regressor less than this share of which is its own says nothing.
    size, rank : int32 (M,), out: samples, and regressors that say something of their own.

    Returns
    -------
    float64 (M,), NaN where y is constant or there is no sample.
    """
    left = np.full(i.size, np.nan)
    for turn in prange((i.size + MODES_AT_ONCE - 1) // MODES_AT_ONCE):
        columns = np.empty((3, y.size))
        rest = np.empty(y.size)
        for m in range(turn * MODES_AT_ONCE, min(i.size, (turn + 1) * MODES_AT_ONCE)):
            n = 0
            for s in range(y.size):
                if (members[m, s >> 3] >> (7 - (s & 7))) & 1 and not math.isnan(y[s]):
                    columns[0, n] = values[i[m], s]
                    columns[1, n] = values[j[m], s]
                    rest[n] = y[s]
                    n += 1
            size[m] = n
            _centre(columns[0, :n])
            _centre(columns[1, :n])
            for s in range(n):
                columns[2, s] = columns[0, s] * columns[1, s]
            _centre(columns[2, :n])
            _centre(rest[:n])
            total = _dot(rest[:n], rest[:n])
            rank[m] = 0
            for k in range(3):
                column = columns[k, :n]
                before = _dot(column, column)
                for _ in range(2):  # Gram-Schmidt is exact to rounding when it is done twice
                    for earlier in range(k):
                        _take_away(column, columns[earlier, :n])
                after = _dot(column, column)
                if after > collinear * collinear * before:
                    column /= math.sqrt(after)
                    _take_away(rest[:n], column)
                    rank[m] += 1
                else:
                    column[:] = 0.0
            if total > 0.0:
                left[m] = min(_dot(rest[:n], rest[:n]) / total, 1.0)
    return left


@threaded(over="i")
def group_moments(  # type: ignore[no-untyped-def]
    first, last, i, j, members, values, outliers, inside, moments
):
    """Number, mean and standard deviation of both genes in a mode, and in the other usable samples.

    Parameters
    ----------
    i, j, members, values : as in ``unexplained_shares``.
    outliers : uint8 (M, ceil(S / 8)), or (0, 0): none.
    inside : bool (genes, S), the samples of a gene that may take part.
    moments : ``ModeMoments``, filled
    """
    n, mean, sd = moments.n, moments.mean, moments.sd
    n_samples = values.shape[1]
    group = np.empty(n_samples, np.int8)
    chosen = np.empty(n_samples)
    for m in range(first, last):
        for s in range(n_samples):
            shift = 7 - (s & 7)
            group[s] = -1
            if (members[m, s >> 3] >> shift) & 1:
                group[s] = 0
            elif inside[i[m], s] and inside[j[m], s]:
                out = outliers.size > 0 and (outliers[m, s >> 3] >> shift) & 1
                group[s] = -1 if out else 1
        for gene in range(2):
            row = i[m] if gene == 0 else j[m]
            for side in range(2):
                count = 0
                for s in range(n_samples):
                    if group[s] == side:
                        chosen[count] = values[row, s]
                        count += 1
                n[gene, side, m] = count
                mean[gene, side, m], sd[gene, side, m] = _mean_and_sd(chosen, count)


@subroutine()
def _mean_and_sd(x, n):  # type: ignore[no-untyped-def]
    total, constant = 0.0, True
    for s in range(n):
        total += x[s]
        constant &= x[s] == x[0]
    mean = total / max(n, 1)
    squares = 0.0
    for s in range(n):
        squares += (x[s] - mean) * (x[s] - mean)
    return mean, 0.0 if constant else math.sqrt(squares / (n - 1))


@njit(inline="always")
def _centre(x: Float64Array) -> None:
    """Values about their mean, the largest of size 1; all 0 where they are the same."""
    if x.size == 0:
        return
    if x.min() == x.max():
        x[:] = 0.0
        return
    for _ in range(2):  # twice, so that a large offset leaves no rounding error behind
        x -= x.sum() / x.size
    x /= max(x.max(), -x.min())


@njit(inline="always")
def _dot(a: Float64Array, b: Float64Array) -> float:
    total = 0.0
    for s in range(a.size):
        total += a[s] * b[s]
    return total


@njit(inline="always")
def _take_away(x: Float64Array, direction: Float64Array) -> None:
    """What x has along ``direction`` (of length 1, or 0)."""
    part = _dot(x, direction)
    for s in range(x.size):
        x[s] -= part * direction[s]
