"""Files are whole, on the disk, and as readable as others; digests tell contents apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pairtile.runtime.files import atomic_path, file_digest, write_json


def test_content_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut leaves an empty file under the name of a whole one."""
    done: list[tuple[str, Any]] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        done.append(("fsync", os.fstat(handle).st_ino))
        fsync(handle)

    def noted_replace(source: Path, target: Path) -> None:
        done.append(("replace", os.stat(source).st_ino))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with atomic_path(tmp_path / "a.txt") as temporary:
        temporary.write_text("whole")
    inode = (tmp_path / "a.txt").stat().st_ino
    assert done == [("fsync", inode), ("replace", inode)]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"is": "old"})
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"is": float("nan")})
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.json") as temporary:
        temporary.rename(tmp_path / "elsewhere").unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert "old" in (tmp_path / "a.json").read_text()


def test_results_are_as_readable_as_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", {})
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640


def test_the_digest_of_a_folder_is_of_names_and_contents(tmp_path: Path) -> None:
    digests = set()
    for number, (name, text) in enumerate((("a", "x"), ("b", "x"), ("a", "y"), ("in/a", "x"))):
        path = tmp_path / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        digests.add(file_digest(tmp_path / str(number)))
    assert len(digests) == 4
