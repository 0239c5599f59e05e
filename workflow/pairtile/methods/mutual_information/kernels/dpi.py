"""Data processing inequality on the CPU: the twin of ``dpi.cu``.

The network lies as adjacency lists, one row for each gene, strongest neighbour first; genes are
numbered by falling degree. An edge AB, taken from its end A with the smaller number, goes if some C
has stronger edges with both. A's MI with every gene lies spread out in a dense row, so that "is C
adjacent to A, and how strongly" is one look-up, and B's list, the shorter of the two, is walked
only as long as its weights can still outweigh the edge. So most edges are decided in a few steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray


class Adjacency(NamedTuple):
    """Neighbours of every gene: G rows, 2E entries, each row by falling weight.

    offsets int64 (G + 1,): where rows begin; neighbours int32 (2E,); weights real (2E,); edges
    int32 (2E,): number of the edge that an entry belongs to.
    """

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.floating]
    edges: NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def fill_adjacency(a, b, mi, order, cursor, adjacency):  # type: ignore[no-untyped-def]
    """Fill both rows of every edge in the order given, strongest first: a counting sort.

    a, b        int32 (E,): the two genes of each edge
    mi          real (E,)
    order       int64 (E,): edges by descending ``mi``
    cursor      int64 (G,): where each gene's row starts; moved to where it ends
    adjacency   its rows are filled in place
    """
    neighbours, weights, edges = adjacency.neighbours, adjacency.weights, adjacency.edges
    for edge in order:
        first = cursor[a[edge]]
        cursor[a[edge]] = first + 1
        neighbours[first] = b[edge]
        weights[first] = mi[edge]
        edges[first] = edge
        second = cursor[b[edge]]
        cursor[b[edge]] = second + 1
        neighbours[second] = a[edge]
        weights[second] = mi[edge]
        edges[second] = edge


@numba.njit(inline="always")
def outweighs(other, mi, threshold, additive):  # type: ignore[no-untyped-def]
    """Whether an edge of ``mi`` counts as weaker than ``other``; never falls as ``other`` grows."""
    if additive:
        return other - mi > threshold
    return mi < threshold * other


@numba.njit(cache=True, parallel=True, nogil=True)
def data_processing_inequality(  # type: ignore[no-untyped-def]
    adjacency, is_regulator, threshold, additive, rows, removed
):
    """Mark every edge AB that some C, adjacent to both, explains away.

    adjacency     genes by falling degree
    is_regulator  uint8 (G,): all 1 where there is no regulator list
    threshold     real: factor ``1 - tolerance`` (relative rule) or difference (additive rule)
    additive      0 or 1: which rule
    rows          real (workers, G): scratch, one dense row for each worker, all -inf: that stands
                  for "not adjacent" and outweighs nothing
    removed       uint8 (E,): set to 1 for the edges to remove
    """
    offsets, neighbours, weights, edges = adjacency
    n_workers, n_genes = rows.shape
    for worker in numba.prange(n_workers):
        row = rows[worker]
        # Genes come by descending degree, so taking them in turn balances the workers.
        for a in range(worker, n_genes, n_workers):
            for p in range(offsets[a], offsets[a + 1]):
                row[neighbours[p]] = weights[p]
            for p in range(offsets[a], offsets[a + 1]):
                b = neighbours[p]
                if b <= a:
                    continue
                mi = weights[p]
                through_any = is_regulator[a] == 0 and is_regulator[b] == 0
                for q in range(offsets[b], offsets[b + 1]):
                    if not outweighs(weights[q], mi, threshold, additive):
                        break
                    c = neighbours[q]
                    if outweighs(row[c], mi, threshold, additive) and (
                        through_any or is_regulator[c] != 0
                    ):
                        removed[edges[p]] = 1
                        break
            for p in range(offsets[a], offsets[a + 1]):
                row[neighbours[p]] = -np.inf
