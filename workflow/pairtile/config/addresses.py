"""Input files that lie elsewhere: addresses such as ``https://...`` in place of a path."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BeforeValidator, StringConstraints

from pairtile.config.models import Rule
from pairtile.config.values import Expected, FullDescription, Text, null_is_empty


def scheme(path: str) -> str:
    """``https`` of ``https://...``; "" of a path on a file system."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", path)
    return found[1].lower() if found else ""


def no_file(path: str | os.PathLike[str]) -> str:
    """What stands at a path in place of a file, in words; nothing where it is a file.

    A pipe can be read only once, and a device may have no end.
    """
    mode = os.stat(path).st_mode
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return "" if stat.S_ISREG(mode) else kinds.get(stat.S_IFMT(mode), "a device")


def is_download(path: str) -> bool:
    """Whether this is the address of a file on a web server."""
    return scheme(path) in ("http", "https")


def download_path(address: str, checksum: str) -> str:
    """Where a downloaded file is kept, below the results: by its content, under its own name.

    Readers go by the end of the name (``.tsv.gz``). Where the address' path has none, a name in
    its query is taken, as in ``.../download/?acc=GSE1&file=counts.tsv.gz``.
    """
    parts = urlsplit(address)
    names = [parts.path.rsplit("/", 1)[-1], *(v for _, v in parse_qsl(parts.query)[::-1])]
    named = (unquote(name).rsplit("/", 1)[-1] for name in names)
    name = next((name for name in named if "." in name.strip(".")), "file")
    safe = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[-100:].lstrip(".-") or "file"
    return f".downloads/{checksum.lower().replace(':', '-')}/{safe}"


Checksum = Annotated[
    str,
    StringConstraints(pattern="^(sha256:[0-9a-fA-F]{64}|md5:[0-9a-fA-F]{32})$"),
    FullDescription("sha256: and 64, or md5: and 32, hexadecimal digits"),
]
Checksums = Annotated[
    dict[Annotated[str, Text("a path or address")], Checksum],
    BeforeValidator(null_is_empty),
    Expected("a mapping of paths or addresses to sha256:... or md5:..."),
]


def address_rules(
    inputs: Iterable[tuple[tuple[str, ...], str]], checksums: Mapping[str, str]
) -> Iterator[Rule]:
    """What the inputs of all analyses (keys that lead to it, path) and the checksums must meet: a
    file of a web server has a checksum, a file of this machine a path, no address holds a
    password, and each checksum is that of a file that an analysis reads."""
    placed = {path: place for place, path in inputs}
    for path, place in placed.items():
        yield Rule(
            is_download(path) and path not in checksums,
            ("checksums", path),
            f"the checksum of {'.'.join(place)}, a file from a web server, as sha256:... or "
            "md5:...",
        )
        yield Rule(scheme(path) == "file", place, "a path, for a file of this machine")
        yield Rule(
            scheme(path) and "@" in urlsplit(path).netloc,
            place,
            "an address without a user name or password: results would show it",
        )
    for path in checksums:
        yield Rule(
            path not in placed,
            ("checksums", path),
            "the checksum of a file that an analysis reads, its path written as there",
        )
