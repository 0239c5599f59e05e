"""Whether p-values and networks of ``mutual_information`` hold on samples that people have.

    PYTHONPATH=workflow python -m benchmarks.validity mutual_information [--quick]

Genes are unrelated unless said otherwise: what passes is false.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import (
    infer_network,
    mutual_information,
    permutation_null,
    prepare_expression,
    read_expression,
)
from pairtile.config.samples import SamplesConfig
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.samples import arrange_samples
from scipy.signal import lfilter

from benchmarks.validity.cells import cells, one_large_gene
from benchmarks.validity.claims import Part, claim_of_mean, mean_at_most
from benchmarks.validity.consensus import RULES, consensus, without_a_null
from benchmarks.validity.unstated import (
    HIDDEN,
    five_modules,
    hidden,
)

Floats = NDArray[np.float64]
Simulated = tuple[Floats, dict[str, Any]]
"""A table, and what the call states of its samples."""

COMMAND = "python -m benchmarks.validity mutual_information"
GENES = 150
LEVEL, BAR = 0.05, 0.07
DATA = Path(__file__).parents[3] / "shared/data"
PUBLIC = {
    "P. falciparum time course": "pf3d7/expression_200.log2.tsv",
    "B. subtilis": "bsub/expression.tsv.gz",
    "rice": "rice/expression.log2.tsv.gz",
}


def autoregressive(draw: np.random.Generator, samples: int, phi: Any) -> Floats:
    """Independent AR(1) genes of variance 1; ``phi`` one for all or one for each."""
    noise = draw.standard_normal((GENES, samples + 200))
    each = np.broadcast_to(phi, (GENES,))
    rows = [lfilter([np.sqrt(1 - k * k)], [1, -k], row) for k, row in zip(each, noise, strict=True)]
    return np.array(rows)[:, 200:]


def two_batches(draw: np.random.Generator, distance: float) -> Simulated:
    """Batches of 60 and 40 samples in random order; every gene shifted up or down."""
    batch = draw.permutation(np.repeat([0, 1], [60, 40]))
    shift = distance * draw.choice([-1, 1], size=(GENES, 1))
    return draw.standard_normal((GENES, 100)) + shift * batch, {"batch": batch}


def several_batches(draw: np.random.Generator) -> Simulated:
    """Batches of 50, 20 and 10 samples in random order, 1.5 SD apart at random."""
    batch = draw.permutation(np.repeat([0, 1, 2], [50, 20, 10]))
    shift = 1.5 * draw.standard_normal((GENES, 3))
    return draw.standard_normal((GENES, 80)) + shift[:, batch], {"batch": batch}


def failed_alike(draw: np.random.Generator, samples: int, failed: int) -> Floats:
    """A few samples, at random places, lost two thirds of the genes by amounts of their own."""
    lost = draw.gamma(2.0, 1.5, (GENES, 1)) * (draw.random((GENES, 1)) < 2 / 3)
    values = draw.standard_normal((GENES, samples))
    values[:, draw.permutation(samples)[:failed]] -= lost
    return values


def eight_batches(draw: np.random.Generator) -> Simulated:
    """Eight batches of 12 samples in random order, 1.5 SD apart at random."""
    batch = draw.permutation(np.repeat(np.arange(8), 12))
    shift = 1.5 * draw.standard_normal((GENES, 8))
    return draw.standard_normal((GENES, 96)) + shift[:, batch], {"batch": batch}


def unequal_courses(draw: np.random.Generator) -> Simulated:
    """Ten courses of 4 to 40 times."""
    lengths = np.linspace(4, 40, 10).astype(int)
    parts = [autoregressive(draw, int(n), 0.8) for n in lengths]
    return np.concatenate(parts, axis=1), {"series": np.repeat(np.arange(10), lengths)}


def short_courses(draw: np.random.Generator) -> Simulated:
    """20 subjects at 5 times each."""
    parts = [autoregressive(draw, 5, 0.9) for _ in range(20)]
    return np.concatenate(parts, axis=1), {"series": np.repeat(np.arange(20), 5)}


def replicates(
    draw: np.random.Generator, number: int, steps: int, share: Any = 0.7, phi: float = 0.0
) -> tuple[Floats, Floats]:
    """What genes do of their own in so many replicates of one stimulus (``phi``: how slowly), and
    their smooth responses to it, ``share`` of the variance: (genes, number, steps) and (genes, 1,
    steps)."""
    time = np.linspace(0.0, 1.0, steps)
    smooth = np.exp(-((time[:, None] - time) ** 2) / (2 * 0.25**2)) + 1e-6 * np.eye(steps)
    response = draw.standard_normal((GENES, steps)) @ np.linalg.cholesky(smooth).T
    response -= response.mean(axis=1, keepdims=True)
    response /= response.std(axis=1, keepdims=True)
    own = np.stack([autoregressive(draw, steps, phi) for _ in range(number)], axis=1)
    part = np.broadcast_to(share, (GENES,))[:, None, None]
    return np.sqrt(1 - part) * own, np.sqrt(part) * response[:, None]


def one_stimulus(
    draw: np.random.Generator, number: int, steps: int, share: Any = 0.7, phi: float = 0.0
) -> Simulated:
    """Replicates of one stimulus, in which unrelated genes respond."""
    values = np.add(*replicates(draw, number, steps, share, phi)).reshape(GENES, -1)
    return values, {"series": np.repeat(np.arange(number), steps)}


def two_stimuli(draw: np.random.Generator) -> Simulated:
    """Three replicates of each of two stimuli."""
    values = [one_stimulus(draw, 3, 8)[0] for _ in range(2)]
    return np.concatenate(values, axis=1), {"series": np.repeat(np.arange(6), 8)}


def measured_thrice(draw: np.random.Generator) -> Floats:
    """33 specimens measured three times, 80 % of the variance between specimens."""
    specimens = np.repeat(draw.standard_normal((GENES, 33)), 3, axis=1)
    return np.sqrt(0.8) * specimens + np.sqrt(0.2) * draw.standard_normal((GENES, 99))


def triplicates(draw: np.random.Generator) -> Simulated:
    """Specimens measured three times, averaged as ``samples.replicate`` does."""
    values = measured_thrice(draw)
    names = [f"s{k}" for k in range(99)]
    table = pd.DataFrame({"sample": names, "specimen": np.repeat(np.arange(33), 3)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "samples.tsv")
        table.to_csv(path, sep="\t", index=False)
        config = SamplesConfig(annotations=str(path), replicate="specimen")
        genes = [f"g{k}" for k in range(GENES)]
        averaged, _ = arrange_samples(Expression(values, genes, names), config)
    return averaged.values, {}


def counts(draw: np.random.Generator, samples: int, mean: float) -> Simulated:
    """Counts of so many on average, in samples whose totals are spread by a factor of 1.6, prepared
    by default: the first of 1,500 genes."""
    level = draw.lognormal(0, 1, (1500, 1)) * draw.gamma(3, 1 / 3, (1500, samples))
    level *= mean / level.mean() * draw.lognormal(0, 0.5, samples)
    return prepare_expression(draw.poisson(level).astype(float)).values[:GENES], {}


def mixed(draw: np.random.Generator) -> Simulated:
    """Fast and slow genes side by side."""
    return autoregressive(draw, 100, draw.uniform(0.0, 0.95, GENES)), {}


CELLS: dict[str, Callable[[np.random.Generator], Floats]] = {
    **{
        f"counts of cells (2 on average, depth SD 0.8), {n} cells": (
            lambda draw, n=n: cells(draw, n)  # type: ignore[misc]
        )
        for n in (60, 100, 200, 280, 400)
    },
    "counts of cells (8 on average, depth SD 1), 280 cells": (
        lambda draw: cells(draw, 280, 8.0, spread=1.0)
    ),
    "counts of cells (30 on average, depth SD 0.8), 400 cells": lambda draw: cells(draw, 400, 30.0),
    "panel of 60 genes (1 on average, depth SD 0.5), 1,000 cells": (
        lambda draw: cells(draw, 1000, 1.0, genes=60, spread=0.5)
    ),
    "counts of cells, one gene with half of them, 280 cells": lambda draw: one_large_gene(
        draw, 280
    ),
}

TABLES: dict[str, Callable[[np.random.Generator], Simulated]] = {
    "independent samples": lambda draw: (draw.standard_normal((GENES, 100)), {}),
    "lognormal values": lambda draw: (draw.lognormal(size=(GENES, 60)), {}),
    "AR(1), phi 0.8, 100 samples": lambda draw: (autoregressive(draw, 100, 0.8), {}),
    "AR(1), phi 0.9, 100 samples": lambda draw: (autoregressive(draw, 100, 0.9), {}),
    "AR(1), phi 0.9, 300 samples": lambda draw: (autoregressive(draw, 300, 0.9), {}),
    "AR(1), phi 0 to 0.95, 100 samples": mixed,
    "bulk counts (500 on average), 100 samples": lambda draw: counts(draw, 100, 500.0),
    "counts of cells (0.6 on average), 1,000 cells": lambda draw: counts(draw, 1000, 0.6),
    "20 courses of 5 times, phi 0.9, `series`": short_courses,
    "two batches 1 SD apart, `batch`": lambda draw: two_batches(draw, 1.0),
    "two batches 2 SD apart, `batch`": lambda draw: two_batches(draw, 2.0),
    "three batches of 50, 20 and 10, 1.5 SD apart, `batch`": several_batches,
    "eight batches of 12, 1.5 SD apart, `batch`": eight_batches,
    "10 courses of 4 to 40 times, phi 0.8, `series`": unequal_courses,
    "triplicates (ICC 0.8), `replicate`": triplicates,
    **{
        f"{n} replicates of {steps} samples of one stimulus, `series`": (
            lambda draw, n=n, steps=steps: one_stimulus(draw, n, steps)  # type: ignore[misc]
        )
        for n, steps in ((5, 8), (3, 8), (6, 5), (3, 12), (5, 12))
    },
    "5 replicates of 8 samples, 20 % of variance by the stimulus, AR(1) of 0.6": (
        lambda draw: one_stimulus(draw, 5, 8, 0.2, 0.6)
    ),
    "5 replicates of 8 samples, a third of the genes responds": (
        lambda draw: one_stimulus(draw, 5, 8, np.where(np.arange(GENES) % 3, 0.0, 0.7))
    ),
    "3 replicates of each of 2 stimuli, 8 samples": two_stimuli,
}


def p_values(values: Floats | Prepared, **stated: Any) -> Floats:
    """Of all pairs, as the default null gives them: (genes, genes)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        null = permutation_null(values, permutations=200_000, backend="cpu", **stated)
        return np.asarray(null.p_value(mutual_information(values, backend="cpu")))


