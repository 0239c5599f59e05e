"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from pairtile.declare.messages import messages_of
from pairtile.engine.large_table import empty_table, releasing
from pairtile.errors import InputError
from pairtile.io.table import (
    FIRST_CELLS,
    FIRST_ROWS,
    ChosenColumns,
    Kinds,
    Table,
    choose_columns,
    missing_cells,
)
from pairtile.io.text_file import check_file, check_unpacked_size

message = messages_of(__package__)

_BLOCK_BYTES = 1 << 26
"""Of the values that are read together: each block writes long runs of a file of values."""


def read_parquet(path: str | PathLike[str], kinds: Kinds, scratch: Path | None = None) -> Table:
    """Read a Parquet table; null and NaN are missing. A large one is mapped from a file in
    ``scratch``.

    Names come from the pandas index if it holds text, else from the one text column, else from a
    pandas index of whole numbers. Raises InputError for a file that is no Parquet, for no or
    several columns that may hold names, and for other columns that hold no numbers.
    """
    check_file(path)
    with sound(path, "Parquet", "a Parquet file"):
        file = pa.parquet.ParquetFile(path, page_checksum_verification=True)
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        check_unpacked_size(path, 8 * n_rows * file.metadata.num_columns)
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
    if not n_rows:
        raise InputError.at(path, "", "a table without rows", f"{kinds.row}s in rows")
    name_column, chosen = _select_columns(path, file, stored, kinds)
    notes = [message("names_from_column", column=schema.names[name_column]), *chosen.notes]
    fields = chosen.values
    for field in map(schema.field, fields):
        kind = field.type
        if not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_null(kind)
        ):
            found = "text" if _is_text(kind) else f"type {kind}"
            raise InputError.at(path, f"{kinds.column} {field.name!r}", found, "numbers")
    # As they are needed, so that they need not be turned over.
    genes_in_columns = kinds.column == "gene"
    shape = (len(fields), n_rows) if genes_in_columns else (n_rows, len(fields))
    values = empty_table(shape, scratch)
    turned = values if genes_in_columns else values.T
    step = max(1, _BLOCK_BYTES // (8 * n_rows))
    with sound(path, "Parquet", "a Parquet file"):
        rows = _names(file, name_column)
        symbols = [] if chosen.symbols is None else _names(file, chosen.symbols)
        for begin in releasing(range(0, len(fields), step), values):
            columns = _columns(file, fields[begin : begin + step])
            block = np.stack([c.cast(pa.float64(), safe=False).to_numpy() for c in columns])
            turned[begin : begin + step] = block
    columns = [schema.names[k].strip() for k in fields]
    of_rows = {row: symbol for row, symbol in zip(rows, symbols, strict=False) if symbol}
    return Table(turned.T, rows, columns, [*notes, *missing_cells(values)], of_rows)


def _columns(file: pa.parquet.ParquetFile, positions: Sequence[int]) -> list[pa.ChunkedArray]:
    table = file.reader.read_all(column_indices=list(positions))
    table.validate(full=True)
    return list(table.columns)


def _names(file: pa.parquet.ParquetFile, position: int) -> list[str]:
    values = _columns(file, [position])[0].to_pylist()
    return ["" if value is None else str(value).strip() for value in values]


@contextmanager
def sound(path: str | PathLike[str], form: str, expected: str) -> Iterator[None]:
    """Refuse a file that its library cannot read."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a damaged file may make the libraries raise anything
        why = str(error) or type(error).__name__
        raise InputError.at(path, "", f"no sound {form} ({why})", expected) from error


def _select_columns(
    path: str | PathLike[str], file: pa.parquet.ParquetFile, stored: Sequence[object], kinds: Kinds
) -> tuple[int, ChosenColumns]:
    """Position of the names, and the other columns; ``stored``: those of a pandas index."""
    schema = file.schema_arrow
    # A RangeIndex is stored as a description, not as a column: then the entry is no string.
    index = [schema.names.index(c) for c in stored if isinstance(c, str) and c in schema.names]
    if len(index) > 1:
        names = ", ".join(repr(schema.names[k]) for k in index)
        raise InputError.at(path, "", f"an index of several columns ({names})", "one of names")
    n_rows = max(3, min(FIRST_ROWS, FIRST_CELLS // len(schema)))
    with sound(path, "Parquet", "a Parquet file"):
        head = next(file.iter_batches(n_rows)).to_pandas(ignore_metadata=True)
    named_by_index = bool(index) and _is_text(schema.field(index[0]).type)
    if named_by_index:
        head.index = pd.Index(head.iloc[:, index[0]], dtype=object)
    rest = [k for k in range(len(schema)) if k not in index]
    found = choose_columns(head.iloc[:, rest], kinds, path, f"pd.read_parquet({str(path)!r})")
    if found.names is None and not index:
        raise InputError.at(
            path, "", "no text column and no pandas index", "one that holds the names"
        )
    names_at = index[0] if found.names is None else rest[found.names]
    symbols = None if found.symbols is None else rest[found.symbols]
    return names_at, found._replace(values=[rest[k] for k in found.values], symbols=symbols)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
