"""Report: how many of the sites and pairs are more than chance gives, from the shuffled miRNAs."""

from __future__ import annotations

import numpy as np

from pairtile.methods.mirna_targets import figures
from pairtile.methods.mirna_targets.null import CLASS_ROWS
from pairtile.report.formats import count, counted, number, plain
from pairtile.report.method_report import FigureWithText
from pairtile.report.results import Results

SHOWN_CLASSES = ("8mer", "7mer-m8", "7mer-A1", "6mer", "offset 6mer", "none")


def has_null(results: Results) -> bool:
    """Whether there are shuffles to compare with."""
    return results.scores is not None and "null_sites" in results.scores


def signal_findings(results: Results) -> list[str]:
    """Sites and pairs against those of the shuffled miRNAs."""
    if not has_null(results):
        return []
    lines = [
        f"Chance alone gives {_against(results, 'all')}. "
        f"Of canonical sites (8mer, 7mer-m8, 7mer-A1) there are {_sites(results, 'canonical')}, "
        f"chance gives {_against(results, 'canonical')}."
    ]
    network = results.network
    if "q_value" in network:
        found = int((network["q_value"] <= 0.05).sum())
        lines.append(
            f"{counted(found, 'pair')} {'has' if found == 1 else 'have'} more or stronger sites "
            "than chance explains at q ≤ 0.05, by number and kind of sites together."
            + ("" if found else " No pair can be told from chance by its sequence alone.")
        )
    return lines


def _row(results: Results, name: str) -> dict[str, float]:
    assert results.scores is not None
    row = CLASS_ROWS.index(name)
    columns = ("sites", "expected", "ratio", "ratio_low", "ratio_high", "p_value")
    return {column: float(results.scores[f"null_{column}"][row]) for column in columns}


def _sites(results: Results, name: str) -> str:
    return count(int(_row(results, name)["sites"]))


def _against(results: Results, name: str) -> str:
    """``6,607 of them (shuffled miRNAs; ratio 1.01, 0.93 to 1.08)``."""
    row = _row(results, name)
    interval = ""
    if np.isfinite(row["ratio"]):
        interval = f"; ratio {row['ratio']:.2f}"
        if np.isfinite(row["ratio_high"]):
            interval += f", {row['ratio_low']:.2f} to {row['ratio_high']:.2f}"
    sites = "sites" if name == "canonical" else f"of {_sites(results, name)} hits"
    return f"{count(round(row['expected']))} {sites} (shuffled miRNAs{interval})"


def signal(results: Results) -> FigureWithText | None:
    """Ratio of each seed class, and pairs by their score."""
    if not has_null(results):
        return None
    rows = {name: _row(results, name) for name in SHOWN_CLASSES}
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
    shuffles = plain((results.parameters.get("null") or {}).get("shuffles", 0))
    caption = (
        f"Left: sites over those of {shuffles} shuffles of each miRNA, by seed class; lines: to "
        "the 2.5 and 97.5 % quantiles of the shuffles. 1 is chance. Right: pairs of miRNA and "
        "transcript with a pair score of this or more, and as many as the shuffles have."
    )
    values = ", ".join(f"{name} {number(row['ratio'])}" for name, row in rows.items())
    return FigureWithText(
        figure, "Signal and chance", caption, f"Two charts. {caption} Ratios: {values}."
    )
