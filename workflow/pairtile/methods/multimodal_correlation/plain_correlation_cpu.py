"""Blocks of plain correlations on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pairtile.methods.multimodal_correlation.kernels.plain_correlation import (
    describe_entries,
    pair_correlations,
)
from pairtile.methods.multimodal_correlation.kernels.plain_correlation_blocks import (
    COUNTS,
    KEPT,
    R_BINS,
    count_rows,
    finish_masked_products,
    finish_products,
    write_rows,
)
from pairtile.methods.multimodal_correlation.plain_correlation_genes import Genes


class Limits(NamedTuple):
    """What decides over a pair, and what rounding may do."""

    least: int
    """Samples that a pair must have."""
    lowest: float
    highest: float
    """A pair is kept where ``lowest <= |r| <= highest``."""
    nearly: float
    """|r| from here on is 1."""
    trust: float
    """A variance under this part of the mean square, from sums over many pairs, is not trusted."""


class Kept(NamedTuple):
    """Pairs kept of a block (arrays of the device), and counts of all its pairs (host)."""

    row: Any
    column: Any
    correlation: Any
    n_samples: Any
    counts: NDArray[np.int64]
    histogram: NDArray[np.int64]


class CpuBlocks:
    """The numba kernels on blocks of pairs."""

    cells = 1 << 20
    """Pairs of a block: its matrices stay near the cores."""

    strip = 128
    """Rows of a block on the diagonal."""

    def __init__(self, genes: Genes, limits: Limits, threads: int | None) -> None:
        self.genes = genes
        self.limits = limits
        self.spearman = genes.settings.correlation == "spearman"
        self._threads = threads

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold numba and the matrix library to the threads given."""
        if self._threads is None:
            yield
            return
        before = numba.get_num_threads()
        numba.set_num_threads(min(self._threads, before))
        try:
            with threadpool_limits(self._threads):
                yield
        finally:
            numba.set_num_threads(before)

    def upload(self, numbers: NDArray[np.int64]) -> Any:
        """Numbers of genes as the kernels take them."""
        return numbers

    def finish_products(self, lengths: Any, whole: Any, samples: int, r: Any, n: Any) -> None:
        """Products to correlations (see the kernel); pairs of columns' and rows' arrays."""
        (length_x, length_y), (whole_x, whole_y) = lengths, whole
        nearly = self.limits.nearly
        finish_products(length_x, length_y, whole_x, whole_y, samples, nearly, r, n)

    def finish_masked_products(self, sums: Any, of_pair: Any, r: Any, n: Any) -> None:
        """Sums over the pairs' samples to correlations (see the kernel)."""
        sum_x, sum_y, square_x, square_y, counts = sums
        of_pair_x, of_pair_y = of_pair
        finish_masked_products(
            sum_x,
            sum_y,
            square_x,
            square_y,
            counts,
            of_pair_x,
            of_pair_y,
            self.limits.least,
            self.limits.trust,
            self.limits.nearly,
            r,
            n,
        )

    def pair_correlations(self, rows: Any, columns: Any, diagonal: int, r: Any, n: Any) -> None:
        """What is left to do, pair by pair."""
        pair_correlations(
            self.genes.arrays,
            rows,
            columns,
            diagonal,
            self.limits.least,
            self.spearman,
            self.limits.nearly,
            r,
            n,
        )

    def kept(self, diagonal: int, r: Any, n: Any) -> Kept:
        """Choose the pairs of a block."""
        least, lowest, highest = self.limits[:3]
        kept = np.empty(len(r), dtype=np.int64)
        counts = np.empty((len(r), COUNTS), dtype=np.int64)
        histogram = np.empty((len(r), R_BINS), dtype=np.int64)
        count_rows(r, n, diagonal, least, lowest, highest, kept, counts, histogram)
        totals = counts.sum(axis=0)
        entries = int(totals[KEPT])
        first = np.cumsum(kept) - kept
        row, column, samples = (np.empty(entries, dtype=np.int32) for _ in range(3))
        correlation = np.empty(entries, dtype=np.float32)
        write_rows(r, n, diagonal, least, lowest, highest, first, row, column, correlation, samples)
        return Kept(row, column, correlation, samples, totals, histogram.sum(axis=0))

    def describe(
        self, rows: Any, columns: Any, kept: Kept, whole: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.uint8]]:
        """Moments (5, entries), members and outliers (entries, bytes) of the kept pairs."""
        entries, octets = len(kept.row), -(-self.genes.n_samples // 8)
        moments = np.empty((5, entries), dtype=np.float32)
        members = np.empty((entries, octets), dtype=np.uint8)
        outliers = np.empty((entries, octets), dtype=np.uint8)
        describe_entries(
            self.genes.arrays,
            rows,
            columns,
            kept.row,
            kept.column,
            self.limits.least,
            moments,
            members,
            outliers,
        )
        return moments, members, outliers
