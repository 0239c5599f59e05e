"""The top of the page: what was found, and, further down, whether to trust it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pairtile.report.method_report import CaptionedFigure, PageSection, Results
from pairtile.report.packed_columns import table_cells
from pairtile.report.sections.network import drawing_section, ends
from pairtile.report.text import page_text

_SAMPLES = {"cleaning", "samples", "components", "hidden_factors"}
DIAGNOSTICS = _SAMPLES | {"score_distribution", "degree_distribution"}
"""Figures that say whether to believe the others."""


def findings_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The first screen: what makes the result doubtful, its first rows and one picture; then key
    numbers (value, what it is, what it is set against, its place) and sentences with places."""
    text, answer = page_text(results), results.method_report.answer
    above, table = answer.rows(results)
    shown = answer_picture(results, pictures)
    drawing = None if shown or results.network.empty else drawing_section(results, pictures)
    file = answer.file if (results.folder / answer.file).is_file() else "network.parquet"
    headings = results.text.headings(map(str, table), file)
    if [*table][:2] == ["source", "target"]:
        headings[:2] = [(end, "") for end in ends(results)]
    return first_screen(
        results.summary,
        numbers=[*text.rows("key_numbers"), *text.rows("gold_standard_number")],
        sentences=[
            sentence
            for name in ("findings", "gold_standard", "stages")
            for sentence in text.sentences(name)
        ],
        above=above,
        headings=headings,
        rows=table_cells(table),
        pictures=shown,
        drawing=drawing,
    )


def first_screen(
    summary: Summary,
    *,
    numbers: Sequence[tuple[str, ...]],
    sentences: Sequence[tuple[str, Sequence[str]]],
    above: str,
    headings: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[str]],
    pictures: Sequence[CaptionedFigure] = (),
    drawing: PageSection | None = None,
) -> PageSection:
    """The first section of a page: rows under ``headings``, beside them the picture."""
    return PageSection(
        id="findings",
        title="What was found",
        template="section_findings.html.j2",
        values={
            "severe": [
                re.split("(?<=[.:]) (?=[A-Z])", said["text"])[0] for said in _severe(summary)
            ],
            "n_warnings": len(summary.get("warnings") or ()),
            "above": above,
            "headings": headings,
            "rows": rows,
            "pictures": pictures,
            "drawing": drawing and drawing.values,
            "numbers": numbers,
            "sentences": sentences,
        },
        scripts=drawing.scripts if drawing else figure_scripts(pictures),
    )


def figure_scripts(pictures: Sequence[CaptionedFigure]) -> tuple[str, ...]:
    """What the figures of a section need to be looked into: of charts that is Vega."""
    kinds = {"maps.js" if "maps" in some.chart else "charts.js" for some in pictures if some.chart}
    return ("save_file.js", "figures.js", *(("hint.js", *sorted(kinds)) if kinds else ()))


def answer_picture(results: Results, pictures: list[CaptionedFigure]) -> list[CaptionedFigure]:
    """The figure of the first screen; none where it is the drawing of the network."""
    made = {picture.name: picture for picture in pictures}
    return [made[name] for name in results.method_report.answer.pictures if name in made][:1]


Summary: TypeAlias = Mapping[str, Any]
"""What ``summary.json`` holds."""


def _severe(summary: Summary) -> list[Mapping[str, str]]:
    """The messages that say that the result is doubtful."""
    return [said for said in summary.get("messages") or [] if said["severity"] == "severe"]


def trust_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Warnings and the figures of scores and samples."""
    return trust(results.summary, [some for some in pictures if some.name in DIAGNOSTICS])


def trust(summary: Summary, pictures: Sequence[CaptionedFigure] = ()) -> PageSection:
    """Warnings of a summary and figures; open where a message is severe."""
    return PageSection(
        id="trust",
        title="Can I trust it?",
        template="section_trust.html.j2",
        values={
            "open": bool(_severe(summary)),
            "warnings": summary.get("warnings") or [],
            "pictures": pictures,
        },
        scripts=figure_scripts(pictures),
    )
