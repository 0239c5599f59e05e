"""B-spline weights laid out for the CPU kernel: samples by interval, genes in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 64
"""Genes y whose joint tables are computed together: long inner loops."""

SAMPLE_CHUNK = 512
"""Samples taken together: their weights in one block of genes y stay in a core's caches."""


def group_by_interval(
    first: NDArray[np.int16], weights: NDArray[np.float64], intervals: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Order each gene's samples by chunk of samples, and within it by interval.

    Returns samples (genes, samples), start (genes, chunks, intervals + 1) and weights (genes,
    samples, order) in the new order. Missing samples stand behind their chunk's last interval,
    where no interval reaches them.
    """
    genes, n_samples = first.shape
    chunks = max(1, -(-n_samples // SAMPLE_CHUNK))
    place = np.where(first < 0, intervals, first).astype(np.int32)
    place += (np.arange(n_samples, dtype=np.int32) // SAMPLE_CHUNK) * (intervals + 1)
    samples = np.argsort(place, axis=1, kind="stable").astype(np.int32)
    slots = chunks * (intervals + 1)
    numbered = place + np.arange(genes, dtype=np.int64)[:, None] * slots
    counts = np.bincount(numbered.ravel(), minlength=genes * slots).reshape(genes, slots)
    ends = np.zeros((genes, slots + 1), dtype=np.int32)
    np.cumsum(counts, axis=1, out=ends[:, 1:])
    start = ends[:, :-1].reshape(genes, chunks, intervals + 1)
    return samples, start.copy(), np.take_along_axis(weights, samples[..., None], axis=1)


def marginal_sums(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of m ln m over the marginal m (summed weights) of each gene: float64 (genes,)."""
    marginal = dense.sum(axis=1)
    logs = np.log(marginal, out=np.zeros_like(marginal), where=marginal > 0.0)
    return np.asarray((marginal * logs).sum(axis=1))


def column_blocks(dense: NDArray[np.float64], dtype: type) -> NDArray[np.floating]:
    """Lay out dense weights (genes, samples, bins) as (blocks, samples, genes a block * bins)."""
    genes, n_samples, bins = dense.shape
    block = min(BLOCK, genes)
    n_blocks = -(-genes // block)
    padded = np.zeros((n_blocks * block, n_samples, bins), dtype=dtype)
    padded[:genes] = dense
    blocks = padded.reshape(n_blocks, block, n_samples, bins).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(blocks).reshape(n_blocks, n_samples, block * bins)
