"""TSV and CSV tables: find the layout, then read the fast way, or line by line to name a fault.

Libraries read such tables too, but do not say which line and field is at fault.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairtile.engine.large_table import GrowingTable, count
from pairtile.errors import InputError
from pairtile.io.table import Kinds, Table, check_names, has_name_fault, listed
from pairtile.io.text_file import check_file, is_gzip, open_lines, open_rows, open_unpacked
from pairtile.runtime.threads import in_threads

# Spellings of a missing value; anything else that is no number is an error.
MISSING = frozenset(["", "NA", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "-NaN"]) | {
    "null",
    "NULL",
    "Null",
    "None",
    "none",
}
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text table.

    ``labels`` leading text fields (the first is the row's name, further ones are passed over),
    then one number for each of ``columns``. Data begins after ``skip_lines`` lines.
    """

    delimiter: str
    labels: int
    columns: list[str]
    skip_lines: int
    row_bytes: int
    kinds: Kinds
    notes: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Fields in a row."""
        return self.labels + len(self.columns)


def find_layout(path: str | PathLike[str], kinds: Kinds) -> Layout:
    """Layout of a TSV or CSV table, whose header has a field for the row names or has not.

    Raises InputError for a table that is empty, has a header only or no header, or whose header
    fits its first row neither way; for empty and repeated column names.
    """
    delimiter = find_delimiter(path)
    with open_rows(path, delimiter) as rows:
        header_line, header = next(rows, (0, []))
        row_line, row = next(rows, (0, []))
    if not header:
        raise InputError.at(path, "", "no line of text", f"a header and {kinds.row}s in rows")
    if not row:
        raise InputError.at(path, "", "a header only", f"{kinds.row}s in rows below it")
    check_wide(path, header_line, header, delimiter)
    notes = []
    if len(row) == len(header) + 1:
        names, first = header, 1
        notes.append("The header has no field for the row names.")
    elif len(row) == len(header):
        if all(_is_number(text) for text in header):
            raise InputError.at(
                path,
                f"line {header_line}",
                "numbers only",
                f"a header that names the {kinds.column}s",
            )
        names, first = header[1:], 2
    else:
        raise InputError.at(
            path,
            f"line {row_line}",
            f"{len(row)} fields",
            f"{len(header)}, as in the header (or {len(header) + 1}, if the header has no field "
            "for the row names)",
        )
    columns = [name.strip() for name in names]
    check_columns(path, kinds, columns, header_line, first)
    return Layout(
        delimiter=delimiter,
        labels=1,
        columns=columns,
        skip_lines=header_line,
        row_bytes=sum(map(len, row)) + len(row),
        kinds=kinds,
        notes=notes,
    )


def find_delimiter(path: str | PathLike[str]) -> str:
    """Tab or comma, by the file's suffix; for others by what its first line holds more of."""
    check_file(path)
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() != ".gz"]
    if suffixes and suffixes[-1] in _DELIMITERS:
        return _DELIMITERS[suffixes[-1]]
    with open_lines(path) as lines:
        first = next((line for _, line in lines if line), "")
    return "," if first.count(",") > first.count("\t") else "\t"


def check_columns(
    path: str | PathLike[str], kinds: Kinds, columns: list[str], line: int, first: int
) -> None:
    """Refuse empty and repeated column names; ``first`` is the number of the first one's field."""

    def place(positions: Sequence[int]) -> str:
        fields = [first + k for k in positions]
        return f"line {line}, {listed(fields, 'field', 'fields')}"

    check_names(path, kinds.column, columns, place, kinds.column == kinds.repeated)


