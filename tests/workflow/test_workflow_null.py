"""The null is a step of its own only for methods that compute one before the tiles."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pairtile.engine.estimator import estimator_of
from pairtile.engine.stages import NullStage
from pairtile.method import methods
from small_analyses import ANALYSES
from workflow_runs import run, write_config

WITH, WITHOUT = "mutual_information", "predictor_pairs"


@pytest.mark.parametrize("method", methods())
def test_only_mutual_information_computes_a_null_before_the_tiles(method: str) -> None:
    assert issubclass(estimator_of(method), NullStage) == (method == WITH)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an analysis with a null and one without, both planned."""
    folder = tmp_path_factory.mktemp("null")
    for name in (WITH, WITHOUT):
        ANALYSES[name][0](folder)
    write_config(folder, {name: ANALYSES[name][1] for name in (WITH, WITHOUT)})
    done = run(folder, *(f"results/{name}/plan.json" for name in (WITH, WITHOUT)))
    assert done.code == 0, done.text
    return folder


@pytest.mark.complete
@pytest.mark.workflow
def test_a_run_would_make_a_null_only_where_the_method_has_one(planned: Path) -> None:
    for name in (WITH, WITHOUT):
        would = run(planned, f"results/{name}/report.html", "-n").rules
        assert {"chunk", "merge", "report"} <= would
        assert ("null" in would) == (name == WITH)


@pytest.mark.nightly  # the dry run above says so
@pytest.mark.workflow
def test_a_run_without_a_null_makes_no_file_of_it_and_a_second_does_nothing(
    planned: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(planned, tmp_path / "run")
    out = folder / "results" / WITHOUT
    targets = [f"results/{WITHOUT}/{name}" for name in ("summary.json", "network.tsv")]
    done = run(folder, *targets)
    assert done.code == 0, done.text
    assert "null" not in done.rules
    files = ("null.npz", "steps/null.json", "logs/null.log")
    assert [name for name in files if (out / name).exists()] == []
    assert "null" not in json.loads((out / "summary.json").read_text())["steps"]
    assert run(folder, *targets).done_before
