"""Large tables: in memory, or mapped from a file on the disk of the state."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pairtile.engine.state import file_header, release
from pairtile.runtime.threads import in_threads

P = TypeVar("P")

IN_MEMORY_BYTES = 1 << 28
"""Of a table; a larger one is mapped from a file where there is a folder for it."""

_BLOCK_BYTES, BLOCK_VALUES = 1 << 26, 1 << 20
"""Of a table that is turned over: each block reads and writes long runs of its files."""


def empty_table(
    shape: tuple[int, int], scratch: Path | None, dtype: DTypeLike = np.float64
) -> np.ndarray:
    """Uninitialised values of this shape: in memory, or mapped from a new file in ``scratch``."""
    if scratch is None or np.dtype(dtype).itemsize * shape[0] * shape[1] <= IN_MEMORY_BYTES:
        return np.empty(shape, dtype)
    return np.lib.format.open_memmap(_new_file(scratch), "w+", dtype, shape=shape)


def stored(values: np.ndarray, scratch: Path | None) -> np.ndarray:
    """The values, mapped from a new file in ``scratch``, which the state takes as it is. Those that
    are mapped already, few ones, and all without ``scratch``, as they are."""
    if scratch is None or isinstance(values, np.memmap) or values.size <= BLOCK_VALUES:
        return values
    np.save(path := _new_file(scratch), values, allow_pickle=False)
    return np.load(path, mmap_mode="r")


def _new_file(scratch: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=scratch)) / "values.npy"


class GrowingTable:
    """Rows of float64 that come one block after the other, their number unknown.

    In memory while they are few or ``scratch`` is None, else in a file there.
    """

    def __init__(self, columns: int, scratch: Path | None) -> None:
        self._columns, self._scratch = columns, scratch
        self._blocks: list[NDArray[np.float64]] = []
        self._rows = 0
        self._file: Path | None = None

    def append(self, block: NDArray[np.float64]) -> None:
        """Add rows (rows, columns), C-contiguous."""
        self._blocks.append(block)
        self._rows += len(block)
        if self._scratch is not None and 8 * self._rows * self._columns > IN_MEMORY_BYTES:
            if self._file is None:
                self._file = _new_file(self._scratch)
                self._file.write_bytes(file_header((0, self._columns), np.float64))
            with self._file.open("ab") as file:
                for held in self._blocks:
                    held.tofile(file)
            self._blocks.clear()

    def values(self) -> NDArray[np.float64]:
        """All rows, (rows, columns); the table can grow no more."""
        shape = (self._rows, self._columns)
        if self._file is not None:
            with self._file.open("r+b") as file:
                file.write(file_header(shape, np.float64))
            return np.load(self._file, mmap_mode="r+")
        values = np.empty(shape)
        ends = np.cumsum([len(block) for block in self._blocks])

        def copy(k: int) -> None:
            values[ends[k] - len(self._blocks[k]) : ends[k]] = self._blocks[k]
            self._blocks[k] = values[:0]  # each block goes as soon as it is copied

        list(in_threads(copy, range(len(self._blocks))))
        return values


def row_blocks(shape: tuple[int, ...], n_values: int | None = None) -> list[slice]:
    """Slices of consecutive rows, each of about ``n_values``: a million, which stay in a core's
    caches, unless given."""
    step = max(1, (n_values or BLOCK_VALUES) // max(1, math.prod(shape[1:])))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


def releasing(parts: Iterable[P], *mapped: object) -> Iterator[P]:
    """The parts, one after the other; what each had read or written of the ``mapped`` arrays goes
    from memory (``release``) before the next."""
    for part in parts:
        yield part
        for array in mapped:
            release(array)


def map_rows(
    work: Callable[[np.ndarray], np.ndarray],
    values: Any,
    out: np.ndarray,
    n_values: int | None = None,
) -> np.ndarray:
    """Write ``work`` of the values, block of rows by block of rows (``row_blocks``) and by all
    threads, into ``out``, which may be the same array; returns that."""

    def write(rows: slice) -> None:
        out[rows] = work(values[rows])

    list(releasing(in_threads(write, row_blocks(values.shape, n_values)), values, out))
    return out


def count(
    found: Callable[[NDArray[np.generic]], NDArray[np.bool_]], values: NDArray[np.generic]
) -> int:
    """In how many of the ``values`` is true what is to be ``found``."""
    blocks = row_blocks(values.shape)
    parts = in_threads(lambda rows: int(np.count_nonzero(found(values[rows]))), blocks)
    return sum(releasing(parts, values))


def take_rows(
    values: NDArray[np.float64], rows: NDArray[np.int64], scratch: Path | None
) -> NDArray[np.float64]:
    """``values[rows]``, part by part."""
    taken = empty_table((rows.size, values.shape[1]), scratch)

    def take(part: slice) -> None:
        taken[part] = values[rows[part]]

    list(releasing(in_threads(take, row_blocks(taken.shape)), values, taken))
    return taken


def take_columns(
    values: NDArray[np.float64], columns: NDArray[np.int64], scratch: Path | None
) -> NDArray[np.float64]:
    """``values[:, columns]``, part by part."""
    taken = empty_table((len(values), columns.size), scratch)
    return map_rows(lambda block: block[:, columns], values, taken)


def in_row_order(values: NDArray[np.float64], scratch: Path | None) -> NDArray[np.float64]:
    """The values in C order; a table that lies the other way is turned over block by block."""
    if values.flags.c_contiguous:
        return values
    turned = empty_table((values.shape[0], values.shape[1]), scratch)
    step = max(1, _BLOCK_BYTES // (8 * max(1, values.shape[0])))
    for begin in releasing(range(0, values.shape[1], step), values, turned):
        turned[:, begin : begin + step] = values[:, begin : begin + step]
    return turned
