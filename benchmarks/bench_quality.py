"""AUPR on data sets with known or curated edges: ``make quality``.

    python -m benchmarks.bench_quality [SET ...]

runs the same steps as the workflow on public data sets (``benchmarks.fetch_data``), once for each
setting. The figures are written where no set is left out.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from pairtile.config.load import load_config
from pairtile.runtime.files import read_json
from pairtile.steps.analysis_run import AnalysisRun

from benchmarks.fetch_data import data_folder, require
from benchmarks.machine import write

DATA = data_folder()
SETS = ["syntren300", "bsub", "rogers1000", *(f"dream4/net{n}" for n in range(1, 6))]

RANKING: dict[str, Any] = {
    "null": {"permutations": 100_000},
    "keep": {"top_edges": 1000},
    "dpi": False,
}
"""Settings of a ranking of all pairs."""

FORMER = {"bins": 10, "order": 3, "transform": "rank"}
"""The estimator that was the default before it went by the data."""

CORRELATIONS = ("pearson", "spearman", "bicor", "kendall", "partial")
"""Of all samples, every pair ranked by the size of its score."""

EVERY_PAIR: dict[str, Any] = {
    "method": "multimodal_correlation",
    "threshold": {"method": "none"},
    "power": False,
    "modules": False,
    "kinc_text": False,
}


NETWORKS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "fdr 0.01": {"keep": {"fdr": 0.01}},
    "p 1e-5, mi (the former defaults)": {
        "estimator": FORMER,
        "score": "mi",
        "keep": {"p_value": 1e-5},
        "dpi": {"tolerance": 0.0},
    },
}


def judged(data: str, **settings: Any) -> dict[str, Any]:
    """``evaluation.json`` of an analysis with these settings, by the DREAM5 rule."""
    source = DATA / data
    table = next(source.glob("expression.tsv*"))
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        section = load_config(
            {
                "analyses": {
                    "q": {
                        "method": "mutual_information",
                        "expression": str(table),
                        "regulators": str(source / "regulators.txt"),
                        "gold_standard": str(source / "gold_standard.tsv"),
                        **settings,
                    }
                }
            }
        ).analyses["q"]
        AnalysisRun("q", section, out, 1, "cpu").run_steps(last="evaluate")
        found: dict[str, Any] = read_json(out / "evaluation.json")
        return found


def main() -> None:
    """Print the tables as Markdown and write the figures."""
    logging.getLogger("pairtile").setLevel(logging.ERROR)
    sets = sys.argv[1:] or SETS
    require(sets)
    results: dict[str, dict[str, Any]] = {}
    print(f"| setting | {' | '.join(sets)} | DREAM4 mean |")
    print("|---" * (len(sets) + 2) + "|")
    for estimator, settings in (("auto", {}), ("rank, 10 bins, order 3", {"estimator": FORMER})):
        for score in ("combined", "target_z", "clr", "mi"):
            label = f"{score}, {estimator}"
            aupr = {name: judged(name, score=score, **RANKING, **settings)["aupr"] for name in sets}
            nets = [aupr[name] for name in sets if name.startswith("dream4")]
            aupr["dream4_mean"] = sum(nets) / len(nets) if nets else float("nan")
            results[label] = aupr
            cells = [f"{value:.3f}" for value in aupr.values()]
            print("| " + " | ".join([label, *cells]) + " |", flush=True)
    for kind in CORRELATIONS:
        estimator = {"clustering": "none", "correlation": kind, "min_correlation": 0.0}
        estimator |= {"min_samples": 10, "outliers_before": False}
        aupr = {name: judged(name, estimator=estimator, **EVERY_PAIR)["aupr"] for name in sets}
        nets = [aupr[name] for name in sets if name.startswith("dream4")]
        aupr["dream4_mean"] = sum(nets) / len(nets) if nets else float("nan")
        results[f"{kind} correlation"] = aupr
        cells = [f"{value:.3f}" for value in aupr.values()]
        print("| " + " | ".join([f"{kind} correlation", *cells]) + " |", flush=True)
    print("\n| network | set | edges | precision | recall |\n|---|---|---|---|---|")
    for label, settings in NETWORKS.items():
        for name in sets:
            network = judged(name, **settings)["network"]
            found = {key: network[key] for key in ("n_edges", "precision", "recall")}
            results.setdefault(f"network, {label}", {})[name] = found
            parts = (found["precision"], found["recall"])
            shown = ["-" if part is None else f"{part:.2f}" for part in parts]
            cells = [f"{found['n_edges']:,}", *shown]
            print("| " + " | ".join([label, name, *cells]) + " |", flush=True)
    if set(sets) == set(SETS):
        print(write("quality", "cpu", results))
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
