"""The sections of the page, in reading order, each in a file of its own with its template."""

from __future__ import annotations

from pairtile.report.results import Results
from pairtile.report.sections import (
    cleaning,
    drawing,
    edges,
    evaluation,
    figures,
    files,
    findings,
    methods,
    run,
)
from pairtile.report.sections.page_section import CaptionedFigure, PageSection


def page_sections(results: Results, pictures: list[CaptionedFigure]) -> list[PageSection]:
    """The sections that have something to show; those of the method follow the figures."""
    makers = (
        findings.section,
        figures.section,
        *results.method_report.sections,
        drawing.section,
        edges.section,
        evaluation.section,
        cleaning.section,
        files.section,
        run.section,
        methods.section,
    )
    return [section for make in makers if (section := make(results, pictures)) is not None]


__all__ = ["CaptionedFigure", "PageSection", "page_sections"]
