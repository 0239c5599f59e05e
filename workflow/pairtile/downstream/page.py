"""What the page shows of the stages: figures, and a section with the first rows of each table."""

from __future__ import annotations

from collections.abc import Mapping

from pairtile.declare.columns import explained
from pairtile.report.formats import spaced
from pairtile.report.method_report import CaptionedFigure, FigureMaker, PageSection, SectionMaker
from pairtile.report.results import Results, read_result_table
from pairtile.report.sections.network import table_cells
from pairtile.report.text import page_text

SHOWN_ROWS = 20


def table_section(file: str, title: str) -> SectionMaker:
    """The section that shows the first rows of a stage's table, where the analysis has it; above it
    stands the macro ``about_STEM`` of ``text.md.j2``."""

    def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
        path = results.folder / file
        if not path.is_file():
            return None
        table = read_result_table(path, __package__)
        shown = table.head(SHOWN_ROWS)
        known = {name: explained(__package__, file, name) for name in map(str, table)}
        ends = [name for name in ("source", "target", "gene", "regulator") if name in table]
        shown = results.labelled(shown, ends)
        return PageSection(
            id=path.stem.replace("_", "-"),
            title=title,
            template="section_stage.html.j2",
            values={
                "intro": page_text(results).text(f"about_{path.stem}", rows=len(table)),
                "headings": [
                    ((c and c.heading_of(name)) or spaced(name), c.hint if c else "")
                    for name, c in known.items()
                ],
                "rows": table_cells(shown),
                "total": len(table),
                "file": file,
            },
        )

    return section


FIGURES: Mapping[str, FigureMaker] = {}
"""Name of the file -> maker, after those of the method."""

SECTIONS: tuple[SectionMaker, ...] = ()
"""After those of the method."""
