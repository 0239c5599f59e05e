"""The careful way through a text table: line by line, so that a fault's place can be named."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from os import PathLike

import numpy as np

from pairtile.errors import InputError
from pairtile.io.checks import check_names, listed
from pairtile.io.text_file import open_rows
from pairtile.io.text_layout import MISSING, Layout

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

    check_names(path, layout.kinds.row, names, place)
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
