"""Statistics of each gene over its observed samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numba import prange
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.engine.large_table import empty_table
from pairtile.engine.state import release
from pairtile.io.sparse_rows import Values
from pairtile.runtime.threads import in_threads

# Rows at a time: a block and its temporaries stay small beside the table.
_BLOCK_VALUES = 1 << 20

_SAMPLES_TOGETHER = 64
"""Of which one thread adds up the values."""


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

    blocks = row_blocks(values.shape)
    for _ in in_threads(of_block, blocks) if len(blocks) > 1 else map(of_block, blocks):
        release(values)
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
    of_genes = np.zeros((values.shape[0], 3), dtype=np.int64)
    of_samples = np.zeros((values.shape[1], 2), dtype=np.int64)
    totals = np.zeros(values.shape[1])

    def counted(rows: slice) -> NDArray[np.float64]:
        block = np.asarray(values[rows])
        _count_genes(block, of_genes[rows])
        return block

    for block in in_threads(counted, row_blocks(values.shape)):
        _count_samples(block, of_samples, totals)
        release(values)
    n_missing, n_zero, n_positive = np.ascontiguousarray(of_genes.T)
    sample_missing, sample_zero = np.ascontiguousarray(of_samples.T)
    return RawCounts(n_missing, n_zero, n_positive, totals, sample_missing, sample_zero)


def whole_counts(values: Values, scratch: Path | None = None) -> NDArray[np.unsignedinteger] | None:
    """The ``values`` (genes, samples) in the smallest type that holds them, 0 where missing; None
    where some are negative or no whole numbers. Many are mapped from a file in ``scratch``."""
    blocks, largest = row_blocks(values.shape), 0.0
    for rows in blocks:
        block = np.nan_to_num(values[rows])
        release(values)
        if not (block == np.rint(np.clip(block, 0.0, 2.0**53))).all():
            return None
        largest = max(largest, block.max(initial=0.0))
    found = empty_table(values.shape, scratch, np.min_scalar_type(int(largest)))
    for rows in blocks:
        found[rows] = np.nan_to_num(values[rows])
        release(values)
        release(found)
    return found


@njit(nogil=True)
def _count_genes(values, counts):  # type: ignore[no-untyped-def]
    """counts (genes, 3): how many values of each gene are missing, zero and above zero."""
    for gene in range(values.shape[0]):
        missing, zero, positive = 0, 0, 0
        for value in values[gene]:
            missing += np.isnan(value)
            zero += value == 0.0
            positive += value > 0.0
        counts[gene, 0] = missing
        counts[gene, 1] = zero
        counts[gene, 2] = positive


@njit(parallel=True)
def _count_samples(values, counts, totals):  # type: ignore[no-untyped-def]
    """Add to counts (samples, 2) how many values of each sample are missing and zero, and to its
    total its values, gene after gene, so that totals are the same for any blocks."""
    n_genes, n_samples = values.shape
    for part in prange((n_samples + _SAMPLES_TOGETHER - 1) // _SAMPLES_TOGETHER):
        end = min((part + 1) * _SAMPLES_TOGETHER, n_samples)
        for gene in range(n_genes):
            for sample in range(part * _SAMPLES_TOGETHER, end):
                value = values[gene, sample]
                if np.isnan(value):
                    counts[sample, 0] += 1
                else:
                    totals[sample] += value
                    counts[sample, 1] += value == 0.0


def row_blocks(shape: tuple[int, ...], n_values: int | None = None) -> list[slice]:
    """Slices of consecutive rows, each of about ``n_values``: a million unless given."""
    step = max(1, (n_values or _BLOCK_VALUES) // max(1, shape[1]))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


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
