"""The top of the page: what was found, in numbers and plain sentences, and what to beware of."""

from __future__ import annotations

from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results


def findings_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Headline, key numbers (value, what it is, what it is set against), sentences, warnings."""
    text = results.page_text
    return PageSection(
        id="findings",
        title="What was found",
        template="section_findings.html.j2",
        values={
            "headline": headline(results),
            "numbers": [
                *(results.text.key_numbers or (lambda _: text.rows("key_numbers")))(results),
                *text.rows("gold_standard_number"),
            ],
            "sentences": [
                *(results.text.remarks or (lambda _: text.lines("findings")))(results),
                *results.text.findings(results),
                *text.lines("gold_standard"),
                *text.lines("cost"),
            ],
            "warnings": results.warnings,
        },
    )


def headline(results: Results) -> str:
    """``312 edges between 40 regulators and 180 genes``."""
    if results.text.headline is not None:
        return results.text.headline(results)
    return results.page_text.text("headline")
