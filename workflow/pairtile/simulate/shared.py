"""What all simulations share: a stream of random numbers for each purpose, and writing of files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.runtime.files import atomic_path


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A generator (Philox) that depends on the seed and on what is drawn, and on nothing else."""
    key = int.from_bytes(purpose.encode(), "big")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, key])))


def gene_table(
    values: NDArray[np.floating] | NDArray[np.integer], genes: list[str], samples: list[str]
) -> pd.DataFrame:
    """Values (genes, samples) with the genes' names as first column."""
    return pd.DataFrame(values, genes, samples).rename_axis("gene").reset_index()


def check_whole(name: str, value: float, low: float, high: float | None = None) -> None:
    """Raises ValueError unless ``value`` is a whole number from ``low`` to ``high``."""
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool) and low <= value
    if not fits or (high is not None and value > high):
        allowed = f"{low} or more" if high is None else f"{low} to {high}"
        raise ValueError(f"{name} is {value}; expected a whole number, {allowed}")


def check_share(name: str, value: float, high: float = 1.0, *, below: bool = False) -> None:
    """Raises ValueError unless ``value`` is from 0 to ``high``, or ``below`` it."""
    if not (0 <= value < high if below else 0 <= value <= high):
        raise ValueError(f"{name} is {value}; expected 0 to {'below ' * below}{high:g}")


def write_files(folder: Path, contents: Mapping[str, str | pd.DataFrame]) -> None:
    """Write texts and tables (by name; numbers with 6 digits) into ``folder``, made when missing;
    names in .gz are packed.

    Each file is written whole or not at all, and equal contents give equal files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        if isinstance(text, pd.DataFrame):
            text = text.to_csv(
                sep="\t", index=False, float_format="%.6g", na_rep="NA", lineterminator="\n"
            )
        with atomic_path(folder / name) as temporary, temporary.open("wb") as raw:
            if name.endswith(".gz"):
                # Neither time nor file name in the header: equal tables are equal files.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    packed.write(text.encode())
            else:
                raw.write(text.encode())
