"""The exhaustive search for predictor sets against the definition and against itself."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from backends import both_backends
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from naive_predictors import canonical_mce, dense_search, naive_mce, naive_search, rows_of
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs import search as predictor_search
from pairtile.methods.predictor_pairs.best_sets import ANY_KEY, join_best
from pairtile.methods.predictor_pairs.search import (
    BestSets,
    PredictorSearch,
    SearchSettings,
    reduce_best,
)


def random_levels(random: Any, rows: int, samples: int, levels: int, kind: str) -> Any:
    """Tables with what real ones hold: repeated and constant rows, rare levels, gaps."""
    table = random.integers(0, levels, (rows, samples))
    if kind == "skewed":
        table *= random.random(table.shape) < 0.3
    if kind == "repeated":
        table = table[random.integers(0, max(1, rows // 3), rows)]
        table[random.random(rows) < 0.3] = random.integers(0, levels)
    if kind in ("few missing", "many missing"):
        table[random.random(table.shape) < (0.04 if kind == "few missing" else 0.4)] = -1
    return table.astype(np.int8)


@st.composite
def searches(draw: Any) -> Any:
    """Small searches: tables, exclusions, settings."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.integers(2, 4))
    # Not 256 cells, which take a GPU's compiler 10 s for each setting.
    cardinality = draw(st.integers(1, 4 if levels < 4 else 3))
    samples = draw(st.sampled_from([1, 2, 5, 20, 31, 32, 33, 64, 65, 100, 129, 200]))
    n_predictors = draw(st.integers(1, 9 - cardinality))
    kinds = st.sampled_from(["plain", "skewed", "repeated", "few missing", "many missing"])
    predictors = random_levels(random, n_predictors, samples, levels, draw(kinds))
    targets = random_levels(random, draw(st.integers(1, 4)), samples, levels, draw(kinds))
    if draw(st.booleans()):
        targets[0] = predictors[-1]
    exclude = random.integers(-1, n_predictors, len(targets)).astype(np.int32)
    settings = SearchSettings(
        levels=levels,
        cardinality=cardinality,
        penalty=draw(st.sampled_from(["none", "no_obs", "poor_obs"])),
        alpha=draw(st.sampled_from([0.0, 0.3, 1.0, 25.0])),
        beta=draw(st.sampled_from([0.25, 0.8, 1.0])),
        top=draw(st.sampled_from([1, 2, 3, 10, 1000])),
        min_samples=draw(st.sampled_from([1, 1, 4, 30])),
    )
    return predictors, targets, exclude, settings


@both_backends
@given(search=searches(), cuts=st.tuples(st.integers(0, 9), st.integers(0, 9)))
@hypothesis_settings(max_examples=150, deadline=None)
def test_best_is_what_the_definition_gives(backend: str, search: Any, cuts: Any) -> None:
    predictors, targets, exclude, settings = search
    begin, end = sorted(min(cut, len(predictors)) for cut in cuts)
    if begin == end:
        begin, end = 0, len(predictors)
    best = PredictorSearch(predictors, settings, choose(backend)).best(targets, exclude, begin, end)
    assert rows_of(best) == naive_search(predictors, targets, exclude, settings, begin, end)
    dtypes = [column.dtype for column in vars(best).values()]
    assert dtypes == [np.int32, np.int32, np.int64, np.float64, np.int64]


@given(search=searches())
@hypothesis_settings(max_examples=60, deadline=None)
def test_canonical_order_of_operations_gives_the_definition(search: Any) -> None:
    predictors, targets, _, settings = search
    arguments = (settings.levels, settings.penalty, settings.alpha, settings.beta)
    for chosen in combinations(range(len(predictors)), settings.cardinality):
        for y in targets:
            exact, n = canonical_mce(predictors[list(chosen)], y, *arguments)
            plain, n_plain = naive_mce(predictors[list(chosen)], y, *arguments)
            assert n == n_plain
            np.testing.assert_allclose(exact, plain, rtol=0, atol=1e-12)


def assert_is_best(best: BestSets, dense: Any, n_targets: int, top: int) -> None:
    pairs, keys, scores = dense
    for target in range(n_targets):
        rows = np.flatnonzero(best.target == target)
        allowed = np.flatnonzero(keys[:, target] >= 0)
        order = allowed[np.argsort(keys[allowed, target], kind="stable")][:top]
        np.testing.assert_array_equal(best.predictors[rows], pairs[order])
        np.testing.assert_array_equal(best.key[rows], keys[order, target])
        np.testing.assert_array_equal(best.mce_bits[rows], scores[order, target])
        is_first = np.diff(best.key[rows], prepend=-1) > 0
        counts = [np.count_nonzero(keys[allowed, target] == key) for key in best.key[rows]]
        np.testing.assert_array_equal(best.n_ties[rows], np.where(is_first, counts, 0))


