"""Sparse matrices in Matrix Market's coordinate format, every line of them checked.

Line 1 is ``%%MatrixMarket matrix coordinate FIELD SYMMETRY``, FIELD being real, integer or pattern
(ones), SYMMETRY general, symmetric or skew-symmetric (one triangle given). Then comments (``%``);
rows, columns and entries; row, column (from 1) and value of each.
Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).

Libraries read ``2,5`` as 2 and may crash on a file that is cut short, hence a reader of our own.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.io.sparse_rows import SparseRows
from pairtile.io.table import Table
from pairtile.io.text_file import check_file, is_gzip, open_lines, open_rows, open_unpacked
from pairtile.io.text_table import number

if TYPE_CHECKING:
    from scipy import sparse


_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
"""What the entry on the other side of the diagonal is times the given one; 0: nothing."""


def read_matrix_market(path: str | PathLike[str]) -> sparse.csr_array:
    """Read a matrix, float64, NaN where a value is ``nan``; plain or gzip.

    Raises
    ------
    InputError
        File missing or damaged; another format; another number of entries than stated; a line that
        is no entry; places outside the matrix; a place twice.
    """
    check_file(path)
    header = _header(path)
    rows, columns, values = _read_fast(path, header) or _read_careful(path, header)
    if len(values) != header.entries:
        raise InputError.at(
            path, "", f"{len(values)} entries", f"{header.entries}, as line {header.line} says"
        )
    for place, size, what in ((rows, header.rows, "row"), (columns, header.columns, "column")):
        outside = np.flatnonzero((place < 1) | (place > size))
        if outside.size:
            entry = int(outside[0])
            raise InputError.at(
                path, f"entry {entry + 1}", f"{what} {place[entry]}", f"1 to {size}"
            )
    if header.mirror:
        off = rows != columns
        rows, columns = np.append(rows, columns[off]), np.append(columns, rows[off])
        values = np.append(values, header.mirror * values[off])
    from scipy import sparse  # a sixth of a second, which every job would pay

    rows, columns = rows - 1, columns - 1
    matrix = sparse.coo_array((values, (rows, columns)), (header.rows, header.columns)).tocsr()
    if matrix.nnz < len(values):  # those that are there twice became one
        order = np.lexsort((columns, rows))
        twice = (np.diff(rows[order]) == 0) & (np.diff(columns[order]) == 0)
        entry = int(order[int(twice.argmax())])
        found = f"row {rows[entry] + 1}, column {columns[entry] + 1} more than once"
        raise InputError.at(path, "", found, "each place once")
    return matrix


@dataclass(frozen=True)
class _Header:
    """What the lines before the entries say; ``line``: the number of the last of them."""

    rows: int
    columns: int
    entries: int
    has_values: bool
    mirror: int
    line: int

    @property
    def width(self) -> int:
        return 3 if self.has_values else 2


def _header(path: str | PathLike[str]) -> _Header:
    with open_lines(path) as lines:
        _, first = next(lines, (1, ""))
        words = first.lower().split()
        if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
            expected = "%%MatrixMarket matrix coordinate real general, or the like"
            raise InputError.at(path, "line 1", repr(first[:80]), expected)
        for word, allowed in zip(words[2:], (("coordinate",), _FIELDS, _SYMMETRIES), strict=True):
            if word not in allowed:
                raise InputError.at(path, "line 1", repr(word), " or ".join(allowed))
        for line, text in lines:
            if text.strip() and not text.startswith("%"):
                sizes = text.split()
                # More digits than this would be beyond any file.
                if len(sizes) != 3 or not all(_is_whole(size) for size in sizes):
                    expected = "three whole numbers: rows, columns, entries"
                    raise InputError.at(path, f"line {line}", repr(text), expected)
                rows, columns, entries = map(int, sizes)
                mirror = _SYMMETRIES[words[4]]
                if mirror and rows != columns:
                    found = f"{rows} rows and {columns} columns"
                    raise InputError.at(
                        path, f"line {line}", found, f"as many, as it is {words[4]}"
                    )
                return _Header(rows, columns, entries, words[3] != "pattern", mirror, line)
    raise InputError.at(path, "", "no line with the sizes", "rows, columns and entries")


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16


_Entries = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.float64]]


def _read_fast(path: str | PathLike[str], header: _Header) -> _Entries | None:
    """Entries with one blank between their fields, by Arrow; None where anything is unusual."""
    place = pa.int32() if max(header.rows, header.columns) < 2**31 else pa.int64()
    kinds = {"row": place, "column": place, "value": pa.float64()}
    names = list(kinds)[: header.width]
    try:
        with open_unpacked(path) if is_gzip(path) else pa.input_stream(str(path)) as stream:
            table = pa.csv.read_csv(
                stream,
                read_options=pa.csv.ReadOptions(column_names=names, skip_rows=header.line),
                parse_options=pa.csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=pa.csv.ConvertOptions(
                    column_types={name: kinds[name] for name in names}, null_values=[]
                ),
            )
    except (pa.ArrowException, OSError, EOFError, zlib.error):
        return None
    rows, columns = (table[name].to_numpy() for name in names[:2])
    values = table["value"].to_numpy() if header.has_values else np.ones(len(rows))
    return None if np.isinf(values).any() else (rows, columns, values)


def _read_careful(path: str | PathLike[str], header: _Header) -> _Entries:
    places: list[tuple[int, int]] = []
    values: list[float] = []
    with open_lines(path) as lines:
        for line, text in lines:
            fields = text.split()
            if line <= header.line or not fields:
                continue
            value = number(fields[2]) if len(fields) == 3 else 1.0
            whole = len(fields) == header.width and all(map(_is_whole, fields[:2]))
            if not whole or value is None or math.isinf(value):
                expected = "row, column" + " and a finite number" * header.has_values
                raise InputError.at(path, f"line {line}", repr(text), expected)
            places.append((int(fields[0]), int(fields[1])))
            values.append(value)
    found = np.array(places, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1], np.array(values, dtype=np.float64)


# Folders as 10x Genomics' Cell Ranger writes them: a sparse matrix and two lists of names.

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
    matrix: Any = read_matrix_market(matrix_file)
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
    return Table(SparseRows(matrix), genes, barcodes, notes)


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
