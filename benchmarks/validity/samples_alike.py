"""Samples that are relatives, pools, neighbours in space, shares of a total or measured with unlike
precision: p-values by the defaults and with the cure that is named, and whether it is said.

    PYTHONPATH=workflow python -m benchmarks.validity samples_alike [--quick]

Genes are unrelated: what passes is false. A warning must stay where an error rate is not kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from numpy.typing import NDArray
from pairtile import infer_network

from benchmarks.validity.claims import Part, claim, mean_at_most, of_share
from benchmarks.validity.delivered_networks import kinetic, modules, regulons
from benchmarks.validity.unstated import SAID

Floats = NDArray[np.float64]
Table = Floats | AnnData
Maker = Callable[[np.random.Generator], Table]

COMMAND = "python -m benchmarks.validity samples_alike"
LEVEL, BAR = 0.05, 0.07
OTHERS = {"annotation_explains", "annotation_explains_little", "few_genes_to_tell"}
"""Messages that say the same as ``SAID``: of an annotation, and that genes are too few."""

ALIKE = {"samples_alike": True}
FACTORS = {"preprocess": {"hidden_factors": "auto"}}


def relatives(
    draw: np.random.Generator, families: int, size: int, share: float, genes: int, stated: bool
) -> Table:
    """Families of so many samples that hold a share of the variance, in random order; ``stated``:
    with a column that says so."""
    family = draw.permutation(np.repeat(np.arange(families), size))
    values = np.sqrt(share) * draw.standard_normal((genes, families))[:, family]
    values += np.sqrt(1 - share) * draw.standard_normal(values.shape)
    if not stated:
        return values
    obs = pd.DataFrame(
        {"family": [f"f{k}" for k in family], "age": draw.uniform(20, 70, family.size)}
    )
    obs.index = obs.index.astype(str)
    return AnnData(values.T, obs=obs)


def pools(draw: np.random.Generator, samples: int, donors: int, genes: int) -> Floats:
    """Each sample a pool of five donors; 20 % of the variance is noise."""
    chosen = np.argsort(draw.random((donors, samples)), axis=0) < 5
    values = draw.standard_normal((genes, donors)) @ chosen
    values /= values.std(axis=1, keepdims=True)
    return np.sqrt(0.8) * values + np.sqrt(0.2) * draw.standard_normal(values.shape)


def spots(draw: np.random.Generator, side: int, genes: int) -> AnnData:
    """Spots of a square grid; 60 % of the variance are smooth surfaces."""
    places = np.indices((side, side)).reshape(2, -1).T.astype(float)
    distance = ((places[:, None] - places) ** 2).sum(axis=2)
    root = np.linalg.cholesky(np.exp(-distance / 18.0) + 1e-6 * np.eye(len(places)))
    smooth = draw.standard_normal((genes, len(places))) @ root.T
    values = np.sqrt(0.6) * smooth + np.sqrt(0.4) * draw.standard_normal(smooth.shape)
    return AnnData(values.T, obsm={"spatial": places})


def pseudo_bulk(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """log2(cpm + 1) of sums over 20 to 2,000 cells."""
    cells = np.exp(draw.uniform(np.log(20), np.log(2000), samples)).astype(int)
    level = draw.lognormal(0, 1.5, (genes, 1)) * np.exp(
        0.3 * draw.standard_normal((genes, samples))
    )
    mean = level / level.sum(axis=0) * draw.gamma(3, 1 / 3, samples) * cells * 600
    counts = draw.poisson(mean * draw.gamma(cells / 5.0, 5.0 / cells, mean.shape))
    return np.asarray(np.log2(1e6 * counts / counts.sum(axis=0) + 1))


def bloom(draw: np.random.Generator, samples: int, taxa: int) -> Floats:
    """Counts of taxa at one depth; the first blooms (standard deviation of its log 1.2)."""
    level = np.exp(draw.normal(0, 1.5, (taxa, 1)) + draw.standard_normal((taxa, samples)))
    level[0] = level.sum(axis=0).mean() * draw.lognormal(0, 1.2, samples)
    share = level / level.sum(axis=0)
    return np.array([draw.multinomial(20_000, one) for one in share.T], dtype=float).T


def imputed(
    draw: np.random.Generator,
    samples: int,
    genes: int,
    share: float = 0.2,
    decimals: int | None = None,
    weighted: bool = False,
) -> Floats:
    """A share of the values is missing and is the mean of the ten nearest genes, or that weighted
    by the inverse of their distances. The others have so many decimals, None: all."""
    values = draw.standard_normal((genes, samples))
    if decimals is not None:
        values = values.round(decimals)
    missing = draw.random(values.shape) < share
    known = np.where(missing, 0.0, values)
    shared = (~missing).astype(float) @ (~missing).T
    distance = (
        (known**2) @ (~missing).T + (~missing) @ (known**2).T - 2 * known @ known.T
    ) / shared
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1)
    for gene, sample in zip(*np.nonzero(missing), strict=True):
        near = order[gene][~missing[order[gene], sample]][:10]
        weights = 1.0 / distance[gene, near] if weighted else None
        values[gene, sample] = np.average(known[near, sample], weights=weights)
    return values


def factor(draw: np.random.Generator, samples: int, genes: int) -> Floats:
    """One factor with 30 % of the variance."""
    shared = draw.standard_normal((genes, 1)) * draw.standard_normal(samples)
    return draw.standard_normal((genes, samples)) + np.sqrt(0.3 / 0.7) * shared


def makers() -> dict[str, tuple[Maker, dict[str, Any], bool, bool]]:
    """Tables, settings, whether the p-values are claimed to hold, and whether a message must say
    what the samples share."""
    found: dict[str, tuple[Maker, dict[str, Any], bool, bool]] = {}
    for families, size, share, genes in ((30, 4, 0.5, 100), (60, 4, 0.5, 300), (50, 2, 0.8, 100)):
        name = f"{families} families of {size} ({share:.0%} of the variance), {genes} genes"

        def of(
            draw: np.random.Generator,
            stated: bool = False,
            how: tuple[int, int, float, int] = (families, size, share, genes),
        ) -> Table:
            return relatives(draw, *how, stated)

        found[name] = of, {}, False, True
        found[f"{name}, hidden_factors: auto"] = of, FACTORS, False, True
        found[f"{name}, samples_alike"] = of, ALIKE, True, True
        by_column = {"preprocess": {"regress_out": ["family"]}}
        with_column: Maker = lambda draw, of=of: of(draw, True)  # type: ignore[misc]  # noqa: E731
        found[f"{name}, a column of families"] = with_column, {}, False, True
        found[f"{name}, regress_out"] = with_column, by_column, True, False
    for samples, donors, genes in ((100, 40, 100), (60, 30, 300)):
        name = f"{samples} pools of 5 of {donors} donors, {genes} genes"
        mixed: Maker = lambda draw, how=(samples, donors, genes): pools(draw, *how)  # type: ignore[misc]  # noqa: E731
        found[name] = mixed, {}, False, True
        found[f"{name}, hidden_factors: auto"] = mixed, FACTORS, False, True
        found[f"{name}, samples_alike"] = mixed, ALIKE, True, True
    for side, genes in ((12, 60), (18, 80)):
        name = f"{side} x {side} spots, {genes} genes"
        placed: Maker = lambda draw, how=(side, genes): spots(draw, *how)  # type: ignore[misc]  # noqa: E731
        found[name] = placed, {}, False, True
        surface = {"preprocess": {"regress_out": ["spatial"]}}
        found[f"{name}, regress_out: [spatial]"] = placed, surface, True, False
    for samples, genes in ((60, 300), (120, 150)):
        size = f"{samples} samples, {genes} genes"
        tables: dict[str, tuple[Callable[..., Floats], dict[str, Any]]] = {
            "pseudo-bulk of 20 to 2,000 cells, log2(cpm + 1)": (pseudo_bulk, {}),
            "counts of taxa with a bloom": (bloom, {}),
            "counts of taxa with a bloom, nb_residuals": (
                bloom,
                {"preprocess": {"normalize": "nb_residuals"}},
            ),
            "values imputed from the nearest genes": (imputed, {}),
        }
        for name, (made, how) in tables.items():
            maker: Maker = lambda draw, made=made, n=samples, g=genes: made(draw, n, g)  # type: ignore[misc]  # noqa: E731
            found[f"{name}, {size}"] = maker, how, True, False
    for samples, genes in ((100, 15), (100, 30), (60, 20)):
        few: Maker = lambda draw, n=samples, g=genes: factor(draw, n, g)  # type: ignore[misc]  # noqa: E731
        found[f"a factor of 30 %, {samples} samples, {genes} genes"] = few, {}, False, True
        name = f"a factor of 30 %, {samples} samples, {genes} genes, hidden_factors: auto"
        found[name] = few, FACTORS, False, True
    return found


def error_rates(
    n_tables: int, scenario: str, simulate: Maker, how: dict[str, Any], holds: bool, must_say: bool
) -> list[dict[str, Any]]:
    """p-values by all defaults, or with a cure; and whether it is said."""
    rows = []
    passing, said = [], 0
    for seed in range(n_tables):
        table = simulate(np.random.default_rng([seed, 49, 4]))
        genes = table.n_vars if isinstance(table, AnnData) else len(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edges = infer_network(
                table, backend="cpu", keep={"p_value": LEVEL}, score="mi", dpi=False, **how
            )
        passing.append(len(edges) / (genes * (genes - 1) / 2))
        messages = [*edges.attrs["notes"], *edges.attrs["warnings"]]
        said += bool({message.code for message in messages} & (SAID | OTHERS))
    named = f"{scenario}, whole chain"
    if holds:
        rows.append(mean_at_most(named, "pairs with p ≤ 0.05", passing, LEVEL, BAR, COMMAND))
    else:
        row = mean_at_most(named, "pairs with p ≤ 0.05", passing, LEVEL, BAR, COMMAND)
        rows.append(row | {"bar": "none (a message says so)", "passed": None})
    if must_say:
        rows.append(_said(named, said, n_tables, must=True))
    return rows


GOOD: dict[str, Callable[[np.random.Generator], tuple[Floats, Any]]] = {
    f"{kind}, {genes} genes, {samples} samples": (
        lambda draw, sizes=sizes, g=genes, n=samples: modules(draw, g, n, sizes)[::2]  # type: ignore[misc]
    )
    for kind, sizes, genes, samples in (
        ("unrelated", (), 30, 50),
        ("unrelated", (), 500, 20),
        ("two modules of 10 %", (0.1, 0.1), 500, 20),
        ("two modules of a quarter", (0.25, 0.25), 40, 60),
        ("two modules of a quarter", (0.25, 0.25), 300, 100),
        ("two modules of a quarter", (0.25, 0.25), 800, 40),
        ("two modules that are all", (0.5, 0.5), 30, 40),
        ("a module of a third", (0.33,), 200, 100),
        ("ten modules of 8 %", (0.08,) * 10, 300, 80),
        ("three modules of 10 %", (0.1,) * 3, 200, 400),
    )
} | {
    "kinetic network beside unregulated genes, 400 genes, 100 samples": (
        lambda draw: kinetic(draw, 400, 100)[::2]
    ),
    "40 listed regulators, 600 genes, 40 samples": lambda draw: regulons(draw, 600, 40)[::2],
}  # fmt: skip


def false_alarms(n_tables: int, scenario: str) -> list[dict[str, Any]]:
    """Tables of independent samples: none is said to share anything."""
    rows = []
    said = 0
    for seed in range(n_tables):
        values, regulators = GOOD[scenario](np.random.default_rng([seed, 49, 7]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edges = infer_network(values, regulators, backend="cpu")
        said += bool({message.code for message in edges.attrs["warnings"]} & SAID)
    rows.append(_said(f"{scenario}, whole chain", said, n_tables, must=False))
    return rows


def _said(scenario: str, said: int, n_tables: int, must: bool) -> dict[str, Any]:
    interval = of_share(said, n_tables)
    return claim(
        scenario,
        "tables of which it is said that samples share something",
        said / n_tables,
        interval,
        nominal=float(must),
        bar="interval holds 0.9 or more" if must else "interval holds 0.05 or less",
        passed=interval[1] >= 0.9 if must else interval[0] <= 0.05,
        command=COMMAND,
    )


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    rates = [partial(error_rates, 3 if quick else 10, name, *how) for name, how in makers().items()]
    return [*rates, *(partial(false_alarms, 4 if quick else 20, name) for name in GOOD)]
