"""Statistics of each gene over its observed samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def row_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Slices of consecutive rows, each of about a million values."""
    step = max(1, _BLOCK_VALUES // max(1, shape[1]))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]
