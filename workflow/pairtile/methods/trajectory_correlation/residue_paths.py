"""Shortest and suboptimal paths of correlation between residues."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pairtile.errors import ConfigError
from pairtile.methods.trajectory_correlation.network import ResidueNetwork


@dataclass(frozen=True)
class ResiduePath:
    """``nodes``: from one end to the other; ``length``: sum of -ln of the correlations along it."""

    nodes: tuple[int, ...]
    length: float


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
    lengths = network.lengths
    found = graph.get_k_shortest_paths(
        start, to=end, k=number, weights="length", mode="all", output="epath"
    )
    paths = [
        ResiduePath(_nodes(network, edges, start), float(lengths[edges].sum())) for edges in found
    ]
    return sorted(paths, key=lambda path: (path.length, path.nodes))


def path_ends(items: pd.DataFrame, paths: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Nodes (rows of the kept items) of the ends of ``paths``, named as in the items table.

    A residue of which one atom or angle is a variable is found by its own name too (``A:LYS13``
    for ``A:LYS13:CB``).

    Raises
    ------
    ConfigError
        If there is no such kept item, or more than one.
    """
    kept = items["name"][items["kept"].to_numpy(dtype=bool)].astype(str).tolist()
    numbers = {name: node for node, name in enumerate(kept)}
    return [(_item(a, numbers), _item(b, numbers)) for a, b in paths]


def _item(name: str, numbers: dict[str, int]) -> int:
    if name in numbers:
        return numbers[name]
    within = [other for other in numbers if other.startswith(f"{name}:")]
    if len(within) == 1:
        return numbers[within[0]]
    near = within or difflib.get_close_matches(name, numbers, n=3, cutoff=0.5)
    near = near[:3] or list(numbers)[:3]
    expected = "a name of items.parquet that is paired, such as " + ", ".join(near)
    raise ConfigError.at("paths", "", repr(name), expected)


def _nodes(network: ResidueNetwork, edges: Sequence[int], start: int) -> tuple[int, ...]:
    nodes = [start]
    for a, b in network.ends[np.asarray(edges, dtype=np.int64)].tolist():
        nodes.append(b if nodes[-1] == a else a)
    return tuple(nodes)
