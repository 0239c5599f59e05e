"""AnnData files: cells x genes, dense or sparse; X, a layer, or raw. And Cell Ranger's ``.h5``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.declare.messages import messages_of
from pairtile.engine.large_table import empty_table, releasing
from pairtile.errors import InputError
from pairtile.io.annotations import AnnotationTable
from pairtile.io.binary_table import sound
from pairtile.io.cells import (
    MIN_ZEROS,
    Found,
    Matrices,
    as_text,
    cells_note,
    chosen_cells,
    find_matrix,
    other_names,
    sample_of_cells,
)
from pairtile.io.matrix_market import GENE_EXPRESSION, expressed_features, gene_names
from pairtile.io.sparse_rows import SparseRows, Values, as_native_type, put_by_gene
from pairtile.io.table import Table, check_names, missing_cells
from pairtile.io.text_file import check_file, check_unpacked_size
from pairtile.runtime.threads import in_threads

if TYPE_CHECKING:
    import h5py  # type: ignore[import-untyped]

message = messages_of(__package__)

Stored: TypeAlias = "h5py.Group | h5py.Dataset"
"""A sparse matrix or a table of annotations; a dense matrix, or a table before anndata 0.7."""

_BLOCK_BYTES = 1 << 26
"""Of the values that are read together: each block writes long runs of a file of values."""

_ENTRIES = 1 << 22
"""Of a sparse matrix, that are read together."""


@contextmanager
def _open(path: str | PathLike[str], expected: str) -> Iterator[h5py.File]:
    """An HDF5 file that holds all that is read from it: one that names other files is refused."""
    # Imported here: HDF5 takes longer to load than most tables to read.
    import h5py

    check_file(path)

    def fault(name: str, link: object) -> InputError | None:
        stored = file[name] if isinstance(link, h5py.HardLink) else None
        if isinstance(link, h5py.ExternalLink):
            found = f"a link to {link.filename}"
        elif isinstance(stored, h5py.Dataset) and (stored.external or stored.is_virtual):
            found = "values that lie elsewhere"
        else:
            return None
        return InputError.at(path, name, found, "values in this file (copy them into it)")

    with sound(path, "HDF5", expected), h5py.File(path, "r") as file:
        found = file.visititems_links(fault)
        if found is not None:
            raise found
        yield file


def read_h5ad(
    path: str | PathLike[str],
    layer: str | None = "auto",
    scratch: Path | None = None,
    obs: Mapping[str, object] | None = None,
) -> Table:
    """Read X, a layer or raw (``io.cells.find_matrix``), of the cells that ``obs`` asks for, as a
    table with genes in rows (AnnData has them in columns).

    Only the matrix, the names and the columns asked for are read, part by part; a sparse matrix
    stays so, a large dense one is mapped from a file in ``scratch``. Raises InputError for a file
    that is no AnnData or refers to other files, for what it does not hold, and for a matrix that
    holds no numbers.
    """
    refuse = partial(InputError.at, path)
    with _open(path, "an .h5ad file") as file:
        if "obs" not in file or "var" not in file:
            raise InputError.at(
                path, "", f"HDF5 with {', '.join(file) or 'nothing'}", "AnnData with obs and var"
            )
        cells, held = _matrices(path, file)
        found = find_matrix(held, layer, refuse)
        stored = found.matrix
        if not _is_matrix(stored):
            kind = stored.attrs.get("encoding-type") or getattr(stored, "dtype", "a group")
            raise InputError.at(path, found.source, f"type {kind}", "a matrix of numbers")
        check_unpacked_size(path, _bytes(stored))
        n_genes = len(held.genes_of_raw if found.source == "raw" else held.genes)
        shape = _shape(stored)
        if shape != (len(cells), n_genes):
            raise InputError.at(
                path, found.source, f"shape {shape}", f"{len(cells)} cells x {n_genes} genes"
            )
        notes = [message("anndata_values", source=found.source), *found.notes]
        chosen = np.arange(len(cells))
        if obs:
            mask = chosen_cells(partial(_texts, path, file["obs"]), obs, refuse)
            chosen = np.flatnonzero(mask)
            notes.append(cells_note(mask, obs))
        values = _values(stored, found, chosen, scratch)
        frame = file["var"]
        is_group = hasattr(frame, "keys")  # whose index may be called as a column of names is
        columns = [k for k in frame if k != frame.attrs.get("_index")] if is_group else []
        symbols, accessions, said = other_names(
            _index(path, frame), columns, partial(_texts, path, frame)
        )
    cells = [cells[k] for k in chosen]
    notes += [*missing_cells(values), *said]
    return Table(values, found.genes, cells, notes, symbols, accessions)


def read_obs(
    path: str | PathLike[str], columns: Sequence[str], samples: Sequence[str]
) -> AnnotationTable:
    """Some columns of what an AnnData file says of some of its cells (``obs``), as text; "" where
    nothing stands. Coordinates, ``obsm["spatial"]``, are a column of two numbers in each cell. All
    columns that can be read and are not asked for are ``others``.

    Raises InputError for a file that is no AnnData, for a column that is not there, and for a cell
    that is not there once.
    """
    with _open(path, "an .h5ad file") as file:
        frame = file["obs"]
        names = _index(path, frame)
        places = _coordinates(file)
        texts = {
            name: places[name] if name in places else _texts(path, frame, name) for name in columns
        }
        others = {name: cells for name, cells in places.items() if name not in texts}
        for name in _columns_of(frame):
            with suppress(InputError):
                if name not in texts:
                    others[name] = _texts(path, frame, name)
    check_names(path, "sample", names)
    there = set(names)
    if absent := next((name for name in samples if name not in there), ""):
        raise InputError.at(path, "obs", f"no cell {absent!r}", "every cell of the table")
    lines = [f"obs, row {row}" for row in range(1, len(names) + 1)]
    return AnnotationTable(str(path), names, texts, lines, [], others=others).for_samples(samples)


def read_obs_columns(path: str | PathLike[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Some columns of ``obs``, of all cells, as text. Raises InputError as ``read_obs``."""
    with _open(path, "an .h5ad file") as file:
        return {name: _texts(path, file["obs"], name) for name in columns}


