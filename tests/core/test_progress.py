"""What is reported while a run goes on and while chunks are computed."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pairtile.command.run import _TOLD
from pairtile.config.load import load_config
from pairtile.engine.chunk_progress import ChunkProgress
from pairtile.engine.estimator import MergedResults
from pairtile.engine.tiles import Chunk
from pairtile.runtime.files import write_json
from pairtile.runtime.progress import FailedJobs, RunProgress
from pairtile.runtime.record import (
    Progress,
    doing,
    format_duration,
    recorded,
)
from pairtile.snakemake_internals import (
    JobFailed,
    JobFinished,
    JobStarted,
    Message,
    StepsDone,
)
from pairtile.steps.analysis_run import AnalysisRun, steps_of
from small_analyses import ANALYSES
from workflow_runs import write_config

CHUNKS = [Chunk(4 * k, 4 * k + 3, 100.0) for k in range(10)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An analysis whose plan is a minute old and that has no chunk yet."""
    (tmp_path / "chunks").mkdir()
    plan = tmp_path / "plan.json"
    plan.touch()
    os.utime(plan, times=(time.time() - 60,) * 2)
    return tmp_path


def finish(folder: Path, number: int, ago: float = 0.0) -> None:
    """Another job's chunk came so many seconds ago."""
    path = folder / "chunks" / f"{CHUNKS[number].name}.parquet"
    path.touch()
    os.utime(path, times=(time.time() - ago,) * 2)


def progress(folder: Path) -> ChunkProgress:
    """Of chunk 3, with 4 tiles of 1,000 pairs."""
    return ChunkProgress(
        "net", folder / "chunks", folder / "plan.json", CHUNKS, CHUNKS[3], [1e3] * 4, "pairs"
    )


def test_tiles_of_all_jobs_are_counted_with_rate_and_time_left(folder: Path) -> None:
    job = progress(folder)
    assert job.line(job.start + 1) == "net: 0 of 40 tiles, 0 %"
    job.advance(1e3)
    job.advance(1e3)
    # 50 of 1,000 planned seconds in 10 s: 190 s for the rest.
    assert job.line(job.start + 10) == (
        "net: 2 of 40 tiles, 5 %, 2e+02 pairs a second, about 3 min left"
    )
    finish(folder, 0, ago=-1)
    finish(folder, 1, ago=-1)
    # Two more chunks in the same time: five times as fast.
    assert job.line(job.start + 10) == (
        "net: 10 of 40 tiles, 25 %, 1e+03 pairs a second, about 30 s left"
    )


def test_chunks_of_before_count_as_done_and_not_as_speed(folder: Path) -> None:
    os.utime(folder / "plan.json", times=(time.time() - 9999,) * 2)
    for number in (0, 1, 2):
        finish(folder, number, ago=5000)
    job = progress(folder)
    for _ in range(4):
        job.advance(1e3)
    # 100 planned seconds in 50: 600 are left.
    assert job.line(job.start + 50) == (
        "net: 16 of 40 tiles, 40 %, 80 pairs a second, about 5 min left"
    )


def test_the_time_between_two_jobs_is_part_of_the_rate(folder: Path) -> None:
    finish(folder, 0, ago=10)
    job = progress(folder)
    for _ in range(4):
        job.advance(1e3)
    assert "2e+02 pairs a second" in job.line(job.start + 10)


def test_chunks_of_an_earlier_plan_are_not_counted(folder: Path) -> None:
    finish(folder, 0, ago=3600)
    (folder / "chunks" / "tiles-000000-000001.parquet").touch()
    assert progress(folder).line(time.time() + 1) == "net: 0 of 40 tiles, 0 %"


def test_hundred_percent_means_every_tile(folder: Path) -> None:
    for number in range(10):
        if number != 3:
            finish(folder, number)
    job = progress(folder)
    for _ in range(3):
        job.advance(1e3)
    assert "39 of 40 tiles, 97 %" in job.line(job.start + 1)
    job.advance(1e3)
    last = job.line(job.start + 1)
    assert "40 of 40 tiles, 100 %" in last
    assert "left" not in last


def test_a_line_comes_every_five_seconds_and_when_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pairtile")
    job = progress(folder)
    now = job.start
    monkeypatch.setattr("pairtile.runtime.record.time.time", lambda: now)
    said = []
    for _ in range(4):
        now += 3
        job.advance(1e3)
        said.append(len(caplog.messages))
    assert said == [0, 1, 1, 2]
    job.log_progress()
    assert caplog.messages[-1].startswith("net: 4 of 40 tiles, 10 %")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (40, "40 s"), (200, "3 min"), (9000, "2.5 h"), (259200, "3 days")],
)
def test_times_are_said_roughly(seconds: float, text: str) -> None:
    assert format_duration(seconds) == f"about {text}"


def test_going_through_the_merged_table_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pairtile.runtime.record.EVERY_SECONDS", 0.0)
    caplog.set_level("INFO", "pairtile")
    table = pa.table({"i": np.arange(10)})
    pq.write_table(table, tmp_path / "merged.parquet", row_group_size=4)
    batches = list(MergedResults(tmp_path / "merged.parquet", {}, {}).batches())
    assert pa.concat_tables(batches).equals(table)
    assert [line.split(" done")[0] for line in caplog.messages] == [
        "40.0% of 10 merged rows",
        "80.0% of 10 merged rows",
    ]


