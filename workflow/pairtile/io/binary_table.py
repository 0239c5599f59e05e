"""Tables in Parquet and AnnData files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from pairtile.engine.large_table import count, empty_table
from pairtile.engine.state import release
from pairtile.errors import InputError
from pairtile.io.annotations import AnnotationTable
from pairtile.io.sparse_rows import SparseRows, Values, put_by_gene, stored_values
from pairtile.io.table import Kinds, Table
from pairtile.io.text_file import check_file, check_unpacked_size

_BLOCK_BYTES = 1 << 26
"""Of the values that are read together: each block writes long runs of a file of values."""

_ENTRIES = 1 << 23
"""Of a sparse matrix, that are read together."""


def read_parquet(path: str | PathLike[str], kinds: Kinds, scratch: Path | None = None) -> Table:
    """Read a Parquet table; null and NaN are missing. A large one is mapped from a file in
    ``scratch``.

    Names come from the pandas index if it holds text, else from the one text column, else from a
    pandas index of whole numbers. Raises InputError for a file that is no Parquet, for no or
    several columns that may hold names, and for other columns that hold no numbers.
    """
    check_file(path)
    with _sound(path, "Parquet", "a Parquet file"):
        file = pa.parquet.ParquetFile(path, page_checksum_verification=True)
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        check_unpacked_size(path, 8 * n_rows * file.metadata.num_columns)
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
    if not n_rows:
        raise InputError.at(path, "", "a table without rows", f"{kinds.row}s in rows")
    name_column, index = _name_column(path, schema, stored)
    notes = [f"Names come from the column {schema.names[name_column]!r}."]
    fields = [k for k in range(len(schema)) if k != name_column and k not in index]
    for k in fields:
        _check_numbers(path, kinds, schema.field(k))
    # As they are needed, so that they need not be turned over.
    genes_in_columns = kinds.column == "gene"
    shape = (len(fields), n_rows) if genes_in_columns else (n_rows, len(fields))
    values = empty_table(shape, scratch)
    turned = values if genes_in_columns else values.T
    step = max(1, _BLOCK_BYTES // (8 * n_rows))
    with _sound(path, "Parquet", "a Parquet file"):
        rows = _columns(file, [name_column])[0].to_pylist()
        for begin in range(0, len(fields), step):
            columns = _columns(file, fields[begin : begin + step])
            block = np.stack([c.cast(pa.float64(), safe=False).to_numpy() for c in columns])
            turned[begin : begin + step] = block
            release(values)
    n_missing = count(np.isnan, values)
    if n_missing:
        notes.append(f"{n_missing} of {values.size} cells were read as missing.")
    columns = [schema.names[k].strip() for k in fields]
    return Table(turned.T, [_name(value) for value in rows], columns, notes)


def _columns(file: pa.parquet.ParquetFile, positions: Sequence[int]) -> list[pa.ChunkedArray]:
    """Some columns of a table, checked."""
    table = file.reader.read_all(column_indices=list(positions))
    table.validate(full=True)
    return list(table.columns)


@contextmanager
def _sound(path: str | PathLike[str], form: str, expected: str) -> Iterator[None]:
    """Refuse a file that its library cannot read."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a damaged file may make the libraries raise anything
        why = str(error) or type(error).__name__
        raise InputError.at(path, "", f"no sound {form} ({why})", expected) from error


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


def _check_numbers(path: str | PathLike[str], kinds: Kinds, field: pa.Field) -> None:
    kind = field.type
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise InputError.at(path, f"{kinds.column} {field.name!r}", f"type {kind}", "numbers")


# AnnData files: cells x genes, dense or sparse, X or a layer.


