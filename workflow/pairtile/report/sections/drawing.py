"""The network, drawn by cytoscape.js: small ones whole, large ones as modules that open."""

from __future__ import annotations

from pairtile.report.drawn_network import network_data
from pairtile.report.formats import count
from pairtile.report.results import Results
from pairtile.report.sections.page_section import CaptionedFigure, PageSection


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """What the drawing shows and its data; without edges, only a sentence that says so."""
    if results.network.empty:
        return PageSection("network", "The network", "section_drawing.html.j2", {"shown": 0})
    data = network_data(results)
    return PageSection(
        id="network",
        title="The network",
        template="section_drawing.html.j2",
        values={
            "shown": len(data["edges"]),
            "total": len(results.network),
            "n_nodes": len(data["nodes"]),
            "n_items": count(len(results.degree)),
            "data": data,
            "judged": len(data["edges"][0]) > 3,
            "strength": results.text.column(results.strength) if results.strength else "",
            "directed": results.directed,
            "has_regulators": bool(results.regulators),
            "words": results.text,
        },
        scripts=(
            "cytoscape.min.js", "network_data.js", "network_style.js", "network_views.js",
            "network_labels.js", "network_svg.js", "save_file.js", "network_view.js",
        ),
    )  # fmt: skip