def test_a_run_says_each_job_and_how_it_ended() -> None:
    said: list[str] = []
    progress = RunProgress(said.append, lambda: 0.0, lambda analysis: {})
    for event in (
        Message("Building DAG of jobs...", logging.WARNING),
        JobStarted(0, "default", ""),
        JobStarted(1, "prepare", "net: read and clean the input"),
        JobFinished(1),
        StepsDone(1, 3),
        JobStarted(2, "download", "download https://a.b/c"),
        Message("pairtile: done\n  net: 5 edges", logging.INFO),
        Message("Complete log(s): x", logging.INFO),
        Message("At least one job failed.", logging.ERROR),
    ):
        progress.hear(event)
    assert said == [
        "  0 %  net: read and clean the input",
        " 33 %  download https://a.b/c",
        "pairtile: done",
        "  net: 5 edges",
        "At least one job failed.",
    ]


def test_time_left_is_what_the_plans_say_corrected_by_the_jobs_so_far() -> None:
    """Each job takes 10 s here. Nothing is said before all analyses are planned."""
    plans = {"a": {"chunk": (2, 20.0)}, "b": {"network": (1, 10.0), "report": (1, 30.0)}}
    said: list[str] = []
    now = 0.0
    progress = RunProgress(said.append, lambda: now, plans.__getitem__)
    jobs = ["a prepare", "b prepare", "a plan", "b plan", "a chunk", "a cpu_chunk"]
    for number, job in enumerate([*jobs, "b network_2", "b report"]):
        analysis, rule = job.split()
        progress.hear(JobStarted(number, rule, f"{analysis}: {rule}"))
        now += 10.0
        progress.hear(JobFinished(number))
    left = [line.partition("about ")[2].partition(" left")[0] for line in said]
    # 80 s as planned; 10 s went instead of 20, so of the other 60: 60 x (10 + 10) / (20 + 10).
    assert left == ["", "", "", "", "80 s", "40 s", "24 s", "20 s"]


def test_a_job_that_ended_well_when_tried_again_has_not_failed() -> None:
    failed = FailedJobs()
    for number, log in enumerate(["a/1.log", "a/2.log", "b/3.log", "a/4.log"]):
        failed.hear(JobFailed(number, "chunk", (log,)))
    failed.hear(JobFailed(4, "all", ()))
    failed.hear(JobFinished(3))
    assert failed.logs() == [("chunk", "a/2.log"), ("chunk", "b/3.log")]


@pytest.fixture
def quick_clock(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Of which five seconds are a tenth of one."""
    monkeypatch.setattr("pairtile.runtime.record.FIRST_SECONDS", 0.04)
    monkeypatch.setattr("pairtile.runtime.record.EVERY_SECONDS", 0.1)
    monkeypatch.setattr(Progress, "latest", -1.0)
    caplog.set_level("INFO", "pairtile")


def test_a_step_that_goes_on_says_so(
    tmp_path: Path, quick_clock: None, caplog: pytest.LogCaptureFixture
) -> None:
    details = {"estimated_seconds": {"network": 40.0, "tables": 0.01}}
    write_json(tmp_path / "plan.json", {"details": details})
    with recorded("prepare", expected=4000.0):
        doing("read counts.tsv")
        time.sleep(0.2)
    assert caplog.messages[:2] == [
        "read counts.tsv",
        "prepare, read counts.tsv: 0 s so far, 0 %, about 67 min left",
    ]
    caplog.clear()
    with recorded("network", tmp_path / "network.json"):
        time.sleep(0.5)
    lines = [line for line in caplog.messages if "so far" in line]
    assert len(lines) >= 2
    assert all(_TOLD.match(f"12:00:00 INFO {line}") for line in lines)
    assert lines[0] == "network: 0 s so far, 0 %, about 40 s left"
    caplog.clear()
    with recorded("tables", tmp_path / "tables.json"):
        time.sleep(0.2)
    assert caplog.messages[0] == "tables: 0 s so far"  # longer than expected
    with pytest.raises(ZeroDivisionError), recorded("chunks 1"):  # no plan knows it
        divmod(1, time.sleep(0.2) or 0)
    n = len(caplog.messages)
    assert caplog.messages[-1] == "chunks 1: 0 s so far"
    time.sleep(0.3)
    assert len(caplog.messages) == n


def test_a_step_that_says_how_far_it_is_is_not_spoken_for(
    quick_clock: None, caplog: pytest.LogCaptureFixture
) -> None:
    with recorded("network"):
        progress = Progress(10, "rows")
        for _ in range(9):
            time.sleep(0.11)
            progress.advance(1)
    said = [line for line in caplog.messages if "so far" in line]
    assert len([line for line in caplog.messages if "rows done" in line]) >= 5
    assert len(said) <= 3


@pytest.mark.parametrize("name", ANALYSES)
def test_every_step_of_every_method_is_seen_to_go_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pairtile")
    seen = []
    monkeypatch.setattr(
        "pairtile.runtime.record._show_that_it_goes_on",
        lambda record, expected, ended: seen.append(record.step.split()[0]),
    )
    monkeypatch.chdir(tmp_path)
    write, section = ANALYSES[name]
    write(tmp_path)
    config = load_config(write_config(tmp_path, {"a": section}))
    run = AnalysisRun("a", config.analyses["a"], tmp_path / "results/a", backend="cpu")
    ran = [step.name for step in steps_of(run) if run.run(step) is None]
    assert {"prepare", "plan", "chunk", "merge", "network", "report"} <= set(ran)
    assert [{"chunks": "chunk", "scan": "chunk"}.get(step, step) for step in seen] == ran
    assert any(line.startswith(("read ", "look for ")) for line in caplog.messages)
