"""The network of variables that move together: its edges, communities, betweenness and paths."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.network import Network
from pairtile.errors import ConfigError
from pairtile.methods.trajectory_correlation.config_sections import KeepMotion
from pairtile.methods.trajectory_correlation.pair_scores import HALVES
from pairtile.statistics.correction import known_q_values
from pairtile.statistics.modules import by_size, leiden

if TYPE_CHECKING:
    import igraph

message = messages_of(__package__)

COLUMNS = ("i", "j", "mi_nats", "correlation", "p_value", "dcc")
"""Columns of the pairs table that a network is made from."""

CENTRED = ("mi_centred", "correlation_centred", "correlation_se")
"""Columns that go with them where surrogates were run, and where there are replicas."""

TRANSFER = {"te_nats": "mi_nats", "te_correlation": "correlation_centred", "te_p_value": "p_value"}
"""Columns of transfer entropy in the pairs table, and what they are in ``ScoredMotion``."""

WAYS = {"": ["i", "j"], "reverse_": ["j", "i"]}
"""What their names begin with, and source and target."""

EDGE_COLUMNS = ["source", "target", "mi_nats", "correlation", "p_value", "q_value", "dcc"]

CENTRALITIES = ("betweenness", "closeness", "eigenvector")

_DENSE_NODES = 500

GIRVAN_NEWMAN_EDGES = 2_000
"""From here on Girvan and Newman's communities take minutes, and soon hours."""


