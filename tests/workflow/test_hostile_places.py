"""Places that cannot be used end a command with one clear error: few files that may be open, a
working folder that may not be written, a lock that is none, results in place of an input."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_runs import Run, environment, write_config, write_data

pytestmark = pytest.mark.workflow

PAIRTILE = Path(sys.executable).with_name("pairtile")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    write_data(tmp_path / "run", genes=30, samples=30)
    write_config(tmp_path / "run", {"net": {}})
    return tmp_path / "run"


def pairtile(folder: Path, *arguments: str, before: str = "", wrap: tuple[str, ...] = ()) -> Run:
    """The command in a shell, in which ``before`` was done; ``wrap`` runs the shell."""
    command = f"{before}\ncd {shlex.quote(str(folder))}\n{shlex.join([str(PAIRTILE), *arguments])}"
    done = subprocess.run(
        [*wrap, "bash", "-c", command],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return Run(done.returncode, done.stdout)


def refused(done: Run, *words: str) -> None:
    assert done.code not in (0, None), done.text
    assert "Traceback" not in done.text
    assert "defect" not in done.text
    assert [line for line in done.text.splitlines() if all(word in line for word in words)]


@pytest.mark.nightly
def test_few_open_files_are_named_with_the_command_that_allows_more(folder: Path) -> None:
    done = pairtile(folder, "run", "config.yaml", before="ulimit -n 32")
    if done.code == 0:
        pytest.skip("32 open files were enough")
    refused(done, "too many open files", "ulimit -n 1024")
    again = pairtile(folder, "run", "config.yaml")
    assert again.code == 0, again.text


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_working_folder_that_may_not_be_written_is_named(folder: Path, command: str) -> None:
    place = shlex.quote(str(folder))
    mount = f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount")
    done = pairtile(folder, command, "config.yaml", before=mount, wrap=("unshare", "--mount"))
    refused(done, str(folder), "may not be written" if command == "run" else "may be written")
    assert not (folder / "results").exists()


@pytest.mark.parametrize("command", ["run", "check"])
def test_results_in_place_of_an_input_are_refused(folder: Path, command: str) -> None:
    path = folder / "config.yaml"
    path.write_text("results: expression.tsv\n" + path.read_text())
    table = (folder / "expression.tsv").read_bytes()
    refused(pairtile(folder, command, "config.yaml"), "results: found 'expression.tsv'")
    assert (folder / "expression.tsv").read_bytes() == table


@pytest.mark.parametrize("command", ["run", "check"])
def test_an_address_of_a_file_is_no_path(folder: Path, command: str) -> None:
    path = folder / "config.yaml"
    path.write_text(path.read_text().replace("expression.tsv", "file:///etc/passwd"))
    refused(pairtile(folder, command, "config.yaml"), "found 'file:///etc/passwd'", "a path")


@pytest.mark.complete
@pytest.mark.parametrize("held", [b"", b"\xff\x00{", b"[1, 2]"])
def test_a_broken_lock_holds_nobody_up(folder: Path, held: bytes) -> None:
    (folder / "results").mkdir()
    (folder / "results/.pairtile.lock").write_bytes(held)
    done = pairtile(folder, "run", "config.yaml", "--", "--cores", "2", "--until", "prepare")
    assert done.code == 0, done.text
