"""Modes of pairs on the GPU: a warp for each pair; the other half is ``pair_mixtures_cpu``.

Each pair has room for all the modes it can have, so that nothing depends on the order in which
pairs are done; the kept modes are then gathered on the GPU, in order, and copied to the host, a
batch of pairs at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import (
    COUNTS,
    HISTOGRAM_BINS,
    MAX_CLUSTERS,
)
from pairtile.methods.multimodal_correlation.mixture_genes_cuda import gene_arrays
from pairtile.methods.multimodal_correlation.pair_mixtures import (
    MixtureSettings,
    Modes,
    prepared_genes,
)

KERNELS = Path(__file__).parent / "kernels"

FREE_SHARE = 0.4
MOST_PAIRS = 1 << 22
"""Share of the free GPU memory for a batch's room for modes, and pairs of a batch at most."""

KERNEL_COUNTS = (
    "too_few_samples",
    "constant",
    "degenerate",
    "failed",
    "modes_small",
    "modes_undefined",
    "fits",
    "fits_failed",
    "fits_unfinished",
    "em_steps",
)
"""What the kernel counts, in its order."""

MOST_SAMPLES = 32_000
"""Places in the sort order, and doubled ranks, are 16 bits."""

NUMBERS = (
    "correlation",
    "weight",
    "mean_row",
    "mean_column",
    "variance_row",
    "variance_column",
    "covariance",
)
"""The numbers of a mode, in the order of the kernel."""


