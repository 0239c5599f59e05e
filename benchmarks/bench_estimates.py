"""How far the time that ``pairtile check`` tells is from the time that the run takes.

    python -m benchmarks.bench_estimates [NAME ...]

On the recipes' data where they lie in ``../shared/data``, on simulated tables, on a trajectory of
MDAnalysisTests. Run it twice: the first time compiles, which ``check`` does not count.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_workflow import DATA, expression, write_table
from benchmarks.machine import write

UNITS = {"s": 1, "min": 60, "h": 3600}


def runs(folder: Path) -> dict[str, dict[str, Any]]:
    """The section of each analysis, inputs written where they are simulated."""
    found: dict[str, dict[str, Any]] = {}
    for genes, samples in ((300, 30), (1500, 400), (4000, 150)):
        name = f"table_{genes}.tsv"
        write_table(folder / name, expression(genes, samples))
        mi = {"method": "mutual_information", "expression": name}
        found[f"mutual information, {genes} x {samples}"] = mi
    found["mutual information, 300 x 30, 50 bootstraps"] = {
        **found["mutual information, 300 x 30"],
        "bootstraps": 50,
    }
    for genes, count in ((300, 30), (1500, 400)):
        found[f"modes, {genes} x {count}"] = {
            "method": "multimodal_correlation",
            "expression": f"table_{genes}.tsv",
            "threshold": {"method": "score", "score": 0.8},
            **({"estimator": {"clustering": "none"}} if genes == 1500 else {}),
        }
    samples = ["sample\tgroup", *(f"sample{k}\t{'xy'[k % 2]}" for k in range(150))]
    (folder / "samples.tsv").write_text("\n".join(samples) + "\n")
    for name, stage in (
        ("WGCNA's modules", {"modules": {"method": "wgcna"}}),
        ("modules of the network", {"modules": {"method": "leiden"}}),
        ("pairs that differ", {"differential": {"label": "group"}}),
    ):
        found[f"{name}, 4000 x 150"] = {
            **found["mutual information, 4000 x 150"],
            "samples": {"annotations": "samples.tsv"},
            **stage,
        }
    found |= public()
    try:
        from MDAnalysisTests import datafiles
    except ImportError:
        return found
    found["adenylate kinase"] = {
        "method": "trajectory_correlation",
        "topology": str(datafiles.PSF),
        "trajectories": [str(datafiles.DCD)],
        "domains": {"NMP": "resid 30-59", "LID": "resid 122-159", "CORE": "protein"},
    }
    return found


def public() -> dict[str, dict[str, Any]]:
    """The recipes of docs/recipes.md, and two sets of docs/quality.md."""
    if not DATA.is_dir():
        return {}
    mirna, rice = DATA / "mirna", DATA / "rice"
    found: dict[str, dict[str, Any]] = {
        "miRNA recipe": {
            "method": "mirna_targets",
            "mirnas": str(mirna / "human_mature_mirna.fa"),
            "transcripts": str(mirna / "chr22_tails200.fa.gz"),
            "estimator": {"strict": True},
            "null": {"shuffles": 100},
            "export": ["tsv"],
        },
        "miRNAs, miRanda's defaults": {
            "method": "mirna_targets",
            "mirnas": str(mirna / "human_mature_mirna.fa"),
            "transcripts": str(mirna / "chr22_tails200.fa.gz"),
        },
        "rice recipe": {
            "method": "multimodal_correlation",
            "expression": str(rice / "expression.log2.tsv.gz"),
            "annotations": str(rice / "annotations.tsv"),
            "conditions": ["Treatment", "Subspecies", {"name": "Duration", "kind": "quantitative"}],
            "estimator": {"max_clusters": 3, "min_samples": 20},
            "threshold": {"method": "score", "score": 0.8},
            "condition_networks": {"q_value": 0.05},
            "export": ["tsv", "graphml"],
        },
        "malaria cycle, all genes": {
            "method": "predictor_pairs",
            "levels": str(DATA / "pf3d7/levels_ternary.tsv.gz"),
        },
    }
    for name in ("bsub", "rogers1000", "syntren300"):
        found[name] = {
            "method": "mutual_information",
            "expression": str(DATA / name / "expression.tsv.gz"),
            "regulators": str(DATA / name / "regulators.txt"),
            "gold_standard": str(DATA / name / "gold_standard.tsv"),
        }
    found["bsub"]["export"] = ["tsv", "graphml", "regulon", "html"]
    return found


def pairtile(*words: str, folder: Path) -> tuple[str, float]:
    """What the command prints, and its seconds."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "pairtile", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout + done.stderr, time.perf_counter() - start


def measured(name: str, section: dict[str, Any], folder: Path) -> dict[str, float]:
    """Seconds as told and as taken."""
    path = folder / f"{re.sub('[^a-z0-9]+', '_', name.lower())}.json"
    results = str(folder / path.stem)
    path.write_text(json.dumps({"results": results, "analyses": {"run": section}}))
    said, _ = pairtile("check", path.name, folder=folder)
    told = re.search(r"time: about (\d+) (s|min|h)\b", said)
    assert told is not None, said
    _, seconds = pairtile("run", path.name, folder=folder)
    seconds_told = float(told[1]) * UNITS[told[2]]
    print(f"{name}: told {seconds_told:.0f} s, took {seconds:.1f} s", flush=True)
    return {"told": seconds_told, "seconds": seconds, "ratio": seconds / seconds_told}


def main() -> None:
    """Measure, and write the figures where all were measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of runs (default: all)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as name:
        folder = Path(name)
        found = {
            each: measured(each, section, folder)
            for each, section in runs(folder).items()
            if not args.names or each in args.names
        }
    if not args.names:
        write("estimates", "cpu", found)


if __name__ == "__main__":
    main()
