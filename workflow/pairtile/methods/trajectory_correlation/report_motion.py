"""What the network of motions tells: communities, paths, and every variable as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pairtile.methods.trajectory_correlation.report_findings import members_in_words
from pairtile.methods.trajectory_correlation.report_results import (
    METHOD_NAMES,
    MotionResults,
    motion_results,
)
from pairtile.report.formats import count, number
from pairtile.report.method_report import CaptionedFigure, Grouping, PageSection
from pairtile.report.results import Results

MAX_COMMUNITIES, MAX_PATHS, MAX_RESIDUES = 30, 200, 3000

COLUMNS = {
    "domain": "domain",
    "secondary_structure": "fold",
    "community_leiden": "community",
    "community_girvan_newman": "community (GN)",
    "degree": "edges",
    "betweenness": "betweenness",
    "mean_correlation": "mean correlation",
    "sd": "fluctuation",
    "correlation_time": "correlation time",
    "n_effective": "effective frames",
}
"""Columns of residues.tsv that the page shows, and their headings."""

# What is shown, and the number to sort by (None: what is shown).
Cell = tuple[str, str | None]


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Tables; None for another method."""
    found = results.cached(motion_results)
    if found is None:
        return None
    residues = found.residues.sort_values(
        ["betweenness", "item"], ascending=[False, True], kind="stable"
    ).head(MAX_RESIDUES)
    columns = [column for column in COLUMNS if column in residues and _tells(residues[column])]
    return PageSection(
        id="motion",
        title="Communities and paths",
        template="section_motion.html.j2",
        values={
            "words": results.text,
            "communities": [_communities(found, method) for method in found.community_methods],
            "paths": _paths(found.paths),
            "paths_total": len(found.paths),
            "headings": [results.text.item, *(COLUMNS[column] for column in columns)],
            "rows": [
                (str(name), list(cells))
                for name, *cells in zip(
                    residues["name"], *(_cells(residues[column]) for column in columns), strict=True
                )
            ],
            "shown": len(residues),
            "total": len(found.residues),
        },
        scripts=("datatables.min.js", "searchable_table.js", "residues_table.js"),
    )


def _communities(found: MotionResults, method: str) -> dict[str, Any]:
    table = found.communities[found.communities["method"] == method]
    member = found.members(method)
    rows = []
    for row in table.head(MAX_COMMUNITIES).to_dict("records"):
        where = found.residues[member == row["community"]]
        rows.append(
            {
                "number": count(row["community"]),
                "members": count(row["n_members"]),
                "where": members_in_words(where, found.several_chains, limit=20),
                "within": count(row["edges_within"]),
                "out": count(row["edges_out"]),
                "correlation": number(row["mean_correlation"]),
            }
        )
    return {
        "method": METHOD_NAMES.get(method, method),
        "modularity": number(float(table["modularity"].iloc[0])) if len(table) else "",
        "rows": rows,
        "more": len(table) - len(rows),
        "alone": int((member == 0).sum()),
    }


def _paths(paths: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for row in paths.head(MAX_PATHS).to_dict("records"):
        found = bool(row["path"])
        rows.append(
            {
                "ends": f"{row['source']} – {row['target']}",
                "rank": count(row["rank"]) if found else "–",
                "length": number(row["length"]) if found else "–",
                "weakest": number(row["weakest_correlation"]) if found else "–",
                "path": " → ".join(row["path"].split(" ")) if found else "nothing joins the two",
            }
        )
    return rows


def _tells(values: pd.Series) -> bool:
    """Whether a column is worth a place: not empty."""
    return bool((values != "").any()) if values.dtype == object else bool(values.notna().any())


def _cells(values: pd.Series) -> list[Cell]:
    if values.dtype.kind == "f":
        # What has no value is sorted below all that have one.
        return [(number(value), "-1e308" if pd.isna(value) else f"{value:.8g}") for value in values]
    if values.dtype.kind in "iu":
        return [(count(value), str(value)) for value in values]
    return [(str(value), None) for value in values]


def community_grouping(results: Results, names: pd.Index[Any]) -> Grouping | None:
    """The communities by the first method that was asked for."""
    motion = results.cached(motion_results)
    if not motion.community_methods:
        return None
    members = motion.members(motion.community_methods[0])
    rows = np.array([motion.number.get(name, -1) for name in names], dtype=np.int64)
    of_node = np.where(rows >= 0, members[rows], 0)
    return Grouping(of_node, "community", "communities", "")
