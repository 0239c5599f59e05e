"""Folders as 10x Genomics' Cell Ranger writes them: a sparse matrix and two lists of names."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from pathlib import Path

import numpy as np

from pairtile.errors import InputError
from pairtile.io.matrix_market import read_matrix_market
from pairtile.io.table import Table
from pairtile.io.text_file import open_rows

_MATRIX = ("matrix.mtx.gz", "matrix.mtx")
_FEATURES = ("features.tsv.gz", "features.tsv", "genes.tsv.gz", "genes.tsv")
_BARCODES = ("barcodes.tsv.gz", "barcodes.tsv")


def read_mtx_folder(path: str | PathLike[str], orientation: str) -> Table:
    """Read a 10x folder as a table with genes in rows.

    Gene names are the symbols (second column of the features); symbols that several features
    share, and empty ones, give way to the identifiers (first column). The matrix has genes in
    rows unless ``orientation`` says otherwise. Raises InputError for files that are missing or
    damaged and for sizes that do not fit each other.
    """
    folder = Path(path)
    matrix_file, features_file, barcodes_file = (
        _find(folder, names) for names in (_MATRIX, _FEATURES, _BARCODES)
    )
    genes, notes = _gene_names(features_file)
    barcodes = [fields[0].strip() for fields in _lines(barcodes_file)]
    matrix = read_matrix_market(matrix_file)
    if orientation == "samples_in_rows":
        matrix = matrix.T
    if matrix.shape != (len(genes), len(barcodes)):
        turned = matrix.shape == (len(barcodes), len(genes))
        hint = " (set the other orientation)" if turned else ""
        raise InputError.at(
            matrix_file,
            "",
            f"{matrix.shape[0]} x {matrix.shape[1]} entries",
            f"{len(genes)} genes ({features_file.name}) x {len(barcodes)} barcodes "
            f"({barcodes_file.name}){hint}",
        )
    return Table(np.ascontiguousarray(matrix.toarray(), np.float64), genes, barcodes, notes)


def _find(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    found = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
    raise InputError.at(folder, "", f"{found} in the folder", f"one of {', '.join(names)}")


def _gene_names(file: Path) -> tuple[list[str], list[str]]:
    rows = _lines(file)
    identifiers = [fields[0].strip() for fields in rows]
    symbols = [fields[1].strip() if len(fields) > 1 else "" for fields in rows]
    notes = []
    times = Counter(symbols)
    names = [
        symbol if symbol and times[symbol] == 1 else identifier
        for identifier, symbol in zip(identifiers, symbols, strict=True)
    ]
    if any(symbols):
        n_shared = sum(a != b for a, b in zip(names, symbols, strict=True))
        notes.append(
            f"Gene names are the symbols of {file.name}; {n_shared} features whose symbol is "
            "shared or empty are named by their identifier."
        )
    kinds = Counter(fields[2].strip() for fields in rows if len(fields) > 2)
    if len(kinds) > 1:
        parts = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
        notes.append(f"The features are of several types, all of them kept: {parts}.")
    return names, notes


def _lines(file: Path) -> list[list[str]]:
    with open_rows(file, "\t") as rows:
        return [fields for _, fields in rows]
