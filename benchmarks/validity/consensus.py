"""Whether the bootstrap consensus of ``mutual_information`` finds nothing in noise, and little
that is false beside true edges."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile.api.settings import analysis_config
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig

from benchmarks.validity.claims import claim, mean_at_most, of_mean, of_share

COMMAND = "python -m benchmarks.validity mutual_information"
GENES, SAMPLES, MODULE = 60, 100, 5
RULES: list[dict[str, Any]] = [{"p_value": 0.01}, {"fdr": 0.05}, {"top_edges": 120}]
ALPHA = 0.05


def edges_of(values: NDArray[np.float64], keep: dict[str, Any], number: int) -> pd.DataFrame:
    """The consensus network, as the workflow's steps make it."""
    config = analysis_config(
        MutualInformationConfig,
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
        bootstraps = pd.concat(rows, ignore_index=True)
        merged = replace(merged_in_memory(opened, tiles, 0), bootstraps=bootstraps)
        return opened.network(merged).edges


def modules(draw: np.random.Generator, number: int) -> NDArray[np.float64]:
    """Modules of five genes with correlation 0.6, the first genes; the others unrelated."""
    values = draw.standard_normal((GENES, SAMPLES))
    members = number * MODULE
    factors = np.repeat(draw.standard_normal((number, SAMPLES)), MODULE, axis=0)
    values[:members] = np.sqrt(0.6) * factors + np.sqrt(0.4) * values[:members]
    return values


def consensus(quick: bool) -> list[dict[str, Any]]:
    """Edges of noise; the false ones beside 80 true pairs, and what ``local_fdr`` says of them."""
    n_tables, number = (2, 20) if quick else (10, 30)
    rows = []
    for keep in RULES:
        empty, false, excess = 0, [], []
        for seed in range(n_tables):
            draw = np.random.default_rng([seed, 4])
            empty += len(edges_of(modules(draw, 0), keep, number)) == 0
            edges = edges_of(modules(draw, 8), keep, number)
            ends = edges[["source", "target"]].to_numpy()
            true = (ends.max(axis=1) < 8 * MODULE) & (ends[:, 0] // MODULE == ends[:, 1] // MODULE)
            false.append(float(np.mean(~true)) if len(edges) else 0.0)
            excess.append(float(edges["local_fdr"].mean()) - false[-1] if len(edges) else 0.0)
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
        rows.append(
            claim(
                f"consensus with 80 true pairs, keep: {keep}",
                "mean `local_fdr` of the edges, less their share of false ones",
                float(np.mean(excess)),
                of_mean(excess),
                nominal=0.0,
                bar="-0.03 to 0.03",
                passed=abs(np.mean(excess)) <= 0.03,
                command=COMMAND,
            )
        )
    return rows
