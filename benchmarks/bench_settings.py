"""Which bins, order and transform for how many samples; how many edges? ``make quality`` answers.

AUPR of ``target_z`` over subsamples of data sets with known edges: public ones
(``benchmarks.fetch_data``) and simulated ones. The rule of ``estimator: auto`` was
chosen on ``CHOSEN_ON`` and is checked on ``HELD_OUT``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pairtile
import pandas as pd
from pairtile.methods.mutual_information.config import SplineEstimatorConfig
from pairtile.methods.mutual_information.prepare import floor_share
from pairtile.simulate import simulate_kinetic

from benchmarks.fetch_data import SETS, data_folder, require
from benchmarks.machine import write

DATA = data_folder()
SAMPLES = (30, 50, 100, 200, 500, 1000)
BINS = ((4, 3), (5, 3), (5, 4), (6, 4), (8, 4), (10, 3), (10, 4), (14, 4))
"""Bins and order."""
TRANSFORMS = ("rank", "none")
EDGES = (1, 2, 3, 5, 10)
"""Edges for each gene."""

DRAWS = 3
"""Subsamples of each size."""


class DataSet(NamedTuple):
    """Prepared expression (genes x samples), regulators and known edges."""

    expression: pd.DataFrame
    regulators: list[str]
    gold: pd.DataFrame


def public(folder: str) -> DataSet:
    """A data set of ``DATA``; of a curated gold standard the targets that it names."""
    source = DATA / folder
    table = pairtile.read_expression(next(source.glob("expression.tsv*")))
    gold = pairtile.read_gold_standard(source / "gold_standard.tsv")
    regulators = pairtile.read_regulators(source / "regulators.txt")
    frame = pairtile.prepare_expression(table)
    values = pd.DataFrame(frame.values, index=frame.genes)
    named = {*gold["source"], *gold["target"]}
    if len(named & {*values.index}) < 0.75 * len(values):
        values = values[values.index.isin(named | {*regulators})]
    return DataSet(values, [name for name in regulators if name in values.index], gold)


def simulated(seed: int, **settings: Any) -> DataSet:
    """A simulated network with Hill kinetics."""
    made = simulate_kinetic(n_genes=300, n_samples=1000, n_regulators=40, seed=seed, **settings)
    frame = pairtile.prepare_expression(made)
    values = pd.DataFrame(frame.values, index=frame.genes)
    return DataSet(values, [r for r in made.regulators if r in values.index], made.edges)


CHOSEN_ON: dict[str, Callable[[], DataSet]] = {
    "syntren300": lambda: public("syntren300"),
    "bsub": lambda: public("bsub"),
    "dream4 net 1": lambda: public("dream4/net1"),
    "dream4 net 2": lambda: public("dream4/net2"),
    "kinetic 1": lambda: simulated(1),
    "kinetic 2": lambda: simulated(2, noise=0.5, spread=0.3),
    "kinetic 5": lambda: simulated(5, dropout=0.02),
}
HELD_OUT: dict[str, Callable[[], DataSet]] = {
    "rogers1000": lambda: public("rogers1000"),
    "dream4 net 3": lambda: public("dream4/net3"),
    "dream4 net 4": lambda: public("dream4/net4"),
    "dream4 net 5": lambda: public("dream4/net5"),
    "kinetic 3": lambda: simulated(3, noise=0.1, spread=0.6),
    "kinetic 4": lambda: simulated(4, noise=0.3, dropout=0.05),
    "kinetic 6": lambda: simulated(6, noise=0.1, dropout=0.2),
}


def ranking(data: DataSet, bins: int, order: int, transform: str) -> pd.DataFrame:
    """All candidate edges with their ``target_z`` as ``score``."""
    rows = data.expression.loc[data.regulators]
    mi = pairtile.mutual_information(
        rows, other=data.expression, bins=bins, order=order, transform=transform, backend="cpu"
    )
    scored = pairtile.target_z(mi).rename_axis("source").reset_index()
    return scored.melt("source", None, "target", "score").dropna()


def aupr(data: DataSet, bins: int, order: int, transform: str) -> float:
    """AUPR of ``target_z``, directed, by the rule of DREAM5."""
    long = ranking(data, bins, order, transform)
    return float(
        pairtile.evaluate(
            long, data.gold, genes=list(data.expression.index), regulators=data.regulators
        )["aupr"]
    )


def edges_per_gene(data: DataSet) -> dict[str, float]:
    """F1 of the best so many edges for each gene, by the estimator that ``auto`` takes."""
    values = data.expression.to_numpy()
    how = SplineEstimatorConfig().resolved_for(values.shape[1], floor_share(values))
    long = ranking(data, *how.bins_order, how.transform)
    long = long.sort_values("score", ascending=False, kind="stable")
    found = {}
    for number in EDGES:
        network = long.head(number * len(data.expression))
        judged = pairtile.evaluate(
            long,
            data.gold,
            genes=list(data.expression.index),
            regulators=data.regulators,
            network=network,
        )["network"]
        p, r = judged["precision"], judged["recall"]
        found[str(number)] = 2 * p * r / (p + r)
    return found


def measured(make: Callable[[], DataSet]) -> Iterator[dict[str, Any]]:
    """A row for each number of samples and setting: mean AUPR over subsamples."""
    data = make()
    available = data.expression.shape[1]
    for n in [n for n in SAMPLES if n <= available]:
        draws = [
            np.random.default_rng([n, k]).choice(available, n, replace=False)
            for k in range(DRAWS if n < available else 1)
        ]
        parts = [data._replace(expression=data.expression.iloc[:, draw]) for draw in draws]
        for transform in TRANSFORMS:
            for bins, order in BINS:
                found = [aupr(part, bins, order, transform) for part in parts]
                yield {
                    "samples": n,
                    "transform": transform,
                    "bins": bins,
                    "order": order,
                    "aupr": float(np.mean(found)),
                }


ALWAYS = {
    "rank, 10 bins, order 3": ("rank", 10, 3),
    "values, 10 bins, order 3": ("none", 10, 3),
    "rank, 6 bins, order 4": ("rank", 6, 4),
}
"""Estimators to hold the rule against."""


def shares_of_best(
    rows: list[dict[str, Any]], floors: dict[str, float]
) -> dict[str, dict[str, dict[str, float]]]:
    """Share of the best AUPR that any estimator reaches on a set and size, mean over sets.

    By part (chosen on, held out), number of samples, and estimator; ``floors`` is ``floor_share``
    of each set, which the rule asks for.
    """
    table = pd.DataFrame(rows)
    how = ["data", "samples", "transform", "bins", "order"]
    aupr = table.set_index(how)["aupr"]
    best = table.groupby(["data", "samples"])["aupr"].max()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (part, samples), sets in table.groupby(["part", "samples"])["data"].unique().items():
        shares: dict[str, list[float]] = {}
        for data in sets:
            rule = SplineEstimatorConfig().resolved_for(samples, floors[data])
            auto = (rule.transform, *rule.bins_order)
            for name, estimator in {"auto": auto, **ALWAYS}.items():
                share = aupr[(data, samples, *estimator)] / best[data, samples]
                shares.setdefault(name, []).append(float(share))
        means = {name: float(np.mean(values)) for name, values in shares.items()}
        found.setdefault(part, {})[f"{samples} samples"] = means
    return found


def main() -> None:
    require(SETS)
    rows, f1, floors = [], {}, {}
    warnings.simplefilter("ignore")
    for part, sets in (("chosen on", CHOSEN_ON), ("held out", HELD_OUT)):
        for name, make in sets.items():
            data = make()
            floors[name] = float(floor_share(data.expression.to_numpy()))
            f1[name] = edges_per_gene(data)
            rows += [{"part": part, "data": name, **row} for row in measured(make)]
            print(name, f1[name], flush=True)
    results = {"aupr": rows, "f1_by_edges_per_gene": f1, "floor_share": floors}
    print(write("settings", "cpu", results | {"share_of_best": shares_of_best(rows, floors)}))


if __name__ == "__main__":
    main()
