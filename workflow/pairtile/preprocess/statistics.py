"""Statistics of each gene over its observed samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.engine.large_table import releasing, row_blocks
from pairtile.io.sparse_rows import Values, entry_blocks
from pairtile.runtime.threads import in_threads


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
    of_genes, of_samples = np.zeros((n_genes, 3), np.int64), np.zeros((n_samples, 2), np.int64)
    totals = np.zeros(n_samples)
    for rows, (found, samples, starts) in entry_blocks(values):
        _count_in_genes(found, starts, of_genes[rows])
        _count_in_samples(found, samples, starts, totals, of_samples)
    for counts, n in ((of_genes, n_samples), (of_samples, n_genes)):
        counts[:, 1] = n - counts[:, 0] - counts[:, 1]
    n_missing, n_zero, n_positive = np.ascontiguousarray(of_genes.T)
    sample_missing, sample_zero = np.ascontiguousarray(of_samples.T)
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


@threaded(entries=3)
def _count_in_genes(first, last, values, starts, counts):  # type: ignore[no-untyped-def]
    """Add to ``counts`` (genes, 3) how many values are missing, other than zero and above zero, of
    a csr matrix."""
    for gene in range(first, last):
        missing, other, positive = 0, 0, 0
        for value in values[starts[gene] : starts[gene + 1]]:
            missing += np.isnan(value)
            other += value != 0.0  # true of NaN
            positive += value > 0.0
        counts[gene] += np.array([missing, other - missing, positive])


@threaded(entries=512)
def _count_in_samples(first, last, values, samples, starts, totals, counts):  # type: ignore[no-untyped-def]
    """Add to ``counts`` (samples, 2) how many values are missing, and other than zero, and to the
    ``totals`` of samples their values, of a csr matrix, each of whose rows is in the order of
    samples. Gene after gene: totals are the same for any blocks and threads."""
    for gene in range(starts.size - 1):
        own = slice(starts[gene], starts[gene + 1])
        begin, end = np.searchsorted(samples[own], np.array([first, last]))
        for k in range(own.start + begin, own.start + end):
            value, sample = values[k], samples[k]
            if np.isnan(value):
                counts[sample, 0] += 1
            elif value != 0.0:
                counts[sample, 1] += 1
                totals[sample] += value


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
