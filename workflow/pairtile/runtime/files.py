"""Files that are there whole or not at all, and checksums of what they hold.

What a step writes, a later one reads, maybe days later from a disk that failed. So JSON, .npz and
Parquet files carry a checksum of all their other bytes, and ``verified`` is how they are read. For
a file without room for it, such as .npy or text, a JSON file beside it holds the checksum.

A checksum does not say whose file it is. So before it stands a seal: which file of an analysis this
is, and of which analysis (``pairtile.engine.custody``, the ``OWNER`` of what is written and read).
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pairtile import __version__
from pairtile.declare.columns import with_metadata
from pairtile.errors import StoreError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray
    from pydantic import BaseModel

Kept = TypeVar("Kept", bound="np.generic")


class Owner(Protocol):
    """Who knows which files are of one analysis; paths elsewhere are none of its business."""

    def seal(self, path: Path) -> str:
        """64 characters that a new file is to carry."""

    def check(self, path: Path, seal: str, checksum: str) -> None:
        """Raise StoreError where a whole file carries a seal that it should not."""

    def add(self, path: Path, checksum: str) -> None:
        """Take note of a new file."""

    def file_records(self) -> dict[str, object]:
        """For the record of the step: new files that are there still, and what they are made of."""


OWNER: ContextVar[Owner | None] = ContextVar("OWNER", default=None)
"""Of the files that are written and read now."""

_FULL = {errno.ENOSPC: "full disk", errno.EDQUOT: "used-up quota", errno.EFBIG: "file too large"}
_CLOSED = {
    errno.EROFS: "read-only file system",
    errno.EACCES: "denied permission",
    errno.EPERM: "forbidden operation",
    errno.ELOOP: "link in its place",
    errno.EISDIR: "folder in its place",
}


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; move it there when the block ends without error.

    The temporary file is created by the caller. It lies in the same folder, so that the final
    rename is atomic, and it carries a random part, so that a surviving older process cannot
    write into its successor's file. On any error it is removed and ``path`` stays as it was.
    What a killed process left under such a name is removed first: a path has one writer at a time.
    """
    final = Path(path)
    with writing(path), _temporary(final) as temporary:
        yield temporary
        _add_checksum(temporary, final)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        checksum = checksum_of(temporary) if (owner := OWNER.get()) else ""
        os.replace(temporary, final)
        if owner:
            owner.add(final, checksum)


@contextmanager
def _temporary(final: Path) -> Iterator[Path]:
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
    """The message where ``error`` says that there was no room to write ``path``, or that too many
    files are open; else None."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        expected = "a higher limit, or fewer threads: ulimit -n 1024"
        return StoreError.at(path, "", "too many open files while making it", expected)
    text = str(error)
    # np.save says how much it wrote; libraries say what the system said.
    short = "No space left on device" in text or "requested and" in text
    why = "full disk" if short else _FULL.get(error.errno or 0)
    if not why:
        return None
    expected = "room for it: free some or choose another folder for results, and run again"
    return StoreError.at(path, "", f"a {why} while writing it", expected)


def write_json(path: str | os.PathLike[str], content: Mapping[str, object]) -> None:
    """Write ``content`` as indented JSON, whole or not at all, with its checksum as the last key.
    NaN is refused."""
    with atomic_path(path) as temporary:
        held = {key: value for key, value in content.items() if key not in ("seal", "checksum")}
        held |= {"seal": _seal(Path(path)), "checksum": _NO_CHECKSUM.decode()}
        text = json.dumps(held, indent=2, allow_nan=False, ensure_ascii=False, default=_as_json)
        temporary.write_text(text + "\n", encoding="utf-8")
        _fill_in_checksum(temporary)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_tsv(path: str | os.PathLike[str], table: pd.DataFrame) -> None:
    """Write a table with a header and tabs, whole or not at all; missing values are empty."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, sep="\t", index=False, lineterminator="\n", encoding="utf-8")


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, ArrayLike]) -> None:
    """Write arrays as .npz, whole or not at all."""
    import numpy as np

    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read all arrays of an .npz file. Raises StoreError where it is damaged."""
    import numpy as np

    with np.load(verified(path)) as arrays:
        return dict(arrays)


def work_folder(parent: Path | None, stated: object, *arrays: NDArray[np.generic]) -> Path | None:
    """The folder below ``parent`` for the parts (``kept_arrays``) of a work that depends on what is
    stated, by its ``repr``, and on these arrays; None where nothing is kept."""
    if parent is None:
        return None
    digest = hashlib.blake2b(repr((__version__, stated)).encode(), digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return parent / digest.hexdigest()


def kept_arrays(
    folder: Path | None, name: str, make: Callable[[], dict[str, NDArray[Kept]]]
) -> dict[str, NDArray[Kept]]:
    """The arrays of ``folder/NAME.npz``, made and written first where they are not there or are
    damaged: so that work which is ended goes on after its last part. None: made, not written."""
    if folder is None:
        return make()
    path = folder / f"{name}.npz"
    try:
        return read_arrays(path)
    except (OSError, StoreError):
        write_arrays(path, made := make())
        return made


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a Parquet file of pairtile. Raises StoreError where it is damaged."""
    import pandas as pd

    return pd.read_parquet(verified(path))


