"""Candidate predictors on the GPU, and the kernel that searches their sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import bit_planes
from pairtile.errors import DeviceError
from pairtile.gpu import compiling as cuda
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_OBS, POOR_OBS

if TYPE_CHECKING:
    from pairtile.methods.predictor_pairs.search import PredictorSearch

KERNELS = Path(__file__).parent / "kernels"

CODE_BITS = 21
"""Of a predictor's number in the 64-bit code of a set, as in the kernel."""

THREADS = 128
QUEUE_BYTES = 8 * THREADS
SHARED_BYTES = 40 * 1024
MOST_TILE_TARGETS = 512
TILE_STEP = 16
"""Targets of a tile come in multiples of this."""

TIGHT_SAMPLES = 6
"""Samples for each cell from which on the closer bound pays: the other passes ever more sets."""

MOST_LEFT_BYTES = 1 << 28
"""Planes of the first two of three predictors that are made at a time, where memory allows."""


@dataclass(frozen=True)
class Lefts:
    """Sets less their last predictor: planes uint32 (n, q^(c-1), stride), int64 codes, and the
    last predictor of each int32 (n,)."""

    planes: Any
    codes: Any
    last: NDArray[np.int32]


class CudaPredictors:
    """One table of candidate predictors on the GPU, with the kernels that search it."""

    def __init__(self, search: PredictorSearch) -> None:
        import cupy

        if search.n_predictors >= 1 << CODE_BITS:
            raise DeviceError(
                f"backend: found cuda with {search.n_predictors:,} candidate predictors; expected "
                f"fewer than {1 << CODE_BITS:,} on a GPU"
            )
        self.cupy = cupy
        self.device = search.device
        self.settings = search.settings
        self.n_samples = search.n_samples
        self.words = search.planes.shape[2]
        self.chunks = -(-self.words // 4)
        self.planes = self.on_gpu(search.planes)
        self.log_table = cupy.asarray(search.log_table)
        self.weight_table = cupy.asarray(self._bound_weights())
        self.merge = cuda.load(KERNELS / "mean_conditional_entropy_best.cu", {}).get_function(
            "merge_candidates"
        )

    def _bound_weights(self) -> NDArray[np.float32]:
        """What 4 w / n is for a cell of n samples; see ``mean_conditional_entropy_lanes``."""
        n = np.arange(1, self.n_samples + 1, dtype=np.float64)
        weights = np.zeros(self.n_samples + 1)
        weights[1:] = 4.0 / n
        if self.settings.penalty_code == NO_OBS:
            weights[1:] *= (n + self.settings.alpha) / n
        elif self.settings.penalty_code == POOR_OBS:
            weights[1] = 0.0
        return weights.astype(np.float32)

    def on_gpu(self, planes: NDArray[np.uint32]) -> Any:
        """Bit planes on the GPU, padded to whole chunks of 128 samples."""
        padded = self.cupy.zeros((*planes.shape[:2], 4 * self.chunks), dtype=np.uint32)
        padded[:, :, : planes.shape[2]] = self.cupy.asarray(planes)
        return padded

    def search_kernel(self, count_all: bool) -> tuple[Any, int, int]:
        """``search_sets``, targets of a tile at most, and shared bytes for each of them."""
        levels = self.settings.levels
        classes = levels if count_all else levels - 1
        plane_bytes = -(-classes // 2) * self.chunks * 128 // (8 if classes == 1 else 4)
        tile = (SHARED_BYTES - QUEUE_BYTES) // (16 + plane_bytes) // TILE_STEP * TILE_STEP
        shared = tile > 0
        cells = levels**self.settings.cardinality
        module = cuda.load(
            KERNELS / "mean_conditional_entropy.cu",
            {
                "LEVELS": levels,
                "CARDINALITY": self.settings.cardinality,
                "PENALTY": self.settings.penalty_code,
                "WORDS": self.words,
                "COUNT_ALL": int(count_all),
                "TIGHT": int(levels > 2 and self.n_samples >= TIGHT_SAMPLES * cells),
                "SHARED": int(shared),
            },
        )
        tile = min(MOST_TILE_TARGETS, tile) if shared else 128
        return module.get_function("search_sets"), tile, 16 + (plane_bytes if shared else 0)

    def lefts(self, first_begin: int, first_end: int) -> Iterator[Lefts]:
        """All sets, less their last predictor, whose first one is in the range."""
        xp = self.cupy
        n_predictors, levels, stride = self.planes.shape
        if self.settings.cardinality == 1:
            everything = np.zeros((1, self.n_samples), dtype=np.int8)
            planes = self.on_gpu(bit_planes(everything, 1))
            yield Lefts(planes, xp.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int32))
        elif self.settings.cardinality == 2:
            first = np.arange(first_begin, first_end, dtype=np.int32)
            planes = self.planes[first_begin:first_end]
            yield Lefts(planes, xp.asarray(first, dtype=np.int64), first)
        else:
            left_bytes = min(MOST_LEFT_BYTES, self.device.free_bytes() // 8)
            portion = max(1, left_bytes // (levels * levels * stride * 4))
            for first, second in _pairs(first_begin, first_end, n_predictors, portion):
                a, b = xp.asarray(first), xp.asarray(second)
                planes = self.planes[a][:, :, None] & self.planes[b][:, None]
                codes = (a.astype(np.int64) << CODE_BITS) | b
                yield Lefts(planes.reshape(len(a), levels * levels, stride), codes, second)


def _pairs(
    first_begin: int, first_end: int, n_predictors: int, portion: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Pairs whose first predictor is in the range, about ``portion`` at a time, in order."""
    begin = first_begin
    while begin < first_end:
        end = min(first_end, begin + max(1, portion // n_predictors))
        first, second = np.triu_indices(end - begin, 1 + begin, n_predictors)
        yield (first + begin).astype(np.int32), second.astype(np.int32)
        begin = end