def false_positives(n_tables: int, scenarios: Sequence[str]) -> list[dict[str, Any]]:
    """Share of unrelated pairs with p <= 0.05, mean of tables."""
    rows = []
    for scenario in scenarios:
        shares = []
        for seed in range(n_tables):
            values, stated = TABLES[scenario](np.random.default_rng([seed, 1]))
            p = p_values(values, **stated)[np.triu_indices(GENES, 1)]
            shares.append(float(np.nanmean(p <= LEVEL)))
        rows.append(mean_at_most(scenario, "pairs with p ≤ 0.05", shares, LEVEL, BAR, COMMAND))
    return rows


def small_p_values(n_tables: int) -> list[dict[str, Any]]:
    """Unrelated pairs with p <= 0.001, and with p <= 0.05 within closer bounds."""
    rows = []
    for scenario, simulate in TABLES.items():
        if simulate not in (eight_batches, unequal_courses):
            continue
        tables = [simulate(np.random.default_rng([seed, 17])) for seed in range(n_tables)]
        found = [p_values(values, **stated)[np.triu_indices(GENES, 1)] for values, stated in tables]
        for level, low, high in ((0.05, 0.045, 0.058), (0.001, 0.0005, 0.002)):
            shares = [float(np.mean(p <= level)) for p in found]
            rows.append(
                claim_of_mean(
                    scenario,
                    f"pairs with p ≤ {level:g}",
                    shares,
                    level,
                    COMMAND,
                    low=low,
                    high=high,
                )
            )
    return rows


