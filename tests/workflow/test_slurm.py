"""Runs through Slurm, by profiles/slurm, on a cluster of this machine with pretend GPUs.

There is no GPU behind the pretend ones, so analyses compute on the CPU, whose jobs ask for none. So
that chunks ask for a GPU all the same, runs here add ``--set-resources chunk:gpu=1``; from there on
everything is as with real ones: the request, Slurm's choice, CUDA_VISIBLE_DEVICES, the lease.
"""

from __future__ import annotations

import datetime
import importlib.util
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from slurm_cluster import SlurmCluster, why_not
from slurm_run import SlurmRun
from small_analyses import ANALYSES
from workflow_runs import ROOT, Analysis, run, write_config, write_data

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(900)]

THREE_CHUNKS = {"regulators": None, "chunks": 3, "keep": {"p_value": 1e-4}}
"""Of 1,100 genes."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """A running cluster."""
    problem = why_not()
    if not problem and importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        problem = "found no snakemake-executor-plugin-slurm (pip install '.[slurm]')"
    if problem:
        pytest.skip(f"needs Slurm: {problem}")
    made = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def start(cluster: SlurmCluster) -> Iterator[Callable[..., SlurmRun]]:
    """Starts runs; those that still run at the end of the test are killed."""
    runs: list[SlurmRun] = []

    def started(folder: Path, *arguments: str, path: str = "") -> SlurmRun:
        runs.append(SlurmRun(cluster, folder, *arguments, path=path))
        return runs[-1]

    yield started
    for one in runs:
        one.kill()


# --- each method ----------------------------------------------------------------------------------


METHODS = (
    "mutual_information",
    "predictor_pairs",
    "mirna_targets",
    "multimodal_correlation",
    "trajectory_correlation",
)


def write_each_method(folder: Path) -> dict[str, dict[str, Any]]:
    """Small data for every method, of which the first has three chunks and the others one; the
    analyses of one configuration."""
    write_data(folder, genes=1100, samples=24)
    (folder / "expression.tsv").rename(folder / "wide.tsv")
    for method in METHODS:
        write, _ = ANALYSES[method]
        write(folder)
    sections = {method: ANALYSES[method][1] for method in METHODS}
    return sections | {"mutual_information": THREE_CHUNKS | {"expression": "wide.tsv"}}


@pytest.fixture(scope="module")
def finished(cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> SlurmRun:
    """One run with an analysis of each method."""
    folder = tmp_path_factory.mktemp("methods")
    write_config(folder, write_each_method(folder))
    made = SlurmRun(cluster, folder)
    try:
        made.end()
    finally:
        made.kill()
    return made


@pytest.mark.parametrize("method", METHODS)
def test_a_run_through_slurm_gives_what_a_local_one_gives(
    finished: SlurmRun, tmp_path: Path, method: str
) -> None:
    changes = write_each_method(tmp_path)[method]
    local = Analysis(tmp_path, changes, name=method).pairs().network()
    through_slurm = finished.folder / "results" / method
    for name in ("pairs.parquet", "network.parquet"):
        assert (through_slurm / name).read_bytes() == (local.out / name).read_bytes()
    assert (through_slurm / "report.html").is_file()


RULES = ("prepare", "plan", "null", "chunk", "merge", "network", "export", "report")


def asks_for_a_gpu(job: dict[str, str]) -> bool:
    return "gpu" in job.get("TresPerJob", "") + job.get("TresPerNode", "") + job["TRES"]


def test_every_chunk_has_a_gpu_of_its_own(finished: SlurmRun) -> None:
    jobs = finished.cluster.known_jobs()
    held = []
    for wildcards, numbers in finished.jobs("chunk").items():
        method, chunk = re.fullmatch(r"(.+)_chunks_(tiles-\d+-\d+)", wildcards).groups()  # type: ignore[union-attr]
        log = finished.folder / f"results/{method}/logs/chunks/{chunk}.log"
        gpu = re.search(r"INFO GPU (\d+)$", log.read_text(), re.M)
        assert gpu, log.read_text()
        job = jobs[numbers[-1]]
        assert asks_for_a_gpu(job)
        times = [datetime.datetime.fromisoformat(job[key]) for key in ("StartTime", "EndTime")]
        held.append((gpu[1], *times))
    assert len(held) == 3 + 4
    assert {gpu for gpu, _, _ in held} == {"0", "1"}
    for number in ("0", "1"):
        mine = sorted(times for gpu, *times in held if gpu == number)
        for (_, ended), (began, _) in itertools.pairwise(mine):
            assert ended <= began


def test_no_other_job_holds_a_gpu(finished: SlurmRun) -> None:
    chunks = {number for numbers in finished.jobs("chunk").values() for number in numbers}
    jobs = finished.cluster.known_jobs()
    mine = {number for rule in RULES for one in finished.jobs(rule).values() for number in one}
    others = [jobs[number] for number in mine - chunks]
    assert len(others) > 30
    assert [job for job in others if asks_for_a_gpu(job)] == []


def test_memory_and_time_are_those_of_the_plan(finished: SlurmRun) -> None:
    jobs = finished.cluster.known_jobs()
    for wildcards, numbers in finished.jobs("chunk").items():
        method = wildcards.split("_chunks_")[0]
        plan = json.loads((finished.folder / "results" / method / "plan.json").read_text())
        gib = max(2, -(-plan["memory_bytes"] // 2**30))
        assert f"mem={gib}G" in jobs[numbers[0]]["TRES"]
        assert jobs[numbers[0]]["TimeLimit"] == "00:15:00"  # the least


# --- what a cluster brings ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planned(cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an analysis of three chunks, computed up to the null, on this machine."""
    folder = tmp_path_factory.mktemp("planned")
    write_data(folder, genes=1100, samples=24)
    write_config(folder, {"net": THREE_CHUNKS})
    done = run(folder, "results/net/null.npz")
    assert done.code == 0, done.text
    return folder