def check_wide(path: str | PathLike[str], line: int, header: list[str], delimiter: str) -> None:
    """Refuse a header that the delimiter does not split."""
    if len(header) > 1:
        return
    name, other = {"\t": ("tab", ","), ",": ("comma", "\t")}[delimiter]
    hint = ""
    if other in header[0]:
        wrong = {",": "commas", "\t": "tabs"}[other]
        hint = f" (it holds {wrong}: name the file {'.csv' if other == ',' else '.tsv'})"
    raise InputError.at(
        path, f"line {line}", f"no {name}{hint}", f"a header of {name}-separated names"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# The fast way through a text table: by Arrow's kernels and all cores, for tables without fault.

_PIECE = 1 << 23
"""Bytes of text that are parsed together, by one thread."""

_NOT_BLANK = re.compile(rb"[^\r\n]")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MISSING = pa.array(sorted(MISSING))
_IN_QUOTES = {"pattern": '^"([^"]*)"$', "replacement": r"\1"}
_Rows = tuple[list[str], np.ndarray]


def read_fast(
    path: str | PathLike[str], layout: Layout, scratch: Path | None = None
) -> _Rows | None:
    """Row names and values (rows, columns), float64, NaN where missing; a large table is mapped
    from a file in ``scratch``.

    None when anything is odd (ragged rows, text, infinite values, empty or repeated names, damaged
    gzip): ``read_careful`` then finds the place, or reads what is only unusual.
    """
    names: list[str] = []
    table = GrowingTable(len(layout.columns), scratch)
    try:
        with open_unpacked(path) if is_gzip(path) else Path(path).open("rb") as stream:
            for found in in_threads(partial(_parse, layout), _pieces(stream, layout)):
                if found is None:
                    return None
                names += found[0]
                table.append(found[1])
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError, OverflowError):
        return None
    finally:
        pa.default_memory_pool().release_unused()
    if not names or has_name_fault(names, layout.kinds.row == layout.kinds.repeated):
        return None
    return names, table.values()


def _pieces(stream: BinaryIO, layout: Layout) -> Iterator[bytes]:
    """The file's bytes below the header, in pieces of whole lines."""
    size = max(_PIECE, 8 * layout.row_bytes)
    to_skip = layout.skip_lines
    rest = b""
    while block := stream.read(size):
        text = rest + block if rest else block
        begin, end = 0, (text.rfind(b"\n") + 1 or text.rfind(b"\r", 0, -1) + 1)
        while to_skip and (line_end := _LINE_END.search(text, begin, end)):
            begin = line_end.end()
            to_skip -= 1
        if _NOT_BLANK.search(text, begin, end):
            yield text[begin:end]
        rest = text[max(begin, end) :]
    if _NOT_BLANK.search(rest):
        yield rest


def _parse(layout: Layout, text: bytes) -> _Rows | None:
    """Row names and values of whole lines; None where there is anything odd.

    Cells are split and turned to numbers as one long column, row after row: a column of Arrow for
    each of the table's would cost more than its cells where rows are few and wide.
    """
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    whole = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, len(text)], dtype=np.int32)), pa.py_buffer(text)
    )
    whole.validate(full=True)  # UTF-8
    lines = pc.split_pattern(whole, "\n").flatten()
    lines = lines.filter(pc.not_equal(lines, ""))
    parts = pc.split_pattern(lines, layout.delimiter, max_splits=layout.labels)
    names, rest = pc.list_element(parts, 0), pc.list_element(parts, layout.labels)
    split = pc.split_pattern(rest, layout.delimiter)
    cells = split.flatten()
    if b'"' in text:
        names, cells = (pc.replace_substring_regex(found, **_IN_QUOTES) for found in (names, cells))
        if pc.any(pc.match_substring(names, '"')).as_py():
            return None
    offsets = split.offsets.to_numpy()
    if (np.diff(offsets) != len(layout.columns)).any():
        return None
    values = _numbers_of(cells)
    if values is None:
        return None
    return [name.strip() for name in names.to_pylist()], values.reshape(len(lines), -1)


def _numbers_of(cells: pa.StringArray) -> np.ndarray | None:
    """The numbers in cells, NaN where one is missing; None where one is anything else."""
    try:
        values = pc.cast(cells, pa.float64()).to_numpy()
        if np.isfinite(values).all():
            return np.asarray(values)
    except pa.ArrowInvalid:
        pass  # a cell that is missing, or has blanks around it
    cells = pc.ascii_trim_whitespace(cells)
    missing = pc.is_in(cells, _MISSING)
    values = pc.cast(pc.if_else(missing, None, cells), pa.float64()).to_numpy(zero_copy_only=False)
    odd = ~np.isfinite(values) & ~missing.to_numpy(zero_copy_only=False)
    return None if odd.any() else values


