"""The whole workflow, from a table on disk to the DPI network, timed from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

ROOT = Path(__file__).resolve().parent.parent


def expression(genes: int, samples: int, seed: int = 1) -> np.ndarray:
    """Genes that share a few of 40 hidden factors: about 2% of all pairs depend on each other."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(40, samples))
    loads = random.normal(size=(genes, 40)) * (random.random((genes, 40)) < 0.025)
    return loads @ factors + random.normal(size=(genes, samples))


def write_table(path: Path, values: np.ndarray) -> None:
    """Genes x samples as tab-separated text with five decimals."""
    columns = {"gene": [f"gene{n}" for n in range(len(values))]}
    columns |= {f"sample{n}": values[:, n].round(5) for n in range(values.shape[1])}
    options = pyarrow.csv.WriteOptions(delimiter="\t", quoting_style="none")
    pyarrow.csv.write_csv(pa.table(columns), path, options)


def run(genes: int, samples: int, backend: str, permutations: float) -> dict[str, Any]:
    """Run Snakemake on a table of this size in a new folder; returns seconds and memory."""
    folder = Path(tempfile.mkdtemp(prefix="pairtile-bench-"))
    try:
        write_table(folder / "expression.tsv", expression(genes, samples))
        config = {
            "backend": backend,
            "analyses": {
                "bench": {
                    "method": "mutual_information",
                    "expression": "expression.tsv",
                    "keep": {"p_value": 1e-5},
                    "null": {"permutations": int(permutations)},
                    "dpi": {"tolerance": 0.0},
                    "export": ["tsv"],
                }
            },
        }
        (folder / "config.yaml").write_text(json.dumps(config))
        command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile")]
        command += ["--cores", str(len(os.sched_getaffinity(0))), "--directory", str(folder)]
        command += ["--configfile", str(folder / "config.yaml")]
        start = time.perf_counter()
        with (folder / "log").open("w") as log:
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
        seconds = time.perf_counter() - start
        if done.returncode:
            sys.exit((folder / "log").read_text())
        results = folder / "results/bench"
        summary = json.loads((results / "summary.json").read_text())
        network = (results / "network.parquet").stat().st_mtime
        begun = (folder / "config.yaml").stat().st_mtime
        steps = summary["steps"]
        return {
            "genes": genes,
            "samples": samples,
            "table_bytes": (folder / "expression.tsv").stat().st_size,
            "seconds_to_network": network - begun,
            "seconds_to_report": seconds,
            "peak_host_bytes": max(s["peak_memory_bytes"] for s in steps.values()),
            "peak_gpu_bytes": max(s["peak_gpu_memory_bytes"] for s in steps.values()),
            "steps": steps,
            "counts": summary["counts"],
            "backend": summary["backend"],
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
