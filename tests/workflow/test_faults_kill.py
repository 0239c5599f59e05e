"""Killed at any file operation of any step, nothing half-written stands under a final name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from crashes import Crasher, check_whole, chunks, results
from pairtile.steps.plan import read_plan
from small_analyses import ANALYSES
from workflow_runs import temporary_files

pytestmark = pytest.mark.complete

STEPS = ("prepare", "scan", "merge_scan", "chunks", "merge", "network", "tables")


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    server = Crasher()
    yield server
    server.close()


def run_step(crasher: Crasher, folder: Path, name: str, step: str, kill_at: int = 0) -> bool:
    """Run what of a step is missing, as Snakemake would."""
    if step in ("scan", "chunks"):
        planned = [c.name for c in read_plan(folder / "results/net/plan.json").chunks]
        there = chunks(folder, step)
        missing = [chunk for chunk in planned if chunk not in there]
        if not missing:
            return True
        ended = crasher.run(folder, name, "compute", step, missing, kill_at=kill_at)
        after = chunks(folder, step)
        assert {chunk: after[chunk] for chunk in there} == there  # none was done again
        return ended
    if step == "merge_scan":
        return crasher.run(folder, name, "merge", "scan", kill_at=kill_at)
    return crasher.run(folder, name, step, kill_at=kill_at)


def crash(crasher: Crasher, tmp_path: Path, name: str, steps: tuple[str, ...], every: int) -> int:
    """Crash each step at every ``every``-th of its file operations; returns how many crashes."""
    write, _ = ANALYSES[name]
    straight, before, work = (tmp_path / part for part in ("straight", "before", "work"))
    straight.mkdir()
    write(straight)
    crashes = 0
    for step in STEPS:
        if "scan" in step and not read_plan(straight / "results/net/plan.json").scan:
            continue
        shutil.copytree(straight, before)
        run_step(crasher, straight, name, step)
        expected = results(straight)
        kill_at = 1
        while step in steps:
            shutil.copytree(before, work)
            ended = run_step(crasher, work, name, step, kill_at)
            check_whole(work, expected)
            if not ended:
                crashes += 1
                run_step(crasher, work, name, step)
            assert results(work) == expected
            left = [path for path in temporary_files(work) if step not in path.parts]
            assert left == []
            shutil.rmtree(work)
            if ended:
                break
            kill_at += every
        shutil.rmtree(before)
    return crashes


def test_chunks_and_merge_survive_a_kill_at_some_file_operations(
    crasher: Crasher, tmp_path: Path
) -> None:
    crashes = crash(crasher, tmp_path, "mutual_information", ("chunks", "merge"), every=7)
    print(crashes, "crashes")
    assert crashes >= 5


@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", ANALYSES)
def test_every_step_survives_a_kill_at_every_file_operation(
    crasher: Crasher, tmp_path: Path, name: str
) -> None:
    crashes = crash(crasher, tmp_path, name, STEPS, every=1)
    print(crashes, "crashes")
    assert crashes >= 50


def test_a_half_written_file_would_be_noticed(crasher: Crasher, tmp_path: Path) -> None:
    """The check itself: a truncated table under its final name does not pass."""
    write, _ = ANALYSES["mutual_information"]
    write(tmp_path)
    crasher.run(tmp_path, "mutual_information", "prepare")
    expected = results(tmp_path)
    check_whole(tmp_path, expected)
    with np.load(tmp_path / "results/net/null.npz") as arrays:
        assert arrays.files
    path = tmp_path / "results/net/null.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(AssertionError, match=r"null\.npz is there"):
        check_whole(tmp_path, expected)
