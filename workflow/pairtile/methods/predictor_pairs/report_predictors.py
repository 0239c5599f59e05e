"""The reported predictor sets as a table to sort and search."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.methods.predictor_pairs.report_results import (
    GAINS,
    PredictorResults,
    predictor_results,
)
from pairtile.report.formats import count, number
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results

MAX_ROWS = 6000
"""So many targets at most; the page stays under 5 MB."""

MAX_ROWS_OF_RANKS = 2000
"""As many ranks of every target as fit in so many rows, at least the best."""

HEADINGS = {
    "predictor_1": "predictor 1",
    "predictor_2": "predictor 2",
    "predictor_3": "predictor 3",
    "n_ties": "equal sets",
    "p_value": "p-value",
    "q_value": "q-value",
    "mce_bits": "MCE",
    "target_entropy_bits": "H(Y)",
    "mi_bits": "MI",
    "imp_bits": "IMP",
    "gain_1": "gain 1",
    "gain_2": "gain 2",
    "gain_3": "gain 3",
    "n_samples": "samples",
    "kept": "in network",
}
"""Short, for a table of many columns; the page explains them beside it."""

# What is shown, and the number to sort by (None: what is shown).
Cell = tuple[str, str | None]


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """The table; None for another method and where no set was reported."""
    found = results.cached(predictor_results)
    if found is None or found.sets.empty:
        return None
    table = shown_sets(found.sets)
    columns = _columns(found, table)
    return PageSection(
        id="predictors",
        title=f"Best {found.word}s of each target",
        template="section_predictors.html.j2",
        values={
            "headings": [HEADINGS.get(column, column) for column in columns],
            "rows": list(zip(*(_cells(table[column]) for column in columns), strict=True)),
            "ranks": int(table["rank"].max()),
            "shown": table["target"].nunique(),
            "total": found.sets["target"].nunique(),
            "reported": len(found.sets),
            "tied": int(found.tied.sum()),
            "word": found.word,
            "joint": len(found.members) > 1,
            "tested": found.tested,
        },
        scripts=("datatables.min.js", "searchable_table.js", "predictors_table.js"),
    )


def shown_sets(sets: pd.DataFrame) -> pd.DataFrame:
    """The first ranks of the targets of which most is told, these first; equals by name."""
    best = sets[sets["rank"] == 1].sort_values(
        ["information_bits", "target"], ascending=[False, True]
    )
    place = {target: k for k, target in enumerate(best["target"].head(MAX_ROWS))}
    table = sets[sets["target"].isin(place)]
    per_rank = table["rank"].value_counts().sort_index().cumsum()
    ranks = max(1, int((per_rank <= MAX_ROWS_OF_RANKS).sum()))
    table = table[table["rank"] <= ranks]
    order = table["target"].map(place).to_numpy() * (ranks + 1) + table["rank"].to_numpy()
    return table.iloc[order.argsort(kind="stable")]


def _columns(found: PredictorResults, table: pd.DataFrame) -> list[str]:
    columns = ["target", "rank", *found.members, "n_ties"]
    columns += ["p_value", "q_value"] if found.tested else []
    columns += ["mce_bits", "target_entropy_bits", "mi_bits"]
    if len(found.members) > 1:
        columns += ["imp_bits", *(column for column in GAINS if column in table)]
    if table["n_samples"].nunique() > 1:
        columns.append("n_samples")
    return [*columns, "kept"]


def _cells(values: pd.Series) -> list[Cell]:
    if values.name == "n_ties":
        return [(_standing(n), str(n)) for n in values.tolist()]
    if values.dtype == bool:
        return [("yes" if value else "no", None) for value in values]
    if values.dtype.kind == "f":
        shown = [number(value, 4, pad=True) for value in values]
        if not values.isna().any():
            return [(text, None) for text in shown]
        # What has no value is sorted below all that have one.
        order = ["-1e308" if pd.isna(value) else f"{value:.8g}" for value in values]
        return list(zip(shown, order, strict=True))
    if values.dtype.kind in "iu":
        return [(count(value), None) for value in values]
    return [(str(value), None) for value in values]


def _standing(n_ties: Any) -> str:
    """Whether a set stands above the others of its target, on one line."""
    return "alone" if n_ties == 1 else f"1 of {count(n_ties)}: arbitrary".replace(" ", "\u00a0")
