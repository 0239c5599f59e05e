"""One self-contained page that draws the network; opens offline in any browser."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pairtile.io.networks.elements import table_elements
from pairtile.io.networks.table import NetworkTable
from pairtile.report.content_policy import content_policy


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
