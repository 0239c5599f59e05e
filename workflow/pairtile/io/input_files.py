"""The input files of a step: where each lies on this machine, and whether it is the one meant.

What the configuration names (a path, or an address such as ``s3://bucket/table.tsv``) need not be
where a job finds the file: Snakemake fetches what lies elsewhere and hands over a local copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pairtile.config.models import Analysis
from pairtile.errors import InputError
from pairtile.runtime.files import file_digest
from pairtile.runtime.input_changes import file_stamp
from pairtile.runtime.requests import file_bytes

A = TypeVar("A", bound=Analysis)
InputRecords = dict[str, dict[str, Any]]


def local_inputs(
    config: A, local: Mapping[str, str], checksums: Mapping[str, str] | None = None
) -> tuple[A, InputRecords]:
    """The configuration with the local path of each input in place of what was configured, and
    ``describe_inputs``."""
    return config.with_inputs(local), describe_inputs(config, local, checksums)


def describe_inputs(
    config: Analysis, local: Mapping[str, str], checksums: Mapping[str, str] | None = None
) -> InputRecords:
    """A description of each input for the summary.

    Parameters
    ----------
    config
        The analysis.
    local
        Key of each input (``expression``; ``trajectories.0.1`` within lists) -> its local path.
    checksums
        Configured path or address -> ``sha256:...`` or ``md5:...``, for those that have one.

    Returns
    -------
    Key -> ``{path, sha256, bytes, stamp}`` with the path as configured.

    Raises
    ------
    InputError
        If a file is not the one that its checksum is of; nothing of it is used.
    """
    described: InputRecords = {}
    for key, path in local.items():
        given: Any = config
        for part in key.split("."):
            given = given[int(part)] if part.isdecimal() else getattr(given, part)
        configured = str(given)
        try:
            stamp = file_stamp(path)  # of a file that changes meanwhile, the one before
            digest = file_digest(path)
        except OSError:
            continue  # whoever reads it says what is wrong
        verify_checksum(configured, path, (checksums or {}).get(configured), digest)
        size = file_bytes(path)
        described[key] = {"path": configured, "sha256": digest, "bytes": size, "stamp": stamp}
    return described


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
