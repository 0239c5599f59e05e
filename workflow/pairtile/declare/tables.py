"""Tables of results, read by the types that their columns were declared with."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd

from pairtile.declare.columns import declared_columns, explained
from pairtile.errors import StoreError

EXACT: Literal["round_trip"] | None = "round_trip" if pd.__version__ < "3.1" else None
"""``float_precision`` for numbers that are read to the last bit: as pandas 3.1 reads by itself."""


def empty_table(package: str, file: str) -> pd.DataFrame:
    """A table of no rows with the columns that ``file`` always has."""
    return pd.DataFrame(
        columns=[n for c in declared_columns(package, file) if not c.when for n in c.names]
    )


def read_result_table(path: Path, package: str, columns: list[int] | None = None) -> pd.DataFrame:
    """A ``.tsv`` that the method of ``package`` wrote, or only the ``columns`` of these numbers:
    text is text, whatever it looks like (a gene may be called NA or 1e5), and only numbers can be
    missing.

    Raises StoreError naming the file when it is missing, unreadable or lacks a column.
    """
    if not path.is_file():
        raise StoreError.at(path, "", "no such file", "the table that the step tables writes")
    try:
        header = pd.read_csv(path, sep="\t", nrows=0, usecols=columns).columns
        known = {column: explained(package, path.name, column) for column in header}
        texts = [column for column, found in known.items() if found and found.type == "string"]
        table = pd.read_csv(
            path,
            sep="\t",
            usecols=columns,
            dtype=dict.fromkeys(texts, str),
            keep_default_na=False,
            float_precision=EXACT,
            na_values={column: [""] for column in header if column not in texts},
        )
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a table") from error
    declared = [some for some in declared_columns(package, path.name) if not some.when]
    there = {some.name_of(column) for some in declared for column in header}
    missing = [name for some in declared for name in some.names if name not in there]
    if missing:
        raise StoreError.at(path, "columns", ", ".join(header), ", ".join(missing))
    return table
