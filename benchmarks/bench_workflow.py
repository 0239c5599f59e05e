"""Whole workflows, from files on disk to the network and the report, timed from outside.

Inputs are public data where they lie in ``../shared/data``, else simulated ones of the same size.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.bench_mirna_targets import GENOME, random_sequences, simulated
from benchmarks.bench_trajectory_correlation import moving
from benchmarks.machine import MEASURED_MI

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared/data"


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
    """The network of a table of this size by mutual information."""

    def inputs(folder: Path) -> dict[str, Any]:
        write_table(folder / "expression.tsv", expression(genes, samples))
        return {
            "method": "mutual_information",
            "expression": "expression.tsv",
            **MEASURED_MI,
            "keep": {"p_value": 1e-5},
            "null": {"permutations": int(permutations)},
            "dpi": {"tolerance": 0.0},
            "export": ["tsv"],
        }

    return {"genes": genes, "samples": samples} | run_section(inputs, backend)


def run_predictor_pairs(backend: str) -> dict[str, Any]:
    """All 5,188 genes of the malaria parasite's cycle: ternary, 21 time points, lag 1."""
    public = DATA / "pf3d7/levels_ternary.tsv.gz"

    def inputs(folder: Path) -> dict[str, Any]:
        table = folder / "levels.tsv.gz"
        if public.is_file():
            shutil.copy(public, table)
        else:
            levels = np.random.default_rng(1).integers(0, 3, (5188, 21))
            lines = ["\t".join(["gene", *(f"t{n}" for n in range(21))])]
            lines += ["\t".join([f"gene{n}", *map(str, row)]) for n, row in enumerate(levels)]
            table.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
        return {"method": "predictor_pairs", "levels": "levels.tsv.gz", "export": ["tsv"]}

    return {"public_data": public.is_file()} | run_section(inputs, backend)


def run_mirna_targets(backend: str) -> dict[str, Any]:
    """All 1,921 human miRNAs on 918 transcripts, with energies."""
    public = DATA / "mirna"

    def inputs(folder: Path) -> dict[str, Any]:
        files = ("human_mature_mirna.fa", "human_chr22_transcripts.fa.gz")
        if public.is_dir():
            for name in files:
                shutil.copy(public / name, folder / name)
        else:
            for name, letters in zip(files, random_sequences(1921, 918), strict=True):
                text = letters.text.tobytes().decode()
                ends = letters.offsets.tolist()
                parts = [text[a:b] for a, b in itertools.pairwise(ends)]
                records = "".join(f">s{n}\n{part}\n" for n, part in enumerate(parts)).encode()
                data = gzip.compress(records, mtime=0) if name.endswith("gz") else records
                (folder / name).write_bytes(data)
        return {
            "method": "mirna_targets",
            "mirnas": files[0],
            "transcripts": files[1],
            "export": ["tsv"],
        }

    return {"public_data": public.is_dir()} | run_section(inputs, backend)


def run_mirna_genome(backend: str) -> dict[str, Any]:
    """2,600 miRNAs on 60 million letters of simulated 3' UTRs (on the CPU on a hundredth), energy
    below -15 kcal/mol."""
    share = 1 if backend == "cuda" else 100

    def inputs(folder: Path) -> dict[str, Any]:
        return write_genome(folder, share) | {"estimator": {"energy": -15.0}, "export": ["tsv"]}

    return {"letters": GENOME[1] // share} | run_section(inputs, backend, runs=1)


def write_genome(folder: Path, share: int) -> dict[str, Any]:
    """All miRNAs and one part in ``share`` of the 3' UTRs; the section that searches them."""
    mirnas, letters, transcripts = GENOME
    files = simulated((mirnas, letters // share, transcripts // share))
    for kind, sequences in zip(("mirnas", "transcripts"), files, strict=True):
        with (folder / f"{kind}.fa").open("wb") as out:
            for k, name in enumerate(sequences.names):
                out.write(f">{name}\n{sequences.letters.sequence(k)}\n".encode())
    return {"method": "mirna_targets", "mirnas": "mirnas.fa", "transcripts": "transcripts.fa"}


def run_trajectory_correlation(backend: str) -> dict[str, Any]:
    """KSG of the positions of 10,240 atoms in 1,000 frames (on the CPU: of 200 in 500), each pair
    once: no surrogates."""
    atoms, frames = (10_240, 1_000) if backend == "cuda" else (200, 500)

    def inputs(folder: Path) -> dict[str, Any]:
        np.save(folder / "run.npy", np.moveaxis(moving(atoms, 3, frames), 2, 0))
        return {
            "method": "trajectory_correlation",
            "time_series": "run.npy",
            "estimator": {"kind": "ksg", "surrogates": 0},
            "keep": {"top_edges": 10_000},
            "export": ["tsv"],
        }

    return {"atoms": atoms, "frames": frames} | run_section(inputs, backend, runs=1)


def run_section(
    write_inputs: Callable[[Path], dict[str, Any]], backend: str, runs: int = 2
) -> dict[str, Any]:
    """Run an analysis in a new folder by ``pairtile run``, twice: the first run has to compile.

    ``write_inputs`` puts the input files into a folder and gives the analysis' section. Returns
    seconds and memory of the last run, and the seconds of the first.
    """
    folder = Path(tempfile.mkdtemp(prefix="pairtile-bench-"))
    try:
        section = write_inputs(folder)
        input_bytes = sum(path.stat().st_size for path in folder.iterdir())
        config = {"backend": backend, "analyses": {"bench": section}}
        (folder / "config.yaml").write_text(json.dumps(config))
        timed_runs = [timed_run(folder, backend) for _ in range(runs)]
        seconds, seconds_to_network = timed_runs[-1]
        summary = json.loads((folder / "results/bench/summary.json").read_text())
        steps = summary["steps"]
        return {
            "input_bytes": input_bytes,
            "seconds_first": timed_runs[0][0],
            "seconds_to_network": seconds_to_network,
            "seconds_to_report": seconds,
            "peak_host_bytes": max(s["peak_memory_bytes"] for s in steps.values()),
            "peak_gpu_bytes": max(s["peak_gpu_memory_bytes"] for s in steps.values()),
            "steps": steps,
            "counts": summary["counts"],
            "backend": summary["backend"],
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def timed_run(folder: Path, backend: str) -> tuple[float, float]:
    """Seconds of one run of ``config.yaml`` in a folder, and those until the network was there."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    command = [sys.executable, "-m", "pairtile", "run", "config.yaml"]
    command += ["--", "--resources", "gpu=1"] if backend == "cuda" else []
    begun, start = time.time(), time.perf_counter()
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled")}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr)
    # Snakemake gives outputs the time at which their job ended.
    return seconds, (folder / "results/bench/logs/network.log").stat().st_mtime - begun
