"""Kendall's tau-b of all pairs of genes, exact with ties, and its variance without relation.

With s the sign of the difference of a pair of samples (0 where the gene is tied or lacks one of
them), tau-b = sum(s_x s_y) / sqrt(u_x u_y), u_x the pairs, there in both genes, that are not tied
in x (Kendall 1945, Biometrika 33:239). All three are sums over the n (n - 1) / 2 pairs of samples
of products of signs, of their sizes, and of what is there: on a GPU products of matrices in half
precision, summed exactly in single; on the CPU counts of bits, which took a tenth of the time of
products there and a fiftieth of that of sorting pair by pair (100 to 2,000 samples, measured).
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import special

from pairtile.arrays import DeviceArray
from pairtile.gpu.products import matrix_product_transposed
from pairtile.methods.multimodal_correlation.kernels.kendall import (
    add_both,
    add_disagreeing,
    add_signs,
    pair_sums,
    tie_sums,
)
from pairtile.runtime.threads import in_threads

SLAB_BITS = 1 << 15
"""Of a gene's plane at a time: 4 KB, so that those of a tile stay near the cores."""

GENES = 64
"""Whose planes are made together."""

SLAB_SIGNS = 1 << 26
"""Signs of genes by pairs of samples that are made at a time for products of matrices; no more than
2^24 pairs, which single precision counts exactly."""


Concordance = tuple[DeviceArray, DeviceArray, DeviceArray]
"""Of each pair of genes, (rows, columns), whole numbers: pairs of samples whose order agrees less
those where it disagrees; and those there in both genes that are not tied in the one, and in the
other."""


class Codes(NamedTuple):
    """``values`` : int32 (genes, samples), in the order of each gene's values, -1 where missing.
    ``untied``, ``complete`` : whether no gene has a tie, lacks a sample."""

    values: DeviceArray
    untied: bool
    complete: bool

    @property
    def signs_only(self) -> bool:
        """Whether the signs of all pairs of samples are 1 or -1."""
        return self.untied and self.complete


