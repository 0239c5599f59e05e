"""Matrices of all pairs: a NumPy archive, and g_correlation's text."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.columns import declared_columns
from pairtile.runtime.files import atomic_path

Matrix: TypeAlias = NDArray[np.floating]


@dataclass(frozen=True)
class StreamedPairs:
    """A pairs table that is read a part at a time: names of its columns, and a function that gives
    some of them, part after part."""

    columns: Sequence[str]
    read: Callable[[Sequence[str]], Iterator[pa.Table]]


Pairs: TypeAlias = pd.DataFrame | StreamedPairs

MATRICES = ("mi_nats", "correlation", "null_mean", "p_value", "dcc")
"""Matrices that are in every archive; all NaN where the analysis does not estimate it. Others are
there if the pairs table has such a column."""

_VALUES_A_LINE = 21


def correlation_matrix(pairs: Pairs, items: pd.DataFrame, column: str) -> Matrix:
    """A column of the pairs table as a symmetric matrix.

    Parameters
    ----------
    pairs : DataFrame or StreamedPairs
        Columns ``i``, ``j`` (item numbers, i < j) and ``column``, in any order of rows.
    items : DataFrame
        The items table (described in ``time_series``).

    Returns
    -------
    Matrix
        float64 (kept items, kept items), in the order of items; NaN on the diagonal and where
        there is no such pair or column. float32 from 5,000 items on.
    """
    kept = items["kept"].to_numpy()
    n, row = int(kept.sum()), np.where(kept, np.cumsum(kept) - 1, -1)
    # Matrices of 5,000 variables and more are kept in single precision.
    result = np.full((n, n), np.nan, dtype=np.float32 if n >= 5_000 else np.float64)
    if column in pairs.columns:
        for i, j, values in _parts(pairs, column):
            if (row[i] < 0).any() or (row[j] < 0).any():
                raise ValueError("the pairs table has an item that is not kept")
            result[row[i], row[j]] = result[row[j], row[i]] = values
    return result


COORDINATE_SUMS = {"mi_block_sum": "iajb->ij", "mi_axis_sum": "iaja->ij"}
"""Over all nine pairs of coordinates, as the first GPU programs added them up, and over x with x, y
with y, z with z: what to sum over, for ``np.einsum``."""


def coordinate_sum(pairs: Pairs, items: pd.DataFrame, name: str) -> Matrix:
    """Sum ``name`` of ``COORDINATE_SUMS`` of the mutual information of x, y, z of each two
    positions, which items hold in this order: (positions, positions), NaN on the diagonal."""
    matrix = correlation_matrix(pairs, items, "mi_nats")
    blocks = matrix.reshape(len(matrix) // 3, 3, -1, 3)
    result = np.array(np.einsum(COORDINATE_SUMS[name], blocks))
    np.fill_diagonal(result, np.nan)
    return result


def residue_sums(pairs: Pairs, items: pd.DataFrame, column: str) -> Matrix:
    """Sums of a column of the pairs table over all pairs of variables of each two residues.

    Of dihedrals, the sum of their mutual information is how McClendon et al. (2009, J. Chem. Theory
    Comput. 5:2486) bring the angles of two residues together.

    Returns
    -------
    Matrix
        float64 (residues, residues), in the order in which kept items first name them; NaN on the
        diagonal, and where one of the pairs has no value.
    """
    group, residues = pd.factorize(items["residue"].where(items["kept"]))
    result = np.zeros((len(residues), len(residues)))
    for i, j, values in _parts(pairs, column):
        np.add.at(result, (group[i], group[j]), values)
    result = result + result.T
    np.fill_diagonal(result, np.nan)
    return result


def write_matrices(
    path: Path,
    pairs: Pairs,
    items: pd.DataFrame,
    names: Sequence[str] | None = None,
    also: Mapping[str, Callable[[], NDArray[np.generic]]] | None = None,
) -> None:
    """Write ``matrices.npz``, whole or not at all.

    Arrays are those of ``matrices.npz`` in ``columns.toml``.

    Matrices are as ``correlation_matrix`` gives them. Memory holds one of them at a time.
    ``names``: columns to take in place of these. ``also``: further matrices, made when their turn
    comes.
    """
    if names is None:
        declared = columns_of("matrices.npz")
        names = [name for name in declared if name in MATRICES or name in pairs.columns]
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name in names:
            matrix = correlation_matrix(pairs, items, name)
            # Numbers that are not known shrink to nothing; others would not, and take time.
            _add(archive, name, matrix, small=bool(np.isnan(matrix).all()))
            del matrix
        for name, make in (also or {}).items():
            made = make()
            _add(archive, name, made, small=made.dtype.kind != "f")
            del made
        kept = items[items["kept"]].rename(columns={"name": "labels"})
        for name in columns_of("matrices.npz"):
            if name in kept:  # what says of each row of the matrices where it lies
                number = pd.api.types.is_numeric_dtype(kept[name].dtype)
                values = kept[name].to_numpy(dtype=np.int32 if number else np.str_)
                _add(archive, name, values, small=True)


def write_g_correlation_text(path: Path, matrix: Matrix) -> None:
    """Write a matrix of correlations as g_correlation does, whole or not at all.

    A line ``n x n [``, then all numbers row after row, 21 a line without regard to rows, each ten
    characters wide with six significant digits, then ``]``. The diagonal is 1. A pair without a
    value is 0: programs that read the format (correlationplus) know no missing values. ``matrix``
    is changed to that.
    """
    n = len(matrix)
    np.nan_to_num(matrix, copy=False)
    np.fill_diagonal(matrix, 1.0)
    values, form = matrix.ravel(), "%10.6g " * _VALUES_A_LINE + "\n"
    whole = values.size - values.size % _VALUES_A_LINE
    with atomic_path(path) as temporary, temporary.open("w", encoding="ascii") as handle:
        handle.write(f"{n} x {n} [\n")
        for first in range(0, whole, _VALUES_A_LINE):
            handle.write(form % tuple(values[first : first + _VALUES_A_LINE].tolist()))
        handle.write("".join(f"{value:10.6g} " for value in values[whole:].tolist()) + "]\n")


def columns_of(file: str) -> list[str]:
    """The columns that ``columns.toml`` declares for a table that may be empty."""
    return [name for columns in declared_columns(__package__, file) for name in columns.names]


def _add(archive: zipfile.ZipFile, name: str, values: NDArray[np.generic], small: bool) -> None:
    entry = zipfile.ZipInfo(f"{name}.npy")  # without the time: same content, same file
    entry.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
    with archive.open(entry, "w", force_zip64=True) as handle:
        np.lib.format.write_array(handle, values, allow_pickle=False)


def _parts(
    pairs: Pairs, column: str
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.floating]]]:
    """``i``, ``j`` and the column, a part of the table at a time."""
    names = ("i", "j", column)
    for part in pairs.read(names) if isinstance(pairs, StreamedPairs) else [pairs]:
        i, j, values = (np.asarray(part[name]) for name in names)
        yield i, j, values