# --- tables of annotations, of every version of AnnData -------------------------------------------


def _index(path: str | PathLike[str], frame: Stored) -> list[str]:
    if hasattr(frame, "keys"):
        name = as_text(frame.attrs.get("_index", "_index" if "_index" in frame else "index"))
    else:  # one compound dataset, before anndata 0.7
        name = frame.dtype.names[0]
    return list(map(as_text, _column(path, frame, name)))


def _coordinates(file: h5py.File) -> dict[str, list[str]]:
    """The places of spots, under the name that they have in ``obsm``."""
    stored = file.get("obsm/spatial")
    if getattr(stored, "ndim", 0) != 2 or stored.shape[1] < 2 or stored.dtype.kind not in "iuf":
        return {}
    return {"spatial": [f"{x:.12g} {y:.12g}" for x, y in stored[:, :2]]}


def _columns_of(frame: Stored) -> list[str]:
    if hasattr(frame, "keys"):
        return [k for k in frame if k not in ("__categories", frame.attrs.get("_index"))]
    return list(frame.dtype.names[1:])


def _texts(path: str | PathLike[str], frame: Stored, name: str) -> list[str]:
    names = _columns_of(frame)
    if name not in names:
        expected = f"one of {', '.join(map(repr, names)) or 'none'}"
        raise InputError.at(path, "obs", f"no column {name!r}", expected)
    with sound(path, f"column {name!r} of obs", "one that this anndata can read"):
        return list(map(as_text, _column(path, frame, name)))


def _column(path: str | PathLike[str], frame: Stored, name: str) -> Iterable[object]:
    import pandas as pd
    from anndata.io import read_elem

    if not hasattr(frame, "keys"):
        check_unpacked_size(path, frame.nbytes)
        values = frame.fields(name)[:]
        categories = frame.file.get(f"uns/{name}_categories")
    else:
        stored = frame[name]
        check_unpacked_size(path, _bytes(stored))
        values = read_elem(stored)
        reference = stored.attrs.get("categories")  # anndata 0.7
        categories = None if reference is None else frame.file[reference]
    if categories is None:
        return values
    return pd.Categorical.from_codes(values, pd.Index(np.atleast_1d(categories[()])))


