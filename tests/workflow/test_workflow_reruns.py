"""A changed configuration or input runs what depends on it, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import FINISHED, Analysis, finished_run, run, write_config

pytestmark = pytest.mark.workflow

NET = FINISHED["net"]
LAST = {"report"}
JUDGED = {"network", "export"} | LAST
PLANNED = {"plan", "merge"} | JUDGED


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run."""
    folder, first = finished_run(tmp_path_factory)
    assert first.code == 0, first.text
    return folder


def would_run(folder: Path, changes: dict, **top: int) -> set[str]:
    """The rules that a run with changed settings would run, as a dry run says.

    What lies behind the plan is decided when the plan is there: chunks and the null show only if
    they must be computed with the plan as it is.
    """
    write_config(folder, {"net": NET | changes}, name="changed.yaml", results="out", **top)
    done = run(folder, "-n", config="changed.yaml")
    assert done.code == 0, done.text
    return done.rules


def one_of(*changes: dict) -> list[Any]:
    """Parameters named by their key: the first for every change, all for ``make test-complete``."""
    return [
        pytest.param(change, id=next(iter(change)), marks=pytest.mark.complete if number else ())
        for number, change in enumerate(changes)
    ]


def test_nothing_changed_runs_nothing(finished: Path) -> None:
    assert would_run(finished, {}) == set()


def test_dpi_runs_the_network_and_what_follows(finished: Path) -> None:
    assert would_run(finished, {"dpi": {"tolerance": 0.15}}) == JUDGED
    assert would_run(finished, {"dpi": False}) == JUDGED


def test_another_export_is_written_and_the_rest_left(finished: Path) -> None:
    assert would_run(finished, {"export": [*NET["export"], "sif"]}) == {"export"} | LAST


@pytest.mark.parametrize(
    "changes",
    one_of({"keep": {"fdr": 0.01}}, {"score": "clr"}, {"null": {"permutations": 20000}}),
)
def test_what_chunks_depend_on_plans_again_from_the_same_state(
    finished: Path, changes: dict
) -> None:
    assert would_run(finished, changes) == PLANNED


@pytest.mark.complete
def test_another_seed_or_number_of_chunks_plans_again(finished: Path) -> None:
    assert would_run(finished, {}, seed=4) == PLANNED
    assert would_run(finished, {"chunks": 2}) == PLANNED


@pytest.mark.complete
@pytest.mark.parametrize(
    "changes",
    one_of({"preprocess": {"min_samples": 10}}, {"estimator": {"bins": 8}}, {"regulators": None}),
)
def test_what_the_state_depends_on_prepares_again(finished: Path, changes: dict) -> None:
    assert would_run(finished, changes) == {"prepare"} | PLANNED


@pytest.mark.complete
def test_an_input_counts_by_its_content_not_its_time(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    os.utime(folder / "expression.tsv")
    os.utime(folder / "gold_standard.tsv")
    assert would_run(folder, {}) == set()
    with (folder / "gold_standard.tsv").open("a") as file:
        file.write("G01\tG10\n")
    assert would_run(folder, {}) == JUDGED


def replace_by_older(path: Path, old: str, new: str) -> None:
    """Other content of the same size, as ``cp -p`` or an archive brings it."""
    text = path.read_text()
    assert old in text
    assert len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, (978_307_200, 978_307_200))


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("expression.tsv", "\t1", "\t2", {"prepare"} | PLANNED),
        pytest.param("regulators.txt", "G0", "G1", None, marks=pytest.mark.complete),
        pytest.param("gold_standard.tsv", "G01", "G02", JUDGED, marks=pytest.mark.complete),
    ],
)
def test_other_content_of_an_older_time_runs_again(
    finished: Path, tmp_path: Path, file: str, old: str, new: str, expected: set[str] | None
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    replace_by_older(folder / file, old, new)
    before = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*")}
    assert would_run(folder, {}) == (expected or {"prepare"} | PLANNED)
    assert {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*")} == before


@pytest.mark.complete
def test_nor_does_it_need_snakemakes_notes(finished: Path, tmp_path: Path) -> None:
    """As when the results lie in another working folder than that of the run."""
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns(".snakemake"))
    assert would_run(folder, {}) == set()
    replace_by_older(folder / "expression.tsv", "\t1", "\t2")
    assert {"prepare"} | PLANNED <= would_run(folder, {})


@pytest.mark.complete
def test_a_moved_input_runs_nothing_again(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    (folder / "data").mkdir()
    moved = {"expression": "expression.tsv", "gold_standard": "gold_standard.tsv"}
    moved |= {"regulators": "regulators.txt"}
    for key, name in moved.items():
        place = folder / "data" / f"{key}.v2{Path(name).suffix}"
        (folder / name).rename(place)
        os.utime(place)  # copied, not moved
        moved[key] = str(place)
    assert would_run(folder, moved) == set()


@pytest.mark.complete  # the dry runs above say which jobs run
def test_another_input_and_dpi_give_what_a_fresh_run_gives(finished: Path, tmp_path: Path) -> None:
    """The rerun of a changed table is the same, byte for byte, as a run that knew no other."""
    folder, fresh = tmp_path / "copy", tmp_path / "fresh"
    shutil.copytree(finished, folder)
    fresh.mkdir()
    lines = (folder / "expression.tsv").read_text().splitlines()
    lines[5] = "\t".join([lines[5].split("\t")[0], *lines[9].split("\t")[1:]])
    for place in (folder, fresh):
        for name in ("regulators.txt", "gold_standard.tsv"):
            shutil.copy(finished / name, place)
        (place / "expression.tsv").write_text("\n".join(lines) + "\n")
    os.utime(folder / "expression.tsv", (978_307_200, 978_307_200))  # older than the results
    write_config(folder, {"net": NET | {"dpi": {"tolerance": 0.15}}}, results="out")
    again = run(folder)
    assert again.code == 0, again.text
    assert again.rules == {"prepare"} | PLANNED
    expected = Analysis(fresh, NET | {"dpi": {"tolerance": 0.15}}).all()
    for name in ("pairs.parquet", "network.tsv", "null.npz"):
        found = (folder / "out/net" / name).read_bytes()
        assert found == (expected.out / name).read_bytes()
        assert found != (finished / "out/net" / name).read_bytes()
    assert run(folder).done_before
