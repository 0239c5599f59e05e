"""Bootstrap consensus and multiple-testing correction against scipy and direct counting."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairtile.api.settings import analysis_config
from pairtile.engine.network import Network
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.bootstrap import (
    bootstrap_consensus,
    low_selection_bound,
    resample_samples,
    support_fdr,
    unrelated_genes,
)
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.kernels.permuted_rows_cuda import RowsOnGpu
from pairtile.preprocess.null_design import NullDesign
from pairtile.statistics.correction import benjamini_hochberg
from scipy import stats

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=60).map(np.array)


@given(p=p_values)
@settings(deadline=None)
def test_benjamini_hochberg_agrees_with_scipy(p: np.ndarray) -> None:
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p), rtol=1e-12)


@given(p=p_values, share=st.floats(0, 1))
@settings(deadline=None)
def test_benjamini_hochberg_of_the_smallest_decides_as_that_of_all(
    p: np.ndarray, share: float
) -> None:
    p = np.sort(p)
    part = p[: max(1, round(share * len(p)))]
    whole = stats.false_discovery_control(p)[: len(part)]
    q = benjamini_hochberg(part, n_tests=len(p))
    assert (q >= whole * (1 - 1e-12)).all()
    exact = q <= part[-1]
    np.testing.assert_allclose(q[exact], whole[exact], rtol=1e-12)
    # every rate that the part holds all p-values for is decided the same way
    for rate in part[part < (p[len(part)] if len(part) < len(p) else 2)]:
        assert ((q <= rate * (1 + 1e-12)) == (whole <= rate * (1 + 1e-12))).all()


def test_benjamini_hochberg_of_nothing_is_nothing() -> None:
    assert benjamini_hochberg([], n_tests=10).shape == (0,)


@pytest.mark.parametrize("p", [[-0.1], [1.1], [np.nan]])
def test_impossible_p_values_are_refused(p: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected 0 to 1"):
        benjamini_hochberg(p)


def test_fewer_tests_than_p_values_are_refused() -> None:
    with pytest.raises(ValueError, match="n_tests is 1, but there are 2"):
        benjamini_hochberg([0.1, 0.2], n_tests=1)


@given(
    edges=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 5), st.integers(0, 5)), max_size=120),
    correction=st.sampled_from(["bonferroni", "bh"]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_consensus_agrees_with_direct_counting(edges: Any, correction: str, seed: int) -> None:
    rows = np.array(sorted(edges), dtype=np.int32).reshape(-1, 3)
    rows = np.random.default_rng(seed).permutation(rows)
    table = bootstrap_consensus(*rows.T, n_bootstraps=8, n_possible=40, correction=correction)
    support = Counter((int(i), int(j)) for _, i, j in rows)
    assert list(zip(table["i"], table["j"], strict=True)) == sorted(support)
    assert table["support"].tolist() == [support[edge] for edge in sorted(support)]
    rate = len(rows) / 40
    expected = [1 - stats.poisson(rate).cdf(k - 1) for k in table["support"]]
    np.testing.assert_allclose(table["p_value"], expected, atol=1e-12)
    # edges never seen have P(X >= 0) = 1
    all_p = np.concatenate([table["p_value"], np.ones(40 - len(table))])
    everything = (
        np.minimum(all_p * 40, 1)
        if correction == "bonferroni"
        else stats.false_discovery_control(all_p)
    )
    np.testing.assert_allclose(table["q_value"], everything[: len(table)], rtol=1e-9)


def test_rare_tails_keep_their_size() -> None:
    """100 of 100 bootstraps at a rate near 0.1: far below what 1 - cdf can resolve."""
    rest = np.arange(900)
    bootstrap = np.concatenate([np.arange(100), rest % 100])
    i = np.concatenate([np.zeros(100), 1 + rest]).astype(int)
    table = bootstrap_consensus(bootstrap, i, i + 1, n_bootstraps=100, n_possible=10_000)
    assert 0 < table["p_value"][0] < 1e-100
    assert table["q_value"][0] == pytest.approx(table["p_value"][0] * 10_000)


@pytest.mark.parametrize("n", [60, 61])
def test_halves_come_in_complementary_pairs(n: int) -> None:
    halves = {"number": 4, "resample": "subsample", "fraction": 0.5}
    config = analysis_config(MutualInformationConfig, expression="e.tsv", bootstraps=halves)
    drawn = [resample_samples(config, n, 3, number) for number in range(4)]
    for first, second in (drawn[:2], drawn[2:]):
        assert first.size == second.size == 30
        assert np.unique(np.concatenate([first, second])).size == 60
    assert not np.array_equal(drawn[0], drawn[2])


@pytest.mark.parametrize(
    "settings", [{}, {"resample": "subsample", "fraction": 0.5}, {"resample": "subsample"}]
)
def test_every_bootstrap_of_every_seed_has_samples_of_its_own(settings: dict[str, Any]) -> None:
    config = analysis_config(
        MutualInformationConfig, expression="e.tsv", bootstraps={"number": 6, **settings}
    )
    drawn = {
        resample_samples(config, 60, seed, number).tobytes()
        for seed in range(3)
        for number in range(6)
    }
    assert len(drawn) == 18


def test_shah_and_samworths_bound() -> None:
    # 50 edges a network of 1,000 pairs, 45 of 50 networks: 2500 / (0.8 * 1000).
    assert low_selection_bound(45, 50, 50 * 50, 1000) == pytest.approx(3.125)
    assert low_selection_bound(25, 50, 50 * 50, 1000) == np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bootstrap": [0, 0], "i": [1, 1], "j": [2, 2]}, r"\(1, 2\) occurs twice in bootstrap 0"),
        ({"bootstrap": [0, 5]}, "expected 0 to 4"),
        ({"i": [1]}, "expected three vectors of one length"),
        ({"n_possible": 1}, "only 1 are possible"),
        ({"correction": "holm"}, "expected one of bonferroni, bh"),
    ],
)
def test_bad_consensus_input_is_refused_with_a_reason(change: dict[str, Any], message: str) -> None:
    valid: dict[str, Any] = {
        "bootstrap": [0, 1],
        "i": [0, 1],
        "j": [1, 2],
        "n_bootstraps": 5,
        "n_possible": 3,
    }
    arguments = valid | change
    with pytest.raises(ValueError, match=message):
        bootstrap_consensus(**arguments)


def test_false_discoveries_are_counted_among_unrelated_pairs() -> None:
    """Against a loop over supports."""
    random = np.random.default_rng(0)
    support = np.concatenate([random.integers(1, 6, 300), random.integers(5, 21, 80)])
    unrelated = random.integers(1, 8, 200)
    n_possible, n_null = 4950, 3700.0
    found = support_fdr(support, unrelated, n_possible, n_null)
    tail = {}
    for k in range(1, 21):
        expected = (np.sum(unrelated >= k) + 1) * n_possible / n_null
        tail[k] = min(1.0, expected / max(1, np.sum(support >= k)), tail.get(k - 1, 1.0))
    np.testing.assert_allclose(found["q_value"], [tail[k] for k in support])
    p = [(1 + np.sum(unrelated >= k)) / (1 + n_null) for k in support]
    np.testing.assert_allclose(found["p_value"], p)
    order = np.argsort(support)
    assert (np.diff(found["local_fdr"][order]) <= 1e-12).all()
    assert support_fdr(support[:0], unrelated, 10, 10.0)["q_value"].size == 0
    # Of one support, against the max-min formula of isotonic regression.
    levels = sorted(set(support), reverse=True)
    n_seen = np.array([np.sum(support == k) for k in levels])
    above = [(np.sum(unrelated >= k) + 1) * n_possible / n_null for k in levels]
    of_level = np.diff(above, prepend=0.0)
    for row, k in enumerate(levels):
        means = [
            min(
                of_level[a : b + 1].sum() / n_seen[a : b + 1].sum() for b in range(row, len(levels))
            )
            for a in range(row + 1)
        ]
        np.testing.assert_allclose(found["local_fdr"][support == k], min(max(means), 1.0))
    lowest = found["local_fdr"] == found["local_fdr"].min()
    assert found["local_fdr"][lowest].mean() == pytest.approx(found["q_value"][lowest].max())
    # No unrelated pair has support 8 or more: as many edges as have it, and one, bound the rate.
    best = found["q_value"][support >= 8]
    assert best.max() == pytest.approx(n_possible / n_null / np.sum(support >= 8), rel=0.3)


def test_groups_of_unrelated_genes_lie_a_quarter_of_a_series_apart() -> None:
    design = NullDesign("circular_shift", np.zeros(40, np.int32), np.ones(1, dtype=bool))
    genes = unrelated_genes(np.tile(np.arange(40.0), (60, 1)), design, seed=1)
    assert genes.group is not None
    np.testing.assert_array_equal(genes.z[:, 0], 10 * genes.group)


@pytest.mark.parametrize("shifted", [False, True])
def test_unrelated_genes_keep_their_values_and_lose_their_partners(shifted: bool) -> None:
    random = np.random.default_rng(1)
    z = np.tile(random.normal(size=(2, 40)), (20, 1))  # twenty copies of each of two genes
    z[3, ::5] = np.nan
    series = np.repeat(np.arange(2), 20).astype(np.int32)
    design = NullDesign.permutation(40)
    if shifted:
        design = NullDesign("circular_shift", series, np.ones(2, dtype=bool))
    genes = unrelated_genes(z, design, seed=3)
    np.testing.assert_array_equal(np.sort(genes.z, axis=1), np.sort(z, axis=1))
    correlation = pd.DataFrame(genes.z.T).corr().to_numpy()
    i, j = np.triu_indices(40, 1)
    counted = (
        np.ones(i.size, dtype=bool) if genes.group is None else genes.group[i] != genes.group[j]
    )
    assert np.abs(correlation[i, j][counted]).max() < 0.8
    every = np.ones(40, dtype=bool)
    assert genes.share_counted(every, every) == pytest.approx(counted.mean())
    is_regulator = np.arange(40) < 7
    with_regulator = is_regulator[i] | is_regulator[j]
    assert genes.share_counted(is_regulator, every) == pytest.approx(counted[with_regulator].mean())
    between = is_regulator[i] & ~is_regulator[j]
    found = genes.share_counted(is_regulator, ~is_regulator)
    assert found == pytest.approx(counted[between].mean())
    assert (genes.group is not None) == shifted


def consensus(values: NDArray[np.float64], number: int, **settings: Any) -> Network:
    config = analysis_config(
        MutualInformationConfig,
        expression="e.tsv",
        backend="cpu",
        bootstraps={"number": number, **settings.pop("bootstraps", {})},
        dpi=False,
        **settings,
    )
    opened = open_analysis(values, np.empty(0), config, choose("cpu"))[0]
    tiles = opened.space(opened.state).tiles()
    rows = [
        pd.DataFrame({"bootstrap": b, "unrelated": bool(unrelated), "i": i, "j": j})
        for b in range(number)
        for unrelated, (i, j) in enumerate(opened.bootstrap(tiles, b))
    ]
    merged = opened.merged(tiles, 0)
    return opened.network(replace(merged, bootstraps=pd.concat(rows, ignore_index=True)))


@pytest.mark.gpu
@pytest.mark.parametrize("null", ["permutation", "circular_shift"])
def test_bootstraps_resampled_on_the_gpu_are_those_resampled_by_the_cpu(
    null: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores are the GPU's in both: only who makes the samples differs."""
    values = np.random.default_rng(5).normal(size=(80, 60))
    values[:30] += 2.0 * values[30]
    values[2, ::9] = np.nan
    config = analysis_config(
        MutualInformationConfig,
        expression="e.tsv",
        keep={"p_value": 0.001},
        bootstraps=3,
        null={"kind": null, "permutations": 100_000},
    )
    found = []
    for fits in (True, False):
        monkeypatch.setattr(RowsOnGpu, "fit", lambda device, values, fits=fits: fits)
        opened = open_analysis(values, np.empty(0), config, choose("cuda"))[0]
        tiles = opened.space(opened.state).tiles()
        found.append([part for number in range(3) for part in opened.bootstrap(tiles, number)])
    assert min(part.shape[1] for part in found[0][::2]) > 50
    for of_gpu, of_cpu in zip(*found, strict=True):
        np.testing.assert_array_equal(of_gpu, of_cpu)


