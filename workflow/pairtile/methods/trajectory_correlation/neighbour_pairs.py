"""Nearest-neighbour (KSG) mutual information of blocks of variables (Kraskov et al. 2004)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import digamma

from pairtile.arrays import BoolArray, Float64Array
from pairtile.cpu.njit import read_only
from pairtile.cpu.vectors import LANES
from pairtile.errors import DeviceError
from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import DeviceArray
from pairtile.methods.trajectory_correlation.kernels import ksg, ksg_scalars, ksg_transfer
from pairtile.methods.trajectory_correlation.pair_blocks import (
    KERNELS,
    Block,
    PairBlocks,
    Shift,
    Variables,
    launch,
)

WARPS = 8
COLUMNS = 4
"""Row variables of a block of threads; column variables that each of its warps does together."""

STRETCH = 16
"""Frames that a warp goes through: few enough that a tile of 64 x 64 variables fills a GPU."""


class KsgPairs(PairBlocks):
    """I = psi(k) [- 1/k] + <psi(frames in reach)> - <psi(n_x) + psi(n_y)>, as blocks of pairs.

    Without a Theiler window the frames in reach are all frames: the usual formula. With one, they
    are those outside the window, and the frame itself.
    """

    def _open(self) -> None:
        self.padded = -(-self.frames // LANES) * LANES
        # Memory for the distances of a batch of frames of all variables of a tile.
        self._batch_bytes = {"cpu": 64 << 20, "cuda": 1 << 30}[self.device.backend]
        if self.device.backend == "cuda":
            compiled_for = {
                "DIM": self.d,
                "MAX_NORM": int(self.settings.norm == "max"),
                "VARIANT": self.settings.variant,
                "COLUMNS": COLUMNS,
                "STRETCH": STRETCH,
            }
            module = cuda.load(KERNELS / "ksg.cu", compiled_for)
            self._distances_kernel = module.get_function("frame_distances")
            self._counts_kernel = module.get_function("neighbour_counts")
            self._add_kernel = module.get_function("add_frames")

    @cached_property
    def _psi(self) -> DeviceArray:
        # Variant 1 counts frames nearer than the bound and needs psi(n + 1), variant 2 psi(n).
        counts = np.arange(self.frames + 2, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            psi = digamma(counts + 1.0 if self.settings.variant == 1 else counts)
        return self.device.xp.asarray(np.where(np.isfinite(psi), psi, 0.0))

    def _scores(self, of_x: Block, of_y: Block, symmetric: bool, wanted: BoolArray) -> DeviceArray:
        (x,), (y,) = of_x, of_y
        return self._constant() - self._totals(x, y, wanted, symmetric) / self.frames

    def _constant(self) -> float:
        s = self.settings
        t = np.arange(self.frames)
        window = np.minimum(t, s.window) + 1 + np.minimum(self.frames - 1 - t, s.window)
        reach = float(digamma(self.frames - window + 1.0).mean())
        return float(digamma(s.neighbours)) - (s.variant - 1) / s.neighbours + reach

    def _prepare(self, block: Variables) -> Block:
        points = self._coordinates(block, centred=False)
        if self.settings.scale == "std":
            spread = points.std(axis=2, keepdims=True)
            points = points / self.device.xp.where(spread > 0.0, spread, 1.0)
        return (points,)

    def _totals(
        self, x: DeviceArray, y: DeviceArray, wanted: BoolArray, symmetric: bool
    ) -> DeviceArray:
        """Sums of psi over all frames, a batch of frames at a time."""
        total = self.device.xp.zeros((len(x), len(y)))
        cells = self.device.xp.ascontiguousarray(self.device.xp.asarray(wanted))
        variables = len(x) + (0 if symmetric else len(y))
        of_x = of_y = None
        first = 0
        while first < self.frames:
            # Frames in a batch: at most what the third dimension of a CUDA grid holds.
            size = max(1, min(1 << 14, self._batch_bytes // (variables * self.padded * 4)))
            size = min(size, self.frames - first)
            try:
                of_x = self._distances(x, first, size, of_x)
                of_y = of_x if symmetric else self._distances(y, first, size, of_y)
                on_gpu = self.device.backend == "cuda"
                of_pairs = self.device.xp.empty((size, *total.shape)) if on_gpu else None
            except MemoryError as error:  # CuPy's is one, too
                if size == 1:
                    raise DeviceError(
                        f"memory: found no room for the distances of one frame of {variables} "
                        "variables; expected more free memory, or smaller tiles"
                    ) from error
                self._batch_bytes = max(1, size // 2) * variables * self.padded * 4
                of_x = of_y = None
                continue
            self._count(of_x, of_y, x, y, first, cells, of_pairs, total)
            first += size
        return total

    def _distances(
        self, points: DeviceArray, first: int, size: int, before: DeviceArray
    ) -> DeviceArray:
        """Of ``size`` frames from ``first`` on, in the memory of the batch ``before``, if any."""
        s = self.settings
        xp = self.device.xp
        shape = (size, len(points), self.padded)
        out = xp.empty(shape, dtype=np.float32) if before is None else before[:size]
        if self.device.backend == "cpu":
            ksg.frame_distances(read_only(points), first, s.window, s.norm == "max", out)
        else:
            grid = -(-self.padded // 256), len(points), size
            given = points, self.frames, first, s.window, self.padded, out
            launch(self._distances_kernel, grid, 256, *given)
        return out

    def _count(
        self,
        of_x: DeviceArray,
        of_y: DeviceArray,
        x: DeviceArray,
        y: DeviceArray,
        first: int,
        wanted: DeviceArray,
        of_pairs: DeviceArray,
        total: DeviceArray,
    ) -> None:
        s = self.settings
        if self.device.backend == "cpu":
            ksg.neighbour_counts(
                ksg.Series(of_x.view(np.int32), read_only(x)),
                ksg.Series(of_y.view(np.int32), read_only(y)),
                first,
                ksg.Search(s.window, s.neighbours, s.variant, s.norm == "max"),
                wanted,
                self._psi,
                total,
            )
            return
        rows, columns, here = len(x), len(y), len(of_x)
        grid = -(-columns // COLUMNS), -(-rows // WARPS), -(-here // STRETCH)
        where = rows, columns, self.frames, self.padded, first, here, s.window, s.neighbours
        given = of_x, of_y, x, y, *where, wanted, self._psi, of_pairs
        launch(self._counts_kernel, grid, 32 * WARPS, *given)
        added = of_pairs, rows, columns, here, wanted, total
        launch(self._add_kernel, (-(-total.size // 256),), 256, *added)


THREADS = 128
"""Threads of the GPU for a pair."""


class KsgScalarPairs(KsgPairs):
    """The same of scalars, whose neighbours are sought in the order of the values."""

    def _open(self) -> None:
        if self.device.backend == "cuda":
            s = self.settings
            compiled_for = {"K": s.neighbours, "VARIANT": s.variant, "THREADS": THREADS}
            module = cuda.load(KERNELS / "ksg_scalars.cu", compiled_for)
            self._kernel = module.get_function("psi_sums")

    def _prepare(self, block: Variables) -> Block:
        xp = self.device.xp
        points = super()._prepare(block)[0][:, 0]
        order = xp.argsort(points, axis=1)
        in_order = xp.ascontiguousarray(xp.take_along_axis(points, order, axis=1))
        return points, in_order, order.astype(np.int32)

    def _scores(self, of_x: Block, of_y: Block, symmetric: bool, wanted: BoolArray) -> DeviceArray:
        s, xp = self.settings, self.device.xp
        rows, columns = np.nonzero(wanted)
        sums = xp.empty(len(rows))
        if self.device.backend == "cpu":
            search = ksg.Search(s.window, s.neighbours, s.variant, s.norm == "max")
            ksg_scalars.psi_sums(of_x, of_y, rows, columns, search, self._psi, sums)
        elif len(rows):
            processors = xp.cuda.Device().attributes["MultiProcessorCount"]
            # A multiprocessor works on eight pairs at a time.
            blocks = min(len(rows), 8 * processors)
            pairs = xp.asarray(np.array([rows, columns], dtype=np.int32))
            given = *of_x, *of_y[:2], *pairs, len(rows), self.frames, s.window, self._psi
            room = xp.empty((blocks, 2, self.frames))
            launch(self._kernel, (blocks,), THREADS, *given, room, sums)
        total = xp.zeros(wanted.shape)
        total[xp.asarray(rows), xp.asarray(columns)] = sums
        return self._constant() - total / self.frames


class TransferPairs(KsgPairs):
    """Transfer entropy in nats of row to column variables, on the CPU: how much the source x says
    of the target y, ``lag`` frames later, beyond what y says of it now (Schreiber 2000),

    I(y'; x | y) = psi(k) - <psi(n_xy + 1) + psi(n_yy' + 1) - psi(n_y + 1)>

    (Frenzel and Pompe 2007, Phys. Rev. Lett. 99:204101), n: frames nearer, in those parts, than the
    k-th nearest in all three.
    """

    def block(
        self,
        rows: Variables,
        columns: Variables,
        shift: Shift | None,
        wanted: BoolArray | None = None,
    ) -> Float64Array:
        """As ``PairBlocks.block``, but shifted are the row variables: a target and its own past
        stay side by side."""
        s = self.settings
        (x,), (y,) = self._ready(rows, shift), self._ready(columns, None)
        lag = int(s.lag)
        total, n = np.zeros((len(x), len(y))), self.frames - lag
        x, y, later = map(np.ascontiguousarray, (x[..., :n], y[..., :n], y[..., lag:]))
        search = ksg.Search(s.window, s.neighbours, s.variant, s.norm == "max")
        cells = np.ascontiguousarray(np.ones(total.shape, bool) if wanted is None else wanted)
        ksg_transfer.psi_sums(x, y, later, search, cells, self._psi, total)
        return float(digamma(s.neighbours)) - total / n
