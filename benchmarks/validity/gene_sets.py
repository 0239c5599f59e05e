"""Simulate what p-values of gene sets and of activities are when there is nothing to find.

PYTHONPATH=workflow python -m benchmarks.validity gene_sets [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import activity, enrichment
from pairtile.downstream.label_tests import label_test
from pairtile.io.annotations import Condition

from benchmarks.validity.claims import claim_of_mean

COMMAND = "python -m benchmarks.validity gene_sets"
GENES, MODULES = 1000, 8
LEVEL, BAR = 0.05, 0.065
SIZES = (6, 15, 40, 120)

Draw = np.random.Generator
Floats = NDArray[np.float64]


def table(draw: Draw, samples: int, heavy: bool) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Genes of unequal loadings on modules of unequal sizes, two fifths in none (module 0); values
    normal, or of heavy tails and skewed."""
    shares = np.append(0.4, 0.6 * draw.dirichlet(np.full(MODULES, 4.0)))
    module = draw.choice(MODULES + 1, GENES, p=shares)
    factors = (
        draw.standard_t(3, (MODULES, samples))
        if heavy
        else draw.standard_normal((MODULES, samples))
    )
    noise = (
        draw.gamma(1.0, 1.0, (GENES, samples)) if heavy else draw.standard_normal((GENES, samples))
    )
    loading = np.where(module > 0, draw.uniform(0.3, 0.9, GENES), 0.0)[:, None]
    values = loading * factors[np.maximum(module, 1) - 1] + np.sqrt(1 - loading**2) * noise
    names = [f"g{k}" for k in range(GENES)]
    return pd.DataFrame(values, index=names, columns=[f"s{k}" for k in range(samples)]), module


def random_sets(draw: Draw, genes: NDArray[Any]) -> dict[str, list[str]]:
    return {
        f"{size} {n}": draw.choice(genes, size, replace=False).tolist()
        for size in SIZES
        for n in range(15)
    }


def module_sets(draw: Draw, genes: NDArray[Any], module: NDArray[np.int64]) -> dict[str, list[str]]:
    """Sets of correlated genes: a part of each module but the first."""
    return {
        f"{k} {size}": draw.choice(own, min(size, own.size), replace=False).tolist()
        for k in range(2, MODULES + 1)
        for size in SIZES[:3]
        if (own := genes[module == k]).size >= 5
    }


def ranks(samples: int, heavy: bool, correlated: bool, external: bool, seeds: range) -> list[float]:
    """Share of sets with p <= 0.05 by their correlation with the first module's eigengene, or with
    a profile that has nothing to do with any gene."""
    found = []
    for seed in seeds:
        draw = np.random.default_rng([seed, samples, heavy, correlated, external])
        values, module = table(draw, samples, heavy)
        genes = values.index.to_numpy()
        sets = module_sets(draw, genes, module) if correlated else random_sets(draw, genes)
        profile = draw.standard_normal(samples)
        if not external:
            own = values.to_numpy()[module == 1]
            profile = np.linalg.svd(own - own.mean(axis=1, keepdims=True))[2][0]
        eigengenes = pd.DataFrame(profile[None], columns=values.columns)
        tested = enrichment({}, sets, expression=values, eigengenes=eigengenes)
        found.append(float((tested["p_value"] <= LEVEL).mean()))
    return found


def overlaps(seeds: range) -> list[float]:
    """Share of random sets with p <= 0.05 in modules, of sets whose p can be so small."""
    found = []
    for seed in seeds:
        draw = np.random.default_rng([seed, 7])
        values, module = table(draw, 5, False)
        genes = values.index.to_numpy()
        sets = random_sets(draw, genes)
        modules = pd.DataFrame({"gene": genes, "module": module})
        tested = enrichment(modules, sets, genes)
        n_tests = tested.attrs["counts"]["enrichment_tests"]
        found.append(float((tested["p_value"] <= LEVEL).sum() / n_tests))
    return found


