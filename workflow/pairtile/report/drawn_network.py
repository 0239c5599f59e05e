"""The network as the page draws it: nodes, edges, modules, and where each of them stands."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import igraph
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.report.method_report import Grouping
from pairtile.report.results import Results
from pairtile.statistics.modules import leiden_modules

MAX_EDGES = 50_000
"""The strongest edges that the page holds, and so those that can be searched in the drawing."""

WHOLE_EDGES = 1_500
"""A network of so many edges is drawn as a whole; a larger one as modules first."""

TOP_EDGES = 600
"""Edges of the drawing of the strongest ones, where the whole is too large for one drawing."""

MAX_MODULES = 150
"""Modules that are drawn and listed, the largest first; every gene can be searched all the same."""

TRUE, FALSE, NOT_JUDGED = 2, 1, 0

_VERDICTS = {"+": TRUE, "-": FALSE, ".": NOT_JUDGED}


def network_data(results: Results) -> dict[str, Any]:
    """What the drawing's script reads.

    ``nodes``: name, x, y, edges in the whole network, regulator or not, module. ``edges``: the
    numbers of both ends and the score, best first, and with a gold standard what it says of them
    (2: an edge there, 1: none, 0: not covered). ``whole``: x and y are places in a drawing of
    everything, else in one of the node's module. ``top``: places of the first nodes in a drawing
    of the ``top_edges`` strongest edges. ``modules``: number, genes, hub, x, y.
    """
    table = results.strongest(MAX_EDGES)
    names = pd.Index(dict.fromkeys(np.column_stack([table["source"], table["target"]]).ravel()))
    ends = np.column_stack([names.get_indexer(table["source"]), names.get_indexer(table["target"])])
    groups = _grouping(results, names, ends, _strengths(results, table))
    whole = len(ends) <= WHOLE_EDGES
    modules, of_node = _modules(groups.of_node, ends)
    top: list[list[float]] = []
    if whole:
        places = place_nodes(len(names), _pairs(ends))
    else:
        places = _places_in_modules(of_node, ends)
        first = ends[:TOP_EDGES]
        top = np.round(place_nodes(int(first.max()) + 1, _pairs(first))).tolist()
    regulator = names.isin(list(results.regulators))
    degree = results.degree.reindex(names).to_numpy()
    nodes = [
        [str(name), *place, int(edges), int(listed), int(module)]
        for name, place, edges, listed, module in zip(
            names, np.round(places).astype(int).tolist(), degree, regulator, of_node, strict=True
        )
    ]
    columns: list[list[Any]] = [*ends.T.tolist(), _short(results, table)]
    verdicts = _verdicts(results, table)
    if verdicts is not None:
        columns.append(verdicts)
    return {
        "directed": results.directed,
        "whole": whole,
        "nodes": nodes,
        "edges": [list(row) for row in zip(*columns, strict=True)],
        "top": top,
        "top_edges": min(TOP_EDGES, len(ends)),
        "modules": modules,
        "n_modules": int(groups.of_node.max(initial=0)),
        "word": groups.word,
        "words": groups.words,
        "how": groups.how,
    }


def _strengths(results: Results, table: pd.DataFrame) -> NDArray[np.float64]:
    """What holds modules together: the score where it is one of closeness, else each edge alike."""
    if results.strength is None:
        return np.ones(len(table))
    values = table[results.strength].to_numpy(dtype=np.float64)
    values = np.abs(values) if results.text.signed else values
    return values if (values > 0).all() and np.isfinite(values).all() else np.ones(len(table))


def _grouping(
    results: Results, names: pd.Index[Any], ends: NDArray[np.int64], weights: NDArray[np.float64]
) -> Grouping:
    """The modules that the analysis itself has found, else those that Leiden finds here."""
    found = results.method_report.grouping(results, names)
    if found is not None:
        return found
    distinct = ends[:, 0] != ends[:, 1]
    source, target = ends[distinct].T
    found_here = leiden_modules(source, target, weights[distinct], len(names), runs=3)
    how = "Leiden (Traag et al. 2019), resolution 1, on the edges of this drawing"
    return Grouping(found_here.astype(np.int64), "module", "modules", how)


def _modules(
    of_node: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[list[list[Any]], NDArray[np.int64]]:
    """The modules that are drawn, and of each node the module if it is one of these, else 0."""
    numbers, sizes = np.unique(of_node[of_node > 0], return_counts=True)
    shown = np.sort(numbers[np.argsort(-sizes, kind="stable")[:MAX_MODULES]])
    of_node = np.where(np.isin(of_node, shown), of_node, 0)
    inside = of_node[ends[:, 0]] == of_node[ends[:, 1]]
    degree = np.bincount(ends[inside].ravel(), minlength=len(of_node))
    between = np.searchsorted(shown, of_node[ends[~inside & (of_node[ends] > 0).all(axis=1)]])
    links = np.unique(np.sort(between, axis=1), axis=0)
    places = np.round(place_nodes(len(shown), _pairs(links))).astype(int)
    found = []
    for number, (x, y) in zip(shown.tolist(), places.tolist(), strict=True):
        members = np.flatnonzero(of_node == number)
        hub = members[np.argmax(degree[members])]
        found.append([number, len(members), int(hub), x, y])
    return found, of_node


def _places_in_modules(of_node: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Places in a drawing of each node's module alone; of no use for nodes without one."""
    places = np.zeros((len(of_node), 2))
    inside = ends[of_node[ends[:, 0]] == of_node[ends[:, 1]]]
    order = np.argsort(of_node[inside[:, 0]], kind="stable")
    inside = inside[order]
    of_edge = of_node[inside[:, 0]]
    row = np.zeros(len(of_node), dtype=np.int64)
    for number in np.unique(of_node[of_node > 0]).tolist():
        members = np.flatnonzero(of_node == number)
        row[members] = np.arange(len(members))
        first, last = np.searchsorted(of_edge, [number, number + 1])
        places[members] = place_nodes(len(members), _pairs(row[inside[first:last]]))
    return places


