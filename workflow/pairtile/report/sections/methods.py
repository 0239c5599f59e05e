"""How it was done: the rules in plain words, and a paragraph for a paper with what it cites."""

from __future__ import annotations

from pairtile.report.results import Results
from pairtile.report.sections.base import Picture, Section


def section(results: Results, pictures: list[Picture]) -> Section | None:
    """Rules and paragraph, None for a method that has none ready."""
    if results.words.methods is None:
        return None
    paragraph, references = results.words.methods(results)
    return Section(
        id="methods",
        title="Methods",
        template="section_methods.html.j2",
        values={
            "rules": results.words.rules(results),
            "paragraph": paragraph,
            "references": references,
        },
        scripts=("copy.js",),
    )
