"""Whatever is killed, damaged or foreign: the next run finds it, and ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from pairtile.engine import tiles
from pairtile.errors import StoreError
from pairtile.steps import chunk as chunk_step
from pairtile.steps.damage import remove_damaged
from workflow_runs import (
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

pytestmark = pytest.mark.complete

MANY = {"chunks": 3, "keep": {"p_value": 0.001}}


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Analysis:
    """An analysis with three chunks, merged."""
    monkeypatch.setattr(tiles, "TILE_EDGE", 16)
    write_data(tmp_path)
    return Analysis(tmp_path, MANY).pairs()


# --- chunk files --------------------------------------------------------------------------------


def flipped(whole: bytes) -> bytes:
    broken = bytearray(whole)
    broken[len(whole) // 3] ^= 4
    return bytes(broken)


def test_before_a_run_only_damaged_chunks_of_an_unmerged_stage_are_removed(
    finished: Analysis,
) -> None:
    first, second, third = finished.chunk_files("chunks")
    second.write_bytes(flipped(second.read_bytes()))
    os.utime(second, ns=(0, 0))
    assert remove_damaged(finished.run).damaged == {}  # merged: nothing reads it any more
    (finished.out / "pairs.parquet").unlink()
    assert len(remove_damaged(finished.run, dry_run=True).damaged) == 1
    assert second.exists()
    assert list(remove_damaged(finished.run).damaged) == [second]
    assert [first.exists(), second.exists(), third.exists()] == [True, False, True]


def test_a_chunk_that_is_being_written_is_not_taken_for_a_damaged_one(finished: Analysis) -> None:
    (finished.out / "pairs.parquet").unlink()
    being_written = finished.out / "chunks/.tiles-000000-000003.parquet.abcdefgh.part.parquet"
    being_written.write_bytes(b"PAR1")
    assert remove_damaged(finished.run).damaged == {}
    assert being_written.exists()


# --- errors and kills inside a job --------------------------------------------------------------


def test_an_error_half_way_leaves_no_chunk_and_no_temporary_file(
    finished: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = finished.chunk_files("chunks")[0]
    target.unlink()
    written = 0

    class Fails(chunk_step.ChunkProgress):
        def advance(self, amount: float) -> None:
            nonlocal written
            written += 1
            if written == 3:
                raise OSError("No space left on device")

    monkeypatch.setattr(chunk_step, "ChunkProgress", Fails)
    with pytest.raises(StoreError, match=f"{target.name}: found a full disk .*; expected room"):
        finished.compute("chunks", [target.stem])
    assert not target.exists()
    assert temporary_files(finished.out) == []


# --- Snakemake itself ---------------------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.workflow
def test_kill_9_of_snakemake_ends_its_jobs_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """Chunks run side by side; killed when one is there. No flag is needed, no chunk lost."""
    write_data(tmp_path, genes=1100, samples=24)
    changes = {"chunks": 3, "keep": {"p_value": 1e-4}}
    write_config(tmp_path, {"net": changes})
    process = subprocess.Popen(
        command(tmp_path, "results/net/network.parquet"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    chunks = tmp_path / "results/net/chunks"
    deadline = time.monotonic() + 300
    while not list(chunks.glob("tiles-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    jobs = psutil.Process(process.pid).children(recursive=True)
    assert jobs
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(jobs, timeout=60)
    assert alive == []
    made = {chunk: chunk.stat().st_mtime_ns for chunk in chunks.glob("tiles-*.parquet")}
    assert made

    again = run(tmp_path, "results/net/network.parquet")
    assert again.code == 0, again.text
    assert "its locks are released" in again.text
    assert made == {chunk: chunk.stat().st_mtime_ns for chunk in made}
    assert temporary_files(tmp_path) == []
    expected = Analysis(tmp_path, changes, name="expected").pairs().network()
    for name in ("pairs.parquet", "network.parquet"):
        found = (tmp_path / "results/net" / name).read_bytes()
        assert found == (expected.out / name).read_bytes()


@pytest.mark.workflow
def test_snakemake_names_a_damaged_chunk_and_computes_it_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, first = finished_run(tmp_path_factory)
    assert first.code == 0, first.text
    out = folder / "out/net"
    bad = out / "chunks/tiles-000000-000000.parquet"
    whole, pairs = bad.read_bytes(), (out / "pairs.parquet").read_bytes()
    bad.write_bytes(flipped(whole))
    (out / "pairs.parquet").unlink()
    again = run(folder, "out/net/pairs.parquet")
    assert again.code == 0, again.text
    assert "made again if needed: " in again.text
    assert str(bad.relative_to(folder)) in again.text
    assert again.rules == {"chunk", "merge"}
    assert (out / "pairs.parquet").read_bytes() == pairs


@pytest.mark.complete
@pytest.mark.workflow
def test_a_living_run_keeps_its_lock(tmp_path: Path) -> None:
    """A second run of the same results is refused, however the first one's locks are judged."""
    write_data(tmp_path)
    write_config(tmp_path, {"net": {}})
    target = "results/net/items.parquet"
    first = subprocess.Popen(
        command(tmp_path, target), cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
    )
    locks = tmp_path / ".snakemake/locks"
    while not any(path.stat().st_size for path in locks.glob("*.output.lock")):
        assert first.poll() is None
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGSTOP)  # else it may have ended before the second looks
    try:
        second = run(tmp_path, target)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert second.code != 0
    assert f"process {first.pid}" in second.text
    first.communicate()
    assert first.returncode == 0
