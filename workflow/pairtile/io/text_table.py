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
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import GrowingTable, count
from pairtile.errors import InputError
from pairtile.io.by_products import annotation_columns
from pairtile.io.number_marks import Marks, find_marks, is_marked, without_marks
from pairtile.io.table import Kinds, Table, check_names, has_name_fault, listed
from pairtile.io.text_file import (
    ABOVE,
    MAX_LINE,
    MISSING,
    Row,
    find_delimiter,
    is_gzip,
    is_number,
    open_rows,
    open_unpacked,
)
from pairtile.runtime.threads import in_threads

# Spellings of a missing value; anything else that is no number is an error.
_NAMES = {"\t": ("tab", "tabs"), ",": ("comma", "commas"), ";": ("semicolon", "semicolons")}
_SHOWN = 6

message = messages_of(__package__)


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text table.

    ``labels`` leading fields that are no values, then one number for each of ``columns``, without
    the fields ``omitted`` (counted behind the labels). Names stand in the field ``name_field``,
    symbols in ``symbol_field``. Data begins after ``skip_lines`` lines; lines that begin with one
    of ``comments`` are no data. ``marks``: what commas in the first numbers are.
    """

    delimiter: str
    labels: int
    columns: list[str]
    skip_lines: int
    row_bytes: int
    kinds: Kinds
    notes: list[Message] = field(default_factory=list)
    omitted: tuple[int, ...] = ()
    name_field: int = 0
    symbol_field: int | None = None
    comments: tuple[str, ...] = ()
    marks: Marks = "point"

    @property
    def width(self) -> int:
        """Fields in a row."""
        return self.labels + len(self.columns) + len(self.omitted)

    @property
    def fields(self) -> list[int]:
        """The field of each column, counted behind the labels."""
        left_out = set(self.omitted)
        return [k for k in range(self.width - self.labels) if k not in left_out]


def find_layout(path: str | PathLike[str], kinds: Kinds) -> Layout:
    """Layout of a TSV or CSV table, whose header has a field for the row names or has not.

    Lines that begin with ``#`` before the header, and those of GEO's files that begin with ``!`` or
    ``^``, are passed over; columns of annotations (``io.by_products``) are left out.

    Raises InputError for a table that is empty, has a header only or no header, or whose header
    fits its first row neither way; for empty and repeated column names.
    """
    delimiter = find_delimiter(path)
    with open_rows(path, delimiter) as rows:
        head = _read_head(rows)
    notes: list[Message] = [message("semicolons")] if delimiter == ";" else []
    if head.n_above:
        notes.append(message("lines_above_the_header", n=head.n_above))
    names, first = _column_names(path, kinds, head, delimiter)
    if first == 1:
        notes.append(message("header_without_row_names"))
    row = head.body[0][1]
    alike = [fields for _, fields in head.body if len(fields) == len(row)]
    left_out, symbols = annotation_columns(
        names, [fields[1:] for fields in alike], MISSING, kinds.column == "sample"
    )
    unnamed = first == 1 or head.header[0].strip() in _NO_NAME
    numbered = symbols == 0 and unnamed and _are_row_numbers(alike)
    if numbered:
        notes.append(message("row_numbers", column=names[0]))
        symbols = None
    if shown := [repr(names[k]) for k in left_out if not (numbered and k == 0)]:
        text = ", ".join(shown[:_SHOWN]) + ", ..." * (len(shown) > _SHOWN)
        notes.append(message("annotation_columns", n=len(shown), names=text, rows=kinds.row))
    if symbols is not None and kinds.row == "gene":
        notes.append(message("symbols_in_table", column=names[symbols]))
    labels = 1 + next((k for k, name in enumerate(left_out) if name != k), len(left_out))
    columns = [name for k, name in enumerate(names) if k not in set(left_out)]
    check_columns(path, kinds, columns, head.line, first + labels - 1)
    return Layout(
        delimiter=delimiter,
        labels=labels,
        columns=columns,
        skip_lines=head.line,
        row_bytes=sum(map(len, row)) + len(row),
        kinds=kinds,
        notes=notes,
        omitted=tuple(1 + k - labels for k in left_out if 1 + k >= labels),
        name_field=int(numbered),
        symbol_field=None if symbols is None or kinds.row != "gene" else 1 + symbols,
        comments=head.comments,
        marks=find_marks((text for fields in alike for text in fields[labels:]), delimiter),
    )


_FIRST_ROWS, _FIRST_CELLS = 50, 500_000
"""What is looked at to find the layout."""


class _Head(NamedTuple):
    """Line and fields of the header, the first rows below it, how many lines were passed over
    above it, and what such lines begin with where they may also stand below."""

    line: int
    header: list[str]
    body: list[Row]
    n_above: int
    comments: tuple[str, ...] = ()


def _read_head(rows: Iterator[Row]) -> _Head:
    none: Row = (0, [])
    above = [none]
    line, fields = next(rows, none)
    geo = bool(fields) and fields[0].startswith(("!", "^"))
    while fields and fields[0].startswith(ABOVE if geo else ABOVE[:2]):
        above.append((line, fields))
        line, fields = next(rows, none)
    last_line, last = above[-1]
    numbers_below = any(is_number(text) for text in fields[1:])
    if last and not geo and (not fields or (numbers_below and len(fields) - len(last) in (0, 1))):
        above.pop()  # the header itself begins with #
        rows = chain([(line, fields)] if fields else [], rows)
        line, fields = last_line, last
    n_rows = min(_FIRST_ROWS, max(3, _FIRST_CELLS // max(1, len(fields))))
    body = [row for row in islice(rows, n_rows) if not (geo and row[1][0].startswith("!"))]
    return _Head(line, fields, body, len(above) - 1, ("!",) if geo else ())


def _column_names(
    path: str | PathLike[str], kinds: Kinds, head: _Head, delimiter: str
) -> tuple[list[str], int]:
    """Names of all columns but the first, and the number of the field of their first."""
    header = head.header
    if not header:
        raise InputError.at(path, "", "no line of text", f"a header and {kinds.row}s in rows")
    if not head.body:
        raise InputError.at(path, "", "a header only", f"{kinds.row}s in rows below it")
    check_wide(path, head.line, header, delimiter)
    row_line, row = head.body[0]
    # Without this, delimiters at the end of all rows but the header would move every name by one.
    empty = len(row) > len(header) and not any(fields[-1].strip() for _, fields in head.body)
    if empty or len(row) not in (len(header), len(header) + 1):
        raise InputError.at(
            path,
            f"line {row_line}",
            f"{len(row)} fields" + ", of which the last is empty in each row" * empty,
            f"{len(header)}, as in the header (or {len(header) + 1}, if the header has no field "
            "for the row names)",
        )
    first = 2 if len(row) == len(header) else 1
    names = [name.strip() for name in header[first - 1 :]]
    if all(map(is_number, names)):
        # Names may be numbers, such as times; values have many decimals and come in no order.
        long = any(len(name.partition(".")[2]) > 2 for name in names)
        in_order = names == sorted(names, key=float)
        if (first == 2 and is_number(header[0])) or (long and not in_order):
            expected = f"a header that names the {kinds.column}s"
            raise InputError.at(path, f"line {head.line}", "numbers only", expected)
    return names, first


_NO_NAME = ("", "Unnamed: 0", "index")
"""Headers of the first column where programs write the numbers of the rows there."""


def _are_row_numbers(rows: Sequence[Sequence[str]]) -> bool:
    begin = 1 - (rows[0][0].strip() == "0")
    return [fields[0].strip() for fields in rows] == [str(begin + k) for k in range(len(rows))]


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
    name = _NAMES[delimiter][0]
    other = next((mark for mark in "\t,;" if mark in header[0]), "")
    hint = ""
    if other:
        suffix = ".tsv" if other == "\t" else ".csv"
        hint = f" (it holds {_NAMES[other][1]}: name the file {suffix})"
    raise InputError.at(
        path, f"line {line}", f"no {name}{hint}", f"a header of {name}-separated names"
    )


# The fast way through a text table: by Arrow's kernels and all cores, for tables without fault.

_PIECE = 1 << 23
"""Bytes of text that are parsed together, by one thread."""

_NOT_BLANK = re.compile(rb"[^\r\n]")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MISSING = pa.array(sorted(MISSING))
_IN_QUOTES = {"pattern": '^"([^"]*)"$', "replacement": r"\1"}


class Rows(NamedTuple):
    """Row names; values (rows, columns), float64, NaN where missing; symbols of the rows, where
    the table has such a column."""

    names: list[str]
    values: np.ndarray
    symbols: list[str]


def read_fast(
    path: str | PathLike[str], layout: Layout, scratch: Path | None = None
) -> Rows | None:
    """The rows; a large table is mapped from a file in ``scratch``.

    None when anything is odd (ragged rows, text, infinite values, empty or repeated names, damaged
    gzip): ``read_careful`` then finds the place, or reads what is only unusual.
    """
    names: list[str] = []
    symbols: list[str] = []
    table = GrowingTable(len(layout.columns), scratch)
    try:
        with open_unpacked(path) if is_gzip(path) else Path(path).open("rb") as stream:
            for found in in_threads(partial(_parse, layout), _pieces(stream, layout)):
                if found is None:
                    return None
                names += found.names
                symbols += found.symbols
                table.append(found.values)
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError, OverflowError):
        return None
    finally:
        pa.default_memory_pool().release_unused()
    if not names or has_name_fault(names, layout.kinds.row == layout.kinds.repeated):
        return None
    return Rows(names, table.values(), symbols)


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
        if len(rest) > MAX_LINE:
            raise OverflowError("a line that the careful way refuses")
    if _NOT_BLANK.search(rest):
        yield rest


def _parse(layout: Layout, text: bytes) -> Rows | None:
    """Row names and values of whole lines; None where there is anything odd.

    Cells are split and turned to numbers as one long column, row after row: a column of Arrow for
    each of the table's would cost more than its cells where rows are few and wide.
    """
    if b"\0" in text:
        return None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    whole = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, len(text)], dtype=np.int32)), pa.py_buffer(text)
    )
    whole.validate(full=True)  # UTF-8
    lines = pc.split_pattern(whole, "\n").flatten()
    lines = lines.filter(pc.not_equal(lines, ""))
    for mark in layout.comments:
        lines = lines.filter(pc.invert(pc.starts_with(lines, mark)))
    parts = pc.split_pattern(lines, layout.delimiter, max_splits=layout.labels)
    names, rest = pc.list_element(parts, layout.name_field), pc.list_element(parts, layout.labels)
    symbols = (
        names[:0] if layout.symbol_field is None else pc.list_element(parts, layout.symbol_field)
    )
    split = pc.split_pattern(rest, layout.delimiter)
    cells = split.flatten()
    if b'"' in text:
        names, cells, symbols = (
            pc.replace_substring_regex(found, **_IN_QUOTES) for found in (names, cells, symbols)
        )
        if pc.any(pc.match_substring(names, '"')).as_py():
            return None
    offsets = split.offsets.to_numpy()
    n_cells = layout.width - layout.labels
    if (np.diff(offsets) != n_cells).any():
        return None
    if layout.omitted:
        begins = n_cells * np.arange(len(lines))
        cells = cells.take(pa.array(np.add.outer(begins, layout.fields).ravel()))
    if layout.marks == "decimal comma":
        if pc.any(pc.match_substring(cells, ".")).as_py():
            return None
        cells = pc.replace_substring(cells, ",", ".")
    values = _numbers_of(cells)
    if values is None:
        return None
    stripped = ([text.strip() for text in found.to_pylist()] for found in (names, symbols))
    return Rows(next(stripped), values.reshape(len(lines), -1), next(stripped))


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


def read_careful(path: str | PathLike[str], layout: Layout) -> Rows:
    """The rows, read line by line.

    Reads all that ``read_fast`` reads, to the same values, and what only looks unusual (spaces
    around a field, a leading plus, marks between thousands). Raises InputError with line, column
    and text for ragged rows, non-numbers and infinite values; with lines for empty and repeated row
    names.
    """
    names: list[str] = []
    symbols: list[str] = []
    numbers_of_lines: list[int] = []
    rows: list[np.ndarray] = []
    numbers = _Numbers(path, layout)
    for line, fields in _data_rows(path, layout):
        if len(fields) != layout.width:
            raise InputError.at(path, f"line {line}", f"{len(fields)} fields", f"{layout.width}")
        names.append(fields[layout.name_field].strip())
        if layout.symbol_field is not None:
            symbols.append(fields[layout.symbol_field].strip())
        numbers_of_lines.append(line)
        rows.append(numbers.of_row(line, fields))
    if not rows:
        raise InputError.at(path, "", "a header only", f"{layout.kinds.row}s in rows below it")
    layout.notes.extend(numbers.notes())

    def place(positions: Sequence[int]) -> str:
        return listed([numbers_of_lines[k] for k in positions], "line", "lines")

    kinds = layout.kinds
    check_names(path, kinds.row, names, place, kinds.row == kinds.repeated)
    return Rows(names, np.stack(rows), symbols)


def _data_rows(path: str | PathLike[str], layout: Layout) -> Iterator[Row]:
    with open_rows(path, layout.delimiter) as lines:
        for line, fields in lines:
            comment = bool(layout.comments) and fields[0].startswith(layout.comments)
            if line > layout.skip_lines and not comment:
                yield line, fields


class _Numbers:
    """The numbers of rows; what commas in them are is found out when the first one is met."""

    def __init__(self, path: str | PathLike[str], layout: Layout) -> None:
        self._path, self._layout = path, layout
        self._fields = [layout.labels + k for k in layout.fields]
        self._marks: Marks | None = None
        self._n_marked = 0
        self._example = ("", 0.0)

    def of_row(self, line: int, fields: list[str]) -> np.ndarray:
        """The values of a row; raises InputError as ``read_careful``."""
        layout = self._layout
        values = np.empty(len(layout.columns))
        for k, at in enumerate(self._fields):
            text = fields[at]
            value = self._marked(text) if is_marked(text) else number(text)
            if value is None or math.isinf(value):
                raise InputError.at(
                    self._path,
                    f"line {line} ({layout.kinds.row} {fields[layout.name_field].strip()!r}), "
                    f"field {at + 1} ({layout.kinds.column} {layout.columns[k]!r})",
                    _found(text, value),
                    "a finite number, or one of NA, NaN, N/A, null, None or nothing if it is "
                    "missing",
                )
            values[k] = value
        return values

    def _marked(self, text: str) -> float | None:
        if self._marks is None:
            rows = _data_rows(self._path, self._layout)
            cells = (row[at] for _, row in rows for at in self._fields if at < len(row))
            self._marks = find_marks(cells, self._layout.delimiter)
        value = number(without_marks(text, self._marks))
        if value is not None:
            self._n_marked += 1
            self._example = self._example if self._n_marked > 1 else (text.strip(), value)
        return value

    def notes(self) -> list[Message]:
        """What commas and blanks in numbers were taken for."""
        text, value = self._example
        if not self._n_marked:
            return []
        if self._marks == "decimal comma":
            return [message("decimal_commas")]
        return [message("thousands_separators", n=self._n_marked, example=text, value=value)]


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
    if is_marked(text):
        return f"{shown} (a decimal comma or a mark between thousands: write plain numbers)"
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
    found = read_fast(path, layout, scratch)
    if found and layout.marks == "decimal comma":
        layout.notes.append(message("decimal_commas"))
    names, values, symbols = found or read_careful(path, layout)
    notes = list(layout.notes)
    n_missing = count(np.isnan, values)
    if n_missing:
        notes.append(message("cells_missing", n=n_missing, cells=values.size))
    named = {
        name: symbol
        for name, symbol in zip(names, symbols, strict=bool(symbols))
        if symbol not in MISSING
    }
    return Table(values, names, layout.columns, notes, named)


def _is_fraction(text: str) -> bool:
    # Whole numbers may be names (Entrez identifiers); decimal fractions are values.
    try:
        return not float(text).is_integer()
    except (ValueError, OverflowError):
        return False
