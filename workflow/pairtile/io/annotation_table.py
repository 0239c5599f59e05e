"""The table of sample annotations as text: its cells, in the order of an expression table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from pairtile.errors import InputError
from pairtile.io.checks import check_names, listed
from pairtile.io.text_file import Row, open_rows
from pairtile.io.text_layout import MISSING, check_wide, find_delimiter

EMPTY = MISSING - {"None", "none"}
"""Spellings of an empty cell. "none" is a label here: a treatment is often called so."""

_SHOWN = 5
_LINES = ("line", "lines")


@dataclass(frozen=True)
class AnnotationTable:
    """Columns of text, one cell for each sample asked for, ``""`` where it is empty; ``lines``:
    where in the file each sample stands."""

    path: str
    samples: list[str]
    columns: dict[str, list[str]]
    lines: list[int]
    notes: list[str]


def read_annotation_table(path: str | PathLike[str], samples: Sequence[str]) -> AnnotationTable:
    """Read the rows of ``samples`` from a table with a header: tabs or commas, plain or gzip.

    Sample names stand in the first column, or, where that holds none of them, in the column that
    names the most. The header may lack a field for them (as R writes tables). Lines that start
    with ``#`` before the header are passed over. Rows of other samples are counted in a note.

    Raises
    ------
    InputError
        File missing or damaged; a row with another number of fields than the header; columns
        without a name or of the same name; no annotation beside the sample names; no column that
        names a sample; samples that the table lacks or names twice (which ones, and where).
    """
    header, rows = _read(path)
    key = _key_field(path, header, rows, samples)
    shift = len(rows[0][1]) - len(header)
    columns = {k + shift: name for k, name in enumerate(header) if k + shift != key}
    if not columns:
        raise InputError.at(path, "", "sample names only", "annotations beside them")
    wanted = set(samples)
    of_file = [fields[key] for _, fields in rows]
    check_names(path, "sample", of_file, lambda at: listed([rows[k][0] for k in at], *_LINES))
    position = {name: k for k, name in enumerate(of_file)}
    lacking = [name for name in samples if name not in position]
    if lacking:
        found = f"no row for {len(lacking)} of {len(samples)} samples: {quoted(lacking)}"
        raise InputError.at(path, "", found, "a row for every sample (cells may be empty)")
    notes = []
    if key > 0:
        notes.append(f"Sample names are read from column {header[key - shift]!r}.")
    extra = [name for name in of_file if name not in wanted]
    if extra:
        found = quoted(extra)
        notes.append(f"{len(extra)} annotated samples are not in the expression table: {found}.")
    chosen = [rows[position[name]] for name in samples]
    cells = {
        name: ["" if (text := fields[k]) in EMPTY else text for _, fields in chosen]
        for k, name in columns.items()
    }
    return AnnotationTable(str(path), list(samples), cells, [line for line, _ in chosen], notes)


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
    wanted = set(samples)
    width = len(rows[0][1])
    n_named = [len(wanted.intersection(fields[k] for _, fields in rows)) for k in range(width)]
    if n_named[0]:
        return 0
    if not any(n_named):
        found = f"no sample of the expression table (the first rows are {quoted(_names(rows))})"
        raise InputError.at(path, "", found, f"samples named as there: {quoted(samples)}")
    return n_named.index(max(n_named))


def _names(rows: Sequence[Row]) -> list[str]:
    return [fields[0] for _, fields in rows]
