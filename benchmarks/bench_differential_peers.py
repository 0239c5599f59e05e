"""Differential co-expression beside DGCA and memento: false calls and recall on the same tables.

    python -m benchmarks.bench_differential_peers    # results/differential_peers.MACHINE.json

R's package DGCA (CRAN) and memento (``memento-de``) are left out where they are not installed; one
core each. Normal genes: 60 of 19,900 pairs are correlated in one of two groups of 12, 30 or 100.
Cells: counts of 40 genes (3 on average, unequal depth), 12 of 780 pairs correlated in one of
two groups of 300; DGCA is given logarithms of shares. A pair is called at a q of at most 0.05: of
memento, Benjamini and Hochberg's of its p-values.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pairtile
import pandas as pd
from numpy.typing import NDArray
from pairtile.statistics.correction import benjamini_hochberg

from benchmarks.machine import write
from benchmarks.validity.claims import of_mean
from benchmarks.validity.differential_coexpression import EDGES, planted_table

R_SCRIPT = Path(__file__).parent / "peers/dgca.R"
LEVEL, TABLES, CELL_TABLES = 0.05, 3, 2
SIZES = ((12, 0.97), (30, 0.85), (100, 0.55))
CELLS, CELL_GENES, CELL_EDGES = 300, 40, 12

Pairs = set[tuple[int, int]]


class Planted(NamedTuple):
    """values : what programs are given, (genes, samples), the first half of one group; counts:
    where they are given these. edges : pairs that differ."""

    name: str
    values: NDArray[np.float64]
    edges: Pairs
    counts: bool = False


def tables() -> Iterator[Planted]:
    for size, rho in SIZES:
        codes = np.repeat([0, 1], size).astype(np.int32)
        edges = {(gene, gene + 1) for gene in range(0, 2 * EDGES, 2)}
        for seed in range(TABLES):
            values = planted_table(np.random.default_rng([size, seed, 41]), codes, rho)
            yield Planted(f"2 groups of {size}", values, edges)
    for seed in range(CELL_TABLES):
        yield cells(np.random.default_rng([seed, 42]))


def cells(random: np.random.Generator) -> Planted:
    z = random.normal(size=(CELL_GENES, 2 * CELLS))
    edges = {(gene, gene + 1) for gene in range(0, 2 * CELL_EDGES, 2)}
    for one, other in edges:
        z[other, CELLS:] = 0.7 * z[one, CELLS:] + np.sqrt(0.51) * z[other, CELLS:]
    rate = np.exp(0.8 * z + 0.7) * np.exp(0.3 * random.normal(size=2 * CELLS))
    return Planted(f"2 groups of {CELLS} cells", random.poisson(rate).astype(float), edges, True)


def of_pairtile(table: Planted, score: str) -> Pairs:
    n = table.values.shape[1] // 2
    prepared: dict[str, Any] = {} if table.counts else {"log2": False, "sample_scale": False}
    found = pairtile.differential(
        table.values, np.repeat(["a", "b"], n), score=score, preprocess=prepared, backend="cpu"
    ).pairs
    called = found[found["q_value"] <= LEVEL]
    return pairs_of(called["source"], called["target"])


def pairs_of(one: pd.Series, other: pd.Series) -> Pairs:
    ends = np.sort(np.column_stack([one.astype(int), other.astype(int)]), axis=1)
    return set(map(tuple, ends.tolist()))


def of_dgca(made: list[Planted]) -> dict[str, tuple[list[Pairs], str]]:
    """Score -> calls of each table, version; nothing without the package."""
    asked = ["Rscript", "-e", "cat(requireNamespace('DGCA', quietly = TRUE))"]
    if subprocess.run(asked, capture_output=True, text=True, check=False).stdout != "TRUE":
        print("DGCA is not installed, left out")
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for number, table in enumerate(made):
            values = table.values
            if table.counts:
                values = np.log1p(values / values.sum(axis=0) * values.sum(axis=0).mean())
            values.T.astype(np.float64).tofile(folder / f"{number}.bin")
        names, genes = ",".join(map(str, range(len(made)))), str(len(made[0].values))
        one_core = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = ["Rscript", str(R_SCRIPT), scratch, genes, names]
        subprocess.run(command, env=one_core, check=True, capture_output=True)
        version = (folder / "version.txt").read_text().strip()
        found = {}
        for score in ("spearman", "pearson"):
            calls = []
            for number in range(len(made)):
                read = pd.read_csv(folder / f"{number}.{score}.tsv", sep="\t")
                calls.append(pairs_of(read["Gene1"], read["Gene2"]))
            found[score] = calls, version
    return found


def of_memento(table: Planted) -> Pairs:
    import anndata
    import memento  # type: ignore[import-not-found]
    from scipy import sparse

    genes, n = [str(k) for k in range(len(table.values))], table.values.shape[1] // 2
    obs = pd.DataFrame({"group": np.repeat([0.0, 1.0], n), "q": 0.1})
    obs.index = obs.index.astype(str)
    given = sparse.csr_matrix(table.values.T)
    data = anndata.AnnData(given, obs=obs, var=pd.DataFrame(index=genes))
    memento.setup_memento(data, q_column="q")
    memento.create_groups(data, label_columns=["group"])
    memento.compute_1d_moments(data, min_perc_group=0.0)
    memento.compute_2d_moments(data, list(combinations(data.var.index, 2)))
    groups = memento.get_groups(data)[["group"]].astype(float)
    memento.ht_2d_moments(data, treatment=groups, num_boot=1000, num_cpus=1, verbose=0)
    found = memento.get_2d_ht_result(data).dropna(subset=["corr_pval"])
    called = found[benjamini_hochberg(found["corr_pval"].to_numpy()) <= LEVEL]
    return pairs_of(called["gene_1"], called["gene_2"])


def measured(made: list[Planted]) -> dict[str, Any]:
    """Of tables of one kind, each program's false share and recall."""
    calls: dict[str, list[Pairs]] = defaultdict(list)
    versions = {}
    for table in made:
        programs = {f"pairtile, {score}": score for score in ("spearman", "pearson")}
        if table.counts and find_spec("memento"):
            programs["memento"] = ""
        for name, score in programs.items():
            calls[name].append(of_pairtile(table, score) if score else of_memento(table))
    for score, (found, version) in of_dgca(made).items():
        calls[f"DGCA, {score}"] = found
        versions[f"DGCA, {score}"] = version
    result: dict[str, Any] = {"tables": len(made)}
    for name, found in calls.items():
        parts = list(zip(found, made, strict=True))
        false = [len(calls - table.edges) / max(1, len(calls)) for calls, table in parts]
        recall = [len(calls & table.edges) / len(table.edges) for calls, table in parts]
        result[name] = {
            "false": [round(float(x), 4) for x in (np.mean(false), *of_mean(false))],
            "recall": [round(float(x), 4) for x in (np.mean(recall), *of_mean(recall))],
        }
        if name in versions:
            result[name]["version"] = versions[name]
        print(made[0].name, name, result[name], flush=True)
    return result


def main() -> None:
    """Print and write the table."""
    warnings.simplefilter("ignore")
    every: dict[str, list[Planted]] = defaultdict(list)
    for table in tables():
        every[table.name].append(table)
    results: dict[str, Any] = {}
    for name, made in every.items():
        results[name] = measured(made)
        write("differential_peers", "cpu", results)


if __name__ == "__main__":
    main()
