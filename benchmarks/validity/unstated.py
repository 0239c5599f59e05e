"""What samples share and nobody states: whether it is said, and what is left of it when it is taken
off (``preprocess.hidden_factors``, ``sample_scale``, ``normalize``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile import infer_network

from benchmarks.validity.claims import claim, mean_at_most, of_share

Floats = NDArray[np.float64]
Maker = Callable[[np.random.Generator], Floats]

COMMAND = "python -m benchmarks.validity unstated_samples"
HIDDEN: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "a hidden factor": lambda draw, n: draw.standard_normal((1, n)),
    "4 cell types in mixed proportions": lambda draw, n: draw.dirichlet(np.full(4, 2.0), n).T,
    "quality, evenly spread": lambda draw, n: draw.uniform(size=(1, n)),
    "8 batches": lambda draw, n: np.eye(8)[:, draw.integers(0, 8, n)],
}
"""What samples share: (factors, samples)."""

SAID = {
    "groups_of_samples",
    "drifting_genes",
    "near_copies",
    "order_kept",
    "samples_alike",
    "hidden_factors",
}
"""Codes of messages of samples that depend on each other."""


def hidden(draw: np.random.Generator, values: Floats, kind: str, share: float = 0.3) -> Floats:
    """A table with what its samples share: of all variance this share, on every gene."""
    factors = HIDDEN[kind](draw, values.shape[1])
    added = draw.standard_normal((len(values), len(factors))) @ factors
    added -= added.mean(axis=1, keepdims=True)
    return values + added * np.sqrt(share / (1 - share) * values.var() / added.var())


def five_modules(
    draw: np.random.Generator, genes: int, samples: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Five modules of 20 genes with 30 to 80 % of their variance in common, the first genes; and
    which pairs lie within one."""
    values = draw.standard_normal((genes, samples))
    related = np.zeros((genes, genes), dtype=bool)
    for begin in range(0, 100, 20):
        members = slice(begin, begin + 20)
        share = draw.uniform(0.3, 0.8, (20, 1))
        common = draw.standard_normal(samples)
        values[members] = np.sqrt(share) * common + np.sqrt(1 - share) * values[members]
        related[members, members] = True
    return values, related


def unstated(scenario: str, simulate: Maker, code: str, n_tables: int) -> list[dict[str, Any]]:
    """What the samples are is not stated: the table is warned of, by one of these codes; where
    there is none, by no message of dependent samples. 9 of 10 tables must be."""
    rows = []
    warned = 0
    for seed in range(n_tables):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edges = infer_network(simulate(np.random.default_rng([seed, 5])), backend="cpu")
        said = {message.code for message in edges.attrs["warnings"]}
        warned += bool(said & (set(code.split()) or SAID))
    share = warned / n_tables
    rows.append(
        claim(
            f"{scenario}, nothing stated",
            "tables that are warned of",
            share,
            of_share(warned, n_tables),
            nominal=float(bool(code)),
            bar="at least 0.9" if code else "at most 0.1",
            passed=share >= 0.9 if code else share <= 0.1,
            command=COMMAND,
        )
    )
    return rows


def factors_removed(quick: bool, genes: int, samples: int, kind: str) -> list[dict[str, Any]]:
    """False edges and power of five modules with ``hidden_factors: auto``, beside the table without
    the factor."""
    rows = []
    false, lost = [], []
    for seed in range(2 if quick else 10):
        draw = np.random.default_rng([seed, 9])
        clean, related = five_modules(draw, genes, samples)
        without = _judged(clean, related, "none")
        found = _judged(hidden(draw, clean, kind), related, "auto")
        false.append(found[0])
        lost.append(without[1] - found[1])
    scenario = f"{kind}, {genes} genes, {samples} samples, hidden_factors: auto, fdr 0.05"
    rows.append(mean_at_most(scenario, "share of false edges", false, 0.05, 0.1, COMMAND))
    what = "true pairs missed that are found without the factor"
    rows.append(mean_at_most(scenario, what, lost, 0.0, 0.05, COMMAND))
    return rows


def _judged(values: Floats, related: NDArray[np.bool_], hidden_factors: str) -> tuple[float, float]:
    """The share of edges that are false, and of true pairs that are found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = infer_network(
            values,
            backend="cpu",
            keep={"fdr": 0.05},
            score="mi",
            dpi=False,
            preprocess={"hidden_factors": hidden_factors},
        )
    true = related[edges["source"].to_numpy(int), edges["target"].to_numpy(int)]
    false = float(1 - true.mean()) if len(true) else 0.0
    return false, float(true.sum() / (related.sum() / 2 - 50))


SPREADS: dict[str, Maker] = {
    "spread of samples lognormal 0.6, 100 samples": lambda draw: _unequal(draw, 100, 0.6),
    "spread of samples lognormal 0.6, 300 samples": lambda draw: _unequal(draw, 300, 0.6),
    "spread of samples lognormal 0.3, 300 samples": lambda draw: _unequal(draw, 300, 0.3),
    "TPM with a dominant gene, 100 samples": lambda draw: _tpm(draw, 100),
    "TPM with a dominant gene, 300 samples": lambda draw: _tpm(draw, 300),
}
"""Samples of unequal noise, and TPM with a dominant gene: unrelated genes."""


def shares_and_spreads(n_tables: int, scenario: str) -> list[dict[str, Any]]:
    """A table of ``SPREADS`` by default."""
    rows = []
    passed, edges = [], []
    for seed in range(n_tables):
        values = SPREADS[scenario](np.random.default_rng([seed, 20]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = infer_network(
                values, backend="cpu", keep={"p_value": 0.05}, score="mi", dpi=False
            )
            found = infer_network(values, backend="cpu", keep={"fdr": 0.05}, score="mi", dpi=False)
        pairs = len(values) * (len(values) - 1) / 2
        passed.append(len(kept) / pairs)
        edges.append(len(found) / pairs)
    rows.append(mean_at_most(scenario, "pairs with p ≤ 0.05", passed, 0.05, 0.07, COMMAND))
    rows.append(mean_at_most(scenario, "pairs with q ≤ 0.05", edges, 0.0, 0.01, COMMAND))
    return rows


def _unequal(draw: np.random.Generator, samples: int, spread: float) -> Floats:
    return draw.standard_normal((80, samples)) * draw.lognormal(0, spread, samples)


def _tpm(draw: np.random.Generator, samples: int) -> Floats:
    """80 genes, and one that has about half of the total (standard deviation of its log 0.6)."""
    level = np.exp(draw.normal(3, 1, (80, 1)) + 0.5 * draw.standard_normal((80, samples)))
    dominant = level.sum(axis=0).mean() * draw.lognormal(0, 0.6, samples)
    table = np.vstack([level, dominant])
    return np.asarray(1e6 * table / table.sum(axis=0))