KEEP = [
    {"p_value": 0.01},
    pytest.param({"fdr": 0.05}, marks=pytest.mark.complete),
    pytest.param({"top_edges": 60}, marks=pytest.mark.complete),
    pytest.param({"fdr": 0.05, "top_edges": 100}, marks=pytest.mark.complete),
]


@pytest.mark.complete
@pytest.mark.parametrize("keep", KEEP, ids=str)
def test_noise_gives_no_consensus(keep: dict[str, float]) -> None:
    noise = np.random.default_rng(2).normal(size=(50, 60))
    assert len(consensus(noise, 25, keep=keep).edges) == 0
    if "p_value" in keep:  # what ARACNe's Poisson makes of it
        poisson = consensus(noise, 25, keep=keep, bootstraps={"correction": "poisson"})
        assert len(poisson.edges) > 5
        assert "local_fdr" not in poisson.edges


@pytest.mark.parametrize("keep", ["auto", {"p_value": 1e-3}], ids=str)
def test_a_consensus_has_no_more_edges_than_all_samples_and_their_warnings(keep: Any) -> None:
    """Of genes that share a factor, pairs come back in far more networks than unrelated ones."""
    random = np.random.default_rng(4)
    values = random.normal(size=(40, 60)) + 0.8 * random.normal(size=60)
    config = analysis_config(
        MutualInformationConfig, expression="e.tsv", backend="cpu", keep=keep, dpi=False
    )
    opened = open_analysis(values, np.empty(0), config, choose("cpu"))[0]
    alone = opened.network(opened.merged(opened.space(opened.state).tiles(), 0))
    together = consensus(values, 10, keep=keep)
    assert len(alone.edges) > 50
    assert len(alone.edges) / 2 < len(together.edges) <= len(alone.edges)
    assert together.warnings == alone.warnings != []


