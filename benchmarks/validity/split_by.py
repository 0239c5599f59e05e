"""Whether what networks of groups share, and where they differ, holds on tables of known truth.

PYTHONPATH=workflow python -m benchmarks.validity split_by [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.downstream.shared_edges import GroupNetwork, edge_differences, overlap
from pairtile.statistics.counting_noise import Counts
from pairtile.statistics.exchangeable import Exchangeable
from scipy.stats import rankdata

from benchmarks.validity.claims import claim_of_mean, mean_at_most

Floats = NDArray[np.float64]

COMMAND = "python -m benchmarks.validity split_by"
LEVEL, BAR = 0.05, 0.08
ANY_BAR = 0.1
"""Of tables with any edge that is wrongly called, whose rate is known to 0.04."""

NONE = np.empty(0, np.int32)
GENES = 200
PAIRS = GENES * (GENES - 1) // 2


def run(quick: bool) -> list[dict[str, Any]]:
    """A row for each claim."""
    tables = 20 if quick else 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            *(unrelated_networks(*how, tables) for how in UNRELATED),
            *(same_everywhere(kind, words, tables // 2) for kind, words in SAME.items()),
            *one_group_differs(max(3, tables // 10)),
        ]


def grouped(draw: np.random.Generator, samples: int, module: NDArray[np.int64]) -> Floats:
    """Genes of modules with heavy tails; a gene's share of its module's factor is its own."""
    load = np.random.default_rng(0).uniform(0.2, 1.4, module.size)[:, None]
    factors = draw.standard_t(4, (int(module.max()) + 1, samples))
    return load * factors[module] + draw.standard_normal((module.size, samples))


def network(values: Floats, edges: int = 300) -> GroupNetwork:
    """The pairs of the largest rank correlations."""
    i, j = np.triu_indices(len(values), 1)
    r = np.corrcoef(rankdata(np.nan_to_num(values), axis=1))[i, j]
    best = np.argsort(-np.abs(r))[:edges]
    return GroupNetwork(np.stack([i[best], j[best]], axis=1), np.ones(len(values), dtype=bool))


UNRELATED = ((12, 300), (4, 200), (40, 600))
"""Modules, and edges of each network."""


def unrelated_networks(modules: int, edges: int, tables: int) -> dict[str, Any]:
    """Two groups whose modules have nothing in common, but the same genes are hubs."""
    small = []
    for number in range(tables):
        draw = np.random.default_rng([1, modules, number])
        module = draw.integers(modules, size=GENES)
        networks = [
            network(grouped(draw, samples, draw.permutation(module)), edges) for samples in (40, 70)
        ]
        found = overlap(*networks, np.zeros(GENES, dtype=int), number, draws=199)
        small.append(float(found.p_value <= LEVEL))
    words = f"two groups with unrelated modules ({modules}) and the same hubs"
    what = "of tables, p <= 0.05 for the number of shared edges"
    return mean_at_most(words, what, small, LEVEL, ANY_BAR, COMMAND)


SAME = {
    "plain": "three groups with the same co-expression, 40 to 90 samples",
    "batch": "the same, with batches across the groups that shift genes, stated",
    "counts": "the same, as counts with missing values",
    "shift": "the same, with other means and spreads in each group",
    "noise": "the same, as counts of which half the genes have 60 in one group and 3 in the others",
}


def same_everywhere(kind: str, words: str, tables: int) -> dict[str, Any]:
    """No edge differs between the groups, though each network has edges of its own."""
    wrong = []
    sizes = np.array([40, 60, 90])
    codes = np.repeat(np.arange(3, dtype=np.int32), sizes)
    for number in range(tables):
        draw = np.random.default_rng([2, len(kind), number])
        module = draw.integers(12, size=GENES)
        values = np.concatenate([grouped(draw, n, module) for n in sizes], axis=1)
        batch = NONE
        if kind == "batch":
            batch = draw.integers(3, size=codes.size).astype(np.int32)
            values += 1.5 * draw.standard_normal((GENES, 3))[:, batch]
        if kind == "counts":
            values = draw.poisson(np.exp(2.0 + 0.5 * values.clip(-6, 6))).astype(float)
            values[draw.random(values.shape) < 0.05] = np.nan
        if kind == "noise":
            mean = np.where((codes == 0) | (np.arange(GENES)[:, None] % 2 == 0), 60.0, 3.0)
            reads = draw.poisson(mean * np.exp(0.5 * values.clip(-6, 6))).astype(np.uint32)
            keys = np.arange(GENES, dtype=np.uint64)
            counts = Counts(reads, np.ones(codes.size), keys)
            values = counts.equalised(np.log2(reads + 1.0), np.arange(GENES), codes).values
        if kind == "shift":
            values = values * np.array([1.0, 3.0, 0.5])[codes] + 4.0 * codes * draw.standard_normal(
                (GENES, 1)
            )
        edges = _union(values, codes)
        found = edge_differences(values, codes, edges, Exchangeable(NONE, batch), PAIRS)
        wrong.append(float((found.q_value <= LEVEL).any()))
    what = "of tables, any edge called different (q <= 0.05)"
    return mean_at_most(words, what, wrong, LEVEL, ANY_BAR, COMMAND)


def one_group_differs(tables: int) -> list[dict[str, Any]]:
    """A quarter of the modules are other genes in one of three groups."""
    false, found_of_true = [], []
    sizes = np.array([60, 80, 100])
    codes = np.repeat(np.arange(3, dtype=np.int32), sizes)
    for number in range(tables):
        draw = np.random.default_rng([3, number])
        module = draw.integers(12, size=GENES)
        other = module.copy()
        other[module < 3] = draw.integers(3, 12, size=int((module < 3).sum()))
        parts = [grouped(draw, n, other if k == 1 else module) for k, n in enumerate(sizes)]
        values = np.concatenate(parts, axis=1)
        edges = _union(values, codes)
        found = edge_differences(values, codes, edges, Exchangeable(NONE, NONE), PAIRS)
        i, j = edges.T
        true = (module[i] == module[j]) != (other[i] == other[j])
        called = found.q_value <= LEVEL
        false.append(float((called & ~true).sum() / max(1, called.sum())))
        found_of_true.append(float(called[true].mean()))
    words = "a quarter of the modules differ in one of three groups, 60 to 100 samples"
    return [
        mean_at_most(words, "false, of edges called different", false, LEVEL, BAR, COMMAND),
        claim_of_mean(words, "called, of edges that differ", found_of_true, 1.0, COMMAND, low=0.3),
    ]


def _union(values: Floats, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    edges = [network(values[:, codes == group]).edges for group in range(int(codes.max()) + 1)]
    return np.unique(np.concatenate(edges), axis=0)
