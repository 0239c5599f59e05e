"""What jobs ask a scheduler for: enough, in whole GiB, more with each attempt, a GPU where due."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pairtile.api.settings import analysis_config
from pairtile.config.root import models
from pairtile.engine.estimator import estimator_of, job_memory
from pairtile.method import get_method
from pairtile.runtime import host_memory
from pairtile.runtime.files import read_json, write_json
from pairtile.runtime.host_memory import free_host_bytes
from pairtile.runtime.requests import (
    aws_memory_mb,
    bootstrap_seconds,
    data_bytes,
    file_bytes,
    mask_bytes,
    memory_mb,
    minutes,
    read_requests,
    small_memory,
    tiles_seconds,
)
from workflow_runs import ROOT, Analysis, environment, run, write_config, write_data

pytestmark = pytest.mark.complete

GIB = 1 << 30


# --- amounts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "attempt", "expected"),
    [(0, 1, 2048), (2 * GIB, 1, 2048), (2 * GIB + 1, 1, 3072), (1, 2, 4096), (5 * GIB, 3, 20480)],
)
def test_memory_is_whole_gib_and_doubles_with_each_attempt(
    wanted: int, attempt: int, expected: int
) -> None:
    assert memory_mb(wanted, attempt) == expected


def test_time_is_four_times_the_estimate_with_a_floor_and_doubles_with_each_attempt() -> None:
    assert [minutes(120, attempt) for attempt in (1, 2, 3)] == [15, 30, 60]
    assert [minutes(3600, attempt) for attempt in (1, 2)] == [240, 480]
    assert minutes(1, least=60) == 60


AWS = {1: range(2048, 8193, 1024), 2: range(4096, 16385, 1024), 4: range(8192, 30721, 1024)}
AWS |= {8: range(16384, 61441, 4096), 16: range(32768, 122881, 8192)}
"""vCPUs -> memory that AWS Batch offers (its documentation, ResourceRequirement)."""


@pytest.mark.parametrize("threads", AWS)
def test_memory_on_aws_is_an_amount_that_there_is_and_not_less_than_asked(threads: int) -> None:
    for wanted in (1, 2048, 5000, 17408, 30721, 59999, 120000, 500000):
        given = aws_memory_mb(wanted, threads)
        assert given in AWS[threads]
        assert given >= min(wanted, AWS[threads][-1])


def test_inputs_count_unpacked_folders_whole_and_trajectories_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "plain.tsv").write_bytes(b"x" * 1000)
    with gzip.open(tmp_path / "packed.tsv.gz", "wb") as file:
        file.write(b"x" * 1000)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "matrix.mtx").write_bytes(b"x" * 500)
    (tmp_path / "run.XTC").write_bytes(b"x" * 9999)
    packed = (tmp_path / "packed.tsv.gz").stat().st_size
    names = ["plain.tsv", "packed.tsv.gz", "folder", "run.XTC", "absent.tsv"]
    paths = [tmp_path / name for name in names]
    assert file_bytes(paths) == 1000 + packed + 500 + 9999
    assert data_bytes(paths) == 1000 + 6 * packed + 500
    assert file_bytes(str(tmp_path / "plain.tsv")) == 1000
    assert file_bytes("<TBD>") == 0


def test_a_parquet_file_counts_as_the_table_that_it_holds(tmp_path: Path) -> None:
    rows = 100_000
    masks = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(125), rows, [None, pa.py_buffer(b"\xff" * 125 * rows)]
    )
    table = pa.table({"i": np.arange(rows, dtype=np.int32), "r": np.zeros(rows), "masks": masks})
    path = tmp_path / "table.parquet"
    pq.write_table(table, path, compression="zstd", row_group_size=30_000)
    assert path.stat().st_size < table.nbytes / 20
    assert mask_bytes([path], whole=True) == 125 * rows
    assert mask_bytes([path]) == 125 * 30_000
    assert data_bytes([path]) == (4 + 8) * rows
    words = pa.table({"words": [f"word {number}" for number in range(rows)]})
    pq.write_table(words, path)
    assert data_bytes([path]) == pytest.approx(words.nbytes, rel=0.5)
    assert mask_bytes([path]) == 0
    path.write_bytes(b"PAR1 but damaged")
    assert data_bytes([path]) == 4 * path.stat().st_size
    assert mask_bytes([path]) == 0


# --- from the plan --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("planned")
    write_data(folder, genes=1100, samples=24)
    return Analysis(folder, {"chunks": 3, "keep": {"p_value": 1e-4}}).pairs()


def test_the_plan_says_what_chunks_ask_for(planned: Analysis) -> None:
    requests = read_requests(planned.out / "plan.json")
    assert requests is not None
    assert not requests.uses_gpu
    for chunk in planned.plan.chunks:
        assert tiles_seconds(requests, chunk.name) == chunk.seconds
    assert tiles_seconds(requests) == requests.null_seconds > 0
    of_one = requests.seconds + requests.null_seconds + 0.5
    assert bootstrap_seconds(requests, 0, 9) == pytest.approx(10 * of_one)
    assert requests.band_share == 1.0  # two bands


def test_there_are_no_requests_before_there_is_a_plan_and_new_ones_with_a_new_plan(
    planned: Analysis, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    assert read_requests(path) is None
    plan = read_json(planned.out / "plan.json")
    write_json(path, plan)
    first = read_requests(path)
    assert first is read_requests(path)
    write_json(path, plan | {"backend": "cuda", "memory_bytes": 77})
    second = read_requests(path)
    assert second is not None
    assert (second.uses_gpu, second.memory_bytes) == (True, 77)
    del plan["null_seconds"]  # of an earlier version
    write_json(path, plan)
    assert read_requests(path) is None


def test_memory_grows_with_the_state_the_tile_and_the_threads() -> None:
    method = get_method("mutual_information")

    def asked(genes: int, samples: int, backend: str = "cpu", threads: int = 1, **more: Any) -> int:
        config = analysis_config(
            models()[method.name],
            expression="e.tsv",
            estimator={"bins": more.get("bins", 10), "order": 3},
            null={"permutations": more.get("permutations", "auto")},
            keep={"p_value": 1e-5},
            score="clr",  # auto counts as what needs most until the table decides
        )
        z = np.broadcast_to(np.zeros(1), (genes, samples))
        state = {"z": z, "entropy_bits": np.ones(genes), "regulators": np.zeros(0, np.int32)}
        estimator = estimator_of(method.name, config)
        edges = estimator.cost(config, state, backend, threads).tile_edges
        return job_memory(estimator, config, state, backend, threads, edges)

    assert asked(100, 100) < 2 * GIB
    assert asked(20_000, 1000) > asked(10_000, 1000) + 3 * 8 * 10_000 * 1000
    assert asked(20_000, 2000) > asked(20_000, 1000)
    assert asked(100, 100, threads=16) > asked(100, 100)
    assert asked(2000, 2000, bins=20) > asked(2000, 2000) + 8 * 10 * 2000 * 2000
    assert asked(100, 100, permutations=10**9) > asked(100, 100) + 12 * 10**9
    # Beside the GPU's libraries; the weights are in its own memory.
    assert asked(10, 10, "cuda") == pytest.approx(asked(10, 10) + GIB, rel=0.01)
    assert asked(5000, 5000, "cuda") < asked(5000, 5000)
    # What is kept has a bound: the rest grows with the state.
    assert asked(100_000, 10_000) < 3 * 8 * 10**9 + 24 * GIB


MEASURED = sorted((ROOT / "benchmarks/results").glob("workflow*.json"))


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_least_requests_cover_what_small_steps_were_measured_to_take(
    path: Path, tmp_path: Path
) -> None:
    """Every step but ``prepare`` of the benchmarks, whose inputs are small: within 2 GiB, and ten
    times what hits take, 100 bytes each at least, that the tables of hits ask for; the network asks
    for 12 times the stored pairs or more, of 16 bytes each at least."""
    results = json.loads(path.read_text())["results"]
    for one in [results] if "steps" in results else results.values():
        steps = {name: step for name, step in one["steps"].items() if name != "prepare"}
        assert len(steps) >= 4
        room = dict.fromkeys(steps, 2 * GIB + 10 * 100 * one["counts"].get("hits", 0))
        room["network"] += 12 * 16 * one["counts"]["pairs_stored"]
        if "nvidia" in path.stem and "genes" in one:  # all in one job, which only ever takes more
            table = tmp_path / "expression.tsv"
            table.touch()
            os.truncate(table, one["input_bytes"])
            room = dict.fromkeys(steps, small_memory([str(table)], 1))
        assert {
            n: s["peak_memory_bytes"] for n, s in steps.items() if room[n] < s["peak_memory_bytes"]
        } == {}


# --- in the rules ---------------------------------------------------------------------------------

RESOURCES = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from snakemake.api import SnakemakeApi
from snakemake.settings import types as settings

folder = Path(sys.argv[1])
with SnakemakeApi(settings.OutputSettings(quiet={settings.Quietness.ALL})) as api:
    workflow = api.workflow(
        resource_settings=settings.ResourceSettings(cores=4, nodes=10),
        config_settings=settings.ConfigSettings(configfiles=[folder / "config.yaml"]),
        snakefile=Path("Snakefile"),
        workdir=folder,
    )
    workflow.dag().execute_workflow(executor="dryrun")
    if len(sys.argv) > 2:  # as if jobs went through that executor
        plugin = workflow._workflow._executor_plugin
        workflow._workflow._executor_plugin = SimpleNamespace(
            name=sys.argv[2], common_settings=plugin.common_settings
        )
    jobs = {}
    for job in workflow._workflow.dag.jobs:
        for attempt in (1, 2):
            job.attempt = attempt
            found = dict(job.resources.items()) | {"_priority": job.rule.priority}
            jobs.setdefault(job.rule.name, {})[attempt] = found
    print("RESOURCES " + json.dumps(jobs, default=str))
"""