@pytest.mark.parametrize("keep", KEEP, ids=str)
def test_related_genes_are_found_with_few_others(keep: dict[str, float]) -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=(60, 100))
    values[:30] += 1.5 * np.repeat(random.normal(size=(6, 100)), 5, axis=0)  # six modules of five
    settings = {"estimator": {"bins": 6, "order": 4}, "score": "clr"}
    edges = consensus(values, 25, keep=keep, **settings).edges
    true = (edges["source"] // 5 == edges["target"] // 5) & (edges[["source", "target"]] < 30).all(
        axis=1
    )
    assert true.sum() > 50
    assert (~true).sum() <= 0.15 * len(edges)
    assert (edges["q_value"] <= 0.05).all()
    assert edges["local_fdr"].mean() == pytest.approx(edges["q_value"].max(), rel=0.1)
    assert set(edges["p_method"]) == {"bootstrap null"}


@pytest.mark.parametrize(
    ("n_true", "of_true", "alpha"), [(80, (4, 2), 0.05), (80, (2, 2), 0.2), (400, (1, 1), 0.1)]
)
def test_mean_local_fdr_is_the_share_of_false_edges(
    n_true: int, of_true: tuple[float, float], alpha: float
) -> None:
    """Planted pairs among 2,000, 100 tables: supports out of 30 of a beta-binomial each."""
    random = np.random.default_rng(n_true)
    false, local, cut = [], [], []
    for _ in range(100):
        support, unrelated = random.binomial(30, random.beta(0.3, 8, size=(2, 2000)))
        support[:n_true] = random.binomial(30, random.beta(*of_true, size=n_true))
        seen = np.flatnonzero(support)
        found = support_fdr(support[seen], unrelated[unrelated > 0], 2000, 2000.0)
        edges = found["q_value"] <= alpha
        if edges.any():
            false.append(np.mean(seen[edges] >= n_true))
            local.append(found["local_fdr"][edges].mean())
            cut.append(found["q_value"][edges].max())
    assert len(false) > 60
    # Unrelated pairs are counted among all 2,000, of which some are true: a little too many.
    error = 4 * np.std(false) / np.sqrt(len(false)) + alpha * n_true / 2000
    assert np.mean(local) == pytest.approx(np.mean(false), abs=error)
    assert np.mean(cut) == pytest.approx(np.mean(false), abs=error)
    assert np.mean(false) <= alpha


