"""The network of residues that move together: contacts, communities, betweenness."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LEAST_LENGTH = 1e-9  # of a correlation of 1, whose -ln is 0: igraph tells lengths by 1e-10
_LEIDEN_RUNS = 10  # draws differ in what they find; the best is taken


def in_contact(
    i: ArrayLike, j: ArrayLike, state: Mapping[str, NDArray[Any]], fraction: float
) -> NDArray[np.bool_]:
    """Which pairs of variables belong to residues that touch.

    Parameters
    ----------
    i, j : array-like, shape (pairs,)
        Numbers of variables.
    state : mapping
        With ``contact_i``, ``contact_j``, ``contact_fraction``
        (``prepare.contacts.variable_contacts``).
    fraction : float
        Least share of the frames in which they touch.
    """
    touching = _keys(*pairs_in_contact(state, fraction))
    result: NDArray[np.bool_] = np.isin(_keys(np.asarray(i), np.asarray(j)), touching)
    return result


def pairs_in_contact(
    state: Mapping[str, NDArray[Any]], fraction: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """All pairs of variables, i < j, that ``in_contact`` says yes to."""
    # Shares are kept in single precision, in which 0.6 is a little above that of a double.
    often = np.asarray(state["contact_fraction"]) >= np.float32(fraction)
    return np.asarray(state["contact_i"])[often], np.asarray(state["contact_j"])[often]


@dataclass(frozen=True)
class ResidueNetwork:
    """An undirected network of residues (or other variables), which may be empty or in parts.

    ``n_nodes``: variables, with or without edges. ``ends``: int64 (edges, 2). ``correlation``:
    float64 (edges,), its size, above 0 and at most 1. Make one with ``ResidueNetwork.of``.
    """

    n_nodes: int
    ends: NDArray[np.int64]
    correlation: NDArray[np.float64]

    @classmethod
    def of(cls, n_nodes: int, i: ArrayLike, j: ArrayLike, correlation: ArrayLike) -> ResidueNetwork:
        """From edges; those without correlation (0 or NaN) join nothing and are left out."""
        size = np.abs(np.asarray(correlation, dtype=np.float64))
        ends = np.column_stack([np.asarray(i, np.int64), np.asarray(j, np.int64)]).reshape(-1, 2)
        joined = size > 0  # not NaN
        return cls(n_nodes, ends[joined], np.minimum(size[joined], 1.0))

    @cached_property
    def graph(self) -> Any:
        """The igraph graph; edges have the attributes ``correlation`` and ``length``."""
        import igraph

        graph = igraph.Graph(n=self.n_nodes, edges=self.ends.tolist(), directed=False)
        graph.es["correlation"] = self.correlation.tolist()
        graph.es["length"] = self.lengths.tolist()
        return graph

    @property
    def lengths(self) -> NDArray[np.float64]:
        """-ln of the correlation of each edge (Sethi et al. 2009, PNAS 106:6620)."""
        result: NDArray[np.float64] = np.maximum(-np.log(self.correlation), _LEAST_LENGTH)
        return result

    def degree(self) -> NDArray[np.int32]:
        """Number of edges of each node, shape (n_nodes,)."""
        return np.bincount(self.ends.ravel(), minlength=self.n_nodes).astype(np.int32)

    def betweenness(self) -> NDArray[np.float64]:
        """Share of all pairs of other nodes whose shortest path runs through each node.

        Shape (n_nodes,), 0 to 1 (Freeman 1977; paths of ``lengths``). Of several shortest paths
        each counts its part. Pairs that no path joins count as not run through.
        """
        if self.n_nodes < 3 or not self.correlation.size:
            return np.zeros(self.n_nodes)
        counts = np.array(self.graph.betweenness(directed=False, weights="length"))
        return counts / ((self.n_nodes - 1) * (self.n_nodes - 2) / 2)

    def communities(self, method: str, seed: int) -> NDArray[np.int32]:
        """Community of each node, from 1 (the largest) on; 0 for nodes without edges.

        Parameters
        ----------
        method : str
            ``leiden`` (Traag et al. 2019; modularity weighted by correlation, the best of ten
            runs) or ``girvan_newman`` (Girvan and Newman 2002 with paths of ``lengths``, as Sethi
            et al. 2009; the division of greatest weighted modularity). The latter takes of the
            order of edges^2 x nodes steps: seconds for 1,000 edges, an hour for 10,000.
        seed : int
            Of the draws of ``leiden``; the same seed, the same communities.

        Returns
        -------
        array
            Shape (n_nodes,). No community reaches over two unconnected parts.
        """
        if method == "leiden":
            found = self._leiden(seed)
        elif method == "girvan_newman":
            found = self._girvan_newman()
        else:
            raise ValueError(f"{method!r} is no method of finding communities")
        return _by_size(found, self.degree() > 0)

    def modularity(self, communities: ArrayLike) -> float:
        """Modularity weighted by correlation (Newman 2004); NaN without edges."""
        if not self.correlation.size:
            return float("nan")
        # Nodes without edges add nothing, whatever their community.
        members = np.asarray(communities, dtype=np.int64).tolist()
        return float(self.graph.modularity(members, weights="correlation", directed=False))

    def _leiden(self, seed: int) -> NDArray[np.int64]:
        import igraph

        if not self.correlation.size:
            return np.arange(self.n_nodes)
        # igraph draws from one generator for the whole process; it is handed back afterwards.
        igraph.set_random_number_generator(random.Random(seed))
        try:
            runs = [
                self.graph.community_leiden("modularity", weights="correlation", n_iterations=-1)
                for _ in range(_LEIDEN_RUNS)
            ]
        finally:
            igraph.set_random_number_generator(random)
        best = max(runs, key=lambda run: run.modularity)  # the first of equals
        return np.array(best.membership, dtype=np.int64)

    def _girvan_newman(self) -> NDArray[np.int64]:
        """Edges are taken away in the order of their betweenness (numbers of paths: ties are
        common, of which the weakest edge goes), which is counted anew for the part that lost one;
        of all divisions on the way the best is given back."""
        members = np.array(self.graph.connected_components().membership, dtype=np.int64)
        best, best_score = members.copy(), self.modularity(members)
        whole = self.graph.copy()
        whole.vs["node"] = range(self.n_nodes)
        parts = _parts_with_edges(whole)
        while parts:
            place = max(range(len(parts)), key=lambda k: parts[k].rank)
            part = parts[place]
            part.graph.delete_edges(part.edge)
            pieces = part.graph.connected_components()
            parts[place : place + 1] = _parts_with_edges(part.graph)
            if len(pieces) == 2:
                away = part.graph.vs[pieces[1]]["node"]
                members[away] = members.max() + 1
                score = self.modularity(members)
                if score > best_score + 1e-12:
                    best, best_score = members.copy(), score
        return best


class _Part:
    """A connected part of a network on its way apart, and its edge of highest betweenness."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        through = np.array(graph.edge_betweenness(directed=False, weights="length")).round(6)
        length = np.array(graph.es["length"])
        self.edge = int(np.lexsort((length, through))[-1])
        self.rank = (through[self.edge], length[self.edge])


def _parts_with_edges(graph: Any) -> list[_Part]:
    pieces = graph.connected_components()
    return [_Part(graph.induced_subgraph(piece)) for piece in pieces if len(piece) > 1]


def _by_size(found: NDArray[np.int64], joined: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Numbers from 1 on by size, of equals by the first member; 0 for what is not joined."""
    result = np.zeros(found.size, dtype=np.int32)
    names, first, rows, sizes = np.unique(
        found[joined], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -sizes))
    number = np.empty(names.size, dtype=np.int32)
    number[order] = np.arange(1, names.size + 1)
    result[joined] = number[rows]
    return result


def _keys(i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.int64]:
    low = np.minimum(i, j).astype(np.int64)
    keys: NDArray[np.int64] = (low << 32) | np.maximum(i, j).astype(np.int64)
    return keys
