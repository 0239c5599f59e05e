"""One run at a time works on results; what a killed one held is released."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairtile.errors import StoreError
from pairtile.runtime import results_lock
from pairtile.runtime.results_lock import LOCK_FILE, hold_results, mark_run
from workflow_runs import ROOT, finished_run, run, write_config

HOLDER = """
import sys
from pairtile.runtime.results_lock import hold_results, mark_run
hold_results(sys.argv[1])
print(mark_run(sys.argv[2], sys.argv[1]), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def snakemake_folder(tmp_path: Path) -> Path:
    (tmp_path / ".snakemake").mkdir()
    return tmp_path / ".snakemake"


@pytest.fixture
def holder(tmp_path: Path, snakemake_folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that works on ``results`` until it is killed or its standard input is closed."""
    process = start(tmp_path / "results", snakemake_folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "False\n"
    yield process
    process.kill()
    process.communicate()


def start(results: Path, snakemake_folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(results), str(snakemake_folder)],
        env={"PYTHONPATH": str(ROOT / "workflow")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def write_holder(results: Path, **changes: object) -> None:
    """As a run that left no lock of the kernel."""
    results.mkdir(exist_ok=True)
    holder = {"host": socket.gethostname(), "boot": results_lock._boot(), "process": os.getpid()}
    holder |= {"started": results_lock._started(os.getpid())}
    (results / LOCK_FILE).write_text(json.dumps(holder | changes))


@pytest.mark.parametrize("name", ["results", "link", "results/../results"])
def test_a_second_run_is_refused_and_told_by_whom(tmp_path: Path, holder, name: str) -> None:
    (tmp_path / "link").symlink_to("results")
    said = rf"host {re.escape(socket.gethostname())}, process {holder.pid}"
    for _ in range(2):  # and trying does not take it away
        with pytest.raises(StoreError, match=said):
            hold_results(tmp_path / name)


def test_a_relative_path_is_the_same_folder(tmp_path: Path, holder, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=f"process {holder.pid}"):
        hold_results("results")


@pytest.mark.parametrize("killed", [True, False])
def test_the_next_run_holds_the_results_and_knows_of_a_kill(
    tmp_path: Path, snakemake_folder: Path, holder, killed: bool
) -> None:
    if killed:
        holder.kill()
    holder.communicate()
    for begun in (killed, False):
        after = start(tmp_path / "results", snakemake_folder)
        assert after.communicate()[0] == f"{begun}\n"
    assert (tmp_path / "results" / LOCK_FILE).read_text() == ""


def test_the_mark_of_a_killed_run_waits_where_it_was_started(
    tmp_path: Path, snakemake_folder: Path, holder
) -> None:
    """Another working folder takes the results over; the first is released when it runs again."""
    holder.kill()
    holder.wait()
    (tmp_path / "other").mkdir()
    results = tmp_path / "results"
    assert start(results, tmp_path / "other").communicate()[0] == "False\n"
    assert start(tmp_path / "more", snakemake_folder).communicate()[0] == "False\n"
    assert start(results, snakemake_folder).communicate()[0] == "True\n"


def test_a_run_of_another_host_is_believed_until_its_lock_is_deleted(tmp_path: Path) -> None:
    results = tmp_path / "results"
    write_holder(results, host="node17", boot="another")
    with pytest.raises(StoreError, match=f"host node17, process {os.getpid()}: .*{LOCK_FILE}"):
        hold_results(results)
    (results / LOCK_FILE).unlink()
    assert start(results, tmp_path).communicate()[0] == "False\n"


@pytest.mark.parametrize(
    "changes",
    [{"boot": "before the machine was started anew"}, {"host": "another container"}],
    ids=["rebooted", "container"],
)
def test_a_dead_run_of_this_machine_is_recognised(tmp_path: Path, changes: dict) -> None:
    write_holder(tmp_path / "results", **changes)
    assert start(tmp_path / "results", tmp_path).communicate()[0] == "False\n"


@pytest.mark.parametrize("alive", [True, False])
def test_without_locks_of_the_file_system_the_process_decides(
    tmp_path: Path, monkeypatch, alive: bool
) -> None:
    def refused(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    results = tmp_path / "results"
    write_holder(results, **({} if alive else {"started": 1.0}))  # the number was given anew
    if alive:
        with pytest.raises(StoreError, match=f"process {os.getpid()}"):
            hold_results(results)
    else:
        hold_results(results)
        assert json.loads((results / LOCK_FILE).read_text())["process"] == os.getpid()


def test_marks_are_of_one_folder_of_results(tmp_path: Path) -> None:
    assert not mark_run(tmp_path, tmp_path / "one")
    assert not mark_run(tmp_path, tmp_path / "two")
    assert mark_run(tmp_path, tmp_path / "one/../one")


@pytest.mark.workflow
@pytest.mark.complete
def test_runs_from_two_working_folders(tmp_path_factory: pytest.TempPathFactory, holder) -> None:
    """Refused in one line, while a dry run and --unlock are not."""
    folder, done = finished_run(tmp_path_factory)
    assert done.code == 0, done.text
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    results = Path(holder.args[3])
    for name in ("expression.tsv", "regulators.txt", "gold_standard.tsv"):
        (elsewhere / name).write_bytes((folder / name).read_bytes())
    write_config(elsewhere, {"net": {}}, results=str(results))
    refused = run(elsewhere)
    assert refused.code == 1
    lines = [line for line in refused.text.splitlines() if "pairtile:" in line]
    assert len(lines) == 1
    assert f"process {holder.pid}" in lines[0]
    assert "Traceback" not in refused.text
    assert run(elsewhere, "-n").code == 0
    assert run(elsewhere, "--unlock").code == 0
    holder.kill()
    holder.wait()
    assert run(elsewhere, "--until", "prepare").code == 0


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("content")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / LOCK_FILE).symlink_to(tmp_path / "precious")
    with pytest.raises(StoreError, match="link in its place"):
        hold_results(tmp_path / "results")
    assert (tmp_path / "precious").read_text() == "content"


@pytest.mark.parametrize("held", [b'{"host": 1}', b"[1]", b"\xff\x00", b'{"a":'])
def test_a_lock_file_that_says_nothing_holds_nobody_up(tmp_path: Path, held: bytes) -> None:
    (tmp_path / LOCK_FILE).write_bytes(held)
    hold_results(tmp_path)


def test_a_folder_in_place_of_a_lock_file_is_named(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(StoreError, match=LOCK_FILE):
        hold_results(tmp_path)
