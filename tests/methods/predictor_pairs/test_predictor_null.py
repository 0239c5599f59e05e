"""The searched null of predictor sets: compositions, permutations, shifts, p-values."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.methods.predictor_pairs.null import (
    CONSTANT,
    compositions,
    exchanged_courses,
    most_exchanges,
    permuted_targets,
    pooled_p_values,
    replicate_courses,
    search_p_values,
    shifted_targets,
    targets_within_batches,
)
from pairtile.statistics.courses import common_courses

TARGETS = np.array(
    [
        [0, 0, 1, 1, 1, 0],  # three and three
        [1, 0, 1, 0, 1, 0],  # the same composition
        [1, 1, 1, 1, 0, 0],  # four and two
        [0, 0, 0, 0, 1, 1],  # the same with the levels' names exchanged
        [2, 2, 2, 2, 2, 2],  # constant
        [0, 0, 1, 1, 0, -1],  # three, two, and one missing
    ],
    dtype=np.int8,
)


def test_targets_of_one_composition_share_a_class_whatever_their_levels_are_called() -> None:
    table, of_target = compositions(TARGETS, 3)
    assert of_target[0] == of_target[1]
    assert of_target[2] == of_target[3] != of_target[0]
    assert of_target[4] == CONSTANT
    assert table[of_target[5]].tolist() == [3, 2, 0, 1]
    assert len(table) == 3


def test_permuted_targets_have_the_composition_of_their_class() -> None:
    null = permuted_targets(TARGETS, 3, 7, seed=1)
    table, _ = compositions(TARGETS, 3)
    assert len(null.levels) == 21
    for row, number in zip(null.levels, null.of_class, strict=True):
        found = sorted((np.sum(row == level) for level in range(3)), reverse=True)
        assert [*found, np.sum(row < 0)] == table[number].tolist()
    assert (null.exclude == -1).all()
    assert len(np.unique(null.levels, axis=0)) > 10


def test_draws_depend_on_seed_and_composition_not_on_other_targets() -> None:
    everything = permuted_targets(TARGETS, 3, 5, seed=4)
    alone = permuted_targets(TARGETS[2:3], 3, 5, seed=4)
    number = everything.target_class[2]
    np.testing.assert_array_equal(alone.levels, everything.levels[everything.of_class == number])
    other = permuted_targets(TARGETS[2:3], 3, 5, seed=5)
    assert not np.array_equal(alone.levels, other.levels)


@pytest.mark.parametrize(
    ("targets", "pool"),
    [(1, 1000), (5, 1000), (400, 8000), (4000, 20_000)],  # 20 for each target, within limits
)
def test_auto_draws_in_proportion_to_the_targets_of_a_composition(targets: int, pool: int) -> None:
    table = TARGETS[np.arange(targets) % 3]  # two of three have the same composition
    null = permuted_targets(table, 3, None, seed=1)
    drawn, share = (np.bincount(of) for of in (null.of_class, null.target_class))
    assert drawn.sum() == pytest.approx(pool, abs=1)
    np.testing.assert_allclose(drawn / drawn.sum(), share / share.sum(), atol=0.01)
    assert not len(permuted_targets(TARGETS[4:5], 3, None, seed=1).levels)


def test_shifts_are_all_of_one_series_and_keep_its_order() -> None:
    target = np.array([[0, 0, 1, 2, 1, 0]], dtype=np.int8)
    null = shifted_targets(target, np.zeros(6, dtype=np.int32), None, seed=1)
    expected = {tuple(np.roll(target[0], k)) for k in range(1, 6)}
    assert {tuple(row) for row in null.levels} == expected
    assert null.exclude.tolist() == [0] * 5


def changes(levels: np.ndarray) -> int:
    return int((levels[1:] != levels[:-1]).sum())


def test_shifts_never_cross_a_join_are_distinct_and_change_level_no_more_often() -> None:
    target = np.array([[0, 1, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]], dtype=np.int8)
    series = np.array([0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    null = shifted_targets(target, series, 11, seed=3)
    # 0 1 0 has no other shift with two changes; 0 1 1 1 has one with one change.
    assert null.levels.tolist() == [[0, 1, 0, 1, 1, 1, 0]]
    assert null.target_class.tolist() == [0, CONSTANT]


def test_several_series_stay_as_smooth_as_they_are() -> None:
    random = np.random.default_rng(4)
    targets = np.cumsum(random.random((12, 60)) < 0.2, axis=1).astype(np.int8) % 3
    series = np.repeat([0, 1, 2, 3], [10, 12, 18, 20]).astype(np.int32)
    null = shifted_targets(targets, series, None, seed=5)
    assert np.bincount(null.of_class).max() == 84  # of twelve targets, a thousand in all
    for row, target in zip(null.levels, null.of_class, strict=True):
        for number in range(4):
            found, own = row[series == number], targets[target, series == number]
            assert changes(found) == changes(own)
            assert any(np.array_equal(np.roll(own, k), found) for k in range(own.size))
    for target in np.unique(null.of_class):
        here = null.levels[null.of_class == target]
        assert len(np.unique(here, axis=0)) == len(here)


def test_batches_keep_their_levels() -> None:
    random = np.random.default_rng(5)
    targets = random.integers(-1, 3, (5, 40)).astype(np.int8)
    batch = random.integers(0, 3, 40)
    null = targets_within_batches(targets, batch, 7, seed=1)
    assert np.bincount(null.of_class).tolist() == [7] * 5
    for row, target in zip(null.levels, null.of_class, strict=True):
        for name in range(3):
            here = batch == name
            assert np.array_equal(np.sort(row[here]), np.sort(targets[target, here]))
    assert len(np.unique(null.levels, axis=0)) == 35
    alone = targets_within_batches(targets[:1], batch, 7, seed=1)
    np.testing.assert_array_equal(alone.levels, null.levels[:7])


def test_series_change_places_whole_with_their_like() -> None:
    targets = np.random.default_rng(6).integers(0, 3, (2, 41)).astype(np.int8)
    lengths = [8, 8, 8, 8, 9]
    series = np.repeat(np.arange(5), lengths)
    moments = np.concatenate([np.arange(n, dtype=float) for n in lengths])
    batch = (series == 3).astype(np.int32)
    courses = replicate_courses(series, moments, [batch])
    assert [[series[here[0]] for here in group] for group in courses] == [[0, 1, 2], [3], [4]]
    assert most_exchanges(courses) == 5
    null = exchanged_courses(targets, courses, None, seed=1)
    assert np.bincount(null.of_class).tolist() == [5, 5]
    for row, target in zip(null.levels, null.of_class, strict=True):
        own = [tuple(targets[target, series == k]) for k in range(3)]
        found = [tuple(row[series == k]) for k in range(3)]
        assert sorted(found) == sorted(own)
        assert found != own
        assert np.array_equal(row[series > 2], targets[target, series > 2])
    assert len(np.unique(null.levels, axis=0)) == 10


def test_shifts_and_batches_are_drawn_by_the_seed() -> None:
    targets = np.random.default_rng(2).integers(0, 3, (1, 60)).astype(np.int8)
    one, two = np.zeros(60, dtype=np.int32), np.repeat([0, 1], 30).astype(np.int32)
    for draw in (
        lambda seed: shifted_targets(targets, one, 10, seed),
        lambda seed: shifted_targets(targets, two, 10, seed),
        lambda seed: targets_within_batches(targets, two, 10, seed),
    ):
        first, again, other = draw(1), draw(1), draw(2)
        np.testing.assert_array_equal(first.levels, again.levels)
        assert len(np.unique(np.concatenate([first.levels, other.levels]), axis=0)) > 10


def test_p_values_count_the_draws_that_are_as_good() -> None:
    null_keys = np.array([10, 20, 30, 40, 5, 5])
    null_class = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    keys = np.array([9, 10, 35, 99, 5, 4, 0, 0])
    key_class = np.array([0, 0, 0, 0, 1, 1, CONSTANT, 2], dtype=np.int32)
    p = search_p_values(keys, key_class, null_keys, null_class)
    expected = [1 / 5, 2 / 5, 4 / 5, 5 / 5, 3 / 3, 1 / 3, 1.0, np.nan]
    np.testing.assert_allclose(p, expected)


def test_pooled_p_values_hold_far_beyond_the_draws_of_one_target() -> None:
    random = np.random.default_rng(3)
    # Best scores as they are: least of many, of a location and spread of each target's own.
    place, spread = random.normal(size=400), np.exp(0.3 * random.normal(size=400))
    p = []
    for _ in range(10):
        scores = place - spread * random.gumbel(size=(21, 400))
        of_draw = np.repeat(np.arange(400, dtype=np.int32), 20)
        of_target = np.arange(400, dtype=np.int32)
        p.append(pooled_p_values(scores[20], of_target, scores[:20].T.ravel(), of_draw, of_target))
    for level, most in ((0.05, 0.06), (0.01, 0.014), (0.001, 0.003)):
        assert 0.4 * level <= np.mean(np.array(p) <= level) <= most
    scores[20, 0] = place[0] - 20 * spread[0]  # p of about exp(-20)
    found = pooled_p_values(scores[20], of_target, scores[:20].T.ravel(), of_draw, of_target)
    assert found[0] < 0.05 / 400 < 1 / 21


def test_pooled_p_values_weight_classes_by_their_targets_and_leave_out_what_has_no_draws() -> None:
    # One target against a thousand draws of its own, a thousand against two of theirs.
    target_class = np.r_[0, np.ones(1000), CONSTANT, 2].astype(np.int32)
    null_class = np.r_[np.zeros(1000), 1, 1].astype(np.int32)
    null = np.r_[np.linspace(0.4, 0.6, 1000), 0.2, 0.8]
    asked = np.array([0, 1, CONSTANT, 2], dtype=np.int32)
    p = pooled_p_values(np.array([0.5, 0.5, 0.0, 0.5]), asked, null, null_class, target_class)
    assert p[1] == pytest.approx(0.5, abs=0.01)
    assert p[2] == 1.0
    assert np.isnan(p[3])
    every_alike = pooled_p_values(np.zeros(2), asked[:2], 0 * null, null_class, target_class)
    np.testing.assert_allclose(every_alike, 1.0)


def test_series_are_grouped_by_the_course_that_they_follow() -> None:
    random = np.random.default_rng(3)
    series = np.repeat(np.arange(6, dtype=np.int32), 9)
    moments = np.tile(np.arange(9.0), 6)
    own = random.normal(size=(40, 54))
    apart = common_courses(own, series, moments)
    assert not apart.is_shared or apart.within < 0.15
    courses = random.normal(size=(40, 2, 9)).cumsum(axis=2)
    together = common_courses(own + courses[:, [0, 1, 1, 0, 1, 0]].reshape(40, -1), series, moments)
    assert together.is_shared
    assert together.within > 0.4
    assert len(set(together.group[[0, 3, 5]])) == len(set(together.group[[1, 2, 4]])) == 1
    assert together.group[0] != together.group[1]
