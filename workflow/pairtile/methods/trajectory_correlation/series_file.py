"""Time series of many variables, written frame by frame, read variable by variable.

Estimators want all frames of a variable side by side; trajectories give all variables of a frame.
The file is turned a block of frames at a time, so that memory does not grow with the number of
frames.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import StoreError

BLOCK_BYTES = 1 << 26
FLOAT64_BYTES = 1 << 33
"""Series that take more than this (8 GiB) as float64 are kept as float32: trajectories are stored
with no more digits than that, mostly with fewer."""


class SeriesFile:
    """A ``.npy`` of shape (variables, dimensions, frames) that grows along its frames.

    Raises
    ------
    StoreError
        If the disk has no room for it: asked for at once, for a full disk would otherwise end the
        process without a word.
    """

    def __init__(self, path: Path, shape: tuple[int, int, int], dtype: np.dtype) -> None:
        self.path = path
        self.shape = shape
        self.dtype = dtype
        try:
            np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape).flush()
            with path.open("r+b") as handle:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(handle.fileno(), 0, path.stat().st_size)
        except OSError as error:
            size = int(np.prod(shape)) * dtype.itemsize / 2**20
            found = f"a full disk, or none for files of this size ({error})"
            expected = f"room for {size:,.1f} MiB: free some or choose another folder for results"
            raise StoreError.at(path.parent, "", found, expected) from error

    def write(self, first: int, block: NDArray) -> None:
        """Frames from ``first`` on; ``block`` has shape (frames, variables, dimensions)."""
        # Mapped anew for each block: pages of the last one do not stay in this process' memory.
        mapped = np.lib.format.open_memmap(self.path, mode="r+")
        mapped[:, :, first : first + len(block)] = np.moveaxis(block, 0, 2)
        mapped.flush()

    def read(self, variables: slice, frames: slice) -> NDArray:
        """A part, as an array in memory: shape (variables, dimensions, frames)."""
        return np.array(np.load(self.path, mmap_mode="r")[variables, :, frames])

    def opened(self) -> np.memmap:
        """All of it, mapped read-only."""
        mapped = np.load(self.path, mmap_mode="r")
        assert isinstance(mapped, np.memmap)
        return mapped


def series_dtype(shape: tuple[int, int, int]) -> np.dtype:
    """Float64, or float32 where that would take more than ``FLOAT64_BYTES``."""
    return np.dtype(np.float64 if 8 * int(np.prod(shape)) <= FLOAT64_BYTES else np.float32)


def frames_in_block(numbers_in_frame: int) -> int:
    """How many frames to hold at a time, for so many numbers in each."""
    return int(np.clip(BLOCK_BYTES // (8 * max(numbers_in_frame, 1)), 8, 4096))


class Scratch:
    """A folder for arrays in the making.

    ``given``: one that the caller made and removes; else a temporary one, which goes when the
    arrays handed to ``hold`` are no longer used.
    """

    def __init__(self, given: str | os.PathLike[str] | None) -> None:
        self._own = given is None
        self.folder = Path(tempfile.mkdtemp(prefix="pairtile-") if given is None else given)
        self._held = False

    def hold(self, array: np.memmap) -> np.memmap:
        """``array``, which keeps the folder alive."""
        self._held = True
        if self._own:
            weakref.finalize(array, shutil.rmtree, self.folder, ignore_errors=True)
        return array

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own and not self._held:
            shutil.rmtree(self.folder, ignore_errors=True)
