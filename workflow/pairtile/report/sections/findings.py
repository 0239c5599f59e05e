"""The top of the page: what was found, in numbers and plain sentences, and what to beware of."""

from __future__ import annotations

from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results
from pairtile.report.text import page_text


def findings_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Headline, key numbers (value, what it is, what it is set against), sentences, warnings."""
    text = page_text(results)
    return PageSection(
        id="findings",
        title="What was found",
        template="section_findings.html.j2",
        values={
            "headline": text.text("headline"),
            "numbers": [*text.rows("key_numbers"), *text.rows("gold_standard_number")],
            "sentences": [
                sentence
                for name in ("findings", "gold_standard", "stages", "cost")
                for sentence in text.lines(name)
            ],
            "warnings": results.warnings,
        },
    )