def candidate_q_values(
    p_value: NDArray[np.float64], candidate: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Benjamini-Hochberg q-values among the candidates; NaN for other pairs and without p-values.

    p_value : float64 (pairs,), of all pairs. candidate : bool (pairs,), or None for all. What makes
    a pair a candidate (a contact) must not depend on its p-value.
    """
    return known_q_values(p_value if candidate is None else np.where(candidate, p_value, np.nan))


def directed_pairs(pairs: pd.DataFrame, names: pd.Index, lag: int) -> pd.DataFrame:
    """Both directions of every pair, the strongest first (``directions.parquet``).

    Columns are those of ``directions.parquet`` in ``columns.toml``. pairs : ``i``, ``j`` and
    ``TRANSFER`` both ways. names : of the variables. lag : frames.
    """
    ways = [pairs[[*ends, *(way + name for name in TRANSFER)]] for way, ends in WAYS.items()]
    table = pd.concat(
        way.set_axis(["source", "target", "te_nats", "te_share", "p_value"], axis=1) for way in ways
    )
    table["te_share"] **= 2
    table = table.assign(q_value=known_q_values(table["p_value"]), lag=np.int32(lag))
    table = table.sort_values(["te_share", "source", "target"], ascending=[False, True, True])
    return table.assign(source=names[table["source"]], target=names[table["target"]])


def motion_network(
    pairs: pd.DataFrame,
    keep: KeepMotion,
    candidate: NDArray[np.bool_] | None = None,
    score: str = "correlation",
    take: Callable[[NDArray[np.int64]], pd.DataFrame] | None = None,
) -> Network:
    """The network of the pairs that are kept, strongest first.

    Parameters
    ----------
    pairs : DataFrame
        All pairs: ``COLUMNS``, and ``CENTRED`` where they are known.
    keep : KeepMotion
        All, or by ``p_value``, ``fdr``, ``correlation`` (the size of the score) or ``top_edges``.
    candidate : bool array, shape (pairs,), optional
        Pairs that may become edges: those in contact. All without it.
    score : str
        The column that ranks pairs: ``correlation`` or ``correlation_centred``.
    take : callable, optional
        Gives rows of the table by their numbers: ``pairs`` then needs only ``i``, ``j``,
        ``p_value`` and the score.

    Returns
    -------
    Network
        Edges ``EDGE_COLUMNS`` and ``CENTRED``, by the size of the score, equals by their numbers;
        undirected.
    """
    size = np.abs(pairs[score].to_numpy(dtype=np.float64))
    p = pairs["p_value"].to_numpy(dtype=np.float64)
    q = candidate_q_values(p, candidate)
    may = np.ones(size.size, dtype=bool) if candidate is None else candidate
    rule, limit = keep.rule, keep.limit
    most = size.size if keep.top_edges is None else keep.top_edges
    if rule == "top_edges":
        # Sorted is only what may be among the first; missing scores are last.
        last = np.inf
        if most < may.sum():
            ordered = -size if candidate is None else -size[may]
            ordered.partition(most - 1)
            last = ordered[most - 1]
            del ordered
        passed = may & ~(size < -last)
    elif limit is not None:
        reach = {"p_value": p <= limit, "fdr": q <= limit, "correlation": size >= limit}
        passed = reach[rule] & may
    else:
        passed = may
    chosen = np.flatnonzero(passed)
    i, j = (pairs[name].to_numpy()[chosen] for name in ("i", "j"))
    chosen = chosen[np.lexsort((j, i, -size[chosen]))[:most]]
    edges = pairs.iloc[chosen] if take is None else take(chosen)
    centred = [name for name in CENTRED if name in edges]
    edges = (
        edges.rename(columns={"i": "source", "j": "target"})
        .assign(q_value=q[chosen])[[*EDGE_COLUMNS, *centred]]
        .reset_index(drop=True)
    )
    least = float(size[chosen].min()) if chosen.size else None
    candidates = int(may.sum())
    result = Network(
        edges,
        directed=False,
        score=score,
        counts={"pairs_candidates": candidates, "pairs_kept": len(edges), "edges": len(edges)},
        threshold={"keep": rule, "value": limit, "least_correlation": least, "score": score},
    )
    if rule == "p_value" and limit is not None and candidates:
        result.messages.append(
            message(
                "edges_by_p", n=len(edges), pairs=candidates, limit=limit, chance=limit * candidates
            )
        )
    if not len(edges) and candidates:
        strongest = f"the strongest correlation is {size[may].max():.3g}"
        why = message("no_pair_correlates", limit=limit, strongest=strongest)
        if rule in ("p_value", "fdr"):
            name, values = ("p-value", p) if rule == "p_value" else ("q-value", q)
            why = message(
                "no_pair_passes",
                name=name,
                limit=limit,
                least=np.nanmin(values[may]),
                strongest=strongest,
            )
        result.messages.append(why)
    return result


def dense_warnings(n_edges: int, communities: tuple[str, ...] | list[str]) -> list[Message]:
    """What takes long in a network of so many edges, said before it begins."""
    if "girvan_newman" not in communities or n_edges < GIRVAN_NEWMAN_EDGES:
        return []
    hours = (n_edges / 10_000) ** 2
    return [
        message(
            "girvan_newman_slow",
            edges=n_edges,
            time=f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.0f} hours",
        )
    ]


# --- communities ----------------------------------------------------------------------------------


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
    def of_edges(
        cls, n_nodes: int, i: ArrayLike, j: ArrayLike, correlation: ArrayLike
    ) -> ResidueNetwork:
        """From edges; those without correlation (0 or NaN) join nothing and are left out."""
        size = np.abs(np.asarray(correlation, dtype=np.float64))
        ends = np.column_stack([np.asarray(i, np.int64), np.asarray(j, np.int64)]).reshape(-1, 2)
        joined = size > 0  # not NaN
        return cls(n_nodes, ends[joined], np.minimum(size[joined], 1.0))

    @classmethod
    def strongest(
        cls,
        n_nodes: int,
        i: NDArray[np.integer],
        j: NDArray[np.integer],
        correlation: NDArray[np.float64],
        candidate: NDArray[np.bool_] | None,
        number: int,
    ) -> ResidueNetwork:
        """Of the ``number`` strongest of the candidates (bool (pairs,); None for all)."""
        size = np.nan_to_num(np.abs(correlation))
        rows = np.arange(size.size) if candidate is None else np.flatnonzero(candidate)
        best = rows[np.argsort(-size[rows], kind="stable")[:number]]
        return cls.of_edges(n_nodes, i[best], j[best], size[best])

    @cached_property
    def graph(self) -> igraph.Graph:
        """The igraph graph; edges have the attributes ``correlation`` and ``length``."""
        import igraph

        graph = igraph.Graph(n=self.n_nodes, edges=self.ends.tolist(), directed=False)
        graph.es["correlation"] = self.correlation.tolist()
        graph.es["length"] = self.lengths.tolist()
        return graph

    @property
    def lengths(self) -> NDArray[np.float64]:
        """-ln of the correlation of each edge (Sethi et al. 2009, PNAS 106:6620)."""
        # A correlation of 1 has -ln 0: igraph distinguishes lengths by 1e-10.
        return np.maximum(-np.log(self.correlation), 1e-9)

    def degree(self) -> NDArray[np.int32]:
        """Number of edges of each node, shape (n_nodes,)."""
        return np.bincount(self.ends.ravel(), minlength=self.n_nodes).astype(np.int32)

    def betweenness(self) -> NDArray[np.float64]:
        """Share of all pairs of other nodes whose shortest path runs through each node.

        Shape (n_nodes,), 0 to 1 (Freeman 1977; paths of ``lengths``). Of several shortest paths
        each counts its part. Pairs that no path joins count as not run through.
        """
        if self.n_nodes < 3:
            return np.zeros(self.n_nodes)
        counts = np.array(self.graph.betweenness(directed=False, weights="length"))
        return counts / ((self.n_nodes - 1) * (self.n_nodes - 2) / 2)

    def closeness(self) -> NDArray[np.float64]:
        """Inverse mean length of the shortest paths to the nodes that each is joined to, shape
        (n_nodes,) (Freeman 1978; paths of ``lengths``); NaN for nodes without edges."""
        return np.array(self.graph.closeness(weights="length"), dtype=np.float64)

    def eigenvector(self) -> NDArray[np.float64]:
        """Eigenvector centrality, weighted by correlation (Bonacich 1987), shape (n_nodes,); the
        largest is 1, and parts other than the most strongly connected one are near 0."""
        if not self.correlation.size:
            return np.zeros(self.n_nodes)
        adjacency = self.graph.get_adjacency_sparse("correlation")
        if self.n_nodes <= _DENSE_NODES:
            vector = np.linalg.eigh(adjacency.toarray())[1][:, -1]
        else:  # igraph starts at random: other last digits each time
            start = np.asarray(adjacency.sum(axis=1)).ravel()
            vector = scipy.sparse.linalg.eigsh(adjacency, k=1, which="LA", v0=start)[1][:, 0]
        size = np.abs(vector)
        return np.asarray((size / size.max()).round(12))

    def centralities(self) -> dict[str, NDArray[np.float64]]:
        """``betweenness``, ``closeness``, ``eigenvector``."""
        return {name: getattr(self, name)() for name in CENTRALITIES}

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
            found = leiden(self.n_nodes, self.ends, self.correlation, seed=seed, runs=10)
        elif method == "girvan_newman":
            found = self._girvan_newman()
        else:
            raise ValueError(f"{method!r} is no method of finding communities")
        joined = self.degree() > 0
        result = np.zeros(self.n_nodes, dtype=np.int32)
        result[joined] = by_size(found[joined])
        return result

    def modularity(self, communities: ArrayLike) -> float:
        """Modularity weighted by correlation (Newman 2004); NaN without edges."""
        # Nodes without edges add nothing, whatever their community.
        members = np.asarray(communities, dtype=np.int64).tolist()
        return float(self.graph.modularity(members, weights="correlation", directed=False))

    def _girvan_newman(self) -> NDArray[np.int64]:
        """Edges are taken away in the order of their betweenness (numbers of paths: ties are
        common, of which the weakest edge goes), which is counted anew each time; of all divisions
        on the way the best is given back."""
        graph = self.graph.copy()
        best = members = np.array(graph.connected_components().membership, dtype=np.int64)
        best_score = self.modularity(members)
        while graph.ecount():
            through = np.array(graph.edge_betweenness(directed=False, weights="length")).round(6)
            graph.delete_edges(int(np.lexsort((graph.es["length"], through))[-1]))
            pieces = np.array(graph.connected_components().membership, dtype=np.int64)
            if pieces.max() > members.max():
                members, score = pieces, self.modularity(pieces)
                if score > best_score + 1e-12:
                    best, best_score = members, score
        return best


# --- whether communities are found again ----------------------------------------------------------

# In two halves of the data: of a single trajectory, or the replicas with odd and with even numbers.
# Each half has a network of its own, of as many pairs as the whole one.


MIN_AGREEMENT = 0.3
"""Adjusted Rand index of two halves below which there are no communities to speak of."""

MAX_EDGES = 3_000_000
"""Larger networks have no communities, betweenness and paths: igraph would take minutes and
gigabytes."""


def half_networks(
    pairs: pd.DataFrame, candidate: NDArray[np.bool_] | None, n_edges: int, n_nodes: int
) -> list[ResidueNetwork]:
    """The networks of the two halves: of each its ``n_edges`` strongest candidates.

    pairs : ``i``, ``j`` and ``HALVES`` of all pairs. candidate : bool (pairs,); None for all.
    """
    i, j = pairs["i"].to_numpy(), pairs["j"].to_numpy()
    halves = (pairs[name].to_numpy(dtype=np.float64) for name in HALVES)
    return [ResidueNetwork.strongest(n_nodes, i, j, own, candidate, n_edges) for own in halves]


def community_agreement(
    halves: list[ResidueNetwork], nodes: NDArray[np.integer], method: str, seed: int
) -> float:
    """Adjusted Rand index (Hubert and Arabie 1985) of the communities of two networks.

    1: the same; about 0: no more alike than by chance. nodes : those that are looked at, of the
    whole network's; one without an edge in a half is a community of its own there. NaN for fewer
    than three nodes, and for Girvan and Newman's communities of networks that would take minutes.
    """
    edges = max(network.correlation.size for network in halves)
    slow = method == "girvan_newman" and edges >= GIRVAN_NEWMAN_EDGES
    if len(nodes) < 3 or edges > MAX_EDGES or slow:
        return float("nan")
    found = [network.communities(method, seed)[nodes].astype(np.int64) for network in halves]
    for members in found:
        alone = np.flatnonzero(members == 0)
        members[alone] = members.max(initial=0) + 1 + np.arange(alone.size)
    return adjusted_rand(*found)


def adjusted_rand(first: ArrayLike, second: ArrayLike) -> float:
    """Adjusted Rand index of two divisions of the same things; 1 where both are trivial alike."""
    import igraph

    one, other = (np.unique(np.asarray(part), return_inverse=True)[1] for part in (first, second))
    if one.max(initial=0) == other.max(initial=0) and one.max(initial=0) in (0, one.size - 1):
        return 1.0  # all together, or each by itself: the index is 0 / 0
    return float(igraph.compare_communities(one.tolist(), other.tolist(), method="adjusted_rand"))


def agreement_warnings(method: str, agreement: float) -> list[Message]:
    """What is said of communities that are not found again; nothing of others, and for NaN."""
    if not agreement < MIN_AGREEMENT:
        return []
    return [message("no_communities", method=method, agreement=agreement, least=MIN_AGREEMENT)]


# --- paths ----------------------------------------------------------------------------------------


ResiduePath: TypeAlias = tuple[float, tuple[int, ...]]
"""Its length, the sum of -ln of the correlations along it, and its nodes from one end to the other.
"""


def shortest_paths(
    network: ResidueNetwork, start: int, end: int, number: int = 1
) -> list[ResiduePath]:
    """The ``number`` shortest paths without loops, shortest first (Yen 1971).

    Fewer where there are no more; none where nothing joins the two.
    """
    graph = network.graph
    parts = graph.connected_components().membership
    if parts[start] != parts[end]:
        return []
    found = graph.get_k_shortest_paths(start, end, k=number, weights="length", mode="all")
    steps = [graph.get_eids(list(pairwise(nodes)), directed=False) for nodes in found]
    return sorted(
        (float(network.lengths[edges].sum()), tuple(nodes))
        for nodes, edges in zip(found, steps, strict=True)
    )


def path_ends(items: pd.DataFrame, paths: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Nodes (rows of the kept items) of the ends of ``paths``, named as in the items table.

    A residue of which one atom or angle is a variable is found by its own name too (``A:LYS13``
    for ``A:LYS13:CB``).

    Raises
    ------
    ConfigError
        If there is no such kept item, or more than one.
    """
    kept = items.loc[items["kept"], "name"].astype(str).tolist()
    numbers = {name: node for node, name in enumerate(kept)}
    return [(_item(a, numbers), _item(b, numbers)) for a, b in paths]


def _item(name: str, numbers: dict[str, int]) -> int:
    if name in numbers:
        return numbers[name]
    within = [other for other in numbers if other.startswith(f"{name}:")]
    if len(within) == 1:
        return numbers[within[0]]
    near = within or difflib.get_close_matches(name, numbers, n=3, cutoff=0.5)
    raise ConfigError.at(
        "paths",
        "",
        repr(name),
        "a name of items.parquet that is paired, such as "
        + ", ".join(near[:3] or list(numbers)[:3]),
    )
