"""The permutation null of modes and ``threshold: {method: fdr}``."""

from __future__ import annotations

import math
import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile import ModeCorrelation, multimodal_correlation
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.null import (
    ModeNull,
    draws_needed,
    log_orders,
    mode_null,
    permuted_genes,
)
from scipy import stats
from scipy.signal import lfilter

CPU = Device("cpu", "", "")


def table_state(values: NDArray[np.float64], **design: NDArray) -> dict[str, NDArray]:
    keys = np.random.default_rng(8).integers(1 << 60, size=len(values)).astype(np.uint64)
    return {"values": values, "keys": keys, **design}


def with_gaps(genes: int, samples: int) -> NDArray[np.float64]:
    random = np.random.default_rng(5)
    values = random.normal(size=(genes, samples))
    values[random.random(values.shape) < 0.2] = np.nan
    values[0] = np.nan
    return values


# --- what is permuted ---


def test_no_p_value_is_below_one_in_the_orders_of_a_gene() -> None:
    """A gene that is above zero in one of 30 samples meets another there once in 30 tables."""
    values = np.zeros((4, 30))
    values[0, 3], values[1, :3], values[2] = 1.0, 1.0, np.arange(30)
    values[3, :2], values[3, 20:] = (1.0, 2.0), np.nan
    orders = [30, math.comb(30, 3), math.factorial(30), 20 * 19]
    np.testing.assert_allclose(log_orders(values), [math.log(each) for each in orders])


def test_rare_genes_that_meet_in_a_sample_have_no_edge() -> None:
    random = np.random.default_rng(2)
    values = random.normal(size=(60, 30))
    values[:12] = values[0] + 0.4 * random.normal(size=(12, 30))
    values[50:] = 0.0
    values[50:, 7] = 1.0
    found = multimodal_correlation(
        values, clustering="none", correlation="bicor", min_correlation=0.0, min_samples=10,
        preprocess={"log2": False, "sample_scale": False, "min_samples": 10}, backend="cpu",
    )  # fmt: skip
    edges = found.network("fdr", power=False, modules=False).edges
    assert len(edges) >= 50
    assert (edges[["source", "target"]] < 50).all(axis=None)


def test_each_copy_holds_the_values_of_its_gene_and_misses_the_same_samples() -> None:
    values = with_gaps(6, 40)
    genes, copies = permuted_genes(table_state(values), 1, 20)
    assert np.ptp(np.bincount(genes)) <= 1
    np.testing.assert_array_equal(np.isnan(copies), np.isnan(values[genes]))
    np.testing.assert_array_equal(np.sort(copies, axis=1), np.sort(values[genes], axis=1))
    assert not np.array_equal(copies, values[genes], equal_nan=True)


def test_a_batch_keeps_its_values() -> None:
    values, batch = with_gaps(5, 30), np.repeat([1, 0, 2], [12, 8, 10]).astype(np.int32)
    genes, copies = permuted_genes(table_state(values, sample_batch=batch), 1, 10)
    for b in range(3):
        here = batch == b
        np.testing.assert_array_equal(
            np.sort(copies[:, here], axis=1), np.sort(values[genes][:, here], axis=1)
        )


def test_a_time_course_is_shifted_round() -> None:
    values = np.tile(np.arange(24.0), (3, 1))
    values[2, 5] = np.nan
    series = np.repeat([0, 1], [14, 10]).astype(np.int32)
    genes, copies = permuted_genes(table_state(values, sample_series=series), 1, 9)
    for gene, copy in zip(genes, copies, strict=True):
        for course in (slice(0, 14), slice(14, 24)):
            before, after = values[gene, course], copy[course]
            before, after = before[~np.isnan(before)], after[~np.isnan(after)]
            assert any(np.array_equal(np.roll(before, k), after) for k in range(before.size))


def test_every_copy_is_shifted_by_a_number_of_its_own() -> None:
    values, series = np.arange(50.0)[None], np.zeros(50, dtype=np.int32)
    _, copies = permuted_genes(table_state(values, sample_series=series), 1, 40)
    assert np.unique(copies[:, 0]).size > 15


def test_copies_of_a_gene_make_no_pair() -> None:
    settings = {"clustering": "none", "min_samples": 10}
    config = MultimodalCorrelationConfig.model_validate(
        {"method": "multimodal_correlation", "expression": "x.tsv", "estimator": settings}
    )
    values = np.random.default_rng(2).normal(size=(3, 40))
    null = mode_null(config, table_state(values), CPU, 1, 300)
    assert null.modes == null.pairs >= 300


