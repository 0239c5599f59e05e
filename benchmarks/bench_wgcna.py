"""Modules as R's WGCNA finds them: agreement and seconds beside it, one core each.

    python -m benchmarks.bench_wgcna             # writes benchmarks/results/wgcna.MACHINE.json
    python -m benchmarks.bench_wgcna --golden    # what R gives on small tables: tests/golden/

R and its package WGCNA have to be installed (Debian: ``r-cran-wgcna``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import igraph
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile.config.modules import GeneModulesConfig
from pairtile.downstream.eigengenes import eigengenes, standardise
from pairtile.downstream.topological_overlap import Adjacency, soft_power
from pairtile.downstream.wgcna import wgcna_modules
from pairtile.gpu.device import choose

from benchmarks.machine import write

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT / "../shared/data/bsub/expression.tsv.gz"
GOLDEN = ROOT / "tests/core/wgcna.json"
TYPES = ("unsigned", "signed", "signed_hybrid")
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

Floats = NDArray[np.float64]


class Planted(NamedTuple):
    """A table with modules: genes that follow one factor each, some of them against it."""

    seed: int
    samples: int
    sizes: tuple[int, ...]
    genes: int
    shared: float = 0.0


TABLES = {
    "500 genes x 30": Planted(1, 30, (100, 60, 40, 30, 25), 500),
    "1,000 genes x 60": Planted(2, 60, (200, 120, 80, 50, 30, 25, 22), 1000, 0.5),
    "2,000 genes x 100": Planted(3, 100, (400, 250, 150, 100, 80, 50, 40, 30), 2000, 0.3),
    "5,000 genes x 200": Planted(4, 200, (900, 600, 400, 300, 200, 100, 60, 40, 30), 5000),
}


def planted_table(what: Planted) -> Floats:
    """Expression (genes, samples); ``shared`` is how much all factors have in common."""
    random = np.random.default_rng(what.seed)
    factors = random.standard_normal((len(what.sizes), what.samples))
    if what.shared:
        factors = factors + what.shared * random.standard_normal(what.samples)
    values = random.standard_normal((what.genes, what.samples))
    start = 0
    for factor, size in zip(factors, what.sizes, strict=True):
        loading = random.uniform(0.3, 1.5, size) * np.where(random.random(size) < 0.2, -1, 1)
        noise = random.standard_normal((size, what.samples))
        values[start : start + size] = loading[:, None] * factor + noise
        start += size
    return values[random.permutation(what.genes)]


def close_modules() -> Floats:
    """1,000 genes x 80 samples: five modules, of which three have close eigengenes."""
    random = np.random.default_rng(9)
    first, *others = random.standard_normal((3, 80))
    near = [
        share * first + np.sqrt(1 - share**2) * random.standard_normal(80) for share in (0.97, 0.9)
    ]
    values, start = random.standard_normal((1000, 80)), 0
    for factor, size in zip((first, *near, *others), (120, 90, 70, 60, 50), strict=True):
        loading = random.uniform(0.8, 2.0, size)[:, None]
        values[start : start + size] = loading * factor + 0.6 * random.standard_normal((size, 80))
        start += size
    return values[random.permutation(1000)]


def two_tables() -> tuple[Floats, Floats, NDArray[np.int32]]:
    """500 genes in 50 and 40 samples, and their modules, of which 3 and 5 are in the first only."""
    random = np.random.default_rng(5)
    tables = [random.standard_normal((500, samples)) for samples in (50, 40)]
    labels, start = np.zeros(500, dtype=np.int32), 0
    for module, size in enumerate((100, 70, 50, 35, 25), start=1):
        loading = random.uniform(0.5, 1.5, size) * np.where(random.random(size) < 0.2, -1, 1)
        for table, values in enumerate(tables):
            if table == 0 or module not in (3, 5):
                factor = random.standard_normal(values.shape[1])
                values[start : start + size] += loading[:, None] * factor
        labels[start : start + size] = module
        start += size
    return tables[0], tables[1], labels


def run_r(folder: Path, tables: dict[str, Floats], types: tuple[str, ...], *more: str) -> None:
    """Run ``peers/wgcna.R`` on tables, whose results it leaves in the folder."""
    for name, values in tables.items():
        np.ascontiguousarray(values.T).tofile(folder / f"{name}.bin")
    sizes = ",".join(f"{name}={len(values)}" for name, values in tables.items())
    script = Path(__file__).resolve().parent / "peers/wgcna.R"
    command = ["Rscript", str(script), str(folder), sizes, ",".join(types), *more]
    quiet = {"stdout": subprocess.DEVNULL, "cwd": folder}  # R leaves files where it is
    subprocess.run(command, check=True, env=os.environ | ONE_CORE, **quiet)


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / name, sep="\t", skipinitialspace=True)


def compare(folder: Path, name: str, network_type: Any, values: Floats) -> dict[str, Any]:
    """Ours beside what R left."""
    start = time.perf_counter()
    power, _, tried = soft_power(Adjacency(values, network_type, choose("cpu")))
    middle = time.perf_counter()
    settings = GeneModulesConfig(method="wgcna", power=power, network_type=network_type)
    found = wgcna_modules(values, settings, choose("cpu"))
    ended = time.perf_counter()
    run = read(folder, f"{name}.{network_type}.run.tsv").iloc[0]
    theirs = read(folder, f"{name}.{network_type}.modules.tsv")["module"].to_numpy()
    vectors = read(folder, f"{name}.{network_type}.eigengenes.tsv")
    fits = read(folder, f"{name}.{network_type}.fit.tsv")
    largest = 0.0
    for module, own in enumerate(eigengenes(standardise(values), found.labels), start=1):
        number = np.bincount(theirs[found.labels == module]).argmax()
        largest = max(largest, float(np.abs(own - vectors[f"ME{number}"]).max()))
    return {
        "power": [found.power, float(run["power"])],
        "modules": [int(found.labels.max()), int(theirs.max())],
        "fit_difference": float(np.abs(tried["r_squared"] - fits["SFT.R.sq"]).max()),
        "adjusted_rand": igraph.compare_communities(found.labels, theirs, "adjusted_rand"),
        "eigengene_difference": largest,
        "seconds_power": [round(middle - start, 3), float(run["pick"])],
        "seconds_modules": [round(ended - middle, 3), float(run["modules"])],
        "wgcna": str(run["version"]),
    }


def run() -> dict[str, Any]:
    """[ours, R's] for each table and type of network."""
    tables = {name: planted_table(what) for name, what in TABLES.items()}
    if REAL.exists():
        real = pd.read_csv(REAL, sep="\t", index_col=0).to_numpy(np.float64)
        tables["B. subtilis, 4,218 genes x 266"] = real
    wgcna_modules(
        tables["500 genes x 30"], GeneModulesConfig(method="wgcna"), choose("cpu")
    )  # compiled
    results: dict[str, Any] = {}
    for name, values in tables.items():
        with tempfile.TemporaryDirectory() as temporary:
            types = TYPES if len(values) < 2000 else TYPES[:2]
            run_r(Path(temporary), {"table": values}, types)
            for network_type in types:
                row = compare(Path(temporary), "table", network_type, values)
                results[f"{name}, {network_type}"] = row
                print(name, network_type, json.dumps(row), flush=True)
    return results


def second(folder: Path) -> dict[str, Any]:
    """Preservation and consensus: what R gives of them, after ``run_r(..., "second")``."""
    found: dict[str, Any] = {}
    for network_type in TYPES[:2]:
        rows = read(folder, f"two.{network_type}.preservation.tsv")
        rows = rows[rows["module"] >= 1]
        found[network_type] = {
            "consensus": _letters(read(folder, f"two.{network_type}.consensus.tsv")["module"]),
            "preservation": {name: rows[name].tolist() for name in PRESERVATION},
            "z_summary": rows["Zsummary"].round(2).tolist(),
        }
    return found


PRESERVATION = {
    "propVarExplained.pres": "variance_explained",
    "meanSignAwareKME.pres": "mean_kme",
    "meanSignAwareCorDat.pres": "mean_correlation",
    "meanAdj.pres": "mean_adjacency",
    "cor.kIM": "connectivity_correlation",
    "cor.kME": "kme_correlation",
    "cor.cor": "correlation_correlation",
}
"""R's name of a statistic -> ours."""


def _letters(labels: pd.Series) -> str:
    """A letter for each gene: a is none."""
    return "".join(chr(97 + label) for label in labels)


def golden() -> dict[str, Any]:
    """What R gives on small tables, for the tests."""
    tables = {"planted": planted_table(TABLES["500 genes x 30"]), "close": close_modules()}
    one, other, labels = two_tables()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_r(folder, tables, TYPES)
        for name in tables:
            for network_type in TYPES:
                stem = f"{name}.{network_type}"
                run = read(folder, f"{stem}.run.tsv").iloc[0]
                vectors = read(folder, f"{stem}.eigengenes.tsv")
                found[stem] = {
                    "power": float(run["power"]),
                    "r_squared": read(folder, f"{stem}.fit.tsv")["SFT.R.sq"].tolist(),
                    "modules": _letters(read(folder, f"{stem}.modules.tsv")["module"]),
                    "eigengenes": {
                        column: vectors[column].round(12).tolist()
                        for column in vectors
                        if column != "ME0"
                    },
                }
        np.ascontiguousarray(other.T).tofile(folder / "two.second.bin")
        np.savetxt(folder / "two.modules.txt", labels, fmt="%d")
        run_r(folder, {"two": one}, TYPES[:2], "second")
        found["two"] = second(folder)
        found["wgcna"] = str(run["version"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", action="store_true")
    if parser.parse_args().golden:
        GOLDEN.write_text(json.dumps(golden()) + "\n")
    else:
        print(write("wgcna", "cpu", run()))


if __name__ == "__main__":
    main()