def counts_of_cells(n_tables: int, scenario: str) -> list[dict[str, Any]]:
    """Counts as they are read, prepared by default: unrelated genes."""
    shares = []
    for seed in range(n_tables):
        prepared = quietly_prepared(CELLS[scenario](np.random.default_rng([seed, 27])))
        p = p_values(prepared)[np.triu_indices(len(prepared.genes), 1)]
        shares.append(float(np.nanmean(p <= LEVEL)))
    return [mean_at_most(scenario, "pairs with p ≤ 0.05", shares, LEVEL, BAR, COMMAND)]


def true_pairs_of_cells(n_tables: int) -> list[dict[str, Any]]:
    """The same with 60 true pairs of 240 genes."""
    rows = []
    for mean in (4.0, 8.0):
        false, found = [], []
        for seed in range(n_tables):
            counts = cells(np.random.default_rng([seed, 28]), 400, mean, genes=240, pairs=60)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                edges = infer_network(
                    counts, keep={"fdr": LEVEL}, score="mi", dpi=False, backend="cpu"
                )
            low = edges[["source", "target"]].min(axis=1)
            true = (
                (low % 2 == 0) & (low < 120) & (edges[["source", "target"]].max(axis=1) == low + 1)
            )
            false.append(float(np.mean(~true)) if len(edges) else 0.0)
            found.append(float(true.sum()) / 60)
        scenario = f"counts of cells ({mean:g} on average, depth SD 0.8), 400 cells, 60 true pairs"
        rows.append(mean_at_most(scenario, "share of false edges", false, LEVEL, 0.08, COMMAND))
        rows.append(
            claim_of_mean(scenario, "true pairs that are edges at fdr 0.05", found, 1.0, COMMAND)
        )
    return rows


