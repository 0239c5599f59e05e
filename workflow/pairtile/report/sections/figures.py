"""The figures, each with its caption."""

from __future__ import annotations

from pairtile.report.results import Results
from pairtile.report.sections.page_section import CaptionedFigure, PageSection


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """The pictures that could be made, None when there is none."""
    if not pictures:
        return None
    return PageSection(
        id="figures",
        title="Figures",
        template="section_figures.html.j2",
        values={"pictures": pictures},
        scripts=("save_file.js", "figures.js"),
    )
