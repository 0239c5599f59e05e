"""What was cleaned: what was decided on the way, and the items that were left out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.report.formats import counted
from pairtile.report.results import Results
from pairtile.report.sections.base import Picture, Section

MAX_ROWS = 500
# Columns of items.parquet that tell why: key and heading.
COLUMNS = {
    "n_observed": "samples with a value",
    "n_missing_input": "missing in the input",
    "n_zeros_to_missing": "zeros read as missing",
}


def section(results: Results, pictures: list[Picture]) -> Section | None:
    """Notes and the table of left-out items, None when there are neither."""
    notes = [str(note) for note in results.summary.get("notes") or []]
    notes += _constant(results)
    dropped = results.dropped
    if not notes and dropped.empty:
        return None
    columns = [column for column in COLUMNS if column in dropped]
    return Section(
        id="cleaning",
        title="Cleaning and choices",
        template="section_cleaning.html.j2",
        values={
            "notes": notes,
            "headings": [results.words.item, "left out because", *map(COLUMNS.get, columns)],
            "rows": _rows(dropped.head(MAX_ROWS), columns),
            "shown": min(len(dropped), MAX_ROWS),
            "total": len(dropped),
            "words": results.words,
        },
    )


def _constant(results: Results) -> list[str]:
    items = results.items
    if "constant" not in items:
        return []
    n = int((items["constant"].astype(bool) & items["kept"].astype(bool)).sum())
    if not n:
        return []
    noun = counted(n, results.words.item, results.words.items)
    return [f"{noun} kept although constant: no score above 0 is possible there."]


def _rows(dropped: pd.DataFrame, columns: list[str]) -> list[tuple[str, str, list[Any]]]:
    return [
        (str(row["name"]), str(row["reason"]), [row[column] for column in columns])
        for row in dropped.to_dict("records")
    ]
