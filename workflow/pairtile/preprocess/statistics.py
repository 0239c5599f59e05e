"""Statistics of each gene over its observed samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.io.sparse_rows import Values

# Rows at a time: a block and its temporaries stay small beside the table.
_BLOCK_VALUES = 1 << 20


@dataclass(frozen=True)
class RowStatistics:
    """One value a gene, shape (genes,); NaN mean and sd where no sample is observed.

    ``sd`` is the population standard deviation; ``constant`` is true where at least one sample is
    observed and all observed values are equal.
    """

    n_observed: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    constant: np.ndarray


def row_statistics(values: np.ndarray) -> RowStatistics:
    """Statistics of ``values`` (genes, samples), NaN where missing."""
    n_genes = len(values)
    n_observed = np.zeros(n_genes, dtype=np.int32)
    mean = np.full(n_genes, np.nan)
    sd = np.full(n_genes, np.nan)
    constant = np.zeros(n_genes, dtype=bool)
    for rows in row_blocks(values.shape):
        block = values[rows]
        observed = ~np.isnan(block)
        n = observed.sum(axis=1)
        low = np.where(observed, block, np.inf).min(axis=1)
        high = np.where(observed, block, -np.inf).max(axis=1)
        # Differences from the lowest value: a constant gene gets a deviation of exactly zero.
        with np.errstate(invalid="ignore", divide="ignore"):
            shifted = np.where(observed, block - low[:, None], 0.0)
            centre = shifted.sum(axis=1) / n
            spread = np.where(observed, shifted - centre[:, None], 0.0)
            mean[rows] = np.where(n > 0, low + centre, np.nan)
            sd[rows] = np.sqrt(np.einsum("ij,ij->i", spread, spread) / n)
        n_observed[rows] = n
        constant[rows] = (n > 0) & (low == high)
    return RowStatistics(n_observed, mean, sd, constant)


@dataclass(frozen=True)
class RawCounts:
    """How many values of each gene are missing, zero and above zero, int64 (genes,); the sum of
    each sample over its observed genes, float64 (samples,), and how many of its values are missing
    and zero, int64 (samples,)."""

    n_missing: NDArray[np.int64]
    n_zero: NDArray[np.int64]
    n_positive: NDArray[np.int64]
    totals: NDArray[np.float64]
    sample_missing: NDArray[np.int64]
    sample_zero: NDArray[np.int64]


def count_values(values: Values) -> RawCounts:
    """Count the ``values`` (genes, samples) of each gene, NaN where missing."""
    n_missing, n_zero, n_positive = np.zeros((3, values.shape[0]), dtype=np.int64)
    sample_missing, sample_zero = np.zeros((2, values.shape[1]), dtype=np.int64)
    totals = np.zeros(values.shape[1])
    for rows in row_blocks(values.shape):
        block = values[rows]
        missing = np.isnan(block)
        n_missing[rows] = missing.sum(axis=1)
        zero = block == 0
        n_zero[rows] = zero.sum(axis=1)
        sample_missing += missing.sum(axis=0)
        sample_zero += zero.sum(axis=0)
        n_positive[rows] = (block > 0).sum(axis=1)
        # Gene after gene, so that the sums are the same for any blocks.
        totals = np.vstack([totals, np.where(missing, 0.0, block)]).sum(axis=0)
    return RawCounts(n_missing, n_zero, n_positive, totals, sample_missing, sample_zero)


def row_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Slices of consecutive rows, each of about a million values."""
    step = max(1, _BLOCK_VALUES // max(1, shape[1]))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


def blocks_of(rows: NDArray[np.int64], n_samples: int) -> list[NDArray[np.int64]]:
    """Row numbers in parts, each of about a million values of so many samples."""
    return [rows[part] for part in row_blocks((rows.size, n_samples))]
