"""Ctrl-C, two runs at once: nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from small_analyses import ANALYSES
from workflow_runs import (
    ROOT,
    Analysis,
    command,
    environment,
    run,
    temporary_files,
    write_config,
    write_data,
)

TARGET = "results/net/network.parquet"


def started(folder: Path, *targets: str) -> subprocess.Popen[str]:
    """A run in a process group of its own, as a terminal gives it one."""
    return subprocess.Popen(
        command(folder, *targets),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A script that runs the tests in the background has all that they start pass over Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(folder: Path, pattern: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not list(folder.glob(pattern)) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


LONG = {"chunks": 10, "keep": {"p_value": 1e-4}}


@pytest.fixture
def long_run(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A run that is computing its chunks, for ten seconds or more."""
    write_data(tmp_path, genes=3100, samples=600)
    write_config(tmp_path, {"net": LONG})
    process = started(tmp_path, TARGET)
    wait_for(tmp_path, "results/net/logs/chunks/*.log", process)
    yield tmp_path, process
    if process.poll() is None:
        process.kill()


@pytest.mark.workflow
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="ctrl-c", marks=pytest.mark.nightly),
        # Of short runs test_faults_signals.py tries it, too.
        pytest.param(signal.SIGTERM, id="terminate", marks=pytest.mark.faults),
    ],
)
def test_an_interrupted_run_leaves_nothing_half_made_and_goes_on(
    long_run: tuple[Path, subprocess.Popen[str]], number: signal.Signals
) -> None:
    folder, process = long_run
    jobs = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, number)
    try:
        text = process.communicate(timeout=2)[0]
    except subprocess.TimeoutExpired:
        # Python passes over an interrupt that falls into the start of a process: once more, then.
        jobs += psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, number)
        text = process.communicate(timeout=240)[0]
    assert process.returncode != 0
    assert "a defect of pairtile" not in text
    _, alive = psutil.wait_procs(jobs, timeout=60)
    assert alive == []
    assert temporary_files(folder / "results") == [] or number == signal.SIGTERM
    again = run(folder, TARGET)
    assert again.code == 0, again.text
    assert "prepare" not in again.rules
    assert "plan" not in again.rules
    assert temporary_files(folder / "results") == []
    expected = Analysis(folder, LONG, name="expected").pairs().network()
    assert (folder / TARGET).read_bytes() == (expected.out / "network.parquet").read_bytes()


@pytest.mark.workflow
@pytest.mark.faults
def test_of_two_runs_started_at_once_one_works_and_the_other_is_refused(tmp_path: Path) -> None:
    """Three times over: both may look for locks at the same moment."""
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        write, section = ANALYSES["mutual_information"]
        write(folder)
        write_config(folder, {"net": section})
        runs = [started(folder, TARGET) for _ in range(2)]
        texts = [process.communicate(timeout=200)[0] for process in runs]
        codes = [process.returncode for process in runs]
        assert 0 in codes, texts
        for code, text in zip(codes, texts, strict=True):
            assert code == 0 or "another run works on these results" in text, text
        assert temporary_files(folder) == []
        expected = Analysis(folder, section, name="expected").pairs().network()
        assert (folder / TARGET).read_bytes() == (expected.out / "network.parquet").read_bytes()