def test_samples_that_follow_each_other_are_shifted_though_nothing_is_stated() -> None:
    values = with_gaps(5, 30)
    alike = table_state(values, order_autocorrelation=np.array([0.5, 0.1]))
    genes, copies = permuted_genes(alike, 1, 10)
    for gene, copy in zip(genes, copies, strict=True):
        assert any(
            np.array_equal(np.roll(values[gene], k), copy, equal_nan=True) for k in range(30)
        )
    # Series of one sample have no order: their values are exchanged.
    single = table_state(values, sample_series=np.arange(30, dtype=np.int32))
    genes, copies = permuted_genes(single, 1, 10)
    assert not np.array_equal(copies, values[genes], equal_nan=True)


def test_no_edges_among_unrelated_slow_genes() -> None:
    random = np.random.default_rng(6)
    values = lfilter([1.0], [1.0, -0.8], random.normal(size=(60, 300)), axis=1)[:, 200:]
    with pytest.warns(UserWarning, match="Neighbouring samples are alike"):
        found = multimodal_correlation(
            values, clustering="none", min_correlation=0.3, preprocess={"log2": False}
        )
    with pytest.warns(UserWarning, match="The network is empty"):
        assert found.network("fdr", power=False, modules=False).edges.empty


def test_draws_depend_on_seed_and_names_not_on_the_order_of_genes() -> None:
    state = table_state(with_gaps(7, 40)[1:])
    genes, copies = permuted_genes(state, 1, 15)
    order = np.random.default_rng(1).permutation(6)
    moved = {"values": state["values"][order], "keys": state["keys"][order]}
    again, same = permuted_genes(moved, 1, 15)
    np.testing.assert_array_equal(order[again], genes)
    np.testing.assert_array_equal(same, copies)
    assert not np.array_equal(permuted_genes(state, 2, 15)[1], copies, equal_nan=True)


# --- p- and q-values ---


def slow_p(r: float, n: int, null_r: NDArray, null_n: NDArray) -> float:
    """By counting, one class."""

    def strength(r: float, n: int) -> float:
        return -(n - 2) / 2 * np.log(1 - np.float64(np.float32(r)) ** 2)

    reach = sum(strength(a, b) >= strength(r, n) for a, b in zip(null_r, null_n, strict=True))
    return (1 + reach) / (1 + len(null_r))


def slow_q(p: NDArray, expected: float) -> list[float]:
    rates = [min(1.0, expected * one / np.sum(p <= one)) for one in p]
    return [min(rate for rate, other in zip(rates, p, strict=True) if other >= one) for one in p]


def test_p_values_count_and_q_values_divide() -> None:
    random = np.random.default_rng(2)
    null_n = random.integers(30, 60, size=1500)
    null_r = np.tanh(random.normal(size=1500) / np.sqrt(null_n - 3)).astype(np.float32)
    null = ModeNull.of_modes(1000, null_r, null_n)
    n = random.integers(30, 60, size=80)
    r = np.tanh(random.normal(size=80) * 1.3 / np.sqrt(n - 3)).astype(np.float32)
    r[:3] = r[3]
    n[:3] = n[3]
    p = null.p_value(r, n)
    counted = np.array([slow_p(a, b, null_r, null_n) for a, b in zip(r, n, strict=True)])
    beyond = counted * 1501 - 1 < 10
    assert 0 < beyond.sum() < 30
    np.testing.assert_allclose(p[~beyond], counted[~beyond], rtol=1e-12)
    assert (p[beyond] <= 11 / 1501).all()
    assert (p[beyond] > 0).all()
    q = null.q_value(p, 5000)
    np.testing.assert_allclose(q, slow_q(p, 1500 / 1000 * 5000), rtol=1e-12)


