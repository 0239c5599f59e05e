"""B-spline weights: how much each sample belongs to each bin (Daub et al. 2004, equations 5-7).

A gene's value, scaled to ``z`` in [0, bins - order + 1], falls into one *interval*; only the
``order`` basis functions first, first + 1, ... that reach over this interval are not zero. So a
gene's weights are kept as ``first`` (which interval) and ``order`` numbers, not ``bins``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit, read_only
from pairtile.cpu.threaded import threaded
from pairtile.engine.large_table import row_blocks
from pairtile.runtime.threads import in_threads

MISSING = -1
"""``first`` of a missing sample; its weights are all zero."""


def knot_vector(bins: int, order: int, knots: str) -> NDArray[np.float64]:
    """Knots t_0 .. t_(bins+order-1), with the domain moved to [0, bins - order + 1].

    ``clamped`` repeats the ends ``order`` times (Daub et al. 2004, equation 5); ``uniform`` goes
    on in steps of one beyond them, as the authors' own R code does.
    """
    index = np.arange(bins + order, dtype=np.float64) - (order - 1)
    if knots == "uniform":
        return index
    if knots == "clamped":
        return np.clip(index, 0.0, bins - order + 1.0)
    raise ValueError(f"knots: found {knots!r}; expected 'clamped' or 'uniform'")


@njit(inline="always")
def _basis(z, first, order, knots, left, right, out):  # type: ignore[no-untyped-def]
    """The ``order`` non-zero basis functions at z by the Cox-de Boor recursion (0/0 = 0)."""
    span = first + order - 1
    out[0] = 1.0
    for degree in range(1, order):
        left[degree] = z - knots[span + 1 - degree]
        right[degree] = knots[span + degree] - z
        saved = 0.0
        for r in range(degree):
            width = right[r + 1] + left[degree - r]
            part = out[r] / width if width > 0.0 else 0.0
            out[r] = saved + right[r + 1] * part
            saved = left[degree - r] * part
        out[degree] = saved


@njit()
def _weights_of(z, bins, order, knots, first, weights):  # type: ignore[no-untyped-def]
    left, right = np.zeros(order), np.zeros(order)
    for sample in range(z.size):
        value = z[sample]
        if np.isnan(value):
            first[sample] = -1
            weights[sample, :] = 0.0
            continue
        # The last interval is closed, so that the maximum is not lost.
        interval = min(int(np.floor(value)), bins - order)
        first[sample] = interval
        _basis(value, interval, order, knots, left, right, weights[sample])


@threaded(entries=1 << 12)
def _bspline_weights(begin, end, z, bins, order, knots, first, weights):  # type: ignore[no-untyped-def]
    for gene in range(begin, end):
        _weights_of(z[gene], bins, order, knots, first[gene], weights[gene])


def bspline_weights(
    z: NDArray[np.float64], bins: int, order: int, knots: str, *, half: bool = False
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Weights of every sample of every gene.

    Parameters
    ----------
    z : float64, shape (genes, samples)
        Values scaled to [0, bins - order + 1]; NaN where missing.
    bins, order, knots
        Number of basis functions, spline order (degree + 1), ``clamped`` or ``uniform``.
    half
        Round to float16: what ``precision: mixed`` computes with, on either backend.

    Returns
    -------
    first : int16, shape (genes, samples)
        Number of the first bin with weight; ``MISSING`` for a missing sample.
    weights : float64, shape (genes, samples, order)
        Weights of the bins first .. first + order - 1; each row sums to 1, or is 0 if
        missing (within rounding where ``half``).
    """
    first = np.empty(z.shape, dtype=np.int16)
    weights = np.empty((*z.shape, order), dtype=np.float64)
    _bspline_weights(
        read_only(np.ascontiguousarray(z)),
        bins,
        order,
        knot_vector(bins, order, knots),
        first,
        weights,
    )
    if half:
        weights = weights.astype(np.float16).astype(np.float64)
    return first, weights


def bin_sums(
    z: NDArray[np.float64],
    bins: int,
    order: int,
    knots: str,
    times: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Sum of every gene's weights over its samples: float64, shape (genes, bins).

    Parameters as of ``bspline_weights``; ``times``: how often each sample counts, once unless
    given. Nothing of the size of ``z`` is made.
    """
    sums, knot = np.zeros((z.shape[0], bins)), knot_vector(bins, order, knots)
    times = np.ones(z.shape[1]) if times is None else times

    def add(rows: slice) -> None:
        _add_weights(read_only(np.ascontiguousarray(z[rows])), times, bins, order, knot, sums[rows])

    list(in_threads(add, row_blocks(z.shape, 1 << 18)))
    return sums


@njit(nogil=True)
def _add_weights(z, times, bins, order, knots, sums):  # type: ignore[no-untyped-def]
    first = np.empty(z.shape[1], dtype=np.int16)
    weights = np.empty((z.shape[1], order))
    for gene in range(z.shape[0]):
        _weights_of(z[gene], bins, order, knots, first, weights)
        for sample in range(z.shape[1]):
            for a in range(order):  # a missing sample adds 0
                sums[gene, max(first[sample], 0) + a] += times[sample] * weights[sample, a]


def dense_weights(
    first: NDArray[np.int16], weights: NDArray[np.float64], bins: int
) -> NDArray[np.float64]:
    """Spread sparse weights over all bins: float64, shape (genes, samples, bins)."""
    dense = np.zeros((*first.shape, bins), dtype=np.float64)
    start = np.maximum(first, 0).astype(np.int64)
    for a in range(weights.shape[-1]):
        np.put_along_axis(dense, (start + a)[..., None], weights[..., a : a + 1], axis=-1)
    return dense