def quietly_prepared(counts: Floats) -> Prepared:
    """By default, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prepare_expression(counts)


def shifted_public_data() -> list[dict[str, Any]]:
    """Real genes, each shifted along the samples by a random number: none goes with another.

    No row for a table that does not lie beside the checkout.
    """
    rows = []
    for name, file in PUBLIC.items():
        if not (path := DATA / file).exists():
            print(f"{name}: {path} is not there, left out")
            continue
        draw = np.random.default_rng(6)
        values = prepare_expression(read_expression(path)).values
        values = values[np.isnan(values).mean(axis=1) < 0.2]
        genes = draw.choice(values, min(400, len(values)), replace=False)
        shifted = np.array([np.roll(gene, draw.integers(gene.size)) for gene in genes])
        p = p_values(shifted)
        called = np.nanmean(np.where(np.isnan(p), np.nan, p <= LEVEL), axis=1).tolist()
        rows.append(
            claim_of_mean(
                f"{name}, {len(genes)} genes, each shifted along the samples",
                "pairs with p ≤ 0.05",
                called,
                LEVEL,
                COMMAND,
                high=BAR,
            )
        )
    return rows


def shared_samples(n_tables: int) -> list[dict[str, Any]]:
    """Half of the genes observed in half of the samples: the ratio to nominal in each class."""
    half = np.arange(GENES) % 2
    found: dict[str, list[float]] = {"both complete": [], "one complete": [], "none complete": []}
    for seed in range(n_tables):
        draw = np.random.default_rng([seed, 2])
        values = draw.standard_normal((GENES, 100))
        values[(draw.random(values.shape) < 0.5) & (half[:, None] == 1)] = np.nan
        i, j = np.triu_indices(GENES, 1)
        p = p_values(values)[i, j]
        for number, scenario in enumerate(found):
            here = p[(half[i] + half[j] == number) & ~np.isnan(p)]
            found[scenario].append(float(np.mean(here <= LEVEL)) / LEVEL)
    return [
        claim_of_mean(
            f"genes observed in 100 or about 50 samples, {scenario}",
            "ratio of p ≤ 0.05 to nominal",
            ratios,
            1.0,
            COMMAND,
            low=0.8,
            high=1.25,
        )
        for scenario, ratios in found.items()
    ]


def discoveries(n_tables: int) -> list[dict[str, Any]]:
    """What ``keep: {fdr: 0.05}`` finds among unrelated genes."""
    rows = []
    for scenario in ("AR(1), phi 0.8, 100 samples", "AR(1), phi 0.9, 100 samples"):
        shares = []
        for seed in range(n_tables):
            values, stated = TABLES[scenario](np.random.default_rng([seed, 3]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                edges = infer_network(
                    values, keep={"fdr": 0.05}, score="mi", backend="cpu", **stated
                )
            shares.append(len(edges) / (GENES * (GENES - 1) / 2))
        rows.append(
            mean_at_most(scenario, "pairs that are edges at fdr 0.05", shares, 0.0, 0.01, COMMAND)
        )
    return rows


BATCHES = (
    (60, 2, 0.1, 3.0),
    (60, 12, 0.3, 2.0),
    (60, 5, 0.0, 0.0),
    (900, 2, 0.12, 3.0),
    (900, 6, 0.3, 1.0),
)
"""Samples, batches, share of the genes that these move, and by how many SD."""


def stated_batches(
    n_tables: int, samples: int, batches: int, share: float, sd: float
) -> list[dict[str, Any]]:
    """Some genes have other levels in each stated batch: unrelated pairs, and 25 true pairs beside
    those that ``regress_out`` finds."""
    true = {(k, k + 25) for k in range(25)}
    rows = []
    passing, missed = [], []
    for seed in range(n_tables):
        draw = np.random.default_rng([seed, samples, batches, 25])
        batch = draw.permutation(np.arange(samples) % batches)
        values = draw.standard_normal((GENES, samples))
        r = np.tanh(5.0 / np.sqrt(samples - 3))
        values[25:50] = r * values[:25] + np.sqrt(1 - r * r) * values[25:50]
        moved = draw.random(GENES) < share
        levels = sd * draw.standard_normal((GENES, batches)) * moved[:, None]
        values += levels[:, batch]
        centred = prepare_expression(values, regress_out={"batch": [f"b{k}" for k in batch]})
        found = _pairs(values, {"p_value": LEVEL}, batch=batch) - true
        passing.append(len(found) / (GENES * (GENES - 1) / 2 - 25))
        here, there = (
            _pairs(values, {"fdr": LEVEL}, batch=batch),
            _pairs(centred, {"fdr": LEVEL}),
        )
        missed.append((len(there & true) - len(here & true)) / 25)
    scenario = (
        f"{batches} batches of {samples} samples, `batch`, {share:.0%} of the genes moved by "
        f"{sd:g} SD"
    )
    what = "unrelated pairs with p ≤ 0.05"
    rows.append(claim_of_mean(scenario, what, passing, LEVEL, COMMAND, low=0.045, high=0.06))
    what = "true pairs missed that `regress_out` finds"
    rows.append(mean_at_most(scenario, what, missed, 0.0, 0.05, COMMAND))
    return rows


def removed_effects(n_tables: int) -> list[dict[str, Any]]:
    """Labels of few samples each, or many covariates, taken off by ``regress_out``: unrelated
    pairs, in what is left."""
    rows = []
    for samples, labels, covariates, missing in (
        (120, 30, 0, 0.0), (120, 30, 0, 0.2), (24, 12, 0, 0.0), (60, 0, 8, 0.05)
    ):  # fmt: skip
        passing = []
        for seed in range(n_tables):
            draw = np.random.default_rng([seed, samples, labels, covariates])
            values = draw.standard_normal((GENES, samples))
            effects: dict[str, Any] = {}
            if labels:
                label = np.arange(samples) % labels
                values += 2.0 * draw.standard_normal((GENES, labels))[:, label]
                effects["label"] = [f"f{k}" for k in label]
            for k in range(covariates):
                effects[f"c{k}"] = draw.standard_normal(samples)
                values += draw.standard_normal((GENES, 1)) * effects[f"c{k}"]
            values[draw.random(values.shape) < missing] = np.nan
            left = prepare_expression(values, regress_out=effects, min_samples=8)
            passing.append(len(_pairs(left, {"p_value": LEVEL})) / (GENES * (GENES - 1) / 2))
        what = f"{labels} labels" if labels else f"{covariates} covariates"
        scenario = f"{what} of {samples} samples, {missing:.0%} missing, `regress_out`"
        claim = "unrelated pairs with p ≤ 0.05"
        rows.append(claim_of_mean(scenario, claim, passing, LEVEL, COMMAND, low=0.045, high=0.055))
    return rows


def _pairs(values: Floats | Prepared, keep: dict[str, Any], **stated: Any) -> set[tuple[int, int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = infer_network(values, backend="cpu", keep=keep, score="mi", dpi=False, **stated)
    ends = np.sort(edges[["source", "target"]].to_numpy(dtype=int), axis=1)
    return set(map(tuple, ends.tolist()))


def makers() -> dict[str, tuple[Callable[[np.random.Generator], Floats], str]]:
    """Tables of which nothing is stated, and the messages of which each must have one."""
    return {
        "two batches 1 SD apart": (lambda draw: two_batches(draw, 1.0)[0], "groups_of_samples"),
        "two batches 2 SD apart": (lambda draw: two_batches(draw, 2.0)[0], "groups_of_samples"),
        "three batches of 50, 20 and 10, 1.5 SD apart": (
            lambda draw: several_batches(draw)[0],
            "groups_of_samples",
        ),
        "random walks": (
            lambda draw: draw.standard_normal((GENES, 60)).cumsum(axis=1),
            "drifting_genes",
        ),
        "triplicates (ICC 0.8), shuffled": (
            lambda draw: draw.permutation(measured_thrice(draw), axis=1),
            "near_copies",
        ),
        **{
            f"{failed} of {samples} samples failed alike": (
                lambda draw, failed=failed, samples=samples: failed_alike(  # type: ignore[misc]
                    draw, samples, failed
                ),
                "few_samples_apart",
            )
            for failed, samples in ((2, 40), (3, 60), (5, 200))
        },
        "AR(1), phi 0.8": (lambda draw: autoregressive(draw, 100, 0.8), "order_kept"),
        **{
            f"AR(1), phi {phi}, columns in random order": (
                lambda draw, phi=phi: draw.permutation(  # type: ignore[misc]
                    autoregressive(draw, 100, phi), axis=1
                ),
                "hidden_factors samples_alike groups_of_samples",
            )
            for phi in (0.8, 0.9)
        },
        **{
            f"{kind}, 30 % of variance, {samples} samples": (
                lambda draw, kind=kind, samples=samples: hidden(  # type: ignore[misc]
                    draw, draw.standard_normal((80, samples)), kind
                ),
                "hidden_factors",
            )
            for kind in HIDDEN
            for samples in (100, 500)
        },
        "independent samples": (lambda draw: draw.standard_normal((GENES, 100)), ""),
        "independent samples, heavy tails": (
            lambda draw: np.exp(2 * draw.standard_normal((GENES, 220))),
            "",
        ),
        "independent samples, five modules of 20 genes": (
            lambda draw: five_modules(draw, GENES, 100)[0],
            "",
        ),
    }


def combined(n_tables: int, samples: int) -> list[dict[str, Any]]:
    """``score: combined`` chooses among what mutual information lets pass: its p-values on
    unrelated genes, and the false share of its network where 60 of 135 genes have a regulator. The
    15 regulators are unrelated, so that every other pair with one is false."""
    regulators = np.arange(15)
    rows = []
    p_shares: list[float] = []
    false_shares: dict[str, list[float]] = {"all": [], "best 40": []}
    for seed in range(n_tables):
        draw = np.random.default_rng([seed, samples, 7])
        values = draw.standard_normal((GENES, samples))
        unrelated = infer_network(
            values, regulators, score="combined", keep="all", dpi=False, backend="cpu"
        )
        p_shares.append(float((unrelated["p_value"] <= LEVEL).mean()))
        regulator = draw.integers(15, size=60)
        values[15:75] += draw.choice([-1, 1], (60, 1)) * values[regulator]
        true = set(zip(regulator.tolist(), range(15, 75), strict=True))
        for what, keep in (("all", {"fdr": 0.05}), ("best 40", {"fdr": 0.05, "top_edges": 40})):
            edges = infer_network(
                values, regulators, score="combined", keep=keep, dpi=False, backend="cpu"
            )
            ends = zip(edges["source"], edges["target"], strict=True)
            wrong = sum((int(a), int(b)) not in true for a, b in ends)
            false_shares[what].append(wrong / max(1, len(edges)))
    scenario = f"score: combined, 15 regulators, {samples} samples"
    rows.append(
        claim_of_mean(
            scenario,
            "p ≤ 0.05 of unrelated genes",
            p_shares,
            LEVEL,
            COMMAND,
            low=0.045,
            high=0.055,
        )
    )
    for what, shares in false_shares.items():
        label = f"false edges of those with q ≤ 0.05, {what}"
        rows.append(mean_at_most(scenario, label, shares, 0.05, 0.06, COMMAND))
    return rows


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    n_tables = 3 if quick else 12
    names = list(TABLES)
    return [
        *(partial(false_positives, n_tables, names[k : k + 4]) for k in range(0, len(names), 4)),
        partial(small_p_values, 2 * n_tables),
        *(partial(counts_of_cells, n_tables, scenario) for scenario in CELLS),
        partial(true_pairs_of_cells, n_tables),
        shifted_public_data,
        partial(shared_samples, n_tables),
        partial(discoveries, n_tables),
        *(partial(stated_batches, n_tables, *how) for how in BATCHES),
        partial(removed_effects, n_tables),
        *(partial(combined, 2 * n_tables, samples) for samples in (60, 250)),
        *(partial(consensus, quick, keep) for keep in RULES),
        partial(without_a_null, quick),
    ]
