"""Open text files as people have them: plain or gzip, with BOM, with any line ends.

Compressed input is read up to a limit: a small file must not fill the memory or never end. DEFLATE
packs at most 1,032 to 1. Tables of counts with one entry in a thousand above zero reach about 400
to 1; what goes beyond the limits here was made to do harm, or is damaged.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from pairtile.errors import InputError

FREE_BYTES = 1 << 27
"""What a file may unpack to however small it is: 128 MiB."""

MAX_RATIO = 500
"""How many times its size a file may unpack to beyond that."""

MAX_BYTES = 1 << 40
"""What a file may unpack to at all: 1 TiB."""

_BLOCK = 1 << 20


def open_unpacked(path: str | PathLike[str]) -> io.BufferedReader:
    """Open a gzip file to read what it holds.

    Reading raises InputError where it unpacks beyond the limits, and what ``gzip`` raises where it
    is damaged.
    """
    return io.BufferedReader(_Unpacked(path), _BLOCK)


def check_unpacked_size(path: str | PathLike[str], n_bytes: int) -> None:
    """Refuse a file whose content takes ``n_bytes``, as it says itself, when that is beyond the
    limits."""
    packed = os.path.getsize(path)
    if n_bytes > MAX_BYTES or n_bytes > max(FREE_BYTES, MAX_RATIO * packed):
        raise InputError.at(
            path,
            "",
            f"{packed:,} bytes that unpack to more than {min(n_bytes, MAX_BYTES):,}",
            f"at most {MAX_RATIO} times its size beyond {FREE_BYTES:,} bytes, and at most "
            f"{MAX_BYTES:,} (a sound file of such content can be given unpacked)",
        )


class _Unpacked(io.RawIOBase):
    """Counts what comes out."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self._packed = gzip.open(path, "rb")  # noqa: SIM115 (closed in close)
        self._limit = min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * os.path.getsize(path)))
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        n = self._packed.readinto(buffer)
        self._count += n
        if self._count > self._limit:
            check_unpacked_size(self._path, self._count)
        return n

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_BLOCK) or b"", b""))

    def close(self) -> None:
        self._packed.close()
        super().close()


_GZIP_MAGIC = b"\x1f\x8b"
Row = tuple[int, list[str]]


def check_file(path: str | PathLike[str]) -> None:
    """Refuse what is not there, is a folder, or holds no byte."""
    file = Path(path)
    if not file.exists():
        raise InputError.at(path, "", "no such file", "an existing file")
    if file.is_dir():
        raise InputError.at(path, "", "a folder", "a file")
    try:
        with file.open("rb") as handle:
            first = handle.read(1)
    except OSError as error:
        raise InputError.at(path, "", str(error), "a readable file") from error
    if not first:
        raise InputError.at(path, "", "an empty file", "a table")


def is_gzip(path: str | PathLike[str]) -> bool:
    """Whether the content is gzip; a name that ends in .gz over other content is refused."""
    with Path(path).open("rb") as handle:
        compressed = handle.read(2) == _GZIP_MAGIC
    if not compressed and Path(path).suffix.lower() == ".gz":
        raise InputError.at(path, "", "a file that is not gzip", "gzip, as the name ends in .gz")
    return compressed


@contextmanager
def open_rows(path: str | PathLike[str], delimiter: str) -> Iterator[Iterator[Row]]:
    """Iterate over (line number, fields) of a delimited file, blank lines left out.

    Lines are numbered from 1; a row whose quoted fields span lines has the number of its first.
    Raises InputError for gzip that is damaged or cut short, bytes that are not UTF-8, and a
    quote that is never closed.
    """
    check_file(path)
    with _text(path) as handle:
        yield _rows(path, handle, delimiter)


@contextmanager
def open_lines(path: str | PathLike[str]) -> Iterator[Iterator[tuple[int, str]]]:
    """Iterate over (line number, line without its end); raises as ``open_rows`` does."""
    check_file(path)
    with _text(path) as handle:

        def lines() -> Iterator[tuple[int, str]]:
            for number, line in enumerate(handle, start=1):
                _check_encoding(path, number, line)
                yield number, line.rstrip("\r\n")

        yield lines()


@contextmanager
def _text(path: str | PathLike[str]) -> Iterator[io.TextIOWrapper]:
    # Surrogates stand for bytes that are not UTF-8, so that the line that holds them can be named.
    try:
        with (
            open_unpacked(path) if is_gzip(path) else Path(path).open("rb") as binary,
            io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline="") as handle,
        ):
            yield handle
    except EOFError as error:
        raise InputError.at(
            path, "", "a gzip file that is cut short", "a whole file (copy it again)"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError.at(path, "", f"damaged gzip ({error})", "a sound gzip file") from error


def _rows(path: str | PathLike[str], handle: io.TextIOWrapper, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(handle, delimiter=delimiter)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError.at(
                path, f"line {line}", f"text that cannot be split ({error})", "closed quotes"
            ) from error
        if fields:
            _check_encoding(path, line, *fields)
            yield line, fields


def _check_encoding(path: str | PathLike[str], line: int, *texts: str) -> None:
    for text in texts:
        if text.isascii():
            continue
        stray = [ord(c) - 0xDC00 for c in text if 0xDC80 <= ord(c) <= 0xDCFF]
        if stray:
            utf16 = line == 1 and set(stray[:2]) == {0xFE, 0xFF}
            found = "UTF-16" if utf16 else f"bytes that are not UTF-8 (0x{stray[0]:02X})"
            raise InputError.at(path, f"line {line}", found, "text saved as UTF-8")
