"""The sections of the page, in reading order, each with its template."""

from __future__ import annotations

from pkgutil import resolve_name

from pairtile.config.downstream import PACKAGE
from pairtile.report.method_report import (
    CaptionedFigure,
    PageSection,
    Results,
    SectionMaker,
    made_of,
    needed,
)
from pairtile.report.sections.findings import (
    DIAGNOSTICS,
    answer_picture,
    figure_scripts,
    findings_section,
    trust_section,
)
from pairtile.report.sections.network import drawing_section, edges_section, evaluation_section
from pairtile.report.sections.run import (
    cleaning_section,
    files_section,
    methods_section,
    run_section,
)

__all__ = ["CaptionedFigure", "PageSection", "page_sections"]


def page_sections(results: Results, pictures: list[CaptionedFigure]) -> list[PageSection]:
    """The sections that have something to show; those of method and stages follow the edges."""
    on_top = answer_picture(results, pictures)
    makers: tuple[SectionMaker, ...] = (
        findings_section,
        *results.method_report.sections,
        *resolve_name(f"{PACKAGE}.page:SECTIONS"),
        *([drawing_section] if on_top or results.network.empty else []),
        edges_section,
        figures_section,
        evaluation_section,
        trust_section,
        cleaning_section,
        files_section,
        run_section,
        methods_section,
    )
    return [section for make in makers if (section := made_of(results, make, pictures))]


def figures_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The pictures that stand nowhere else."""
    elsewhere = DIAGNOSTICS.union(on_top.name for on_top in answer_picture(results, pictures))
    shown = [picture for picture in pictures if picture.name not in elsewhere]
    return figures_section_of(needed(shown))


def figures_section_of(pictures: list[CaptionedFigure]) -> PageSection:
    """The section of some figures."""
    return PageSection(
        id="figures",
        title="Figures",
        template="section_figures.html.j2",
        values={"pictures": pictures},
        scripts=figure_scripts(pictures),
    )
