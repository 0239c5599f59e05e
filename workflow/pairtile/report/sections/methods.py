"""How it was done: the rules in plain words, and a paragraph for a paper with what it cites."""

from __future__ import annotations

from pairtile.report.results import Results
from pairtile.report.sections.page_section import CaptionedFigure, PageSection


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Rules and paragraph, None for a method that has none ready."""
    if results.text.methods is None:
        return None
    paragraph, references = results.text.methods(results)
    return PageSection(
        id="methods",
        title="Methods",
        template="section_methods.html.j2",
        values={
            "rules": results.text.rules(results),
            "paragraph": paragraph,
            "references": references,
        },
        scripts=("copy.js",),
    )
