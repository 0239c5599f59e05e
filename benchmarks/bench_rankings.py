"""AUPR of rankings on simulated tables of thirteen kinds, beside other methods: ``make quality``.

    python -m benchmarks.bench_rankings [--without-trees]

The trees (random forests as GENIE3's, boosting as GRNBoost2's) run in an environment of their own,
see ``benchmarks.peers``. Writes ``results/rankings.MACHINE.json`` and the table of
``docs/quality.md``: means over tables with 95 % of the mean, in pairs with ``target_z``.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pairtile
import pandas as pd

from benchmarks.bench_quality import DATA, RANKING, SETS, judged
from benchmarks.machine import write
from benchmarks.peers.__main__ import ONE_CORE, python_with
from benchmarks.ranking_tables import CHOSEN_ON, KINDS, Floats, Table
from benchmarks.validity.claims import of_mean

PAGE = Path(__file__).resolve().parent.parent / "docs/quality.md"
BEGIN, END = "<!-- table: rankings, make quality -->", "<!-- end of table -->"
SAMPLES = (50, 100, 300)
SEEDS = range(1000, 1006)
TREE_SAMPLES, TREE_SEEDS = 100, 1
"""What the trees see, the first of those seeds: they take most of the time."""

Score = Literal["mi", "clr", "target_z", "combined"]
TREES = ("random forests", "boosting")
REQUIREMENTS = ("scikit-learn==1.9.1", "lightgbm==4.7.0")
OURS: tuple[Score, ...] = ("mi", "clr", "target_z", "combined")


def table_of(kind: str, samples: int, seed: int) -> Table:
    """A table, keyed on all three."""
    return KINDS[kind](np.random.default_rng([seed, samples, list(KINDS).index(kind)]), samples)


def partial_correlation(table: Table) -> Floats:
    """Absolute partial correlation of regulators (rows) and genes given the other regulators, with
    Schäfer and Strimmer's shrinkage, as their R package corpcor has it."""
    x = table.values - table.values.mean(axis=1, keepdims=True)
    x /= np.maximum(x.std(axis=1, keepdims=True), 1e-12)
    own, n = x[table.regulators], x.shape[1]
    correlation, squares = own @ own.T / n, (own**2) @ (own**2).T
    variance = n / (n - 1) ** 3 * (squares - n * correlation**2)
    off = ~np.eye(len(own), dtype=bool)
    lam = min(1.0, variance[off].sum() / (correlation[off] ** 2).sum())
    found = np.empty((len(own), len(x)))
    for gene, row in enumerate(x):
        others = np.flatnonzero(table.regulators != gene)
        joined = np.vstack([own[others], row])
        shrunken = (1 - lam) * joined @ joined.T / n
        np.fill_diagonal(shrunken, 1.0)
        precision = np.linalg.inv(shrunken)
        spread = np.sqrt(np.diag(precision))
        found[others, gene] = np.abs(precision[-1, :-1] / (spread[-1] * spread[:-1]))
    return found


def scores_of(table: Table) -> dict[str, Floats]:
    """Rankings of all candidates: (regulators, genes)."""
    found = {"partial correlation": partial_correlation(table)}
    place = {regulator: k for k, regulator in enumerate(table.regulators.tolist())}
    for score in OURS:
        network = pairtile.infer_network(
            table.values,
            table.regulators,
            score=score,
            keep="all",
            dpi=False,
            permutations=1000,
            preprocess={"log2": False, "normalize": "none"},
            backend="cpu",
        )
        found[score] = np.full(table.edges.shape, -np.inf)
        column = network["mi_bits" if score == "mi" else score].to_numpy()
        source, target = (network[end].to_numpy() for end in ("source", "target"))
        found[score][[place[r] for r in source], target] = column
        if score == "mi":  # once for both directions
            both = np.isin(target, table.regulators)
            back = [place[r] for r in target[both]]
            found[score][back, source[both]] = column[both]
    return found


def aupr(scores: Floats, table: Table) -> float:
    """Average precision of all candidates, a gene with itself left out; equal scores in the order
    of a random draw."""
    candidate = np.ones(scores.shape, dtype=bool)
    candidate[np.arange(len(scores)), table.regulators] = False
    values, true = scores[candidate], table.edges[candidate]
    order = np.lexsort((np.random.default_rng(0).random(values.size), -values))
    true = true[order]
    precision = np.cumsum(true) / np.arange(1, true.size + 1)
    return float(precision[true].mean())


