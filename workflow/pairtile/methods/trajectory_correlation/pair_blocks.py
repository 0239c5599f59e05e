"""Blocks of variables of one replica, made ready once and held against each other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from pairtile.arrays import BoolArray, CupyKernel, Float64Array, FloatingArray, Int64Array
from pairtile.gpu.device import Device, DeviceArray
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig

KERNELS = Path(__file__).parent / "kernels"

Block: TypeAlias = tuple[Any, ...]
"""Variables made ready for an estimator, the series first."""

Shift: TypeAlias = int | Int64Array
"""Frames, or an order of the frames."""

Variables: TypeAlias = slice | Int64Array
"""Some variables: a slice with a start and a stop, or their numbers, ascending."""


def numbers_of(variables: Variables) -> Int64Array:
    """Their numbers, int64 (variables,)."""
    return np.arange(variables.start, variables.stop) if isinstance(variables, slice) else variables


MAX_PREPARED = 256 << 20
"""Bytes of prepared blocks that the CPU keeps beyond the two in use: long series are read again."""


SPARSE = 12
"""A matrix product of a whole block takes a pair so many times less time than a pair alone."""


class PreparedBlocks:
    """Blocks by their place in the series, least recently used ones dropped first."""

    def __init__(self, device: Device) -> None:
        self._blocks: OrderedDict[bytes, Block] = OrderedDict()
        self._bytes = 0
        # Part of the device's free memory that prepared blocks may hold.
        self._allowed = int(device.free_bytes() * 0.4)
        if device.backend == "cpu":
            self._allowed = min(self._allowed, MAX_PREPARED)

    def get(self, block: Variables, make: Callable[[Variables], Block]) -> Block:
        """The prepared block, made now if it is not at hand.

        ``make`` turns some of the variables into arrays of the device. It is not kept: blocks
        that hold their maker, which holds them, would stay in memory after its last use.
        """
        key = numbers_of(block).tobytes()
        if key in self._blocks:
            self._blocks.move_to_end(key)
            return self._blocks[key]
        made = make(block)
        self._blocks[key] = made
        self._bytes += _bytes_of(made)
        while self._bytes > self._allowed and len(self._blocks) > 2:
            self._bytes -= _bytes_of(self._blocks.popitem(last=False)[1])
        return made


class PairBlocks:
    """Blocks of variables of one replica, made ready once and held against each other.

    An estimator says how: ``_prepare`` makes a block ready, as arrays whose first has the frames on
    its last axis; ``_scores`` gives the values of row with column variables.
    """

    def __init__(
        self,
        series: FloatingArray,
        settings: MotionEstimatorConfig,
        device: Device,
        has_missing: bool = False,
    ) -> None:
        self.series = series
        self.settings = settings
        self.device = device
        self.has_missing = has_missing
        self.d, self.frames = series.shape[1:]
        self._prepared = PreparedBlocks(device)
        self._open()

    def _open(self) -> None:
        """Make what serves all blocks."""

    def block(
        self,
        rows: Variables,
        columns: Variables,
        shift: Shift | None,
        wanted: BoolArray | None = None,
    ) -> DeviceArray:
        """Values, float64 (rows, columns), on the device; the column variables taken ``shift``
        frames later.

        wanted : bool (rows, columns); None: all cells.
        """
        of_rows, of_columns = numbers_of(rows), numbers_of(columns)
        symmetric = shift is None and np.array_equal(of_rows, of_columns)
        if wanted is None:
            wanted = np.ones((len(of_rows), len(of_columns)), dtype=bool)
            wanted = np.triu(wanted) if symmetric else wanted
        x, y = self._ready(rows, None), self._ready(columns, shift)
        values, xp = self._scores(x, y, symmetric, wanted), self.device.xp
        return xp.triu(values) + xp.triu(values, 1).T if symmetric else values

    def _ready(self, block: Variables, shift: Shift | None) -> Block:
        first, *others = self._prepared.get(block, self._prepare)
        return shifted(self.device.xp, first, shift), *others

    def _prepare(self, block: Variables) -> Block:
        raise NotImplementedError

    def _scores(self, of_x: Block, of_y: Block, symmetric: bool, wanted: BoolArray) -> DeviceArray:
        """symmetric : ``of_x`` is ``of_y``. wanted : cells that must be right."""
        raise NotImplementedError

    def _is_sparse(self, wanted: BoolArray) -> bool:
        """Whether it is faster to compute the wanted cells one by one."""
        few = SPARSE * int(np.count_nonzero(wanted)) < wanted.size
        return few and self.device.backend == "cpu"

    def _cell_by_cell(
        self,
        kernel: Callable[..., None],
        x: Float64Array,
        y: Float64Array,
        wanted: BoolArray,
        *settings: float,
    ) -> Float64Array:
        """The wanted cells, as one of the kernels ``..._of_cells`` gives them; 0 elsewhere."""
        rows, columns = np.nonzero(wanted)
        values, found = np.empty(rows.size), np.zeros(wanted.shape)
        kernel(x, y, rows, columns, *settings, values)
        found[rows, columns] = values
        return found

    def _coordinates(self, block: Variables, *, centred: bool) -> DeviceArray:
        """Variables as float64 (variables, d, frames) on the device; mean 0 if ``centred``."""
        values = np.asarray(self.series[block])
        if self.settings.single:
            values = values.astype(np.float32)
        xp = self.device.xp
        made = xp.ascontiguousarray(xp.asarray(values), dtype=np.float64)
        if not centred:
            return made
        mean = xp.nanmean if xp.isnan(made).any() else xp.mean
        centred_values = made - mean(made, axis=2, keepdims=True)
        # The mean of equal numbers may miss them by rounding: what does not move is exactly 0.
        still = (made == made[:, :, :1]).all(axis=2)
        centred_values[still] = 0.0
        return centred_values


def launch(kernel: CupyKernel, blocks: tuple[int, ...], threads: int, *arguments: object) -> None:
    """Start a CUDA kernel; integers go to it as ``int``."""
    kernel(blocks, (threads,), tuple(np.int32(a) if type(a) is int else a for a in arguments))


def _bytes_of(arrays: Block) -> int:
    return sum(int(array.nbytes) for array in arrays)


def shifted(xp: ModuleType, values: DeviceArray, shift: Shift | None) -> DeviceArray:
    """The series ``shift`` frames later, around its end, or in the order ``shift``; as it is for
    None. Frames are on the last axis."""
    if shift is None:
        return values
    if np.ndim(shift):
        return xp.ascontiguousarray(values[..., xp.asarray(shift)])
    return xp.ascontiguousarray(xp.roll(values, -shift, axis=-1))
