"""The time that a run is said to take, and what compiling has to do with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pairtile.config.load import load_config
from pairtile.config.modules import GeneModulesConfig
from pairtile.downstream.modules import seconds
from pairtile.engine.time_estimate import BOOTSTRAP_SECONDS, format_steps, step_seconds
from pairtile.runtime.files import read_json
from pairtile.runtime.progress import planned_jobs
from pairtile.runtime.record import Progress, Stopwatch
from pairtile.steps.analysis_run import AnalysisRun, Step
from workflow_runs import write_config, write_data


def test_a_stopwatch_counts_nested_starts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    watch = Stopwatch()
    watch.start()
    now = 3.0
    watch.start()
    now = 4.0
    watch.stop()
    assert watch.seconds() == 4.0
    now = 5.0
    watch.stop()
    now = 9.0
    assert watch.seconds() == 5.0


def test_compiling_is_no_part_of_the_rate_of_what_is_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    watch = Stopwatch()
    monkeypatch.setattr("pairtile.runtime.record.COMPILING", watch)
    caplog.set_level("INFO", "pairtile")
    progress = Progress(1e6, "draws")
    watch.start()
    now = 50.0
    watch.stop()
    now = 52.0
    progress.advance(1e5)
    assert caplog.messages == ["10.0% of 1e+06 draws done, 5e+04 a second, about 18 s left"]


def test_every_step_has_its_part_and_what_is_not_there_none() -> None:
    asked: dict[str, Any] = {"tiles": 30.0, "passes": 2, "null": 10.0, "network": 0.0}
    small = step_seconds(**asked, bootstraps=0, tables=False, others={})
    assert small["chunk"] == 60.0
    assert not {"bootstrap", "tables"} & set(small)
    large = step_seconds(**asked, bootstraps=10, tables=True, others={"modules": 50.0})
    assert large["modules"] == 50.0
    assert large["bootstrap"] == pytest.approx(10 * (70.0 + BOOTSTRAP_SECONDS))
    assert format_steps({"chunk": 60.0, "null": 10.0, "merge": 1.0, "report": 4.0}) == (
        "about 75 s (chunk 60 s, null 10 s, report 4 s)"
    )


def test_stages_after_the_network_are_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were none of it: a run of 20 minutes was said to take 10 seconds."""
    monkeypatch.chdir(tmp_path)
    samples = write_data(tmp_path, genes=40, samples=40).samples
    lines = ["sample\tgroup", *(f"{name}\t{'ab'[k % 2]}" for k, name in enumerate(samples))]
    (tmp_path / "samples.tsv").write_text("\n".join(lines) + "\n")
    asked = {
        "modules": {"method": "wgcna"},
        "samples": {"annotations": "samples.tsv"},
        "differential": {"label": "group"},
    }
    found, seconds_of = {}, {}
    for name, section in (("plain", {}), ("stages", asked)):
        config = load_config(write_config(tmp_path, {name: section}))
        run = AnalysisRun(name, config.analyses[name], tmp_path / "results" / name, backend="cpu")
        for step in ("prepare", "plan"):
            run.run(Step(step))
        found[name] = planned_jobs(tmp_path / "results", name)
        seconds_of[name] = read_json(run.record("plan"))["details"]["estimated_seconds"]
    assert found["stages"].keys() == found["plain"].keys()  # one job does all of them
    more = ["network", "tables", "values", "modules", "differential"]
    assert found["stages"]["network"][1] == sum(seconds_of["stages"].get(k, 0.0) for k in more)
    assert min(seconds_of["stages"][k] for k in more[2:]) > 0
    modules, more, noise = (
        config.analyses["stages"].model_copy(update={"modules": GeneModulesConfig(**each)})
        for each in (
            {"method": "wgcna", "max_p": None},
            {"method": "wgcna"},
            {"method": "leiden"},
        )
    )
    assert seconds(modules, 12_000, 2) > 5 * seconds(modules, 4_000, 2)
    assert seconds(more, 12_000, 2) > 2 * seconds(modules, 12_000, 2)
    assert seconds(more, 12_000, 2) > seconds(noise, 12_000, 2) > 0.0