def test_the_tail_goes_on_as_that_of_a_correlation() -> None:
    random = np.random.default_rng(3)
    n = np.full(100_000, 50)
    t = random.standard_t(48, size=n.size)
    null = ModeNull.of_modes(n.size, t / np.sqrt(48 + t * t), n)
    r = np.array([0.3, 0.5, 0.6, 0.7, 0.8])
    exact = 2 * stats.t.sf(r * np.sqrt(48 / (1 - r * r)), 48)
    p = null.p_value(r, n[:5])
    assert (np.abs(np.log10(p / exact)) < [0.1, 0.5, 1.0, 1.5, 2.5]).all()
    assert (p[2:] >= exact[2:] / 3).all(), "never much too small"
    assert null.p_value([1.0, -1.0], [50, 50]).tolist() == [null.p_value([1.0], [50])[0]] * 2


def test_small_modes_are_held_against_small_modes() -> None:
    random = np.random.default_rng(4)
    n = np.repeat([30, 90], 5000)
    z = random.normal(size=n.size) * np.where(n == 30, 3.0, 1.0)  # selected: larger than by chance
    null = ModeNull.of_modes(5000, np.tanh(z / np.sqrt(n - 3)), n)
    assert null.limits.tolist() == [30]
    p = null.p_value(np.tanh(np.array([3.0, 3.0]) / np.sqrt([27, 87])), [30, 90])
    assert p[0] == pytest.approx(0.317, abs=0.02)
    assert p[1] == pytest.approx(0.0027, abs=0.002)


def test_without_any_null_mode_nothing_is_certain() -> None:
    null = ModeNull.of_modes(100, [], [])
    assert null.p_value([0.9], [40]).tolist() == [1.0]
    assert null.q_value(np.array([1.0]), 1000).tolist() == [1.0]
    assert null.q_value(np.empty(0), 1000).size == 0


@pytest.mark.parametrize(
    ("genes", "rate", "draws"),
    [(20, 0.05, 20_000), (1000, 0.05, 99_900), (10_000, 0.05, 999_900), (300, 1e-4, 44_850)],
)
def test_draws_grow_with_the_genes_and_never_beyond_the_pairs(
    genes: int, rate: float, draws: int
) -> None:
    assert draws_needed(genes, rate) == draws


# --- the whole ---


def test_p_values_of_independent_genes_are_uniform() -> None:
    values = np.exp(np.random.default_rng(6).normal(size=(40, 60)))
    config = MultimodalCorrelationConfig.model_validate(
        {"method": "multimodal_correlation", "expression": "x", "estimator": {"max_clusters": 2}}
    )
    state = table_state(values)
    null = mode_null(config, state, CPU, 1, 3000)
    found = multimodal_correlation(
        values, max_clusters=2, min_correlation=0.0, preprocess={"log2": False}
    ).modes
    p = null.p_value(found["correlation"], found["n_samples"])
    assert null.modes > 2000
    for level in (0.5, 0.1, 0.01):
        assert (p <= level).mean() == pytest.approx(level, abs=4 * np.sqrt(level / len(p)))


