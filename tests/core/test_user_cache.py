"""Without a home folder that can be written, a private folder takes its place; code is loaded from
no folder that others can write to."""

from __future__ import annotations

import getpass
import grp
import os
import pwd
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairtile.cpu import first_run
from pairtile.gpu.compiling import secure_cache
from pairtile.runtime.user_cache import _warn, do_without_a_home, is_trusted, user_cache
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
    cached = user_cache, _warn, first_run.folder_of
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user gets to, unlike pytest's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def opened(folder: Path, mode: int = 0o777) -> Path:
    folder.mkdir()
    folder.chmod(mode)
    return folder


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


@pytest.mark.parametrize(
    ("modes", "trusted"),
    [
        ([0o755], True),
        ([0o777], False),
        ([0o1777], False),  # files of others lie in it
        ([0o777, 0o755], False),  # another folder can take its place
        ([0o1777, 0o755], True),  # as in /tmp: it cannot
        ([0o1777, 0o777], False),
        ([0o700, 0o777], True),  # nobody gets there
    ],
    ids=str,
)
def test_code_is_trusted_where_nobody_else_writes(
    shared: Path, modes: list[int], trusted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    folder = shared
    for level, mode in enumerate(modes):
        folder = opened(folder / str(level), mode)
    assert is_trusted(folder) is trusted
    assert bool(caplog.records) is not trusted


def test_a_link_is_as_safe_as_what_it_leads_to(shared: Path) -> None:
    opened(shared / "open")
    opened(shared / "closed", 0o755)
    for name in ("open", "closed"):
        (shared / f"to {name}").symlink_to(shared / name)
        assert is_trusted(shared / f"to {name}") is (name == "closed")


def test_a_group_of_one_s_own_may_write(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(shared / "x", 0o775)
    os.chown(shared / "x", -1, os.getgid())
    me = pwd.struct_passwd(("me", "", os.getuid(), os.getgid(), "", "", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: me)
    for name, members, trusted in (("me", [], True), ("me", ["you"], False), ("lab", [], False)):
        named = grp.struct_group((name, "", 1, members))
        monkeypatch.setattr(grp, "getgrgid", lambda number, named=named: named)
        assert is_trusted(shared / "x") is (trusted or os.getgid() == 0)


def test_what_another_user_left_in_a_folder_is_not_loaded(shared: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    (shared / "content").mkdir()
    (shared / "content/kernel.nbi").touch()
    assert is_trusted(shared, with_content=True)
    os.chown(shared / "content/kernel.nbi", 65534, -1)
    assert not is_trusted(shared, with_content=True)


def test_numba_looks_nowhere_where_others_write(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(opened(shared / "cache")))
    open_folder, own = str(opened(shared / "given")), str(opened(shared / "own", 0o755))
    assert first_run.folder_of(own, "content") == shared / "own/content"
    assert not caplog.records
    assert first_run.folder_of(open_folder, "content") == private(tmp_path) / "pairtile/content"
    said = {record.getMessage().split(":")[0] for record in caplog.records}
    assert said == {f"others can write to {shared / name}" for name in ("given", "cache")}


def test_cupy_looks_nowhere_where_others_write(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(opened(shared / "cache")))
    monkeypatch.setenv("CUPY_CACHE_DIR", str(opened(shared / "own", 0o755)))
    assert secure_cache() == shared / "own"
    monkeypatch.setenv("CUPY_CACHE_DIR", str(opened(shared / "open")))
    assert secure_cache() == private(tmp_path) / "cupy"
    assert os.environ["CUPY_CACHE_DIR"] == str(secure_cache())


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
