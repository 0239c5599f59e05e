"""What is reported while chunks are computed."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pairtile.engine.estimator import Merged
from pairtile.engine.tiles import Chunk
from pairtile.runtime.record import ChunkProgress, about

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
    job.say()
    assert caplog.messages[-1].startswith("net: 4 of 40 tiles, 10 %")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (40, "40 s"), (200, "3 min"), (9000, "2.5 h"), (259200, "3 days")],
)
def test_times_are_said_roughly(seconds: float, text: str) -> None:
    assert about(seconds) == f"about {text}"


def test_going_through_the_merged_table_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pairtile.runtime.record.EVERY_SECONDS", 0.0)
    caplog.set_level("INFO", "pairtile")
    table = pa.table({"i": np.arange(10)})
    pq.write_table(table, tmp_path / "merged.parquet", row_group_size=4)
    batches = list(Merged(tmp_path / "merged.parquet", {}, {}).batches())
    assert pa.concat_tables(batches).equals(table)
    assert [line.split(" done")[0] for line in caplog.messages] == [
        "40.0% of 10 merged rows",
        "80.0% of 10 merged rows",
    ]