def test_few_of_the_edges_are_false_and_noise_has_none() -> None:
    random = np.random.default_rng(7)
    modules = np.repeat(random.normal(size=(8, 70)), 5, axis=0) + 0.8 * random.normal(size=(40, 70))
    noise = np.exp(random.normal(size=(40, 70)))
    both = multimodal_correlation(
        np.concatenate([modules, noise]),
        clustering="none",
        min_correlation=0.2,
        preprocess={"log2": False},
    )
    network = both.network("fdr", power=False)
    edges = network.edges
    true = (edges["source"] // 5 == edges["target"] // 5) & (edges["target"] < 40)
    assert true.sum() >= 60
    assert (~true).mean() <= 0.1
    assert (edges["q_value"] <= 0.05).all()
    assert edges["p_value"].between(0, 0.05).all()
    assert network.threshold == pytest.approx(edges["correlation"].abs().min())
    assert network.counts["null_pairs"] >= 20_000
    none = multimodal_correlation(
        noise, clustering="none", min_correlation=0.2, preprocess={"log2": False}
    )
    with pytest.warns(UserWarning, match="false discovery rate"):
        empty = none.network("fdr", power=False)
    assert empty.edges.empty
    assert "q_value" in empty.edges
    assert empty.threshold is None
    strict = both.network({"method": "fdr", "fdr": 0.001}, power=False).edges
    assert set(map(tuple, strict[["source", "target"]].to_numpy())) < set(
        map(tuple, edges[["source", "target"]].to_numpy())
    )


def modules(n_modules: int, n_alone: int) -> NDArray[np.float64]:
    """Genes in modules of 20 (r = 0.6), and some in none; 60 samples."""
    random = np.random.default_rng(9)
    shared = np.repeat(random.normal(size=(n_modules, 60)), 20, axis=0)
    together = np.sqrt(0.6) * shared + np.sqrt(0.4) * random.normal(size=shared.shape)
    return np.concatenate([together, random.normal(size=(n_alone, 60))])


@cache
def plain_modes(n_modules: int, n_alone: int) -> ModeCorrelation:
    return multimodal_correlation(
        modules(n_modules, n_alone),
        clustering="none",
        min_correlation=0.3,
        preprocess={"log2": False},
    )


@pytest.mark.parametrize("n_genes", [300, 1200])
def test_a_random_matrix_threshold_in_noise_brings_a_warning(n_genes: int) -> None:
    found = plain_modes(0, n_genes)
    with pytest.warns(UserWarning, match="expected by chance.*method: fdr"):
        network = found.network({"method": "rmt", "step": 0.01}, power=False, modules=False)
    assert network.threshold is not None, "in noise"
    assert len(network.edges) > 0


def test_a_random_matrix_threshold_of_modules_brings_none() -> None:
    found = plain_modes(40, 400)
    network = found.network({"method": "rmt", "step": 0.005}, power=False, modules=False)
    assert network.threshold is not None
    assert not network.warnings
    (note,) = [note for note in network.notes if "permuted genes" in note]
    stated = float(re.search(r"\(([0-9.]+) of them\)", note)[1])
    true = (network.edges["source"] // 20 == network.edges["target"] // 20) & (
        network.edges["source"] < 800
    )
    assert 0.0 < (~true).mean() <= 0.05
    assert stated == pytest.approx((~true).mean(), rel=0.5)


@pytest.mark.parametrize(
    ("n_modules", "n_genes", "code", "taken"),
    [
        (0, 1200, "threshold_auto_chance", "fdr"),
        (40, 1200, "threshold_auto_rmt", "rmt"),
        (10, 300, "threshold_auto_few_genes", "fdr"),
    ],
)
def test_auto_takes_random_matrix_theory_where_it_holds(
    n_modules: int, n_genes: int, code: str, taken: str
) -> None:
    found = plain_modes(n_modules, n_genes - 20 * n_modules)
    step = {"step": 0.01}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in noise no edge is left
        network = found.network({"method": "auto", **step}, power=False, modules=False)
        same = found.network(
            {"method": taken, **(step if taken == "rmt" else {})}, power=False, modules=False
        )
    pd.testing.assert_frame_equal(network.edges, same.edges)
    assert ("q_value" in network.edges) == (taken == "fdr")
    [said] = [note for note in network.notes if note.code.startswith("threshold_auto")]
    assert (said.code, said.severity) == (code, "note")
    assert len(network.curve) == 0 if "few_genes" in code else len(network.curve) > 10
    if "few_genes" in code:
        assert said.numbers == {"genes": 300, "least": 1000}
    else:
        assert (said.numbers["share"] > 0.05) == (taken == "fdr")
        expected = (1 + said.numbers["reaching"]) * said.numbers["modes"] ** -1
        expected *= n_genes * (n_genes - 1) / 2 / said.numbers["permuted"]
        assert said.numbers["share"] == pytest.approx(min(1.0, expected))


def test_auto_takes_a_false_discovery_rate_where_no_random_matrix_threshold_is_found() -> None:
    found = plain_modes(40, 400)
    walk = {"method": "auto", "step": 0.02, "stop": 0.95}
    network = found.network(walk, power=False, modules=False)
    assert [n.code for n in network.notes if "rmt" in n] == ["threshold_auto_not_found"]
    assert (network.edges["q_value"] <= 0.05).all()
    assert len(network.edges) > 1000


def test_auto_takes_a_false_discovery_rate_beside_regulators() -> None:
    values = pd.DataFrame(modules(10, 100)).rename(index="g{}".format)
    found = multimodal_correlation(
        values, clustering="none", min_correlation=0.3, regulators=["g0", "g21", "g250"]
    )
    network = found.network(power=False, modules=False)
    assert [n.code for n in network.notes if "rmt" in n] == ["threshold_auto_regulators"]
    assert set(network.edges["source"]) <= {"g0", "g21", "g250"}
    pd.testing.assert_frame_equal(network.edges, found.network("fdr", power=False).edges)
