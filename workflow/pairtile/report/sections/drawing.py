"""The network, drawn: the strongest edges, placed here and shown by cytoscape.js."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairtile.report.formats import count
from pairtile.report.layout import place_nodes
from pairtile.report.results import Results
from pairtile.report.sections.base import Picture, Section

MAX_EDGES = 600


def section(results: Results, pictures: list[Picture]) -> Section:
    """What the drawing shows and its data; without edges, only a sentence that says so."""
    if results.network.empty:
        return Section("network", "The network", "section_drawing.html.j2", {"shown": 0})
    data = network_data(results)
    return Section(
        id="network",
        title="The network",
        template="section_drawing.html.j2",
        values={
            "shown": len(data["edges"]),
            "total": len(results.network),
            "n_nodes": len(data["nodes"]),
            "n_items": count(len(results.degree)),
            "data": data,
            "directed": results.directed,
            "has_regulators": bool(results.regulators),
            "words": results.words,
        },
        scripts=("cytoscape.min.js", "network_style.js", "network_view.js"),
    )


def network_data(results: Results) -> dict[str, Any]:
    """Nodes (name, x, y, edges in the whole network, regulator or not) and edges (ends, weight).

    The weight is the edge's place among the drawn ones, 1 for the strongest, near 0 for the
    weakest: scores differ too much between analyses to be a width.
    """
    table = results.strongest(MAX_EDGES)
    names = list(dict.fromkeys([*table["source"], *table["target"]]))
    row = {name: number for number, name in enumerate(names)}
    ends = [(row[s], row[t]) for s, t in zip(table["source"], table["target"], strict=True)]
    places = np.round(place_nodes(len(names), ends), 1).tolist()
    degree = results.degree
    nodes = [
        [str(name), x, y, int(degree[name]), int(name in results.regulators)]
        for name, (x, y) in zip(names, places, strict=True)
    ]
    weights = np.round(1 - np.arange(len(ends)) / max(len(ends), 1), 3).tolist()
    edges = [[s, t, weight] for (s, t), weight in zip(ends, weights, strict=True)]
    return {"directed": results.directed, "nodes": nodes, "edges": edges}
