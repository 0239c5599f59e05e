"""The files of results that only one method has: what they hold, and what their columns mean."""

from __future__ import annotations

from pairtile.report.results import Results
from pairtile.report.sections.page_section import CaptionedFigure, PageSection

ALWAYS = frozenset({"items.parquet", "pairs.parquet", "network.parquet", "summary.json"})
"""Files of every analysis, also where the report is made without a copy of them at hand."""


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """The files that are there, None for a method without words for any."""
    found = {
        name: holds
        for name, holds in results.text.files.items()
        if name in ALWAYS or (results.folder / name).exists()
    }
    if not found:
        return None
    columns = {
        name: columns for name, columns in results.text.file_columns.items() if name in found
    }
    return PageSection(
        id="files",
        title="Files",
        template="section_files.html.j2",
        values={"files": found, "columns": columns},
    )
