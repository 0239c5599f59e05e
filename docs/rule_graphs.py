"""Draw the rules of every method: ``make rule-graphs`` writes ``docs/images/rules_METHOD.svg``.

Small made-up data are prepared and planned, since Snakemake knows the chunks only then; nothing is
scored.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import networkx
import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "images"

TABLE = {"expression": "expression.tsv", "chunks": 2}
ANALYSES: dict[str, dict[str, Any]] = {
    "mutual_information": TABLE | {"score": "mi", "gold_standard": "gold.tsv", "bootstraps": 2},
    "multimodal_correlation": TABLE | {"annotations": "samples.tsv", "conditions": ["group"]},
    "predictor_pairs": TABLE,
    "mirna_targets": {"mirnas": "mirnas.fa", "transcripts": "transcripts.fa", "chunks": 2},
    "trajectory_correlation": {
        "time_series": ["series.npy"],
        "communities": ["leiden"],
        "chunks": 2,
    },
}
"""For each method an analysis, cut into chunks, with the steps that it can have of such data (a
score that needs no first pass: with one, chunk and merge stand in a circle)."""


def write_data(folder: Path) -> None:
    """Random input for all analyses."""
    draw = np.random.default_rng(1)
    samples = [f"s{k}" for k in range(40)]
    rows = [["gene", *samples]]
    rows += [[f"g{k}", *(f"{x:.3f}" for x in draw.normal(size=40))] for k in range(20)]
    (folder / "expression.tsv").write_text("\n".join(map("\t".join, rows)) + "\n")
    (folder / "gold.tsv").write_text("source\ttarget\ng0\tg1\n")
    groups = "\n".join(f"{sample}\t{'ab'[k % 2]}" for k, sample in enumerate(samples))
    (folder / "samples.tsv").write_text(f"sample\tgroup\n{groups}\n")
    for name, number, length in (("mirnas", 3, 22), ("transcripts", 5, 300)):
        texts = ("".join(draw.choice(list("ACGU"), length)) for _ in range(number))
        records = (f">{name[0]}{k}\n{text}\n" for k, text in enumerate(texts))
        (folder / f"{name}.fa").write_text("".join(records))
    np.save(folder / "series.npy", draw.normal(size=(200, 8, 3)))


def snakemake(folder: Path, *arguments: str) -> str:
    """Standard output of a run."""
    command = [sys.executable, "-m", "snakemake", *arguments, "--cores", "2"]
    command += ["--directory", str(folder)]
    command += ["--snakefile", str(ROOT / "workflow" / "Snakefile")]
    command += ["--configfile", str(folder / "config.json")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def draw(dot: str, out: Path) -> None:
    """A graph in Graphviz' language, as ``--rulegraph`` prints it, from top to bottom; an edge that
    follows from others is left out."""
    names = dict(re.findall(r'(\d+)\[label = "([^"\\]+)', dot))
    graph = networkx.DiGraph(
        (names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", dot) if names[b] != "all"
    )
    graph = networkx.transitive_reduction(graph)
    place: dict[str, tuple[float, float]] = {}
    for layer, rules in enumerate(networkx.topological_generations(graph)):
        above = {rule: [place[r][0] for r in graph.predecessors(rule)] or [0.0] for rule in rules}
        ordered = sorted(rules, key=lambda rule: (np.mean(above[rule]), rule))
        for k, rule in enumerate(ordered):
            place[rule] = (2.2 * (k - (len(ordered) - 1) / 2), layer)
    x, y = np.array(list(place.values())).T
    figure = Figure(figsize=(0.7 * (np.ptp(x) + 3), 0.7 * (np.ptp(y) + 1)))
    axes = figure.add_axes(
        (0, 0, 1, 1), xlim=(x.min() - 1.5, x.max() + 1.5), ylim=(y.max() + 0.5, -0.5)
    )
    axes.axis("off")
    arrow = {"arrowstyle": "->", "color": "#666666", "shrinkA": 12, "shrinkB": 12}
    box = {"boxstyle": "round,pad=0.35", "facecolor": "#eef4fb", "edgecolor": "#2a6db0"}
    for a, b in graph.edges:
        # Round the rules of the layers between.
        bend = 0.35 if place[b][1] - place[a][1] > 1 else 0
        how = arrow | {"connectionstyle": f"arc3,rad={bend}"}
        axes.annotate("", place[b], place[a], arrowprops=how)
    for rule, where in place.items():
        axes.text(*where, rule, ha="center", va="center", fontsize=9, bbox=box)
    figure.savefig(out, metadata={"Date": None})


def main() -> None:
    """Draw the rules of each method."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_data(folder)
        analyses = {name: {"method": name} | keys for name, keys in ANALYSES.items()}
        (folder / "config.json").write_text(json.dumps({"backend": "cpu", "analyses": analyses}))
        snakemake(folder, *(f"results/{name}/plan.json" for name in analyses))
        for name in analyses:
            wanted = [f"results/{name}/{file}" for file in ("report.html", "network.tsv")]
            draw(snakemake(folder, *wanted, "--rulegraph", "dot"), OUT / f"rules_{name}.svg")
            print(f"wrote docs/images/rules_{name}.svg")


if __name__ == "__main__":
    main()