def write_parquet(path: str | os.PathLike[str], table: pd.DataFrame, package: str) -> None:
    """Write a table as Parquet, whole or not at all. ``package`` says what the columns are of the
    file of this name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    typed = pa.Table.from_pandas(table, preserve_index=False)
    with atomic_path(path) as temporary:
        pq.write_table(typed.cast(with_metadata(typed.schema, package, Path(path).name)), temporary)


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what ``write_json`` wrote. Raises StoreError where the file is damaged."""
    content: dict[str, Any] = json.loads(verified(path).read_text(encoding="utf-8"))
    del content["seal"], content["checksum"]
    return content


def read_json_once(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read a JSON file again only when it has changed; nobody may alter what is returned.

    For a plan that is asked for by each of thousands of chunks.
    """
    status = os.stat(path)
    return _read_json_as_of(os.fspath(path), status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=64)
def _read_json_as_of(path: str, mtime_ns: int, size: int, inode: int) -> dict[str, object]:
    return read_json(path)


_NO_CHECKSUM = b"0" * 64
"""Stands in the place of a checksum, the digits of a SHA-256, until it is known."""

_END_OF_JSON = b'"\n}\n'
_BETWEEN_IN_JSON = b'",\n  "checksum": "'
_SEAL_LENGTH = 96
_FOLDERS = ("state", "values", "scan", "chunks", "bootstraps", "steps")
"""Of an analysis, whose files are known by folder and name; others by their name alone."""
_PART_BYTES = 1 << 23


def role_of(path: Path) -> str:
    """Which file of an analysis a path names: ``network.parquet``, ``steps/network.json``."""
    return f"{path.parent.name}/{path.name}" if path.parent.name in _FOLDERS else path.name


def _role_digest(path: Path) -> str:
    return hashlib.sha256(role_of(path).encode()).hexdigest()[:32]


def _seal(path: Path) -> str:
    owner = OWNER.get()
    return _role_digest(path) + (owner.seal(path) if owner else "0" * 64)


def verified(path: str | os.PathLike[str], checksum: str | None = None) -> Path:
    """``path``, whose content is known to be what pairtile wrote under this name, for the analysis
    that is read (``OWNER``). A process reads a file for this once, and again where it has changed.

    ``checksum``: what ``file_checksum`` gave when the file was written, for one that does not carry
    its own.

    Raises
    ------
    StoreError
        If one bit of the file is not as it was written, it is another file of pairtile, or it is
        not there.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise _damaged(path, "no such file") from None
    file, owner = Path(path), OWNER.get()
    found = _verify(os.fspath(path), checksum, status.st_mtime_ns, status.st_size, status.st_ino)
    if checksum is None:
        if found[:32] != _role_digest(file):
            raise _damaged(path, "a file of another kind, or of an earlier version of pairtile")
        if owner:
            owner.check(file, found[32:_SEAL_LENGTH], found[_SEAL_LENGTH:])
    return file


@lru_cache(maxsize=1 << 10)
def _verify(path: str, checksum: str | None, mtime_ns: int, size: int, inode: int) -> str:
    file, place, seal = Path(path), None, ""
    if checksum is None:
        place = _checksum_place(file)
        checksum = _read_at(file, place, len(_NO_CHECKSUM)).decode(errors="replace")
        between = len(_BETWEEN_IN_JSON) if file.suffix == ".json" else 0
        begin = max(0, place - between - _SEAL_LENGTH)
        seal = _read_at(file, begin, _SEAL_LENGTH).decode(errors="replace")
    if file_checksum(file, place) != checksum:
        raise _damaged(path, "a damaged file (its checksum does not agree with its content)")
    return seal + checksum


def carries_checksum(path: Path) -> bool:
    """Whether a file of this format has its checksum in itself; JSON of others has none."""
    if path.suffix != ".json":
        return path.suffix in (".npz", ".parquet")
    begin = max(0, _checksum_place(path) - len(_BETWEEN_IN_JSON))
    return _read_at(path, begin, len(_BETWEEN_IN_JSON)) == _BETWEEN_IN_JSON


def checksum_of(path: Path) -> str:
    """The checksum that a whole file carries, or else that of all its bytes."""
    if not carries_checksum(path):
        return file_checksum(path)
    return _read_at(path, _checksum_place(path), len(_NO_CHECKSUM)).decode(errors="replace")


def _damaged(path: str | os.PathLike[str], found: str) -> StoreError:
    return StoreError.at(path, "", found, "it as pairtile wrote it (a new run makes it again)")


def file_checksum(path: Path, place: int | None = None) -> str:
    """SHA-256 of the SHA-256 of each 8 MiB of a file, which all threads take together; without the
    checksum that it carries at ``place``."""

    def of_part(begin: int) -> bytes:
        part = _read_at(path, begin, _PART_BYTES)
        if place is not None:
            first, end = (min(max(0, at - begin), len(part)) for at in (place, place + 64))
            part = part[:first] + part[end:]
        return hashlib.sha256(part).digest()

    begins = range(0, path.stat().st_size, _PART_BYTES)
    if len(begins) > 1:
        from pairtile.runtime.threads import in_threads

        return hashlib.sha256(b"".join(in_threads(of_part, begins))).hexdigest()
    return hashlib.sha256(b"".join(map(of_part, begins))).hexdigest()


def _add_checksum(path: Path, final: Path) -> None:
    """Give a new file the seal and the checksum that it carries, where its format has room."""
    sealed = _seal(final).encode() + _NO_CHECKSUM
    if path.suffix == ".npz":
        with zipfile.ZipFile(path, "a") as archive:
            archive.comment = sealed
    elif path.suffix == ".parquet":  # between values and footer, where readers look for nothing
        with path.open("r+b") as file:
            file.seek(_parquet_footer(path))
            footer = file.read()
            file.seek(-len(footer), os.SEEK_END)
            file.write(sealed + footer)
    else:
        return
    _fill_in_checksum(path)


def _fill_in_checksum(path: Path) -> None:
    place = _checksum_place(path)
    checksum = file_checksum(path, place)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(checksum.encode())


def _checksum_place(path: Path) -> int:
    """Where in a whole file its checksum begins; anywhere in a damaged one."""
    end = path.stat().st_size
    if path.suffix == ".json":  # the last of all keys
        end -= len(_END_OF_JSON)
    elif path.suffix == ".parquet":
        end = _parquet_footer(path)
    return max(0, end - len(_NO_CHECKSUM))  # of .npz, the comment at the end of the archive


def _parquet_footer(path: Path) -> int:
    """Where the footer of a Parquet file begins: its length and four letters end the file."""
    size = path.stat().st_size
    length = int.from_bytes(_read_at(path, max(0, size - 8), 4), "little")
    return max(0, size - 8 - length)


def _read_at(path: Path, begin: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(length)


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


def _as_json(value: BaseModel) -> object:
    return value.model_dump(mode="json")


def json_digest(content: object) -> str:
    """SHA-256 of ``content`` in canonical JSON: the same for equal content, on any machine."""
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_as_json
    )
    return hashlib.sha256(text.encode()).hexdigest()
