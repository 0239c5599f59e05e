"""Without a home folder that can be written, a private folder takes its place."""

from __future__ import annotations

import getpass
import os
import pwd
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairtile.runtime.user_cache import do_without_a_home, user_cache
from workflow_runs import ROOT

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")
CACHES = ("XDG_CACHE_HOME", "CUPY_CACHE_DIR", "MPLCONFIGDIR")


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of a container that runs as a bare user number; its own /tmp."""
    for variable in ("HOME", *NAMES, *CACHES):
        monkeypatch.setenv(variable, "")  # put back as it was
        monkeypatch.delenv(variable)

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    user_cache.cache_clear()
    yield
    user_cache.cache_clear()


def private(tmp_path: Path) -> Path:
    return tmp_path / "tmp" / f"pairtile-{os.getuid()}"


@pytest.mark.parametrize("home", [None, "/proc/none"], ids=["none", "not to be written"])
def test_a_private_folder_takes_its_place(tmp_path: Path, monkeypatch, home: str | None) -> None:
    if home:
        monkeypatch.setenv("HOME", home)
    do_without_a_home()
    assert user_cache() == private(tmp_path)
    assert stat.S_IMODE(user_cache().stat().st_mode) == 0o700
    assert all(os.environ[variable].startswith(str(user_cache())) for variable in CACHES)
    assert getpass.getuser() == str(os.getuid())
    assert list(Path().glob("~*")) == []


def test_a_home_that_can_be_written_is_used(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    do_without_a_home()
    assert user_cache() == tmp_path / ".cache"
    assert not any(variable in os.environ for variable in CACHES)


def test_what_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    private(tmp_path).mkdir()
    private(tmp_path).chmod(0o777)
    assert user_cache() != private(tmp_path)
    user_cache.cache_clear()
    private(tmp_path).rmdir()
    private(tmp_path).symlink_to(tmp_path)
    assert user_cache() != private(tmp_path)
    assert user_cache().parent == tmp_path / "tmp"


def test_kernels_are_compiled_without_a_home(tmp_path: Path) -> None:
    code = (
        "from unittest import mock; import os\n"
        "with mock.patch('os.access', lambda path, mode: False):\n"
        "    from pairtile.cpu.njit import njit\n"
        "    print(njit()(abs_of)._cache.cache_path)\n"
    )
    script = tmp_path / "script.py"
    script.write_text("def abs_of(x): return abs(x)\n" + code)
    done = subprocess.run(
        [sys.executable, script],
        env={"PYTHONPATH": str(ROOT / "workflow"), "HOME": "/proc/none", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / f"pairtile-{os.getuid()}"))
