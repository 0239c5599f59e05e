"""Sample annotations: what is known of each sample, as conditions that can be tested."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from pairtile.config.problems import suggestion
from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.names import match_samples, r_name
from pairtile.io.table import check_names, listed
from pairtile.io.text_file import EMPTY, Row, find_delimiter, open_rows
from pairtile.io.text_table import check_wide

message = messages_of(__package__)

_DECIMAL_COMMA = re.compile(r"^([-+]?\d+),(\d+)$")
_SHOWN = 5
_LINES = ("line", "lines")


@dataclass(frozen=True)
class AnnotationTable:
    """Columns of text, one cell for each sample asked for, ``""`` where it is empty; ``places``:
    where in the file each sample stands, for messages; ``unannotated``: samples without a row,
    whose cells are empty."""

    path: str
    samples: list[str]
    columns: dict[str, list[str]]
    places: list[str]
    notes: list[Message]
    unannotated: list[str] = field(default_factory=list)

    def of(self, samples: Sequence[str]) -> AnnotationTable:
        """The rows of some of the samples, in their order."""
        place = {name: k for k, name in enumerate(self.samples)}
        rows = [place[name] for name in samples]
        columns = {name: [cells[k] for k in rows] for name, cells in self.columns.items()}
        places = [self.places[k] for k in rows]
        return replace(self, samples=list(samples), columns=columns, places=places)


def read_annotation_table(
    path: str | PathLike[str], samples: Sequence[str], unannotated: str = "error"
) -> AnnotationTable:
    """Read the rows of ``samples`` from a table with a header: tabs or commas, plain or gzip.

    Sample names stand in the first column, or, where that holds none of them, in the column that
    names the most. The header may lack a field for them (as R writes tables). Lines that start
    with ``#`` before the header are passed over. Rows of other samples are counted in a note.
    Names may be those that R makes of the others (``io.names.match_samples``). With ``unannotated``
    "leave_out" samples may lack a row.

    Raises
    ------
    InputError
        File missing or damaged; a row with another number of fields than the header; columns
        without a name or of the same name; no annotation beside the sample names; no column that
        names a sample; samples that the table lacks (unless they may) or names twice (which ones,
        and where); as ``match_samples``.
    """
    header, rows = _read(path)
    key = _key_field(path, header, rows, samples)
    shift = len(rows[0][1]) - len(header)
    columns = {k + shift: name for k, name in enumerate(header) if k + shift != key}
    if not columns:
        raise InputError.at(path, "", "sample names only", "annotations beside them")
    of_file = [fields[key] for _, fields in rows]
    check_names(path, "sample", of_file, lambda at: listed([rows[k][0] for k in at], *_LINES))
    position = {name: k for k, name in enumerate(of_file)}
    matched, notes = match_samples(samples, of_file, path)
    lacking = [name for name in samples if name not in matched]
    if lacking and unannotated == "error":
        found = f"no row for {len(lacking)} of {len(samples)} samples: {quoted(lacking)}"
        cure = "a row for every sample (cells may be empty), or samples: {unannotated: leave_out}"
        raise InputError.at(path, "", found, cure)
    if key > 0:
        notes.append(message("sample_names_from", column=header[key - shift]))
    extra = [name for name in of_file if name not in set(matched.values())]
    if extra:
        notes.append(message("samples_of_no_column", n=len(extra), names=quoted(extra)))
    no_row: Row = (0, [""] * len(rows[0][1]))
    chosen = [rows[position[matched[name]]] if name in matched else no_row for name in samples]
    cells = {
        name: ["" if (text := fields[k]) in EMPTY else text for _, fields in chosen]
        for k, name in columns.items()
    }
    return AnnotationTable(
        str(path), list(samples), cells, [f"line {line}" for line, _ in chosen], notes, lacking
    )


def quoted(names: Sequence[str]) -> str:
    """The first few names, in quotes."""
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


def _read(path: str | PathLike[str]) -> tuple[list[str], list[Row]]:
    delimiter = find_delimiter(path)
    header: list[str] = []
    rows: list[Row] = []
    with open_rows(path, delimiter) as lines:
        for line, raw in lines:
            fields = [text.strip() for text in raw]
            if not any(fields) or (not header and fields[0].startswith("#")):
                continue
            if not header:
                header, header_line = fields, line
                continue
            width = len(rows[0][1]) if rows else len(header)
            fits = len(fields) == width or (not rows and len(fields) == len(header) + 1)
            if not fits:
                found = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
                raise InputError.at(path, f"line {line}", found, f"{width}, as above")
            if delimiter == ";":  # which goes with decimal commas
                fields = [_DECIMAL_COMMA.sub(r"\1.\2", text) for text in fields]
            rows.append((line, fields))
    if not rows:
        found = "a header only" if header else "no line of text"
        raise InputError.at(path, "", found, "a header and samples in rows below it")
    if len(rows[0][1]) == 1:
        check_wide(path, header_line, header, delimiter)
    check_names(path, "column", header[len(rows[0][1]) == len(header) and not header[0] :])
    return header, rows


def _key_field(
    path: str | PathLike[str], header: Sequence[str], rows: Sequence[Row], samples: Sequence[str]
) -> int:
    """Which field names the samples: the first, unless another names them and the first none."""
    width = len(rows[0][1])
    for spelling in (str, r_name):
        wanted = set(map(spelling, samples))
        n_named = [
            len(wanted.intersection(spelling(fields[k]) for _, fields in rows))
            for k in range(width)
        ]
        if any(n_named):
            break
    if n_named[0]:
        return 0
    if not any(n_named):
        first = [fields[0] for _, fields in rows]
        found = f"no sample of the expression table (the first rows are {quoted(first)})"
        raise InputError.at(path, "", found, f"samples named as there: {quoted(samples)}")
    return n_named.index(max(n_named))


# Sample annotations: what is known of each sample, as conditions that can be tested.

KIND_LIMIT = 5
"""A column of numbers with at most so many different ones is taken for labels."""

KINDS = ("categorical", "ordinal", "quantitative")


@dataclass(frozen=True)
class ConditionEntry:
    """What is asked of one column: its kind (``auto`` or one of ``KINDS``) and, for an ordinal
    one, its labels from lowest to highest."""

    name: str
    kind: str = "auto"
    levels: Sequence[str] | None = None


@dataclass(frozen=True)
class Condition:
    """One column for the samples of a table, in their order.

    name, kind : kind is one of ``KINDS``.
    labels : the labels, ascending (ordinal: lowest first; quantitative: none).
    codes : int32 (samples,), position in ``labels``; -1 where the cell is empty. Quantitative: -1.
    numbers : float64 (samples,), the value (ordinal: 1 for the lowest label, 2 for the next, ...);
        NaN where the cell is empty. Categorical: NaN.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which samples have a value."""
        return ~np.isnan(self.numbers) if self.kind == "quantitative" else self.codes >= 0

    @property
    def tested_labels(self) -> tuple[str, ...]:
        """The labels that are tested one by one; ``""`` alone for a trend."""
        return self.labels if self.kind == "categorical" else ("",)


@dataclass(frozen=True)
class Annotations:
    """Conditions of the samples, and plain sentences on what reading decided."""

    conditions: list[Condition]
    notes: list[Message] = field(default_factory=list)


def read_annotations(
    path: str | PathLike[str],
    samples: Sequence[str],
    entries: Sequence[ConditionEntry] = (),
    unannotated: str = "error",
    of_group: bool = False,
) -> Annotations:
    """Read a table of samples in rows and annotations in columns, for the ``samples`` given.

    See ``read_annotation_table`` for the file. Without ``entries`` every column is a condition that
    can be one: columns with one value only, and columns of text that differ in every sample, are
    left out with a note. ``auto``: quantitative where all cells are numbers and more than
    ``KIND_LIMIT`` differ, else categorical. An ordinal column without levels holds numbers, of
    which only the order counts. A column of which some cells are no numbers, and more than
    ``KIND_LIMIT`` are, is named. ``of_group``: the samples are one group of a table that is split,
    where a condition may have one value only; it is left out, asked for or not.

    Raises
    ------
    InputError
        File missing or damaged; no column of sample names; samples twice or not in the file (which
        ones); a condition that is no column; a cell that is no number or not among the levels;
        a condition that is asked for and has one value only.
    """
    table = read_annotation_table(path, samples, unannotated)
    return annotations_of_table(table, entries, of_group)


def annotations_of_table(
    table: AnnotationTable, entries: Sequence[ConditionEntry] = (), of_group: bool = False
) -> Annotations:
    """The conditions of a table that was read, or that is in memory; see ``read_annotations``."""
    notes = list(table.notes)
    asked = list(entries) or [ConditionEntry(name) for name in table.columns]
    conditions = []
    for entry in asked:
        if entry.name not in table.columns:
            expected = f"one of {quoted(list(table.columns))}"
            expected += suggestion(entry.name, list(table.columns))
            raise InputError.at(table.path, "header", f"no column {entry.name!r}", expected)
        cells = table.columns[entry.name]
        reason = _untestable(cells)
        if reason and not entries:
            notes.append(message("no_condition", column=entry.name, reason=reason))
            continue
        if reason == _ONE_VALUE:
            if of_group:
                notes.append(message("one_value_in_group", column=entry.name))
                continue
            raise InputError.at(table.path, f"column {entry.name!r}", reason, "two values or more")
        condition = _condition(table, entry)
        if entry.kind == "auto" and (stray := stray_cells(cells)):
            notes.append(message("nearly_numbers", column=entry.name, cells=quoted(stray)))
        n_empty = int((~condition.known).sum())
        if n_empty:
            samples = len(table.samples)
            notes.append(message("condition_empty", column=entry.name, n=n_empty, samples=samples))
        conditions.append(condition)
    return Annotations(conditions, notes)


_ONE_VALUE = "fewer than two different values"


def _untestable(cells: Sequence[str]) -> str:
    filled = [cell for cell in cells if cell]
    if len(set(filled)) < 2:
        return _ONE_VALUE
    if len(set(filled)) == len(filled) and any(_number(cell) is None for cell in filled):
        return "every sample has a label of its own"
    return ""


def _condition(table: AnnotationTable, entry: ConditionEntry) -> Condition:
    cells = table.columns[entry.name]
    kind = _kind(cells) if entry.kind == "auto" else entry.kind
    numbers = np.full(len(cells), np.nan)
    if kind == "categorical":
        labels = sorted({cell for cell in cells if cell}, key=_label_order)
        return Condition(entry.name, kind, tuple(labels), _codes(cells, labels), numbers)
    if kind == "ordinal" and entry.levels is not None:
        levels = list(entry.levels)
        _check(table, entry.name, {c: c in levels for c in cells}, f"one of {quoted(levels)}")
        codes = _codes(cells, levels)
        ranks = np.where(codes >= 0, codes + 1.0, np.nan)
        return Condition(entry.name, kind, tuple(levels), codes, ranks)
    expected = "a number" if kind == "quantitative" else "a number, or levels in the configuration"
    _check(table, entry.name, {c: _number(c) is not None for c in cells}, expected)
    known = {cell: number for cell in cells if (number := _number(cell)) is not None}
    numbers = np.array([known.get(cell, math.nan) for cell in cells])
    if kind == "quantitative":
        return Condition(entry.name, kind, (), np.full(len(cells), -1, np.int32), numbers)
    values = sorted(set(known.values()))
    names = {value: cell for cell, value in known.items()}
    codes = np.array([values.index(known[c]) if c in known else -1 for c in cells], dtype=np.int32)
    ranks = np.where(codes >= 0, codes + 1.0, np.nan)
    return Condition(entry.name, kind, tuple(names[value] for value in values), codes, ranks)


def _kind(cells: Sequence[str]) -> str:
    numbers = [_number(cell) for cell in cells if cell]
    if None in numbers or len(set(numbers)) <= KIND_LIMIT:
        return "categorical"
    return "quantitative"


def stray_cells(cells: Sequence[str]) -> list[str]:
    """What keeps a column from being one of numbers: its other cells, each once, where they are
    fewer than its numbers, of which more than ``KIND_LIMIT`` differ."""
    numbers = [number for cell in cells if (number := _number(cell)) is not None]
    others = [cell for cell in cells if cell and _number(cell) is None]
    few = len(others) < len(numbers) and len(set(numbers)) > KIND_LIMIT
    return list(dict.fromkeys(others)) if few else []


def _codes(cells: Sequence[str], labels: Sequence[str]) -> NDArray[np.int32]:
    position = {label: k for k, label in enumerate(labels)}
    return np.array([position.get(cell, -1) for cell in cells], dtype=np.int32)


def _check(table: AnnotationTable, name: str, fits: Mapping[str, bool], expected: str) -> None:
    for cell, sample, where in zip(table.columns[name], table.samples, table.places, strict=True):
        if cell and not fits[cell]:
            place = f"{where}, column {name!r}, sample {sample!r}"
            raise InputError.at(table.path, place, repr(cell), expected)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def _label_order(label: str) -> tuple[int, float, str]:
    number = _number(label)
    return (1, 0.0, label) if number is None else (0, number, label)
