"""Folders of results as the workflow leaves them, made up: of any size, with any names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pairtile.report.page import write_report
from pairtile.runtime.files import read_json, write_arrays, write_json

AWKWARD = ["<script>alert(1)</script>", "</script><b>x", '"quoted" & $x_1$', "naïve µ-gène", "-->"]


def write_results(
    folder: Path,
    *,
    n_genes: int = 200,
    n_regulators: int = 40,
    n_edges: int = 312,
    n_dropped: int = 14,
    score: str = "mi",
    bootstraps: int = 0,
    gold: bool = True,
    names: list[str] | None = None,
) -> Path:
    """Write items, network, summary, scores and (with ``gold``) evaluation; return the folder."""
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True, exist_ok=True)
    items = _items(rng, n_genes, n_regulators, n_dropped, names or [])
    network = _network(rng, items, n_edges, score, bootstraps)
    items.to_parquet(folder / "items.parquet")
    network.to_parquet(folder / "network.parquet")
    scores = _scores(rng, pairs=n_genes * (n_regulators or n_genes) // 2)
    write_arrays(folder / "scores.npz", scores)
    summary = _summary(items, network, scores, score, bootstraps, gold)
    write_json(folder / "summary.json", summary)
    if gold:
        write_json(folder / "evaluation.json", _evaluation())
    return folder


def _items(
    rng: np.random.Generator, n_genes: int, n_regulators: int, n_dropped: int, names: list[str]
) -> pd.DataFrame:
    n = n_genes + n_dropped
    named = (names + [f"tf{k:03d}" for k in range(n_regulators)])[: max(n_regulators, len(names))]
    named += [f"gene{k:05d}" for k in range(n - len(named))]
    kept = np.arange(n) < n_genes
    observed = np.where(kept, 300 - rng.binomial(60, 0.1, n), rng.integers(3, 20, n))
    constant = ~kept & (np.arange(n) % 3 == 0)
    observed[constant] = 300
    return pd.DataFrame(
        {
            "item": np.arange(n, dtype=np.int32),
            "name": named,
            "kept": kept,
            "reason": np.where(kept, "", np.where(constant, "constant", "too few samples")),
            "n_observed": observed.astype(np.int32),
            "n_missing_input": (300 - observed).astype(np.int32),
            "n_zeros_to_missing": np.zeros(n, dtype=np.int32),
            "mean": rng.normal(8, 1, n),
            "sd": np.where(constant, 0.0, rng.gamma(4, 0.3, n)),
            "constant": constant,
            "is_regulator": np.arange(n) < n_regulators,
        }
    )


def _network(
    rng: np.random.Generator, items: pd.DataFrame, n_edges: int, score: str, bootstraps: int
) -> pd.DataFrame:
    genes = np.flatnonzero(items["kept"])
    sources = np.flatnonzero(items["is_regulator"]) if items["is_regulator"].any() else genes
    if n_edges:
        weight = rng.pareto(1.6, len(sources)) + 0.2
        source = rng.choice(sources, 4 * n_edges, p=weight / weight.sum())
        target = rng.choice(genes, 4 * n_edges)
        pairs = np.unique(np.stack([source, target])[:, source != target], axis=1)
        pairs = pairs[:, np.sort(rng.permutation(pairs.shape[1])[:n_edges])]
    else:
        pairs = np.zeros((2, 0), dtype=np.int64)
    n = pairs.shape[1]
    mi = 0.2134 + rng.gamma(1.5, 0.05, n)
    p = np.minimum(1e-5, 10 ** (-5 - 22 * (mi - 0.2134)))
    table: dict[str, Any] = {
        "source": items["name"].to_numpy()[pairs[0]].astype(object),
        "target": items["name"].to_numpy()[pairs[1]].astype(object),
        "mi_bits": mi,
        "p_value": p,
        "q_value": np.minimum(1.0, p * 1000),
    }
    if score != "mi":
        table[score] = mi * 11 + rng.normal(0, 0.2, n)
    if bootstraps:
        table["support"] = rng.integers(bootstraps // 3, bootstraps + 1, n)
    table["p_method"] = np.where(p < 1e-7, "extrapolated", "empirical").astype(object)
    return pd.DataFrame(table)


def _scores(rng: np.random.Generator, pairs: int) -> dict[str, np.ndarray]:
    edges = np.linspace(0, 3.3, 2049)
    null = rng.gamma(9, 0.0078, 200_000)
    found = np.concatenate([rng.gamma(9, 0.0079, pairs), 0.1 + rng.gamma(1.5, 0.1, pairs // 30)])
    return {
        "edges": edges,
        "counts": np.histogram(found, edges)[0],
        "null_counts": 50 * np.histogram(null, edges)[0],
        "threshold": np.array(0.2134),
    }


def _evaluation() -> dict[str, Any]:
    recall = np.linspace(0.002, 1, 400)
    precision = 0.02 + 0.9 * np.exp(-6 * recall)
    return {
        "aupr": 0.287,
        "auroc": 0.741,
        "random_aupr": 0.0202,
        "n_gold_edges": 428,
        "n_candidates": 20930,
        "n_ranked": 20930,
        "network": {
            "precision": 0.62,
            "recall": 0.21,
            "sensitivity": 0.21,
            "specificity": 0.9975,
            "true_positives": 90,
            "false_positives": 55,
        },
        "curve": {"recall": recall.tolist(), "precision": precision.tolist()},
        "rule": "DREAM5",
    }


def _summary(
    items: pd.DataFrame,
    network: pd.DataFrame,
    scores: dict[str, np.ndarray],
    score: str,
    bootstraps: int,
    gold: bool,
) -> dict[str, Any]:
    dropped = items[~items["kept"]]
    pairs, n = int(scores["counts"].sum()), len(network)
    inputs = {
        "expression": {"path": "data/expression.tsv.gz", "sha256": "5f" * 32, "bytes": 1_234_567},
        "regulators": {"path": "data/regulators.txt", "sha256": "0a" * 32, "bytes": 431},
        "gold_standard": {"path": "data/gold.tsv", "sha256": "c3" * 32, "bytes": 8812},
    }
    if not items["is_regulator"].any():
        inputs.pop("regulators")
    if not gold:
        inputs.pop("gold_standard")
    return {
        "analysis": "demo",
        "method": "mutual_information",
        "pairtile_version": "0.1.0",
        "inputs": inputs,
        "parameters": {
            "method": "mutual_information",
            "expression": "data/expression.tsv.gz",
            "orientation": "genes_in_rows",
            "regulators": "data/regulators.txt" if items["is_regulator"].any() else None,
            "preprocess": {
                "log2": True, "pseudocount": 0, "normalize": "quantile", "min_samples": 20,
                "drop_constant": True,
            },
            "estimator": {
                "bins": 10, "order": 3, "knots": "clamped", "transform": "rank",
                "precision": "float64",
            },
            "score": score,
            "null": {"permutations": 10_000_000},
            "keep": {"p_value": 1e-5},
            "dpi": {"tolerance": 0.0, "rule": "relative"},
            "bootstraps": {
                "number": bootstraps,
                "resample": "bootstrap",
                "fraction": None,
                "correction": "fdr",
                "alpha": 0.05,
            },
            "chunks": "auto",
            "export": ["tsv", "graphml"],
        },
        "backend": {
            "name": "cpu", "device": "2 cores of a test machine",
            "reason": "auto: CuPy is not installed",
        },
        "counts": {
            "genes_read": len(items),
            "genes_kept": int(items["kept"].sum()),
            "genes_dropped_too_few_samples": int((dropped["reason"] == "too few samples").sum()),
            "genes_dropped_constant": int((dropped["reason"] == "constant").sum()),
            "samples": 300,
            "values_missing_in_input": int(items["n_missing_input"].sum()),
            "zeros_to_missing": 0,
            "pairs": pairs + 3,
            "pairs_scored": pairs,
            "pairs_too_few_samples": 3,
            "pairs_kept": n * 3,
            "pairs_before_dpi": n * 3,
            "pairs_removed_by_dpi": n * 2,
            "edges": n,
        },
        "threshold": {
            "keep": {"p_value": 1e-5}, "mi_bits": 0.2134, "p_method": "empirical",
            "permutations": 10_000_000,
        },
        "steps": {
            "prepare": {"seconds": 0.84, "peak_memory_bytes": 180_000_000},
            "null": {"seconds": 6.2, "peak_memory_bytes": 310_000_000},
            "chunk": {"seconds": 3.1, "peak_memory_bytes": 420_000_000},
            "merge": {"seconds": 0.4, "peak_memory_bytes": 150_000_000},
            "network": {"seconds": 0.6, "peak_memory_bytes": 230_000_000},
        },
        "versions": {"python": "3.11.9", "numpy": "2.4.6", "snakemake": "9.27.1"},
        "warnings": ["2 of 42 regulators are not in the expression table: tf900, tf901."],
        "notes": [
            "log2 applied: the largest value is 48,212.3, too large for logarithms.",
            "The header has no row-name field.",
        ],
    }  # fmt: skip


LARGE, MODULES = 50_000, 40


def write_modular(folder: Path, n_genes: int, n_edges: int, n_modules: int) -> Path:
    """Results with a network of planted modules."""
    write_results(folder, n_genes=n_genes, n_edges=100)
    rng = np.random.default_rng(1)
    names = pd.read_parquet(folder / "items.parquet")["name"].to_numpy()[:n_genes]
    module = rng.integers(0, n_modules, n_genes)
    ends = rng.integers(0, n_genes, (2, 60 * n_edges))
    kept = (ends[0] != ends[1]) & (
        (module[ends[0]] == module[ends[1]]) | (rng.random(60 * n_edges) < 0.005)
    )
    pairs = np.unique(np.sort(ends[:, kept], axis=0), axis=1)
    pairs = pairs[:, rng.permutation(pairs.shape[1])[:n_edges]]
    scores = np.sort(0.2 + rng.gamma(1.5, 0.05, pairs.shape[1]))[::-1]
    table = pd.DataFrame({"source": names[pairs[0]], "target": names[pairs[1]], "mi_bits": scores})
    table.assign(p_value=1e-6, q_value=1e-4, p_method="empirical").to_parquet(
        folder / "network.parquet"
    )
    evaluation = read_json(folder / "evaluation.json")
    evaluation["network"]["verdicts"] = "".join(rng.choice(["+", "-", "."], len(table)))
    write_json(folder / "evaluation.json", evaluation)
    return folder


def write_large(folder: Path) -> Path:
    """The report of a network of 50,000 edges."""
    write_modular(folder, 6000, LARGE, MODULES)
    write_report(folder, folder / "report.html", folder / "figures")
    return folder
