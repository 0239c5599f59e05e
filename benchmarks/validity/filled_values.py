"""Values that were missing and are filled in: by a minimum, or from the nearest genes or samples;
what p-values come of it, and whether it is said.

    PYTHONPATH=workflow python -m benchmarks.validity filled_values [--quick]

Genes are unrelated: what passes is false.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile import infer_network

from benchmarks.validity.claims import Part, claim, claim_of_mean, mean_at_most, of_share
from benchmarks.validity.samples_alike import imputed

Floats = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, int], Floats]

COMMAND = "python -m benchmarks.validity filled_values"
LEVEL, BAR = 0.05, 0.06
SIZES = ((60, 300), (120, 150))
"""Samples and genes."""


def least_of_gene(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """The lowest quarter of each gene is the least of its other values."""
    values = draw.standard_normal((genes, samples))
    return np.maximum(values, np.quantile(values, 0.25, axis=1, keepdims=True, method="higher"))


def least_of_table(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """Values below a limit of detection, of genes that are above it in a third of the samples or
    more, are that limit."""
    values = draw.normal(0.0, 2.0, (genes, 1)) + draw.standard_normal((genes, samples))
    limit = np.quantile(values, 0.25)
    return np.maximum(values[(values > limit).mean(axis=1) > 1 / 3], limit)


def limit_of_few_digits(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """Values of four decimals, and a limit of detection of one where they are below it."""
    values = np.exp(draw.normal(0.0, 1.0, (genes, 1)) + draw.standard_normal((genes, samples)))
    return np.where(values < 0.5, 0.5, np.round(values, 4))[np.median(values, axis=1) > 0.5]


def left_missing(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """A fifth of the values is missing, and stays so."""
    values = draw.standard_normal((genes, samples))
    return np.where(draw.random(values.shape) < 0.2, np.nan, values)


def imputed_samples(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """A fifth of the values is the mean of the ten nearest samples."""
    return imputed(draw, genes, samples).T


CLAIMED: dict[str, Maker] = {
    "a quarter filled by the minimum of the gene": least_of_gene,
    "a quarter filled by the minimum of the table": least_of_table,
    "values of four decimals, a limit of one": limit_of_few_digits,
    "a fifth left missing": left_missing,
    "a tenth imputed from the nearest genes": partial(imputed, share=0.1),
}
NOT_CLAIMED: dict[str, Maker] = {
    "a fifth imputed from the nearest genes": imputed,
    "two fifths imputed from the nearest genes": partial(imputed, share=0.4),
    "a fifth imputed from the nearest samples": imputed_samples,
    "a fifth imputed from the nearest genes, 3 decimals": partial(imputed, decimals=3),
    "a fifth imputed from the nearest genes, weighted, 3 decimals": (
        partial(imputed, decimals=3, weighted=True)
    ),
    "a fifth imputed from the nearest genes, weighted": partial(imputed, weighted=True),
}
UNKNOWABLE = "a fifth imputed from the nearest genes, weighted"
"""Of which nothing is said: no digit tells a weighted mean of values of full precision."""


def rates(n_tables: int, scenario: str, samples: int, genes: int) -> list[dict[str, Any]]:
    """p-values by all defaults, and whether it is said that values are filled in."""
    passing, said = [], 0
    for seed in range(n_tables):
        make = (CLAIMED | NOT_CLAIMED)[scenario]
        values = make(np.random.default_rng([seed, 49, 11]), samples, genes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edges = infer_network(
                values,
                backend="cpu",
                keep={"p_value": LEVEL},
                score="mi",
                dpi=False,
                preprocess={"log2": False, "normalize": "none"},
            )
        passing.append(len(edges) / (len(values) * (len(values) - 1) / 2))
        said += "values_filled_in" in {message.code for message in edges.attrs["warnings"]}
    named = f"{scenario}, {samples} samples, {genes} genes"
    what = "pairs with p ≤ 0.05"
    if scenario in CLAIMED:
        row = mean_at_most(named, what, passing, LEVEL, BAR, COMMAND)
    else:
        row = claim_of_mean(named, what, passing, LEVEL, COMMAND)
    imputes = "imputed" in scenario
    interval = of_share(said, n_tables)
    return [
        row,
        claim(
            named,
            "tables of which it is said that values are filled in",
            said / n_tables,
            interval,
            nominal=float(imputes),
            bar="none"
            if scenario == UNKNOWABLE
            else ("at least 0.9" if imputes else "interval holds 0.05 or less"),
            passed=None
            if scenario == UNKNOWABLE
            else (said >= 0.9 * n_tables if imputes else interval[0] <= 0.05),
            command=COMMAND,
        ),
    ]


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    return [
        partial(rates, 3 if quick else 20, scenario, *size)
        for scenario in CLAIMED | NOT_CLAIMED
        for size in SIZES
    ]
