"""Sparse values whose rows are read in blocks, as those of an array are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.engine.large_table import releasing, row_blocks, take_columns
from pairtile.runtime.threads import in_threads


@njit(nogil=True)
def put_by_gene(genes, data, starts, begin, cell, free, cells, values):  # type: ignore[no-untyped-def]
    """Put entries that lie cell after cell behind those that each gene has already.

    genes, data   gene and value of the entries from number ``begin`` on
    starts        int (cells + 1,): number of each cell's first entry
    cell          that of the first of these entries
    free          int64 (genes,): where each gene's next entry goes; moved on
    cells, values entries by gene, filled in place
    """
    for k in range(genes.size):
        while starts[cell + 1] <= begin + k:
            cell += 1
        place = free[genes[k]]
        cells[place] = cell
        values[place] = data[k]
        free[genes[k]] = place + 1


def as_native_type(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Values in a type that scipy and numba take: not of 16 bits, not in another byte order."""
    if values.dtype == np.bool_:
        return values.astype(np.int8)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def plain_matrix(matrix: Any) -> Any:
    """A sparse matrix with ``as_native_type`` values; others as they are."""
    if (
        not hasattr(matrix, "tocsr")
        or matrix.dtype == as_native_type(np.empty(0, matrix.dtype)).dtype
    ):
        return matrix
    matrix = copy(matrix)  # scipy's own would be refused
    matrix.data = as_native_type(matrix.data)
    return matrix


def in_memory(matrix: Any) -> Any:
    """A matrix of an AnnData that was opened with ``backed="r"``, read; others as they are."""
    if hasattr(matrix, "to_memory"):
        return matrix.to_memory()
    return matrix if hasattr(matrix, "T") else np.asarray(matrix)


class SparseRows:
    """A sparse table (genes, samples) that gives dense blocks of genes and is never dense itself.

    ``values[rows]``, rows being a slice or row numbers, is a new float64 array in C order, as of an
    array in memory; so whoever goes by blocks of rows reads either in the same way. ``shape`` is
    that of the table, ``matrix`` the table as scipy's csr.

    matrix : any of scipy's sparse kinds, shape (genes, samples). Entries that are there twice are
    added up.
    """

    def __init__(self, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix) -> None:
        rows = plain_matrix(matrix).tocsr()
        if not rows.has_canonical_format:
            rows = rows.astype(np.float64)
            rows.sum_duplicates()
        self.matrix: scipy.sparse.csr_array = rows
        self.shape: tuple[int, int] = rows.shape

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(self.matrix[rows].astype(np.float64).toarray(order="C"))

    def take(self, rows: NDArray[np.int64]) -> SparseRows:
        """The table of these genes."""
        return SparseRows(self.matrix[rows])

    def take_columns(self, columns: NDArray[np.int64]) -> SparseRows:
        """The table of these samples."""
        return SparseRows(self.matrix[:, columns])

    def replaced(self, at: NDArray[np.int64], rows: Sequence[NDArray[np.float64]]) -> SparseRows:
        """The table with other values, one array (samples,) each, for the genes ``at``."""
        parts = [self.matrix, *(scipy.sparse.csr_array(row[None]) for row in rows)]
        order = np.arange(self.shape[0])
        order[at] = self.shape[0] + np.arange(len(rows))
        return SparseRows(scipy.sparse.vstack(parts, format="csr")[order])


Values = np.ndarray | SparseRows
"""Values (genes, samples) that are read by blocks of genes: an array, or a sparse table."""

Entries = tuple[NDArray[np.number], NDArray[np.integer], NDArray[np.integer]]


def entries_of(values: Values, rows: slice) -> Entries:
    """The values of some genes, float64 (of a sparse table those that it stores), their samples,
    and the number of each gene's first one."""
    if isinstance(values, SparseRows):
        found = values.matrix
        starts = found.indptr[rows.start : rows.stop + 1]
        own = slice(starts[0], starts[-1])
        return found.data[own].astype(np.float64), found.indices[own], starts - starts[0]
    block = np.asarray(values[rows], dtype=np.float64)
    n_genes, n_samples = block.shape
    samples = np.tile(np.arange(n_samples), n_genes)
    return block.ravel(), samples, np.arange(n_genes + 1) * n_samples


def entry_blocks(values: Values) -> Iterator[tuple[slice, Entries]]:
    """Genes and their ``entries_of``, gene after gene: of an array about a million at a time, of a
    sparse table all at once, as they are stored, since these need no copy."""
    if isinstance(values, SparseRows):
        found = values.matrix
        yield slice(0, len(found.indptr) - 1), (found.data, found.indices, found.indptr)
        return
    blocks = row_blocks(values.shape)
    entries = releasing(in_threads(partial(entries_of, values), blocks), values)
    yield from zip(blocks, entries, strict=True)


def stored_values(values: Values) -> NDArray[np.generic]:
    """The values that are held: all, or of a sparse table those that it stores."""
    return np.asarray(values.matrix.data) if isinstance(values, SparseRows) else values


def columns_of(values: Values, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Dense values of some samples, shape (genes, columns)."""
    if isinstance(values, SparseRows):
        return values.take_columns(columns)[:]
    return take_columns(values, columns, None)
