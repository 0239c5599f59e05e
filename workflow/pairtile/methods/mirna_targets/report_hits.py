"""The strongest hits of miRNAs: their alignments, and a table to sort and search."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.methods.mirna_targets.report_hit_cards import cards, seed_columns
from pairtile.methods.mirna_targets.report_tables import hits_of
from pairtile.report.formats import count, number
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.packed_columns import pack_column, to_digits
from pairtile.report.results import Results

FIRST_ROWS = 25
"""Rows of one page; so many are in the page as text, for readers without JavaScript."""

# What the table shows: column and heading.
COLUMNS = {
    "score": "score",
    "energy_kcal_mol": "energy (kcal/mol)",
    "duplex_energy_kcal_mol": "ViennaRNA energy (kcal/mol)",
    "seed_class": "seed class",
    "site_begin": "site",
    "identity_percent": "identity (%)",
    "local_au": "local AU",
    "accessibility": "accessibility",
    "relative_position": "relative position",
}


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Alignments and table; None where there is no hit."""
    found = results.cached(hits_of)
    if found is None or not found.n:
        return None
    hits = found.strongest
    columns = [name for name in COLUMNS if name in hits and hits[name].notna().any()]
    return PageSection(
        id="hits",
        title="Strongest hits",
        template="section_mirna_hits.html.j2",
        values={
            "shown": len(hits),
            "total": found.n,
            "sites": cards(found),
            "headings": [COLUMNS[name] for name in columns],
            "rows": _rows(hits.head(FIRST_ROWS), columns),
            "data": _data(hits, columns),
        },
        scripts=(
            "datatables.min.js", "searchable_table.js", "packed_columns.js", "table_columns.js",
            "hits_table.js",
        ),
    )  # fmt: skip


def _data(hits: pd.DataFrame, columns: list[str]) -> dict[str, Any]:
    """The table packed. Lines of pairs are not there: the script reads them off the letters."""
    queries = hits["query_alignment"]
    seeds = pd.DataFrame(map(seed_columns, queries), columns=["begin", "end"])
    return {
        "rows_a_page": FIRST_ROWS,
        "n": len(hits),
        "mirna": pack_column(hits["mirna"]),
        "transcript": pack_column(hits["transcript"]),
        "query": pack_column(queries),
        "reference": pack_column(hits["reference_alignment"]),
        "seed_begin": pack_column(seeds["begin"]),
        "seed_end": pack_column(seeds["end"]),
        "columns": [_packed(hits, name) for name in columns],
    }


def _packed(hits: pd.DataFrame, name: str) -> dict[str, Any]:
    packed = pack_column(hits[name])
    if name != "site_begin":
        return packed
    # Lengths are few different numbers, ends are many.
    return packed | {"kind": "span", "length": pack_column(hits["site_end"] - hits[name])}


def _rows(hits: pd.DataFrame, columns: list[str]) -> list[list[str]]:
    """The cells of each hit as the script writes them; that of its button is empty."""
    return [
        [str(hit["mirna"]), str(hit["transcript"]), "", *(_shown(hit, name) for name in columns)]
        for hit in hits.to_dict("records")
    ]


def _shown(hit: dict[Any, Any], name: str) -> str:
    if name == "site_begin":
        return f"{count(hit[name])}–{count(hit['site_end'])}"
    if isinstance(hit[name], str):
        return hit[name]
    return number(to_digits(hit[name]), 4, pad=True)
