"""Statistics of each gene over its observed samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.engine.large_table import releasing, row_blocks
from pairtile.io.sparse_rows import Values, entries_of
from pairtile.runtime.threads import in_threads

# Rows at a time: a block and its temporaries stay small beside the table.


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

    def of_block(rows: slice) -> None:
        block = np.ascontiguousarray(values[rows], dtype=np.float64)
        _row_statistics(block, n_observed[rows], mean[rows], sd[rows], constant[rows])

    blocks = row_blocks(values.shape)
    parts = in_threads(of_block, blocks) if len(blocks) > 1 else map(of_block, blocks)
    list(releasing(parts, values))
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
    n_genes, n_samples = values.shape
    of_genes, of_samples = np.zeros((n_genes, 3), np.int64), np.zeros((n_samples, 3), np.int64)
    totals = np.zeros(n_samples)
    blocks = row_blocks(values.shape)
    found = releasing(in_threads(partial(entries_of, values), blocks), values)
    for rows, entries in zip(blocks, found, strict=True):
        _count_entries(*entries, of_genes[rows], of_samples, totals)
    for counts, n in ((of_genes, n_samples), (of_samples, n_genes)):
        counts[:, 1] = n - counts[:, 0] - counts[:, 1]
    n_missing, n_zero, n_positive = np.ascontiguousarray(of_genes.T)
    sample_missing, sample_zero, _ = np.ascontiguousarray(of_samples.T)
    return RawCounts(n_missing, n_zero, n_positive, totals, sample_missing, sample_zero)


@njit(nogil=True)
def _row_statistics(values, n_observed, mean, sd, constant):  # type: ignore[no-untyped-def]
    """``RowStatistics`` of each row. Sums are of differences from the lowest value: a constant gene
    gets a deviation of exactly zero."""
    for row in range(values.shape[0]):
        n, low, high, total, squares = 0, np.inf, -np.inf, 0.0, 0.0
        for value in values[row]:
            if not np.isnan(value):
                n += 1
                low, high = min(low, value), max(high, value)
        for value in values[row]:
            total += 0.0 if np.isnan(value) else value - low
        centre = total / max(n, 1)
        for value in values[row]:
            squares += 0.0 if np.isnan(value) else (value - low - centre) ** 2
        n_observed[row] = n
        mean[row] = low + centre if n > 0 else np.nan
        sd[row] = np.sqrt(squares / n) if n > 0 else np.nan
        constant[row] = (n > 0) & (low == high)


@njit(nogil=True)
def _count_entries(values, samples, starts, of_genes, of_samples, totals):  # type: ignore[no-untyped-def]
    """Add to of_genes (genes, 3) and of_samples (samples, 3) how many values are missing, other
    than zero and above zero, and to the totals of samples their values, gene after gene, so that
    they are the same for any blocks. values, samples, starts: of a csr matrix."""
    for gene in range(of_genes.shape[0]):
        for k in range(starts[gene], starts[gene + 1]):
            value, sample = values[k], samples[k]
            missing = np.isnan(value)
            for counts in (of_genes[gene], of_samples[sample]):
                counts[0] += missing
                counts[1] += not missing and value != 0.0
                counts[2] += value > 0.0
            totals[sample] += 0.0 if missing else value


def blocks_of(rows: NDArray[np.int64], n_samples: int) -> list[NDArray[np.int64]]:
    """Row numbers in parts, each of about a million values of so many samples."""
    return [rows[part] for part in row_blocks((rows.size, n_samples))]


def column_medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the observed values of each column; NaN where there are none."""

    def of_columns(columns: slice) -> NDArray[np.float64]:
        some = values[:, columns]
        if not np.isnan(some).any():
            return np.asarray(np.median(some, axis=0))
        return np.asarray(pd.DataFrame(some).median().to_numpy())

    blocks = row_blocks((values.shape[1], 16 * len(values)))
    return np.concatenate(list(in_threads(of_columns, blocks)))
