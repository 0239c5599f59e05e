"""Whether communities are found again: those of two halves of the data, held against each other.

The halves are those of a single trajectory, or the replicas with odd and with even numbers. Each
half has a network of its own, of as many pairs as the whole one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.methods.trajectory_correlation.network import GIRVAN_NEWMAN_EDGES, ResidueNetwork
from pairtile.methods.trajectory_correlation.pair_scores import HALVES

message = messages_of(__package__)

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
    found = [network.communities(method, seed)[nodes] for network in halves]
    return adjusted_rand(*(_apart(members) for members in found))


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


def _apart(members: NDArray[np.integer]) -> NDArray[np.int64]:
    """0, no community, replaced by numbers of its own for each."""
    result = members.astype(np.int64)
    alone = result == 0
    result[alone] = result.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return result
