"""Whether bicor, Kendall's tau, partial and lagged correlation keep their error rates.

    PYTHONPATH=workflow python -m benchmarks.validity multimodal_scores [--quick]

Tables of modules of genes beside unrelated ones, of several distributions; time courses of genes
that have nothing to do with each other, and of targets that follow their regulator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import infer_network, multimodal_correlation
from scipy.signal import lfilter

from benchmarks.validity.claims import Part, claim, claim_of_mean, mean_at_most, of_share

Floats = NDArray[np.float64]

COMMAND = "python -m benchmarks.validity multimodal_scores"
LEVEL = 0.05
CALLED, FALSE = 0.07, 0.08
"""Bars at ``LEVEL``: of pairs with p that small, and of edges that are false."""

SCORES = ("bicor", "kendall", "partial")

MODULES, SIZE, ALONE = 8, 5, 60
"""Modules of so many genes, and genes beside them."""


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    tables = 4 if quick else 20
    return [
        *(partial(modules, tables, n, name) for n in (30, 100) for name in DISTRIBUTIONS),
        *(partial(unrelated, 5 * tables, score) for score in SCORES),
        *(partial(direct_relations, tables, n) for n in (100, 300)),
    ]


# --- samples that stand alone ---


DISTRIBUTIONS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "normal genes": lambda z, _: z,
    "lognormal genes": lambda z, _: np.exp(z),
    "genes with heavy tails (normal to the power 2.5)": lambda z, _: np.sign(z) * abs(z) ** 2.5,
    "half of the genes counts of mean 1": lambda z, random: np.where(
        random.random((len(z), 1)) < 0.5, random.poisson(np.exp(z - 0.5)), z
    ),
    "half of the genes 0 or 1": lambda z, random: np.where(
        random.random((len(z), 1)) < 0.5, z > 1.0, z
    ),
}


def table_of(random: np.random.Generator, samples: int, modules: int = MODULES) -> Floats:
    """Normal genes, correlated 0.6 within modules: float64 (genes, samples)."""
    shared = np.repeat(random.normal(size=(modules, samples)), SIZE, axis=0)
    related = np.sqrt(0.6) * shared + np.sqrt(0.4) * random.normal(size=shared.shape)
    return np.concatenate([related, random.normal(size=(ALONE, samples))])


def related(pairs: pd.DataFrame) -> NDArray[np.bool_]:
    """Of each pair, whether its genes are of one module."""
    source, target = pairs["source"].to_numpy(), pairs["target"].to_numpy()
    same = source // SIZE == target // SIZE
    return np.asarray(same & (np.maximum(source, target) < MODULES * SIZE))


def scored(values: Floats, score: str, **settings: Any) -> Any:
    """All pairs of a table as it is."""
    cleaning = {"log2": False, "sample_scale": False, "min_samples": 10}
    return multimodal_correlation(
        values,
        clustering="none",
        correlation=score,
        min_correlation=0.0,
        min_samples=10,
        preprocess=cleaning,
        backend="cpu",
        **settings,
    )


def edges_of(found: Any) -> pd.DataFrame:
    """At a false discovery rate of ``LEVEL``."""
    edges: pd.DataFrame = found.network("fdr", power=False, modules=False).edges
    return edges


def modules(tables: int, samples: int, name: str) -> list[dict[str, Any]]:
    """p-values of unrelated pairs, edges between modules, and how many of the related are found."""
    rows, made = [], DISTRIBUTIONS[name]
    for score in SCORES:
        random = np.random.default_rng([samples, 15])
        small, shares, true = [], [], 0
        made_of = tables * (3 if samples == 30 else 1)  # few edges in each
        for _ in range(made_of):
            found = scored(made(table_of(random, samples), random), score)
            unrelated = ~related(found.modes)
            small.append(float((found.modes["p_value"][unrelated] <= LEVEL).mean()))
            of_module = related(edges_of(found))
            shares.append(float((~of_module).sum() / max(1, of_module.size)))
            true += int(of_module.sum())
        scenario = f"{score}, {samples} samples, modules beside unrelated genes, {name}"
        what = "unrelated pairs, p <= 0.05"
        rows.append(mean_at_most(scenario, what, small, LEVEL, CALLED, COMMAND))
        what = "share of false edges, mean over tables, fdr 0.05"
        rows.append(mean_at_most(scenario, what, shares, LEVEL, FALSE, COMMAND))
        pairs = made_of * MODULES * SIZE * (SIZE - 1) // 2
        rows.append(
            claim(
                scenario,
                "related pairs that are edges",
                true / pairs,
                of_share(true, pairs),
                nominal=1.0,
                bar="none",
                passed=None,
                command=COMMAND,
            )
        )
    return rows


def unrelated(tables: int, score: str) -> list[dict[str, Any]]:
    """Tables without any relation in which an edge is found."""
    random = np.random.default_rng(12)
    hits = sum(
        len(edges_of(scored(np.exp(table_of(random, 40, modules=0)), score))) > 0
        for _ in range(tables)
    )
    scenario = f"{score}, {ALONE} independent lognormal genes, 40 samples"
    return [
        claim(
            scenario,
            "tables with an edge, fdr 0.05",
            hits / tables,
            of_share(hits, tables),
            nominal=LEVEL,
            bar=f"at most {FALSE:g}",
            passed=of_share(hits, tables)[0] <= LEVEL,
            command=COMMAND,
        )
    ]


def direct_relations(tables: int, samples: int) -> list[dict[str, Any]]:
    """100 normal genes with 60 direct relations: what else is an edge."""
    rows = []
    for score in ("partial", "pearson"):
        random = np.random.default_rng([samples, 13])
        through, recall = [], []
        for _ in range(tables):
            values, direct = _direct(random, samples)
            edges = edges_of(scored(values, score, outliers_before=False))
            true = [pair in direct for pair in zip(edges["source"], edges["target"], strict=True)]
            through.append(1.0 - float(np.mean(true)) if true else 0.0)
            recall.append(sum(true) / len(direct))
        scenario = f"{score}, 100 genes with 60 direct relations, {samples} samples"
        rows.append(claim_of_mean(scenario, "edges that are not direct", through, 0.0, COMMAND))
        rows.append(claim_of_mean(scenario, "direct relations found", recall, 1.0, COMMAND))
    return rows


def _direct(random: np.random.Generator, samples: int) -> tuple[Floats, set[tuple[int, int]]]:
    """Values of a normal distribution, and the pairs with an entry in its inverse covariance."""
    inverse = np.eye(100)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < 60:
        one, other = sorted(random.choice(100, 2, replace=False).tolist())
        pairs.add((one, other))
        inverse[one, other] = inverse[other, one] = random.choice([-0.35, 0.35])
    inverse += np.eye(100) * max(0.0, 0.1 - np.linalg.eigvalsh(inverse)[0])
    root = np.linalg.cholesky(np.linalg.inv(inverse))
    return root @ random.normal(size=(100, samples)), pairs


# --- time courses ---


COURSES = ((1, 100, 0.8), (4, 25, 0.8), (4, 25, 0.5), (8, 12, 0.9))
"""Series, samples of each, and what stays of a gene from one to the next."""


def courses(tables: int, n_series: int, length: int, phi: float) -> list[dict[str, Any]]:
    """AR(1) genes in stated series, scored with a lag of one sample: nothing, and 10 targets that
    follow their regulator one sample later."""
    rows = []
    series = [f"s{k}" for k in np.repeat(np.arange(n_series), length)]
    for score in ("spearman", "kendall", "bicor", "mutual information"):
        random = np.random.default_rng([n_series, length, 14])
        hits = back = true = 0
        shares = []
        for _ in range(tables):
            values = _courses(random, 40, n_series, length, phi)
            hits += len(_lagged_edges(values, score, series)) > 0
            values[1:20:2, 1:] = 0.8 * values[0:20:2, :-1] + 0.6 * values[1:20:2, 1:]
            edges = _lagged_edges(values, score, series)
            source, target = edges["source"].to_numpy(), edges["target"].to_numpy()
            follows = (target == source + 1) & (source % 2 == 0) & (source < 20)
            turned = (source == target + 1) & (target % 2 == 0) & (target < 20)
            true, back = true + int(follows.sum()), back + int(turned.sum())
            shares.append(float((~follows & ~turned).sum() / max(1, follows.size)))
        made = f"{n_series} x {length} samples, phi {phi:g}"
        scenario = f"{score}, lag 1, 40 independent AR(1) genes in {made}"
        rows.append(
            claim(
                scenario,
                "tables with an edge, fdr 0.05",
                hits / tables,
                of_share(hits, tables),
                nominal=LEVEL,
                bar=f"at most {FALSE:g}",
                passed=of_share(hits, tables)[0] <= LEVEL,
                command=COMMAND,
            )
        )
        scenario = f"{score}, lag 1, 10 of 40 AR(1) genes follow another, {made}"
        what = "share of edges between unrelated genes, mean over tables, fdr 0.05"
        rows.append(mean_at_most(scenario, what, shares, LEVEL, FALSE, COMMAND))
        for what, n in (("relations found", true), ("found turned round, too", back)):
            interval = of_share(n, 10 * tables)
            rows.append(
                claim(
                    scenario, what, n / (10 * tables), interval,
                    nominal=float(n == true), bar="none", passed=None, command=COMMAND,
                )
            )  # fmt: skip
    return rows


def _lagged_edges(values: Floats, score: str, series: list[str]) -> pd.DataFrame:
    if score != "mutual information":
        return edges_of(scored(values, score, series=series, lag=1))
    cleaning = {"log2": False, "sample_scale": False}
    rule: dict[str, Any] = {"keep": {"fdr": LEVEL}, "preprocess": cleaning, "backend": "cpu"}
    found: pd.DataFrame = infer_network(values, series=series, lag=1, **rule)
    return found


def _courses(
    random: np.random.Generator, genes: int, n_series: int, length: int, phi: float
) -> Floats:
    """Float64 (genes, n_series * length), series by series, each begun anew."""
    steps = random.normal(size=(genes, n_series, length + 100))
    drawn = lfilter([np.sqrt(1.0 - phi**2)], [1.0, -phi], steps, axis=2)[:, :, 100:]
    return np.ascontiguousarray(drawn.reshape(genes, -1))
