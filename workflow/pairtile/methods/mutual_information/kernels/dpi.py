"""Data processing inequality on the CPU: the twin of ``dpi.cu``.

The network lies as adjacency lists, one row for each gene, strongest neighbour first; genes are
numbered by falling degree. In place of its weight an edge has its rank among all, strongest first:
those that outweigh an edge are the first so many ranks, so that a comparison of weights is one of
ranks. An edge AB, taken from its end A with the smaller number, goes if some C has stronger edges
with both. A's ranks with every gene lie spread out in a dense row, so that "is C adjacent to A, and
how strongly" is one look-up, and B's list, the shorter of the two, is walked only as long as its
edges can still outweigh AB. So most edges are decided in a few steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded

ABSENT = np.int32(2**31 - 1)
"""Rank of an edge that is not there: it outweighs nothing."""


class Adjacency(NamedTuple):
    """Neighbours of every gene: G rows, 2E entries, each row by rising rank.

    offsets int64 (G + 1,): where rows begin; neighbours int32 (2E,); ranks int32 (2E,): place of
    each entry's edge among all, by falling weight.
    """

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    ranks: NDArray[np.int32]


@njit(nogil=True)
def fill_adjacency(i, j, number, order, cursor, adjacency):  # type: ignore[no-untyped-def]
    """Fill both rows of every edge in the order given, strongest first: a counting sort.

    i, j        int32: the two genes of each edge
    number      int32 (G,): new number of each gene
    order       int32 (E,): edges by falling weight
    cursor      int64 (G,): where each gene's row starts; moved to where it ends
    adjacency   its rows are filled in place
    """
    for rank in range(order.size):
        a, b = number[i[order[rank]]], number[j[order[rank]]]
        first = cursor[a]
        cursor[a] = first + 1
        adjacency.neighbours[first] = b
        adjacency.ranks[first] = rank
        second = cursor[b]
        cursor[b] = second + 1
        adjacency.neighbours[second] = a
        adjacency.ranks[second] = rank


@numba.njit(inline="always")
def outweighs(other, mi, threshold, additive):  # type: ignore[no-untyped-def]
    """Whether an edge of ``mi`` counts as weaker than ``other``; never falls as ``other`` grows or
    ``mi`` falls."""
    if additive:
        return other - mi > threshold
    return mi < threshold * other


@njit(nogil=True)
def count_stronger(weights, threshold, additive):  # type: ignore[no-untyped-def]
    """How many edges outweigh each, int32 (E,); weights: real (E,), falling."""
    stronger = np.empty(weights.size, dtype=np.int32)
    count = 0
    for rank in range(weights.size):
        while count < weights.size and outweighs(
            weights[count], weights[rank], threshold, additive
        ):
            count += 1
        stronger[rank] = count
    return stronger


@threaded(over="rows", entries=1 << 6)
def data_processing_inequality(  # type: ignore[no-untyped-def]
    first, last, adjacency, is_regulator, stronger, rows, removed
):
    """Mark every edge AB that some C, adjacent to both, explains away.

    adjacency     genes by falling degree
    is_regulator  uint8 (G,): all 1 where there is no regulator list
    stronger      int32 (E,): how many edges outweigh each, by rank
    rows          int32 (workers, G): scratch, one dense row for each worker, all ``ABSENT``
    removed       uint8 (E,): set to 1 for the ranks of the edges to remove
    """
    offsets, neighbours, ranks = adjacency
    n_workers, n_genes = rows.shape
    for worker in range(first, last):
        row = rows[worker]
        # Genes come by descending degree, so taking them in turn balances the workers.
        for a in range(worker, n_genes, n_workers):
            for p in range(offsets[a], offsets[a + 1]):
                row[neighbours[p]] = ranks[p]
            for p in range(offsets[a], offsets[a + 1]):
                b = neighbours[p]
                if b <= a:
                    continue
                limit = stronger[ranks[p]]
                through_any = is_regulator[a] == 0 and is_regulator[b] == 0
                for q in range(offsets[b], offsets[b + 1]):
                    if ranks[q] >= limit:
                        break
                    c = neighbours[q]
                    if row[c] < limit and (through_any or is_regulator[c] != 0):
                        removed[ranks[p]] = 1
                        break
            for p in range(offsets[a], offsets[a + 1]):
                row[neighbours[p]] = ABSENT