# --- matrices -------------------------------------------------------------------------------------


def _matrices(path: str | PathLike[str], file: h5py.File) -> tuple[list[str], Matrices[Stored]]:
    cells = _index(path, file["obs"])
    x = file.get("X")
    if x is not None and x.attrs.get("encoding-type") == "null":
        x = None
    raw, raw_var = file.get("raw/X", file.get("raw.X")), file.get("raw/var", file.get("raw.var"))
    genes = _index(path, file["var"])
    held = Matrices(
        x,
        dict(file["layers"]) if "layers" in file else {},
        raw if raw_var is not None else None,
        genes,
        [] if raw is None or raw_var is None else _raw_names(path, raw_var, genes),
        partial(_look, path, sample_of_cells(len(cells)), len(cells)),
    )
    return cells, held


def _raw_names(path: str | PathLike[str], frame: Stored, genes: Sequence[str]) -> list[str]:
    """Names of the genes of raw; where it only numbers them, from a column with those of X."""
    names = _index(path, frame)
    if all(map(str.isdecimal, names)) and not set(genes) <= set(names):
        for column in frame if hasattr(frame, "keys") else ():
            with suppress(InputError):  # of a kind that this anndata does not read
                if set(genes) <= set(texts := _texts(path, frame, column)):
                    return texts
    return names


def _is_matrix(stored: Stored) -> bool:
    if hasattr(stored, "keys"):
        parts = {"data", "indices", "indptr"} <= set(stored)
        return (
            parts and _format(stored)[:3] in ("csr", "csc") and stored["data"].dtype.kind in "biuf"
        )
    return stored.dtype.kind in "biuf" and stored.ndim == 2


def _format(stored: Stored) -> str:
    return str(_attribute(stored, "encoding-type", "h5sparse_format", ""))


def _attribute(stored: Stored, name: str, before: str, default: str | None = None) -> Any:
    """An attribute of a sparse matrix, whose name was another before anndata 0.7."""
    return stored.attrs.get(name, stored.attrs.get(before, default))


def _shape(stored: Stored) -> tuple[int, ...]:
    if hasattr(stored, "keys"):
        return tuple(int(n) for n in _attribute(stored, "shape", "h5sparse_shape"))
    return tuple(stored.shape)


def _look(
    path: str | PathLike[str], cells: NDArray[np.int64], n_cells: int, stored: Stored
) -> NDArray[np.float64] | None:
    """Values of some cells, in runs of neighbours; None for what is no matrix of these cells."""
    if not _is_matrix(stored) or _shape(stored)[0] != n_cells:
        return None
    check_unpacked_size(path, _bytes(stored))
    runs = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1)
    if not hasattr(stored, "keys"):
        return np.concatenate([stored[run[0] : run[-1] + 1] for run in runs]).astype(np.float64)
    values = np.zeros((cells.size, _shape(stored)[1]))
    starts, data, indices = stored["indptr"][:].astype(np.int64), stored["data"], stored["indices"]
    if _format(stored).startswith("csr"):
        for row, cell in enumerate(cells):
            entries = slice(starts[cell], starts[cell + 1])
            np.add.at(values[row], indices[entries], data[entries])
        return values
    row_of_cell = np.full(n_cells, -1)
    row_of_cell[cells] = np.arange(cells.size)
    for begin in range(0, data.size, _ENTRIES):
        rows = row_of_cell[indices[begin : begin + _ENTRIES]]
        at = np.flatnonzero(rows >= 0)
        genes = np.searchsorted(starts, begin + at, side="right") - 1
        np.add.at(values, (rows[at], genes), data[begin : begin + _ENTRIES][at])
    return values


