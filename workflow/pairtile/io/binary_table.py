"""Tables in Parquet and AnnData files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from pairtile.errors import InputError
from pairtile.io.annotations import AnnotationTable
from pairtile.io.sparse_rows import SparseRows, Values, stored_values
from pairtile.io.table import Kinds, Table
from pairtile.io.text_file import check_file, check_unpacked_size


def read_parquet(path: str | PathLike[str], kinds: Kinds) -> Table:
    """Read a Parquet table; null and NaN are missing.

    Names come from the pandas index if it holds text, else from the one text column, else from a
    pandas index of whole numbers. Raises InputError for a file that is no Parquet, for no or
    several columns that may hold names, and for other columns that hold no numbers.
    """
    check_file(path)
    try:
        file = pa.parquet.ParquetFile(path, page_checksum_verification=True)
        check_unpacked_size(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        table = file.read()
        table.validate(full=True)
        stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except InputError:
        raise
    except Exception as error:  # a damaged file may make the libraries raise anything
        why = str(error) or type(error).__name__
        raise InputError.at(path, "", f"no sound Parquet ({why})", "a Parquet file") from error
    if not table.num_rows:
        raise InputError.at(path, "", "a table without rows", f"{kinds.row}s in rows")
    name_column, index = _name_column(path, table.schema, stored)
    notes = [f"Names come from the column {table.schema.names[name_column]!r}."]
    rows = [_name(value) for value in table.column(name_column).to_pylist()]
    fields = [k for k in range(table.num_columns) if k != name_column and k not in index]
    turned = np.empty((len(fields), len(rows)))
    for position, k in enumerate(fields):
        turned[position] = _numbers(path, kinds, table.field(k), table.column(k))
    n_missing = int(np.isnan(turned).sum())
    if n_missing:
        notes.append(f"{n_missing} of {turned.size} cells were read as missing.")
    columns = [table.schema.names[k].strip() for k in fields]
    del table
    return Table(np.ascontiguousarray(turned.T), rows, columns, notes)


def _name_column(
    path: str | PathLike[str], schema: pa.Schema, stored: Sequence[object]
) -> tuple[int, set[int]]:
    """Position of the names, and positions of the columns that are a pandas index, ``stored``."""
    # A RangeIndex is stored as a description, not as a column: then the entry is no string.
    index = [schema.names.index(c) for c in stored if isinstance(c, str) and c in schema.names]
    if len(index) > 1:
        names = ", ".join(repr(schema.names[k]) for k in index)
        raise InputError.at(path, "", f"an index of several columns ({names})", "one of names")
    if index and _is_text(schema.field(index[0]).type):
        return index[0], set(index)
    texts = [k for k in range(len(schema)) if _is_text(schema.field(k).type)]
    if len(texts) == 1:
        return texts[0], set(index)
    if len(texts) > 1:
        names = ", ".join(repr(schema.names[k]) for k in texts)
        raise InputError.at(
            path, "", f"{len(texts)} text columns ({names})", "one, with names; all others numbers"
        )
    if index and pa.types.is_integer(schema.field(index[0]).type):
        return index[0], set(index)
    raise InputError.at(path, "", "no text column and no pandas index", "one that holds the names")


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _name(value: object) -> str:
    return "" if value is None else str(value).strip()


def _numbers(
    path: str | PathLike[str], kinds: Kinds, field: pa.Field, column: pa.ChunkedArray
) -> np.ndarray:
    kind = field.type
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise InputError.at(path, f"{kinds.column} {field.name!r}", f"type {kind}", "numbers")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


# AnnData files: cells x genes, dense or sparse, X or a layer.


def read_h5ad(path: str | PathLike[str], layer: str | None = None) -> Table:
    """Read X, or the named layer, as a table with genes in rows (AnnData has them in columns).

    Only the matrix and the names are read; a sparse matrix stays so. Raises InputError for a file
    that is no AnnData, for a layer (or X) that it does not hold, and for a matrix that holds no
    numbers.
    """
    # Imported here: anndata takes longer to load than most tables to read.
    import h5py  # type: ignore[import-untyped]
    from anndata.io import read_elem

    check_file(path)
    try:
        with h5py.File(path, "r") as file:
            if "obs" not in file or "var" not in file:
                found = ", ".join(file) or "nothing"
                raise InputError.at(path, "", f"HDF5 with {found}", "AnnData with obs and var")
            stored = _matrix(path, file, layer)
            check_unpacked_size(path, _bytes(stored) + _bytes(file["obs"]) + _bytes(file["var"]))
            matrix = read_elem(stored)
            if hasattr(matrix, "check_format"):  # scipy crashes on places that are none
                matrix.check_format(full_check=True)
            cells = [str(name).strip() for name in read_elem(file["obs"]).index]
            genes = [str(name).strip() for name in read_elem(file["var"]).index]
    except InputError:
        raise
    except Exception as error:  # a damaged file may make the libraries raise anything
        why = str(error) or type(error).__name__
        raise InputError.at(path, "", f"no sound HDF5 ({why})", "an .h5ad file") from error
    source = "X" if layer is None else f"the layer {layer!r}"
    kind = getattr(matrix, "dtype", np.dtype(object))
    if not isinstance(kind, np.dtype) or kind.kind not in "iuf":
        raise InputError.at(path, source, f"type {kind}", "numbers")
    if matrix.shape != (len(cells), len(genes)):
        raise InputError.at(
            path, source, f"shape {matrix.shape}", f"{len(cells)} cells x {len(genes)} genes"
        )
    values = _genes_by_cells(matrix)
    notes = [f"Values are {source} of the AnnData file (cells are the samples)."]
    n_missing = int(np.isnan(stored_values(values)).sum())
    if n_missing:
        notes.append(f"{n_missing} of {len(genes) * len(cells)} cells were read as missing.")
    return Table(values, genes, cells, notes)


def read_obs(path: str | PathLike[str]) -> AnnotationTable:
    """What an AnnData file says of its cells (``obs``), as text; "" where nothing stands.

    Raises InputError for a file that is no AnnData.
    """
    import h5py
    from anndata.io import read_elem

    check_file(path)
    try:
        with h5py.File(path, "r") as file:
            obs = read_elem(file["obs"])
    except Exception as error:  # a damaged file may make the libraries raise anything
        why = str(error) or type(error).__name__
        raise InputError.at(path, "obs", f"no sound table ({why})", "an .h5ad file") from error
    cells = [str(name).strip() for name in obs.index]
    columns = {
        str(name): ["" if pd.isna(value) else str(value).strip() for value in obs[name]]
        for name in obs.columns
    }
    return AnnotationTable(
        str(path), cells, columns, [f"obs, row {k + 1}" for k in range(len(cells))], []
    )


def _matrix(path: str | PathLike[str], file: Any, layer: str | None) -> Any:
    layers = list(file["layers"]) if "layers" in file else []
    allowed = ", ".join(repr(name) for name in layers) or "none"
    if layer is None:
        if "X" not in file or file["X"].attrs.get("encoding-type") == "null":
            raise InputError.at(path, "", "no X", f"X, or a layer named by `layer` ({allowed})")
        return file["X"]
    if layer not in layers:
        raise InputError.at(path, "", f"no layer {layer!r}", f"one of its layers: {allowed}")
    return file["layers"][layer]


def _bytes(stored: Any) -> int:
    """What a dataset, or all datasets of a group, take in memory."""
    if hasattr(stored, "nbytes"):
        return int(stored.nbytes)
    return sum(_bytes(part) for part in stored.values())


def _genes_by_cells(matrix: Any) -> Values:
    if hasattr(matrix, "tocsr"):  # any of scipy's sparse kinds; their transpose is a view
        return SparseRows(matrix.T)
    return np.ascontiguousarray(np.asarray(matrix).T, dtype=np.float64)
