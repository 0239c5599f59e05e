"""Report of a mutual information network: what it warns of, and the numbers of its text."""

from __future__ import annotations

from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.members import members_section
from pairtile.methods.mutual_information.scores import SCORES
from pairtile.report.method_report import MethodReport, MethodText, Results
from pairtile.view.evidence import Samples, State, evidence_section, table_samples

message = messages_of(__package__)


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows beside counts and parameters."""
    network = results.network
    decided = results.summary.get("threshold") or {}
    return {
        "keep": results.parameters.get("keep", decided.get("keep")),
        "ranked_by": next((s for s in SCORES.values() if s.column == results.strength), None),
        "modes": [*network["mode"].value_counts(normalize=True).items()]
        if "mode" in network
        else [],
        "support": float(network["support"].median())
        if "support" in network and len(network)
        else None,
        "extrapolated": "extrapolated" in set(network.get("p_method", ())),
    }


def warnings(results: Results) -> list[Message]:
    """Warnings that the tables themselves give rise to."""
    few = results.counts.get("pairs_too_few_samples")
    return [message("pairs_without_score", n=few)] if few else []


TEXT = MethodText(
    title="Mutual information",
    package=__package__,
    score="mutual information",
    strength=tuple(score.column for score in reversed(SCORES.values())),
    numbers=numbers,
    warnings=warnings,
)


def samples(results: Results, state: State) -> Samples | None:
    """What scores were made from: ranks, or values, scaled to the splines; None of given scores."""
    if "scores" in state:
        return None
    values = "Ranks" if state["by_rank"].all() else "Values"
    return table_samples(
        results, state, state["z"], f"{values}, scaled",
        {results.parameters["lag"]: state["z_source"]} if "z_source" in state else {},
    )  # fmt: skip


REPORT = MethodReport(
    text=TEXT,
    figures=f"{__package__}.charts:FIGURES",
    sections=(evidence_section(samples), members_section),
)
