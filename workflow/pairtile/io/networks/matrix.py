"""A network as sparse matrices over the kept genes."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from pairtile.io.networks.table import NetworkTable


def sparse_matrices(network: NetworkTable) -> dict[str, scipy.sparse.csr_array]:
    """One CSR array (genes, genes) for each numeric column, all with the same stored cells.

    Rows are sources, columns targets; an undirected network is stored symmetrically. Absent cells
    are pairs without an edge; stored ones may be 0 or NaN. Where a pair has several rows, the
    strongest is taken. The network's value (``mi_bits``) comes first.
    """
    n_genes = len(network.genes)
    row, column, edge = network.source, network.target, np.arange(len(network.edges))
    if not network.directed:
        row, column = np.concatenate([row, column]), np.concatenate([column, row])
        edge = np.concatenate([edge, edge])
    strength = np.empty(len(network.edges), dtype=np.int64)
    strength[network.strongest()] = np.arange(len(network.edges))
    order = np.lexsort((strength[edge], column, row))
    row, column, edge = row[order], column[order], edge[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    row, column, edge = row[new], column[new], edge[new]
    starts = np.searchsorted(row, np.arange(n_genes + 1)).astype(np.int32)
    ends = column.astype(np.int32)
    numeric = [c for c in network.columns if network.edges[c].dtype.kind in "iuf"]
    numeric.sort(key=lambda c: c != network.value_column)
    return {
        name: scipy.sparse.csr_array(
            (network.edges[name].to_numpy()[edge], ends.copy(), starts.copy()),
            shape=(n_genes, n_genes),
        )
        for name in numeric
    }
