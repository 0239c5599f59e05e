"""TSV and CSV tables: find the layout, then read the fast way, or line by line to name a fault.

Libraries read such tables too, but do not say which line and field is at fault.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
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
from pairtile.io.by_products import COVARIATES, by_product_rows, column_key, find_columns
from pairtile.io.names import join_first
from pairtile.io.number_marks import Marks, find_marks, is_marked, without_marks
from pairtile.io.table import (
    FIRST_CELLS,
    FIRST_ROWS,
    Kinds,
    Table,
    check_names,
    has_name_fault,
    join_numbers,
    missing_cells,
    notes_of_columns,
    refuse_other_forms,
)
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

_NAMES = {"\t": ("tab", "tabs"), ",": ("comma", "commas"), ";": ("semicolon", "semicolons")}

message = messages_of(__package__)


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text table.

    ``labels`` leading fields that are no values, then a number for each of ``columns``, which are
    the ``fields`` of a row of ``width``. Names stand in the field ``name_field``, symbols in
    ``symbol_field``. Data begins after ``skip_lines`` lines; lines that begin with one of
    ``comments`` are no data. ``marks``: what commas and points in the first numbers are.
    """

    delimiter: str
    labels: int
    columns: list[str]
    fields: list[int]
    width: int
    skip_lines: int
    row_bytes: int
    kinds: Kinds
    notes: list[Message] = field(default_factory=list)
    name_field: int = 0
    symbol_field: int | None = None
    comments: tuple[str, ...] = ()
    marks: Marks = "point"


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
    annotations, no_samples, symbols, several = find_columns(
        names, [fields[1:] for fields in alike], MISSING, by_name
    )
    if by_name:
        header = [head.header[0] if first == 2 else "", *names]
        mark = r"\t" if delimiter == "\t" else delimiter
        read = f"pd.read_csv({str(path)!r}, sep='{mark}', index_col=0)"
        refuse_other_forms(path, read, header, alike, several)
    left_out = sorted([*annotations, *no_samples])
    # Programs write one of these above the numbers of rows.
    unnamed = first == 1 or head.header[0].strip() in ("", "Unnamed: 0", "index")
    counted = [[str(first + k) for k in range(len(alike))] for first in (0, 1)]
    numbered = symbols == 0 and unnamed and [fields[0].strip() for fields in alike] in counted
    if numbered:
        notes.append(message("row_numbers", column=names[0]))
        symbols = None
    notes += notes_of_columns(
        names, [k for k in annotations if k != 0 or not numbered], no_samples, kinds
    )
    if symbols is not None and kinds.row == "gene":
        notes.append(message("symbols_in_table", column=names[symbols]))
    labels = 1 + next((k for k, name in enumerate(left_out) if name != k), len(left_out))
    columns = [name for k, name in enumerate(names) if k not in set(left_out)]
    check_columns(path, kinds, columns, head.header_line, first + labels - 1)
    return Layout(
        delimiter=delimiter,
        labels=labels,
        columns=columns,
        skip_lines=head.line,
        row_bytes=sum(map(len, row)) + len(row),
        kinds=kinds,
        notes=notes,
        fields=[1 + k for k in range(len(names)) if k not in set(left_out)],
        width=len(row),
        name_field=int(numbered),
        symbol_field=None if symbols is None or kinds.row != "gene" else 1 + symbols,
        comments=head.comments,
        marks=find_marks((text for fields in alike for text in fields[labels:]), delimiter),
    )


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
    n_rows = min(FIRST_ROWS, max(3, FIRST_CELLS // max(1, len(fields))))
    body = [row for row in islice(rows, n_rows) if not (geo and row[1][0].startswith("!"))]
    body = [row for row in body if len(row[1]) == 1 or any(map(str.strip, row[1]))]
    n = _n_label_rows([fields for _, fields in body])
    last_line = body[n - 1][0] if n else line
    comments = ("!",) if geo else ()
    return _Head(last_line, fields, body[n:], len(above) - 1, comments, line, body[:n])


def _n_label_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many rows at the top hold words wherever all rows below hold numbers."""
    for n in range(min(3, len(rows) - 2), 0, -1):
        width, found = min(map(len, rows)), 0
        for k in range(1, width):
            if all(_is_value(row[k]) for row in rows[n:]):
                above = [row[k] for row in rows[:n]]
                if not all(re.search(r"[^\W\d_]", cell) and not _is_value(cell) for cell in above):
                    break  # mostly in the first column: tables may have thousands
                found += 1
        else:
            if found > 1:
                return n
    return 0


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
    r"(?!.*\d)(?:.*[\W_])?(?:gene|id|name|symbol|probe|sample|cell|protein|feature|transcript|ref|accession|"
    r"barcode|index|mirna|time|x)s?(?:[\W_].*)?|\W*|Unnamed: 0",
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
    above, *cells = [[number(text.replace(",", ".")) for text in row] for row in (header, *rows)]
    columns = [k for k in range(1, len(header)) if all(row[k] is not None for row in cells)]
    names = [header[k].strip() for k in columns]
    values = [above[k] for k in columns]
    numbers = [x for x in values if x is not None and not math.isnan(x)]
    if numbers and None not in values and len(header) == len(head.header):
        found = np.array(numbers)
        below = np.array([row[k] for row in cells for k in columns], dtype=float)
        marks = (
            numbers != sorted(numbers)
            and numbers != sorted(numbers, key=lambda x: (x % 1.0, x)),  # 1.1, 2.1, 1.2, 2.2
            abs(found).max() <= 10.0 * np.nanmax(abs(below), initial=0.0)
            and (found % 1.0 > 0.0).any() == (np.mean(below % 1.0 > 0.0) > 0.5),
            alike := _shape(header[0]) in map(_shape, (row[0] for row in rows)),
            alike and re.search(r"\d{4}", header[0]) is not None,
            any(len(name.partition(".")[2]) > 2 for name in names),
        )
        repeated = len(set(names)) < len(names) or bool(by_product_rows([header[0]]))
        no_name = not _HEADING.fullmatch(header[0]) and (repeated or sum(marks) > 2)
        if no_name or is_number(header[0]):
            raise InputError.at(
                path,
                f"line {head.header_line}",
                f"numbers only, as in the rows below ({join_first(names)}): the table has no "
                "header",
                f"a header: a first line that names the columns, such as {kinds.row}, "
                f"{kinds.column} 1, {kinds.column} 2",
            )
    notes: list[Message] = []
    for line, fields in head.labels:
        words = join_first(list(dict.fromkeys(fields[k].strip() for k in range(1, len(fields)))))
        if len(set(head.header)) < len(head.header):
            cure = (
                f"columns of one of these kinds, with each {kinds.column} once, and no title above "
                "the header"
            )
            raise InputError.at(path, f"line {line}", f"a second header line ({words})", cure)
        notes.append(message("label_line", line=line, name=fields[0], words=words))
    return notes


def _shape(name: str) -> str:
    letters = re.sub(r"[^\W\d_]+", lambda part: "A" if part[0].isupper() else "a", name.strip())
    return re.sub(r"\d+", "9", letters)  # TP53 is A9


def check_columns(
    path: str | PathLike[str], kinds: Kinds, columns: list[str], line: int, first: int
) -> None:
    """Refuse empty and repeated column names; ``first`` is the number of the first one's field."""
    check_names(
        path,
        kinds.column,
        columns,
        lambda at: f"line {line}, {join_numbers([first + k for k in at], 'field')}",
        kinds.column == kinds.repeated,
    )


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
    elif header[0].count(" ") > 1:
        write = "write.table(x, 'table.tsv', sep='\\t', quote=FALSE, col.names=NA)"
        hint = f" (it holds blanks; in R {write} writes tabs)"
    raise InputError.at(
        path,
        f"line {line}",
        f"no {name}{hint}",
        f"a header of {name}-separated names, without a title above it",
    )


# The fast way through a text table: by Arrow's kernels and all cores, for tables without fault.

_PIECE = 1 << 20
"""Bytes of text that are parsed together, by one thread: they stay in its caches."""

_NOT_BLANK = re.compile(rb"[^\r\n]")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MISSING = pa.array(sorted(MISSING))


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
    fractions = (
        0 if layout.marks != "point" else count(lambda part: np.mod(part, 1.0) > 0.0, values)
    )
    parted = fractions and fractions == count(_may_part_thousands, values)
    if parted and "points" in _find_marks(path, layout):
        return None
    return Rows(names, values, symbols)


def _may_part_thousands(part: np.ndarray) -> np.ndarray:
    """Which values are fractions as points between thousands make them."""
    thousands = 1000.0 * part
    return (
        (np.abs(part) > 1.0) & (part % 1.0 > 0.0) & (np.abs(thousands - np.rint(thousands)) < 1e-6)
    )


def _find_marks(path: str | PathLike[str], layout: Layout) -> Marks:
    """What marks in the numbers of the whole table are."""
    rows = _data_rows(path, layout)
    texts = (row[k] for _, row in rows for k in layout.fields if k < len(row))
    return find_marks(texts, layout.delimiter)


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
            pc.replace_substring_regex(found, '^"([^"]*)"$', r"\1")
            for found in (names, cells, symbols)
        )
        if pc.any(pc.match_substring(names, '"')).as_py():
            return None
    offsets = split.offsets.to_numpy()
    n_cells = layout.width - layout.labels
    if (np.diff(offsets) != n_cells).any():
        return None
    if len(layout.fields) < n_cells:
        begins = n_cells * np.arange(len(lines))
        cells = cells.take(pa.array(np.add.outer(begins - layout.labels, layout.fields).ravel()))
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
_TRUTH_VALUES = {"TRUE": 1.0, "FALSE": 0.0}
_NOT_DETECTED = re.compile(
    r"<\s*(LL?O[DQ]|[\d.,]+)|LL?O[DQ]|N\.?[DQ]\.?|B\.?[DQ]\.?L\.?|BL[DQ]"
    r"|NOT (DETECTED|FOUND)|FILTERED"
)
"""Words of instruments and their programs, in capitals, for what is below their limit."""


def read_careful(path: str | PathLike[str], layout: Layout) -> Rows:
    """The rows, read line by line.

    Reads all that ``read_fast`` reads, to the same values, and what only looks unusual (spaces
    around a field, a leading plus, marks between thousands). Raises InputError with line, column
    and text for ragged rows, non-numbers and infinite values; with lines for empty and repeated row
    names.
    """
    names: list[str] = []
    symbols: list[str] = []
    lines: list[int] = []
    rows: list[list[float]] = []
    marked: list[tuple[str, float]] = []
    not_detected = Counter[str]()
    kinds, marks, has_truth_values = layout.kinds, _find_marks(path, layout), False
    for line, fields in _data_rows(path, layout):
        if len(fields) != layout.width:
            raise InputError.at(path, f"line {line}", f"{len(fields)} fields", f"{layout.width}")
        names.append(fields[layout.name_field].strip())
        if layout.symbol_field is not None:
            symbols.append(fields[layout.symbol_field].strip())
        lines.append(line)
        rows.append([])
        for column, at in zip(layout.columns, layout.fields, strict=True):
            text = fields[at]
            has_marks = is_marked(text) or ("points" in marks and "." in text)
            plain = without_marks(text, marks) if has_marks else text
            value = None if marks == "unclear points" and "." in text else number(plain)
            word = text.strip().upper()
            if value is None and word in _TRUTH_VALUES:
                value, has_truth_values = _TRUTH_VALUES[word], True
            elif value is None and _NOT_DETECTED.fullmatch(word):
                value = math.nan
                not_detected[text.strip()] += 1
            if value is None or math.isinf(value):
                raise InputError.at(
                    path,
                    f"line {line} ({kinds.row} {names[-1]!r}), "
                    f"field {at + 1} ({kinds.column} {column!r})",
                    _found(text, value),
                    "a finite number, or one of NA, NaN, N/A, null, None or nothing if it is "
                    "missing"
                    + " (if samples are in rows, set orientation: samples_in_rows)"
                    * (kinds.row == "gene" and column_key(column) in COVARIATES),
                )
            rows[-1].append(value)
            if plain != text:
                marked.append((text.strip(), value))
    if not rows:
        raise InputError.at(path, "", "a header only", f"{kinds.row}s in rows below it")
    if has_truth_values:
        layout.notes.append(message("truth_values"))
    if not_detected:
        words = join_first([f"{word!r} ({n:,})" for word, n in not_detected.most_common()])
        layout.notes.append(message("not_detected", n=not_detected.total(), words=words))
    if marked and marks == "decimal comma":
        layout.notes.append(message("decimal_commas"))
    elif marked:
        numbers = {"n": len(marked), "example": marked[0][0], "value": marked[0][1]}
        layout.notes.append(message("thousands_separators", **numbers))
    check_names(
        path,
        kinds.row,
        names,
        lambda at: join_numbers([lines[k] for k in at], "line"),
        kinds.row == kinds.repeated,
    )
    return Rows(names, np.array(rows), symbols)


def _data_rows(path: str | PathLike[str], layout: Layout) -> Iterator[Row]:
    with open_rows(path, layout.delimiter) as lines:
        for line, fields in lines:
            comment = bool(layout.comments) and fields[0].startswith(layout.comments)
            blank = len(fields) > 1 and not any(map(str.strip, fields))  # of a spreadsheet
            if line > layout.skip_lines and not comment and not blank:
                yield line, fields


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


def _is_value(text: str) -> bool:
    return number(text) is not None or bool(_NOT_DETECTED.fullmatch(text.strip().upper()))


def _found(text: str, value: float | None) -> str:
    shown = repr(text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "...")
    if value is not None:
        return f"the infinite value {shown}"
    if text.count(",") == 4:
        cure = "keep the third, the median of replicates: t.map(lambda cell: cell.split(',')[2])"
        return f"{shown} (five numbers in a cell, as the Expression Atlas has them: {cure})"
    if is_marked(text) or is_number(text):
        return f"{shown} (a decimal comma or a mark between thousands: write plain numbers)"
    return shown


# The whole table.


def read_text_table(path: str | PathLike[str], kinds: Kinds, scratch: Path | None = None) -> Table:
    """Read a TSV or CSV table, plain or gzip, header with or without a row-name field. A large one
    is mapped from a file in ``scratch``.

    Raises InputError: see ``find_layout`` and ``read_careful``.
    """
    table = read_rows(path, find_layout(path, kinds), scratch)
    # Whole numbers may be names (Entrez identifiers); decimal fractions are values.
    if all((number(name) or 0.0) % 1.0 > 0.0 for name in table.rows):
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
    named = {
        name: symbol
        for name, symbol in zip(names, symbols, strict=bool(symbols))
        if symbol not in MISSING
    }
    return Table(values, names, layout.columns, [*layout.notes, *missing_cells(values)], named)
