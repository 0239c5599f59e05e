"""AnnData files: cells x genes, dense or sparse, X or a layer."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from pairtile.errors import InputError
from pairtile.io.table import Table
from pairtile.io.text_file import check_file
from pairtile.io.unpacked import check_unpacked_size


def read_h5ad(path: str | PathLike[str], layer: str | None = None) -> Table:
    """Read X, or the named layer, as a table with genes in rows (AnnData has them in columns).

    Only the matrix and the names are read. Raises InputError for a file that is no AnnData, for
    a layer (or X) that it does not hold, and for a matrix that holds no numbers.
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
    values = _dense_genes_by_cells(matrix)
    notes = [f"Values are {source} of the AnnData file (cells are the samples)."]
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        notes.append(f"{n_missing} of {values.size} cells were read as missing.")
    return Table(values, genes, cells, notes)


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


def _dense_genes_by_cells(matrix: Any) -> np.ndarray:
    if hasattr(matrix, "toarray"):  # any of scipy's sparse kinds; their transpose is a view
        return np.asarray(matrix.T.astype(np.float64).toarray(order="C"))
    return np.ascontiguousarray(np.asarray(matrix).T, dtype=np.float64)
