"""The network as the page draws it: nodes, edges, modules, and where each of them stands."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.gpu.device import threads
from pairtile.method import sign_column
from pairtile.runtime import job
from pairtile.runtime.record import doing
from pairtile.runtime.threads import in_forks
from pairtile.statistics.modules import leiden_modules

MAX_EDGES = 50_000
"""The strongest edges that the page holds, and so those that can be searched in the drawing."""

TOP_EDGES = 600
"""Edges of the drawing of the strongest ones, where the whole is too large for one drawing."""

MAX_MODULES = 150
"""Modules that are drawn and listed, the largest first; every gene can be searched all the same."""

MAX_VALUES = 12
"""Values of a column that edges are coloured and filtered by; rarer ones are taken together."""


class Grouping(NamedTuple):
    """Groups of the network's nodes, for the drawing.

    ``of_node`` int64 (nodes,): the number of a node's group, from 1, or 0. ``word``, ``words``:
    what a group is called. ``how``: how groups were found, where the drawing has to say it.
    ``colours``: of groups 1, 2, ..., then again from the first; none: the drawing's own.
    ``columns``: what a table of groups has more, heading -> number of a group -> text.
    """

    of_node: NDArray[np.int64]
    word: str
    words: str
    how: str
    colours: tuple[str, ...] = ()
    columns: Mapping[str, Mapping[int, str]] = MappingProxyType({})


def node_names(edges: pd.DataFrame) -> pd.Index[str]:
    """The nodes of a drawing, in the order in which its edges name them."""
    return pd.Index(dict.fromkeys(np.column_stack([edges["source"], edges["target"]]).ravel()))


def network_data(
    edges: pd.DataFrame,
    items: pd.DataFrame,
    degree: pd.Series,
    *,
    score: str | None,
    method: str,
    directed: bool,
    regulators: Collection[str] = (),
    grouping: Grouping | None = None,
    verdicts: Sequence[int] | None = None,
) -> dict[str, Any]:
    """What the drawing's script reads.

    Parameters
    ----------
    edges, items : DataFrame
        At most ``MAX_EDGES`` edges (``source``, ``target``, text columns to colour and filter by),
        best first; the items table.
    degree : Series
        Edges of each node in the whole network, by name.
    score : str, optional
        The column that ``edges`` are ranked by.
    method : str
        What made them.
    grouping : Grouping, optional
        Of ``node_names(edges)``; None: modules are found by Leiden.
    verdicts : sequence of int, optional
        What a gold standard says of each edge: 2 an edge there, 1 none, 0 not covered.

    Returns
    -------
    dict
        ``nodes``: name, x, y, edges in the whole network, regulator or not, module, and the
        identifier where the name is a symbol. ``edges``: the numbers of both ends, the score, and
        the verdict where there is one. ``categories``: what edges can be coloured and filtered by:
        ``heading``, ``values``, ``codes`` (of each edge, the number of its value) and, where it is
        a property of nodes, ``of_nodes``. ``whole``: x and y are places in one drawing of all,
        else in drawings of each module, side by side. ``top``: places of the first nodes in a
        drawing of the ``top_edges`` strongest edges. ``modules``: number, genes, hub, x, y.
    """
    names = node_names(edges)
    doing(f"place {len(names):,} nodes")
    ends = np.column_stack(
        [names.get_indexer(pd.Index(edges[end])) for end in ("source", "target")]
    )
    groups = grouping or _communities(ends, _strengths(edges, score, method), len(names))
    # A network of so many edges is drawn as a whole; a larger one as modules first.
    whole = len(ends) <= 1_500
    modules, of_node = _modules(groups.of_node, ends)
    top: list[list[float]] = []
    if whole:
        places = place_nodes(len(names), ends.tolist())
    else:
        places = _places_in_modules(of_node, ends)
        first = ends[:TOP_EDGES]
        top = np.round(place_nodes(int(first.max()) + 1, first.tolist())).tolist()
    regulator = names.isin(list(regulators))
    nodes = [
        [str(name), *place, int(n), int(listed), int(module)]
        for name, place, n, listed, module in zip(
            names,
            np.round(places).astype(int).tolist(),
            degree.reindex(names).to_numpy(),
            regulator,
            of_node,
            strict=True,
        )
    ]
    if "identifier" in items:
        identifiers = items.drop_duplicates("name").set_index("name")["identifier"]
        for node, name, identifier in zip(nodes, names, identifiers.reindex(names), strict=True):
            told = identifier == name or name.endswith(f"({identifier})")
            node += [] if told else [identifier]
    columns: list[Sequence[object]] = [*ends.T.tolist(), _short(edges, score)]
    if verdicts is not None:
        columns.append(verdicts)
    return {
        "directed": directed,
        "whole": whole,
        "nodes": nodes,
        "edges": [list(row) for row in zip(*columns, strict=True)],
        "categories": _categories(edges, method, items, names, ends),
        "top": top,
        "top_edges": min(TOP_EDGES, len(ends)),
        "modules": modules,
        "n_modules": int(groups.of_node.max(initial=0)),
        "word": groups.word,
        "words": groups.words,
        "how": groups.how,
        "colours": list(groups.colours),
    }


def _strengths(edges: pd.DataFrame, score: str | None, method: str) -> NDArray[np.float64]:
    """What holds modules together: the score where it is one of closeness, else each edge alike."""
    if score is None:
        return np.ones(len(edges))
    values = edges[score].to_numpy(dtype=np.float64)
    values = np.abs(values) if score == sign_column(edges, method) else values
    return values if (values > 0).all() and np.isfinite(values).all() else np.ones(len(edges))


def _communities(ends: NDArray[np.int64], weights: NDArray[np.float64], n_nodes: int) -> Grouping:
    distinct = ends[:, 0] != ends[:, 1]
    source, target = ends[distinct].T
    found = leiden_modules(source, target, weights[distinct], n_nodes, runs=3)
    return Grouping(
        found.astype(np.int64),
        "module",
        "modules",
        "Leiden (Traag et al. 2019), resolution 1, on the edges of this drawing",
    )


def _categories(
    edges: pd.DataFrame,
    method: str,
    items: pd.DataFrame,
    names: pd.Index[str],
    ends: NDArray[np.int64],
) -> list[dict[str, object]]:
    """Text columns of edges, their sign where none of these says it, and the domains of nodes."""
    texts = {
        str(column).replace("_", " "): edges[column].fillna("").astype(str)
        for column in edges.select_dtypes(["object", "string"])
        # How a p-value was found says nothing of the edge, and a text that nearly every edge has of
        # its own, such as positions, sorts nothing.
        if column not in ("source", "target", "p_method")
        and edges[column].nunique() <= max(MAX_VALUES, 0.8 * len(edges))
    }
    sign = sign_column(edges, method)
    if sign and not sign_column(edges, method, text=True):
        known = edges[sign] < 0, edges[sign] >= 0
        texts["sign"] = pd.Series(np.select(known, ("negative", "positive"), ""), dtype=str)
    found = []
    for heading, text in texts.items():
        values, codes = _coded(text)
        found.append({"heading": heading, "values": values, "codes": codes.tolist()})
    if "domain" in items:
        of_name = items.drop_duplicates("name").set_index("name")["domain"]
        values, of_nodes = _coded(of_name.reindex(names).fillna("").astype(str))
        pairs = of_nodes[ends]
        # Edges between two domains have the number after the last domain's.
        codes = np.where(pairs[:, 0] == pairs[:, 1], pairs[:, 0], len(values))
        found.append(
            {"heading": "domain", "values": [*values, "between two"], "codes": codes.tolist()}
            | {"of_nodes": of_nodes.tolist()}
        )
    return [each for each in found if len(set(each["codes"])) > 1]


def _coded(text: pd.Series) -> tuple[list[str], NDArray[np.int64]]:
    """The values of a column, "none" for an empty one, and the number of each row's value."""
    text = text.mask(text == "", "none")
    common = text.value_counts().index
    if len(common) > MAX_VALUES:
        text = text.where(text.isin(common[: MAX_VALUES - 1]), "other")
    # Activation and repression have the same colours in every network.
    last = ["none", "other"]
    first = ["activation", "repression", "positive", "negative"]
    values = sorted(set(text), key=lambda v: (v in last, v not in first, v))
    return values, pd.Index(values).get_indexer(text).astype(np.int64)


