"""Content decides whether an input changed: whatever its time, its path and its size."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pairtile.config.load import load_config
from pairtile.io.input_files import describe_inputs
from pairtile.runtime.files import file_digest, file_format, write_json
from pairtile.runtime.input_changes import YOUNG_SECONDS, file_stamp, input_changed

OLD = 978_307_200
"""The year 2001."""


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Makes the record of a step that read an input, long after it was written."""

    def make(path: Path) -> Path:
        section = {"method": "mutual_information", "expression": str(path)}
        config = load_config({"analyses": {"net": section}}).analyses["net"]
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 2 * YOUNG_SECONDS)
        out = tmp_path / "steps/prepare.json"
        inputs = describe_inputs(config, {"expression": str(path)})
        write_json(out, {"details": {"inputs": inputs}})
        input_changed.cache_clear()
        return out

    return make


@pytest.fixture(params=["file", "folder"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """An input, and the file in which its content is."""
    if request.param == "file":
        (tmp_path / "table.tsv").write_text("gene\ts1\nA\t1\n")
        return tmp_path / "table.tsv", tmp_path / "table.tsv"
    (tmp_path / "cells").mkdir()
    for name in ("matrix.mtx", "genes.tsv", "barcodes.tsv"):
        (tmp_path / "cells" / name).write_text(f"{name} 1\n")
    return tmp_path / "cells", tmp_path / "cells/genes.tsv"


def test_what_did_not_change_is_not_read_again(record, made, monkeypatch):
    path, _ = made
    out = record(path)
    monkeypatch.setattr("pairtile.runtime.input_changes.file_digest", None)
    assert input_changed(out, "expression", str(path)) is False


def test_the_same_content_elsewhere_or_touched_is_the_same(record, made, tmp_path):
    path, part = made
    out = record(path)
    os.utime(part)
    assert input_changed(out, "expression", str(path)) is False
    path.rename(tmp_path / "moved")
    assert input_changed(out, "expression", str(tmp_path / "moved")) is False


@pytest.mark.parametrize("same_time", [False, True], ids=["older", "same time and size"])
def test_other_content_is_seen_whatever_its_time(record, made, same_time):
    path, part = made
    before = part.stat()
    out = record(path)
    part.write_text(part.read_text().replace("1", "2"))
    os.utime(part, (OLD, OLD))
    if same_time:
        os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert part.stat().st_size == before.st_size
    assert input_changed(out, "expression", str(path)) is True


def test_a_young_file_is_read(record, made, monkeypatch):
    path, part = made
    assert file_stamp(path) == ""
    os.utime(part, (OLD, OLD))  # as a copy with its old time: the change itself is young
    assert file_stamp(path) == ""
    out = record(path)
    assert file_stamp(path) != ""
    assert input_changed(out, "expression", str(path)) is False


def test_a_record_that_does_not_say_decides_nothing(record, made, tmp_path):
    path, _ = made
    out = record(path)
    assert input_changed(out, "regulators", str(path)) is None
    assert input_changed(out, "expression", str(tmp_path / "none")) is None
    assert input_changed(tmp_path / "none.json", "expression", str(path)) is None
    write_json(out, {"details": {"inputs": {"expression": {"sha256": file_digest(path)}}}})
    input_changed.cache_clear()
    assert input_changed(out, "expression", str(path)) is False  # of an earlier version


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.tsv", ".tsv"),
        ("x/a.v2.tsv.gz", ".tsv.gz"),
        ("a.v1.tsv", ".tsv"),
        ("folder", ""),
        ("a.h5ad", ".h5ad"),
    ],
)
def test_the_format_is_the_end_of_a_name(path, expected):
    assert file_format(path) == expected
