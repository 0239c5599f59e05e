"""Compressed input, up to a limit: a small file must not fill the memory or never end.

DEFLATE packs at most 1,032 to 1. Tables of counts with one entry in a thousand above zero reach
about 400 to 1; what goes beyond the limits here was made to do harm, or is damaged.
"""

from __future__ import annotations

import gzip
import io
import os
from os import PathLike

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
