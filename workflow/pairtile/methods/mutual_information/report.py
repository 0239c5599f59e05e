"""Report: text of the B-spline mutual information method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairtile.methods.mutual_information.report_methods import methods_paragraph
from pairtile.report.formats import count, counted, number, percent
from pairtile.report.method_report import MethodReport, MethodText

if TYPE_CHECKING:
    from pairtile.report.results import Results


def answers(results: Results) -> list[str]:
    """Sentences on how pairs became edges: the threshold, the DPI, the bootstraps."""
    sentences = []
    counts = results.counts
    threshold = results.summary.get("threshold") or {}
    scored, kept = counts.get("pairs_scored"), counts.get("pairs_kept")
    rule = keep_rule(results)
    if scored is not None and kept is not None:
        text = f"{count(kept)} of {counted(scored, 'scored pair')} were kept"
        if threshold.get("mi_bits") is not None:
            text += f": mutual information of at least {number(threshold['mi_bits'])} bits"
            text += f" ({rule})" if rule else ""
        elif rule:
            text += f" ({rule})"
        sentences.append(text + ".")
    before, removed = counts.get("pairs_before_dpi"), counts.get("pairs_removed_by_dpi")
    if results.parameters.get("dpi") and before and removed is not None:
        sentences.append(
            f"The data processing inequality removed {count(removed)} of "
            f"{counted(before, 'pair')} ({percent(removed / before)}) as better explained by "
            "a path through a third gene."
        )
    if "support" in results.network and len(results.network):
        n = (results.parameters.get("bootstraps") or {}).get("number")
        middle = float(results.network["support"].median())
        found = f"{middle:g} or more" if middle != n else "all"
        sentences.append(
            f"Half of the edges were found in {found}"
            + (f" of the {count(n)} bootstrap networks." if n else " bootstrap networks.")
        )
    return sentences


def cautions(results: Results) -> list[str]:
    """Warnings that the tables themselves give rise to."""
    found = []
    network, counts = results.network, results.counts
    if "p_method" in network:
        extrapolated = int((network["p_method"] == "extrapolated").sum())
        if extrapolated:
            found.append(
                f"{counted(extrapolated, 'edge has a p-value', 'edges have p-values')} below what "
                "the permutations resolve. These are extrapolated from the tail of the null: "
                "take them as an order of magnitude (marked “extrapolated” in the tables)."
            )
    few = counts.get("pairs_too_few_samples")
    if few:
        found.append(
            f"{counted(few, 'pair got', 'pairs got')} no score: too few samples in which both "
            "genes were observed."
        )
    return found


def keep_rule(results: Results) -> str:
    """The rule by which pairs were kept, in words; "" when all were."""
    keep = results.parameters.get("keep", (results.summary.get("threshold") or {}).get("keep"))
    if not isinstance(keep, dict):
        return ""
    words = {
        "p_value": "p ≤ {}",
        "fdr": "false discovery rate ≤ {}",
        "score": "score ≥ {}",
        "top_edges": "the {} strongest",
    }
    for key, value in keep.items():
        if value is not None and key in words:
            return words[key].format(count(value) if key == "top_edges" else number(value))
    return ""


TEXT = MethodText(
    title="B-spline mutual information",
    score="mutual information",
    score_axis="mutual information (bits)",
    score_unit="bits",
    strength=("target_z", "clr", "mi_bits"),
    directed_columns=("target_z",),
    columns={
        "mi_bits": "MI (bits)",
        "p_value": "p-value",
        "q_value": "q-value",
        "clr": "CLR",
        "target_z": "target z",
        "support": "support",
        "p_method": "p-value is",
    },
    counts={
        "genes_read": "genes read",
        "genes_kept": "genes kept",
        "genes_dropped_too_few_samples": "genes left out: too few observed samples",
        "genes_dropped_constant": "genes left out: constant",
        "genes_constant": "constant genes kept (their mutual information is 0)",
        "samples": "samples",
        "regulators_used": "regulators",
        "values_missing_in_input": "missing values in the input",
        "zeros_to_missing": "zeros read as missing",
        "pairs": "pairs",
        "pairs_scored": "pairs scored",
        "pairs_too_few_samples": "pairs without a score: too few shared samples",
        "pairs_kept": "pairs kept by the threshold",
        "pairs_before_dpi": "pairs before the data processing inequality",
        "pairs_removed_by_dpi": "pairs removed by the data processing inequality",
        "edges": "edges in the network",
    },
    findings=answers,
    warnings=cautions,
    methods=methods_paragraph,
)

REPORT = MethodReport(text=TEXT)
