"""The strongest edges as a table to sort and search."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.report.formats import count, number
from pairtile.report.results import Results
from pairtile.report.sections.base import Picture, Section

MAX_ROWS = 1000
# What is shown, and the number to sort by (None: the text itself).
Cell = tuple[str, str | None]


def section(results: Results, pictures: list[Picture]) -> Section | None:
    """The table, None for an empty network."""
    if results.network.empty:
        return None
    table = results.words.edge_table(results, results.strongest(MAX_ROWS))
    if "p_method" in table and not (table["p_method"] == "extrapolated").any():
        table = table.drop(columns="p_method")
    values = [column for column in table.columns if column not in ("source", "target")]
    return Section(
        id="edges",
        title=f"Strongest {results.words.edges}",
        template="section_edges.html.j2",
        values={
            "headings": [*_ends(results), *(results.words.column(column) for column in values)],
            "rows": _rows(table, values),
            "shown": len(table),
            "total": len(results.network),
            "strength": results.words.column(results.strength) if results.strength else "",
            "n_bootstraps": (results.parameters.get("bootstraps") or {}).get("number")
            if "support" in table
            else None,
            "words": results.words,
        },
        scripts=("datatables.min.js", "searchable_table.js", "edges_table.js"),
    )


def _ends(results: Results) -> list[str]:
    if results.regulators:
        return [results.words.regulator, results.words.target or "target"]
    if results.directed:
        return ["source", "target"]
    item = results.words.item
    return [f"{item} 1", f"{item} 2"]


def _rows(table: pd.DataFrame, values: list[str]) -> list[tuple[str, str, list[Cell]]]:
    """For each edge its ends and its cells."""
    kinds = {column: table[column].dtype.kind for column in values}
    rows = []
    for record in table.to_dict("records"):
        cells = [_cell(record[column], kinds[column]) for column in values]
        rows.append((str(record["source"]), str(record["target"]), cells))
    return rows


def _cell(value: Any, kind: str) -> Cell:
    if kind in "iu":
        return count(value), str(value)
    if kind == "f":
        # What has no value is sorted below all that have one.
        return number(value, 4, pad=True), "-1e308" if pd.isna(value) else f"{value:.8g}"
    return str(value), None
