"""TSV and CSV tables."""

from __future__ import annotations

from os import PathLike

import numpy as np

from pairtile.errors import InputError
from pairtile.io.table import Kinds, Table
from pairtile.io.text_careful import read_careful
from pairtile.io.text_fast import read_fast
from pairtile.io.text_layout import Layout, find_layout


def read_text_table(path: str | PathLike[str], kinds: Kinds) -> Table:
    """Read a TSV or CSV table, plain or gzip, header with or without a row-name field.

    Raises InputError: see ``find_layout`` and ``read_careful``.
    """
    table = read_rows(path, find_layout(path, kinds))
    if all(_is_fraction(name) for name in table.rows):
        raise InputError.at(
            path,
            "first column",
            f"numbers only (the first is {table.rows[0]!r})",
            f"{kinds.row} names",
        )
    return table


def read_rows(path: str | PathLike[str], layout: Layout) -> Table:
    """Read the rows that ``layout`` describes: the fast way, or carefully where that fails."""
    names, values = read_fast(path, layout) or read_careful(path, layout)
    notes = list(layout.notes)
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        notes.append(f"{n_missing} of {values.size} cells were read as missing.")
    return Table(values=values, rows=names, columns=layout.columns, notes=notes)


def _is_fraction(text: str) -> bool:
    # Whole numbers may be names (Entrez identifiers); decimal fractions are values.
    try:
        return not float(text).is_integer()
    except (ValueError, OverflowError):
        return False
