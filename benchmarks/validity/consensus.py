"""Whether the bootstrap consensus of ``mutual_information`` finds nothing in noise, and little
that is false beside true edges."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import prepare_expression
from pairtile.api.settings import analysis_config
from pairtile.engine.network import Network
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig

from benchmarks.validity.cells import cells
from benchmarks.validity.claims import claim, claim_of_mean, mean_at_most, of_mean, of_share

COMMAND = "python -m benchmarks.validity mutual_information"
GENES, SAMPLES, MODULE = 60, 100, 5
RULES: list[dict[str, Any]] = [{"p_value": 0.01}, {"fdr": 0.05}, {"top_edges": 120}]
ALPHA = 0.05


def networks_of(
    values: NDArray[np.float64], number: int, keep: dict[str, Any] | str = "auto"
) -> tuple[Network, Network]:
    """The network of all samples and the consensus network, as the workflow's steps make them."""
    config = analysis_config(
        MutualInformationConfig,
        expression="e.tsv",
        backend="cpu",
        keep=keep,
        dpi=False,
        bootstraps={"number": number, "alpha": ALPHA},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = open_analysis(values, np.empty(0), config, choose("cpu"))[0]
        tiles = opened.space(opened.state).tiles()
        rows = [
            pd.DataFrame({"bootstrap": b, "unrelated": bool(unrelated), "i": i, "j": j})
            for b in range(number)
            for unrelated, (i, j) in enumerate(opened.bootstrap(tiles, b))
        ]
        merged = opened.merged(tiles, 0)
        bootstraps = pd.concat(rows, ignore_index=True)
        return opened.network(merged), opened.network(replace(merged, bootstraps=bootstraps))


def edges_of(values: NDArray[np.float64], keep: dict[str, Any], number: int) -> pd.DataFrame:
    """The edges of the consensus."""
    return networks_of(values, number, keep)[1].edges


def modules(draw: np.random.Generator, number: int) -> NDArray[np.float64]:
    """Modules of five genes with correlation 0.6, the first genes; the others unrelated."""
    values = draw.standard_normal((GENES, SAMPLES))
    members = number * MODULE
    factors = np.repeat(draw.standard_normal((number, SAMPLES)), MODULE, axis=0)
    values[:members] = np.sqrt(0.6) * factors + np.sqrt(0.4) * values[:members]
    return values


def hidden_factor(draw: np.random.Generator) -> NDArray[np.float64]:
    """80 genes that have 30 % of their variance from one factor, each with its own sign."""
    factor = draw.standard_normal(SAMPLES) * draw.choice([-1.0, 1.0], size=(80, 1))
    return np.sqrt(0.3) * factor + np.sqrt(0.7) * draw.standard_normal((80, SAMPLES))


def scaled_cells(draw: np.random.Generator) -> NDArray[np.float64]:
    """Counts of cells that were scaled to equal totals, so that depth is in every gene."""
    return prepare_expression(cells(draw, 280), normalize="cp10k").values


def without_a_null(quick: bool) -> list[dict[str, Any]]:
    """Unrelated genes that samples make agree: the consensus claims no more than all samples do,
    and says what they say of the table."""
    n_tables = 2 if quick else 3
    rows = []
    for scenario, simulate in (
        ("hidden factor, 30 % of the variance", hidden_factor),
        ("counts of cells, `normalize: cp10k`", scaled_cells),
    ):
        more, silent, ratios = 0, 0, []
        for seed in range(n_tables):
            one, many = networks_of(simulate(np.random.default_rng([seed, 9])), 40)
            ratios.append(len(many.edges) / max(1, len(one.edges)))
            more += len(many.edges) > len(one.edges)
            silent += many.warnings != one.warnings
        rows.append(
            claim(
                f"{scenario}, bootstraps: 40",
                "edges, as a share of those without bootstraps",
                float(np.mean(ratios)),
                of_mean(ratios),
                nominal=1.0,
                bar="at most 1 in every table, with the same warnings",
                passed=more == silent == 0,
                command=COMMAND,
            )
        )
    return rows


def consensus(quick: bool, keep: dict[str, float]) -> list[dict[str, Any]]:
    """Edges of noise; the false ones beside 80 true pairs, and what ``local_fdr`` says of them."""
    n_tables, number = (2, 20) if quick else (10, 30)
    rows = []
    empty, false, excess, apart = 0, [], [], []
    for seed in range(n_tables):
        draw = np.random.default_rng([seed, 4])
        empty += len(edges_of(modules(draw, 0), keep, number)) == 0
        edges = edges_of(modules(draw, 8), keep, number)
        ends = edges[["source", "target"]].to_numpy()
        true = (ends.max(axis=1) < 8 * MODULE) & (ends[:, 0] // MODULE == ends[:, 1] // MODULE)
        false.append(float(np.mean(~true)) if len(edges) else 0.0)
        local = float(edges["local_fdr"].mean()) if len(edges) else 0.0
        excess.append(local - false[-1])
        apart.append(float(edges["q_value"].max()) - local if len(edges) else 0.0)
    rows.append(
        claim(
            f"consensus of noise, keep: {keep}",
            "tables without an edge",
            empty / n_tables,
            of_share(empty, n_tables),
            nominal=1.0 - ALPHA,
            bar="at least 0.95",
            passed=empty / n_tables >= 0.95,
            command=COMMAND,
        )
    )
    rows.append(
        mean_at_most(
            f"consensus with 80 true pairs, keep: {keep}",
            "share of false edges",
            false,
            ALPHA,
            ALPHA + 0.03,
            COMMAND,
        )
    )
    for what, values in (
        ("mean `local_fdr` of the edges, less their share of false ones", excess),
        ("largest `q_value` of the edges, less their mean `local_fdr`", apart),
    ):
        rows.append(
            claim_of_mean(
                f"consensus with 80 true pairs, keep: {keep}",
                what,
                values,
                0.0,
                COMMAND,
                low=-0.03,
                high=0.03,
            )
        )
    return rows
