"""The time that a run is said to take, and what compiling has to do with it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pairtile.engine.time_estimate import BOOTSTRAP_SECONDS, in_words, step_seconds
from pairtile.runtime.record import Progress, Stopwatch


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
    assert in_words({"chunk": 60.0, "null": 10.0, "merge": 1.0, "report": 4.0}) == (
        "about 75 s (chunk 60 s, null 10 s, report 4 s)"
    )
