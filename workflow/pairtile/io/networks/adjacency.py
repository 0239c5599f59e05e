"""Adjacency matrix: a NumPy archive that scipy opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pairtile.io.networks.matrix import sparse_matrices
from pairtile.io.networks.table import NetworkTable


def write_adjacency(network: NetworkTable, path: Path) -> None:
    """Write the matrix of all kept genes so that ``scipy.sparse.load_npz`` reads it.

    The matrix is a CSR array (genes, genes) of the network's value (``mi_bits``), rows sources,
    columns targets, symmetric if undirected. ``numpy.load`` on the same file gives the rest:

    | array | content |
    |---|---|
    | genes | names of rows and columns, Unicode, shape (genes,) |
    | is_regulator | bool, shape (genes,) |
    | value | name of the column that the matrix holds |
    | directed | bool |
    | data_COLUMN | the network's other numbers, in the order of the matrix' stored cells |

    So ``csr_array((f["data_clr"], f["indices"], f["indptr"]), f["shape"])`` is the matrix of
    ``clr``. Where a pair has several rows, all matrices hold the numbers of the strongest.
    """
    value, *others = sparse_matrices(network).items()
    matrix = value[1]
    arrays: dict[str, np.ndarray] = {
        # The fields of scipy.sparse.save_npz, which cannot add arrays of its caller's.
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape, dtype=np.int64),
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "_is_array": np.array(True),
        "genes": np.array(network.names, dtype=np.str_),
        "is_regulator": network.is_regulator,
        "value": np.array(value[0]),
        "directed": np.array(network.directed),
    }
    arrays.update({f"data_{name}": other.data for name, other in others})
    with path.open("wb") as output:
        np.savez_compressed(output, allow_pickle=False, **arrays)