def _pairs(ends: NDArray[np.int64]) -> list[tuple[int, int]]:
    return [(int(s), int(t)) for s, t in ends]


def _short(results: Results, table: pd.DataFrame) -> list[float | None]:
    """Scores with four digits; None for one that is missing."""
    if results.strength is None:
        return [None] * len(table)
    values = table[results.strength].to_numpy(dtype=np.float64)
    short = [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]
    # 175, not 175.0: in fewer letters.
    return [int(v) if v is not None and v.is_integer() and abs(v) < 1e6 else v for v in short]


def _verdicts(results: Results, table: pd.DataFrame) -> list[int] | None:
    """What the gold standard says of each edge; None where there is none."""
    verdicts = ((results.evaluation or {}).get("network") or {}).get("verdicts")
    if verdicts is None or len(verdicts) != len(results.network):
        return None
    rows = results.network[["source", "target"]].assign(verdict=[_VERDICTS[v] for v in verdicts])
    of_pair = rows.drop_duplicates(["source", "target"]).set_index(["source", "target"])["verdict"]
    keys = pd.MultiIndex.from_arrays([table["source"], table["target"]])
    return [int(verdict) for verdict in of_pair.reindex(keys)]


# Places for the genes of a drawn network: one layout for each connected part, packed together.

# Room for one gene, in the drawing's own units (pixels at zoom 1).
SPACING = 80.0
# Kamada-Kawai takes a time that grows with the square of the nodes; larger parts are placed by
# Fruchterman and Reingold's forces.
MOST_KAMADA_KAWAI = 500
# igraph's quicker variant (a grid, its choice above 1,000 nodes) pulls leaves onto their hubs; the
# exact one takes the square of the nodes: 3,000 need about ten seconds.
MOST_EXACT = 3000


def place_nodes(n_nodes: int, edges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Positions for ``n_nodes`` nodes, float64 of shape (n_nodes, 2); the same on every call.

    Each connected component is laid out by the Kamada-Kawai algorithm from a circle, which spreads
    hubs and their leaves well and draws no random number (one of more than 500 nodes by the forces
    of Fruchterman and Reingold); the components are then packed side by side, largest first.
    """
    places = np.zeros((n_nodes, 2))
    if not n_nodes:
        return places
    graph = igraph.Graph(n=n_nodes, edges=list(edges)).simplify()
    components = sorted(graph.connected_components(), key=lambda part: (-len(part), part))
    boxes = [_place_component(graph.induced_subgraph(part)) for part in components]
    for part, box, corner in zip(components, boxes, _pack(boxes), strict=True):
        places[part] = box + corner
    return places


def _place_component(graph: igraph.Graph) -> np.ndarray:
    """Positions with their lower corner at 0, scaled to SPACING by SPACING for each node."""
    n = graph.vcount()
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [SPACING, 0.0]])
    if n <= MOST_KAMADA_KAWAI:
        layout = graph.layout_kamada_kawai(maxiter=20 * n, seed=graph.layout_circle())
    else:
        # igraph draws from one generator for the whole process; it is handed back afterwards.
        igraph.set_random_number_generator(random.Random(0))
        try:
            layout = graph.layout_fruchterman_reingold(
                niter=300, seed=graph.layout_circle(), grid=n > MOST_EXACT
            )
        finally:
            igraph.set_random_number_generator(random)
    places = np.asarray(layout.coords, dtype=np.float64)
    places -= places.min(axis=0)
    width, height = places.max(axis=0)
    # A chain has no area: then its length is what n nodes need side by side.
    scale = SPACING * min(np.sqrt(n / max(width * height, 1e-9)), n / max(width, height))
    return places * float(scale)


def _pack(boxes: list[np.ndarray]) -> list[np.ndarray]:
    """A lower corner for each box: in turn where it lies lowest, on a page about 3:2 wide."""
    # Sizes in whole columns of SPACING, with a margin of one and a half.
    sizes = [np.ceil((box.max(axis=0) + 1.5 * SPACING) / SPACING).astype(int) for box in boxes]
    area = sum(int(width * height) for width, height in sizes)
    columns = max([int(np.sqrt(1.6 * area)), *(int(width) for width, _ in sizes)])
    top = np.zeros(columns, dtype=int)
    corners = []
    for width, height in sizes:
        windows = np.lib.stride_tricks.sliding_window_view(top, width).max(axis=1)
        x = int(windows.argmin())
        corners.append(np.array([x, windows[x]]) * SPACING)
        top[x : x + width] = windows[x] + height
    return corners