def false_discoveries(seeds: range) -> list[float]:
    """Share of tables in which any of the correlated sets, none of the first module, is found by
    its eigengene at q <= 0.05."""
    found = []
    for seed in seeds:
        draw = np.random.default_rng([seed, 11])
        values, module = table(draw, 30, seed % 2 == 1)
        genes = values.index.to_numpy()
        sets = module_sets(draw, genes, module) | random_sets(draw, genes[module != 1])
        # Genes of the first module would make every other set one of low ranks.
        kept = module != 1
        profile = pd.DataFrame(draw.standard_normal((1, 30)), columns=values.columns)
        tested = enrichment({}, sets, expression=values[kept], eigengenes=profile)
        found.append(float((tested["q_value"] <= LEVEL).any()))
    return found


def planted(seeds: range) -> list[float]:
    """Share of sets, two thirds of each in the largest module, that are found at q <= 0.05."""
    found = []
    for seed in seeds:
        draw = np.random.default_rng([seed, 13])
        values, module = table(draw, 30, False)
        genes = values.index.to_numpy()
        largest = int(np.bincount(module)[1:].argmax()) + 1
        own = genes[module == largest]
        sets = random_sets(draw, genes)
        for n in range(10):
            inside = draw.choice(own, 20, replace=False).tolist()
            sets[f"planted {n}"] = inside + draw.choice(genes[module == 0], 10, False).tolist()
        all_own = values.to_numpy()[module == largest]
        profile = np.linalg.svd(all_own - all_own.mean(axis=1, keepdims=True))[2][:1]
        profile *= np.sign(profile @ all_own.mean(axis=0))[:, None]
        eigengenes = pd.DataFrame(profile, columns=values.columns)
        tested = enrichment({}, sets, expression=values, eigengenes=eigengenes)
        q = tested.set_index("gene_set")["q_value"]
        found.append(float(np.mean([q[name] <= LEVEL for name in sets if "planted" in name])))
    return found


def condition(labels: NDArray[Any], numbers: bool = False) -> Condition:
    if numbers:
        return Condition("x", "quantitative", (), np.full(labels.size, -1, np.int32), labels)
    codes = labels.astype(np.int32)
    names = tuple(map(str, np.unique(codes)))
    return Condition("x", "categorical", names, codes, np.full(codes.size, np.nan))


def activities(
    draw: Draw, samples: int, batch: NDArray[np.int64], truth: Floats | None = None
) -> pd.DataFrame:
    """Of a network made from the same samples: each regulator's targets are the thirty genes that
    are most correlated with it. Batches differ in mean and in spread."""
    regulators = 40
    values, _ = table(draw, samples, True)
    matrix = values.to_numpy().copy()
    matrix[:regulators] = draw.standard_normal((regulators, samples))
    if truth is not None:
        matrix[:regulators] += truth
    target = np.arange(regulators, 600) % regulators
    matrix[regulators:600] = 0.7 * matrix[target] + 0.7 * matrix[regulators:600]
    matrix *= 1 + 0.7 * batch
    matrix += draw.standard_normal((GENES, batch.max() + 1))[:, batch]
    rho = np.corrcoef(matrix)[:regulators]
    np.fill_diagonal(rho, 0.0)
    edges = [
        (values.index[k], values.index[j], rho[k, j])
        for k in range(regulators)
        for j in np.argsort(-np.abs(rho[k]))[:30]
    ]
    network = pd.DataFrame(edges, columns=["source", "target", "weight"])
    expression = pd.DataFrame(matrix, index=values.index, columns=values.columns)
    return activity(expression, network)


