"""Tables of levels: expression that is low, high, or one of up to four steps, already."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.io.expression import Expression, read_expression
from pairtile.io.text_file import open_rows
from pairtile.io.text_table import find_delimiter

MISSING_LEVEL = -1
MAX_LEVELS = 4
_TEXT_SUFFIXES = (".tsv", ".tab", ".csv", ".txt")


@dataclass(frozen=True)
class Levels:
    """Levels with the names of genes and samples.

    ``values``: int8, shape (genes, samples), C order, 0 to ``n_levels`` - 1, -1 where missing.
    ``source``: the path as it was given. ``notes``: plain sentences on what reading decided.
    """

    values: NDArray[np.int8]
    n_levels: int
    genes: list[str]
    samples: list[str]
    source: str = ""
    notes: list[str] = field(default_factory=list)


def read_levels(
    path: str | PathLike[str],
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    n_levels: int | None = None,
) -> Levels:
    """Read a table of levels, in the formats of ``read_expression``.

    ``n_levels``: how many levels there are (2 to 4); None: as many as the table holds, which is its
    highest level and one more, at least 2.

    Raises:
        InputError: as ``read_expression``; and for a value that is no whole number from 0 to
            ``n_levels`` - 1, with its line where the file is text, its gene and its sample.
        ConfigError: as ``read_expression``.
    """
    return levels_of(read_expression(path, orientation, layer), orientation, n_levels)


def levels_of(
    table: Expression, orientation: str = "genes_in_rows", n_levels: int | None = None
) -> Levels:
    """Take a table of numbers for levels; ``n_levels`` and what is raised as ``read_levels``.

    ``orientation``: of the file that the table was read from, for the line that a message names.
    """
    most = MAX_LEVELS if n_levels is None else n_levels
    values = table.values
    missing = np.isnan(values)
    with np.errstate(invalid="ignore"):
        wrong = ~missing & ((values < 0) | (values >= most) | (values != np.rint(values)))
    if wrong.any():
        row, column = divmod(int(wrong.argmax()), values.shape[1])
        raise _wrong_level(table, orientation, row, column, most, n_levels)
    levels = np.where(missing, MISSING_LEVEL, values).astype(np.int8)
    if n_levels is None:
        n_levels = max(int(levels.max(initial=MISSING_LEVEL)) + 1, 2)
    return Levels(levels, n_levels, table.genes, table.samples, table.source, table.notes)


def _wrong_level(
    table: Expression, orientation: str, row: int, column: int, most: int, asked: int | None
) -> InputError:
    gene, sample = table.genes[row], table.samples[column]
    line = _line_of(table.source, gene if orientation == "genes_in_rows" else sample)
    value = table.values[row, column]
    hint = " (expression values go under the key expression)" if value != np.rint(value) else ""
    if asked is not None and value >= most and not hint:
        hint = f" (quantize.levels is {asked})"
    return InputError.at(
        table.source,
        f"{line}gene {gene!r}, sample {sample!r}",
        f"{value:g}",
        f"a level, a whole number from 0 to {most - 1}, or NA or nothing if it is missing{hint}",
    )


def _line_of(source: str, name: str) -> str:
    """``line N, `` of the row with this name, for text tables; else nothing."""
    suffixes = [s.lower() for s in Path(source).suffixes if s.lower() != ".gz"]
    if not suffixes or suffixes[-1] not in _TEXT_SUFFIXES:
        return ""
    with open_rows(source, find_delimiter(source)) as rows:
        next(rows, None)
        return next((f"line {n}, " for n, fields in rows if fields[0].strip() == name), "")