# The careful way through a text table: line by line, so that a fault's place can be named.

_SHOWN_TEXT = 40


def read_careful(path: str | PathLike[str], layout: Layout) -> tuple[list[str], np.ndarray]:
    """Row names and values (rows, columns), float64, NaN where missing.

    Reads all that ``read_fast`` reads, to the same values, and what only looks unusual (spaces
    around a field, a leading plus). Raises InputError with line, column and text for ragged rows,
    non-numbers and infinite values; with lines for empty and repeated row names.
    """
    names: list[str] = []
    numbers_of_lines: list[int] = []
    rows: list[np.ndarray] = []
    with open_rows(path, layout.delimiter) as lines:
        for line, fields in lines:
            if line <= layout.skip_lines:
                continue
            if len(fields) != layout.width:
                raise InputError.at(
                    path, f"line {line}", f"{len(fields)} fields", f"{layout.width}"
                )
            names.append(fields[0].strip())
            numbers_of_lines.append(line)
            rows.append(_numbers(path, layout, line, fields))
    if not rows:
        raise InputError.at(path, "", "a header only", f"{layout.kinds.row}s in rows below it")

    def place(positions: Sequence[int]) -> str:
        return listed([numbers_of_lines[k] for k in positions], "line", "lines")

    kinds = layout.kinds
    check_names(path, kinds.row, names, place, kinds.row == kinds.repeated)
    return names, np.stack(rows)


def _numbers(path: str | PathLike[str], layout: Layout, line: int, fields: list[str]) -> np.ndarray:
    cells = fields[layout.labels :]
    values = np.empty(len(cells))
    for k, text in enumerate(cells):
        value = number(text)
        if value is None or math.isinf(value):
            raise InputError.at(
                path,
                f"line {line} ({layout.kinds.row} {fields[0].strip()!r}), "
                f"field {layout.labels + k + 1} ({layout.kinds.column} {layout.columns[k]!r})",
                _found(text, value),
                "a finite number, or one of NA, NaN, N/A, null, None or nothing if it is missing",
            )
        values[k] = value
    return values


def number(text: str) -> float | None:
    """The number, NaN if missing, None if neither."""
    stripped = text.strip()
    if stripped in MISSING:
        return math.nan
    # Python's float takes more than tables may hold: 1_000, and other scripts' digits.
    if not stripped.isascii() or "_" in stripped:
        return None
    try:
        value = float(stripped)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _found(text: str, value: float | None) -> str:
    shown = repr(text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "...")
    if value is not None:
        return f"the infinite value {shown}"
    if re.fullmatch(r"\s*[-+]?\d+,\d+\s*", text):
        return f"{shown} (a decimal comma: write a point)"
    return shown


# The whole table.


def read_text_table(path: str | PathLike[str], kinds: Kinds, scratch: Path | None = None) -> Table:
    """Read a TSV or CSV table, plain or gzip, header with or without a row-name field. A large one
    is mapped from a file in ``scratch``.

    Raises InputError: see ``find_layout`` and ``read_careful``.
    """
    table = read_rows(path, find_layout(path, kinds), scratch)
    if all(_is_fraction(name) for name in table.rows):
        raise InputError.at(
            path,
            "first column",
            f"numbers only (the first is {table.rows[0]!r})",
            f"{kinds.row} names",
        )
    return table


def read_rows(path: str | PathLike[str], layout: Layout, scratch: Path | None = None) -> Table:
    """Read the rows that ``layout`` describes: the fast way, or carefully where that fails."""
    names, values = read_fast(path, layout, scratch) or read_careful(path, layout)
    notes = list(layout.notes)
    n_missing = count(np.isnan, values)
    if n_missing:
        notes.append(f"{n_missing} of {values.size} cells were read as missing.")
    return Table(values=values, rows=names, columns=layout.columns, notes=notes)


def _is_fraction(text: str) -> bool:
    # Whole numbers may be names (Entrez identifiers); decimal fractions are values.
    try:
        return not float(text).is_integer()
    except (ValueError, OverflowError):
        return False
