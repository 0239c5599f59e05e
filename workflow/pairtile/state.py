"""An estimator's state on disk: one .npy for each array, memory-mapped by every chunk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import StoreError
from pairtile.files import file_digest, json_digest, read_json, write_json

MANIFEST = "state.json"


def write_state(folder: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write the arrays and a manifest of their digests; returns the digest of it all.

    The manifest is written last: a folder without one is not a state.
    """
    top = Path(folder)
    if top.exists():
        shutil.rmtree(top)
    top.mkdir(parents=True)
    digests = {}
    for name, array in sorted(arrays.items()):
        path = top / f"{name}.npy"
        np.save(path, array)
        digests[name] = file_digest(path)
    write_json(top / MANIFEST, {"arrays": digests})
    return json_digest(digests)


def open_state(folder: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a state, memory-mapped read-only.

    Raises
    ------
    StoreError
        If the folder holds no complete state.
    """
    top = Path(folder)
    try:
        names = read_json(top / MANIFEST)["arrays"]
        return {name: np.load(top / f"{name}.npy", mmap_mode="r") for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise StoreError.at(
            top, "", f"an incomplete state ({error})", "one written by the step prepare"
        ) from error


def state_digest(folder: str | os.PathLike[str]) -> str:
    """The digest that ``write_state`` returned."""
    return json_digest(read_json(Path(folder) / MANIFEST)["arrays"])
