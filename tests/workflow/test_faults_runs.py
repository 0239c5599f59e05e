"""A clock that goes back, Ctrl-C, two runs at once: nothing is lost and nothing stale is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psutil
import pytest
from pairtile.runtime.earlier_runs import redate_future_results
from small_analyses import ANALYSES
from workflow_runs import (
    FINISHED,
    ROOT,
    Analysis,
    command,
    environment,
    finished_run,
    run,
    temporary_files,
    write_config,
    write_data,
)

HOUR = 3600
TARGET = "results/net/network.parquet"


def set_clock_back(results: Path, seconds: float = HOUR) -> None:
    """As if the clock had been set back after the run: the results lie in the future."""
    for path in [*results.rglob("*"), results]:
        time_ns = path.lstat().st_mtime_ns + int(seconds * 1e9)
        os.utime(path, ns=(time_ns, time_ns))


@pytest.fixture
def finished(tmp_path: Path) -> Analysis:
    """An analysis up to its network, an hour ahead of the clock."""
    write_data(tmp_path, genes=30, samples=30)
    analysis = Analysis(tmp_path, {}).pairs().network()
    set_clock_back(analysis.out)
    return analysis


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_results_from_the_future_are_dated_now_in_their_order(finished: Analysis) -> None:
    before, now = times(finished.out), time.time()
    said = redate_future_results(finished.out, now)
    assert f"{finished.out}: found results dated 3" in said
    assert "expected the past: they are dated anew" in said
    after = times(finished.out)
    # Exactly: a product with 1e9 is rounded to 256 ns.
    assert max(after.values()) <= Fraction(now) * 10**9
    ranks = [sorted(some, key=lambda path: (some[path], str(path))) for some in (before, after)]
    assert ranks[0] == ranks[1]
    assert redate_future_results(finished.out, now) == ""


def test_a_dry_run_and_a_few_seconds_change_no_time(finished: Analysis) -> None:
    before = times(finished.out)
    assert "would be dated anew" in redate_future_results(finished.out, time.time(), dry_run=True)
    assert redate_future_results(finished.out, time.time() + HOUR - 3) == ""
    assert redate_future_results(finished.out / "none", time.time()) == ""
    assert times(finished.out) == before


def test_results_are_dated_before_an_input_that_changed_since(finished: Analysis) -> None:
    table = finished.out.parent.parent / "expression.tsv"
    table.write_text(table.read_text().replace("\t1", "\t2"))
    now = time.time() + 60
    assert f"changed since then: {table}" in redate_future_results(finished.out, now)
    assert max(times(finished.out).values()) < table.stat().st_mtime_ns


@pytest.mark.complete
@pytest.mark.workflow
def test_an_input_changed_after_the_clock_went_back_is_computed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, done = finished_run(tmp_path_factory)
    assert done.code == 0, done.text
    target = "out/net/network.parquet"
    first = (folder / target).read_bytes()
    set_clock_back(folder / "out")
    lines = (folder / "expression.tsv").read_text().splitlines()
    (folder / "expression.tsv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    again = run(folder, target)
    assert again.code == 0, again.text
    assert "the clock was set back" in again.text
    assert {"prepare", "network"} <= again.rules
    found = (folder / target).read_bytes()
    assert found != first
    expected = Analysis(folder, FINISHED["net"], name="expected").pairs().network()
    assert found == (expected.out / "network.parquet").read_bytes()
    assert run(folder, target).done_before


# --- signals ------------------------------------------------------------------------------------


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
        pytest.param(signal.SIGINT, id="ctrl-c", marks=pytest.mark.complete),
        pytest.param(signal.SIGTERM, id="terminate", marks=pytest.mark.complete),
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
            assert code == 0 or "LockException" in text, text
        assert temporary_files(folder) == []
        expected = Analysis(folder, section, name="expected").pairs().network()
        assert (folder / TARGET).read_bytes() == (expected.out / "network.parquet").read_bytes()
