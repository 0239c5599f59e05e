"""Blocks of plain correlations on the GPU."""

from __future__ import annotations

import numpy as np

from pairtile.arrays import Float32Array, Float64Array, Int32Array, Int64Array, UInt8Array
from pairtile.errors import DeviceError
from pairtile.methods.multimodal_correlation.kernels.plain_correlation import (
    COUNTS,
    KEPT,
    R_BINS,
    Kept,
    Limits,
)
from pairtile.methods.multimodal_correlation.plain_correlation_genes import (
    CorrelationGenes,
    cuda_module,
)

WARPS, COLUMNS, THREADS = 8, 8, 256
"""As in the kernels: rows and columns of a block of pairs, threads of a block on one row."""

MEMORY_SHARE = 0.4
"""Part of the free memory for a block and for a batch of kept pairs."""

CELL_BYTES = 80
"""Memory for a pair of a block: correlation, samples, and the sums of masked products."""

MAX_CELLS = 1 << 26
"""Pairs of a block that keep any GPU busy."""

SHARED_BYTES = 48 << 10
"""Shared memory of a block of threads that every GPU has."""


class CudaBlocks:
    """The CUDA kernels on blocks of pairs."""

    strip = 2048
    """Rows of a block on the diagonal."""

    def __init__(self, genes: CorrelationGenes, limits: Limits) -> None:
        self.genes = genes
        self.limits = limits
        spearman = genes.estimator.facts.of_ranks
        module = cuda_module(genes.n_samples, spearman)
        self._kernels = {
            name: module.get_function(name)
            for name in (
                "finish_products",
                "finish_masked_products",
                "pair_correlations",
                "describe_entries",
                "count_rows",
                "write_rows",
            )
        }
        words = genes.words
        self._warp_bytes = 4 * (words + (4 * (words + 1) if spearman else 0))
        self._warps = max(1, min(WARPS, SHARED_BYTES // self._warp_bytes))
        if self._warp_bytes > SHARED_BYTES:
            most = genes.device.xp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
            if self._warp_bytes > most:
                raise DeviceError(
                    f"correlation: found {genes.n_samples} samples, {self._warp_bytes} bytes of "
                    f"shared memory for a pair; expected at most {most} on this GPU, or backend: "
                    "cpu"
                )
            for name in ("pair_correlations", "describe_entries"):
                self._kernels[name].max_dynamic_shared_size_bytes = self._warp_bytes
        free = genes.device.free_bytes()
        self.cells = max(1, min(MAX_CELLS, int(MEMORY_SHARE * free) // CELL_BYTES))
        octets = -(-genes.n_samples // 8)
        self._batch = max(1, int(MEMORY_SHARE * free) // (2 * octets + 40))
        self._args = (*genes.arrays, np.int32(words))

    def upload(self, numbers: Int64Array) -> Int64Array:
        """Numbers of genes as the kernels take them."""
        return self.genes.device.xp.asarray(numbers.astype(np.int32))

    def _on_cells(self, name: str, r: Float64Array, arguments: tuple[object, ...]) -> None:
        rows, columns = r.shape
        self._kernels[name]((-(-columns // THREADS), rows), (THREADS,), arguments)

    def finish_products(
        self,
        lengths: tuple[Float64Array, Float64Array],
        whole: tuple[UInt8Array, UInt8Array],
        samples: int,
        r: Float64Array,
        n: Int32Array,
    ) -> None:
        """Products to correlations (see the kernel); pairs of columns' and rows' arrays."""
        numbers = (np.int32(samples), np.float64(self.limits.nearly))
        shape = (np.int32(r.shape[0]), np.int32(r.shape[1]))
        self._on_cells("finish_products", r, (*lengths, *whole, *numbers, *shape, r, n))

    def finish_masked_products(
        self,
        sums: tuple[Float64Array, ...],
        of_pair: tuple[UInt8Array, UInt8Array],
        r: Float64Array,
        n: Int32Array,
    ) -> None:
        """Sums over the pairs' samples to correlations (see the kernel)."""
        least, _, _, nearly, trust = self.limits
        numbers = (np.int32(least), np.float64(trust), np.float64(nearly))
        shape = (np.int32(r.shape[0]), np.int32(r.shape[1]))
        self._on_cells("finish_masked_products", r, (*sums, *of_pair, *numbers, *shape, r, n))

    def pair_correlations(
        self, rows: Int64Array, columns: Int64Array, diagonal: int, r: Float64Array, n: Int32Array
    ) -> None:
        """What is left to do, pair by pair."""
        self._kernels["pair_correlations"](
            (-(-len(columns) // COLUMNS), -(-len(rows) // self._warps)),
            (32 * self._warps,),
            (
                *self._args,
                rows,
                columns,
                np.int32(len(rows)),
                np.int32(len(columns)),
                np.int32(diagonal),
                np.int32(self.limits.least),
                np.float64(self.limits.nearly),
                r,
                n,
            ),
            shared_mem=self._warps * self._warp_bytes,
        )

    def kept(self, diagonal: int, r: Float64Array, n: Int32Array) -> Kept:
        """Choose the pairs of a block."""
        xp = self.genes.device.xp
        rows, columns = r.shape
        kept = xp.empty(rows, dtype=np.int64)
        totals = xp.zeros(COUNTS + R_BINS, dtype=np.int64)
        limits = (
            np.int32(columns),
            np.int32(diagonal),
            np.int32(self.limits.least),
            np.float64(self.limits.lowest),
            np.float64(self.limits.highest),
        )
        self._kernels["count_rows"](
            (rows,), (THREADS,), (r, n, *limits, kept, totals[:COUNTS], totals[COUNTS:])
        )
        first = xp.cumsum(kept) - kept
        counts = xp.asnumpy(totals)
        entries = int(counts[KEPT])
        row, column, samples = (xp.empty(entries, dtype=np.int32) for _ in range(3))
        correlation = xp.empty(entries, dtype=np.float32)
        if entries:
            self._kernels["write_rows"](
                (rows,), (THREADS,), (r, n, *limits, first, row, column, correlation, samples)
            )
        return Kept(row, column, correlation, samples, counts[:COUNTS], counts[COUNTS:])

    def describe(
        self, rows: Int64Array, columns: Int64Array, kept: Kept, whole: bool
    ) -> tuple[Float32Array, UInt8Array, UInt8Array]:
        """Moments (5, entries), members and outliers (entries, bytes) of the kept pairs.

        ``whole``: every pair has every sample, so that masks need not come from the GPU.
        """
        xp = self.genes.device.xp
        entries, octets = len(kept.row), -(-self.genes.n_samples // 8)
        moments = np.empty((5, entries), dtype=np.float32)
        members, outliers = (np.zeros((entries, octets), dtype=np.uint8) for _ in range(2))
        if whole:
            members[:] = np.packbits(np.ones(self.genes.n_samples, dtype=np.uint8))
        for begin in range(0, entries, self._batch):
            part = slice(begin, min(entries, begin + self._batch))
            size = part.stop - begin
            of_part = xp.empty((5, size), dtype=np.float32)
            shape = (0 if whole else size, octets)
            masks = [xp.empty(shape, dtype=np.uint8) for _ in range(2)]
            self._kernels["describe_entries"](
                (-(-size // self._warps),),
                (32 * self._warps,),
                (
                    *self._args,
                    rows,
                    columns,
                    kept.row[part],
                    kept.column[part],
                    np.int32(size),
                    np.int32(self.limits.least),
                    np.int32(0 if whole else octets),
                    of_part,
                    *masks,
                ),
                shared_mem=self._warps * self._warp_bytes,
            )
            moments[:, part] = xp.asnumpy(of_part)
            if not whole:
                masks[0].get(out=members[part])
                masks[1].get(out=outliers[part])
        return moments, members, outliers
