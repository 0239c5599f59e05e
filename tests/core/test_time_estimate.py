"""The time that a run is said to take: a sample of a tile, and what the steps add to it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from pairtile.engine.estimator import Cost
from pairtile.engine.stages import FirstPass
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.engine.time_estimate import (
    BOOTSTRAP_SECONDS,
    in_words,
    is_worth_sampling,
    sampled_speed,
    step_seconds,
)
from pairtile.runtime.record import Progress, Stopwatch

SPACE = PairSpace("triangle", 2000, 2000)


class Pretend:
    """Takes 0.03 s for a tile and scores so many pairs a second; the first has to compile."""

    opened = 0

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.config = self.state = None
        self.parts: list[Tile] = []
        Pretend.opened += 1

    def score_tile(self, tile: Tile, selection: Any) -> None:
        self._take(tile)

    def _take(self, tile: Tile) -> None:
        compiling = 100.0 if Pretend.opened == 1 else 0.0
        CLOCK[0] += compiling + 0.03 + SPACE.pairs_in(tile) / self.rate


class PretendFirst(Pretend, FirstPass[Any]):
    """The same with a first pass, which is what is sampled."""

    @classmethod
    def needs_scan(cls, config: Any) -> bool:
        return True

    def scan_tile(self, tile: Tile) -> Any:
        self._take(tile)

    def score_tile(self, tile: Tile, selection: Any) -> None:
        raise AssertionError("the second pass is not sampled")


CLOCK = np.zeros(1)


@pytest.mark.parametrize("rate", [300.0, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("kind", [Pretend, PretendFirst])
def test_a_sample_finds_the_rate_within_a_second_whatever_compiling_takes(
    rate: float, kind: type[Pretend], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: float(CLOCK[0]))
    CLOCK[0] = Pretend.opened = 0
    tiles = SPACE.tiles()
    cost = Cost(rate / 3, SPACE.pairs_in)
    found = sampled_speed(lambda: kind(rate), tiles, cost)  # type: ignore[arg-type,return-value]
    assert found.of_work == pytest.approx(1.0 / rate, rel=0.02)
    assert found.of_a_tile == pytest.approx(0.03 + 1.0 / rate, rel=1e-3)
    assert CLOCK[0] < 102.0


@pytest.mark.parametrize(
    ("seconds", "edge", "worth"),
    [
        (1.0, 1000, False),  # over before it is estimated
        (60.0, 1000, True),
        (10.0, 12, False),  # the first part would be half of it
        (3600.0, 100, False),
        (3600.0, 300, True),
    ],
)
def test_only_much_work_is_sampled(seconds: float, edge: int, worth: bool) -> None:
    assert is_worth_sampling(seconds, [Tile(0, 0, edge, 0, edge)]) == worth


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
    small = step_seconds(**asked, bootstraps=0, tables=False)
    assert small["chunk"] == 60.0
    assert not {"bootstrap", "tables"} & set(small)
    large = step_seconds(**asked, bootstraps=10, tables=True)
    assert large["bootstrap"] == pytest.approx(10 * (70.0 + BOOTSTRAP_SECONDS))
    assert in_words({"chunk": 60.0, "null": 10.0, "merge": 1.0, "report": 4.0}) == (
        "about 75 s (chunk 60 s, null 10 s, report 4 s)"
    )