def concordance_by_bits(x: Codes, y: Codes, diagonal: int) -> Concordance:
    """On the CPU; only columns after row + diagonal, anything elsewhere."""
    n = x.values.shape[1]
    shape = len(x.values), len(y.values)
    total, untied_x, untied_y = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    step = max(1, 2 * SLAB_BITS // n)
    plain = x.signs_only and y.signs_only
    for first in range(0, n, step):
        samples = slice(first, min(n, first + step))
        above_x, differ_x, both_x = _planes(x.values, samples, plain)
        above_y, differ_y, both_y = _planes(y.values, samples, plain)
        if plain:
            add_disagreeing(above_x, above_y, diagonal, total)
            continue
        add_signs((above_x, differ_x), (above_y, differ_y), diagonal, total)
        if x.complete and y.complete:
            untied_x += np.bitwise_count(differ_x).sum(axis=1, dtype=np.int64)[:, None]
            untied_y += np.bitwise_count(differ_y).sum(axis=1, dtype=np.int64)
        else:
            add_both(differ_x, both_y, diagonal, untied_x)
            add_both(both_x, differ_y, diagonal, untied_y)
    if not plain:
        return total, untied_x, untied_y
    pairs = n * (n - 1) // 2
    every = np.full(shape, pairs, dtype=np.int64)
    return pairs - 2 * total, every, every


def _planes(codes: NDArray[np.int32], samples: slice, plain: bool) -> NDArray[np.uint64]:
    """Of each gene a bit for each pair of one of ``samples`` with one of the n // 2 that follow it
    around: whether the later is above, differs, and both are there: uint64 (3, genes, words).
    ``plain``: the first is enough."""
    n = codes.shape[1]
    half = n // 2
    octets = (samples.stop - samples.start) * (-(-half // 8))
    planes = np.zeros((3, len(codes), -(-octets // 8) * 8), dtype=np.uint8)
    once = _once(np.arange(samples.start, samples.stop)[:, None], np.arange(1, half + 1), n)

    def fill(genes: slice) -> None:
        around = np.concatenate([codes[genes], codes[genes, :half]], axis=1)
        ahead = sliding_window_view(around, half, axis=1)[:, samples.start + 1 : samples.stop + 1]
        own = around[:, samples, None]
        there = once if plain else once & (ahead >= 0) & (own >= 0)
        marks = [(ahead > own) & there]
        marks += [] if plain else [(ahead != own) & there, there]
        for plane, mark in zip(planes, marks, strict=False):
            plane[genes, :octets] = np.packbits(mark, axis=2).reshape(len(around), -1)

    list(in_threads(fill, [slice(k, k + GENES) for k in range(0, len(codes), GENES)]))
    return planes.view(np.uint64)


def _once(first: DeviceArray, distance: DeviceArray, n: int) -> DeviceArray:
    """Whether a pair of samples is taken at this distance: of an even number the farthest sample is
    as far on either side, and once is enough."""
    return (2 * distance < n) | (first < n // 2)


def concordance_by_products(x: Codes, y: Codes, xp: ModuleType) -> Concordance:
    """Of all rows and columns by products of matrices; ``xp`` is numpy or cupy."""
    n = x.values.shape[1]
    shape = len(x.values), len(y.values)
    total, untied_x, untied_y = (xp.zeros(shape) for _ in range(3))
    step = max(1, min(1 << 24, SLAB_SIGNS // max(1, *shape)) // n)
    plain = x.signs_only and y.signs_only
    for distance in range(1, n // 2 + 1, step):
        ahead = xp.arange(distance, min(n // 2 + 1, distance + step))
        other = (ahead[:, None] + xp.arange(n)) % n
        once = _once(xp.arange(n), ahead[:, None], n)
        sign_x, there_x = _signs(x.values, other, once, xp)
        sign_y, there_y = _signs(y.values, other, once, xp)
        total += _product(sign_x, sign_y, xp)
        if not plain:
            untied_x += _product(abs(sign_x), there_y, xp)
            untied_y += _product(there_x, abs(sign_y), xp)
    if plain:
        untied_x += n * (n - 1) // 2
        untied_y = untied_x
    return total, untied_x, untied_y


def _signs(
    codes: DeviceArray, other: DeviceArray, once: DeviceArray, xp: ModuleType
) -> tuple[DeviceArray, DeviceArray]:
    """Signs of the differences, and whether both samples are there: float16 (genes, pairs)."""
    later, own = codes[:, other], codes[:, None, :]
    there = (later >= 0) & (own >= 0) & once
    sign = xp.where(there, xp.sign(later - own), 0)
    flat = len(codes), other.size
    return sign.astype(np.float16).reshape(flat), there.astype(np.float16).reshape(flat)


def _product(a: DeviceArray, b: DeviceArray, xp: ModuleType) -> DeviceArray:
    if xp is np:
        return a.astype(np.float32) @ b.astype(np.float32).T
    out = xp.empty((len(a), len(b)), dtype=np.float32)
    matrix_product_transposed(xp, a, b, out)
    return out


def sums_of_ties(codes: NDArray[np.int32], members: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of the groups of t equal values of a gene in some samples, float64 (3, entries): the sums of
    t (t - 1) / 2, of t (t - 1) (t - 2) and of t (t - 1) (2 t + 5).

    codes : int32 (entries, samples), in the order of the values. members : bool (entries,
    samples), which of them count.
    """
    found = np.empty((len(codes), 3), dtype=np.int64)
    tie_sums(codes, members, found)
    return found.T.astype(np.float64)


def kendall_with_p_values(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """tau-b of each pair, NaN where a gene is constant, and ``kendall_p_values``: float64 (pairs,).
    x, y : float64 (pairs, samples), NaN where missing in either."""
    total, ties = np.empty(len(x), dtype=np.int64), np.empty((3, 2, len(x)), dtype=np.int64)
    pair_sums(x, y, total, ties)
    n = (x == x).sum(axis=1)
    untied_x, untied_y = n * (n - 1) // 2 - ties[0]
    product = untied_x.astype(np.float64) * untied_y
    tau = np.clip(total / np.sqrt(np.where(product > 0.0, product, np.nan)), -1.0, 1.0)
    return tau, kendall_p_values(tau, n, ties.astype(np.float64))


def kendall_p_values(
    tau: NDArray[np.floating], n_samples: NDArray[np.integer], ties: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Two-sided p-values of tau-b, float64 (entries,), by the normal distribution with the variance
    that it has with these ties where two genes have nothing to do with each other (Kendall 1970,
    Rank Correlation Methods, section 4.4; as ``scipy.stats.kendalltau(method="asymptotic")``).

    ties : (3, 2, entries), ``sums_of_ties`` of both genes.
    """
    n = n_samples.astype(np.float64)
    (pairs_x, pairs_y), (third_x, third_y), (second_x, second_y) = ties
    ordered = n * (n - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (ordered * (2.0 * n + 5.0) - second_x - second_y) / 18.0
        variance += 2.0 * pairs_x * pairs_y / ordered
        variance += np.where(n > 2, third_x * third_y / (9.0 * ordered * (n - 2.0)), 0.0)
        total = tau * np.sqrt((ordered / 2.0 - pairs_x) * (ordered / 2.0 - pairs_y))
        return np.asarray(special.erfc(np.abs(total) / np.sqrt(2.0 * variance)))
