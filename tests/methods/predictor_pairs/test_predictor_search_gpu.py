"""The search for predictor sets on the GPU finds what the CPU finds, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.errors import DeviceError
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs import search_cuda as predictor_search_cuda
from pairtile.methods.predictor_pairs.best_sets import join_best
from pairtile.methods.predictor_pairs.search import PredictorSearch, SearchSettings

pytestmark = pytest.mark.gpu

COLUMNS = ("target", "predictors", "key", "mce_bits", "n_ties")


def tables(seed, levels, n_predictors, n_targets, n_samples, missing=0.0):
    """Random levels with a constant and two repeated predictors, a constant target and a target
    that is a function of two predictors."""
    random = np.random.default_rng(seed)
    predictors = random.integers(0, levels, (n_predictors, n_samples)).astype(np.int8)
    targets = random.integers(0, levels, (n_targets, n_samples)).astype(np.int8)
    predictors[n_predictors // 2] = predictors[1]
    predictors[-1] = predictors[0]
    predictors[2] = 0
    targets[0] = 1
    targets[-1] = (predictors[1] + predictors[3]) % levels
    for table in (predictors, targets):
        table[random.random(table.shape) < missing] = -1
    exclude = random.integers(-1, n_predictors, n_targets).astype(np.int32)
    return predictors, targets, exclude


def best(backend, settings, predictors, targets, exclude, first=None, max_key=None):
    begin, end = first or (0, len(predictors))
    search = PredictorSearch(predictors, settings, choose(backend))
    return search.best(targets, exclude, begin, end, max_key)


def assert_same(found, expected):
    for name in COLUMNS:
        a, b = getattr(found, name), getattr(expected, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, err_msg=name)


def assert_gpu_agrees(settings, *data, **options):
    expected = best("cpu", settings, *data, **options)
    assert_same(best("cuda", settings, *data, **options), expected)
    return expected


@pytest.mark.parametrize("missing", [0.0, 0.05], ids=["complete", "missing"])
@pytest.mark.parametrize("penalty", ["none", "no_obs", "poor_obs"])
@pytest.mark.parametrize("cardinality", [1, 2, 3, 4])
@pytest.mark.parametrize("levels", [2, 3, 4])
def test_gpu_agrees_with_cpu(levels, cardinality, penalty, missing):
    settings = SearchSettings(
        levels=levels, cardinality=cardinality, penalty=penalty, min_samples=25
    )
    data = tables(levels, levels, {1: 300, 2: 70, 3: 20, 4: 14}[cardinality], 37, 30, missing)
    assert len(assert_gpu_agrees(settings, *data)) > 300


@pytest.mark.parametrize("n_samples", [1, 31, 32, 33, 128, 129, 500, 1100, 3000])
@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.01], ids=["complete", "missing"])
def test_any_number_of_samples(levels, n_samples, missing):
    settings = SearchSettings(levels=levels, cardinality=2, penalty="no_obs", alpha=0.5)
    assert_gpu_agrees(settings, *tables(1, levels, 40, 20, n_samples, missing))


@pytest.mark.parametrize("n_samples", [12, 130, 700])
@pytest.mark.parametrize(("levels", "missing"), [(2, 0.0), (2, 0.02), (3, 0.0), (4, 0.02)])
def test_sets_of_four_of_any_number_of_samples(levels, missing, n_samples):
    """Ties by the hundred in the short ones, and the closer bound in the long ones."""
    settings = SearchSettings(levels=levels, cardinality=4, penalty="no_obs", top=5)
    assert_gpu_agrees(settings, *tables(11, levels, 16, 40, n_samples, missing))


@pytest.mark.parametrize("cardinality", [3, 4])
def test_prefixes_in_portions_are_those_of_one(cardinality, monkeypatch):
    settings = SearchSettings(levels=2, cardinality=cardinality, top=5)
    data = tables(12, 2, 30, 40, 20)
    whole = predictor_search_cuda.CudaPredictors.prefixes
    portions = []

    def in_portions(self, first_begin, first_end):
        for first in range(first_begin, first_end):
            for part in whole(self, first, first + 1):
                portions.append(len(part[2]))
                yield part

    monkeypatch.setattr(predictor_search_cuda.CudaPredictors, "prefixes", in_portions)
    assert_gpu_agrees(settings, *data)
    assert len(portions) > 20


@pytest.mark.parametrize(("levels", "missing"), [(2, 0.0), (3, 0.01), (4, 0.01)])
def test_more_samples_than_shared_memory_holds(levels, missing):
    settings = SearchSettings(levels=levels, cardinality=2, penalty="none")
    assert_gpu_agrees(settings, *tables(1, levels, 12, 9, 45_000, missing))


@pytest.mark.parametrize("top", [1, 7, 1000])
@pytest.mark.parametrize("penalty", ["none", "no_obs"])
def test_ties_of_short_series(top, penalty):
    """Twelve samples: most targets have thousands of pairs that tie."""
    settings = SearchSettings(levels=2, cardinality=2, penalty=penalty, top=top)
    expected = assert_gpu_agrees(settings, *tables(3, 2, 300, 100, 12))
    assert expected.n_ties.max() > 1000


def test_many_targets_and_predictors():
    settings = SearchSettings(levels=2, cardinality=2, penalty="no_obs")
    assert_gpu_agrees(settings, *tables(4, 2, 600, 1200, 50))


@pytest.mark.parametrize("levels", [2, 3])
def test_parts_of_the_first_predictors_reduce_to_the_whole(levels):
    settings = SearchSettings(levels=levels, cardinality=2, penalty="none", top=5)
    data = tables(5, levels, 80, 50, 15)
    whole = best("cpu", settings, *data)
    max_key = None
    parts = []
    for begin in range(0, 80, 30):
        part = assert_gpu_agrees(
            settings, *data, first=(begin, min(80, begin + 30)), max_key=max_key
        )
        parts.append(part)
        max_key = np.array([part.key[part.target == t].max(initial=10**9) for t in range(50)])
    assert_same(join_best(parts, top=5), whole)


@pytest.mark.parametrize("quantile", [0.0, 0.3, 1.0])
def test_cut_leaves_out_larger_keys(quantile):
    settings = SearchSettings(levels=2, cardinality=2, penalty="none")
    data = tables(6, 2, 60, 40, 10)
    max_key = np.full(40, np.quantile(best("cpu", settings, *data).key, quantile)).astype(np.int64)
    assert_gpu_agrees(settings, *data, max_key=max_key)


@pytest.mark.parametrize("levels", [2, 3])
def test_without_room_for_all_candidates_batches_are_repeated(levels, monkeypatch):
    monkeypatch.setattr(predictor_search_cuda, "ROOM", 2)
    monkeypatch.setattr(predictor_search_cuda, "MIN_ROOM", 4)
    settings = SearchSettings(levels=levels, cardinality=2, penalty="none", top=3)
    assert_gpu_agrees(settings, *tables(7, levels, 100, 30, 14))


def test_too_little_gpu_memory_halves_the_targets_and_goes_on(monkeypatch):
    import cupy

    whole = predictor_search_cuda._TargetSearch.__init__

    def little_room(self, predictors, targets, *rest):
        if len(targets) > 11:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1, 1)
        whole(self, predictors, targets, *rest)

    monkeypatch.setattr(predictor_search_cuda._TargetSearch, "__init__", little_room)
    assert_gpu_agrees(SearchSettings(levels=2), *tables(8, 2, 40, 90, 25))


def test_no_room_for_one_target_is_a_clear_error(monkeypatch):
    import cupy

    def no_room(self, *rest):
        raise cupy.cuda.memory.OutOfMemoryError(1, 1, 1)

    monkeypatch.setattr(predictor_search_cuda._TargetSearch, "__init__", no_room)
    with pytest.raises(DeviceError, match="expected a GPU with more free memory"):
        best("cuda", SearchSettings(levels=2), *tables(8, 2, 40, 90, 25))


@pytest.mark.parametrize("n_predictors", [0, 1, 2])
def test_too_few_predictors_for_any_pair(n_predictors):
    random = np.random.default_rng(9)
    levels = random.integers(0, 2, (5, 20)).astype(np.int8)
    exclude = np.full(5, -1, dtype=np.int32)
    assert_gpu_agrees(SearchSettings(levels=2), levels[:n_predictors], levels, exclude)


def test_fewer_samples_than_asked_for_give_no_sets():
    data = tables(10, 2, 30, 10, 20)
    assert len(assert_gpu_agrees(SearchSettings(levels=2, min_samples=21), *data)) == 0
