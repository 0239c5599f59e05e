"""Chunks through a Slurm on this machine: what scheduling costs beside computing.

    python -m benchmarks.bench_slurm [CHUNKS]    (Debian or Ubuntu, root; make test-slurm)

Chunks compute next to nothing, so that what is measured is the machinery, in job arrays. What a job
holds its node for beside computing is lost; the share is that of chunks of ``CLUSTER_SECONDS``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from pairtile.engine.chunk_file import ChunkFile
from pairtile.engine.tiles import CLUSTER_SECONDS

from benchmarks.bench_scaling import ROOT, prepared
from benchmarks.machine import write

sys.path.append(str(ROOT / "tests/support"))
from slurm_cluster import SlurmCluster

CHUNKS = 1000

PROFILE = ["--profile", "profiles/slurm", "--configfile", "config.yaml", "--cores", "1"]
PROFILE += ["--max-threads", "1", "--latency-wait", "10", "--slurm-keep-successful-logs"]
PROFILE += ["--slurm-init-seconds-before-status-checks", "5", "--seconds-between-status-checks"]
PROFILE += ["2", "--set-resources", "chunk:mem_mb=1000", "chunk:runtime=600"]
PROFILE += ["--slurm-array-jobs", "chunk", "--jobs", "100"]


def measure(cluster: SlurmCluster, folder: Path, chunks: int) -> dict[str, Any]:
    """A run from the plan to the merged chunks."""
    out = prepared(folder, chunks)
    before = set(cluster.known_jobs())
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | cluster.environment
    command = [sys.executable, "-m", "snakemake", *PROFILE, "--directory", str(folder)]
    command[command.index("config.yaml")] = str(folder / "config.yaml")
    begin = time.perf_counter()
    with (folder / "log").open("wb") as log:
        command += ["results/bench/pairs.parquet"]
        done = subprocess.run(command, cwd=ROOT, env=variables, stdout=log, stderr=log)
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit((folder / "log").read_text())
    jobs = [job for number, job in cluster.known_jobs().items() if number not in before]
    held = [duration(job) for job in jobs]
    files = sorted((out / "chunks").glob("*.parquet"))
    assert len(files) == chunks
    computed = sum(ChunkFile(path).header.record["seconds"] for path in files)
    return {
        "chunks": chunks,
        "slurm_jobs": len(jobs),
        "seconds": seconds,
        "job_seconds": sum(held),
        "computed_seconds": computed,
        "overhead_seconds_a_chunk": (sum(held) - computed) / chunks,
        "load_average": os.getloadavg()[0],
    }


def duration(job: dict[str, str]) -> float:
    """Seconds that a Slurm job held its node."""
    begin, end = (datetime.fromisoformat(job[key]) for key in ("StartTime", "EndTime"))
    return (end - begin).total_seconds()


def main() -> None:
    """Write them."""
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS
    with tempfile.TemporaryDirectory() as name:
        for folder in ("slurm", "run"):
            (Path(name) / folder).mkdir()
        cluster = SlurmCluster(Path(name) / "slurm")
        cluster.start()
        try:
            results = measure(cluster, Path(name) / "run", chunks)
        finally:
            cluster.stop()
    overhead = results["overhead_seconds_a_chunk"]
    results["chunk_seconds"] = CLUSTER_SECONDS
    results["lost_share"] = overhead / (overhead + CLUSTER_SECONDS)
    print(results, write("slurm", "cpu", results))


if __name__ == "__main__":
    main()
