"""A full disk, or results that may not be written: one message, nothing half-written, no loss."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crashes import check_whole, chunks, results
from pairtile.errors import StoreError
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import Analysis, run, temporary_files, write_config

pytestmark = pytest.mark.complete

KIB = 1024
PAGE = 4 * KIB
BALLAST = "ballast"


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount a file system: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder whose ``results`` lie on a disk of 16 MiB."""
    disk = tmp_path / "results"
    disk.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("needs the program mount")
    _mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk))
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, edge in SMALL_TILES:
        monkeypatch.setattr(place, name, edge)


def fill(folder: Path, leave: int) -> None:
    """Leave so many bytes free on the disk."""
    disk = os.statvfs(folder)
    size = disk.f_bavail * disk.f_frsize - leave
    with (folder / BALLAST).open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, size)


def steps_of(analysis: Analysis) -> dict[str, Callable[[], object]]:
    """The steps in order, by name."""
    scan = {
        "scan": lambda: analysis.compute("scan", missing(analysis, "scan")),
        "merge_scan": lambda: analysis.merge("scan"),
    }
    return {
        "prepare": analysis.prepare,
        **(scan if analysis.name == "net" and "clr" in str(analysis.section) else {}),
        "chunks": lambda: analysis.compute("chunks", missing(analysis, "chunks")),
        "merge": analysis.merge,
        "network": analysis.network,
        "tables": analysis.tables,
        "results": lambda: analysis.results().report(),
    }


def message_of(work: Callable[[], object]) -> str:
    """What a step says of why it failed; empty where it did not."""
    try:
        work()
    except StoreError as error:
        return str(error)
    return ""


def missing(analysis: Analysis, stage: str) -> list[str]:
    there = {path.stem for path in (analysis.out / stage).glob("tiles-*.parquet")}
    return [chunk.name for chunk in analysis.plan.chunks if chunk.name not in there]


def expected_results(tmp_path: Path, name: str) -> dict[str, bytes]:
    straight = tmp_path / "straight"
    straight.mkdir()
    write, section = ANALYSES[name]
    write(straight)
    Analysis(straight, section).all().report()
    return results(straight)


def fill_each_step(folder: Path, name: str, steps: set[str], leaves: list[int]) -> int:
    """Run an analysis, each step first on a disk with ever more room; returns how often it failed.

    The report is not compared: it says how long the steps took.
    """
    expected = expected_results(folder, name)
    write, section = ANALYSES[name]
    write(folder)
    analysis = Analysis(folder, section)
    failures = 0
    for step, work in steps_of(analysis).items():
        for leave in leaves if step in steps else []:
            fill(folder / "results", leave)
            said = message_of(work)
            if said:
                failures += 1
                assert f"{folder}/results/net/" in said
                assert "found a full disk" in said
                assert "; expected room" in said
            timed = {"summary.json", "report.html"}
            now = {k: v for k, v in results(folder).items() if not timed & {k}}
            for file in [file for file in now if file.startswith("figures")]:
                del now[file]
            check_present(folder, now, expected)
            chunks(folder, "chunks") if (analysis.out / "plan.json").exists() else None
            left = temporary_files(folder / "results")
            assert left == []
            (folder / "results" / BALLAST).unlink()
        work()
    found = results(folder)
    null = ["null.npz"] if analysis.null_file else []
    for file in ("pairs.parquet", "network.parquet", "scores.npz", "plan.json", *null):
        assert found[file] == expected[file], file
    assert "</html>" in (analysis.out / "report.html").read_text()[-50:]
    return failures


def check_present(folder: Path, now: dict[str, bytes], expected: dict[str, bytes]) -> None:
    whole_state = (folder / "results/net/state/state.json").exists()
    for file, content in now.items():
        if whole_state or not file.startswith("state/"):
            assert content == expected[file], f"{file} is there and is not what it should be"


def test_a_full_disk_stops_a_chunk_and_the_merge_with_one_message(small_disk: Path) -> None:
    failures = fill_each_step(small_disk, "mutual_information", {"chunks", "merge"}, [0, PAGE])
    assert failures == 4


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ANALYSES)
def test_a_full_disk_stops_any_step_with_one_message(small_disk: Path, name: str) -> None:
    leaves = [0, PAGE, 2 * PAGE, 16 * KIB, 24 * KIB, 32 * KIB, 48 * KIB, 64 * KIB, 128 * KIB]
    leaves += [256 * KIB, 512 * KIB]
    steps = {"prepare", "scan", "chunks", "merge", "network", "tables", "results"}
    failures = fill_each_step(small_disk, name, steps, leaves)
    print(failures, "failures")
    assert failures >= 15


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Makes a folder read-only; root is not stopped by permissions."""
    made: list[Path] = []

    def make(folder: Path) -> None:
        _mount("--bind", str(folder), str(folder))
        made.append(folder)
        _mount("-o", "remount,ro,bind", str(folder))

    yield make
    for folder in made:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_results_that_may_not_be_written_are_named(
    tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    write, section = ANALYSES["mutual_information"]
    write(tmp_path)
    analysis = Analysis(tmp_path, section).prepare()
    read_only(tmp_path / "results")
    name = analysis.plan.chunks[0].name
    expected = rf"chunks.*{name}.*found read-only file system.*expected a writable place"
    with pytest.raises(StoreError, match=expected):
        analysis.compute("chunks", [name])
    with pytest.raises(StoreError, match=r"net/state: found read-only file system"):
        analysis.prepare()


@pytest.mark.workflow
def test_a_run_whose_results_may_not_be_written_says_so_before_any_job(
    tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    write, section = ANALYSES["mutual_information"]
    write(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir()
    read_only(closed)
    write_config(tmp_path, {"net": section}, results="closed/out")
    done = run(tmp_path)
    assert done.code != 0
    assert "results: found 'closed/out', which may not be written" in done.text
    assert "expected a folder" in done.text
    assert done.rules == set()


@pytest.mark.workflow
@pytest.mark.faults
def test_a_run_on_a_full_disk_names_the_file_and_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    write, section = ANALYSES["mutual_information"]
    write(small_disk)
    write_config(small_disk, {"net": section})
    assert run(small_disk, "results/net/null.npz").code == 0
    made = {path: path.stat().st_mtime_ns for path in (small_disk / "results/net").glob("*.*")}
    (small_disk / "results/net/logs/chunks").mkdir()
    fill(small_disk / "results", 2 * PAGE)
    full = run(small_disk)
    assert full.code != 0
    assert "found a full disk while writing it; expected room" in full.text
    (small_disk / "results" / BALLAST).unlink()
    again = run(small_disk)
    assert again.code == 0, again.text
    assert {path: path.stat().st_mtime_ns for path in made} == made  # nothing was made again
    assert temporary_files(small_disk / "results") == []
    check_whole(small_disk, results(small_disk))
