"""Whether an input is still what results were made of, by its content: a file can be older than
the results though its content is new (``cp -p``, ``rsync -t``, an unpacked archive)."""

from __future__ import annotations

import hashlib
import os
import time
from functools import cache
from pathlib import Path

from pairtile.errors import PairtileError
from pairtile.runtime.files import file_digest, read_json

YOUNG_SECONDS = 5.0
"""A file that changed so shortly before may change again without another time."""


def file_stamp(path: str | os.PathLike[str]) -> str:
    """What tells without reading that a file, or a folder's files, did not change: names, sizes and
    times. Empty where they changed just now, or in the future."""
    top = Path(path)
    parts = sorted(part for part in top.rglob("*") if part.is_file()) if top.is_dir() else [top]
    lines, latest = [], 0
    for part in parts:
        found = part.stat()
        lines.append(
            f"{part.relative_to(top)} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
        )
        latest = max(latest, found.st_mtime_ns, found.st_ctime_ns)
    if time.time() - latest / 1e9 < YOUNG_SECONDS:
        return ""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@cache
def input_changed(record: Path, key: str, path: str) -> bool | None:
    """Whether the content of an input differs from what the record of a step says it read.

    Parameters
    ----------
    record
        ``steps/STEP.json`` of an analysis, which holds what ``describe_inputs`` gave.
    key, path
        Of the input in the configuration; where it is now.

    Returns
    -------
    None where the record does not say, or the input is not there.
    """
    try:
        read = read_json(record)["details"]["inputs"][key]
        if read.get("stamp") and read["stamp"] == file_stamp(path):
            return False
        return bool(read["sha256"] != file_digest(path))
    except (OSError, ValueError, KeyError, AttributeError, TypeError, PairtileError):
        return None  # no record of ours: its step runs again
