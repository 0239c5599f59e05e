"""A page of a network alone: its strongest edges, drawn as in the report."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from pairtile.io.networks.drawing import MAX_EDGES, network_data
from pairtile.io.networks.table import NetworkTable
from pairtile.io.symbols import unique_labels

DRAWING_SCRIPTS = (
    "cytoscape.min.js", "network_data.js", "network_style.js", "network_views.js",
    "network_labels.js", "network_svg.js", "save_file.js", "network_view.js",
)  # fmt: skip
"""What section_drawing.html.j2 needs, in order, of the report's vendor/ and templates/."""


def write_html(network: NetworkTable, path: Path) -> None:
    """Write a page with the drawing that the report has.

    Nothing is loaded from elsewhere: cytoscape.js (MIT) is in the page. Names reach the page as
    escaped JSON and are only ever set as text, so that markup in a name stays a name.
    """
    from markupsafe import Markup

    from pairtile.runtime.page_templates import content_policy, page_templates

    folder = Path(__file__).parents[2] / "report"
    environment = page_templates(folder / "templates")
    environment.filters["count"] = "{:,}".format
    drawing = () if network.edges.empty else DRAWING_SCRIPTS
    places = {"cytoscape.min.js": "vendor", "choose.js": "../view/templates"}
    scripts = [
        (folder / places.get(name, "templates") / name).read_text(encoding="utf-8")
        for name in ("errors.js", "choose.js", *drawing, "ready.js")
    ]
    page = environment.get_template("network.html.j2").render(
        name=network.name or "network",
        metadata=network.metadata,
        values=_values(network),
        style=Markup((folder / "templates" / "report.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in scripts],
        content_policy=content_policy(scripts),
    )
    path.write_text(page + "\n", encoding="utf-8")


def _values(network: NetworkTable) -> dict[str, object]:
    """What section_drawing.html.j2 is given."""
    if network.edges.empty:
        return {"shown": 0}
    items = network.genes.assign(identifier=network.names, name=network.names)
    edges = network.edges.iloc[network.strongest()[:MAX_EDGES]].reset_index(drop=True)
    if "symbol" in items:
        labels = unique_labels(items)
        items["name"] = items["name"].map(labels)
        edges = edges.assign(source=edges["source"].map(labels), target=edges["target"].map(labels))
    names, degree = items["name"].to_numpy(), network.degree
    data = network_data(
        edges,
        items,
        pd.Series(degree, index=names),
        score=network.score_column,
        method=network.method,
        directed=network.directed,
        regulators=set(names[network.is_regulator]),
    )
    return {
        "shown": len(data["edges"]),
        "total": len(network.edges),
        "n_nodes": len(data["nodes"]),
        "n_items": f"{np.count_nonzero(degree):,}",
        "data": data,
        "strength": network.score_column,
        "directed": network.directed,
        "has_regulators": bool(network.is_regulator.any()),
        # What the edges join is for the method to say, and a file format knows no method.
        "text": SimpleNamespace(
            item="node",
            items="nodes",
            edge="edge",
            edges="edges",
            regulator="regulator",
            target="target",
        ),
    }
