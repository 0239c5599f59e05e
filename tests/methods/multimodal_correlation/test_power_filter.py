"""The power of correlation tests: published values, the golden filter, and odd input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.methods.multimodal_correlation.thresholds import correlation_power, power_filter
from scipy import stats
from statsmodels.stats.power import normal_power_het

CMX = ["x", "y", "cluster", "n_clusters", "n", "r", "samples"]


def test_power_is_that_of_pwr_r_test() -> None:
    # The example of the R package's documentation: r = 0.3, n = 50, sig.level = 0.05, two-sided.
    assert correlation_power([0.3], [50], alpha=0.05)[0] == pytest.approx(0.5715558, abs=5e-8)


def test_power_follows_from_fishers_z_as_statsmodels_has_it() -> None:
    random = np.random.default_rng(0)
    for r, n, alpha in zip(
        random.uniform(0.05, 0.95, 40), random.integers(5, 300, 40), random.uniform(1e-4, 0.1, 40),
        strict=True,
    ):  # fmt: skip
        z = np.arctanh(r) + r / (2 * (n - 1))
        t = stats.t.ppf(1 - alpha / 2, n - 2)
        limit = np.arctanh(t / np.sqrt(n - 2 + t * t))
        # A normal test whose limit is limit * sqrt(n - 3): its own alpha.
        own = 2 * stats.norm.sf(limit * np.sqrt(n - 3))
        expected = normal_power_het(z, n - 3, own)
        assert correlation_power([r], [n], alpha)[0] == pytest.approx(expected, rel=1e-9)


def test_golden_filter_keeps_the_same_modes(shared: Path) -> None:
    folder = shared / "golden" / "multimodal"
    read = {"sep": "\t", "names": CMX, "dtype": {"samples": str}}
    before = pd.read_csv(folder / "rice300.icl_spearman.cmx.txt.gz", **read)
    after = pd.read_csv(folder / "rice300.icl_spearman.paf.cmx.txt.gz", **read)
    _, kept = power_filter(before["r"], before["n"])
    key = ["x", "y", "samples"]
    assert len(before) == 44_651
    ours = pd.MultiIndex.from_frame(before.loc[kept, key])
    assert ours.equals(pd.MultiIndex.from_frame(after[key]))
    assert len(ours) == 4_884


def test_power_grows_with_samples_and_size_and_not_with_sign() -> None:
    r, n = np.linspace(0.0, 1.0, 50), np.arange(4, 200)
    assert (np.diff(correlation_power(r, np.full(50, 20))) >= 0.0).all()
    assert (np.diff(correlation_power(np.full(196, 0.4), n)) > 0.0).all()
    np.testing.assert_array_equal(
        correlation_power(-r, np.full(50, 20)), correlation_power(r, np.full(50, 20))
    )
    assert correlation_power([1.0, -1.0], [4, 4]).tolist() == [1.0, 1.0]


def test_too_few_samples_and_missing_correlations_are_not_kept() -> None:
    power, kept = power_filter([0.99, 0.99, np.nan, 0.99], [3, 0, 50, 50], power=0.0)
    assert np.isnan(power).tolist() == [True, True, True, False]
    assert kept.tolist() == [False, False, False, True]
    assert power_filter([], [])[1].shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [9], 0.0), "alpha is 0.0"),
        (([0.5], [9], 1.0), "alpha is 1.0"),
        (([1.5], [9]), "a correlation is 1.5 in size"),
        (([0.5], [9], 0.01, 1.5), "power is 1.5"),
    ],
)
def test_impossible_arguments_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        power_filter(*arguments)
