"""Bootstrap consensus and multiple-testing correction against scipy and direct counting."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile.methods.mutual_information.bootstrap import bootstrap_consensus
from pairtile.statistics.correction import benjamini_hochberg, bonferroni
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


def test_bonferroni_stops_at_one() -> None:
    np.testing.assert_allclose(bonferroni([0.001, 0.5], n_tests=100), [0.1, 1.0])


@given(
    edges=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 5), st.integers(0, 5)), max_size=120),
    distribution=st.sampled_from(["poisson", "binomial"]),
    correction=st.sampled_from(["bonferroni", "bh"]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_consensus_agrees_with_direct_counting(
    edges: Any, distribution: str, correction: str, seed: int
) -> None:
    rows = np.array(sorted(edges), dtype=np.int32).reshape(-1, 3)
    rows = np.random.default_rng(seed).permutation(rows)
    table = bootstrap_consensus(
        *rows.T, n_bootstraps=8, n_possible=40, distribution=distribution, correction=correction
    )
    support = Counter((int(i), int(j)) for _, i, j in rows)
    assert list(zip(table["i"], table["j"], strict=True)) == sorted(support)
    assert table["support"].tolist() == [support[edge] for edge in sorted(support)]
    rate = len(rows) / 40
    chance = stats.poisson(rate) if distribution == "poisson" else stats.binom(8, rate / 8)
    expected = [1 - chance.cdf(k - 1) for k in table["support"]]
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


def test_consensus_of_empty_networks_is_empty() -> None:
    table = bootstrap_consensus([], [], [], n_bootstraps=5, n_possible=10)
    assert len(table) == 0
    assert list(table.columns) == ["i", "j", "support", "p_value", "q_value"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bootstrap": [0, 0], "i": [1, 1], "j": [2, 2]}, r"\(1, 2\) occurs twice in bootstrap 0"),
        ({"bootstrap": [0, 5]}, "expected 0 to 4"),
        ({"i": [1]}, "expected three vectors of one length"),
        ({"n_possible": 1}, "only 1 are possible"),
        ({"distribution": "normal"}, "expected one of poisson, binomial"),
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
