"""Jobs on one host share its GPUs by file locks. Needs no GPU: only locks and a variable."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairtile.device import leased_gpu
from workflow_runs import ROOT

JOB = """
import os, sys, time
from pairtile.device import leased_gpu
with leased_gpu("cuda", poll_seconds=0.05) as gpu:
    print(gpu, os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    time.sleep(60)
"""


class Job:
    """A process that holds a lease until it is killed."""

    def __init__(self, folder: Path, visible: str) -> None:
        environment = os.environ | {
            "CUDA_VISIBLE_DEVICES": visible,
            "TMPDIR": str(folder),
            "PYTHONPATH": str(ROOT / "workflow"),
        }
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
    first, second = (job.gpu(20) for job in jobs)
    assert {first, second} == {"0", "1"}
    jobs.append(Job(tmp_path, "0,1"))
    assert jobs[2].gpu(1.5) is None
    jobs[0].kill()
    assert jobs[2].gpu(20) == first


def test_the_scheduler_s_choice_is_obeyed(tmp_path: Path, jobs: list[Job]) -> None:
    jobs += [Job(tmp_path, "3, 5"), Job(tmp_path, "3, 5")]
    assert {job.gpu(20) for job in jobs} == {"3", "5"}


def test_the_lease_ends_with_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with leased_gpu("cuda") as first:
        assert os.environ["CUDA_VISIBLE_DEVICES"] == first == "0"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    with leased_gpu("cuda") as again:
        assert again == "0"


@pytest.mark.parametrize(("backend", "visible"), [("cpu", "0,1"), ("cuda", "")])
def test_no_gpu_is_leased_on_the_cpu_or_where_all_are_hidden(
    monkeypatch: pytest.MonkeyPatch, backend: str, visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with leased_gpu(backend) as gpu:
        assert gpu is None
        assert os.environ["CUDA_VISIBLE_DEVICES"] == visible