def of_trees(tables: list[Table], folder: Path) -> list[dict[str, Floats]]:
    """What forests and boosting give, in a process of their own."""
    for number, table in enumerate(tables):
        np.savez(folder / f"{number}.npz", values=table.values, regulators=table.regulators)
    program = Path(__file__).parent / "peers/trees.py"
    command = [str(part) for part in (python_with(REQUIREMENTS), program, folder, len(tables))]
    subprocess.run(command, env=os.environ | ONE_CORE, check=True)
    found = [np.load(folder / f"{number}.out.npz") for number in range(len(tables))]
    return [{name: one[name] for name in TREES} for one in found]


def measured(trees: bool) -> pd.DataFrame:
    """AUPR: a row for each table, a column for each ranking."""
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        for samples in SAMPLES:
            tables = [table_of(kind, samples, seed) for seed in SEEDS]
            theirs: list[dict[str, Floats]] = []
            if trees and samples == TREE_SAMPLES:
                with tempfile.TemporaryDirectory() as folder:
                    theirs = of_trees(tables[:TREE_SEEDS], Path(folder))
            for number, table in enumerate(tables):
                scores = scores_of(table) | (theirs[number] if number < len(theirs) else {})
                of_scores = {name: aupr(values, table) for name, values in scores.items()}
                rows.append({"kind": kind, "samples": samples, **of_scores})
        print(kind, pd.DataFrame(rows).query("kind == @kind").mean(numeric_only=True), flush=True)
    return pd.DataFrame(rows)


def summary(found: pd.DataFrame) -> dict[str, Any]:
    """Of each kind and of all: mean AUPR, mean difference to ``target_z``, and half of its 95 %
    where there is more than one table."""
    held_out = ~found["kind"].isin([kind.__name__ for kind in CHOSEN_ON])
    groups = {kind: found["kind"] == kind for kind in KINDS}
    groups |= {"all": held_out | True, "all that had no say": held_out}
    names = [name for name in found.columns if name not in ("kind", "samples")]
    if TREES[0] in names:
        groups["the tables of the trees"] = found[TREES[0]].notna()
    result: dict[str, Any] = {}
    for group, here in groups.items():
        result[group] = {}
        for name in names:
            both = found.loc[here, [name, "target_z"]].dropna().to_numpy()
            gain = (both[:, 0] - both[:, 1]).tolist()
            numbers = {"aupr": both[:, 0].mean(), "gain": np.mean(gain)}
            if len(gain) > 1:
                numbers["half"] = (of_mean(gain)[1] - of_mean(gain)[0]) / 2
            result[group][name] = {key: round(float(value), 4) for key, value in numbers.items()}
            result[group][name]["tables"] = len(both)
    return result


def on_public_sets() -> dict[str, dict[str, float]]:
    """AUPR of the scores on the sets of ``bench_quality``, of those that are there."""
    sets = [name for name in SETS if (DATA / name).is_dir()]
    return {
        score: {name: judged(name, score=score, **RANKING)["aupr"] for name in sets}
        for score in ("clr", "target_z", "combined")
    }


def public_markdown(results: dict[str, dict[str, float]]) -> str:
    """Their table."""
    sets = list(results["clr"])
    lines = [f"| public set | {' | '.join(sets)} |", "| --- " * (len(sets) + 1) + "|"]
    for score, found in results.items():
        lines.append(f"| {score} | {' | '.join(f'{found[name]:.4f}' for name in sets)} |")
    return "\n".join(lines)


def markdown(results: dict[str, Any]) -> str:
    """The table of the page."""
    wanted = ("clr", "target_z", "combined", "partial correlation", *TREES)
    names = [name for name in wanted if name in results["all"]]
    lines = [f"| kind | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    for kind, of_names in results.items():
        cells = []
        for name in names:
            found = of_names[name]
            half = f" ± {found['half']:.4f}" if "half" in found else ""
            gain = f"{found['gain']:+.4f}{half}"
            shown = [f"{found['aupr']:.4f}", "" if name == "target_z" else f"({gain})"]
            cells.append(gain if "half" not in found else " ".join(filter(None, shown)))
        lines.append(f"| {kind.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table; write figures and page, where the trees were run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-trees", action="store_true", help="minutes in place of hours")
    given = parser.parse_args()
    logging.getLogger("pairtile").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    publish(summary(measured(not given.without_trees)), on_public_sets(), not given.without_trees)


def publish(simulated: dict[str, Any], public: dict[str, dict[str, float]], to_page: bool) -> None:
    """Print the tables, and write them."""
    tables = f"{markdown(simulated)}\n\n{public_markdown(public)}"
    print(tables)
    if to_page:
        path = write("rankings", "cpu", {"simulated": simulated, "public": public})
        head, _, rest = PAGE.read_text().partition(BEGIN)
        text = f"From `{path.name}`:\n\n{tables}"
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