def resources(folder: Path, *executor: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Rule -> attempt -> resources of (one of) its jobs that a run would start now."""
    done = subprocess.run(
        [sys.executable, "-c", RESOURCES, str(folder), *executor],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESOURCES ")]
    return json.loads(line.removeprefix("RESOURCES "))


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose analysis is planned, for CUDA, on whatever machine this is."""
    folder = tmp_path_factory.mktemp("ready")
    write_data(folder, genes=1100, samples=24)
    changes = {"chunks": 3, "bootstraps": 2, "gold_standard": "gold_standard.tsv", "score": "clr"}
    write_config(folder, {"net": changes}, backend="cuda")
    done = run(folder, "results/net/plan.json")
    assert done.code == 0, done.text
    return folder


@pytest.fixture(scope="module")
def asked(ready: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What the jobs of ``ready`` ask for."""
    return resources(ready)


@pytest.mark.complete
@pytest.mark.workflow
def test_only_jobs_that_compute_on_a_gpu_ask_for_one(
    asked: dict[str, dict[str, dict[str, Any]]],
) -> None:
    jobs = asked
    with_gpu = {rule for rule, attempts in jobs.items() if attempts["1"].get("gpu")}
    assert with_gpu == {"null", "chunk", "bootstrap", "network"}
    without = {"merge", "merge_scan", "export", "report"}
    assert without <= set(jobs)
    for rule in without:
        assert "gpu" not in jobs[rule]["1"]
    assert {jobs[rule]["1"]["_cores"] for rule in with_gpu} == {1}


@pytest.mark.complete  # one more run up to a plan
@pytest.mark.workflow
def test_a_network_made_on_the_cpu_asks_for_all_cores_and_no_gpu(tmp_path: Path) -> None:
    write_data(tmp_path)
    section: dict[str, Any] = {"method": "predictor_pairs", "expression": "expression.tsv"}
    section["null"] = {"permutations": 500}  # else there is next to nothing to do
    write_config(tmp_path, {"sets": section}, backend="cuda")
    assert run(tmp_path, "results/sets/plan.json").code == 0
    jobs = resources(tmp_path)
    assert jobs["chunk"]["1"]["gpu"] == 1
    assert "gpu" not in jobs["network"]["1"]
    assert jobs["network"]["1"]["_cores"] > 1


@pytest.mark.complete  # one more run up to a plan
@pytest.mark.workflow
def test_a_chunk_with_much_to_do_beside_the_gpu_asks_for_all_cores(tmp_path: Path) -> None:
    letters = np.random.default_rng(1).choice(list("ACGU"), (300, 4_000))
    text = "".join(f">t{n}\n{''.join(row)}\n" for n, row in enumerate(letters))
    (tmp_path / "transcripts.fa").write_text(text)
    (tmp_path / "mirnas.fa").write_text(">m\nUGAGGUAGUAGGUUGUAUAGUU\n")
    section = {"method": "mirna_targets", "mirnas": "mirnas.fa", "transcripts": "transcripts.fa"}
    write_config(tmp_path, {"targets": section}, backend="cuda")
    assert run(tmp_path, "results/targets/plan.json").code == 0
    jobs = resources(tmp_path)
    assert (jobs["chunk"]["1"]["gpu"], jobs["chunk"]["1"]["_cores"]) == (1, 4)
    assert "gpu" not in jobs["network"]["1"]


@pytest.mark.complete  # one more run up to a plan
@pytest.mark.workflow
def test_a_chunk_for_the_cores_beside_a_gpu_asks_for_these_and_comes_first(tmp_path: Path) -> None:
    np.save(tmp_path / "run.npy", np.random.default_rng(1).normal(size=(600, 256, 3)))
    section = {
        "method": "trajectory_correlation",
        "time_series": "run.npy",
        "estimator": {"kind": "ksg", "surrogates": 2},
        "direction": True,
    }
    write_config(tmp_path, {"motion": section}, backend="both")
    assert run(tmp_path, "results/motion/plan.json", "--cores", "4").code == 0
    plan = json.loads((tmp_path / "results/motion/plan.json").read_text())
    jobs = resources(tmp_path)
    on_gpu, on_cpu = jobs["chunk"]["1"], jobs["cpu_chunk"]["1"]
    assert [on_gpu[key] for key in ("gpu", "_cores", "_priority")] == [1, 1, 0]
    assert on_gpu["mem_mb"] == memory_mb(plan["memory_bytes"])
    assert "gpu" not in on_cpu
    assert [on_cpu[key] for key in ("_cores", "_priority")] == [3, 1]
    assert on_cpu["mem_mb"] == memory_mb(plan["chunks"][-1]["memory_bytes"])
    assert on_cpu["runtime"] >= 15


@pytest.mark.workflow
def test_every_job_asks_for_memory_and_time_and_for_twice_of_it_the_second_time(
    ready: Path, asked: dict[str, dict[str, dict[str, Any]]]
) -> None:
    jobs = {rule: attempts for rule, attempts in asked.items() if rule != "default"}
    assert len(jobs) >= 9
    for rule, attempts in jobs.items():
        first, second = attempts["1"], attempts["2"]
        assert first["mem_mb"] >= 2048, rule
        assert first["runtime"] >= 15, rule
        assert second["mem_mb"] == 2 * first["mem_mb"], rule
        assert second["runtime"] == 2 * first["runtime"], rule
    plan = json.loads((ready / "results/net/plan.json").read_text())
    assert jobs["chunk"]["1"]["mem_mb"] == memory_mb(plan["memory_bytes"])


OWN_NAMES = {
    "aws-batch": ({"_gpus": 1}, {}),
    "googlebatch": (
        {"nvidia_gpu": 1, "googlebatch_cpu_milli": 1000, "googlebatch_max_run_duration": "900s"},
        {"googlebatch_cpu_milli": 1000, "googlebatch_max_run_duration": "1800s"},
    ),
    "cluster-generic": (
        {"ngpus": 1, "walltime_seconds": 900},
        {"ngpus": 0, "walltime_seconds": 1800},
    ),
}
"""Executor -> what a chunk on a GPU and a merge ask for beside the common names."""

USUAL = {"mem_mb", "mem_mib", "mem", "runtime", "gpu", "tmpdir", "_cores", "_nodes", "_priority"}


@pytest.mark.complete
@pytest.mark.workflow
@pytest.mark.parametrize("executor", OWN_NAMES)
def test_executors_with_names_of_their_own_get_them_and_no_others_do(
    ready: Path, asked: dict[str, dict[str, dict[str, Any]]], executor: str
) -> None:
    jobs = resources(ready, executor)
    for rule, expected in zip(("chunk", "merge"), OWN_NAMES[executor], strict=True):
        given = jobs[rule]["1"]
        own = {key: value for key, value in given.items() if key not in USUAL}
        if executor == "googlebatch":
            assert own.pop("googlebatch_memory") == given["mem_mb"]
        assert own == expected
        if executor == "aws-batch":
            assert given["mem_mb"] in AWS[given["_cores"]]
    assert set(asked["chunk"]["1"]) <= USUAL


@pytest.mark.workflow
def test_another_request_computes_nothing_again(ready: Path) -> None:
    changed = ["--set-resources", "prepare:mem_mb=9999", "plan:runtime=99", "--cores", "1"]
    assert run(ready, "results/net/plan.json", "-n", *changed).done_before


@pytest.mark.complete  # one more run up to a plan
@pytest.mark.workflow
def test_on_the_cpu_no_job_asks_for_a_gpu(tmp_path: Path) -> None:
    write_data(tmp_path)
    write_config(tmp_path, {"net": {}})
    before = resources(tmp_path)  # nothing is planned yet
    assert {"prepare", "plan"} <= set(before)
    assert run(tmp_path, "results/net/plan.json").code == 0
    after = resources(tmp_path)
    assert {"null", "chunk", "network"} <= set(after)
    for jobs in (before, after):
        assert not any("gpu" in attempts["1"] for attempts in jobs.values())


# --- memory that is left --------------------------------------------------------------------------


def test_a_job_sees_the_memory_of_its_own_limit_not_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_memory, "_cgroup_limits", list)
    monkeypatch.delenv("SLURM_MEM_PER_NODE", raising=False)
    machine = free_host_bytes()
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "2000")
    assert free_host_bytes() < min(machine + 1, 2000 << 20)
    monkeypatch.setattr(host_memory, "_cgroup_limits", lambda: [1 << 20])
    assert free_host_bytes() == 0  # this process takes more already
    monkeypatch.setattr(host_memory, "_cgroup_limits", lambda: [1 << 60])
    monkeypatch.delenv("SLURM_MEM_PER_NODE")
    assert free_host_bytes() == pytest.approx(machine, rel=0.5)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/slurm/job_7/step_0", "slurm/job_7/memory.max"),
        ("4:memory:/slurm/job_7/step_0", "memory/slurm/job_7/memory.limit_in_bytes"),
    ],
    ids=["version 2", "version 1"],
)
def test_limits_of_control_groups_and_of_those_around_them_are_found(
    tmp_path: Path, line: str, file: str
) -> None:
    groups = tmp_path / "cgroup"
    groups.write_text(f"{line}\n1:cpu:/elsewhere\n")
    assert host_memory._cgroup_limits(groups, tmp_path) == []
    limit = tmp_path / file
    limit.parent.mkdir(parents=True)
    limit.write_text("4294967296\n")
    assert host_memory._cgroup_limits(groups, tmp_path) == [4 * GIB]
    limit.write_text("max\n")
    assert host_memory._cgroup_limits(groups, tmp_path) == []
