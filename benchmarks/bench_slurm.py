"""Chunks through a Slurm on this machine: what scheduling costs beside computing.

    python -m benchmarks.bench_slurm [CHUNKS]    (Debian or Ubuntu, root; make test-slurm)
    python -m benchmarks.bench_slurm --at-a-time [CHUNKS]

Chunks compute next to nothing, so that what is measured is the machinery, in job arrays. What a job
holds its node for beside computing is lost; the share is that of chunks of ``CLUSTER_SECONDS``.

``--at-a-time`` runs chunks of some 20 s each on one thread with at most one, two and four Slurm
jobs, and with as many jobs of one Snakemake without Slurm, into ``slurm_jobs``: seconds of the
whole command, and how long a job was in the queue, to a second. The node takes four jobs, however
many ``cpus`` the machine has.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from pairtile.engine.chunk_file import ChunkFile
from pairtile.engine.tiles import CLUSTER_SECONDS
from pairtile.gpu.device import threads

from benchmarks.bench_pair_mixtures import expression
from benchmarks.bench_scaling import ROOT, prepared, snakemake
from benchmarks.bench_workflow import write_table
from benchmarks.machine import write

sys.path.append(str(ROOT / "tests/support"))
from slurm_cluster import CPUS, SlurmCluster

CHUNKS = 1000
CHUNKS_AT_A_TIME = 8
PAIRS_A_CHUNK = 115_000
"""Mixtures of 188 samples: 20 s of a core."""

PROFILE = ["--profile", "profiles/slurm", "--configfile", "config.yaml", "--cores", "1"]
PROFILE += ["--max-threads", "1", "--latency-wait", "10", "--slurm-keep-successful-logs"]
PROFILE += ["--slurm-init-seconds-before-status-checks", "5", "--seconds-between-status-checks"]
PROFILE += ["2", "--set-resources", "chunk:mem_mb=1000", "chunk:runtime=600"]


def through_slurm(
    cluster: SlurmCluster, folder: Path, *arguments: str
) -> tuple[float, list[dict[str, str]]]:
    """Seconds of Snakemake by the profile, and the jobs that it submitted."""
    before = set(cluster.known_jobs())
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | cluster.environment
    command = [sys.executable, "-m", "snakemake", *PROFILE, "--directory", str(folder)]
    command[command.index("config.yaml")] = str(folder / "config.yaml")
    begin = time.perf_counter()
    with (folder / "log").open("wb") as log:
        command += arguments
        done = subprocess.run(command, cwd=ROOT, env=variables, stdout=log, stderr=log)
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit((folder / "log").read_text())
    jobs = [job for number, job in cluster.known_jobs().items() if number not in before]
    return seconds, jobs


def measure(cluster: SlurmCluster, folder: Path, chunks: int) -> dict[str, Any]:
    """A run from the plan to the merged chunks."""
    out = prepared(folder, chunks)
    how = ["--slurm-array-jobs", "chunk", "--jobs", "100", "results/bench/pairs.parquet"]
    seconds, jobs = through_slurm(cluster, folder, *how)
    held = [between(job, "StartTime", "EndTime") for job in jobs]
    files = sorted((out / "chunks").glob("*.parquet"))
    assert len(files) == chunks
    computed = computed_seconds(files)
    return {
        "chunks": chunks,
        "slurm_jobs": len(jobs),
        "seconds": seconds,
        "job_seconds": sum(held),
        "computed_seconds": computed,
        "overhead_seconds_a_chunk": (sum(held) - computed) / chunks,
        "load_average": os.getloadavg()[0],
    }


def measure_at_a_time(cluster: SlurmCluster, folder: Path, chunks: int) -> dict[str, Any]:
    """The same chunks by few jobs at a time, through Slurm and without."""
    genes = round((2 * chunks * PAIRS_A_CHUNK) ** 0.5)
    write_table(folder / "expression.tsv", expression(genes, 188))
    section: dict[str, Any] = {"method": "multimodal_correlation", "expression": "expression.tsv"}
    section |= {"preprocess": {"log2": False}, "chunks": chunks, "export": ["tsv"]}
    content = {"backend": "cpu", "analyses": {"bench": section}}
    (folder / "config.yaml").write_text(json.dumps(content))
    snakemake(folder, "results/bench/pairs.parquet")  # compiles
    files = sorted((folder / "results/bench/chunks").glob("*.parquet"))
    assert len(files) == chunks
    targets = [str(path.relative_to(folder)) for path in files]
    results: dict[str, Any] = {"cpus": threads(), "cpus_of_the_node": CPUS, "chunks": chunks}
    for number in (1, 2, 4):
        shutil.rmtree(files[0].parent)
        few = ["--cores", str(number), "--max-threads", "1"]
        entry = {"without_slurm_seconds": snakemake(folder, *few, *targets)["seconds"]}
        entry["without_slurm_computed_seconds"] = computed_seconds(files)
        shutil.rmtree(files[0].parent)
        seconds, jobs = through_slurm(cluster, folder, "--jobs", str(number), *targets)
        assert len(jobs) == chunks
        waits = [between(job, "SubmitTime", "StartTime") for job in jobs]
        held = [between(job, "StartTime", "EndTime") for job in jobs]
        entry |= {"seconds": seconds, "computed_seconds": computed_seconds(files)}
        entry |= {"job_seconds": sum(held) / chunks, "queue_seconds": sum(waits) / chunks}
        results[f"{number} at a time"] = entry | {"longest_queue_seconds": max(waits)}
        print(number, entry, flush=True)
    return results


def computed_seconds(files: list[Path]) -> float:
    """What the chunks took, without the start of their jobs."""
    return float(sum(ChunkFile(path).header.record["seconds"] for path in files))


def between(job: dict[str, str], *moments: str) -> float:
    """Seconds between two moments of a Slurm job; from start to end it held its node."""
    begin, end = (datetime.fromisoformat(job[key]) for key in moments)
    return (end - begin).total_seconds()


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chunks", nargs="?", type=int)
    parser.add_argument("--at-a-time", action="store_true", help="few jobs of some length each")
    given = parser.parse_args()
    work, chunks = measure, given.chunks or CHUNKS
    if given.at_a_time:
        work, chunks = measure_at_a_time, given.chunks or CHUNKS_AT_A_TIME
    with tempfile.TemporaryDirectory() as name:
        for folder in ("slurm", "run"):
            (Path(name) / folder).mkdir()
        cluster = SlurmCluster(Path(name) / "slurm")
        cluster.start()
        try:
            results = work(cluster, Path(name) / "run", chunks)
        finally:
            cluster.stop()
    if given.at_a_time:
        print(write("slurm_jobs", "cpu", results))
        return
    overhead = results["overhead_seconds_a_chunk"]
    results["chunk_seconds"] = CLUSTER_SECONDS
    results["lost_share"] = overhead / (overhead + CLUSTER_SECONDS)
    print(results, write("slurm", "cpu", results))


if __name__ == "__main__":
    main()
