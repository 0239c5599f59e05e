"""Sample annotations: what is known of each sample, as conditions that can be tested."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import dropwhile
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.config.conditions import ConditionConfig
from pairtile.config.problems import suggestion
from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.in_memory import in_memory
from pairtile.io.names import join_first, match_samples
from pairtile.io.number_marks import plain_cells
from pairtile.io.table import check_names, join_numbers
from pairtile.io.text_file import Row, find_delimiter, open_rows
from pairtile.io.text_table import check_wide

message = messages_of(__package__)


@dataclass(frozen=True)
class AnnotationTable:
    """Columns of text, one cell for each sample asked for, ``""`` where it is empty; ``places``:
    where in the file each sample stands, for messages; ``unannotated``: samples without a row,
    whose cells are empty; ``others``: columns that nobody asked for, to see what samples share."""

    path: str
    samples: list[str]
    columns: dict[str, list[str]]
    places: list[str]
    notes: list[Message]
    unannotated: list[str] = field(default_factory=list)
    others: dict[str, list[str]] = field(default_factory=dict)

    def column(self, name: str) -> list[str]:
        """The cells of one column. Raises InputError where there is none of this name."""
        if name not in self.columns:
            known = list(self.columns)
            raise InputError.at(
                self.path,
                "header",
                f"no column {name!r}",
                f"one of {quoted(known)}{suggestion(name, known)}",
            )
        return self.columns[name]

    def for_samples(self, samples: Sequence[str]) -> AnnotationTable:
        """The rows of some of the samples, in their order."""
        place = {name: k for k, name in enumerate(self.samples)}
        rows = [place[name] for name in samples]
        columns, others = (
            {name: [cells[k] for k in rows] for name, cells in table.items()}
            for table in (self.columns, self.others)
        )
        return replace(
            self,
            samples=list(samples),
            columns=columns,
            places=[self.places[k] for k in rows],
            others=others,
        )


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
    held: AnnotationTable | None = in_memory(path)
    if held is not None:
        return held.for_samples(samples)
    header, rows = _read(path)
    key = _key_field(path, rows, samples)
    shift = len(rows[0][1]) - len(header)
    columns = {k + shift: name for k, name in enumerate(header) if k + shift != key}
    if not columns:
        raise InputError.at(path, "", "sample names only", "annotations beside them")
    of_file = [fields[key] for _, fields in rows]
    check_names(path, "sample", of_file, lambda at: join_numbers([rows[k][0] for k in at], "line"))
    position = {name: k for k, name in enumerate(of_file)}
    matched, notes = match_samples(samples, of_file, path)
    lacking = [name for name in samples if name not in matched]
    if lacking and unannotated == "error":
        raise InputError.at(
            path,
            "",
            f"no row for {len(lacking)} of {len(samples)} samples: {quoted(lacking)}",
            "a row for every sample (cells may be empty), or samples: {unannotated: leave_out}",
        )
    if key > 0:
        notes.append(message("sample_names_from", column=header[key - shift]))
    used = set(matched.values())
    extra = [name for name in of_file if name not in used]
    if extra:
        notes.append(message("samples_of_no_column", n=len(extra), names=quoted(extra)))
    delimiter = find_delimiter(path)
    chosen = [position.get(matched.get(name, ""), len(rows)) for name in samples]
    cells = {}
    for k, name in columns.items():
        texts = [*plain_cells([fields[k] for _, fields in rows], delimiter), ""]
        cells[name] = [texts[row] for row in chosen]
    lines = [*(line for line, _ in rows), 0]
    return AnnotationTable(
        str(path), list(samples), cells, [f"line {lines[row]}" for row in chosen], notes, lacking
    )


def quoted(names: Sequence[str]) -> str:
    """The first few names, in quotes."""
    return join_first(list(map(repr, names)))


def _read(path: str | PathLike[str]) -> tuple[list[str], list[Row]]:
    delimiter = find_delimiter(path)
    with open_rows(path, delimiter) as lines:
        rows = [(line, [text.strip() for text in raw]) for line, raw in lines]
    filled = (row for row in rows if any(row[1]))
    rows = list(dropwhile(lambda row: row[1][0].startswith("#"), filled))
    if len(rows) < 2:
        raise InputError.at(
            path,
            "",
            "a header only" if rows else "no line of text",
            "a header and samples in rows below it",
        )
    (header_line, header), *rows = rows
    width = max(len(header), min(len(rows[0][1]), len(header) + 1))
    for line, fields in rows:
        if len(fields) != width:
            raise InputError.at(
                path,
                f"line {line}",
                f"{len(fields)} field{'s' if len(fields) > 1 else ''}",
                f"{width}, as above",
            )
    if len(rows[0][1]) == 1:
        check_wide(path, header_line, header, delimiter)
    check_names(path, "column", header[len(rows[0][1]) == len(header) and not header[0] :])
    return header, rows


def _key_field(path: str | PathLike[str], rows: Sequence[Row], samples: Sequence[str]) -> int:
    """Which field names the samples: the first, unless another names them and the first none."""
    fields = [[row[k] for _, row in rows] for k in range(len(rows[0][1]))]
    if match_samples(samples, fields[0], path)[0]:
        return 0
    n_named = [len(match_samples(samples, names, path)[0]) for names in fields]
    if not any(n_named):
        raise InputError.at(
            path,
            "",
            f"no sample of the expression table (the first rows are {quoted(fields[0])})",
            f"samples named as there: {quoted(samples)}",
        )
    return n_named.index(max(n_named))


# Columns as numbers.

_MEASURE = re.compile(
    r"(?:([^\W\d_]+)[ _.:=]*)?([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?) ?([^\W\d_]*|%|°C)"
)
"""A word, a number, a word: ``day 3``, ``ZT12``, ``2h``."""

_DATE = re.compile(r"(\d{4})([-/])(\d\d?)\2(\d\d?)|(\d\d?)\.(\d\d?)\.(\d{4})")


class Numbers(NamedTuple):
    """A column as numbers: ``values``, NaN where a cell is empty or no number; the ``unit`` of all
    of them; cells that are none of these (``stray``, each once); ``code``: the cell that stands for
    a missing value, as -99 among numbers that are never below 0, if there is one."""

    values: NDArray[np.float64]
    unit: str
    stray: list[str]
    code: list[str]


def read_numbers(cells: Sequence[str], words: bool = False) -> Numbers:
    """Numbers, numbers with the unit that most have (``7.2 ug``), or dates, as days. With ``words``
    one may also stand before each number (``day 3``)."""
    filled = list(dict.fromkeys(filter(None, cells)))
    read = {text: parts for text in filled if (parts := _measured(text, words))}
    usual = Counter(read[text][0] for text in cells if text in read).most_common(1)
    found = {text: number for text, (unit, number) in read.items() if unit == usual[0][0]}
    below = [text for text, number in found.items() if number < 0.0]
    alone = len(below) == 1 < len(found)
    code = below if alone and found[below[0]] in (-9.0, -99.0, -999.0, -9999.0) else []
    stray = [text for text in filled if text not in found]
    return Numbers(
        np.array([found.get(cell, np.nan) for cell in cells]),
        usual[0][0] if usual else "",
        stray,
        code,
    )


def _measured(text: str, words: bool) -> tuple[str, float] | None:
    """What stands beside a number, and the number."""
    if date := _DATE.fullmatch(text):
        year, month, day = (date[1], date[3], date[4]) if date[1] else (date[7], date[6], date[5])
        with suppress(ValueError):
            return "days", float(datetime(int(year), int(month), int(day)).toordinal())
    part = _MEASURE.fullmatch(text)
    # A sign after a word may be a dash.
    if part is None or (part[1] and (not words or part[2][0] in "+-")):
        return None
    return (part[1] or "").lower() + part[3].lower(), float(part[2])


# Sample annotations: what is known of each sample, as conditions that can be tested.

KIND_LIMIT = 5
"""A column of numbers with at most so many different ones is taken for labels."""

KINDS = ("categorical", "ordinal", "quantitative")


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
    entries: Sequence[ConditionConfig] = (),
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
    return annotations_of_table(
        read_annotation_table(path, samples, unannotated), entries, of_group
    )


def annotations_of_table(
    table: AnnotationTable, entries: Sequence[ConditionConfig] = (), of_group: bool = False
) -> Annotations:
    """The conditions of a table that was read, or that is in memory; see ``read_annotations``."""
    notes = list(table.notes)
    # Columns of a table may have any name.
    asked = list(entries) or [ConditionConfig.model_construct(name=name) for name in table.columns]
    conditions = []
    for entry in asked:
        cells = table.column(entry.name)
        numbers = read_numbers(cells)
        reason = _untestable(cells, numbers)
        if reason and not entries:
            notes.append(message("no_condition", column=entry.name, reason=reason))
            continue
        if reason == _ONE_VALUE:
            if of_group:
                notes.append(message("one_value_in_group", column=entry.name))
                continue
            raise InputError.at(table.path, f"column {entry.name!r}", reason, "two values or more")
        condition = _condition(table, entry, numbers)
        if entry.kind == "auto" and (stray := stray_cells(cells)):
            notes.append(message("nearly_numbers", column=entry.name, cells=quoted(stray)))
        n_empty = int((~condition.known).sum())
        if n_empty:
            notes.append(
                message("condition_empty", column=entry.name, n=n_empty, samples=len(table.samples))
            )
        conditions.append(condition)
    return Annotations(conditions, notes)


_ONE_VALUE = "fewer than two different values"


def _untestable(cells: Sequence[str], numbers: Numbers) -> str:
    filled = [cell for cell in cells if cell]
    if len(set(filled)) < 2:
        return _ONE_VALUE
    if len(set(filled)) == len(filled) and numbers.stray:
        return "every sample has a label of its own"
    if _kind(numbers) == "quantitative" and numbers.code:
        return f"{numbers.code[0]}, beside numbers that are never below 0, may be no number"
    return ""


def _condition(table: AnnotationTable, entry: ConditionConfig, numbers: Numbers) -> Condition:
    cells = table.columns[entry.name]
    value_of = dict(zip(cells, numbers.values.tolist(), strict=True))
    kind = _kind(numbers) if entry.kind == "auto" else entry.kind
    if kind == "categorical":
        labels = sorted(
            {c for c in cells if c},
            key=lambda c: (math.isnan(value_of[c]), np.nan_to_num(value_of[c]), c),
        )
        return Condition(
            entry.name, kind, tuple(labels), _codes(cells, labels), np.full(len(cells), np.nan)
        )
    if kind == "ordinal" and entry.levels is not None:
        labels = list(entry.levels)
        refuse_cells(table, entry.name, set(cells) - {*labels, ""}, f"one of {quoted(labels)}")
    else:
        refuse_cells(
            table,
            entry.name,
            numbers.stray,
            "a number" if kind == "quantitative" else "a number, or levels in the configuration",
        )
        refuse_cells(
            table,
            entry.name,
            numbers.code,
            "an empty cell where nothing is known (all other numbers of the column are 0 or more)",
        )
        if kind == "quantitative":
            codes = np.full(len(cells), -1, np.int32)
            return Condition(entry.name, kind, (), codes, numbers.values)
        # A number that is written in several ways is one label.
        names = {value: cell for cell, value in value_of.items() if cell}
        labels = [names[value] for value in sorted(names)]
        cells = [names.get(value_of[cell], "") for cell in cells]
    codes = _codes(cells, labels)
    return Condition(
        entry.name, kind, tuple(labels), codes, np.where(codes >= 0, codes + 1.0, np.nan)
    )


def _kind(numbers: Numbers) -> str:
    n_values = len(np.unique(numbers.values[~np.isnan(numbers.values)]))
    return "categorical" if numbers.stray or n_values <= KIND_LIMIT else "quantitative"


def stray_cells(cells: Sequence[str]) -> list[str]:
    """What keeps a column from being one of numbers: its other cells, each once, where they are
    fewer than its numbers, of which more than ``KIND_LIMIT`` differ."""
    numbers = read_numbers(cells)
    known = numbers.values[~np.isnan(numbers.values)]
    n_others = len([cell for cell in cells if cell]) - known.size
    return numbers.stray if n_others < known.size and len(np.unique(known)) > KIND_LIMIT else []


def _codes(cells: Sequence[str], labels: Sequence[str]) -> NDArray[np.int32]:
    position = {label: k for k, label in enumerate(labels)}
    return np.array([position.get(cell, -1) for cell in cells], dtype=np.int32)


def refuse_cells(
    table: AnnotationTable, column: str, refused: Collection[str], expected: str
) -> None:
    """Refuse a column that holds one of these cells, at the first."""
    for cell, sample, where in zip(table.columns[column], table.samples, table.places, strict=True):
        if cell in refused:
            raise InputError.at(
                table.path,
                f"{where}, column {column!r}, sample {sample!r}",
                repr(cell) if cell else "an empty cell",
                expected,
            )