@both_backends
@pytest.mark.parametrize("penalty", ["none", "no_obs", "poor_obs"])
@pytest.mark.parametrize(
    ("levels", "samples", "top"),
    [
        (2, 20, 10),
        (2, 50, 40),
        (2, 130, 10),
        pytest.param(2, 2000, 5, marks=pytest.mark.complete),
        (3, 20, 40),
        (3, 50, 10),
        (3, 300, 5),
        (4, 50, 10),
    ],
)
def test_best_agrees_with_a_dense_reference_for_many_targets(
    backend: str, levels: int, samples: int, top: int, penalty: str
) -> None:
    """More targets than a chunk has, some rare, some constant, some equal to a predictor."""
    random = np.random.default_rng([levels, samples])
    predictors = random_levels(random, 40, samples, levels, "plain")
    predictors[:8] = random_levels(random, 8, samples, levels, "skewed")
    targets = random_levels(random, 300, samples, levels, "plain")
    targets[100:150] = random_levels(random, 50, samples, levels, "skewed")
    targets[150:160] *= random.random((10, samples)) < 2 / samples
    targets[160] = 1
    targets[170:190] = (predictors[:20] + predictors[20:]) % levels
    targets[200:240] = predictors
    exclude = np.full(300, -1, dtype=np.int32)
    exclude[200:240] = np.arange(40)
    settings = SearchSettings(levels=levels, penalty=penalty, top=top)
    best = PredictorSearch(predictors, settings, choose(backend)).best(targets, exclude, 0, 40)
    assert_is_best(best, dense_search(predictors, targets, exclude, settings), 300, top)


