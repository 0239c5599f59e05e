"""Tiles of the MI estimator: every pair once, exact sums, the rows that the rules keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from backends import both_backends
from naive_mutual_information import naive_mi_matrix, naive_moments
from pairtile.api.settings import analysis_config
from pairtile.engine.chunk_file import PASSED, RANK_SCORE, add_summaries
from pairtile.engine.selection import RunningTopK, Selection
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.context_scores import mean_sd
from pairtile.methods.mutual_information.network import PairScores
from pairtile.methods.mutual_information.null import Null
from pairtile.methods.mutual_information.scores import SCORES

GENES, SAMPLES, EDGE = 23, 60, 7
REGULATORS = np.array([2, 3, 11, 20], dtype=np.int32)


def table(missing=True, seed=0):
    random = np.random.default_rng(seed)
    values = random.normal(size=(GENES, SAMPLES))
    values[5] = values[2] + 0.3 * random.normal(size=SAMPLES)
    values[11] = -values[3] + 0.5 * random.normal(size=SAMPLES)
    if missing:
        values[random.random(values.shape) < 0.15] = np.nan
        values[7, 25:] = np.nan
        values[8, :35] = np.nan
    return values


def opened(values, *, regulators=(), backend="cpu", precision="float64", **changes):
    estimator = {"bins": 6, "transform": "none", "precision": precision}
    given = {"estimator": estimator, "null": {"permutations": 1000}, "keep": "all"} | changes
    config = analysis_config(MutualInformationConfig, expression="e.tsv", **given)
    return open_analysis(values, np.asarray(regulators), config, choose(backend))[0]


def tiles(estimator):
    return estimator.space(estimator.state).tiles(EDGE)


def all_rows(estimator, selection=None, scan=None, cut=-np.inf):
    """Rows and summaries of all tiles."""
    parts, sums = [], {}
    for tile in tiles(estimator):
        chosen = replace(selection or Selection(everything=True), scan=scan, cut=cut)
        rows, summary = estimator.score_tile(tile, chosen)
        add_summaries(sums, summary)
        parts.append(rows)
    return {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}, sums


def wanted_pairs(regulators=()):
    """Every unordered pair once; with regulators, those that have one."""
    pairs = set()
    for a in range(GENES):
        for b in range(a + 1, GENES):
            if not len(regulators) or a in regulators or b in regulators:
                first = a if not len(regulators) or a in regulators else b
                pairs.add((first, a + b - first))
    return pairs


@both_backends
@pytest.mark.parametrize("regulators", [(), REGULATORS])
@pytest.mark.parametrize("missing", [False, True])
def test_every_pair_with_enough_samples_is_scored_once(backend, regulators, missing):
    values = table(missing)
    rows, sums = all_rows(opened(values, regulators=regulators, backend=backend))
    observed = (~np.isnan(values)).astype(int)
    common = observed @ observed.T
    wanted = wanted_pairs(regulators)
    enough = {(a, b) for a, b in wanted if common[a, b] >= 20}
    found = list(zip(rows["i"].tolist(), rows["j"].tolist(), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == enough
    assert sums["pairs"].sum() == len(wanted)
    assert sums["pairs_scored"].sum() == len(enough) == sums["histogram"].sum()
    np.testing.assert_array_equal(rows["n_samples"], common[rows["i"], rows["j"]])
    assert (len(enough) < len(wanted)) is missing
    expected = naive_mi_matrix(values, 6, 3)
    np.testing.assert_allclose(rows["mi_bits"], expected[rows["i"], rows["j"]], atol=1e-10)


@pytest.mark.parametrize("regulators", [(), REGULATORS])
def test_number_of_pairs_is_the_number_of_pairs(regulators):
    assert opened(table(), regulators=regulators).n_pairs() == len(wanted_pairs(regulators))


@both_backends
@pytest.mark.parametrize("regulators", [(), REGULATORS])
def test_sums_of_the_first_pass_are_those_of_all_scored_pairs(backend, regulators):
    estimator = opened(table(), regulators=regulators, backend=backend, score="target_z")
    sums = {}
    for tile in tiles(estimator):
        add_summaries(sums, estimator.scan_tile(tile))
    rows, _ = all_rows(estimator)
    flags = estimator.is_regulator
    expected = naive_moments(rows["i"], rows["j"], rows["mi_bits"], GENES, flags)
    back = rows["j"] if flags is None else rows["j"][flags[rows["j"]]]
    count = np.bincount(np.concatenate([rows["i"], back]), minlength=GENES)
    np.testing.assert_array_equal(sums["source_count"], count)
    assert sums["target_count"].sum() == count.sum()
    for role in ("source", "target"):
        for a, b in zip(mean_sd(sums, role), expected(role), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_sums_do_not_depend_on_tiles():
    estimator = opened(table(), score="clr")
    totals = []
    for edge in (3, 7, 50):
        sums = {}
        for tile in estimator.space(estimator.state).tiles(edge):
            estimator._cache.clear()
            add_summaries(sums, estimator.scan_tile(tile))
        totals.append(sums)
    for other in totals[1:]:
        assert all(np.array_equal(totals[0][k], other[k]) for k in totals[0])


@both_backends
@pytest.mark.parametrize("score", ["clr", "target_z"])
@pytest.mark.parametrize("regulators", [(), REGULATORS])
def test_scores_of_a_tile_are_those_of_the_list_of_its_pairs(backend, score, regulators):
    estimator = opened(table(), regulators=regulators, score=score)
    rows, _ = all_rows(estimator)
    flags = estimator.is_regulator
    i, j, bits = rows["i"], rows["j"], rows["mi_bits"]
    moments = naive_moments(i, j, bits, GENES, flags)
    scores = PairScores(GENES, SCORES[score], flags, moments)
    of_list = scores.from_bits(bits, i, j)
    dense = np.zeros((GENES, GENES))
    dense[i, j] = bits
    device, genes = choose(backend), np.arange(GENES)
    first = genes if flags is None else np.flatnonzero(flags)
    ends = first[:, None], genes[None, :]
    of_tile = scores.from_bits(device.xp.asarray(dense[first]), *ends, device.xp)
    for found, expected in zip(of_tile, of_list, strict=True):
        found = device.to_host(found)[np.searchsorted(first, i), j]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@both_backends
def test_best_rows_survive_with_their_scores(backend):
    estimator = opened(table(), backend=backend)
    every, _ = all_rows(estimator)
    rows, _ = all_rows(estimator, Selection(top=10))
    best = RunningTopK(10)
    best.add(rows[RANK_SCORE])
    kept = best.prune(rows)
    limit = np.sort(every["mi_bits"])[-10]
    assert not kept[PASSED].any()
    np.testing.assert_allclose(np.sort(kept["mi_bits"]), np.sort(every["mi_bits"])[-10:])
    assert best.threshold == pytest.approx(limit)


@both_backends
def test_rows_pass_by_the_limit_of_their_classes(backend):
    estimator = opened(table(False), backend=backend)
    every, _ = all_rows(estimator)
    limit = 0.3 * SAMPLES
    rows, _ = all_rows(estimator, Selection(min_statistic=np.array([[limit]])))
    assert rows["i"].size == (every["mi_bits"] * SAMPLES >= limit).sum() > 0
    fifth = float(np.sort(every["mi_bits"])[-5])
    rows, _ = all_rows(estimator, Selection(min_score=fifth))
    assert rows["i"].size == (every["mi_bits"] >= fifth).sum()
    estimator.classes = (np.arange(GENES) % 2).astype(np.int8)
    limits = np.array([[limit, 1e9], [1e9, 0.0]])
    rows, _ = all_rows(estimator, Selection(min_statistic=limits))
    a, b = every["i"] % 2, every["j"] % 2
    strong = every["mi_bits"] * SAMPLES >= limit
    assert rows["i"].size == ((a + b == 0) & strong).sum() + ((a + b) == 2).sum()


def test_chunks_hold_what_stands_at_the_bound_itself():
    """Chunks choose by their own rounding; the network decides, so they must not be stricter."""
    every, _ = all_rows(opened(table(False)))
    bits = np.sort(every["mi_bits"])[-5]
    at_score = opened(table(False), keep={"score": float(bits)})
    statistic = np.float32(bits * SAMPLES)
    draws = np.linspace(0.1, 0.9, 1000, dtype=np.float32) * statistic
    draws[-20:] = statistic * 2
    draws[-21] = np.nextafter(statistic, np.float32(0))
    null = Null([draws], np.zeros(GENES, dtype=np.int8))
    at_p = opened(table(False), keep={"p_value": 21.0 / 1001.0})
    limit = null.thresholds(21.0 / 1001.0)[0, 0]
    assert limit == pytest.approx(statistic, rel=2e-7)
    for estimator, bound in ((at_score, bits), (at_p, limit / SAMPLES)):
        selection = estimator.selection(null.arrays())
        if selection.min_score is not None:
            assert selection.min_score <= bound
        else:
            assert selection.min_statistic[0, 0] <= bound * SAMPLES
        rows, _ = all_rows(estimator, selection)
        wanted = every["mi_bits"] >= bound * (1 - 1e-12)
        assert rows["i"].size == wanted.sum() == 5


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("mixed", 1e-5)])
def test_both_backends_give_the_same_table(precision, tolerance):
    values = table()
    a, sums_a = all_rows(opened(values, backend="cpu", precision=precision))
    b, sums_b = all_rows(opened(values, backend="cuda", precision=precision))
    assert np.array_equal(a["i"], b["i"])
    assert np.array_equal(a["j"], b["j"])
    assert np.array_equal(a["n_samples"], b["n_samples"])
    np.testing.assert_allclose(a["mi_bits"], b["mi_bits"], atol=tolerance)
    assert sums_a["pairs_scored"] == sums_b["pairs_scored"]


def test_scores_of_a_list_of_pairs_are_those_of_the_tiles():
    estimator = opened(table())
    rows, _ = all_rows(estimator)
    pick = np.random.default_rng(0).permutation(rows["i"].size)[:50]
    bits, n_samples = estimator.score_pairs(rows["i"][pick], rows["j"][pick])
    np.testing.assert_allclose(bits, rows["mi_bits"][pick], atol=1e-12)
    assert np.array_equal(n_samples, rows["n_samples"][pick])


def test_bootstrap_of_all_samples_once_is_the_analysis_itself():
    estimator = opened(table(), keep={"p_value": 0.01})  # so that it has a null
    again = estimator.resampled(np.arange(SAMPLES))
    assert np.array_equal(again.state["z"], estimator.state["z"], equal_nan=True)
    assert np.array_equal(again.null(3)["statistic"], estimator.null(3)["statistic"])


def test_repeated_samples_raise_scores_and_null_alike():
    random = np.random.default_rng(1)
    given = {"null": {"permutations": 20_000}, "keep": {"p_value": 0.01}}
    estimator = opened(random.normal(size=(150, 100)), **given)
    replicate = estimator.resampled(random.integers(0, 100, size=100))

    def mean_statistic(of):
        weights = of.scorer.weights(of.state["z"])
        return of.scorer.scores(weights, weights)[0][np.triu_indices(150, 1)].mean() * 100

    plain, resampled = (of.null(1)["statistic"].mean() for of in (estimator, replicate))
    assert mean_statistic(estimator) == pytest.approx(plain, rel=0.03)
    assert mean_statistic(replicate) == pytest.approx(resampled, rel=0.05)
    assert resampled > 1.5 * plain
