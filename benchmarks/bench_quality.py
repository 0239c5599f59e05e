"""AUPR on data sets with known or curated edges: ``make quality``.

Reads the data sets from ../shared/data (public sets, see docs/quality.md for where they come
from) and runs the same steps as the workflow, once for each setting.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from pairtile.config import load_config
from pairtile.runtime.files import read_json
from pairtile.steps.chunk import chunk
from pairtile.steps.evaluate import EvaluationInputs, evaluate
from pairtile.steps.merge import MergeInputs, MergeOutputs, merge
from pairtile.steps.network import MergedFiles, NetworkFiles, network
from pairtile.steps.null import null
from pairtile.steps.plan import plan, read_plan
from pairtile.steps.prepare import prepare

from benchmarks.machine import write

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
SETS = ["syntren300", "bsub", "rogers1000", *(f"dream4/net{n}" for n in range(1, 6))]

FEW_SAMPLES = {"bins": 6, "order": 4, "transform": "rank"}
MANY_SAMPLES = {"bins": 10, "order": 3, "transform": "none"}
MANY = 200
"""Samples from which the README recommends raw values."""

DEFAULT = {"bins": 10, "order": 3, "transform": "rank"}


def aupr(data: str, score: str, estimator: dict[str, Any] | None) -> float:
    """AUPR by the DREAM5 rule; without ``estimator``, with the recommended one."""
    source = DATA / data
    table = next(source.glob("expression.tsv*"))
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        if estimator is None:
            estimator = MANY_SAMPLES if samples_of(table) >= MANY else FEW_SAMPLES
        section = load_config(
            {
                "analyses": {
                    "q": {
                        "method": "mutual_information",
                        "expression": str(table),
                        "regulators": str(source / "regulators.txt"),
                        "gold_standard": str(source / "gold_standard.tsv"),
                        "estimator": estimator,
                        "score": score,
                        "null": {"permutations": 100_000},
                        "keep": {"top_edges": 1000},
                        "dpi": False,
                    }
                }
            }
        ).analyses["q"]
        state, plan_file = out / "state", out / "plan.json"
        prepare(section, 1, {}, out / "items.parquet", state, out / "prepare.json")
        plan(section, "cpu", 1, state, plan_file, out / "plan-record.json")
        null(section, plan_file, state, out / "null.npz", out / "null.json")
        planned = read_plan(plan_file)
        scan = None
        for stage in ["scan", "chunks"] if planned.scan else ["chunks"]:
            files = []
            for part in planned.chunks:
                files.append(out / stage / f"{part.name}.parquet")
                chunk(
                    section, plan_file, state, out / "null.npz", scan, stage, part.name, files[-1]
                )
            second = stage == "chunks"
            merge(
                section,
                stage,
                MergeInputs(plan_file, state, files, out / "null.npz" if second else None),
                MergeOutputs(
                    out / f"{stage}.npz",
                    out / f"merge-{stage}.json",
                    out / "pairs.parquet" if second else None,
                ),
            )
            scan = out / "scan.npz" if planned.scan else None
        items, pairs = out / "items.parquet", out / "pairs.parquet"
        made = NetworkFiles(out / "network.parquet", out / "scores.npz")
        network(
            section,
            MergedFiles(
                *(plan_file, state, items, pairs, out / "chunks.npz", out / "null.npz", scan)
            ),
            made,
            out / "network.json",
        )
        evaluate(
            section,
            EvaluationInputs(state, items, pairs, *made, scan),
            out / "evaluation.json",
            out / "evaluate.json",
        )
        return float(read_json(out / "evaluation.json")["aupr"])


def samples_of(table: Path) -> int:
    """Samples of a table, from its header."""
    import gzip

    opener = gzip.open if table.suffix == ".gz" else open
    with opener(table, "rt") as handle:
        return len(handle.readline().split("\t")) - 1


def main() -> None:
    """Print the table as Markdown and write the figures."""
    logging.getLogger("pairtile").setLevel(logging.ERROR)
    if not DATA.is_dir():
        sys.exit(f"quality: found no data sets in {DATA}; see docs/quality.md")
    settings: dict[str, tuple[str, dict[str, Any] | None]] = {
        "recommended: target_z": ("target_z", None),
        "recommended estimator, clr": ("clr", None),
        "recommended estimator, mi": ("mi", None),
        "defaults (rank, 10 bins, order 3): target_z": ("target_z", DEFAULT),
        "defaults: clr": ("clr", DEFAULT),
        "defaults: mi": ("mi", DEFAULT),
    }
    results: dict[str, dict[str, float]] = {}
    print("| setting | syntren300 | bsub | rogers1000 | DREAM4 nets 1-5 | DREAM4 mean |")
    print("|---|---|---|---|---|---|")
    for label, (score, estimator) in settings.items():
        found = {data: aupr(data, score, estimator) for data in SETS}
        nets = [found[data] for data in SETS if data.startswith("dream4")]
        found["dream4_mean"] = sum(nets) / len(nets)
        results[label] = found
        cells = [f"{found[data]:.3f}" for data in SETS[:3]]
        cells += [" ".join(f"{net:.3f}" for net in nets), f"{found['dream4_mean']:.3f}"]
        print("| " + " | ".join([label, *cells]) + " |", flush=True)
    print(write("quality", "cpu", results))
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
