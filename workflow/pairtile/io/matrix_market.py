"""Sparse matrices in Matrix Market's coordinate format, every line of them checked.

Line 1 is ``%%MatrixMarket matrix coordinate FIELD SYMMETRY``, FIELD being real, integer or pattern
(ones), SYMMETRY general, symmetric or skew-symmetric (one triangle given). Then comments (``%``);
rows, columns and entries; row, column (from 1) and value of each.
Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).

Libraries read ``2,5`` as 2 and may crash on a file that is cut short, hence a reader of our own.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import scipy
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.sparse_rows import SparseRows
from pairtile.io.table import Table
from pairtile.io.text_file import (
    check_file,
    check_unpacked_size,
    is_gzip,
    open_lines,
    open_rows,
    open_unpacked,
)
from pairtile.io.text_table import number

message = messages_of(__package__)

_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
"""What the entry on the other side of the diagonal is times the given one; 0: nothing."""


_MAX_COMMENTS = 10_000
"""Lines before that with the sizes."""


def read_matrix_market(
    path: str | PathLike[str], header: _Header | None = None
) -> scipy.sparse.csr_array:
    """Read a matrix, float64, NaN where a value is ``nan``; plain or gzip.

    ``header``: what was read of it before.

    Raises
    ------
    InputError
        File missing or damaged; another format; another number of entries than stated; a line that
        is no entry; places outside the matrix; a place twice.
    """
    check_file(path)
    header = header or _header(path)
    check_unpacked_size(path, 8 * header.rows)  # what a matrix without any entry takes
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
    rows, columns = rows - 1, columns - 1
    matrix = scipy.sparse.coo_array(
        (values, (rows, columns)), (header.rows, header.columns)
    ).tocsr()
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
        for line, text in islice(lines, _MAX_COMMENTS - 1):
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
    found = f"no line with the sizes among the first {_MAX_COMMENTS:,}"
    raise InputError.at(path, "", found, "rows, columns and entries")


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

_HEADINGS = re.compile(
    r"|x|v\d|index|id|names?|(ensembl|gene|feature|cell|barcode|symbol)s?([_. -]?(ids?|names?|"
    r"symbols?|type|short_name))?",
    re.IGNORECASE,
)
"""What a header has for a first or second field."""


def read_mtx_folder(path: str | PathLike[str], orientation: str) -> Table:
    """Read a 10x folder as a table with genes in rows.

    Names of the files may have a prefix, one for all. Gene names are the symbols (second column of
    the features); symbols that several features share, and empty ones, give way to the identifiers
    (first column). The matrix has genes in rows unless ``orientation`` says otherwise. Raises
    InputError for files that are missing or damaged, for several prefixes, and for sizes that do
    not fit each other.
    """
    folder = Path(path)
    prefix = _prefix(folder)
    matrix_file, features_file, barcodes_file = (
        _find(folder, prefix, names) for names in (_MATRIX, _FEATURES, _BARCODES)
    )
    header = _header(matrix_file)
    notes: list[Message] = [message("files_with_prefix", prefix=repr(prefix))] if prefix else []
    stated = (header.rows, header.columns)
    shape = stated if orientation == "genes_in_rows" else stated[::-1]
    limit = max(shape) + 2
    lists = []
    for file, size in zip((features_file, barcodes_file), shape, strict=True):
        with open_rows(file, "\t") as lines:
            rows = [fields for _, fields in islice(lines, limit)]
        if len(rows) == size + 1 and all(_HEADINGS.fullmatch(f.strip()) for f in rows[0][:2]):
            line = ", ".join(field.strip() for field in rows[0])
            notes.append(message("header_left_out", file=file.name, line=line))
            rows = rows[1:]
        lists.append(rows)
    features, barcodes = lists
    if shape != (len(features), len(barcodes)):
        turned = shape == (len(barcodes), len(features))
        hint = " (set the other orientation)" if turned else ""
        n_genes, n_cells = (f"{'at least ' * (len(rows) == limit)}{len(rows)}" for rows in lists)
        raise InputError.at(
            matrix_file,
            "",
            f"{shape[0]} x {shape[1]} entries",
            f"{n_genes} genes ({features_file.name}) x {n_cells} barcodes "
            f"({barcodes_file.name}){hint}",
        )
    matrix = read_matrix_market(matrix_file, header)
    identifiers = [fields[0].strip() for fields in features]
    symbols = [fields[1].strip() if len(fields) > 1 else "" for fields in features]
    kinds = [fields[2].strip() if len(fields) > 2 else GENE_EXPRESSION for fields in features]
    cells = [fields[0].strip() for fields in barcodes]
    values = SparseRows(matrix.T if orientation == "samples_in_rows" else matrix)
    return expressed_features(values, identifiers, symbols, kinds, cells, features_file.name, notes)


GENE_EXPRESSION = "Gene Expression"


def expressed_features(
    values: SparseRows,
    identifiers: Sequence[str],
    symbols: Sequence[str],
    kinds: Sequence[str],
    cells: list[str],
    source: str,
    notes: Sequence[Message] = (),
) -> Table:
    """The table of the features whose kind is gene expression, others counted; of all features
    where none is."""
    rows = [k for k, kind in enumerate(kinds) if kind == GENE_EXPRESSION] or range(len(kinds))
    names, others, found = gene_names(
        [identifiers[k] for k in rows], [symbols[k] for k in rows], source
    )
    if len(rows) < len(kinds):
        left_out = Counter(kind for kind in kinds if kind != GENE_EXPRESSION)
        listed = ", ".join(f"{n:,} {kind}" for kind, n in left_out.most_common())
        found.append(message("features_left_out", n=len(kinds) - len(rows), kinds=listed))
        values = values.take(np.array(rows))
    return Table(values, names, cells, [*notes, *found], accessions=others)


def _prefix(folder: Path) -> str:
    """What the file names of the only matrix in the folder begin with."""
    names = sorted(file.name for file in folder.iterdir())
    found = {name[: -len(end)] for name in names for end in _MATRIX if name.endswith(end)}
    if "" in found or not found:
        return ""
    if len(found) > 1:
        listed = ", ".join(sorted(found)[:8])
        raise InputError.at(
            folder,
            "",
            f"{len(found)} matrices ({listed})",
            "one (give each matrix a folder of its own)",
        )
    return found.pop()


def _find(folder: Path, prefix: str, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / f"{prefix}{name}").is_file():
            return folder / f"{prefix}{name}"
    found = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
    raise InputError.at(
        folder,
        "",
        f"{found} in the folder",
        f"one of {', '.join(prefix + name for name in names)}",
    )


def gene_names(
    identifiers: Sequence[str], symbols: Sequence[str], source: str
) -> tuple[list[str], dict[str, str], list[Message]]:
    """Names of features, the other name of each, and a note: names are symbols, and identifiers
    where these are shared or empty. ``source``: what the note calls the list."""
    times = Counter(symbols)
    names = [
        symbol if symbol and times[symbol] == 1 else identifier
        for identifier, symbol in zip(identifiers, symbols, strict=True)
    ]
    if not any(symbols):
        return names, {}, []
    of_feature = zip(names, identifiers, symbols, strict=True)
    others = {name: symbol if name == given else given for name, given, symbol in of_feature}
    n_shared = sum(a != b for a, b in zip(names, symbols, strict=True))
    return names, others, [message("symbols_as_names", source=source, n=n_shared)]