def _modules(
    of_node: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[list[list[object]], NDArray[np.int64]]:
    """The modules that are drawn, and of each node the module if it is one of these, else 0."""
    numbers, sizes = np.unique(of_node[of_node > 0], return_counts=True)
    shown = np.sort(numbers[np.argsort(-sizes, kind="stable")[:MAX_MODULES]])
    of_node = np.where(np.isin(of_node, shown), of_node, 0)
    inside = of_node[ends[:, 0]] == of_node[ends[:, 1]]
    degree = np.bincount(ends[inside].ravel(), minlength=len(of_node))
    between = np.searchsorted(shown, of_node[ends[~inside & (of_node[ends] > 0).all(axis=1)]])
    links = np.unique(np.sort(between, axis=1), axis=0)
    places = np.round(place_nodes(len(shown), links.tolist())).astype(int)
    found = []
    for number, (x, y) in zip(shown.tolist(), places.tolist(), strict=True):
        members = np.flatnonzero(of_node == number)
        found.append([number, len(members), int(members[np.argmax(degree[members])]), x, y])
    return found, of_node


def _places_in_modules(of_node: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Places in a drawing of each module, these side by side; last, of the nodes without one."""
    inside = ends[of_node[ends[:, 0]] == of_node[ends[:, 1]]]
    inside = inside[np.argsort(of_node[inside[:, 0]], kind="stable")]
    of_edge = of_node[inside[:, 0]]
    row = np.zeros(len(of_node), dtype=np.int64)
    groups, edges = [], []
    for number in sorted(np.unique(of_node).tolist(), key=lambda number: number or np.inf):
        members = np.flatnonzero(of_node == number)
        row[members] = np.arange(len(members))
        first, last = np.searchsorted(of_edge, [number, number + 1])
        groups.append(members)
        edges.append(row[inside[first:last]].tolist())
    sizes = [len(members) for members in groups]
    # The modules of some thousand genes take seconds.
    forks = min(threads(), 1 + sum(n * n for n in sizes) // 500_000) if job.IS_JOB else 1
    return _side_by_side(len(of_node), groups, [*in_forks(forks, place_nodes, sizes, edges)])


def _short(edges: pd.DataFrame, score: str | None) -> list[float | None]:
    """Scores with four digits; None for one that is missing."""
    if score is None:
        return [None] * len(edges)
    values = edges[score].to_numpy(dtype=np.float64)
    short = [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]
    # 175, not 175.0: in fewer letters.
    return [int(v) if v is not None and v.is_integer() and abs(v) < 1e6 else v for v in short]


# Places for the genes of a drawn network: one layout for each connected part, packed together.

# Room for one gene, in the drawing's own units (pixels at zoom 1).
SPACING = 80.0


def place_nodes(n_nodes: int, edges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Positions for ``n_nodes`` nodes, float64 of shape (n_nodes, 2); the same on every call.

    Each connected component is laid out by the Kamada-Kawai algorithm from a circle, which spreads
    hubs and their leaves well and draws no random number (one of more than 500 nodes by the forces
    of Fruchterman and Reingold); the components are then packed side by side, largest first.
    """
    import igraph  # which loads Matplotlib

    if not n_nodes:
        return np.zeros((0, 2))
    graph = igraph.Graph(n=n_nodes, edges=list(edges)).simplify()
    components = sorted(graph.connected_components(), key=lambda part: (-len(part), part))
    boxes = [_place_component(graph.induced_subgraph(part)) for part in components]
    return _side_by_side(n_nodes, components, boxes)


def _place_component(graph: Any) -> np.ndarray:
    """Positions with their lower corner at 0, scaled to SPACING by SPACING for each node."""
    import igraph

    n = graph.vcount()
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [SPACING, 0.0]])
    # Kamada-Kawai takes a time that grows with the square of the nodes.
    if n <= 500:
        layout = graph.layout_kamada_kawai(maxiter=20 * n, seed=graph.layout_circle())
    else:
        # igraph draws from one generator for the whole process; it is handed back afterwards.
        igraph.set_random_number_generator(random.Random(0))
        try:
            # The quicker variant (a grid, igraph's choice above 1,000 nodes) pulls leaves onto
            # their hubs; the exact one needs about ten seconds for 3,000 nodes.
            layout = graph.layout_fruchterman_reingold(
                niter=300, seed=graph.layout_circle(), grid=n > 3000
            )
        finally:
            igraph.set_random_number_generator(random)
    places = np.asarray(layout.coords, dtype=np.float64)
    places -= places.min(axis=0)
    width, height = places.max(axis=0)
    # A chain has no area: then its length is what n nodes need side by side.
    scale = SPACING * min(np.sqrt(n / max(width * height, 1e-9)), n / max(width, height))
    return places * float(scale)


def _side_by_side(
    n_nodes: int, parts: Sequence[Sequence[int] | NDArray[np.int64]], boxes: Sequence[np.ndarray]
) -> np.ndarray:
    """Places of all nodes: each box, which holds those of a part, in turn where it lies lowest, on
    a page about 3:2 wide."""
    # Sizes in whole columns of SPACING, with a margin of one and a half.
    sizes = [np.ceil((box.max(axis=0) + 1.5 * SPACING) / SPACING).astype(int) for box in boxes]
    area = sum(int(width * height) for width, height in sizes)
    columns = max([int(np.sqrt(1.6 * area)), *(int(width) for width, _ in sizes)])
    top = np.zeros(columns, dtype=int)
    places = np.zeros((n_nodes, 2))
    for part, box, (width, height) in zip(parts, boxes, sizes, strict=True):
        windows = np.lib.stride_tricks.sliding_window_view(top, width).max(axis=1)
        x = int(windows.argmin())
        places[part] = box + np.array([x, windows[x]]) * SPACING
        top[x : x + width] = windows[x] + height
    return places