def labels_without_effect(kind: str, samples: int, seeds: range) -> list[float]:
    """Share of regulators with p <= 0.05 where labels have nothing to do with the genes, and
    batches share them unequally."""
    found = []
    for seed in seeds:
        draw = np.random.default_rng([seed, samples, len(kind)])
        batch = draw.integers(3, size=samples)
        blocks = [batch.astype(np.int32)]
        if kind == "numbers":
            label = condition(np.exp(draw.standard_normal(samples)) + batch, True)
        elif kind == "donors":
            donor = np.repeat(np.arange(samples // 10), 10)
            batch = donor  # each donor shifts all of its cells
            label, blocks = condition(donor % 2), [donor.astype(np.int32)]
        else:
            n = int(kind)
            chance = np.ones((3, n)) + 2 * np.eye(3, n)
            drawn = [draw.choice(n, p=chance[b] / chance[b].sum()) for b in batch]
            label = condition(np.array(drawn))
        tested = label_test(activities(draw, samples, batch).to_numpy(), label, blocks)
        found.append(float((tested.p_value <= LEVEL).mean()))
    return found


def master_regulators(seeds: range) -> list[float]:
    """Share of five regulators that are 1.5 standard deviations more active under one of two labels
    and are found at p <= 0.001, of 30 samples in three batches."""
    found = []
    for seed in seeds:
        draw = np.random.default_rng([seed, 17])
        batch, label = np.arange(30) % 3, (np.arange(30) // 3) % 2
        truth = np.zeros((40, 30))
        truth[:5] = 1.5 * label
        scores = activities(draw, 30, batch, truth).to_numpy()
        tested = label_test(scores, condition(label), [batch.astype(np.int32)])
        found.append(float((tested.p_value[:5] <= 0.001).mean()))
    return found


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick``: from a quarter of the tables."""
    seeds = range(10 if quick else 40)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        what = "random sets with p ≤ 0.05"
        scenario = "modules of genes, sets of 6 to 120 random genes"
        rows.append(claim_of_mean(scenario, what, overlaps(seeds), LEVEL, COMMAND, high=LEVEL))
        for correlated, name in ((False, "random sets"), (True, "sets of correlated genes")):
            for samples, heavy in ((12, True), (30, False), (100, True)):
                for external in (True, False):
                    profile = "unrelated profile" if external else "eigengene of another module"
                    kind = "skewed, heavy-tailed" if heavy else "normal"
                    scenario = f"{name} ranked by {profile}, {samples} samples, {kind}"
                    shares = ranks(samples, heavy, correlated, external, seeds)
                    # Sets of a table move together, and an eigengene has relations by chance.
                    bar = BAR if not correlated else 0.08
                    what = "sets with p ≤ 0.05"
                    rows.append(claim_of_mean(scenario, what, shares, LEVEL, COMMAND, high=bar))
        scenario = "correlated and random sets ranked by an unrelated profile, 30 samples"
        what = "tables with any q ≤ 0.05"
        many = range(4 * len(seeds))
        rows.append(
            claim_of_mean(scenario, what, false_discoveries(many), LEVEL, COMMAND, high=0.1)
        )
        scenario = "sets of 30 genes, 20 of them in a module, 30 samples"
        what = "planted sets with q ≤ 0.05"
        rows.append(claim_of_mean(scenario, what, planted(seeds), 1.0, COMMAND, low=0.8))
        what = "regulators with p ≤ 0.05"
        for kind, samples, name in (
            ("2", 12, "12 samples of two labels"),
            ("2", 48, "48 samples of two labels"),
            ("4", 48, "48 samples of four labels"),
            ("numbers", 48, "48 samples, a skewed number"),
        ):
            scenario = f"activities, null {name}, three batches that share them unequally"
            shares = labels_without_effect(kind, samples, seeds)
            rows.append(claim_of_mean(scenario, what, shares, LEVEL, COMMAND, high=BAR))
        scenario = "activities, 100 cells of 10 donors of one label each"
        shares = labels_without_effect("donors", 100, seeds)
        rows.append(claim_of_mean(scenario, what, shares, LEVEL, COMMAND, high=BAR))
        scenario = "5 of 40 regulators 1.5 SD more active under a label, 30 samples, 3 batches"
        what = "of these with p ≤ 0.001"
        rows.append(claim_of_mean(scenario, what, master_regulators(seeds), 1.0, COMMAND, low=0.5))
    return rows
