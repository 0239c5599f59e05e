"""An estimator's state on disk: one .npy for each array, memory-mapped by every chunk."""

from __future__ import annotations

import io
import mmap
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pairtile.engine.custody import set_origin
from pairtile.runtime.files import (
    file_checksum,
    json_digest,
    read_json,
    verified,
    write_json,
    writing,
)

MANIFEST = "state.json"

PATIENCE_SECONDS = 20.0
"""How long a file of a state may stay unseen on a node, where a shared file system is slow."""


@contextmanager
def scratch_beside(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder for large arrays in the making, on the disk of the state ``folder``; it goes when
    the block ends, and what a killed process left under its name goes before."""
    top = Path(folder)
    scratch = top.with_name(f".{top.name}.scratch.part")
    shutil.rmtree(scratch, ignore_errors=True)
    with writing(folder):
        scratch.mkdir(parents=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_state(
    folder: str | os.PathLike[str],
    arrays: Mapping[str, NDArray[np.generic]],
    scratch: Path | None = None,
) -> str:
    """Write the arrays and a manifest of their digests; returns the digest of it all.

    An array that is mapped from a ``.npy`` in ``scratch``, all of it or its first rows, is not
    copied: its file is moved. The manifest is written last: a folder without one is not a state.
    """
    top = Path(folder)
    digests: dict[str, str] = {}
    with writing(folder):
        if top.exists():
            shutil.rmtree(top)
        top.mkdir(parents=True)
        for name, array in sorted(arrays.items()):
            path = top / f"{name}.npy"
            source = _own_file(array, scratch)
            if source is None:
                np.save(path, array, allow_pickle=False)
            else:
                os.replace(source, path)
                header = file_header(array.shape, array.dtype)
                if path.stat().st_size > len(header) + array.nbytes:  # only its first rows
                    with path.open("r+b") as file:
                        file.write(header)
                        file.truncate(len(header) + array.nbytes)
            digests[name] = file_checksum(path)
        digest = json_digest(digests)
        set_origin(digest)
        write_json(top / MANIFEST, {"arrays": digests})
    return digest


def open_state(folder: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a state, memory-mapped read-only.

    Raises
    ------
    StoreError
        If the folder holds no complete state, or a damaged one.
    """
    top = Path(folder)
    _wait_for(top / MANIFEST)
    for name in read_json(top / MANIFEST)["arrays"]:
        _wait_for(top / f"{name}.npy")
    return {name: np.load(path, mmap_mode="r") for name, path in verified_state(top).items()}


def verified_state(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """The file of each array of a state, known to hold what was written. Raises StoreError."""
    top = Path(folder)
    checksums = read_json(top / MANIFEST)["arrays"]
    paths = {name: top / f"{name}.npy" for name in checksums}
    return {name: verified(path, checksums[name]) for name, path in paths.items()}


def _wait_for(path: Path) -> None:
    """Snakemake waits for the folder, not for what is in it."""
    end = time.monotonic() + PATIENCE_SECONDS
    while path.parent.is_dir() and not path.exists() and time.monotonic() < end:
        time.sleep(0.1)
        os.listdir(path.parent)  # NFS looks again


def _own_file(array: NDArray[np.generic], scratch: Path | None) -> Path | None:
    """The ``.npy`` below ``scratch`` whose first rows, or all, are this array; None where it is not
    mapped from such a file."""
    name = getattr(array, "filename", None) if isinstance(array, np.memmap) else None
    if scratch is None or name is None or Path(name).suffix != ".npy" or not array.ndim:
        return None
    path = Path(name)
    if scratch.resolve() not in path.resolve().parents or not path.exists():
        return None
    whole = np.load(path, mmap_mode="r")
    same_rows = (whole.shape[1:], whole.dtype, whole.strides) == (
        array.shape[1:],
        array.dtype,
        array.strides,
    )
    begin = np.frombuffer(_mapping(array), dtype=np.uint8).ctypes.data
    first = array.ctypes.data - begin == whole.offset
    return path if same_rows and first and len(array) <= len(whole) else None


def _mapping(array: object) -> Any:
    """What holds the memory of an array, a ``mmap`` where it is mapped from a file."""
    held = array
    while isinstance(held, np.ndarray):
        held = held.base
    return held


def file_header(shape: tuple[int, ...], dtype: DTypeLike) -> bytes:
    """What a ``.npy`` begins with, in C order: as long for any number of rows."""
    file = io.BytesIO()
    fields = {"shape": shape, "fortran_order": False, "descr": np.dtype(dtype).str}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


def release(array: object) -> None:
    """Let what was read or written of an array that is mapped from a file go from memory: it stays
    in the file. Without this, a job that has worked through a mapped array has it in memory.
    Nothing is done to what is not mapped."""
    held = _mapping(array)
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def copy_rows(
    array: Any, rows: Sequence[int] | NDArray[np.int64], columns: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """``array[rows]``, or ``array[rows][:, columns]``; of an array that is mapped from a file
    nothing else stays in memory, where each row would bring its neighbours along. Of float16,
    float64."""
    if not isinstance(_mapping(array), mmap.mmap):
        found = np.asarray(array[np.asarray(rows)])
        found = found.astype(np.float64) if found.dtype == np.float16 else found
        return found if columns is None else found[:, columns]
    kind = np.float64 if array.dtype == np.float16 else array.dtype
    if columns is None:
        found = np.empty((len(rows), *array.shape[1:]), dtype=kind)
    else:  # in the order in which NumPy lays out columns, so that sums are the same
        found = np.empty((len(columns), len(rows)), dtype=kind).T
    for k, row in enumerate(rows):
        found[k] = array[row] if columns is None else array[row][columns]
        release(array)
    return found


def state_digest(folder: str | os.PathLike[str]) -> str:
    """The digest that ``write_state`` returned."""
    return json_digest(read_json(Path(folder) / MANIFEST)["arrays"])
