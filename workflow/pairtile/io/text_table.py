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
from itertools import chain, combinations, islice
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import GrowingTable, count, row_blocks
from pairtile.errors import InputError
from pairtile.io.by_products import find_columns, is_annotation, names_genes
from pairtile.io.names import some
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
    notes += _check_header(path, kinds, head, [head.header[0], *names][-len(row) :], alike)
    by_name = kinds.column == "sample"
    found = find_columns(names, [fields[1:] for fields in alike], MISSING, by_name)
    if found.kinds:
        shown = ", ".join(f"{kind} ({len(at)})" for kind, at in found.kinds.items())
        like = min(found.kinds, key=lambda kind: "lfq" not in kind and "count" not in kind)
        cure = f"t.filter(regex=r'(?i){like.replace('_', '[ ._-]*')}')"
        raise InputError.at(
            path,
            f"line {head.header_line}",
            f"several columns of numbers for each sample: {shown}",
            "one for each sample, such as this makes: "
            f"{_by_pandas(path, delimiter, cure)}"
            + " (of one sample: join those of all files)"
            * (len(found.kinds[like]) == 1),
        )
    left_out, symbols = sorted([*found.annotations, *found.no_samples]), found.symbols
    unnamed = first == 1 or head.header[0].strip() in _NO_NAME
    numbered = symbols == 0 and unnamed and _are_row_numbers(alike)
    if numbered:
        notes.append(message("row_numbers", column=names[0]))
        symbols = None
    for code, at_columns in zip(_LEFT_OUT, (found.annotations, found.no_samples), strict=True):
        if shown_names := [names[k] for k in at_columns if not (numbered and k == 0)]:
            quoted = some(list(map(repr, shown_names)), _SHOWN)
            notes.append(message(code, n=len(shown_names), names=quoted, rows=kinds.row))
    if symbols is not None and kinds.row == "gene":
        notes.append(message("symbols_in_table", column=names[symbols]))
    labels = 1 + next((k for k, name in enumerate(left_out) if name != k), len(left_out))
    columns = [name for k, name in enumerate(names) if k not in set(left_out)]
    if by_name:
        _refuse_long_form(
            path, delimiter, [head.header[0] if first == 2 else "", *names], alike, columns
        )
    check_columns(path, kinds, columns, head.header_line, first + labels - 1)
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


_LEFT_OUT = ("annotation_columns", "columns_of_no_sample")

_FIRST_ROWS, _FIRST_CELLS = 50, 500_000
"""What is looked at to find the layout."""


class _Head(NamedTuple):
    """Last line and fields of the header, the first rows below it, how many lines were passed over
    above it, what such lines begin with where they may also stand below, and rows of labels that
    belong to the header, which itself is in ``header_line``."""

    line: int
    header: list[str]
    body: list[Row]
    n_above: int
    comments: tuple[str, ...]
    header_line: int
    labels: list[Row]


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
    body = [row for row in body if not _is_blank(row[1])]
    n = _n_label_rows([fields for _, fields in body])
    last_line = body[n - 1][0] if n else line
    comments = ("!",) if geo else ()
    return _Head(last_line, fields, body[n:], len(above) - 1, comments, line, body[:n])


def _is_blank(fields: Sequence[str]) -> bool:
    """Whether these are the fields of an empty row of a spreadsheet."""
    return len(fields) > 1 and not any(map(str.strip, fields))


