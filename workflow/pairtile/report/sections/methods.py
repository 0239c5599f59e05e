"""A methods paragraph to paste into a paper, with the papers that it cites."""

from __future__ import annotations

from pairtile.report.results import Results
from pairtile.report.sections.base import Picture, Section


def section(results: Results, pictures: list[Picture]) -> Section | None:
    """The paragraph, None for a method that has none ready."""
    if results.words.methods is None:
        return None
    paragraph, references = results.words.methods(results)
    return Section(
        id="methods",
        title="Methods paragraph",
        template="section_methods.html.j2",
        values={"paragraph": paragraph, "references": references},
        scripts=("copy.js",),
    )