@pytest.fixture(scope="module")
def expected(planned: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """pairs.parquet of a run without faults."""
    folder = shutil.copytree(planned, tmp_path_factory.mktemp("local") / "run")
    done = run(folder, "results/net/pairs.parquet")
    assert done.code == 0, done.text
    return (folder / "results/net/pairs.parquet").read_bytes()


@pytest.fixture
def folder(planned: Path, tmp_path: Path) -> Path:
    return shutil.copytree(planned, tmp_path / "slurm")


def test_a_cancelled_chunk_runs_again_with_twice_as_much_and_a_requeued_one_as_it_was(
    folder: Path, expected: bytes, start: Callable[..., SlurmRun]
) -> None:
    made = start(folder, "results/net/pairs.parquet")
    cancelled, requeued = made.when(lambda: made.running("chunk")[1:] and made.running("chunk"))
    made.cluster.cancel(cancelled)
    made.cluster.requeue(requeued)
    made.end()
    chunks = made.jobs("chunk")
    (again,) = [numbers for numbers in chunks.values() if cancelled in numbers]
    assert sorted(map(len, chunks.values())) == [1, 1, 2]
    jobs = made.cluster.known_jobs()
    first, second = (jobs[number] for number in again)
    assert first["JobState"] == "CANCELLED"
    assert ("mem=2G" in first["TRES"], first["TimeLimit"]) == (True, "00:15:00")
    assert ("mem=4G" in second["TRES"], second["TimeLimit"]) == (True, "00:30:00")
    assert (jobs[requeued]["Restarts"], jobs[requeued]["JobState"]) == ("1", "COMPLETED")
    assert (folder / "results/net/pairs.parquet").read_bytes() == expected


def test_a_node_drained_and_resumed_half_way_loses_nothing(
    folder: Path, expected: bytes, start: Callable[..., SlurmRun]
) -> None:
    chunks = folder / "results/net/chunks"
    made = start(folder, "results/net/pairs.parquet")
    made.when(lambda: made.running("chunk"))
    made.cluster.drain()
    made.when(lambda: made.cluster.node_state() == "drained")
    before = sorted(path.name for path in chunks.glob("tiles-*.parquet"))
    assert 1 <= len(before) < 3  # what ran has ended; the rest waits
    assert made.cluster.jobs("PENDING") != []
    time.sleep(3)
    assert sorted(path.name for path in chunks.glob("tiles-*.parquet")) == before
    kept = {name: (chunks / name).stat().st_ino for name in before}
    made.cluster.resume()
    made.end()
    assert {name: (chunks / name).stat().st_ino for name in before} == kept
    assert all(len(numbers) == 1 for numbers in made.jobs("chunk").values())
    assert (folder / "results/net/pairs.parquet").read_bytes() == expected


def test_slurm_without_sacct_is_enough(
    folder: Path,
    expected: bytes,
    start: Callable[..., SlurmRun],
    cluster: SlurmCluster,
    tmp_path: Path,
) -> None:
    """No sacct but the stand-in of docs/clusters.md, which the plugin calls to guess an account."""
    programs = tmp_path / "programs"
    programs.mkdir()
    places = [Path(place) for place in cluster.environment["PATH"].split(os.pathsep)]
    for place in filter(Path.is_dir, places):
        for program in place.iterdir():
            if program.name != "sacct" and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    assert shutil.which("sacct", path=str(programs)) is None
    (stand_in,) = re.findall(r"printf '(.+)' > \S+/sacct", (ROOT / "docs/clusters.md").read_text())
    (programs / "sacct").write_text(stand_in.replace(r"\n", "\n"))
    (programs / "sacct").chmod(0o755)
    made = start(folder, "results/net/pairs.parquet", path=str(programs))
    made.end()
    assert (folder / "results/net/pairs.parquet").read_bytes() == expected
