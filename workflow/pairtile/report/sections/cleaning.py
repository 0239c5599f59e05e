"""What was cleaned: what was decided on the way, and the items that were left out."""

from __future__ import annotations

import pandas as pd

from pairtile.report.formats import spaced
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results

MAX_ROWS = 500
COLUMNS = ("n_observed", "n_missing_input", "n_zeros_to_missing")
"""Columns of items.parquet that say why."""


# Steps that have notes, in the order in which they run, and what they do.
STEPS = {
    "prepare": "Preparing the input",
    "network_data": "Reading what the network needs",
    "plan": "Planning the work",
    "null": "What chance alone gives",
    "merge_scan": "Joining the first scan of all pairs",
    "merge": "Joining the scores of all pairs",
    "network": "Making the network",
    "evaluate": "Comparing with the gold standard",
    "tables": "Writing the tables",
    "values": "Preparing what follows the network",
}


def cleaning_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Notes and the table of left-out items, None when there are neither."""
    notes = _notes(results)
    dropped = results.dropped
    if not notes and dropped.empty:
        return None
    columns = [column for column in COLUMNS if column in dropped]
    return PageSection(
        id="cleaning",
        title="Cleaning and choices",
        template="section_cleaning.html.j2",
        values={
            "notes": notes,
            "headings": [
                (results.text.item, ""),
                ("left out because", ""),
                *results.text.headings(columns, "items.parquet"),
            ],
            "rows": _rows(dropped.head(MAX_ROWS), columns),
            "shown": min(len(dropped), MAX_ROWS),
            "total": len(dropped),
            "text": results.text,
        },
    )


def _notes(results: Results) -> list[tuple[str, list[str]]]:
    """The notes of each step with a heading, steps in their order, each note at its first place."""
    found = dict(results.summary.get("notes_by_step") or {})
    steps = dict.fromkeys([step for step in STEPS if step in found] + list(found))
    groups = [(STEPS.get(step, spaced(step)), found[step]) for step in steps]
    listed_before: set[str] = set()
    kept = []
    for heading, notes in groups:
        new = [note for note in dict.fromkeys(map(str, notes)) if note not in listed_before]
        listed_before.update(new)
        if new:
            kept.append((heading, new))
    return kept


def _rows(dropped: pd.DataFrame, columns: list[str]) -> list[tuple[str, str, list[object]]]:
    return [
        (str(row["name"]), str(row["reason"]), [row[column] for column in columns])
        for row in dropped.to_dict("records")
    ]