@pytest.mark.parametrize("keep", [{"top_edges": 60}, {"score": 0.2}], ids=str)
def test_bootstraps_draw_no_null_that_decides_nothing(
    keep: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(3).normal(size=(40, 60))
    values[:9] += values[0]
    how: dict[str, Any] = {"score": "mi", "dpi": False, "estimator": {"bins": 6}, "bootstraps": 4}
    config = analysis_config(
        MutualInformationConfig, expression="e.tsv", backend="cpu", keep=keep, **how
    )
    networks, draws = [], []
    for decides in (True, False):
        monkeypatch.setattr(KeepGenePairs, "by_p_value", decides)
        opened = open_analysis(values.copy(), np.empty(0), config, choose("cpu"))[0]
        tiles = opened.space(opened.state).tiles()
        networks.append([part for k in range(2) for part in opened.bootstrap(tiles, k)])
        draws.append(opened.resampled(np.arange(60)).null(0)["lengths"].sum())
        assert opened.null(0)["lengths"].sum() >= 1e5  # of the network, which gives p-values
    assert draws[0] >= 1e5
    assert draws[1] == 0
    for with_null, without in zip(*networks, strict=True):
        assert with_null.shape[1] > 10
        np.testing.assert_array_equal(with_null, without)


def test_the_consensus_of_halves_says_where_the_bound_would_cut() -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=(60, 100))
    values[:30] += 1.5 * np.repeat(random.normal(size=(6, 100)), 5, axis=0)
    halves = {"resample": "subsample", "fraction": 0.5}
    settings: dict[str, Any] = {
        "score": "mi",
        "keep": {"top_edges": 60},
        "bootstraps": halves,
    }
    [note] = consensus(values, 10, **settings).notes
    held, least = (int(k) for k in re.findall(r"of the (\d+) pairs that (\d+) or more", note)[0])
    assert 5 < least <= 10
    assert held >= 40
    assert not consensus(values, 9, **settings).notes  # the last has no other half
    [note] = consensus(random.normal(size=(60, 100)), 10, **settings).notes
    assert "for no number of halves" in note
