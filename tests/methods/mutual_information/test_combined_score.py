"""``score: combined``: partial correlations and ranks against their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from backends import both_backends
from naive_mutual_information import naive_mi_matrix
from naive_partial_correlation import (
    naive_combined,
    naive_given_components,
    naive_partial_correlations,
    naive_shrinkage,
    naive_standardised,
)
from pairtile import infer_network
from pairtile.api.settings import analysis_config
from pairtile.engine.chunk_file import RANK_SCORE, add_summaries
from pairtile.engine.selection import Selection
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information import combined_score, partial_correlation
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.combined_score import RankScale, Sampled
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.partial_correlation import shrinkage, standardised

from benchmarks.bench_rankings import table_of

GENES, EDGE = 23, 7
REGULATORS = np.array([2, 3, 6, 11, 20], dtype=np.int32)


def table(samples=60, awkward=False):
    """Genes that depend on regulators, some of them by their squares; awkward: a constant
    regulator and gene, copies of a regulator within and beside the list, missing values."""
    random = np.random.default_rng(samples)
    values = random.normal(size=(GENES, samples)) + random.normal(size=samples)
    values[5] = values[2] + 0.5 * values[3] + 0.3 * values[5]
    values[7] = values[2] ** 2 + 0.3 * values[7]
    values[11] = -values[3] + 0.5 * values[11]
    if awkward:
        values[20], values[9] = 3.0, -1.0
        values[6], values[8] = values[2], values[3]
        values[random.random(values.shape) < 0.1] = np.nan
        values[2], values[6] = values[0], values[0]
    return values


def opened(values, *, regulators=(), backend="cpu", transform="none", **changes):
    given = {
        "estimator": {"bins": 6, "order": 3, "transform": transform, "precision": "float64"},
        "null": {"permutations": 1000},
        "keep": {"top_edges": 30},
        "score": "combined",
        "preprocess": {"min_samples": 15},
    }
    config = analysis_config(MutualInformationConfig, expression="e.tsv", **given | changes)
    return open_analysis(values, np.asarray(regulators), config, choose(backend))[0]


CASES = [
    pytest.param(*case, id="-".join(map(str, case)))
    for case in (
        (60, False, "listed", "none"),
        (60, True, "listed", "none"),
        (60, True, "listed", "rank"),
        (60, False, "all", "none"),
        (60, True, "all", "rank"),
        (18, False, "all", "none"),  # fewer samples than regulators
        (60, True, "one", "none"),
    )
]
LISTS = {"listed": REGULATORS, "all": (), "one": REGULATORS[:1]}


@both_backends
@pytest.mark.parametrize(("samples", "awkward", "which", "transform"), CASES)
def test_partial_correlations_are_those_of_the_inverse(samples, awkward, which, transform, backend):
    values = table(samples, awkward)
    estimator = opened(values, regulators=LISTS[which], backend=backend, transform=transform)
    regulators = LISTS[which] if len(LISTS[which]) else np.arange(GENES)
    by_rank = transform == "rank"
    (partial,) = estimator._partials
    own = naive_standardised(values, by_rank)[regulators]
    assert partial.shrinkage == pytest.approx(naive_shrinkage(own), abs=1e-9)
    share = 1.0 if len(LISTS[which]) else 0.5 - 1 / np.sqrt(GENES)
    assert partial.weight == share * max(0.0, 1.0 - 2.0 * partial.shrinkage)
    if which == "one":
        assert partial.weight == 0.0
        return
    assert partial.weight > 0.0
    expected = naive_partial_correlations(values, regulators, by_rank)
    pairs = ~np.isnan(expected)
    found = estimator.device.to_host(partial.between(regulators, np.arange(GENES)))
    np.testing.assert_allclose(found[pairs], expected[pairs], atol=1e-8)
    row, column = np.nonzero(pairs)
    mixed = np.random.default_rng(1).permutation(row.size)
    row, column = np.asarray(regulators)[row[mixed]], column[mixed]
    listed = partial.of_pairs(row, column)
    np.testing.assert_allclose(listed, expected[pairs][mixed], atol=1e-8)
    np.testing.assert_array_equal(partial.of_pairs(row[5:9], column[5:9]), listed[5:9])


def test_shrinkage_is_that_of_many_rows_too():
    rows = naive_standardised(np.random.default_rng(0).normal(size=(40, 12)).cumsum(axis=0))
    assert shrinkage(rows) == pytest.approx(naive_shrinkage(rows))
    assert shrinkage(rows[:9]) == pytest.approx(naive_shrinkage(rows[:9]))
    assert shrinkage(np.zeros((4, 12))) == shrinkage(rows[:1]) == 1.0


def test_without_a_list_some_samples_are_enough(monkeypatch):
    values = table(60)
    few = opened(values[:, ::2])._partials[0]
    listed = opened(values, regulators=REGULATORS)._partials[0].between(REGULATORS, np.arange(3))
    monkeypatch.setattr(partial_correlation, "ENOUGH_SAMPLES", 30)
    partial = opened(values)._partials[0]
    genes = np.arange(GENES)
    # What scales the values of all 60 samples to the splines does not change what is standardised.
    np.testing.assert_allclose(partial.between(genes, genes), few.between(genes, genes), atol=1e-9)
    listed_pairs = (each.of_pairs(genes[:-1], genes[1:]) for each in (partial, few))
    np.testing.assert_allclose(*listed_pairs, atol=1e-9)
    again = opened(values, regulators=REGULATORS)._partials[0].between(REGULATORS, np.arange(3))
    np.testing.assert_array_equal(again, listed)


def test_rounding_is_no_spread():
    rows = np.array([[1e9, 1e9 + 1e-6, 1e9], [0.1, 0.1, 0.1 + 1e-17], [1e-12, 2e-12, 4e-12]])
    found = standardised(rows, np)
    assert not found[:2].any()
    np.testing.assert_allclose((found[2] ** 2).mean(), 1.0)


def scanned(estimator, edge=EDGE):
    sums = {}
    for tile in estimator.space(estimator.state).tiles(edge):
        estimator._cache.clear()
        add_summaries(sums, estimator.scan_tile(tile))
    return sums


@both_backends
@pytest.mark.parametrize("which", ["listed", "all"])
@pytest.mark.parametrize("awkward", [False, True])
def test_scores_of_tiles_and_lists_are_the_sum_of_both_ranks(awkward, which, backend):
    values = table(60, awkward)
    estimator = opened(values, regulators=LISTS[which], backend=backend)
    regulators = LISTS[which] if len(LISTS[which]) else np.arange(GENES)
    mi = naive_mi_matrix(values, 6, 3)
    mi[np.arange(GENES), np.arange(GENES)] = np.nan
    common = (~np.isnan(values)).astype(int)
    mi[common @ common.T < 15] = np.nan
    partial = naive_partial_correlations(values, regulators)
    expected = np.full((GENES, GENES), np.nan)
    known = mi[regulators], partial, estimator._partials[0].weight
    other = 1 / np.sqrt(GENES) if which == "all" else 0.0
    expected[regulators] = naive_combined(*known, better=which == "all", other=other)
    if which == "listed":
        expected[:, REGULATORS] -= np.log(2)
    constant = np.nanmax(mi, axis=0) < 1e-9
    expected[constant] *= 0.0
    expected[:, constant] *= 0.0
    scan = scanned(estimator)
    both = np.fmax(expected, expected.T)
    for tile in estimator.space(estimator.state).tiles(EDGE):
        chosen = replace(Selection(top=10**6), scan=scan)
        rows, _ = estimator.score_tile(tile, chosen)
        np.testing.assert_allclose(rows[RANK_SCORE], both[rows["i"], rows["j"]], atol=1e-4)
    frame = infer_network(
        values,
        None if which == "all" else REGULATORS,
        score="combined",
        keep="all",
        dpi=False,
        backend=backend,
        bins=6,
        order=3,
        transform="none",
        precision="float64",
        permutations=1000,
        preprocess={"log2": False, "min_samples": 15, "drop_constant": False},
    )
    directed = which == "listed"
    assert len(frame) == (~np.isnan(expected)).sum() / (1 if directed else 2)
    assert frame.attrs["directed"] == directed
    assert frame["combined"].is_monotonic_decreasing
    ends = frame["source"].to_numpy(), frame["target"].to_numpy()
    np.testing.assert_allclose(frame["combined"], expected[ends], atol=1e-4)


@both_backends
@pytest.mark.parametrize("which", ["listed", "all"])
@pytest.mark.parametrize("transform", ["none", "rank"])
@pytest.mark.parametrize("awkward", [False, True])
def test_components_of_samples_are_given_in_place_of_mutual_information(
    awkward, transform, which, backend
):
    values, random = table(60, awkward), np.random.default_rng(5)
    # Where not awkward, the component is one gene, of which nothing is left.
    loadings = random.normal(size=(GENES, 2)) if awkward else np.eye(GENES)[:, [13]]
    estimator = opened(values, regulators=LISTS[which], backend=backend, transform=transform)
    estimator.state["shared_loadings"] = loadings
    by_rank, genes = transform == "rank", np.arange(GENES)
    regulators = LISTS[which] if which == "listed" else genes
    beside = naive_given_components(values, loadings, by_rank)[regulators]
    off = regulators[:, None] != genes
    partial, *others = estimator._partials
    assert partial.weight == 1.0
    found = estimator.device.to_host(partial.between(regulators, genes))
    np.testing.assert_allclose(found[off], beside[off], atol=1e-6)
    row, column = np.nonzero(off)
    listed = partial.of_pairs(regulators[row], column)
    np.testing.assert_allclose(listed, beside[off], atol=1e-6)
    common = (~np.isnan(values)).astype(int)
    beside[(common @ common.T < 15)[regulators]] = np.nan
    expected = np.full((GENES, GENES), np.nan)
    if which == "listed":
        given_others = naive_partial_correlations(values, regulators, by_rank)
        expected[regulators] = naive_combined(beside, given_others, others[0].weight)
        expected[:, regulators] -= np.log(2)
    else:
        assert not others
        expected = naive_combined(beside, 0.0 * beside, 0.0, better=True)
    if awkward:  # constant
        expected[:, [9, 20]] *= 0.0
        expected[[9, 20]] *= 0.0
    expected = np.fmax(expected, expected.T)
    chosen = replace(Selection(top=10**6), scan=scanned(estimator))
    for tile in estimator.space(estimator.state).tiles(EDGE):
        rows, _ = estimator.score_tile(tile, chosen)
        np.testing.assert_allclose(rows[RANK_SCORE], expected[rows["i"], rows["j"]], atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_auto_puts_true_pairs_first_under_a_factor_of_samples():
    """Of the best 40 pairs of 80 genes, of which 40 pairs are true."""
    random = np.random.default_rng(7)
    values = random.normal(size=(80, 150))
    values[40:] = 0.6 * values[:40] + 0.8 * values[40:]
    held = np.minimum(0.3 * random.normal(size=(80, 1)) ** 2, 0.7)
    factor = random.choice([-1, 1], size=(80, 1)) * random.normal(size=150)
    values = np.sqrt(1 - held) * values + np.sqrt(held) * factor
    true = {}
    for score in ("auto", "clr"):
        ranked = infer_network(
            values, score=score, keep="all", dpi=False, backend="cpu", permutations=1000
        )
        ends = zip(ranked["source"], ranked["target"], strict=True)
        best = list(dict.fromkeys(map(frozenset, ends)))[:40]
        true[ranked.attrs["score"]] = sum(frozenset((k, k + 40)) in best for k in range(40))
        said = "score_given_components" in {note.code for note in ranked.attrs["notes"]}
        assert said == (score == "auto")
    assert true["combined"] >= 38
    assert true["clr"] <= 34


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "seed", "of_samples"), [("outliers", 2147, False), ("hidden_factor", 2110, True)]
)
def test_what_outliers_leave_of_hubs_is_no_component_of_samples(kind, seed, of_samples):
    values = table_of(kind, 100, seed).values
    ranked = infer_network(values, backend="cpu", permutations=1000, preprocess={"log2": False})
    said = "score_given_components" in {note.code for note in ranked.attrs["notes"]}
    assert said == of_samples


def test_sums_of_the_first_pass_hardly_depend_on_tiles():
    estimator = opened(table(60, True), regulators=REGULATORS)
    first = scanned(estimator, 3)
    for edge in (7, 50):
        for name, sums in scanned(estimator, edge).items():
            assert np.abs(sums - first[name]).max() <= 2 * GENES, name  # 2^-36 each


def test_ranks_of_a_sample_are_near_those_of_all(monkeypatch):
    values = np.random.default_rng(0).normal(size=(80, 60))
    values[40:] += values[:40]
    estimator = opened(values)
    of_all = estimator.combined(scanned(estimator))
    monkeypatch.setattr(combined_score, "MAX_SAMPLED", 1 << 12)
    fewer = opened(values)
    sampled = Sampled.of_regulators(fewer.state["regulators"], 80)
    assert sampled.sources.size * sampled.targets.size <= 1 << 12
    of_some = fewer.combined(scanned(fewer))
    z = np.linspace(-1, 3, 50)
    i, j = np.arange(50) % 80, (np.arange(50) + 41) % 80
    np.testing.assert_allclose(of_some.of_pairs(z, i, j), of_all.of_pairs(z, i, j), atol=0.6)


def test_surprise_goes_on_beyond_the_sample():
    draws = np.random.default_rng(0).exponential(size=100_000)
    scale = RankScale.of_numbers(draws)
    x = np.array([1.0, 5.0, 20.0, np.nan])
    np.testing.assert_allclose(scale.at(x, np), x, rtol=0.1)
    ties = RankScale.of_numbers(np.array([0.0, 0.0, 1.0, 1.0]))
    np.testing.assert_allclose(ties.at(np.array([0.0, 1.0]), np), -np.log([0.75, 0.25]))
    assert RankScale.of_numbers(np.empty(0)).at(np.array([1.0]), np).tolist() == [0.0]


def test_one_regulator_is_ranked_by_mutual_information_alone():
    estimator = opened(table(), regulators=REGULATORS[:1])
    assert estimator._partials[0].weight == 0.0
    scan = scanned(estimator)
    assert not scan["regulators_sum"].any()
    assert scan["target_count"].sum() == GENES - 1
