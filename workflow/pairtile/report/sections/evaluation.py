"""How the ranking and the network do against a gold standard."""

from __future__ import annotations

from typing import Any

from pairtile.report.formats import count, number
from pairtile.report.results import Results
from pairtile.report.sections.page_section import CaptionedFigure, PageSection

RANKING = {
    "aupr": "area under the precision-recall curve (AUPR)",
    "random_aupr": "the same for a random ranking",
    "auroc": "area under the ROC curve (AUROC); random: 0.5",
    "n_gold_edges": "edges in the gold standard",
    "n_candidates": "candidate edges",
    "n_ranked": "candidate edges that the ranking places",
}
NETWORK = {
    "precision": "precision: share of the network's edges that are true",
    "recall": "recall: share of the true edges that are in the network",
    "sensitivity": "sensitivity",
    "specificity": "specificity: share of the untrue pairs left out",
    "true_positives": "true edges in the network",
    "false_positives": "untrue edges in the network",
    "true_negatives": "untrue pairs left out",
    "false_negatives": "true edges left out",
}


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Two small tables, None without a gold standard."""
    if not results.evaluation:
        return None
    network = results.evaluation.get("network") or {}
    if network.get("sensitivity") == network.get("recall"):
        network = {key: value for key, value in network.items() if key != "sensitivity"}
    return PageSection(
        id="evaluation",
        title="Against the gold standard",
        template="section_evaluation.html.j2",
        values={
            "rule": results.evaluation.get("rule", ""),
            "ranked": results.text.ranking,
            "ranking": _named(RANKING, results.evaluation),
            "network": _named(NETWORK, network),
        },
    )


def _named(names: dict[str, str], values: dict[str, Any]) -> list[tuple[str, str]]:
    found = [(label, values[key]) for key, label in names.items() if values.get(key) is not None]
    return [(label, count(v) if isinstance(v, int) else number(v, 4)) for label, v in found]
