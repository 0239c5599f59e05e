"""What all simulations share: a stream of random numbers for each purpose, and writing of files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pairtile.runtime.files import atomic_path


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A generator (Philox) that depends on the seed and on what is drawn, and on nothing else."""
    key = int.from_bytes(purpose.encode(), "big")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, key])))


def write_files(folder: Path, contents: Mapping[str, str]) -> None:
    """Write texts (name -> text) into ``folder``, made when missing; names in .gz are packed.

    Each file is written whole or not at all, and equal texts give equal files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        with atomic_path(folder / name) as temporary, temporary.open("wb") as raw:
            if name.endswith(".gz"):
                # Neither time nor file name in the header: equal tables are equal files.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    packed.write(text.encode())
            else:
                raw.write(text.encode())
