"""A change of a key runs the steps again that read it (``UsedBy``), and no step before them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import workflow_runs
from pairtile.config.models import Analysis, UsedBy, marked
from pairtile.config.root import models
from pairtile.steps.analysis_run import AnalysisRun, Step
from small_analyses import ANALYSES

STEPS = {"prepare": "prepare", "network_data": "network_data", "plan": "plan", "null": "score",
         "chunk": "score", "merge": "score", "bootstrap": "network", "network": "network",
         "tables": "tables", "evaluate": "evaluate"}  # fmt: skip
"""Step functions, and what their rules call them in marks."""

EVERY_KEY: dict[str, dict[str, Any]] = {
    "mutual_information": {"gold_standard": "gold_standard.tsv", "bootstraps": 2},
    "multimodal_correlation": {"annotations": "samples.tsv"},
}
"""What makes an analysis read keys that it has no need of otherwise."""

NOT_READ_HERE = {
    "trajectory_correlation": {"suboptimal_paths", "draw_strongest"},
    "predictor_pairs": {"dpi"},
}
"""Of analyses with a structure; of transfer entropy."""


def test_a_step_cannot_read_a_key_that_is_not_marked_with_it() -> None:
    config = models()["mutual_information"].model_validate(
        {"method": "mutual_information", "expression": "e.tsv"}
    )
    assert config.for_step("network").dpi == config.dpi
    prepared = config.for_step("prepare", with_names=True)
    with pytest.raises(RuntimeError, match="dpi"):
        _ = prepared.dpi
    with pytest.raises(RuntimeError, match="dpi"):
        getattr(prepared, "dpi", None)
    assert getattr(config, "no_such_key", 1) == 1


@pytest.mark.complete
@pytest.mark.parametrize("name", [name for name in ANALYSES if "_clr" not in name])
def test_no_step_runs_again_before_the_first_that_reads_a_key(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, set[str]] = defaultdict(set)
    running = ""

    whole = AnalysisRun.run

    def named(self: AnalysisRun, step: Step) -> None:
        nonlocal running
        running = STEPS.get(step.name, "")
        try:
            whole(self, step)
        finally:
            running = ""

    plain = Analysis.__getattribute__

    def noted(config: Analysis, key: str) -> Any:
        if running and key in type(config).model_fields:
            read[running].add(key)
        return plain(config, key)

    monkeypatch.setattr(AnalysisRun, "run", named)
    write, section = ANALYSES[name]
    write(tmp_path)
    lines = ["sample\tdrug", *(f"{s}\t{k % 2}" for k, s in enumerate(_samples(tmp_path)))]
    (tmp_path / "samples.tsv").write_text("\n".join(lines) + "\n")
    analysis = workflow_runs.Analysis(tmp_path, section | EVERY_KEY.get(name, {}))
    monkeypatch.setattr(Analysis, "__getattribute__", noted)
    analysis.pairs().network().tables()
    if "gold_standard" in analysis.files:
        analysis.evaluate()
    elsewhere = NOT_READ_HERE.get(analysis.model.method, set())
    for key, mark in marked(type(analysis.model), UsedBy).items():
        steps = [step for step in dict.fromkeys(STEPS.values()) if step in mark.steps]
        if steps and steps[0] in read and key not in elsewhere:
            assert key in read[steps[0]], (key, steps[0])


def _samples(folder: Path) -> list[str]:
    table = folder / "expression.tsv"
    return table.read_text().partition("\n")[0].split("\t")[1:] if table.exists() else []
