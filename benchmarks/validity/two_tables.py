"""Whether p-values between two tables hold, and tests of predicted targets.

    PYTHONPATH=workflow python -m benchmarks.validity two_tables [--quick]

Rows of the two tables are unrelated unless said otherwise: what passes is false.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import infer_network, multimodal_correlation
from pairtile.api.settings import analysis_config
from pairtile.downstream.target_enrichment import rank_profiles, target_enrichment
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.null import mode_null
from pairtile.statistics.hidden_factors import Exchange
from scipy.signal import lfilter

from benchmarks.validity.cells import cells
from benchmarks.validity.claims import Part, claim_of_mean, mean_at_most

Floats = NDArray[np.float64]
EVERY: dict[str, Any] = {"min_correlation": 0.0, "min_samples": 15, "clustering": "none"}
CORRELATIONS = analysis_config(MultimodalCorrelationConfig, estimator=EVERY)

Tables = tuple[Floats, Floats, dict[str, Any]]
"""Genes, rows of the other table, and what the call states."""

COMMAND = "python -m benchmarks.validity two_tables"
LEVEL, BAR = 0.05, 0.07
FDR_BAR = 0.08
OVERALL_BAR = 0.09
"""Of one test for each simulated table, whose rate is known to 0.03."""


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    tables = 3 if quick else 20
    return [
        *(partial(unrelated, words, make, tables) for words, make in UNRELATED.items()),
        partial(related, 2 if quick else 10),
        *(partial(targets, *kind, 20 if quick else 200) for kind in TARGETS.items()),
    ]


# --- pairs across ---


def counts_and_metabolites(draw: np.random.Generator, samples: int) -> Tables:
    """Counts of unequal depth; lognormal levels, of which low ones are missing more often."""
    counts = cells(draw, samples, 100.0, genes=60, spread=0.4)
    levels = np.exp(draw.standard_t(4, (25, samples)) + draw.normal(12, 2, (25, 1)))
    rank = levels.argsort(axis=1).argsort(axis=1) / samples
    levels[draw.random(levels.shape) < 0.25 * (1.0 - rank)] = np.nan
    return counts, levels, {}


def cells_and_proteins(draw: np.random.Generator, samples: int) -> Tables:
    """Sparse counts, and antibody counts whose depth follows that of the cells."""
    counts = cells(draw, 3 * samples, 1.0, genes=60, spread=0.8)
    proteins = cells(draw, 3 * samples, 40.0, genes=20, spread=0.1)
    depth = counts.sum(axis=0) / counts.sum(axis=0).mean()
    return counts, draw.poisson(proteins * np.maximum(depth, 0.05)).astype(float), {}


def shared_batches(draw: np.random.Generator, samples: int) -> Tables:
    """Batches shift rows of both tables by 1.5 standard deviations, and are stated."""
    batch = draw.integers(3, size=samples)
    both = draw.standard_t(5, (80, samples)) + 1.5 * draw.standard_normal((80, 3))[:, batch]
    return both[:60], np.exp(both[60:]), {"batch": batch}


def shared_courses(draw: np.random.Generator, samples: int) -> Tables:
    """Rows of both tables are slow along four time courses, which are stated."""
    length = samples // 4
    noise = draw.standard_normal((80, 4, length + 50))
    slow = lfilter([1.0], [1.0, -0.7], noise, axis=2)[:, :, 50:].reshape(80, -1)
    named = np.repeat(np.arange(4), length)
    return slow[:60], slow[60:], {"series": named, "time": np.tile(np.arange(length), 4)}


def shared_factor(draw: np.random.Generator, samples: int) -> Tables:
    """A factor that nothing states moves most rows of both tables; it is removed from each."""
    factor = draw.standard_normal((2, samples))
    both = draw.standard_normal((180, samples)) + draw.normal(size=(180, 2)) @ factor
    return both[:120], both[120:], {"preprocess": {"hidden_factors": "auto", "log2": False}}


UNRELATED: dict[str, Callable[[np.random.Generator, int], Tables]] = {
    "counts and metabolites with missing values": counts_and_metabolites,
    "sparse cells and antibody counts that share depth": cells_and_proteins,
    "a shared batch, stated": shared_batches,
    "shared time courses, stated": shared_courses,
    "a shared hidden factor, removed from each table": shared_factor,
}


def unrelated(
    words: str, simulate: Callable[[np.random.Generator, int], Tables], tables: int
) -> list[dict[str, Any]]:
    """Shares of pairs with p <= 0.05, by mutual information and by correlation."""
    rows = []
    for samples in (40, 100):
        small: dict[str, list[float]] = {"mutual information": [], "correlation": []}
        for number in range(tables):
            draw = np.random.default_rng([7, samples, number])
            genes, others, stated = simulate(draw, samples)
            first, other = _named(genes, "g"), _named(others, "m")
            stated = {**stated, "backend": "cpu"}
            found = infer_network(
                first, other_expression=other, keep="all", dpi=False, permutations=50_000, **stated
            )
            small["mutual information"].append(float((found["p_value"] <= LEVEL).mean()))
            modes = multimodal_correlation(first, other_expression=other, **EVERY, **stated)
            null = mode_null(CORRELATIONS, modes.state, choose("cpu"), 1, 50_000)
            p = null.p_value(modes.modes["correlation"], modes.modes["n_samples"])
            small["correlation"].append(float((p <= LEVEL).mean()))
        for what, shares in small.items():
            name = f"{words}, {samples} samples"
            share = f"of pairs, p <= 0.05 by {what}"
            rows.append(mean_at_most(name, share, shares, LEVEL, BAR, COMMAND))
    return rows


def related(tables: int) -> list[dict[str, Any]]:
    """Every third metabolite follows a gene: false ones among the pairs with q <= 0.05."""
    false: list[float] = []
    recall: list[float] = []
    for number in range(tables):
        draw = np.random.default_rng([8, number])
        genes, others, _ = counts_and_metabolites(draw, 80)
        for k in range(0, len(others), 3):
            level = np.log(genes[k] + 1.0) - np.log(genes.sum(axis=0))
            others[k] *= np.exp(1.5 * (level - level.mean()) / level.std())
        found = infer_network(
            _named(genes, "g"),
            other_expression=_named(others, "m"),
            keep={"fdr": LEVEL},
            dpi=False,
            backend="cpu",
        )
        true = found["source"].str[1:] == found["target"].str[1:]
        true &= found["source"].str[1:].astype(int) % 3 == 0
        false.append(float((~true).mean()) if len(found) else 0.0)
        recall.append(float(true.sum()) / len(range(0, len(others), 3)))
    words = "every third metabolite follows a gene, 80 samples"
    return [
        mean_at_most(words, "false, of pairs with q <= 0.05", false, LEVEL, FDR_BAR, COMMAND),
        claim_of_mean(words, "found, of the true pairs", recall, 1.0, COMMAND, low=0.8),
    ]


def _named(values: Floats, letter: str) -> pd.DataFrame:
    columns = [f"s{k}" for k in range(values.shape[1])]
    return pd.DataFrame(values, index=[f"{letter}{k}" for k in range(len(values))], columns=columns)


# --- predicted targets ---

TARGETS = {
    "unrelated": "miRNAs unrelated to genes that come in modules",
    "follow": "miRNAs follow modules of genes, targets at random",
    "concentrated": "targets lie in modules, miRNAs unrelated",
    "families": "families of miRNAs with the same targets and expression",
    "batches": "batches shift miRNAs and genes, and are stated",
    "against": "half of the miRNAs lower their targets",
}


def targets(kind: str, words: str, tables: int) -> list[dict[str, Any]]:
    """p-values of the enrichment of targets, of each miRNA and of all."""
    each: list[float] = []
    overall: list[float] = []
    found: list[float] = []
    for number in range(tables if kind != "against" else max(5, tables // 10)):
        test = _enrichment(kind, np.random.default_rng([9, len(kind), number]))
        each.append(float((test.each["p_value"] <= LEVEL).mean()))
        overall.append(float(test.together["p_value"] <= LEVEL))
        found.append(float((test.each["p_value"][::2] <= 0.01).mean()))
    if kind == "against":
        share = "of these with p <= 0.01"
        return [claim_of_mean(words, share, found, 1.0, COMMAND, low=0.6)]
    return [
        mean_at_most(words, "of miRNAs, p <= 0.05", each, LEVEL, BAR, COMMAND),
        mean_at_most(words, "all together, p <= 0.05", overall, LEVEL, OVERALL_BAR, COMMAND),
    ]


def _enrichment(kind: str, draw: np.random.Generator) -> Any:
    n_mirnas, n_genes, samples, n_modules = 60, 600, 60, 12
    factors = draw.standard_t(5, (n_modules, samples))
    module = draw.integers(n_modules, size=n_genes)
    common = draw.standard_normal(samples)
    genes = factors[module] + 0.7 * np.outer(draw.normal(size=n_genes), common)
    genes += draw.standard_t(4, (n_genes, samples))
    mirnas = draw.standard_t(4, (n_mirnas, samples))
    often = draw.gamma(1.2, 1.0, n_genes)  # long transcripts have many sites
    is_target = np.zeros((n_mirnas, n_genes), dtype=bool)
    for row in is_target:
        weight = often.copy()
        if kind == "concentrated":
            weight[np.isin(module, draw.integers(n_modules, size=2))] *= 8.0
        number = int(draw.integers(20, 120))
        row[draw.choice(n_genes, number, replace=False, p=weight / weight.sum())] = True
    if kind == "follow":
        mirnas += 1.5 * factors[draw.integers(n_modules, size=n_mirnas)]
        mirnas += np.outer(draw.normal(size=n_mirnas), common)
    if kind == "families":
        first = np.arange(n_mirnas) // 3 * 3
        is_target = is_target[first] ^ (draw.random(is_target.shape) < 0.02)
        mirnas = mirnas[first] + 0.3 * draw.standard_normal(mirnas.shape)
    if kind == "against":
        for mirna in range(0, n_mirnas, 2):
            genes[is_target[mirna]] -= 0.2 * mirnas[mirna]
    groups = np.zeros(samples, dtype=np.int64)
    if kind == "batches":
        groups = np.repeat([0, 1], samples // 2)
        genes += 1.5 * np.outer(draw.normal(size=n_genes), groups)
        mirnas += 1.5 * np.outer(draw.normal(size=n_mirnas), groups)
    values = np.exp(genes)
    values[draw.random(values.shape) < 0.1] = np.nan
    exchange = Exchange(groups, np.zeros(int(groups.max()) + 1, dtype=bool))
    profiles = rank_profiles(mirnas, groups), rank_profiles(values, groups)
    return target_enrichment(*profiles, is_target, exchange, draws=1000)