class MixturesCuda:
    """``PairMixtures`` on the GPU.

    Raises DeviceError where there are more samples than the GPU's shared memory holds.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        keys: NDArray[np.uint64],
        settings: MixtureSettings,
        device: Device,
    ) -> None:
        from pairtile.gpu import compiling as cuda

        self.settings = settings
        self.device = device
        self.cupy = device.xp
        genes = prepared_genes(values, keys, settings)
        self.n_genes, self.n_samples = genes.values.shape
        self.words = -(-self.n_samples // 32)
        mixture = settings.clustering == "gmm"
        self.shared_bytes = shared_bytes(self.n_samples, mixture)
        limit = most_samples(device, mixture)
        if self.n_samples > limit:
            raise DeviceError(
                f"shared memory of the GPU: found {self.n_samples:,} samples; expected at most "
                f"{limit:,} for pairs of genes on this GPU, or backend: cpu"
            )
        self.arrays = tuple(
            self.cupy.asarray(array)
            for array in gene_arrays(genes, settings.kinc, settings.outliers_before)
        )
        rules = settings.rules()
        defines = {
            "KINC": int(rules.kinc),
            "MIXTURES": int(rules.mixture),
            "SPEARMAN": int(rules.spearman),
        }
        module = cuda.load(KERNELS / "pair_mixtures.cu", defines, fused=False)
        self.kernel = module.get_function("pair_mixtures")
        if self.shared_bytes > 48 << 10:
            self.kernel.max_dynamic_shared_size_bytes = self.shared_bytes
        self.slots = settings.max_clusters if rules.mixture else 1
        self.scalars = (
            np.int32(rules.k_min),
            np.int32(self.slots),
            np.int32(rules.criterion),
            np.int32(rules.min_samples),
            np.float64(rules.min_correlation),
            np.float64(rules.max_correlation),
            np.int32(rules.outliers_before),
            np.int32(rules.outliers_after),
            np.uint64(rules.seed),
            np.int32(rules.restarts),
            np.int32(rules.short_steps),
            np.int32(rules.limit),
            np.float32(rules.tolerance),
            np.float32(rules.ridge),
            np.float32(rules.prior_scatter),
            np.float32(rules.prior_n),
            np.float32(rules.least),
            np.float64(rules.degenerate),
        )

    def tile(self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool) -> Modes:
        """As ``PairMixtures.tile``; raises DeviceError where no pair's modes find room."""
        xp = self.cupy
        for name, numbers in (("rows", rows), ("columns", columns)):
            if len(numbers) and not 0 <= np.min(numbers) <= np.max(numbers) < self.n_genes:
                raise ValueError(f"{name} hold gene numbers outside 0 to {self.n_genes - 1}")
        n_rows, n_columns = len(rows), len(columns)
        lengths = n_columns - 1 - np.arange(n_rows) if upper else np.full(n_rows, n_columns)
        row_start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        n_pairs = int(row_start[-1])
        self._places = (
            xp.asarray(np.asarray(rows, dtype=np.int32)),
            xp.asarray(np.asarray(columns, dtype=np.int32)),
            xp.asarray(row_start),
            np.int32(n_rows),
            np.int32(upper),
        )
        self._sums = (
            xp.zeros(len(KERNEL_COUNTS), dtype=np.uint64),
            xp.zeros(MAX_CLUSTERS + 1, dtype=np.uint64),
            xp.zeros(HISTOGRAM_BINS, dtype=np.uint64),
        )
        parts = []
        begin = 0
        pair_bytes = 28 + 4 * self.words + self.slots * (32 + 4 * self.words)
        batch = min(MOST_PAIRS, int(FREE_SHARE * self.device.free_bytes()) // pair_bytes)
        while begin < n_pairs:
            size = max(1, min(batch, n_pairs - begin))
            before = [array.copy() for array in self._sums]
            try:
                parts.append(self._batch(begin, size))
            except xp.cuda.memory.OutOfMemoryError as error:
                xp.get_default_memory_pool().free_all_blocks()
                if size == 1:
                    raise DeviceError(
                        f"GPU memory: found no room for the modes of one pair ({pair_bytes} "
                        "bytes) beside the genes; expected a GPU with more free memory"
                    ) from error
                batch = size // 2
                for array, old in zip(self._sums, before, strict=True):
                    array[...] = old
                continue
            begin += size
        return self._modes(parts, n_pairs)

    def _batch(self, begin: int, size: int) -> dict[str, NDArray[Any]]:
        """Kept modes of pairs ``begin`` to ``begin + size`` of the tile's order."""
        xp = self.cupy
        integer: dict[str, Any] = {"dtype": np.int32}
        of_pair = {
            name: xp.empty(size, dtype=np.int32)
            for name in ("row", "column", "n_clusters", "n_modes", "n_usable")
        }
        of_pair |= {
            name: xp.empty(size, dtype=np.float32) for name in ("log_likelihood", "criterion")
        }
        outliers = xp.empty((size, self.words), dtype=np.uint32)
        entries = size * self.slots
        n_samples = xp.empty(entries, **integer)
        numbers = xp.empty((entries, len(NUMBERS)), dtype=np.float32)
        members = xp.empty((entries, self.words), dtype=np.uint32)
        self.kernel(
            (size,),
            (32,),
            (
                *self.arrays,
                np.int32(self.n_samples),
                *self._places,
                np.int64(begin),
                *self.scalars,
                *of_pair.values(),
                outliers,
                n_samples,
                numbers,
                members,
                *self._sums,
            ),
            shared_mem=self.shared_bytes,
        )
        cluster = xp.arange(self.slots, **integer)
        kept = xp.flatnonzero(cluster[None, :] < of_pair["n_clusters"][:, None])
        pair = kept // self.slots
        found = {name: xp.asnumpy(array[pair]) for name, array in of_pair.items()}
        found["cluster"] = xp.asnumpy((kept - pair * self.slots + 1).astype(np.int32))
        found["n_samples"] = xp.asnumpy(n_samples[kept])
        found["samples"] = self._bytes(members[kept])
        found["outliers"] = self._bytes(outliers[pair])
        taken = xp.asnumpy(numbers[kept])
        return found | {name: taken[:, i] for i, name in enumerate(NUMBERS)}

    def _bytes(self, masks: Any) -> NDArray[np.uint8]:
        """Words of masks on the GPU as bytes on the host, without those past the last sample."""
        of_words = masks.view(np.uint8).reshape(-1, 4 * self.words)
        trimmed: Any = self.cupy.ascontiguousarray(of_words[:, : -(-self.n_samples // 8)])
        return np.asarray(self.cupy.asnumpy(trimmed))

    def _modes(self, parts: list[dict[str, NDArray[Any]]], n_pairs: int) -> Modes:
        if not parts:
            return _no_modes(self.n_samples)
        joined: dict[str, Any] = {
            name: np.ascontiguousarray(np.concatenate([part[name] for part in parts]))
            for name in parts[0]
        }
        counts, histogram_k, histogram_r = (
            self.cupy.asnumpy(array).astype(np.int64) for array in self._sums
        )
        counted = dict(zip(KERNEL_COUNTS, counts.tolist(), strict=True))
        kept = {"pairs": n_pairs, "modes_kept": len(joined["row"])}
        counted["modes_below"] = int(histogram_r.sum()) - kept["modes_kept"]
        histogram_k[0] = sum(counted[name] for name in ("too_few_samples", "constant", "failed"))
        if self.settings.clustering == "none":  # the kernel does not count what is known
            histogram_k[1] = n_pairs - histogram_k[0]
        counts = kept | {name: counted[name] for name in COUNTS}
        return Modes(**joined, counts=counts, histogram_k=histogram_k, histogram_r=histogram_r)


def most_samples(device: Device, mixture: bool = True) -> int:
    """Samples for which a pair finds room in the shared memory of a GPU's multiprocessor; with
    mixtures or without."""
    limit = device.xp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    fixed = shared_bytes(0, mixture)
    most = 32 * ((limit - fixed) // (shared_bytes(32, mixture) - fixed))
    return int(min(most, MOST_SAMPLES))


def shared_bytes(n_samples: int, mixture: bool) -> int:
    """Shared memory for a pair; the layout stands in ``pair_mixtures_shared.cuh``."""
    words = -(-n_samples // 32)
    if not mixture:  # four masks and what goes with them, a rank of each sample
        return words * (4 * 4 + 32 * 2)
    fixed = 3 * MAX_CLUSTERS * 48 + 32 * 4
    return fixed + words * (6 * 4 + 32 * (3 * 4 + 2 + 1))


def _no_modes(n_samples: int) -> Modes:
    """Of a tile without pairs."""
    integers, reals = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
    masks = np.empty((0, -(-n_samples // 8)), dtype=np.uint8)
    counts = {"pairs": 0, "modes_kept": 0} | dict.fromkeys(COUNTS, 0)
    names = ("row", "column", "cluster", "n_clusters", "n_samples", "n_modes", "n_usable")
    found: dict[str, Any] = dict.fromkeys(names, integers)
    found |= dict.fromkeys((*NUMBERS, "log_likelihood", "criterion"), reals)
    return Modes(**found, samples=masks, outliers=masks, counts=counts)
