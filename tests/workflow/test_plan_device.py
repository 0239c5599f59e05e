"""Which device ``backend: auto`` plans for: a GPU is started where the work is worth it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.steps import plan
from pairtile.steps.analysis_run import AnalysisRun

GPU = Device("cuda", "some GPU", "a usable GPU was found")


@pytest.mark.parametrize(
    ("backend", "seconds", "bootstraps", "expected"),
    [
        ("auto", 0.99, 0, "cpu"),
        ("auto", 1.01, 0, "cuda"),
        ("auto", 0.99, 20, "cuda"),
        ("cuda", 0.99, 0, "cuda"),
    ],
)
def test_the_cpu_does_what_takes_less_than_starting_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    seconds: float,
    bootstraps: int,
    expected: str,
) -> None:
    monkeypatch.setattr(plan, "planned_device", lambda backend: GPU)
    run = AnalysisRun(
        "net",
        MutualInformationConfig(method="mutual_information", expression="e.tsv"),
        Path(),
        1,
        backend,
    )
    chosen = plan._device(run, seconds, bootstraps)
    assert chosen.backend == expected
    if expected == "cpu":
        assert "less than 1 s of work" in chosen.reason


@pytest.mark.parametrize(
    ("gpus", "visible", "cores", "jobs"),
    [(1, 4, 16, 2), (4, 4, 16, 8), (0, 3, 16, 6), (4, 4, 2, 4), (64, 4, 64, 15)],
)
def test_bootstraps_are_cut_by_the_gpus_and_cores_of_the_run(
    monkeypatch: pytest.MonkeyPatch, gpus: int, visible: int, cores: int, jobs: int
) -> None:
    monkeypatch.setattr(plan, "visible_gpus", lambda: list(map(str, range(visible))))
    monkeypatch.setattr(plan, "threads", lambda: cores)
    assert plan._at_once("cpu", gpus) == 1
    cut = plan._bootstrap_jobs(100, 0.75, plan._at_once("cuda", gpus))  # 75 s of work
    assert len(cut) == jobs
    assert [k for first, last in cut for k in range(first, last + 1)] == list(range(100))
