"""Jobs on one host share its GPUs by file locks. Needs no GPU: only locks and a variable."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairtile.gpu.device import ALLOCATIONS, leased_gpu
from workflow_runs import ROOT, command, write_config, write_data

JOB = """
import os, sys, time
from pairtile.gpu.device import leased_gpu
with leased_gpu("cuda", poll_seconds=0.05) as gpu:
    print(gpu, os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    time.sleep(600)
"""


class Job:
    """A process that holds a lease until it is killed."""

    def __init__(self, folder: Path, visible: str, **more: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in ALLOCATIONS}
        environment |= {
            "CUDA_VISIBLE_DEVICES": visible,
            "TMPDIR": str(folder),
            "PYTHONPATH": str(ROOT / "workflow"),
        } | more
        self.process = subprocess.Popen(
            [sys.executable, "-c", JOB], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def gpu(self, seconds: float) -> str | None:
        """The GPU it got; None if it got none in that time."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if line := self.process.stdout.readline():
                given, shown = line.split()
                assert given == shown  # the lease and what CUDA will see
                return given
            time.sleep(0.02)
        return None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[list[Job]]:
    started: list[Job] = []
    yield started
    for job in started:
        job.kill()


def test_two_jobs_get_different_gpus_and_a_third_waits_for_a_killed_one(
    tmp_path: Path, jobs: list[Job]
) -> None:
    jobs += [Job(tmp_path, "0,1"), Job(tmp_path, "0,1")]
    first, second = (job.gpu(60) for job in jobs)
    assert {first, second} == {"0", "1"}
    jobs.append(Job(tmp_path, "0,1"))
    assert jobs[2].gpu(1.5) is None
    jobs[0].kill()
    assert jobs[2].gpu(60) == first


def test_the_scheduler_s_choice_is_obeyed(tmp_path: Path, jobs: list[Job]) -> None:
    jobs += [Job(tmp_path, "3, 5"), Job(tmp_path, "3, 5")]
    assert {job.gpu(60) for job in jobs} == {"3", "5"}


def test_gpus_named_by_uuid_are_leased_as_they_are_named(tmp_path: Path, jobs: list[Job]) -> None:
    names = {"GPU-8932f937-d72c", "MIG-GPU-8932f937-d72c/1/0"}  # the second as older drivers say it
    jobs += [Job(tmp_path, ",".join(names)) for _ in range(2)]
    assert {job.gpu(60) for job in jobs} == names


def test_two_allocations_of_a_scheduler_do_not_wait_for_each_other(
    tmp_path: Path, jobs: list[Job]
) -> None:
    """A scheduler that shuts others' GPUs out lets each job call its own number 0."""
    jobs += [Job(tmp_path, "0", SLURM_JOB_ID=number) for number in ("71", "72")]
    assert [job.gpu(60) for job in jobs] == ["0", "0"]
    jobs.append(Job(tmp_path, "0", SLURM_JOB_ID="71"))
    assert jobs[2].gpu(1.5) is None


SHORT_JOB = """
import sys, time
from pairtile.gpu.device import leased_gpu
with leased_gpu("cuda", poll_seconds=0.02) as gpu:
    begun = time.monotonic()
    time.sleep(0.2)
    ended = time.monotonic()
print(gpu, begun, ended)
"""


def test_twelve_jobs_on_three_gpus_never_share_one_and_use_all(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ALLOCATIONS}
    environment |= {
        "CUDA_VISIBLE_DEVICES": "0,1,2",
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(ROOT / "workflow"),
    }
    program = [sys.executable, "-c", SHORT_JOB]
    started = [
        subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(12)
    ]
    held: dict[str, list[tuple[float, float]]] = {}
    for process in started:
        gpu, begun, ended = process.communicate(timeout=60)[0].split()
        held.setdefault(gpu, []).append((float(begun), float(ended)))
    assert set(held) == {"0", "1", "2"}
    for times in held.values():
        for (_, ended), (begun, _) in itertools.pairwise(sorted(times)):
            assert ended <= begun


@pytest.mark.complete  # the tests above lease without Snakemake
@pytest.mark.workflow
def test_jobs_of_a_run_take_turns_on_its_gpus(tmp_path: Path) -> None:
    """Three chunks, two GPUs to see: the run's own jobs lease them. (They compute on the CPU, for
    want of GPUs; the request is made by hand.)"""
    write_data(tmp_path, genes=1100, samples=24)
    changes = {"chunks": 3, "keep": {"p_value": 1e-4}}
    write_config(tmp_path, {"net": changes})
    environment = {key: value for key, value in os.environ.items() if key not in ALLOCATIONS}
    wanted = ["--set-resources", "chunk:gpu=1", "--set-threads", "chunk=1", "--resources", "gpu=2"]
    done = subprocess.run(
        command(tmp_path, "results/net/pairs.parquet", *wanted),
        cwd=ROOT,
        env=environment | {"CUDA_VISIBLE_DEVICES": "4,7", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    logs = sorted((tmp_path / "results/net/logs/chunks").glob("*.log"))
    gpus = [re.search(r"INFO GPU (\d)$", log.read_text(), re.M)[1] for log in logs]  # type: ignore[index]
    assert len(gpus) == 3
    # One GPU serves all where a chunk ends before the next begins.
    assert "4" in gpus
    assert set(gpus) <= {"4", "7"}
    others = list((tmp_path / "results/net/logs").glob("*.log"))
    assert len(others) >= 4
    assert not any("INFO GPU" in path.read_text() for path in others)


def test_the_lease_ends_with_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with leased_gpu("cuda") as first:
        assert os.environ["CUDA_VISIBLE_DEVICES"] == first == "0"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    with leased_gpu("cuda") as again:
        assert again == "0"


@pytest.mark.parametrize(
    ("backend", "visible"), [("cpu", "0,1"), ("cuda", ""), ("cuda", "-1"), ("cuda", "NoDevFiles")]
)
def test_no_gpu_is_leased_on_the_cpu_or_where_all_are_hidden(
    monkeypatch: pytest.MonkeyPatch, backend: str, visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with leased_gpu(backend) as gpu:
        assert gpu is None
        assert os.environ["CUDA_VISIBLE_DEVICES"] == visible