def _values(
    stored: Stored, found: Found[Stored], cells: NDArray[np.int64], scratch: Path | None
) -> Values:
    """The genes of ``found`` in some cells, shape (genes, cells)."""
    if not hasattr(stored, "keys"):
        return _turned(stored, found.columns, cells, scratch)
    values = SparseRows(_genes_in_rows(stored, _shape(stored), _format(stored).startswith("csc")))
    if found.columns is not None:
        values = values.take(found.columns)
    return values if cells.size == _shape(stored)[0] else values.take_columns(cells)


def _turned(
    stored: Stored, genes: NDArray[np.int64] | None, cells: NDArray[np.int64], scratch: Path | None
) -> NDArray[np.float64]:
    """A dense matrix (cells, genes) as (genes, cells), some cells at a time."""
    n_cells, n_genes = stored.shape
    values = empty_table((n_genes if genes is None else genes.size, cells.size), scratch)
    step = max(1, _BLOCK_BYTES // (8 * max(1, n_genes)))
    for begin in releasing(range(0, n_cells, step), values):
        first, last = np.searchsorted(cells, [begin, begin + step])
        block = stored[begin : begin + step][cells[first:last] - begin]
        values[:, first:last] = (block if genes is None else block[:, genes]).T
    return values


def _genes_in_rows(stored: Stored, shape: tuple[int, ...], by_gene: bool) -> scipy.sparse.csr_array:
    """A sparse matrix of cells x genes as scipy's ``csr`` of genes x cells. Entries that lie cell
    after cell are put in place some at a time, so that they are in memory once."""
    n_cells, n_genes = shape
    starts, data, indices = stored["indptr"][:].astype(np.int64), stored["data"], stored["indices"]
    n_lines, n_places = (n_genes, n_cells) if by_gene else (n_cells, n_genes)
    sizes = np.diff(starts)
    found = f"{starts.size - 1} lines of {indices.size} places and {data.size} values"
    unfit = starts.size != n_lines + 1 or starts[0] or starts[-1] != data.size
    if unfit or data.shape != indices.shape or (sizes < 0).any():
        raise ValueError(found)
    blocks = [slice(k, k + _ENTRIES) for k in range(0, data.size, _ENTRIES)]
    counted = np.zeros((len(blocks) + 1, n_genes), dtype=np.int64)
    for block, of_genes in zip(blocks, counted[1:], strict=True):
        places = indices[block].astype(np.int64)
        if places.size and not 0 <= places.min() <= places.max() < n_places:
            raise ValueError(f"a place outside 0 to {n_places - 1}")
        if not by_gene:
            of_genes += np.bincount(places, minlength=n_genes)
    kind = np.int32 if max(data.size, n_cells) < 2**31 else np.int64
    if by_gene:
        places = indices[:].astype(kind, copy=False)
        return scipy.sparse.csr_array(
            (as_native_type(data[:]), places, starts.astype(kind)), (n_genes, n_cells)
        )
    before = np.cumsum(counted, axis=0)  # entries of each gene in the blocks before
    ends = np.concatenate([[0], np.cumsum(before[-1])])
    values, cells = np.empty(data.size, as_native_type(data[:0]).dtype), np.empty(data.size, kind)

    def put(number: int) -> None:
        block, free = blocks[number], ends[:-1] + before[number]
        first = np.searchsorted(starts, block.start, side="right") - 1
        genes, part = indices[block].astype(np.int64), as_native_type(data[block])
        put_by_gene(genes, part, starts, block.start, first, free, cells, values)

    list(in_threads(put, range(len(blocks))))
    return scipy.sparse.csr_array((values, cells, ends.astype(kind)), (n_genes, n_cells))


def _bytes(stored: Stored) -> int:
    """What a dataset, or all datasets of a group, take in memory."""
    if hasattr(stored, "nbytes"):
        return int(stored.nbytes)
    return sum(_bytes(part) for part in stored.values())


# --- Cell Ranger's filtered_feature_bc_matrix.h5 ------------------------------------------------


def read_10x_h5(path: str | PathLike[str]) -> Table:
    """Read Cell Ranger's ``.h5`` as a table with genes in rows: version 3 and later (``matrix``) or
    2 (one group, the genome).

    Genes are named as in a 10x folder. Features of other types than gene expression are left out
    and counted. Raises InputError for other content.
    """
    with _open(path, "Cell Ranger's .h5") as file:
        groups = [name for name in file if hasattr(file[name], "keys") and "barcodes" in file[name]]
        if len(groups) != 1:
            found = f"HDF5 with {', '.join(file) or 'nothing'}"
            expected = "Cell Ranger's matrix of one genome (AnnData files end in .h5ad)"
            raise InputError.at(path, "", found, expected)
        group = file[groups[0]]
        check_unpacked_size(path, _bytes(group))
        texts: Callable[[str], list[str]] = lambda name: list(map(as_text, group[name][:]))  # noqa: E731
        barcodes = texts("barcodes")
        if "features" in group:
            identifiers, symbols = texts("features/id"), texts("features/name")
            kinds = texts("features/feature_type")
        else:
            identifiers, symbols = texts("genes"), texts("gene_names")
            kinds = [GENE_EXPRESSION] * len(identifiers)
        shape = (len(barcodes), len(identifiers))
        if tuple(group["shape"][:]) != shape[::-1]:
            raise ValueError(f"shape {tuple(group['shape'][:])} of {shape[1]} x {shape[0]}")
        values = SparseRows(_genes_in_rows(group, shape, by_gene=False))
    return expressed_features(values, identifiers, symbols, kinds, barcodes, "features")


# --- loom ---------------------------------------------------------------------------------------

_LOOM_GENES = ("Gene", "gene_names", "var_names", "Name")
_LOOM_CELLS = ("CellID", "obs_names", "cell_names", "barcode")


def read_loom(path: str | PathLike[str], scratch: Path | None = None) -> Table:
    """Read a ``.loom`` file (genes x cells) as a table with genes in rows: its main matrix.

    Genes are named as in a 10x folder, by ``Gene`` (or ``gene_names``, ``var_names``, ``Name``) and
    ``Accession``; cells by ``CellID`` or the like. A matrix of a fifth of zeros or more is kept
    sparse. Raises InputError for other content.
    """
    with _open(path, "loom") as file:
        if not {"matrix", "row_attrs", "col_attrs"} <= set(file):
            raise InputError.at(
                path,
                "",
                f"HDF5 with {', '.join(file) or 'nothing'}",
                "matrix, row_attrs and col_attrs of a loom file",
            )
        matrix, shape = file["matrix"], tuple(file["matrix"].shape)
        check_unpacked_size(path, _bytes(matrix))

        def texts(group: str, known: tuple[str, ...], length: int) -> list[str]:
            name = next((name for name in known if name in file[group]), None)
            names = [] if name is None else list(map(as_text, file[group][name][:]))
            if name is not None and len(names) != length:
                raise ValueError(f"{group}/{name} of {len(names)} for {length}")
            return names

        symbols = texts("row_attrs", _LOOM_GENES, shape[0])
        identifiers = texts("row_attrs", ("Accession", "gene_ids", "GeneID"), shape[0]) or symbols
        cells = texts("col_attrs", _LOOM_CELLS, shape[1])
        for group, found_names, known in (
            ("row_attrs", identifiers, _LOOM_GENES),
            ("col_attrs", cells, _LOOM_CELLS),
        ):
            if not found_names:
                there = ", ".join(file[group]) or "nothing"
                raise InputError.at(path, group, there, f"one of {', '.join(known)}")
        step = max(1, _ENTRIES // max(1, shape[1]))
        blocks = [slice(begin, begin + step) for begin in range(0, shape[0], step)]
        filled = sum(int(np.count_nonzero(matrix[rows])) for rows in blocks)
        values: Values
        if filled <= (1 - MIN_ZEROS) * matrix.size:
            parts = [scipy.sparse.csr_array(matrix[rows]) for rows in blocks]
            values = SparseRows(scipy.sparse.vstack(parts, format="csr"))
        else:
            values = empty_table(shape, scratch)
            for rows in blocks:
                values[rows] = matrix[rows]
    names, accessions, notes = gene_names(identifiers, symbols or [""] * shape[0], "row_attrs")
    return Table(values, names, cells, notes, accessions=accessions)