def _n_label_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many rows at the top hold words wherever all rows below hold numbers."""
    for n in range(min(3, len(rows) - 2), 0, -1):
        width = min(map(len, rows))
        numbers = [k for k in range(1, width) if all(is_number(row[k]) for row in rows[n:])]
        words = all(
            _WORD.search(row[k]) and not is_number(row[k]) for row in rows[:n] for k in numbers
        )
        if len(numbers) > 1 and words:
            return n
    return 0


_WORD = re.compile(r"[^\W\d_]")


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
    return [name.strip() for name in header[first - 1 :]], first


_HEADING = re.compile(
    r"(?:.*[\W_])?(?:gene|id|name|symbol|probe|sample|cell|protein|feature|transcript|ref|accession|"
    r"barcode|index|mirna|time|x)s?(?:[\W_].*)?|\W*",
    re.IGNORECASE,
)
"""What programs and people write above the names of rows."""


def _check_header(
    path: str | PathLike[str],
    kinds: Kinds,
    head: _Head,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> list[Message]:
    """Refuse a header that is a row of the table; say what further lines of it hold.

    Names may be numbers, such as times and identifiers of genes or patients. They are values where
    several marks come together: they are in no order; they are fractions as the cells are, or whole
    as these, and not larger; some are the same; the name before them is like those of the rows.
    """
    columns = [k for k in range(1, len(header)) if all(_value(row[k]) is not None for row in rows)]
    names = [header[k].strip() for k in columns]
    found = [_value(name) for name in names]
    numbers = [value for value in found if value is not None and not math.isnan(value)]
    if numbers and None not in found and len(header) == len(head.header):
        cells = [abs(_value(row[k]) or 0.0) for row in rows for k in columns]
        fractions = sum(not cell.is_integer() for cell in cells if not math.isnan(cell))
        whole = all(value.is_integer() for value in numbers)
        ordered = any(numbers == sorted(numbers, key=key) for key in (None, lambda x: (x % 1, x)))
        marks = (whole == (2 * fractions < len(cells))) and max(map(abs, numbers)) <= 10 * max(
            cells
        )
        marks += _shape(header[0]) in {_shape(row[0]) for row in rows}
        marks += any(len(name.partition(".")[2]) > 2 for name in names)
        marks = 2 * (len(set(names)) < len(names)) + (0 if ordered else marks)
        if is_number(header[0]) or (marks > 1 and not _HEADING.fullmatch(header[0])):
            raise InputError.at(
                path,
                f"line {head.header_line}",
                f"numbers only, as in the rows below ({some(names)}): the table has no header",
                f"a header: a first line that names the columns, such as {kinds.row}, "
                f"{kinds.column} 1, {kinds.column} 2",
            )
    notes: list[Message] = []
    for line, fields in head.labels:
        words = list(dict.fromkeys(fields[k].strip() for k in columns))
        if len(words) > 1 and len(set(head.header)) < len(head.header):
            cure = f"those of one kind of value only, with each {kinds.column} once"
            shown = some(list(map(repr, words)))
            raise InputError.at(path, f"line {line}", f"a second header line ({shown})", cure)
        numbers_of_line = {"line": line, "name": fields[0], "words": some(words)}
        notes.append(message("label_line", **numbers_of_line))
    return notes


def _value(text: str) -> float | None:
    """The number, also with a decimal comma; NaN if missing, None if neither."""
    return number(text.strip().replace(",", "."))


def _shape(name: str) -> str:
    """How a name is made of letters and digits: that of TP53 is A9."""
    letters = re.sub(r"[^\W\d_]+", lambda part: "A" if part[0].isupper() else "a", name.strip())
    return re.sub(r"\d+", "9", letters)


def _by_pandas(path: str | PathLike[str], delimiter: str, table: str) -> str:
    """A command that makes another table of a file."""
    file, mark = str(path), r"\t" if delimiter == "\t" else delimiter
    return (
        f"python -c \"import pandas as pd; t = pd.read_csv({file!r}, sep='{mark}', index_col=0); "
        f"{table}.to_csv('table.tsv', sep='\\t')\""
    )


def _refuse_long_form(
    path: str | PathLike[str],
    delimiter: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: Sequence[str],
) -> None:
    """Refuse a table with a row for each gene and sample; ``names`` are those of all fields,
    ``columns`` of those taken for samples."""
    if len(columns) > 2:
        return
    fields = [[text.strip() for text in field] for field in zip(*rows, strict=True)]
    texts = [k for k, name in enumerate(names) if name not in columns and not is_annotation(name)]
    for i, j in combinations(texts, 2):
        distinct = len(set(zip(fields[i], fields[j], strict=True)))
        if distinct == len(rows) >= 2 * min(len(set(fields[i])), len(set(fields[j]))):
            gene, sample = (j, i) if names_genes(names[j]) else (i, j)
            keys = f"index={names[gene]!r}, columns={names[sample]!r}, values={columns[-1]!r}"
            raise InputError.at(
                path,
                "",
                f"the long form, with a row for each pair of {names[gene]!r} and {names[sample]!r}",
                f"a row for each gene and a column for each sample: "
                f"{_by_pandas(path, delimiter, f't.reset_index().pivot({keys})')}",
            )


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
    if header[0].count(" ") > 1:
        hint = (
            " (it holds blanks, as R's write.table does without sep: write.table(x, "
            '"table.tsv", sep="\\t", quote=FALSE, col.names=NA))'
        )
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
    if "points" in layout.marks:
        return None
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
    values = table.values()
    if _may_part_thousands(values, layout.delimiter) and _find_marks(path, layout) != "point":
        return None
    return Rows(names, values, symbols)


def _may_part_thousands(values: np.ndarray, delimiter: str) -> bool:
    """Whether all fractions have three digits and none lies below 1, as points between thousands
    make them, beside whole numbers."""
    points = small = delimiter == ";"
    for rows in row_blocks(values):
        block = values[rows]
        whole = block == np.rint(block)
        fractions = np.abs(block[~whole & ~np.isnan(block)])
        thousands = np.abs(1000.0 * fractions - np.rint(1000.0 * fractions)) < 1e-6
        if not (thousands & (fractions > 1.0)).all() or (np.abs(block[whole]) >= 1000.0).any():
            return False
        points |= fractions.size > 0
        small |= bool((block[whole] != 0.0).any())
    return points and small


def _find_marks(path: str | PathLike[str], layout: Layout) -> Marks:
    """What marks in the numbers of the whole table are."""
    at = [layout.labels + k for k in layout.fields]
    rows = _data_rows(path, layout)
    return find_marks((row[k] for _, row in rows for k in at if k < len(row)), layout.delimiter)


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
            if line > layout.skip_lines and not comment and not _is_blank(fields):
                yield line, fields


class _Numbers:
    """The numbers of rows; the whole table says what commas and points in them are."""

    def __init__(self, path: str | PathLike[str], layout: Layout) -> None:
        self._path, self._layout = path, layout
        self._fields = [layout.labels + k for k in layout.fields]
        self._marks = _find_marks(path, layout)
        self._n_marked = 0
        self._example = ("", 0.0)

    def of_row(self, line: int, fields: list[str]) -> np.ndarray:
        """The values of a row; raises InputError as ``read_careful``."""
        layout = self._layout
        values = np.empty(len(layout.columns))
        for k, at in enumerate(self._fields):
            text = fields[at]
            marked = is_marked(text) or ("points" in self._marks and "." in text)
            value = self._marked(text) if marked else number(text)
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
        plain = without_marks(text, self._marks)
        value = None if self._marks == "unclear points" else number(plain)
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
    if text.count(",") == 4:
        return f"{shown} (five numbers in a cell, as the Expression Atlas writes: {_ATLAS})"
    if is_marked(text) or is_number(text):
        return f"{shown} (a decimal comma or a mark between thousands: write plain numbers)"
    return shown


_ATLAS = (
    "minimum, quartiles and maximum of replicates; keep the median, or take its table of samples; "
    "in pandas t.map(lambda cell: cell.split(',')[2])"
)


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
