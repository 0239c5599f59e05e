"""Whether the statistics of ``multimodal_correlation`` hold on tables whose truth is known.

    PYTHONPATH=workflow python -m benchmarks.validity multimodal_correlation [--quick]

Rates of edges and labels that are wrongly called, and what is found beside them.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import multimodal_correlation, prepare_expression
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.coexpression import (
    differential_coexpression,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples
from pairtile.statistics.counting_noise import Counts, relative_depths
from pairtile.statistics.exchangeable import Exchangeable
from scipy.signal import lfilter
from scipy.stats import binomtest

Floats = NDArray[np.float64]

COMMAND = "python -m benchmarks.validity multimodal_correlation"
LEVEL = 0.05
CALLED, FALSE = 0.07, 0.08
"""Bars at ``LEVEL``: of tests with p that small, and of edges that are false."""

NONE = np.empty(0, np.int32)
RAW = {"preprocess": {"log2": False}, "backend": "cpu"}


def run(quick: bool) -> list[dict[str, Any]]:
    """A row for each claim: scenario, nominal, measured, low, high (95 %), what, bar, passed,
    command."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            *conditions(40),
            far_off_numbers(600 if quick else 3000),
            replicates(600 if quick else 3000),
            *unequal_counts(400 if quick else 2000),
            *hidden_under_one_label(10 if quick else 20),
        ]


# --- conditions ---