@both_backends
@given(search=searches(), n_parts=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
@hypothesis_settings(max_examples=60, deadline=None)
def test_tiles_reduce_to_the_whole_for_any_division(
    backend: str, search: Any, n_parts: int, seed: int
) -> None:
    predictors, targets, exclude, settings = search
    random = np.random.default_rng(seed)
    search = PredictorSearch(predictors, settings, choose(backend))
    whole = search.best(targets, exclude, 0, len(predictors))
    edges = np.sort(random.integers(0, len(predictors) + 1, n_parts - 1))
    edges = np.concatenate([[0], edges, [len(predictors)]])
    tiles = [search.best(targets, exclude, begin, end) for begin, end in pairwise(edges)]
    random.shuffle(tiles)
    assert rows_of(join_best(tiles, settings.top)) == rows_of(whole)
    shuffled = random.permutation(sum(len(tile) for tile in tiles))
    columns = [
        np.concatenate([getattr(tile, name) for tile in tiles])[shuffled]
        for name in ("target", "predictors", "key", "mce_bits", "n_ties")
    ]
    assert rows_of(reduce_best(BestSets(*columns), settings.top)) == rows_of(whole)


@both_backends
@given(search=searches(), seed=st.integers(0, 2**32 - 1))
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_cut_leaves_out_only_what_is_above_it(backend: str, search: Any, seed: int) -> None:
    """Cuts at keys that occur, one below them and one above."""
    predictors, targets, exclude, settings = search
    search = PredictorSearch(predictors, settings, choose(backend))
    whole = search.best(targets, exclude, 0, len(predictors))
    random = np.random.default_rng(seed)
    max_key = np.full(len(targets), ANY_KEY)
    for target in np.unique(whole.target):
        max_key[target] = random.choice(whole.key[whole.target == target]) + random.integers(-1, 2)
    found = search.best(targets, exclude, 0, len(predictors), max_key)
    wanted = [row for row in rows_of(whole) if row[2] <= max_key[row[0]]]
    assert [row for row in rows_of(found) if row[2] <= max_key[row[0]]] == wanted


@pytest.mark.parametrize(("cardinality", "n_predictors"), [(1, 24), (2, 24), (3, 24), (4, 12)])
def test_the_result_does_not_depend_on_threads(
    monkeypatch: pytest.MonkeyPatch, cardinality: int, n_predictors: int
) -> None:
    random = np.random.default_rng(5)
    predictors = random_levels(random, n_predictors, 30, 3, "repeated")
    targets = random_levels(random, 90, 30, 3, "skewed")
    exclude = random.integers(-1, n_predictors, 90).astype(np.int32)
    search = PredictorSearch(
        predictors, SearchSettings(levels=3, cardinality=cardinality, top=7), choose("cpu")
    )
    results = []
    for n_threads, least, most in [(1, 128, 512), (2, 16, 512), (3, 16, 16), (50, 32, 64)]:
        monkeypatch.setattr(predictor_search, "threads", lambda n=n_threads: n)
        monkeypatch.setattr(predictor_search, "MIN_CHUNK", least)
        monkeypatch.setattr(predictor_search, "MAX_CHUNK", most)
        results.append(rows_of(search.best(targets, exclude, 2, n_predictors - 4)))
    assert len(results[0]) > 90
    assert all(result == results[0] for result in results)


@both_backends
@pytest.mark.parametrize("penalty", ["none", "no_obs", "poor_obs"])
@pytest.mark.parametrize(
    ("levels", "n_predictors", "kind"),
    [
        (2, 8, "plain"),
        (2, 12, "repeated"),
        (2, 9, "few missing"),
        (3, 8, "plain"),
        (3, 9, "repeated"),
        (3, 8, "many missing"),
    ],
)
def test_sets_of_four_are_those_of_brute_force(
    backend: str, levels: int, n_predictors: int, kind: str, penalty: str
) -> None:
    """A constant target, one that only all four of its predictors tell, one without any; two equal
    predictors, a constant one, short series and long."""
    random = np.random.default_rng([levels, n_predictors])
    for samples in (15, 100):
        predictors = random_levels(random, n_predictors, samples, levels, kind)
        predictors[3], predictors[4] = predictors[1], 0
        targets = random_levels(random, 3, samples, levels, "plain")
        targets[0] = 1
        targets[1] = predictors[[0, 1, 2, 5]].sum(axis=0) % levels
        exclude = np.array([2, -1, 6], dtype=np.int32)
        settings = SearchSettings(
            levels=levels, cardinality=4, penalty=penalty, top=20, min_samples=4
        )
        search = PredictorSearch(predictors, settings, choose(backend))
        found = rows_of(search.best(targets, exclude, 0, n_predictors))
        assert found == naive_search(predictors, targets, exclude, settings, 0, n_predictors)
        assert max(ties for *_, ties in found) > 1


@both_backends
@pytest.mark.parametrize("penalty", ["none", "no_obs", "poor_obs"])
@pytest.mark.parametrize("cardinality", [1, 2, 3, 4])
def test_constant_targets_tie_all_sets(backend: str, cardinality: int, penalty: str) -> None:
    random = np.random.default_rng(3)
    predictors = random_levels(random, 7, 12, 3, "plain")
    predictors[2] = 1
    targets = np.full((3, 12), 2, dtype=np.int8)
    targets[1] = random.integers(0, 3, 12)
    exclude = np.array([-1, -1, 4], dtype=np.int32)
    settings = SearchSettings(levels=3, cardinality=cardinality, penalty=penalty, top=6)
    search = PredictorSearch(predictors, settings, choose(backend))
    for begin, end in [(0, 7), (2, 5), (5, 7), (3, 3)]:
        best = search.best(targets, exclude, begin, end)
        assert rows_of(best) == naive_search(predictors, targets, exclude, settings, begin, end)


@both_backends
def test_nothing_to_search_gives_an_empty_table(backend: str) -> None:
    device = choose(backend)
    levels = np.zeros((4, 5), dtype=np.int8)
    none = np.empty(0, dtype=np.int32)
    search = PredictorSearch(levels, SearchSettings(levels=2), device)
    assert len(search.best(levels[:0], none, 0, 4)) == 0
    assert len(search.best(levels, np.full(4, -1), 2, 2)) == 0
    assert search.best(levels, np.full(4, -1), 3, 4).predictors.shape == (0, 2)
    few = PredictorSearch(levels, SearchSettings(levels=2, min_samples=6), device)
    assert len(few.best(levels, np.full(4, -1), 0, 4)) == 0
    levels[0, 0] = -1
    few = PredictorSearch(levels, SearchSettings(levels=2, min_samples=5), device)
    assert {row[1] for row in rows_of(few.best(levels[1:2], np.full(1, -1), 0, 4))} == {
        (1, 2),
        (1, 3),
        (2, 3),
    }


def test_scores_a_billionth_of_a_bit_apart_are_no_tie() -> None:
    sets = np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32)
    target, key = np.zeros(3, dtype=np.int32), np.array([5, 6, 8])
    found = BestSets(target, sets, key, key * 1e-9, np.array([1, 2, 3]))
    assert reduce_best(found, top=3).n_ties.tolist() == [1, 2, 3]
