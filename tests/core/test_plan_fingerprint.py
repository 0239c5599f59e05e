"""Chunk files carry a fingerprint of all that their values depend on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.engine.state import open_state, write_state
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.plan import plan, read_plan
from small_analyses import ANALYSES
from workflow_runs import Analysis


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("plan")
    make, section = ANALYSES["predictor_pairs"]
    make(folder)
    return Analysis(folder, section).prepare()


def fingerprint(
    of: Analysis, out: Path, *, state: Path | None = None, seed: int = 3, **estimator: Any
) -> str:
    settings = of.model.estimator.model_copy(update=estimator)
    config = of.model.model_copy(update={"estimator": settings})
    shutil.copytree(state or of.out / "state", out / "state", dirs_exist_ok=True)
    shutil.copy(of.out / "items.parquet", out)
    plan(AnalysisRun("net", config, out, seed, "cpu"))
    return read_plan(out / "plan.json").fingerprint


def test_a_fingerprint_is_of_state_seed_and_settings(prepared: Analysis, tmp_path: Path) -> None:
    arrays = {name: np.array(array) for name, array in open_state(prepared.out / "state").items()}
    arrays["levels"][3, 5] = 1 - arrays["levels"][3, 5]
    write_state(tmp_path / "other/state", arrays)
    found = [
        fingerprint(prepared, tmp_path),
        fingerprint(prepared, tmp_path, state=tmp_path / "other/state"),
        fingerprint(prepared, tmp_path, seed=4),
        fingerprint(prepared, tmp_path, penalty="none"),
    ]
    assert len(set(found)) == 4
    assert fingerprint(prepared, tmp_path) == found[0] == prepared.plan.fingerprint


def test_chunks_of_one_stage_are_not_those_of_another(prepared: Analysis) -> None:
    of_stages = {prepared.plan.stage_fingerprint(stage) for stage in ("scan", "chunks")}
    assert len(of_stages | {prepared.plan.fingerprint}) == 3
