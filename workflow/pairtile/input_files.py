"""The input files of a step: where each lies on this machine, and whether it is the one meant.

What the configuration names (a path, or an address such as ``s3://bucket/table.tsv``) need not be
where a job finds the file: Snakemake fetches what lies elsewhere and hands over a local copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pairtile.config.model import model_of
from pairtile.errors import InputError
from pairtile.files import file_digest

Section = Mapping[str, Any]
Described = dict[str, dict[str, Any]]


def local_inputs(
    section: Section, local: Mapping[str, str], checksums: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], Described]:
    """The section with the local path of each input in place of what was configured, and a
    description of each input for the summary.

    Parameters
    ----------
    section
        The analysis' section of the configuration.
    local
        Key of each input (``expression``; ``trajectories.0.1`` within lists) -> its local path.
    checksums
        Configured path or address -> ``sha256:...`` or ``md5:...``, for those that have one.

    Returns
    -------
    The section, and key -> ``{path, sha256, bytes}`` with the path as configured.

    Raises
    ------
    InputError
        If a file is not the one that its checksum tells of; nothing of it is used.
    """
    found = dict(section)
    described: Described = {}
    for key, path in local.items():
        configured = _put(found, key.split("."), path)
        try:
            digest = file_digest(path)
        except OSError:
            continue  # whoever reads it says what is wrong
        verify_checksum(configured, path, (checksums or {}).get(configured), digest)
        described[key] = {"path": configured, "sha256": digest, "bytes": _bytes(Path(path))}
    return found, described


def later_inputs(section: Section, kind: str, local: Sequence[str] | None) -> dict[str, str]:
    """Key -> local path of the inputs that a later step reads (``table_inputs``,
    ``network_inputs``), from their local paths in the order of the keys; None: as configured."""
    model = model_of(section)
    keys = [key for key in (getattr(model, kind) if model else ()) if section[key] is not None]
    paths = [section[key] for key in keys] if local is None else list(local)
    return dict(zip(keys, paths, strict=True))


def verify_checksum(name: str, path: str, expected: str | None, sha256: str | None = None) -> None:
    """Compare a file with its checksum, given as ``sha256:...`` or ``md5:...``; None: not given.

    ``sha256``: that of the file, where it is known already.

    Raises
    ------
    InputError
        Naming the file, the checksum found and the one expected.
    """
    if expected is None:
        return
    algorithm, _, wanted = expected.lower().partition(":")
    if algorithm == "sha256":
        digest = sha256 or file_digest(path)
    elif Path(path).is_dir():
        raise InputError.at(name, "", f"a folder with the checksum {expected}", "sha256:...")
    else:
        with open(path, "rb") as handle:
            digest = hashlib.file_digest(handle, algorithm).hexdigest()
    if digest != wanted:
        raise InputError.at(
            name,
            "",
            f"a file with the checksum {algorithm}:{digest}",
            f"{algorithm}:{wanted}, as stated under checksums in the configuration; nothing of "
            "the file was used",
        )


def _put(section: dict[str, Any], place: Sequence[str], path: str) -> str:
    """Put a path into its place in a section whose lists are copied; returns what stood there."""
    inner: Any = section
    for part, below in pairwise(place):
        held = inner[int(part) if isinstance(inner, list) else part]
        copied = list(held) if below.isdecimal() else dict(held)
        inner[int(part) if isinstance(inner, list) else part] = copied
        inner = copied
    last = int(place[-1]) if isinstance(inner, list) else place[-1]
    configured = inner[last]
    inner[last] = path
    return str(configured)


def _bytes(path: Path) -> int:
    parts = path.rglob("*") if path.is_dir() else [path]
    return sum(part.stat().st_size for part in parts if part.is_file())
