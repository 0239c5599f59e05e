"""What is false of the network that ``mutual_information`` delivers, by its whole default chain:
null, p-values, score, ``keep`` and its quota, DPI.

    PYTHONPATH=workflow python -m benchmarks.validity delivered_networks [--quick]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile import infer_network
from pairtile.simulate import simulate_kinetic
from scipy.sparse.csgraph import connected_components

from benchmarks.validity.claims import Part, claim_of_mean, mean_at_most

Floats = NDArray[np.float64]
Related = tuple[Floats, NDArray[np.bool_], NDArray[np.int64] | None]
"""A table, which pairs of its genes are related, and the regulators where a list is given."""

COMMAND = "python -m benchmarks.validity delivered_networks"
NOMINAL, BAR = 0.05, 0.06
RULES: tuple[dict[str, float] | str, ...] = ({"fdr": NOMINAL}, "auto")
"""Rules for edges; ``auto`` has the same rate and a quota beside it."""


def modules(
    draw: np.random.Generator, genes: int, samples: int, sizes: tuple[float, ...]
) -> Related:
    """Modules of these shares of the genes, each of one factor with 30 to 80 % of the variance."""
    module = np.searchsorted(np.cumsum(sizes), (np.arange(genes) + 0.5) / genes)
    inside = module < len(sizes)
    share = np.where(inside, draw.uniform(0.3, 0.8, genes), 0.0)[:, None]
    factors = draw.standard_normal((len(sizes) + 1, samples))
    own = draw.standard_normal((genes, samples))
    values = np.sqrt(share) * factors[module] + np.sqrt(1.0 - share) * own
    return values, (module[:, None] == module) & inside, None


def kinetic(draw: np.random.Generator, genes: int, samples: int) -> Related:
    """Half of the genes in a network with Hill kinetics, the others unregulated. Related: those
    that the network connects."""
    made = simulate_kinetic(genes // 2, samples, genes // 16, seed=int(draw.integers(1 << 31)))
    place = {gene: k for k, gene in enumerate(made.genes)}
    joined = np.zeros((genes, genes), dtype=bool)
    for source, target in zip(made.edges["source"], made.edges["target"], strict=True):
        joined[place[source], place[target]] = True
    part = connected_components(joined)[1]
    others = draw.standard_normal((genes - genes // 2, samples))
    return np.vstack([np.log2(made.values + 1.0), others]), part[:, None] == part, None


def regulons(draw: np.random.Generator, genes: int, samples: int) -> Related:
    """40 listed regulators with 10 targets each, beside unrelated genes; edges of all strengths."""
    of_gene = np.where(np.arange(genes) < 440, np.arange(genes) % 40, np.arange(genes))
    r = np.tanh(draw.uniform(2.5, 7.5, (genes, 1)) / np.sqrt(samples - 3))
    r[440:], r[:40] = 0.0, 1.0
    values = draw.standard_normal((genes, samples))
    values = r * values[of_gene] + np.sqrt(1.0 - r * r) * values
    return values, of_gene[:, None] == of_gene, np.arange(40)


TABLES: dict[str, Callable[[np.random.Generator], Related]] = {
    "modules of 5 and 10 %, 300 genes, 100 samples": (
        lambda draw: modules(draw, 300, 100, (0.05, 0.1))
    ),
    "modules of 10 and 25 %, 300 genes, 60 samples": (
        lambda draw: modules(draw, 300, 60, (0.1, 0.25))
    ),
    "four modules of 5 %, 1,000 genes, 100 samples": (
        lambda draw: modules(draw, 1000, 100, (0.05,) * 4)
    ),
    **{
        f"two modules of a quarter, {genes:,} genes, {samples} samples": (
            lambda draw, genes=genes, samples=samples: modules(  # type: ignore[misc]
                draw, genes, samples, (0.25, 0.25)
            )
        )
        for genes, samples in ((300, 60), (1000, 100), (1000, 300), (2000, 100))
    },
    "kinetic network beside unregulated genes, 600 genes, 100 samples": (
        lambda draw: kinetic(draw, 600, 100)
    ),
    "40 hubs, no list, 600 genes, 60 samples": (lambda draw: (*regulons(draw, 600, 60)[:2], None)),
    "40 hubs, no list, 600 genes, 200 samples": (
        lambda draw: (*regulons(draw, 600, 200)[:2], None)
    ),
    "40 listed regulators, 800 genes, 60 samples": lambda draw: regulons(draw, 800, 60),
    "40 listed regulators, 600 genes, 25 samples": lambda draw: regulons(draw, 600, 25),
}


def delivered(n_tables: int, scenario: str) -> list[dict[str, Any]]:
    """False edges of whole networks and of their first 50, and how many are true."""
    rows = []
    for keep in RULES:
        found = []
        for seed in range(n_tables):
            values, related, regulators = TABLES[scenario](np.random.default_rng([seed, 49]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                edges = infer_network(
                    values,
                    regulators,
                    keep=keep,
                    preprocess={"log2": False, "normalize": "none"},
                    backend="cpu",
                )
            true = related[edges["source"].to_numpy(int), edges["target"].to_numpy(int)]
            shares = [1.0 - true.mean(), 1.0 - true[:50].mean()] if len(true) else [0.0, 0.0]
            found.append([*shares, true.sum()])
        false, false_first, number = np.transpose(found).tolist()
        named = f"{scenario}, whole chain, keep: {keep}"
        rows.append(mean_at_most(named, "false edges", false, NOMINAL, BAR, COMMAND))
        if keep == "auto":
            what = "false edges of the first 50"
            rows.append(mean_at_most(named, what, false_first, NOMINAL, 0.05, COMMAND))
        rows.append(claim_of_mean(named, "related pairs", number, float("nan"), COMMAND))
    return rows


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    return [partial(delivered, 3 if quick else 16, scenario) for scenario in TABLES]
