"""From scored pairs to edges: q-values, every keep rule, directions, DPI."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from naive_mutual_information import naive_moments
from pairtile import infer_network
from pairtile.api.settings import analysis_config
from pairtile.engine.estimator import MergedResults
from pairtile.methods.mutual_information import network
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.network import (
    Pairs,
    PairScores,
    Significance,
    build_network,
    choose,
    directed_edges,
    extrapolated,
    p_values,
    q_values,
)
from pairtile.methods.mutual_information.null import Null
from pairtile.methods.mutual_information.score import MutualInformation
from pairtile.methods.mutual_information.scores import SCORES
from scipy.stats import false_discovery_control

GENES, SAMPLES = 40, 100


def example(seed=0, regulators=None):
    """Scored pairs of 40 genes: mostly null, some strong; and a null of 20,000 draws."""
    random = np.random.default_rng(seed)
    i, j = np.triu_indices(GENES, 1)
    if regulators is not None:
        keep = regulators[i] | regulators[j]
        i, j = i[keep], j[keep]
        swap = ~regulators[i]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
    mi = random.gamma(3.0, 0.02, size=i.size)
    strong = random.random(i.size) < 0.1
    mi[strong] += random.uniform(0.1, 0.8, strong.sum())
    samples = np.full(i.size, SAMPLES, dtype=np.int32)
    pairs = Pairs(i.astype(np.int32), j.astype(np.int32), mi, samples)
    draws = np.sort(random.gamma(3.0, 0.02, size=20_000) * SAMPLES).astype(np.float32)
    return pairs, Null([draws], np.zeros(GENES, dtype=np.int8))


STRONG = float(np.sort(example()[0].mi_bits)[-30])


def built(pairs, null, keep, *, score="mi", dpi=False, moments=None, is_regulator=None):
    p, n_tests = p_values(pairs, null), pairs.i.size
    rules = analysis_config(MutualInformationConfig, expression="e.tsv", keep=keep, dpi=dpi)
    found = Significance(
        p.__getitem__,
        lambda rows: q_values(p[rows], n_tests),
        lambda some: extrapolated(some, null),
        max(1, n_tests),
    )
    ranked = PairScores(GENES, SCORES[score], is_regulator, moments)
    chosen = choose(pairs, found, ranked, rules.keep)
    dpi, fdr = rules.dpi or None, rules.keep.fdr
    return build_network(pairs, chosen, found, ranked, dpi=dpi, fdr=fdr)


def test_q_values_count_the_pairs_of_the_network_among_all_tests():
    p = p_values(*example())
    np.testing.assert_allclose(q_values(p, p.size), false_discovery_control(p), rtol=1e-12)
    some = p[np.random.default_rng(5).random(p.size) < 0.3]
    q = [min(1.0, *(t * p.size / (some <= t).sum() for t in some[some >= x])) for x in some]
    np.testing.assert_allclose(q_values(some, p.size), q, rtol=1e-12)


def two_modules(seed, genes=300, samples=80):
    """Half of the genes in two modules, one factor each: values, and which pairs are related."""
    random = np.random.default_rng(seed)
    module = np.arange(genes) // (genes // 4)
    share = np.where(module < 2, random.uniform(0.3, 0.8, genes), 0.0)[:, None]
    values = np.sqrt(share) * random.normal(size=(2, samples))[module % 2]
    values += np.sqrt(1.0 - share) * random.normal(size=(genes, samples))
    return values, (module[:, None] == module) & (module < 2)


@pytest.mark.parametrize(
    ("keep", "most", "many"), [({"fdr": 0.05}, 0.08, 500), ("auto", 0.06, 300)], ids=["fdr", "auto"]
)
def test_fdr_is_that_of_the_network_behind_dpi_and_quota(keep, most, many):
    """DPI leaves few of the related pairs and nearly all of the others; CLR puts these first."""
    found = []
    for seed in range(3):
        values, related = two_modules(seed)
        edges = infer_network(values, keep=keep, backend="cpu")
        true = related[edges["source"], edges["target"]]
        found.append(
            (1.0 - true.mean(), 1.0 - true[:50].mean(), true.sum(), edges["q_value"].max())
        )
    false, false_first, number, largest_q = np.transpose(found)
    assert false.mean() <= most
    assert false_first.mean() <= 0.05
    assert number.min() >= many
    assert largest_q.max() <= 0.05


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ({"p_value": 0.001}, lambda p, bits: p <= 0.001),
        ({"fdr": 0.05}, lambda p, bits: false_discovery_control(p) <= 0.05),
        ({"score": 0.3}, lambda p, bits: bits >= 0.3),
        ({"score": STRONG}, lambda p, bits: bits >= STRONG),
        ({"top_edges": 17}, lambda p, bits: bits >= np.sort(bits)[-17]),
        ({"fdr": 0.05, "top_edges": 9}, lambda p, bits: bits >= np.sort(bits)[-9]),
        ({"fdr": 0.05, "top_edges": 700}, lambda p, bits: false_discovery_control(p) <= 0.05),
        ("all", lambda p, bits: p <= 1.0),
    ],
    ids=[
        "p_value",
        "fdr",
        "score",
        "strong_score",
        "top_edges",
        "fdr_top_edges",
        "fdr_many",
        "all",
    ],
)
def test_pairs_are_kept_as_asked(keep, kept):
    pairs, null = example()
    expected = kept(p_values(pairs, null), pairs.mi_bits)
    edges = built(pairs, null, keep).edges
    assert len(edges) == expected.sum() > 0
    assert set(zip(edges["source"], edges["target"], strict=True)) == set(
        zip(pairs.i[expected], pairs.j[expected], strict=True)
    )


def test_edges_are_sorted_best_first_with_a_fixed_order_of_ties():
    pairs, null = example()
    tied = Pairs(pairs.i, pairs.j, np.round(pairs.mi_bits, 1), pairs.n_samples)
    shuffled = tied.take(np.random.default_rng(0).permutation(pairs.i.size))
    a, b = built(tied, null, "all").edges, built(shuffled, null, "all").edges
    assert a.equals(b)
    assert a["mi_bits"].is_monotonic_decreasing


def test_mi_and_clr_without_regulators_list_each_pair_once_and_target_z_twice():
    pairs, null = example()
    moments = naive_moments(pairs.i, pairs.j, pairs.mi_bits, GENES)
    for score, times, directed in (("mi", 1, False), ("clr", 1, False), ("target_z", 2, True)):
        network = built(pairs, null, "all", score=score, moments=moments)
        assert network.counts["edges"] == times * pairs.i.size
        assert network.directed is directed
        assert (score in network.edges.columns) is (score != "mi")


def test_a_quota_beside_fdr_takes_pairs_whose_p_values_hold_for_so_few_edges():
    """A pair of two quiet genes, the best by CLR, whose p-value is too large for 20 edges."""
    pairs, null = example()
    quiet = np.isin(pairs.i, (0, 1)) | np.isin(pairs.j, (0, 1))
    pairs.mi_bits[quiet] *= 1e-3
    pairs.mi_bits[0] = np.quantile(null.statistic[0], 0.997) / SAMPLES
    moments = naive_moments(pairs.i, pairs.j, pairs.mi_bits, GENES)
    every = built(pairs, null, "all", score="clr", moments=moments).edges
    assert tuple(every.loc[0, ["source", "target"]]) == (0, 1)
    p = p_values(pairs, null)
    assert 0.05 * 20 / p.size < p[0] < p[false_discovery_control(p) <= 0.05].max()
    edges = built(pairs, null, {"fdr": 0.05, "top_edges": 20}, score="clr", moments=moments).edges
    assert len(edges) == 20
    assert not (edges[["source", "target"]] == (0, 1)).all(axis=1).any()


@pytest.mark.parametrize("score", ["clr", "target_z"])
def test_scores_do_not_depend_on_which_gene_of_a_pair_comes_first(score):
    pairs, null = example()
    swapped = Pairs(pairs.j, pairs.i, pairs.mi_bits, pairs.n_samples)
    found = []
    for some in (pairs, swapped):
        moments = naive_moments(some.i, some.j, some.mi_bits, GENES)
        edges = built(some, null, "all", score=score, moments=moments).edges
        if score == "clr":  # each pair once, in the order of its own
            edges[["source", "target"]] = np.sort(edges[["source", "target"]], axis=1)
        found.append(edges.set_index(["source", "target"])[score].sort_index())
    pd.testing.assert_series_equal(*found)


@pytest.mark.parametrize("score", ["mi", "clr", "target_z"])
def test_with_regulators_every_source_is_one(score):
    regulators = np.zeros(GENES, dtype=bool)
    regulators[[3, 17, 30]] = True
    pairs, null = example(regulators=regulators)
    moments = naive_moments(pairs.i, pairs.j, pairs.mi_bits, GENES, regulators)
    network = built(pairs, null, "all", score=score, moments=moments, is_regulator=regulators)
    assert regulators[network.edges["source"]].all()
    both = (regulators[pairs.i] & regulators[pairs.j]).sum()
    assert both == 3
    assert network.counts["edges"] == pairs.i.size + (0 if score == "mi" else both)


def test_dpi_removes_both_directions_of_a_pair():
    pairs, null = example()
    moments = naive_moments(pairs.i, pairs.j, pairs.mi_bits, GENES)
    options = {"dpi": {"tolerance": 0.0, "rule": "relative"}, "score": "target_z"}
    edges = built(pairs, null, "all", moments=moments, **options).edges
    ends = set(zip(edges["source"], edges["target"], strict=True))
    assert all((b, a) in ends for a, b in ends)
    plain = built(pairs, null, "all", dpi=options["dpi"]).edges
    assert len(edges) == 2 * len(plain)


def test_p_values_beyond_the_null_are_extrapolated_and_marked():
    pairs, null = example()
    network = built(pairs, null, "all")
    edges = network.edges
    flagged = edges["p_method"] == "extrapolated"
    assert network.counts["edges_with_extrapolated_p"] == flagged.sum() > 0
    strongest = null.statistic[0][-10] / SAMPLES
    assert (edges["mi_bits"][flagged] >= strongest * (1 - 1e-6)).all()
    assert (edges["p_value"][flagged] <= 11 / (1 + null.statistic[0].size)).all()


@pytest.mark.parametrize("keep", [{"fdr": 0.05}, "all"], ids=str)
def test_p_and_q_of_a_whole_network_belong_together(keep):
    random = np.random.default_rng(1)
    values = random.normal(size=(40, 80))
    values[:20] += 2 * random.normal(size=80)
    network = infer_network(values, keep=keep, dpi=False, permutations=20_000, backend="cpu")
    kept, n_tests = network.shape[0], 40 * 39 // 2
    p = np.sort(network["p_value"])
    q = np.minimum.accumulate((p * n_tests / np.arange(1, kept + 1))[::-1])[::-1]
    np.testing.assert_allclose(np.sort(network["q_value"]), np.minimum(q, 1.0), rtol=1e-6)
    n_beyond = (network["p_method"] == "extrapolated").sum()
    assert network.attrs["counts"]["edges_with_extrapolated_p"] == n_beyond > 100


@pytest.mark.parametrize("keep", ["all", {"fdr": 0.05}, {"fdr": 0.05, "top_edges": 20}], ids=str)
def test_q_values_come_from_the_p_values_beside_them(keep):
    pairs, null = example()
    edges = built(pairs, null, keep).edges
    assert edges["p_value"].min() < 1e-9  # far beyond 20,000 draws
    of_all = false_discovery_control(np.sort(p_values(pairs, null)))
    place = np.searchsorted(np.sort(p_values(pairs, null)), edges["p_value"])
    np.testing.assert_allclose(edges["q_value"], of_all[place], rtol=1e-9)


def test_no_pairs_give_an_empty_network_with_its_columns():
    pairs, null = example()
    empty = built(pairs.take(np.empty(0, dtype=int)), null, {"fdr": 0.01}, dpi={})
    assert empty.edges.columns.tolist() == [
        "source",
        "target",
        "mi_bits",
        "p_value",
        "q_value",
        "p_method",
    ]
    assert empty.threshold_value is None


def test_scores_beside_mi_need_moments():
    pairs, _ = example()
    with pytest.raises(ValueError, match="moments"):
        directed_edges(pairs, PairScores(GENES, SCORES["clr"]))


@pytest.mark.parametrize("keep", [{"fdr": 0.05}, {"fdr": 0.05, "top_edges": 60}, {"top_edges": 90}])
@pytest.mark.parametrize("score", ["mi", "clr", "target_z"])
def test_very_many_pairs_in_parts_give_the_same_network(score, keep, monkeypatch):
    pairs, null = example(4)
    tied = Pairs(pairs.i, pairs.j, np.round(pairs.mi_bits, 2), pairs.n_samples)
    moments = naive_moments(tied.i, tied.j, tied.mi_bits, GENES)
    whole = built(tied, null, keep, dpi={"tolerance": 0.1}, score=score, moments=moments)
    monkeypatch.setattr(network, "_PART", 57)
    parts = built(tied, null, keep, dpi={"tolerance": 0.1}, score=score, moments=moments)
    assert parts.edges.equals(whole.edges)
    assert (parts.counts, parts.threshold) == (whole.counts, whole.threshold)


def test_p_values_that_are_not_held_give_the_same_network(monkeypatch):
    values = np.random.default_rng(3).normal(size=(30, 60))
    values[:10] += values[10]
    whole = infer_network(values, backend="cpu")
    monkeypatch.setattr(network, "HELD_PAIRS", 100)
    assert infer_network(values, backend="cpu").equals(whole)
    assert len(whole) == 11


@pytest.mark.parametrize("classes", [1, 2])
def test_draws_of_all_nulls_are_counted_in_the_bins_of_the_scores(classes, monkeypatch):
    monkeypatch.setattr(network, "_PART", 57)
    top = np.log2(10)
    draws = np.random.default_rng(6).gamma(3.0, 0.3, size=(3, 400)).astype(np.float32) * SAMPLES
    draws[:, :5] = 0.0, SAMPLES, 2 * top * SAMPLES, top * SAMPLES, 0.5 * top * SAMPLES
    nulls = list(np.sort(draws[: classes * (classes + 1) // 2]))
    null = Null(nulls, np.arange(GENES, dtype=np.int8) % classes)
    analysis = SimpleNamespace(samples=SAMPLES, top_bits=top)
    merged = MergedResults(pd.DataFrame(), {"histogram": np.arange(16)}, null.arrays())
    made = SimpleNamespace(threshold_value=None)
    found = MutualInformation.result_arrays(analysis, merged, made)
    bits = np.minimum(np.concatenate(nulls) / SAMPLES, top)
    np.testing.assert_array_equal(found["null_counts"], np.histogram(bits, found["edges"])[0])
    assert found["null_counts"].sum() == bits.size
