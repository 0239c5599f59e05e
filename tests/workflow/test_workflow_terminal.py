"""What a person reads in the terminal: progress while it runs, and the end of it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from pairtile.view.run_messages import failure, success
from workflow_runs import FINISHED, Run, finished_run, run, write_config, write_data

pytestmark = [pytest.mark.complete, pytest.mark.workflow]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder with an analysis of two passes and two chunks, and the run that scored it, one chunk
    after the other: of two that end at once, neither knows that all is done."""
    folder = tmp_path_factory.mktemp("finished")
    write_data(folder, genes=2200, samples=30)
    rare = {"regulators": "regulators.txt", "keep": {"top_edges": 100}}
    write_config(folder, {"net": rare | {"chunks": 2, "score": "clr"}})
    return folder, run(folder, "--cores", "1", "results/net/pairs.parquet")


@pytest.mark.complete
def test_tiles_done_are_shown_for_each_analysis_over_all_its_chunks(
    finished: tuple[Path, Run],
) -> None:
    folder, done = finished
    assert done.code == 0, done.text
    lines = re.findall(r"INFO (net: .*)", done.text)
    chunks = sorted((folder / "results/net/chunks").glob("*.parquet"))
    assert len(lines) >= len(chunks) == 2
    tiles = [
        re.match(r"net: (\d+) of (\d+) tiles, (\d+) %, \S+ pairs a second", line) for line in lines
    ]
    assert all(tiles)
    counted = [(int(found[1]), int(found[2]), int(found[3])) for found in tiles if found]
    assert counted == sorted(counted)
    assert counted[0][0] < counted[-1][0] == counted[-1][1]
    assert counted[-1][2] == 100
    assert "left" in lines[0]
    assert "left" not in lines[-1]
    assert re.search(r"INFO net, first pass: \d+ of \d+ tiles, 100 %", done.text)


def test_the_end_of_a_run_says_what_was_found_and_where(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, done = finished_run(tmp_path_factory)
    end = done.text[done.text.index("pairtile: done") :]
    for name in FINISHED:
        edges = len(pd.read_parquet(folder / f"out/{name}/network.parquet"))
        assert re.search(
            rf"  {name}: {edges:,} edges between .*\n    open out/{name}/report.html", end
        )
    assert "read the page's top" in end


def test_an_analysis_that_was_not_asked_for_is_named_so(finished: tuple[Path, Run]) -> None:
    folder, _ = finished
    said = success(str(folder / "results"), ["net", "other"])
    assert f"other: no report on this machine; results are in {folder}/results/other/" in said


def test_a_failed_run_says_what_was_wrong_and_what_to_do(tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "regulators.txt").write_text("nobody\n")
    write_config(tmp_path, {"net": {"regulators": "regulators.txt"}})
    done = run(tmp_path)
    assert done.code == 1
    end = done.text[done.text.index("pairtile: stopped before the end") :]
    assert "  prepare: regulators.txt: found none of its 1 names (nobody)" in end
    assert "    log: results/net/logs/prepare.log" in end
    assert "give the same command again" in end
    assert "Please report" not in end
    assert "pairtile: done" not in done.text


def test_a_job_that_was_killed_has_left_no_word(tmp_path: Path) -> None:
    log = tmp_path / "chunk.log"
    log.write_text("10:00:00 INFO net: 1 of 4 tiles, 25 %\n")
    said = failure([("chunk", str(log))], [], str(tmp_path))
    assert "chunk: the job ended without a message: it may have been killed" in said
    assert f"log: {log}" in said


def test_a_defect_is_told_apart_from_wrong_input(tmp_path: Path) -> None:
    log = tmp_path / "null.log"
    log.write_text(
        "10:00:00 ERROR a defect of pairtile: please report it with this log\n"
        "Traceback (most recent call last):\n  File x\nKeyError: 'z'\n"
    )
    said = failure([("null", str(log))], [], str(tmp_path))
    assert "null: a defect of pairtile: please report it with this log KeyError: 'z'" in said
    assert "Please report the defect, with the log." in said


def test_without_any_log_the_run_s_own_is_named(tmp_path: Path) -> None:
    assert f"log: {tmp_path}/none.log" in failure([], [f"{tmp_path}/none.log"], str(tmp_path))
