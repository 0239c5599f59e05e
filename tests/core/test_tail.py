"""p-values of draws, counted and by the fitted tail."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.downstream.target_enrichment import rank_profiles, target_enrichment
from pairtile.statistics.hidden_factors import Exchange
from pairtile.statistics.tail import TAIL_DRAWS, tail_p_values
from scipy.stats import expon


def of_draws(null: np.ndarray, observed: np.ndarray) -> np.ndarray:
    null = np.sort(null)[::-1]
    as_large = (null[None, :] >= observed[:, None]).sum(axis=1)
    return tail_p_values(observed, as_large, null.size, null[: TAIL_DRAWS + 1])


def test_counting_holds_where_draws_are_many_and_the_tail_goes_on_beyond() -> None:
    random = np.random.default_rng(1)
    null, observed = random.exponential(size=20_000), np.array([0.0, 1.0, 5.0, 12.0, 14.0, 40.0])
    found = of_draws(null, observed)
    np.testing.assert_allclose(found[:3], expon.sf(observed[:3]), rtol=0.1)
    assert 0.1 < found[3] / expon.sf(12.0) < 10.0
    assert (np.diff(found) < 0).all()
    assert found[-1] == pytest.approx(1e-3 / 20_001)  # no smaller than draws can say


def test_p_values_of_unrelated_values_are_uniform() -> None:
    random = np.random.default_rng(2)
    found = np.concatenate(
        [of_draws(random.normal(size=2000), random.normal(size=2000)) for _ in range(50)]
    )
    for level in (0.05, 1e-3, 1e-4):
        assert (found <= level).mean() <= 1.5 * level


def test_few_draws_are_counted() -> None:
    assert of_draws(np.arange(30.0), np.array([100.0])) == pytest.approx(1 / 31)


def test_one_regulator_among_many_can_be_significant() -> None:
    """2,000 draws leave p at 5e-4, which is no q of 0.05 of one in 300."""
    random = np.random.default_rng(3)
    profiles = random.normal(size=(300, 60))
    genes = random.normal(size=(400, 60))
    targets = random.random((300, 400)) < 0.1
    genes[targets[0]] -= 0.8 * profiles[0]
    given = rank_profiles(profiles), rank_profiles(genes), targets
    exchange = Exchange(np.zeros(60, dtype=np.int64), np.zeros(1, dtype=bool))
    found = target_enrichment(*given, exchange, draws=2000)
    p = found.each["p_value"]
    assert p[0] < 0.05 / 300
    assert (p[1:] <= 0.05).mean() < 0.08
