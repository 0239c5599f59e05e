"""The sections of the page that only a search for predictor sets has."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.predictor_pairs.charts import LEVEL_COLOURS, cell_colour
from pairtile.methods.predictor_pairs.report_results import (
    GAINS,
    PredictorResults,
    predictor_results,
    rule_of_two,
)
from pairtile.report.formats import count, number
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.packed_columns import cells
from pairtile.report.results import Results

MAX_TARGETS = 12


def levels_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Small heat maps; None where the levels are gone."""
    found = results.cached(predictor_results)
    if found.levels is None or found.best.empty:
        return None
    q, clearest = found.levels.n_levels, found.clearest(MAX_TARGETS)
    return PageSection(
        id="levels",
        title=f"What the clearest {found.word}s tell",
        template="section_predictor_levels.html.j2",
        values={
            "cards": [_card(found, row) for row in clearest.to_dict("records")],
            "alone": int((~found.tied).sum()),
            "total": len(found.best),
            "legend": [(level, _background(LEVEL_COLOURS[q][level], 0.55)) for level in range(q)],
            "word": found.word,
            "lag": results.parameters.get("lag") or 0,
        },
    )


def _card(found: PredictorResults, row: Mapping[Hashable, Any]) -> dict[str, object]:
    """One target: its names, its numbers, and the lines of its table."""
    assert found.levels is not None
    predictors = [str(row[member]) for member in found.members]
    lags = [int(row[f"lag_{k + 1}"]) for k in range(len(predictors)) if f"lag_{k + 1}" in row]
    counts = found.levels.table(predictors, str(row["target"]), lags)
    named = zip(predictors, lags, strict=False)
    predictors = [f"{name} ({lag} before)" for name, lag in named] or predictors
    q = found.levels.n_levels
    lines = list(product(range(q), repeat=len(predictors) - 1))
    rows = counts.reshape(len(lines), q, q)
    return {
        "target": str(row["target"]),
        "facts": _facts(row, len(predictors)),
        "rule": rule_of_two(counts),
        "others": int(row["others"]),
        "predictors": predictors,
        "n_levels": q,
        "lines": [
            (" ".join(map(str, levels)), [_cell(cell) for cell in cells])
            for levels, cells in zip(lines, rows, strict=True)
        ],
    }


def _facts(row: Mapping[Hashable, Any], n_predictors: int) -> str:
    facts = [
        f"tells {number(row['mi_bits'])} of {number(row['target_entropy_bits'])} bits",
        f"MCE {number(row['mce_bits'])}",
    ]
    facts += [f"IMP {number(row['imp_bits'])}"] if n_predictors > 1 else []
    for key in ("p_value", "q_value"):
        if row[key] == row[key]:
            facts.append(f"{key[0]} = {number(row[key])}")
    facts.append(f"{count(row['n_samples'])} samples")
    # A line breaks between facts, not within one.
    return " · ".join(fact.replace(" ", "\u00a0") for fact in facts)


def _cell(counts: NDArray[np.int64]) -> dict[str, object] | None:
    """Counts, the largest marked, and their colour; None where nothing was seen."""
    if not counts.sum():
        return None
    return {
        "counts": [(int(n), bool(n == counts.max())) for n in counts],
        "background": _background(*cell_colour(counts)),
    }


def _background(colour: str, strength: float) -> str:
    """As CSS: clear enough that text stays readable on light and on dark paper."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgb({red} {green} {blue} / {strength:.2f})"


MAX_ROWS = 6000
"""So many targets at most; the page stays under 5 MB."""

MAX_ROWS_OF_RANKS = 2000
"""As many ranks of every target as fit in so many rows, at least the best."""


def sets_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """The table; None where no set was reported."""
    found = results.cached(predictor_results)
    if found.sets.empty:
        return None
    table = shown_sets(found.sets)
    columns = _columns(found, table)
    shown = {column: cells(table[column]) for column in columns}
    shown["n_ties"] = [
        ("alone" if n == 1 else f"1\u00a0of\u00a0{count(n)}: arbitrary", str(n))
        for n in table["n_ties"].tolist()
    ]
    return PageSection(
        id="predictors",
        title=f"Best {found.word}s of each target",
        template="section_predictors.html.j2",
        values={
            "headings": results.text.headings(columns, "predictors.tsv"),
            "rows": list(zip(*(shown[column] for column in columns), strict=True)),
            "ranks": int(table["rank"].max()),
            "shown": table["target"].nunique(),
            "total": found.sets["target"].nunique(),
            "of_network": results.network["target"].nunique(),
            "reported": len(found.sets),
            "tied": int(found.tied.sum()),
            "word": found.word,
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
