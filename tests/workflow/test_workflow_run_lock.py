"""Lock files of a killed run are removed; those of a living or distant one are not."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_runs import ROOT

CODE = """
import sys
from pairtile.runtime.earlier_runs import release_locks_of_a_killed_run
print(release_locks_of_a_killed_run(sys.argv[1]), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Snakemake's folder, with the locks of a run of this host."""
    (tmp_path / "locks").mkdir()
    for name in ("0.input.lock", "0.output.lock"):
        (tmp_path / "locks" / name).write_text("results/net/plan.json\n")
    (tmp_path / "pairtile.run").write_text(socket.gethostname())
    return tmp_path


def start(folder: Path) -> tuple[subprocess.Popen[str], bool]:
    """A run that lives until it is killed, and whether it removed locks."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder)],
        env={"PYTHONPATH": str(ROOT / "workflow")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline() == "True\n"


def locks(folder: Path) -> int:
    return len(list((folder / "locks").iterdir()))


def test_locks_of_a_killed_run_are_removed_once_it_is_dead(folder: Path) -> None:
    first, removed = start(folder)
    assert removed
    assert locks(folder) == 0
    (folder / "locks/0.output.lock").write_text("results/net/plan.json\n")  # its own
    second, removed = start(folder)
    assert not removed
    assert locks(folder) == 1
    for process in (first, second):
        process.kill()
        process.wait()
    third, removed = start(folder)
    assert removed
    assert locks(folder) == 0
    third.kill()
    third.wait()


@pytest.mark.parametrize("holder", ["another-host", ""])
def test_locks_of_another_host_or_an_unknown_run_stay(folder: Path, holder: str) -> None:
    (folder / "pairtile.run").write_text(holder)
    for _ in range(2):  # and trying does not make them ours
        process, removed = start(folder)
        assert not removed
        process.kill()
        process.wait()
    assert locks(folder) == 2
