"""Files that are there whole or not at all, and digests of what they hold."""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from pairtile.errors import StoreError

_FULL = {errno.ENOSPC: "full disk", errno.EDQUOT: "used-up quota", errno.EFBIG: "file too large"}
_CLOSED = {errno.EROFS: "read-only file system", errno.EACCES: "denied permission"}
_CLOSED |= {errno.EPERM: "forbidden operation"}


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; move it there when the block ends without error.

    The temporary file is created by the caller. It lies in the same folder, so that the final
    rename is atomic, and it carries a random part, so that a surviving older process cannot
    write into its successor's file. On any error it is removed and ``path`` stays as it was.
    What a killed process left under such a name is removed first: a path has one writer at a time.
    """
    with writing(path):
        yield from _atomic_path(Path(path))


def _atomic_path(final: Path) -> Iterator[Path]:
    final.parent.mkdir(parents=True, exist_ok=True)
    for leftover in final.parent.glob(f".{glob.escape(final.name)}.????????.part*"):
        leftover.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f".{final.name}.", suffix=".part" + "".join(final.suffixes), dir=final.parent
    )
    os.close(handle)
    temporary = Path(name)
    # mkstemp makes files private; results are as readable as the user's umask allows.
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o666 & ~umask)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Where ``path`` cannot be written inside, because its disk is full or it may not be written,
    say so in a ``StoreError`` that names it and what to do."""
    try:
        yield
    except OSError as error:
        full = full_disk(path, error)
        if full:
            raise full from error
        if error.errno in _CLOSED:
            found = f"{_CLOSED[error.errno]} on writing it"
            expected = (
                "a writable place: change its permissions, or choose another folder for results"
            )
            raise StoreError.at(path, "", found, expected) from error
        raise


def full_disk(path: str | os.PathLike[str], error: OSError) -> StoreError | None:
    """The message where ``error`` says that there was no room to write ``path``; else None."""
    text = str(error)
    # np.save says how much it wrote; libraries say what the system said.
    short = "No space left on device" in text or "requested and" in text
    why = "full disk" if short else _FULL.get(error.errno or 0)
    if not why:
        return None
    expected = "room for it: free some or choose another folder for results, and run again"
    return StoreError.at(path, "", f"a {why} while writing it", expected)


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write ``content`` as indented JSON, whole or not at all. NaN is refused."""
    with atomic_path(path) as temporary:
        text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False, default=_as_json)
        temporary.write_text(text + "\n", encoding="utf-8")


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays as .npz, whole or not at all."""
    import numpy as np

    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read all arrays of an .npz file."""
    import numpy as np

    with np.load(path) as arrays:
        return dict(arrays)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def read_json_once(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file again only when it has changed; nobody may alter what is returned.

    For a plan that is asked for by each of thousands of chunks.
    """
    status = os.stat(path)
    return _read_json_as_of(os.fspath(path), status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=64)
def _read_json_as_of(path: str, mtime_ns: int, size: int, inode: int) -> Any:
    return read_json(path)


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, or of the names and bytes of all files below a folder."""
    top = Path(path)
    if top.is_dir():
        total = hashlib.sha256()
        for part in sorted(p for p in top.rglob("*") if p.is_file()):
            total.update(f"{part.relative_to(top)}\0{file_digest(part)}\n".encode())
        return total.hexdigest()
    with top.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def file_format(path: str | os.PathLike[str]) -> str:
    """The end of a file's name that says how to read it: ``.tsv``, ``.tsv.gz``."""
    packed, plain = Path(path).suffix, Path(path).with_suffix("").suffix
    return (plain if packed.lower() in (".gz", ".bz2", ".xz", ".zst") else "") + packed


def _as_json(value: Any) -> Any:
    """A configuration model as JSON holds it."""
    return value.model_dump(mode="json")


def json_digest(content: Any) -> str:
    """SHA-256 of ``content`` in canonical JSON: the same for equal content, on any machine."""
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_as_json
    )
    return hashlib.sha256(text.encode()).hexdigest()