def conditions(tables: int) -> list[dict[str, Any]]:
    """Pairs with the same correlation everywhere, whose genes follow the condition."""
    random = np.random.default_rng(1)
    p: dict[str, list[Floats]] = {"hours": [], "group": []}
    unique = []
    for _ in range(tables):
        hours, group = random.normal(size=80), np.repeat([0, 1], 40)
        for name, shift in (("hours", hours), ("group", 6.0 * group)):
            values = _pairs(random, 12, 80, 0.8) + shift
            found = multimodal_correlation(values, max_clusters=2, **RAW)
            modes = found.modes
            modes = modes[(modes["source"] // 2 == modes["target"] // 2)]
            label = hours if name == "hours" else np.where(group, "b", "a")
            network = found.network(
                "none",
                power=False,
                annotations=pd.DataFrame({name: label}),
                condition_networks={"q_value": LEVEL},
                modules=False,
            )
            tests = network.tests.drop_duplicates(["source", "target", "condition"])
            true = tests["source"] // 2 == tests["target"] // 2
            p[name].append(tests.loc[true, "coexpression_p_value"].dropna().to_numpy())
            edges = network.condition_networks
            mine = edges["source"] // 2 == edges["target"] // 2
            unique.append([int(edges.loc[mine, "unique"].sum()), len(modes)])
    words = {
        "hours": "genes follow a quantitative condition by 1 SD",
        "group": "groups shifted by 6 SD",
    }
    rows = [
        _rate(f"{words[name]}, same co-expression", parts, LEVEL, CALLED, "of edges, p <= 0.05")
        for name, parts in ((name, np.concatenate(each) <= LEVEL) for name, each in p.items())
    ]
    called, of = np.sum(unique, axis=0)
    flags = np.arange(of) < called
    return [*rows, _rate("the same: edges in a condition network as unique", flags, 0.05, FALSE)]


def far_off_numbers(pairs: int) -> dict[str, Any]:
    """Genes follow a number that is far larger in three samples than in the others."""
    random = np.random.default_rng(6)
    hours = random.normal(size=150)
    hours[:3] *= 50
    values = _pairs(random, pairs, 150, 0.6) + hours
    condition = Condition("hours", "quantitative", (), np.zeros(150, np.int32), hours)
    p = _differential(values, condition, Exchangeable(NONE, NONE))
    scenario = "genes follow a quantitative condition with three far-off values"
    return _rate(scenario, p <= LEVEL, LEVEL, CALLED, "of pairs, p <= 0.05")


def _differential(
    values: Floats,
    condition: Condition,
    exchangeable: Exchangeable,
    counts: Counts | None = None,
) -> Floats:
    """p-values of gene 2 k with gene 2 k + 1, all samples: float64 (pairs,)."""
    first = np.arange(0, len(values), 2)
    masks = np.zeros((first.size, -(-values.shape[1] // 8)), np.uint8)
    modes = ModeSamples(first, first + 1, masks, values)
    found = differential_coexpression(modes, condition, exchangeable, True, counts=counts)
    return found.p_value[:, 0]


def replicates(pairs: int) -> dict[str, Any]:
    """Triplicates of specimens with random labels; the specimens are stated as series."""
    random = np.random.default_rng(2)
    specimen = np.repeat(np.arange(20), 3).astype(np.int32)
    label = random.permutation(np.repeat([0, 1], 10))[specimen].astype(np.int32)
    values = np.repeat(_pairs(random, pairs, 20, 0.6), 3, axis=1)
    values += 0.3 * random.normal(size=values.shape)
    condition = Condition("label", "categorical", ("a", "b"), label, np.full(60, np.nan))
    p = _differential(values, condition, Exchangeable(specimen, NONE))
    return _rate("triplicates with random labels", p <= LEVEL, LEVEL, CALLED, "of pairs, p <= 0.05")


def unequal_counts(pairs: int) -> list[dict[str, Any]]:
    """Pairs with the same correlation of log rates, whose genes are read less under one label; and
    pairs that are correlated under one label, read alike under both."""
    random = np.random.default_rng(8)
    rows = []
    for a, b, spread, size in (
        (100, 2, (0.6, 0.6), 100),
        (100, 2, (0.6, 1.0), 100),
        (50, 5, (1.0, 0.6), 250),
        (20, 20, (0.6, 0.6), 100),
    ):
        rates = np.array(spread)[_two(size)] * _pairs(random, pairs, 2 * size, 0.6)
        p, _ = _of_counts(random, rates, np.array([a, b])[_two(size)])
        what = f"counts of mean {a} and {b} in {size} + {size} samples, log rates of SD {spread[0]}"
        scenario = f"{what} and {spread[1]}, same co-expression"
        tested = p[~np.isnan(p)]
        rows.append(_rate(scenario, tested <= LEVEL, LEVEL, FALSE, "of pairs, p <= 0.05"))
    for mean, rho, size in ((2, 0.8, 60), (10, 0.7, 60), (50, 0.5, 100)):
        rates = np.concatenate([_pairs(random, pairs, size, r) for r in (rho, 0.0)], axis=1)
        p, plain = _of_counts(random, 0.6 * rates, np.full(2 * size, mean))
        lost = _rate(
            f"counts of mean {mean}, correlated {rho} under one label: power lost by thinning",
            plain <= LEVEL,
            0.0,
            LEVEL,
            "of pairs, p <= 0.05",
        )
        lost |= {key: lost[key] - float((p <= LEVEL).mean()) for key in ("measured", "low", "high")}
        rows.append(lost | {"passed": lost["measured"] <= LEVEL})
    return rows


def _two(size: int) -> NDArray[np.int32]:
    """Two labels with ``size`` samples each."""
    return np.repeat([0, 1], size).astype(np.int32)


def _of_counts(
    random: np.random.Generator, rates: Floats, mean: NDArray[np.integer]
) -> tuple[Floats, Floats]:
    """p-values of counts in samples of unlike depth whose first half has one label, with and
    without thinning. ``rates``: logarithms, (genes, samples)."""
    depth = mean * np.exp(0.3 * random.normal(size=mean.size))
    counts = random.poisson(np.exp(rates - rates.var(axis=1, keepdims=True) / 2) * depth)
    counts = counts.astype(np.uint32)
    depths = relative_depths(counts)
    values = np.log2(counts / depths * depths.mean() + 1.0)
    codes = _two(mean.size // 2)
    condition = Condition("label", "categorical", ("a", "b"), codes, np.full(codes.size, np.nan))
    known = Counts(counts, depths, np.arange(len(counts), dtype=np.uint64))
    free = Exchangeable(NONE, NONE)
    return _differential(values, condition, free, known), _differential(values, condition, free)


def hidden_under_one_label(tables: int) -> list[dict[str, Any]]:
    """120 genes, three modules of 10, in 60 + 60 samples; under one label batches or cell types
    make 30 % of the variance: tables without a warning, and with one where there is nothing."""
    random = np.random.default_rng(9)
    hidden = {
        "4 batches": lambda: np.eye(4)[:, random.integers(0, 4, 60)],
        "4 cell types in mixed proportions": lambda: random.dirichlet(np.full(4, 2.0), 60).T,
        "nothing": lambda: np.zeros((1, 60)),
    }
    label = pd.DataFrame({"label": np.repeat(["a", "b"], 60)})
    two = Condition("label", "categorical", ("a", "b"), _two(60), np.full(120, np.nan))
    rows = []
    for name, draw in hidden.items():
        warned, p = [], []
        for _ in range(tables):
            values = np.concatenate(
                [_modules(random, 3, 10, 120, 0.6), random.normal(size=(90, 120))]
            )
            factors = draw()
            added = random.normal(size=(120, len(factors))) @ factors
            added -= added.mean(axis=1, keepdims=True)
            values[:, 60:] += added * np.sqrt(0.3 / 0.7 / max(added.var(), 1e-12))
            found = multimodal_correlation(values, clustering="none", **RAW)
            network = found.network(0.6, power=False, annotations=label, modules=False)
            codes = [getattr(each, "code", "") for each in network.warnings]
            warned.append("hidden_factors_of_label" in codes)
            cleaned = prepare_expression(values, log2=False, hidden_factors="auto").values
            p.append(_differential(cleaned[30:], two, Exchangeable(NONE, NONE)))
        nothing = name == "nothing"
        flags = np.array(warned) if nothing else ~np.array(warned)
        scenario = f"{name} hidden within one label: tables {'with' if nothing else 'without'}"
        bar = 0.05 if nothing else 0.1
        rows.append(_rate(f"{scenario} a warning", flags, 0.0, bar, "of tables"))
        scenario = f"{name} hidden within one label, hidden_factors: auto, unrelated genes"
        called = np.concatenate(p) <= LEVEL
        rows.append(_rate(scenario, called, LEVEL, FALSE, "of pairs, p <= 0.05"))
    return rows


def _pairs(random: np.random.Generator, number: int, samples: int, rho: float) -> Floats:
    """Gene 2 k with gene 2 k + 1, the others independent: float64 (2 number, samples)."""
    shared = np.repeat(random.normal(size=(number, samples)), 2, axis=0)
    return np.sqrt(rho) * shared + np.sqrt(1.0 - rho) * random.normal(size=shared.shape)


# --- false edges ---


def false_edges(tables: int) -> list[dict[str, Any]]:
    """Modules beside independent lognormal genes, by mixtures: edges that are in no module."""
    random = np.random.default_rng(3)
    rows = []
    for criterion in ("icl", "bic"):
        false: list[NDArray[np.bool_]] = []
        for _ in range(tables):
            values = np.concatenate(
                [_modules(random, 8, 5, 100, 0.7), np.exp(random.normal(size=(30, 100)))]
            )
            found = multimodal_correlation(
                values, criterion=criterion, max_clusters=3, min_correlation=0.3, **RAW
            )
            false.append(_false(found.network("fdr", power=False, modules=False).edges, 5, 40))
        what = f"modules and independent lognormal genes, {criterion}: false edges"
        rows.append(_rate(what, np.concatenate(false), LEVEL, FALSE, "of edges"))
    return rows


def noise(tables: int) -> dict[str, Any]:
    """Independent genes: tables in which any edge is found."""
    random = np.random.default_rng(4)
    any_edge = []
    for _ in range(tables):
        values = np.exp(random.normal(size=(100, 50)))
        found = multimodal_correlation(values, clustering="none", min_correlation=0.3, **RAW)
        any_edge.append(len(found.network("fdr", power=False, modules=False).edges) > 0)
    return _rate("independent genes: tables with an edge", any_edge, LEVEL, FALSE, "of tables")


def slow_samples(tables: int) -> list[dict[str, Any]]:
    """Independent AR(1) genes in the order of time, nothing stated: edges, and warnings."""
    random = np.random.default_rng(7)
    rows = []
    for phi in (0.8, 0.9):
        any_edge, silent = [], []
        for _ in range(tables):
            values = lfilter([1.0], [1.0, -phi], random.normal(size=(100, 300)), axis=1)[:, 200:]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = multimodal_correlation(
                    values, clustering="none", min_correlation=0.3, **RAW
                )
            silent.append(not any("alike" in str(each.message) for each in caught))
            any_edge.append(len(found.network("fdr", power=False, modules=False).edges) > 0)
        what = f"independent AR(1) genes, phi {phi}, nothing stated: tables"
        rows.append(_rate(f"{what} with an edge", any_edge, LEVEL, FALSE, "of tables"))
        rows.append(_rate(f"{what} without a warning", silent, 0.0, 0.0, "of tables"))
    return rows


def small_modular_tables(tables: int) -> list[dict[str, Any]]:
    """300 genes, 40 modules of 5: what fdr finds; noise of 300 and 1,200 genes: what rmt says."""
    random = np.random.default_rng(5)
    recall, false, silent = [], [], []
    for _ in range(tables):
        noise = random.normal(size=(100, 60))
        values = np.concatenate([_modules(random, 40, 5, 60, 0.6), noise])
        found = multimodal_correlation(values, clustering="none", min_correlation=0.3, **RAW)
        edges = found.network("fdr", power=False, modules=False).edges
        false.append(_false(edges, 5, 200))
        recall.append(np.arange(40 * 10) < (~false[-1]).sum())
        for genes in (300, 1200):
            values = random.normal(size=(genes, 60))
            found = multimodal_correlation(values, clustering="none", min_correlation=0.3, **RAW)
            made = found.network("rmt", power=False, modules=False)
            silent.append(made.threshold is not None and not made.warnings)
    least = _rate("300 genes in modules: recall of fdr", np.concatenate(recall), 1.0, 0.16)
    least["passed"] = least["measured"] >= least["bar"]
    return [
        _rate("300 genes in modules: false edges", np.concatenate(false), LEVEL, FALSE, "of edges"),
        least,
        _rate("noise: rmt threshold without a warning", silent, 0.0, 0.0, "of tables"),
    ]


def _modules(
    random: np.random.Generator, number: int, size: int, samples: int, rho: float
) -> Floats:
    shared = np.repeat(random.normal(size=(number, samples)), size, axis=0)
    return np.sqrt(rho) * shared + np.sqrt(1.0 - rho) * random.normal(size=shared.shape)


def _false(edges: pd.DataFrame, size: int, in_modules: int) -> NDArray[np.bool_]:
    """Of each pair with an edge, whether its genes are in no module together."""
    pairs = edges[["source", "target"]].drop_duplicates()
    source, target = pairs["source"].to_numpy(), pairs["target"].to_numpy()
    return np.asarray(~((source // size == target // size) & (target < in_modules)))


def _rate(
    scenario: str, flags: Any, nominal: float, bar: float, unit: str = "of edges"
) -> dict[str, Any]:
    """The share of ``flags`` that are true, with the exact binomial interval."""
    flags = np.asarray(flags, dtype=bool)
    test = binomtest(int(flags.sum()), max(1, flags.size))
    interval = test.proportion_ci(0.95)
    measured = float(test.statistic)
    return {
        "scenario": scenario,
        "nominal": nominal,
        "measured": measured,
        "low": float(interval.low),
        "high": float(interval.high),
        "what": unit,
        "bar": bar,
        "passed": measured <= bar,
        "command": COMMAND,
    }


if __name__ == "__main__":
    for line in run("--quick" in sys.argv[1:]):
        print({key: line[key] for key in line if key != "command"})
