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
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.io.text_careful import number
from pairtile.io.text_file import check_file, is_gzip, open_lines
from pairtile.io.unpacked import open_unpacked

if TYPE_CHECKING:
    from scipy import sparse

_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
"""What the entry on the other side of the diagonal is times the given one; 0: nothing."""


def read_matrix_market(path: str | PathLike[str]) -> sparse.coo_array:
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
    order = np.lexsort((columns, rows))
    twice = (np.diff(rows[order]) == 0) & (np.diff(columns[order]) == 0)
    if twice.any():
        entry = int(order[int(twice.argmax())])
        found = f"row {rows[entry]}, column {columns[entry]} more than once"
        raise InputError.at(path, "", found, "each place once")
    from scipy import sparse  # a sixth of a second, which every job would pay

    return sparse.coo_array((values, (rows - 1, columns - 1)), (header.rows, header.columns))


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
                # More digits than this would not be numbers of this world.
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


_Entries = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _read_fast(path: str | PathLike[str], header: _Header) -> _Entries | None:
    """Entries with one blank between their fields, by Arrow; None where anything is unusual."""
    kinds = {"row": pa.int64(), "column": pa.int64(), "value": pa.float64()}
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
