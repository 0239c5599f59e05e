"""The searched null of predictor sets: compositions, permutations, shifts, p-values."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.methods.predictor_pairs.null import (
    CONSTANT,
    compositions,
    exchanged_courses,
    most_exchanges,
    permutations_for,
    permuted_targets,
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
    null = permuted_targets(TARGETS, 3, 7, sets=10, seed=1)
    table, _ = compositions(TARGETS, 3)
    assert len(null.levels) == 21
    for row, number in zip(null.levels, null.of_class, strict=True):
        found = sorted((np.sum(row == level) for level in range(3)), reverse=True)
        assert [*found, np.sum(row < 0)] == table[number].tolist()
    assert (null.exclude == -1).all()
    assert len(np.unique(null.levels, axis=0)) > 10


def test_draws_depend_on_seed_and_composition_not_on_other_targets() -> None:
    everything = permuted_targets(TARGETS, 3, 5, sets=10, seed=4)
    alone = permuted_targets(TARGETS[2:3], 3, 5, sets=10, seed=4)
    number = everything.target_class[2]
    np.testing.assert_array_equal(alone.levels, everything.levels[everything.of_class == number])
    other = permuted_targets(TARGETS[2:3], 3, 5, sets=10, seed=5)
    assert not np.array_equal(alone.levels, other.levels)


@pytest.mark.parametrize(
    ("classes", "targets", "sets", "expected"),
    [
        (26, 60, 1770, 1000),  # cheap: as many as are ever drawn
        (44, 5188, 13_000_000, 117),  # as dear as the search itself
        (500, 600, 10_000_000, 100),  # the least
        (0, 5, 10, 0),
    ],
)
def test_auto_draws_as_many_as_are_affordable(classes, targets, sets, expected) -> None:
    assert permutations_for(classes, targets, sets) == expected


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
    assert np.bincount(null.of_class).max() == 99
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


def test_series_are_grouped_by_the_course_that_they_follow() -> None:
    random = np.random.default_rng(3)
    series = np.repeat(np.arange(6, dtype=np.int32), 9)
    moments = np.tile(np.arange(9.0), 6)
    own = random.normal(size=(40, 54))
    apart = common_courses(own, series, moments)
    assert not apart.there or apart.within < 0.15
    courses = random.normal(size=(40, 2, 9)).cumsum(axis=2)
    together = common_courses(own + courses[:, [0, 1, 1, 0, 1, 0]].reshape(40, -1), series, moments)
    assert together.there
    assert together.within > 0.4
    assert len(set(together.group[[0, 3, 5]])) == len(set(together.group[[1, 2, 4]])) == 1
    assert together.group[0] != together.group[1]
