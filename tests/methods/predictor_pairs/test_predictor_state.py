"""From prepared levels to the state: how triples are searched, what notes and warnings say."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from message_codes import codes
from pairtile.config.load import load_config
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import ConfigError
from pairtile.io.expression import Expression
from pairtile.methods.predictor_pairs import score as predictor_score
from pairtile.methods.predictor_pairs import state as predictor_state
from pairtile.methods.predictor_pairs import tables
from pairtile.methods.predictor_pairs.prepare import (
    prepare_predictor_input,
    prepare_predictors,
)
from pairtile.methods.predictor_pairs.read_input import PredictorInput, Series, count_levels
from pairtile.methods.predictor_pairs.score import PredictorPairs
from pairtile.methods.predictor_pairs.state import kept_levels, search_input
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.network import read_merged
from pairtile.steps.plan import read_plan


def state_of(levels: np.ndarray, series: list[int] | None = None, **changes: Any) -> PreparedInput:
    section = {"method": "predictor_pairs", "levels": "levels", **changes}
    section["series"] = None if series is None else "series"
    complete = load_config({"analyses": {"a": section}}).analyses["a"]
    names = [f"g{k}" for k in range(len(levels))]
    samples = [f"s{k}" for k in range(levels.shape[1])]
    table = Expression(levels.astype(float), names, samples, "levels", [])
    courses = None
    if series is not None:
        numbers, found = pd.factorize(np.array(series))
        courses = Series(numbers.astype(np.int32), [str(name) for name in found])
    prepared = prepare_predictor_input(
        complete, PredictorInput(table, count_levels(table), courses)
    )
    return search_input(complete, prepared, seed=1)


def random_levels(genes: int = 8, samples: int = 40) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 2, (genes, samples))


def slow_levels(genes: int = 8, samples: int = 40) -> np.ndarray:
    """Genes that keep their level for about six samples."""
    changes = np.random.default_rng(3).random((genes, samples)) < 1 / 6
    return np.cumsum(changes, axis=1) % 2


@pytest.mark.parametrize(
    ("asked", "limit", "search", "words"),
    [
        ("auto", 10**9, "exhaustive", "Every one of 448 triples"),
        ("auto", 447, "sffs", "448 triples of predictors times targets are too many to score all"),
        ("exhaustive", 1, "exhaustive", "Every one of 448 triples"),
        ("sffs", 10**9, "sffs", "are not all scored, as asked: triples are grown"),
    ],
)
def test_triples_are_searched_as_asked_or_as_can_be_afforded(
    monkeypatch: pytest.MonkeyPatch, asked: str, limit: int, search: str, words: str
) -> None:
    assert comb(8, 3) * 8 == 448
    monkeypatch.setattr(predictor_state, "EXHAUSTIVE_TRIPLES", limit)
    estimator = {"cardinality": 3, "search": asked}
    found = state_of(random_levels(), estimator=estimator, null={"permutations": 0})
    assert found.parameters["estimator"]["search"] == search
    assert found.state["cardinality"].tolist() == [3 if search == "exhaustive" else 2]
    assert any(words in note for note in found.notes)


@pytest.mark.parametrize(("asked", "refused"), [("auto", True), ("exhaustive", False)])
def test_sets_of_four_that_take_over_a_day_have_to_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: str, refused: bool
) -> None:
    estimator = {"cardinality": 4, "search": asked}
    levels = random_levels()
    section = {"estimator": estimator, "null": {"permutations": 9, "kind": "permutation"}}
    found = state_of(levels, **section)
    assert any(f"Every one of {comb(8, 4) * 8} quadruples" in note for note in found.notes)
    rows = 8 + len(found.state["null_class"])
    assert rows > 8
    section |= {"method": "predictor_pairs", "levels": "levels"}
    config = load_config({"analyses": {"a": section}}).analyses["a"]
    PredictorPairs.validate(config, found.state, found.items)
    monkeypatch.setattr(predictor_score, "MAX_SECONDS", 0.0)
    if not refused:
        PredictorPairs.validate(config, found.state, found.items)
        return
    with pytest.raises(ConfigError, match=f"{comb(8, 4) * rows:,} sets"):
        PredictorPairs.validate(config, found.state, found.items)


PERMUTED = {"kind": "permutation"}


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({}, False),
        ({"null": PERMUTED}, True),
        ({"null": PERMUTED | {"permutations": 9}}, True),
        ({"null": PERMUTED | {"permutations": 0}}, False),
        ({"null": {"kind": "circular_shift"}}, False),
        ({"null": PERMUTED, "lag": 0}, False),
        ({"null": PERMUTED, "lag": 0, "series": [0] * 20 + [1] * 20}, True),
    ],
)
def test_permutation_of_slow_levels_is_warned_of(changes: dict[str, Any], warned: bool) -> None:
    slow, fast = (state_of(make(), **changes).warnings for make in (slow_levels, random_levels))
    assert ("levels_change_slowly" in codes(slow)) is warned
    assert "levels_change_slowly" not in codes(fast)


@pytest.mark.parametrize(("levels", "kind"), [("slow", "circular_shift"), ("fast", "permutation")])
def test_auto_shifts_where_levels_change_slowly(levels: str, kind: str) -> None:
    found = state_of(slow_levels() if levels == "slow" else random_levels())
    assert found.parameters["null"]["kind"] == kind
    assert any(note.startswith(f"Null: {kind} (targets keep") for note in found.notes)


def replicated_levels(number: int, steps: int, stimuli: int = 1) -> tuple[np.ndarray, list[int]]:
    """Genes that respond to each stimulus in a way of their own, alike in its replicates."""
    random = np.random.default_rng(9)
    response = random.normal(size=(30, stimuli, 1, steps)).cumsum(axis=-1)
    response -= response.mean(axis=-1, keepdims=True)
    values = response + random.normal(size=(30, stimuli, number, steps))
    return (values.reshape(30, -1) > 0).astype(np.int8), [
        k for k in range(stimuli * number) for _ in range(steps)
    ]


@pytest.mark.parametrize(
    ("number", "steps", "stimuli", "exchanges"),
    [(5, 8, 1, 34), (4, 8, 1, 23), (3, 8, 1, 5), (3, 10, 2, 34), (2, 20, 1, 0)],
)
def test_replicates_of_a_stimulus_change_places_whole_or_there_are_no_p_values(
    number: int, steps: int, stimuli: int, exchanges: int
) -> None:
    levels, series = replicated_levels(number, steps, stimuli)
    found = state_of(levels, series)
    assert found.parameters["null"]["kind"] == "courses"
    target = found.state["target_class"].max()
    assert (found.state["null_class"] == target).sum() == exchanges
    said = codes(found.warnings)
    assert ("too_few_courses" in said) is (exchanges == 0)
    assert "common_course" not in said
    assert "targets_drift" not in said
    shifted = state_of(levels, series, null={"kind": "circular_shift"})
    assert "common_course" in codes(shifted.warnings)


def test_series_of_their_own_are_no_replicates() -> None:
    series = [k // 10 for k in range(40)]
    found = state_of(slow_levels(30), series)
    assert found.parameters["null"]["kind"] == "circular_shift"
    alone = state_of(random_levels(30), null={"kind": "courses"})
    assert not alone.state["null_class"].size
    assert "too_few_courses" in codes(alone.warnings)


def test_drifts_are_warned_of_under_shifts() -> None:
    random = np.random.default_rng(6)
    drift = random.normal(size=(20, 60)) + np.linspace(-3, 3, 60)
    slow = pd.DataFrame(random.normal(size=(20, 66))).T.rolling(7).mean().to_numpy()[6:].T
    for values, warned in ((drift, True), (slow, False)):
        found = state_of((values > np.median(values, axis=1, keepdims=True)).astype(np.int8))
        assert found.parameters["null"]["kind"] == "circular_shift"
        assert ("targets_drift" in codes(found.warnings)) is warned


def test_drifts_of_targets_that_are_permuted_are_warned_of_too() -> None:
    random = np.random.default_rng(7)
    values = random.normal(size=(30, 60)) + np.linspace(-1, 1, 60) * random.choice([-1, 1], (30, 1))
    found = state_of((values > 0).astype(np.int8))
    assert found.parameters["null"]["kind"] == "permutation"
    assert "targets_drift" in codes(found.warnings)


def test_batches_are_permuted_within_where_they_are_stated(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    batch = random.permutation(np.repeat(["x", "y"], 20))
    values = random.normal(size=(30, 40)) + 3 * (batch == "x") * random.choice([-1, 1], (30, 1))
    names = [f"s{k}" for k in range(40)]
    pd.DataFrame({"sample": names, "plate": batch}).to_csv(
        tmp_path / "s.tsv", sep="\t", index=False
    )
    genes = pd.Index([f"g{k}" for k in range(30)], name="gene")
    pd.DataFrame(values, genes, names).to_csv(tmp_path / "e.tsv", sep="\t")
    shares = []
    for stated in ({}, {"annotations": str(tmp_path / "s.tsv"), "batch": "plate"}):
        section = {"method": "predictor_pairs", "expression": str(tmp_path / "e.tsv"), "lag": 0}
        section |= {"samples": stated, "quantize": {"levels": 2}}
        section["estimator"] = {"cardinality": 1}
        config = load_config({"analyses": {"a": section}}).analyses["a"]
        ready = search_input(config, prepare_predictors(config), seed=1)
        assert ready.parameters["null"]["kind"] == ("blocks" if stated else "permutation")
        assert any("split the samples" in text for text in ready.warnings) is not bool(stated)
        run = AnalysisRun("a", config, tmp_path / str(len(shares)), 1, "cpu")
        merged = read_merged(run.run_steps(last="merge"))
        opened = read_plan(run.plan).open_estimator(config, run.state)
        sets = tables.tested_sets(opened, merged)
        shares.append((sets.drop_duplicates("target")["p_value"] <= 0.05).mean())
    assert shares[0] > 0.5
    assert shares[1] < 0.2


def test_kept_levels_are_counted_within_series_where_both_samples_are_there() -> None:
    targets = np.array(
        [
            [0, 0, 1, 1, 0, 0],  # keeps 0-0 and 1-1 and 0-0, of the steps within a series
            [0, 1, 0, -1, 1, 1],  # 0-1 no, 0-? left out, 1-1 yes
            [1, 1, 1, 1, 1, 1],  # constant: not counted
        ],
        dtype=np.int8,
    )
    series = np.array([0, 0, 1, 1, 2, 2])
    kept, chance = kept_levels(targets, series, 2)
    assert kept == pytest.approx((1.0 + 0.5) / 2)
    assert chance == pytest.approx(((4 / 6) ** 2 + (2 / 6) ** 2 + (2 / 5) ** 2 + (3 / 5) ** 2) / 2)
    assert kept_levels(targets[2:], series, 2) == (0.0, 0.0)


def test_notes_say_how_small_a_p_value_can_get() -> None:
    permuted = state_of(random_levels(), null={"permutations": 49}).notes
    assert any(note.startswith("49 permutations for each of ") for note in permuted)
    assert any("no p-value is below 0.02." in note for note in permuted)
    shifted = state_of(
        random_levels(), [k // 10 for k in range(40)], null={"kind": "circular_shift"}
    )
    assert "draws_pooled" in codes(shifted.messages)
    assert shifted.counts["null_draws"] == 1000
