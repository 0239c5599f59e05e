"""KSG mutual information of blocks of variables (Kraskov, Stoegbauer & Grassberger 2004)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from pairtile.cpu.vectors import LANES
from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.methods.trajectory_correlation.kernels import ksg
from pairtile.methods.trajectory_correlation.motion import MotionSettings
from pairtile.methods.trajectory_correlation.motion_blocks import (
    PreparedBlocks,
    coordinates,
    mirrored,
    shifted,
)

KERNELS = Path(__file__).parent / "kernels"

BATCH_BYTES = {"cpu": 64 << 20, "cuda": 1 << 30}
"""Memory for the distances of a batch of frames of all variables of a tile."""

MAX_BATCH = 1 << 14
"""Frames in a batch; also what the third dimension of a CUDA grid holds."""

WARPS = 8
COLUMNS = 4
"""Row variables of a block of threads; column variables that each of its warps does together."""


class KsgPairs:
    """I = psi(k) [- 1/k] + <psi(frames in reach)> - <psi(n_x) + psi(n_y)>, as blocks of pairs.

    Without a Theiler window the frames in reach are all frames: the usual formula. With one, they
    are those outside the window, and the frame itself.
    """

    def __init__(
        self, series: NDArray[np.floating], settings: MotionSettings, device: Device
    ) -> None:
        self.settings = settings
        self.device = device
        self.d, self.frames = series.shape[1:]
        self.padded = -(-self.frames // LANES) * LANES
        self._series = series
        self._prepared = PreparedBlocks(self._prepare, device)
        self._batch_bytes = BATCH_BYTES[device.backend]
        xp = device.xp
        # Variant 1 counts frames nearer than the bound and needs psi(n + 1), variant 2 psi(n).
        counts = np.arange(self.frames + 2, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            psi = digamma(counts + 1.0 if settings.variant == 1 else counts)
        self._psi = xp.asarray(np.where(np.isfinite(psi), psi, 0.0))
        if device.backend == "cuda":
            from pairtile.gpu import compiling as cuda

            module = cuda.load(
                KERNELS / "ksg.cu",
                {
                    "DIM": self.d,
                    "MAX_NORM": int(settings.norm == "max"),
                    "VARIANT": settings.variant,
                    "COLUMNS": COLUMNS,
                },
            )
            self._distances_kernel = module.get_function("frame_distances")
            self._counts_kernel = module.get_function("neighbour_counts")

    def block(
        self, rows: slice, columns: slice, shift: int, upper: bool = False
    ) -> NDArray[np.float64]:
        """Nats, float64 (rows, columns); the column variables taken ``shift`` frames later.

        upper : cells below the diagonal are not wanted.
        """
        (x,) = self._prepared.get(rows)
        (y,) = self._prepared.get(columns)
        symmetric = shift == 0 and rows == columns
        y = shifted(self.device.xp, y, shift)
        from_column = np.arange(len(x), dtype=np.int64) * (symmetric or upper)
        total = self.device.to_host(self._totals(x, y, from_column, symmetric))
        mi_nats = self._constant() - total / self.frames
        return mirrored(mi_nats) if symmetric else np.asarray(mi_nats)

    def _constant(self) -> float:
        s = self.settings
        t = np.arange(self.frames)
        window = np.minimum(t, s.theiler) + 1 + np.minimum(self.frames - 1 - t, s.theiler)
        reach = float(digamma(self.frames - window + 1.0).mean())
        return float(digamma(s.neighbours)) - (s.variant - 1) / s.neighbours + reach

    def _prepare(self, block: slice) -> tuple[Any]:
        s = self.settings
        points = coordinates(self._series, block, self.device, single=s.single, centred=False)
        if s.scale == "std":
            spread = points.std(axis=2, keepdims=True)
            points = points / self.device.xp.where(spread > 0.0, spread, 1.0)
        return (points,)

    def _totals(self, x: Any, y: Any, from_column: NDArray[np.int64], symmetric: bool) -> Any:
        """Sums of psi over all frames, a batch of frames at a time."""
        total = self.device.xp.zeros((len(x), len(y)))
        columns = self.device.xp.asarray(from_column)
        variables = len(x) + (0 if symmetric else len(y))
        first = 0
        while first < self.frames:
            size = max(1, min(MAX_BATCH, self._batch_bytes // (variables * self.padded * 4)))
            size = min(size, self.frames - first)
            try:
                of_x = self._distances(x, first, size)
                of_y = of_x if symmetric else self._distances(y, first, size)
            except MemoryError as error:  # CuPy's is one, too
                if size == 1:
                    raise DeviceError(
                        f"memory: found no room for the distances of one frame of {variables} "
                        "variables; expected more free memory, or smaller tiles"
                    ) from error
                self._batch_bytes = max(1, size // 2) * variables * self.padded * 4
                continue
            self._count(of_x, of_y, x, y, first, columns, total)
            first += size
        return total

    def _distances(self, points: Any, first: int, size: int) -> Any:
        s = self.settings
        xp = self.device.xp
        out = xp.empty((size, len(points), self.padded), dtype=np.float32)
        if self.device.backend == "cpu":
            ksg.frame_distances(points, first, s.theiler, s.norm == "max", out)
            return out
        self._distances_kernel(
            (-(-self.padded // 256), len(points), size),
            (256,),
            (
                points,
                np.int32(self.frames),
                np.int32(first),
                np.int32(s.theiler),
                np.int32(self.padded),
                out,
            ),
        )
        return out

    def _count(
        self, of_x: Any, of_y: Any, x: Any, y: Any, first: int, from_column: Any, total: Any
    ) -> None:
        s = self.settings
        if self.device.backend == "cpu":
            ksg.neighbour_counts(
                of_x.view(np.int32),
                of_y.view(np.int32),
                x,
                y,
                first,
                s.theiler,
                s.neighbours,
                s.variant,
                s.norm == "max",
                from_column,
                self._psi,
                total,
            )
            return
        self._counts_kernel(
            (-(-len(y) // COLUMNS), -(-len(x) // WARPS)),
            (32 * WARPS,),
            (
                of_x,
                of_y,
                x,
                y,
                np.int32(len(x)),
                np.int32(len(y)),
                np.int32(self.frames),
                np.int32(self.padded),
                np.int32(first),
                np.int32(len(of_x)),
                np.int32(s.theiler),
                np.int32(s.neighbours),
                from_column,
                self._psi,
                total,
            ),
        )