def read_h5ad(
    path: str | PathLike[str], layer: str | None = None, scratch: Path | None = None
) -> Table:
    """Read X, or the named layer, as a table with genes in rows (AnnData has them in columns).

    Only the matrix and the names are read, part by part; a sparse matrix stays so, a large dense
    one is mapped from a file in ``scratch``. Raises InputError for a file that is no AnnData, for a
    layer (or X) that it does not hold, and for a matrix that holds no numbers.
    """
    # Imported here: anndata takes longer to load than most tables to read.
    import h5py  # type: ignore[import-untyped]
    from anndata.io import read_elem

    check_file(path)
    source = "X" if layer is None else f"the layer {layer!r}"
    with _sound(path, "HDF5", "an .h5ad file"), h5py.File(path, "r") as file:
        if "obs" not in file or "var" not in file:
            found = ", ".join(file) or "nothing"
            raise InputError.at(path, "", f"HDF5 with {found}", "AnnData with obs and var")
        stored = _matrix(path, file, layer)
        check_unpacked_size(path, _bytes(stored) + _bytes(file["obs"]) + _bytes(file["var"]))
        cells = [str(name).strip() for name in read_elem(file["obs"]).index]
        genes = [str(name).strip() for name in read_elem(file["var"]).index]
        is_sparse = isinstance(stored, h5py.Group)
        kind = (stored["data"] if is_sparse else stored).dtype
        if kind.kind not in "iuf":
            raise InputError.at(path, source, f"type {kind}", "numbers")
        shape = _sparse_shape(stored) if is_sparse else stored.shape
        if shape != (len(cells), len(genes)):
            raise InputError.at(
                path, source, f"shape {shape}", f"{len(cells)} cells x {len(genes)} genes"
            )
        values: Values
        if is_sparse:
            values = SparseRows(_genes_in_rows(stored, shape))
        else:
            values = _turned(stored, scratch)
    notes = [f"Values are {source} of the AnnData file (cells are the samples)."]
    n_missing = count(np.isnan, stored_values(values))
    if n_missing:
        notes.append(f"{n_missing} of {len(genes) * len(cells)} cells were read as missing.")
    return Table(values, genes, cells, notes)


def _turned(stored: Any, scratch: Path | None) -> NDArray[np.float64]:
    """A dense matrix (cells, genes) as (genes, cells), some cells at a time."""
    n_cells, n_genes = stored.shape
    values = empty_table((n_genes, n_cells), scratch)
    step = max(1, _BLOCK_BYTES // (8 * max(1, n_genes)))
    for begin in range(0, n_cells, step):
        values[:, begin : begin + step] = stored[begin : begin + step].T
        release(values)
    return values


def _attribute(stored: Any, name: str, before: str) -> Any:
    """An attribute of a sparse matrix, whose name was another before anndata 0.7."""
    return stored.attrs[name if name in stored.attrs else before]


def _sparse_shape(stored: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in _attribute(stored, "shape", "h5sparse_shape"))


def _genes_in_rows(stored: Any, shape: tuple[int, ...]) -> Any:
    """A sparse matrix of cells x genes as scipy's ``csr`` of genes x cells. Entries that lie cell
    after cell are put in place some at a time, so that they are in memory once."""
    from scipy import sparse

    n_cells, n_genes = shape
    by_gene = str(_attribute(stored, "encoding-type", "h5sparse_format")).startswith("csc")
    starts, data, indices = stored["indptr"][:], stored["data"], stored["indices"]
    n_lines, n_places = (n_genes, n_cells) if by_gene else (n_cells, n_genes)
    sizes = np.diff(starts)
    found = f"{starts.size - 1} lines of {indices.size} places and {data.size} values"
    if starts.size != n_lines + 1 or starts[0] or starts[-1] != data.size:
        raise ValueError(found)
    if data.shape != indices.shape or (sizes < 0).any():
        raise ValueError(found)
    blocks = [slice(k, k + _ENTRIES) for k in range(0, data.size, _ENTRIES)]
    of_gene = np.zeros(n_genes, dtype=np.int64)
    for block in blocks:
        places = indices[block]
        if places.size and not 0 <= places.min() <= places.max() < n_places:
            raise ValueError(f"a place outside 0 to {n_places - 1}")
        if not by_gene:
            of_gene += np.bincount(places, minlength=n_genes)
    if by_gene:
        return sparse.csr_array((data[:], indices[:], starts), (n_genes, n_cells))
    ends = np.concatenate([[0], np.cumsum(of_gene)])
    kind = np.int32 if max(data.size, n_cells) < 2**31 else np.int64
    values, cells = np.empty(data.size, data.dtype), np.empty(data.size, kind)
    free = ends[:-1].copy()
    for block in blocks:
        first = np.searchsorted(starts, block.start, side="right") - 1
        put_by_gene(indices[block], data[block], starts, block.start, first, free, cells, values)
    return sparse.csr_array((values, cells, ends.astype(kind)), (n_genes, n_cells))


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
