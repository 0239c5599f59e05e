"""The page of an analysis that was split: its groups with links to their pages, what they share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.downstream.page import table_of_page
from pairtile.report.charts import bars, heat_map
from pairtile.report.make_figures import write_figures
from pairtile.report.method_report import ANSWER_ROWS, CaptionedFigure, Drawn, PageSection
from pairtile.report.page import render_sections
from pairtile.report.sections import figures_section_of
from pairtile.report.sections.findings import Summary, first_screen, trust
from pairtile.report.text import Texts, stage_text


def groups_page(summary: Summary, tables: Mapping[str, pd.DataFrame], figures: Path) -> str:
    """The page as text; its figures are written into a folder.

    summary : what ``summary.json`` holds.
    """
    text = stage_text(summary)
    groups, edges = tables["groups.tsv"], tables["shared_edges.tsv"]
    shown = edges[["source", "target", *list(edges)[2:9]]].sort_values(
        ["q_value", "n_groups"], ascending=[True, False], kind="stable"
    )  # those of most interest first; the file has all
    shared, overlap = (
        table_of_page(table, name, title, text.text(f"about_{Path(name).stem}", rows=len(table)))
        for table, name, title in (
            (shown, "shared_edges.tsv", "Edges of all groups"),
            (tables["group_overlap.tsv"], "group_overlap.tsv", "What groups share"),
        )
    )
    on_first_screen = ("source", "target", "most_different", "difference", "q_value")
    brief = [list(shown).index(name) for name in on_first_screen]
    pictures = _figures(tables, figures, text)
    sections = [
        first_screen(
            summary,
            numbers=text.rows("groups_numbers"),
            sentences=text.sentences("groups_findings"),
            above="The edges that differ most between groups",
            headings=[shared.values["headings"][k] for k in brief],
            rows=[[row[k][0] for k in brief] for row in shared.values["rows"][:ANSWER_ROWS]],
            pictures=pictures[:1],
        ),
        PageSection(
            id="groups",
            title="Groups",
            template="section_groups.html.j2",
            values={"groups": groups.to_dict("records"), "left_out": summary["left_out"]},
        ),
        *([figures_section_of(pictures[1:])] if pictures[1:] else []),
        overlap,
        shared,
        trust(summary),
    ]
    return render_sections(
        name=summary["analysis"],
        kind=f"networks by {summary['split_by']}",
        headline=text.text("groups_headline"),
        n_warnings=len(summary["warnings"]),
        version=summary["pairtile_version"],
        sections=sections,
    )


def _figures(
    tables: Mapping[str, pd.DataFrame], folder: Path, text: Texts
) -> list[CaptionedFigure]:
    groups, overlaps = tables["groups.tsv"], tables["group_overlap.tsv"]
    labels = groups["group"].tolist()
    times = np.bincount(tables["shared_edges.tsv"]["n_groups"], minlength=len(labels) + 1)[1:]
    shared = np.full((len(labels), len(labels)), np.nan)
    for row in overlaps.itertuples():
        i, j = labels.index(row.first), labels.index(row.second)
        shared[i, j] = shared[j, i] = row.jaccard
    ticks = dict(enumerate(labels))
    numbers = [str(k + 1) for k in range(len(labels))]
    figure = bars(numbers, {"edges": times}, xlabel="groups that have the edge", ylabel="edges")
    made = {"edges_by_groups": Drawn(figure)}
    if len(labels) > 2:
        figure = heat_map(shared, "shared edges, of those of either", rows=ticks, columns=ticks)
        made["group_overlap"] = Drawn(figure)
    return write_figures(made, text, folder)
