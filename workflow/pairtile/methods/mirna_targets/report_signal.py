"""Report: sites and pairs against those of the shuffled miRNAs; sites kept in other species."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pairtile.methods.mirna_targets import figures
from pairtile.methods.mirna_targets.null import CLASS_ROWS
from pairtile.methods.mirna_targets.tables import ALL_MIRNAS
from pairtile.report.method_report import FigureWithText
from pairtile.report.results import Results
from pairtile.report.text import page_text

FEW_KEPT = 10
"""Sites below which a rate is not drawn."""

SHOWN_CLASSES = ("8mer", "7mer-m8", "7mer-A1", "6mer", "offset 6mer", "none")


def has_null(results: Results) -> bool:
    """Whether there are shuffles to compare with."""
    return results.scores is not None and "null_sites" in results.scores


def conserved(results: Results) -> pd.DataFrame | None:
    """The rows of conservation.tsv for all miRNAs, for ``results.cached``; None without."""
    path = results.folder / "conservation.tsv"
    if not path.is_file():
        return None
    table = pd.read_csv(path, sep="\t")
    return table[table["mirna"] == ALL_MIRNAS]


def null_row(results: Results, name: str) -> dict[str, float]:
    """Sites of a class against those of the shuffles; NaN where there is no ratio or interval."""
    assert results.scores is not None
    row = CLASS_ROWS.index(name)
    columns = ("sites", "expected", "ratio", "ratio_low", "ratio_high")
    return {column: float(results.scores[f"null_{column}"][row]) for column in columns}


def signal(results: Results) -> FigureWithText | None:
    """Ratio of each seed class, and pairs by their score."""
    if not has_null(results):
        return None
    rows = {name: null_row(results, name) for name in SHOWN_CLASSES}
    rows = {name: row for name, row in rows.items() if row["sites"] and row["expected"]}
    if not rows:
        return None
    scores = results.scores
    assert scores is not None
    figure = figures.signal_and_chance(
        list(rows),
        [row["ratio"] for row in rows.values()],
        [(row["ratio_low"], row["ratio_high"]) for row in rows.values()],
        scores["null_pair_scores"],
        scores["null_pairs"],
        scores["null_pairs_expected"],
    )
    return page_text(results).figure(
        "signal",
        figure,
        shuffles=(results.parameters.get("null") or {}).get("shuffles", 0),
        ratios=[(name, row["ratio"]) for name, row in rows.items()],
    )


def conservation(results: Results) -> FigureWithText | None:
    """Share of the sites kept that chance does not explain, by how well they are kept."""
    table = results.cached(conserved)
    if table is None:
        return None
    table = table[table["kept"] >= FEW_KEPT]
    if table.empty:
        return None
    measure = "min_branch_length" if "min_branch_length" in table else "min_species"
    of = {
        name: rows for name, rows in table.groupby("seed_class", sort=False) if rows["kept"].any()
    }
    label = "branch length (substitutions a site)" if "length" in measure else "number of species"
    levels = table[measure].unique()
    rows_of = {str(name): rows.set_index(measure).reindex(levels) for name, rows in of.items()}
    figure = figures.conservation_rates(
        levels,
        {name: rows["conservation_rate"] for name, rows in rows_of.items()},
        {name: (rows["rate_low"], rows["rate_high"]) for name, rows in rows_of.items()},
        label=f"kept, at least: {label}",
    )
    best = table.iloc[int(np.nanargmax(table["conservation_rate"]))]
    return page_text(results).figure(
        "conservation",
        figure,
        least=FEW_KEPT,
        seed_class=best["seed_class"],
        rate=max(best["conservation_rate"], 0.0),
        bound=best[measure],
    )
