"""Write what was simulated."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from pairtile.runtime.files import atomic_path


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
