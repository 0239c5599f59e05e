"""Whether differential co-expression of all pairs holds on tables whose truth is known.

    PYTHONPATH=workflow python -m benchmarks.validity differential_coexpression [--quick]

Tables without a difference: how many have a pair that is called different, and no warning. Tables
with planted differences: false calls, and what is found beside the test of DGCA.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile.downstream.differential import LabelledSamples, compared_groups
from pairtile.downstream.group_comparison import Q_VALUE
from pairtile.gpu.device import choose
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.counting_noise import Counts, relative_depths
from pairtile.statistics.exchangeable import Exchangeable
from scipy.stats import rankdata

from benchmarks.validity.claims import Part, claim, mean_at_most, of_share

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]

COMMAND = "python -m benchmarks.validity differential_coexpression"
LEVEL, FALSE = 0.05, 0.08
NONE = np.empty(0, np.int32)
GENES, MODULES, SIZE = 200, 8, 10
EDGES, SEED = 60, 3261


def parts(quick: bool) -> list[Part]:
    """A row for each claim."""
    return [*nothing_differs(quick, 12), *planted_pairs(quick)]


def nothing_differs(quick: bool, size: int) -> list[Part]:
    """Tables with groups of so many samples, of the same correlations."""
    tables = 20 if quick else 150
    return [
        partial(of_scenario, scenario, size, score, tables)
        for score, scenarios in NULLS.items()
        for scenario in scenarios
    ]


def warned_of(quick: bool) -> list[Part]:
    """What makes groups incomparable, 60 samples a group."""
    tables = (20 if quick else 150) // 3
    shared = (f"{what} hidden in one group" for what in HIDDEN)
    scenarios = ("counts of mean 100 and 2", *shared)
    return [partial(of_scenario, scenario, 60, "spearman", tables) for scenario in scenarios]


def of_scenario(scenario: str, size: int, score: str, tables: int) -> list[dict[str, Any]]:
    """The claim of one scenario."""
    number = no_difference(scenario, size, score, tables)
    return [counted(f"{score}: {scenario}, {size} samples a group", number, tables)]


def planted_pairs(quick: bool) -> list[Part]:
    """Groups of three sizes in which some pairs differ."""
    sizes = ((12, 0.97), (30, 0.85), (100, 0.55))
    return [partial(planted, size, rho, 3 if quick else 15) for size, rho in sizes]


# --- nothing differs ---

NULLS = {
    "spearman": (
        "modules", "expression differs", "variances differ", "heavy tails within modules",
        "heavy tails of samples", "batches", "unequal groups", "counts with many zeros",
    ),
    "pearson": ("modules", "heavy tails within modules", "lognormal values"),
    "mi": ("modules",),
}  # fmt: skip
HIDDEN = {
    "4 batches": lambda random, n: np.eye(4)[:, random.integers(0, 4, n)],
    "4 cell types": lambda random, n: random.dirichlet(np.full(4, 2.0), n).T,
}


def no_difference(scenario: str, size: int, score: str, tables: int) -> int:
    """In how many tables pairs are called different, without a warning of why."""
    seed = [size, *scenario.encode(), *score.encode()]
    draws = (np.random.default_rng([SEED, table, *seed]) for table in range(tables))
    return sum(called_unwarned(*null_table(draw, scenario, size), score) for draw in draws)


def counted(scenario: str, wrong: int, tables: int) -> dict[str, Any]:
    """The claim that at most ``FALSE`` of the tables have such a call."""
    return claim(
        scenario,
        f"of {tables} tables, a call without a warning",
        wrong / tables,
        of_share(wrong, tables),
        nominal=LEVEL,
        bar=FALSE,
        passed=wrong / tables <= FALSE,
        command=COMMAND,
    )


def called_unwarned(
    values: Floats, codes: Integers, batch: Integers, counts: Counts | None, score: str
) -> bool:
    """Whether any pair is called, and no warning says that groups are not comparable."""
    labels = [("a", "b")[code] for code in codes]
    known = Exchangeable(NONE, batch)
    samples = LabelledSamples(values, range(len(values)), labels, known, counts)
    found = next(compared_groups(samples, score, choose("cpu")))
    warned = {"factors_of_group", "unequal_noise_kept"} & {each.code for each in found.messages}
    return found.tested.n_differing > 0 and not warned


def null_table(
    random: np.random.Generator, scenario: str, size: int
) -> tuple[Floats, Integers, Integers, Counts | None]:
    """Values (genes, samples), groups, batches and counts."""
    sizes = (size, 3 * size if scenario == "unequal groups" else size)
    codes = np.repeat([0, 1], sizes).astype(np.int32)
    values, n, batch = modular(random, codes.size), codes.size, NONE
    second = codes == 1
    if scenario == "expression differs":
        values[::2, second] += 3.0 * random.normal(size=(GENES // 2, 1))
    elif scenario == "variances differ":
        values[:, second] *= random.uniform(0.3, 3.0, (GENES, 1))
    elif scenario == "heavy tails within modules":
        for module in range(MODULES):
            values[_members(module)] *= np.sqrt(3.0 / random.chisquare(3, n))
    elif scenario == "heavy tails of samples":
        values *= np.sqrt(4.0 / random.chisquare(4, n))
    elif scenario == "lognormal values":
        values = np.exp(values)
    elif scenario == "batches":
        batch = random.integers(0, 3, n).astype(np.int32)
        values += 1.5 * random.normal(size=(GENES, 3))[:, batch]
    elif scenario == "counts with many zeros":
        values = random.poisson(np.exp(0.8 * values + random.normal(-1.0, 1.0, (GENES, 1))))
        values = values.astype(np.float64)
    elif scenario.startswith("counts of mean"):
        depth = np.array([100, 2])[codes] * np.exp(0.3 * random.normal(size=n))
        counts = random.poisson(np.exp(0.6 * values) * depth).astype(np.uint32)
        depths = relative_depths(counts)
        known = Counts(counts, depths, np.arange(GENES, dtype=np.uint64))
        return np.log2(counts / depths * depths.mean() + 1.0), codes, batch, known
    elif scenario.endswith("hidden in one group"):
        factors = HIDDEN[scenario.removesuffix(" hidden in one group")](random, size)
        added = random.normal(size=(GENES, len(factors))) @ factors
        added -= added.mean(axis=1, keepdims=True)
        values[:, second] += added * np.sqrt(0.3 / 0.7 / added.var())
    return values, codes, batch, None


def _members(module: int) -> slice:
    return slice(module * SIZE, (module + 1) * SIZE)


def modular(random: np.random.Generator, samples: int, first: int = 0) -> Floats:
    """Normal genes, from ``first`` on in modules of correlation 0.6, the others unrelated."""
    values = random.normal(size=(GENES, samples))
    for module in range(MODULES):
        here = slice(first + module * SIZE, first + (module + 1) * SIZE)
        values[here] = np.sqrt(0.6) * random.normal(size=samples) + np.sqrt(0.4) * values[here]
    return values


# --- planted differences ---


def planted(size: int, rho: float, tables: int) -> list[dict[str, Any]]:
    """Pairs that are correlated in the second group alone: false calls, and recall less DGCA's."""
    random = np.random.default_rng([size, 17])
    codes = np.repeat([0, 1], size).astype(np.int32)
    labels = [("a", "b")[code] for code in codes]
    rows = []
    false: dict[str, list[float]] = {"spearman": [], "pearson": []}
    lost: dict[str, list[float]] = {"spearman": [], "pearson": []}
    for _ in range(tables):
        values = planted_table(random, codes, rho)
        for score in false:
            known = Exchangeable(NONE, NONE)
            samples = LabelledSamples(values, range(GENES), labels, known)
            found = next(compared_groups(samples, score, choose("cpu")))
            pairs = pd.concat(found.tested.blocks())
            called = pairs[pairs["q"] <= Q_VALUE]
            share, recall = truth(called["i"].to_numpy(), called["j"].to_numpy())
            false[score].append(share)
            i, j = dgca(random, values, codes, score)
            lost[score].append(truth(i, j)[1] - recall)
    for score in false:
        scenario = f"{score}: {EDGES} pairs correlated {rho} in one of two groups of {size}"
        rows.append(mean_at_most(scenario, "false calls", false[score], LEVEL, FALSE, COMMAND))
        what = "recall of DGCA's test less recall here"
        rows.append(mean_at_most(scenario, what, lost[score], 0.0, 0.0, COMMAND))
    return rows


