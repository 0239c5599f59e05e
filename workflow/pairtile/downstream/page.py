"""What the page shows of the stages: a section with each of their tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pairtile.downstream.given import GENE_COLUMNS, Q_VALUE
from pairtile.report.method_report import (
    CaptionedFigure,
    PageSection,
    Results,
    SectionMaker,
    headings,
    needed,
)
from pairtile.report.packed_columns import cells
from pairtile.report.sections.network import SAVED_TABLE
from pairtile.report.text import page_text

NEWS, MODULES = "goes_with", "module_summary.tsv"


def table_section(file: str, title: str) -> SectionMaker:
    """The section that shows a stage's table, where the analysis has it, surest rows first; above
    it stands the macro ``about_STEM`` of ``text.md.j2``."""

    def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
        needed((results.folder / file).is_file())
        table = results.table(file, __package__)
        intro = page_text(results).text(f"about_{Path(file).stem}", rows=len(table))
        symbols = [f"{column}_symbol" for column in GENE_COLUMNS]
        # No q-value of its table comes from that p-value: it stays in the file.
        table = table.drop(columns=["viper_p_value", *symbols], errors="ignore")
        if file == MODULES:
            table = _with_news(results, table)
        if "q_value" in table:
            table = table.sort_values(["q_value", "p_value"], kind="stable")
        return table_of_page(results.labelled(table, GENE_COLUMNS), file, title, intro)

    return section


def _with_news(results: Results, modules: pd.DataFrame) -> pd.DataFrame:
    """Modules with the traits and gene sets that they go with, where any was tested."""
    tested, found = False, dict[int, list[str]]()
    names = {"module_traits.tsv": ("module", "trait"), "enrichment.tsv": ("list", "gene_set")}
    for file, (module, name) in names.items():
        table = results.table(file, __package__)
        table = table[table["kind"] == "module"] if "kind" in table else table
        if table.empty:
            continue
        tested, table = True, table[table["q_value"] <= Q_VALUE]
        for number, what in zip(table[module].astype(int), table[name], strict=True):
            found.setdefault(number, []).append(what)
    news = [", ".join(found.get(number, ())) for number in modules["module"]]
    return modules.assign(**{NEWS: news}) if tested else modules


def table_of_page(table: pd.DataFrame, file: str, title: str, intro: str) -> PageSection:
    """A table as it is written in ``file``, or some of its columns: to search, to sort and to save.
    Rows without news, where it has such a column, are folded."""
    plain = table[NEWS] == "" if NEWS in table else pd.Series(False, table.index)
    rows, folded = (
        # The whole of most tables stands in the page.
        list(zip(*(cells(column) for _, column in part.head(2000).items()), strict=True))
        for part in (table[~plain], table[plain])
    )
    return PageSection(
        id=Path(file).stem.replace("_", "-"),
        title=title,
        template="section_stage.html.j2",
        values={
            "intro": intro,
            "headings": headings(__package__, map(str, table), file),
            "rows": rows,
            "folded": folded,
            "total": len(table),
            "file": file,
        },
        scripts=(*SAVED_TABLE, "saved_tables.js"),
    )


SECTIONS: tuple[SectionMaker, ...] = (
    table_section("differential.tsv", "Pairs that are correlated differently between groups"),
    table_section("differential_hubs.tsv", "Genes with pairs that differ"),
    table_section("target_enrichment.tsv", "Do targets go against their miRNA?"),
    table_section("predicted_targets.tsv", "Predicted targets that go against their miRNA"),
    table_section(MODULES, "Modules and eigengenes"),
    table_section("module_preservation.tsv", "Are modules kept in other samples?"),
    table_section("module_traits.tsv", "Modules and traits"),
    table_section("enrichment.tsv", "Gene sets"),
    table_section("activity_tests.tsv", "Master regulators"),
)
"""After those of the method."""
