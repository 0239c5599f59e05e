"""Entropies and scores of given predictor sets, and the floating search, against definitions."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from naive_predictors import (
    entropy_bits,
    naive_counts,
    naive_floating_search,
    naive_mce,
    rows_of,
    score,
)
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs.search import (
    PredictorSearch,
    SearchSettings,
    extend_sets,
    set_entropies,
)

SAMPLES = st.sampled_from([1, 3, 20, 33, 64, 100, 150])


def random_levels(random: Any, rows: int, samples: int, levels: int, missing: float) -> Any:
    table = random.integers(0, levels, (rows, samples)).astype(np.int8)
    table[random.random(rows) < 0.15] = 1
    table[random.random(table.shape) < missing] = -1
    return table


@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.integers(2, 4),
    cardinality=st.integers(1, 4),
    samples=SAMPLES,
    missing=st.sampled_from([0.0, 0.05, 0.5]),
)
@hypothesis_settings(max_examples=80, deadline=None)
def test_set_entropies_are_those_of_the_definition(
    seed: int, levels: int, cardinality: int, samples: int, missing: float
) -> None:
    """All of one set on the samples that the whole set has, subsets included."""
    random = np.random.default_rng(seed)
    predictors = random_levels(random, 6, samples, levels, missing)
    targets = random_levels(random, 3, samples, levels, missing)
    sets = np.array(list(combinations(range(6), cardinality)), dtype=np.int32)
    rows = random.integers(0, 3, len(sets)).astype(np.int32)
    of_target, of_set, of_subset, n_samples = set_entropies(predictors, targets, rows, sets)
    for i, chosen in enumerate(sets):
        y, x = targets[rows[i]], predictors[chosen]
        used = (y >= 0) & (x >= 0).all(axis=0)
        assert n_samples[i] == used.sum()
        if not used.any():
            assert of_target[i] == of_set[i] == of_subset[i].max() == 0.0
            continue
        x, y = x[:, used], y[used]
        alone = entropy_bits(np.bincount(y).tolist())

        def given_levels(x: Any, y: Any = y, alone: float = alone) -> float:
            return naive_mce(x, y, 4, "none", 0.0, 1.0)[0] if len(x) else alone

        np.testing.assert_allclose(of_target[i], alone, rtol=0, atol=1e-12)
        np.testing.assert_allclose(of_set[i], given_levels(x), rtol=0, atol=1e-12)
        subsets = [given_levels(np.delete(x, left_out, axis=0)) for left_out in range(cardinality)]
        np.testing.assert_allclose(of_subset[i], subsets, rtol=0, atol=1e-12)
        assert of_set[i] <= of_subset[i].min() + 1e-12


@pytest.mark.parametrize("name", ["bool60__lag_q2_no_obs_a1", "bool60noisy__lag_q2_none"])
def test_imp_scores_agree_with_golden_results(name: str, shared: Path) -> None:
    folder = shared / "golden" / "predictor_pairs"
    lines = (folder / f"{name.split('__')[0]}.data.tsv").read_text().splitlines()
    levels = np.array([line.split("\t")[1:] for line in lines], dtype=np.int8)
    golden = np.genfromtxt(folder / f"{name}.tsv", names=True)
    pairs = np.stack([golden["x1"], golden["x2"]], axis=1).astype(np.int32)
    of_target, of_set, of_subset, _ = set_entropies(
        levels[:, :-1], levels[:, 1:], np.arange(len(levels)), pairs
    )
    np.testing.assert_allclose(of_target, golden["H_target"], rtol=0, atol=1e-9)
    imp_bits = of_subset.min(axis=1) - of_set
    np.testing.assert_allclose(imp_bits, golden["imp_bits"], rtol=0, atol=1e-9)


@st.composite
def floating_searches(draw: Any) -> Any:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.integers(2, 3))
    samples = draw(SAMPLES)
    missing = draw(st.sampled_from([0.0, 0.0, 0.2]))
    n_predictors = draw(st.integers(2, 8))
    predictors = random_levels(random, n_predictors, samples, levels, missing)
    targets = random_levels(random, 2, samples, levels, missing)
    exclude = random.integers(-1, n_predictors, 2)
    pairs = np.array(list(combinations(range(n_predictors), 2)))
    pairs = np.tile(random.permutation(pairs), (2, 1))
    target_of = np.repeat([0, 1], len(pairs) // 2)
    kept = random.random(len(pairs)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    settings = SearchSettings(
        levels=levels,
        cardinality=3,
        penalty=draw(st.sampled_from(["none", "no_obs", "poor_obs"])),
        top=draw(st.sampled_from([1, 4, 1000])),
        min_samples=draw(st.sampled_from([1, 15])),
    )
    return predictors, targets, exclude, target_of[kept], pairs[kept], settings


@given(search=floating_searches())
@hypothesis_settings(max_examples=80, deadline=None)
def test_extend_sets_is_what_its_description_gives(search: Any) -> None:
    predictors, targets, exclude, target_of, pairs, settings = search
    found = extend_sets(
        PredictorSearch(predictors, settings, choose("cpu")), targets, exclude, target_of, pairs
    )
    assert rows_of(found) == naive_floating_search(
        predictors, targets, exclude, target_of, pairs, settings
    )


@pytest.mark.parametrize("penalty", ["none", "no_obs"])
def test_extending_every_pair_is_the_exhaustive_search(penalty: str) -> None:
    random = np.random.default_rng(2)
    predictors = random_levels(random, 9, 30, 3, 0.0)
    targets = random_levels(random, 4, 30, 3, 0.0)
    exclude = np.array([-1, 3, 0, 8])
    settings = SearchSettings(levels=3, cardinality=3, penalty=penalty, top=12)
    search = PredictorSearch(predictors, settings, choose("cpu"))
    pairs = np.array(list(combinations(range(9), 2)))
    found = extend_sets(
        search, targets, exclude, np.repeat(np.arange(4), len(pairs)), np.tile(pairs, (4, 1))
    )
    assert rows_of(found) == rows_of(search.best(targets, exclude, 0, 9))


def test_naive_counts_and_scores_of_a_case_worked_by_hand() -> None:
    x, y = [[0, 0, 1, 1, -1, 1]], [0, 1, 1, 1, 0, -1]
    assert naive_counts(x, y, 2) == {(0,): [1, 1], (1,): [0, 2]}
    settings = SearchSettings(levels=2, cardinality=1, penalty="none")
    assert score(np.array(x), (0,), np.array(y), settings) == (0.5, 4)
    search = PredictorSearch(np.array(x), settings, choose("cpu"))
    assert search.best(np.array([y]), np.array([-1]), 0, 1).mce_bits.tolist() == [0.5]