def planted_table(random: np.random.Generator, codes: Integers, rho: float) -> Floats:
    """Genes 0 and 1, 2 and 3 ... correlated in the second group alone, modules in both."""
    values = modular(random, codes.size, first=2 * EDGES)
    second = codes == 1
    for gene in range(0, 2 * EDGES, 2):
        noise = np.sqrt(1.0 - rho**2) * values[gene + 1, second]
        values[gene + 1, second] = rho * values[gene, second] + noise
    return values


def truth(i: NDArray[np.integer], j: NDArray[np.integer]) -> tuple[float, float]:
    """Share of calls that are false, and of planted pairs that are called."""
    low = np.minimum(i, j)
    true = (np.abs(i - j) == 1) & (low % 2 == 0) & (low < 2 * EDGES)
    return (float(1.0 - true.mean()) if true.size else 0.0), float(true.sum() / EDGES)


def dgca(
    random: np.random.Generator, values: Floats, codes: Integers, score: str, draws: int = 10
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs that DGCA's test calls (McKenzie et al. 2016, BMC Syst Biol 10:106): difference of
    Fisher's z over sqrt(1 / (n - 3)), of ranks 1.06 / (n - 3); p from the statistics of all pairs
    in ten permutations of the labels; its q-values with a share of null pairs of 1."""
    i, j = np.triu_indices(len(values), 1)

    def statistic(groups: Integers) -> Floats:
        z, variance = [], 0.0
        for group in (0, 1):
            part = values[:, groups == group]
            part = rankdata(part, axis=1) if score == "spearman" else part
            z.append(np.arctanh(np.clip(np.corrcoef(part)[i, j], -1 + 1e-12, 1 - 1e-12)))
            variance += (1.06 if score == "spearman" else 1.0) / (part.shape[1] - 3)
        return np.abs(z[1] - z[0]) / np.sqrt(variance)

    null = np.sort(np.concatenate([statistic(random.permutation(codes)) for _ in range(draws)]))
    p = (null.size - np.searchsorted(null, statistic(codes)) + 1.0) / (null.size + 1.0)
    called = benjamini_hochberg(p) <= LEVEL
    return i[called], j[called]
