"""Large matrices as small ones."""

from __future__ import annotations

import numpy as np

from pairtile.arrays import Float64Array


def block_means(matrix: Float64Array, pixels: int) -> Float64Array:
    """A matrix of at most ``pixels`` rows and columns: means of square blocks, NaN left out."""
    block = -(-max(matrix.shape) // pixels)
    if block == 1:
        return matrix
    known = np.isfinite(matrix)
    sums, counts = np.where(known, matrix, 0.0), known
    for axis in (1, 0):  # the longest way through memory first
        starts = np.arange(0, matrix.shape[axis], block)
        sums, counts = (
            np.add.reduceat(part, starts, axis=axis, dtype=np.float64) for part in (sums, counts)
        )
    with np.errstate(invalid="ignore"):
        return sums / np.where(counts > 0, counts, np.nan)
