"""The strongest edges of a network, laid out for cytoscape.js, and drawn on a page of its own."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairtile.io.networks.table import NetworkTable

SHOWN_EDGES = 1000
"""Edges that a page draws at most: beyond it a picture is a hairball and a browser slow."""

_SPACING = 60.0


def network_elements(
    network: pd.DataFrame,
    items: pd.DataFrame,
    *,
    directed: bool = False,
    limit: int = SHOWN_EDGES,
    seed: int = 1,
) -> dict[str, Any]:
    """Lay out the ``limit`` strongest edges of a network; ready for JSON and cytoscape.js.

    Parameters
    ----------
    network, items : DataFrame
        As for ``export_network``.
    directed : bool
        Whether a row means source -> target only.
    limit : int
        Edges to show at most, the strongest by ``target_z``, ``clr``, or the value.
    seed : int
        Of the layout (Fruchterman and Reingold 1991, igraph); the same seed, the same picture.

    Returns
    -------
    dict
        ``nodes``: list of ``{"data": {"id", "name", "is_regulator", "degree", ...},
        "position": {"x", "y"}}``, where ``degree`` counts all edges of the network, also those not
        shown; ``edges``: list of ``{"data": {"id", "source", "target", "score", ...}}`` from the
        strongest to the weakest; ``directed``; ``parallel``: whether a pair has several
        edges; ``score``: name of the column behind ``score``;
        ``score_min``, ``score_max`` (None without edges); ``shown_edges``, ``total_edges``,
        ``shown_genes``, ``total_genes`` (genes with an edge). Missing values are left out. Names
        are as given: escape them where they enter a page.

    Raises
    ------
    ValueError
        ``limit`` below 1, or as ``export_network``.
    """
    table = NetworkTable.build(network, items, directed=directed)
    return table_elements(table, limit=limit, seed=seed)


def table_elements(
    table: NetworkTable, *, limit: int = SHOWN_EDGES, seed: int = 1
) -> dict[str, Any]:
    """``network_elements`` for a network that is checked already."""
    if limit < 1:
        raise ValueError(f"limit is {limit}; expected at least 1")
    score = np.abs(table.edges[table.score_column].to_numpy(dtype=np.float64))
    shown = table.strongest()[:limit]
    # An edge without a score (NaN comes last) has no place on the page's scale of scores.
    shown = shown[~np.isnan(score[shown])]
    source, target = table.source[shown], table.target[shown]
    genes, ends = np.unique(np.concatenate([source, target]), return_inverse=True)
    ends = ends.reshape(2, -1)
    degree = np.bincount(np.concatenate([table.source, table.target]), minlength=len(table.genes))
    positions = _layout(len(genes), ends, seed)
    names = table.names
    nodes = [
        {
            "data": {"is_regulator": False, **record}
            | {"id": f"n{row}", "name": names[row], "degree": int(degree[row])},
            "position": {"x": x, "y": y},
        }
        for row, record, (x, y) in zip(
            genes.tolist(), table.node_records(genes), positions, strict=True
        )
    ]
    edges = [
        {
            "data": {**record, "id": f"e{row}", "score": float(score[row])}
            | {"source": f"n{start}", "target": f"n{end}"}
        }
        for row, start, end, record in zip(
            shown.tolist(), source.tolist(), target.tolist(), table.edge_records(shown), strict=True
        )
    ]
    return {
        "nodes": nodes,
        "edges": edges,
        "directed": table.directed,
        "parallel": table.has_parallel_edges(),
        "score": table.score_column,
        "score_min": float(score[shown].min()) if shown.size else None,
        "score_max": float(score[shown].max()) if shown.size else None,
        "shown_edges": len(edges),
        "total_edges": len(table.edges),
        "shown_genes": len(nodes),
        "total_genes": int((degree > 0).sum()),
    }


def _layout(n_nodes: int, ends: np.ndarray, seed: int) -> list[tuple[float, float]]:
    """Positions in pixels, about ``_SPACING`` from neighbour to neighbour."""
    import igraph

    if n_nodes == 0:
        return []
    graph = igraph.Graph(n=n_nodes, edges=list(zip(*ends.tolist(), strict=True)))
    graph.simplify()
    # igraph draws from one generator for the whole process; it is handed back afterwards.
    igraph.set_random_number_generator(random.Random(seed))
    try:
        # igraph's grid, its choice above 1,000 genes, puts leaves onto their hubs.
        layout = graph.layout_fruchterman_reingold(niter=300, grid=False)
    finally:
        igraph.set_random_number_generator(random)
    return [(round(x * _SPACING, 1), round(y * _SPACING, 1)) for x, y in layout.coords]


def write_html(network: NetworkTable, path: Path) -> None:
    """Write a page with the strongest edges, a search for genes and a slider for the score.

    Nothing is loaded from elsewhere: cytoscape.js (MIT) is in the page. Names reach the page as
    escaped JSON and are only ever set as text, so that markup in a name stays a name.
    """
    import jinja2
    from markupsafe import Markup

    folder = files("pairtile") / "report"
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(
        (folder / "templates" / "network.html.j2").read_text(encoding="utf-8")
    )
    scripts = [
        (folder / place / name).read_text(encoding="utf-8")
        for place, name in (("vendor", "cytoscape.min.js"), ("templates", "network_page.js"))
    ]
    page = template.render(
        name=network.name or "network",
        metadata=network.metadata,
        elements=table_elements(network),
        scripts=[Markup(script) for script in scripts],
        content_policy=content_policy(scripts),
    )
    path.write_text(page + "\n", encoding="utf-8")


def content_policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded from anywhere, and only these scripts run: by their digest.

    So markup in a name could do nothing, even if it found its way into the page as such.
    """
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
        for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
