"""The power-law threshold against a plain reference and networks of known kind."""

from __future__ import annotations

import igraph
import naive_random_matrix as naive
import numpy as np
import pytest
from pairtile.methods.multimodal_correlation.thresholds import (
    RankedPairs,
    scale_free_fit,
    scale_free_threshold,
)


@pytest.mark.parametrize("seed", range(8))
def test_fit_agrees_with_the_plain_way(seed):
    degrees = np.random.default_rng(seed).zipf(1.7 + seed / 5, 400).clip(max=300)
    fit, _ = scale_free_fit(degrees)
    assert fit == pytest.approx(naive.scale_free_fit(degrees.tolist()), abs=1e-12)


def test_degrees_on_a_power_law_fit_perfectly():
    # Degrees 10, 20, ..., 100, each on its own in a bin, as often as 10,000 / degree.
    degree = np.arange(10, 101, 10)
    fit, slope = scale_free_fit(np.repeat(degree, 252_000 // degree))
    assert fit == pytest.approx(1, abs=1e-9)
    assert slope == pytest.approx(-1, abs=1e-6)


@pytest.mark.parametrize("degrees", [[], [3], [2, 2, 2], [1, 1, 50, 90], [1, 2, 3]])
def test_fewer_than_four_ranges_of_degree_are_not_judged(degrees):
    assert np.isnan(scale_free_fit(degrees)).all()


def test_equally_many_genes_at_every_degree_have_no_fit():
    assert scale_free_fit(range(1, 11))[0] == 0


def planted(seed: int = 1):
    """Pairs above 0.8 of a network grown by preferential attachment, those below by chance."""
    import random

    random.seed(seed)
    draws = np.random.default_rng(seed)
    ends = np.array(igraph.Graph.Barabasi(1500, 3).get_edgelist())
    noise = np.sort(draws.integers(0, 1500, (60_000, 2)), axis=1)
    noise = noise[noise[:, 0] != noise[:, 1]]
    r = np.concatenate([draws.uniform(0.8, 1, len(ends)), draws.uniform(0.75, 0.8, len(noise))])
    i, j = np.concatenate([ends, noise]).T
    return i, j, r * draws.choice([-1, 1], r.size)


def test_threshold_is_where_the_planted_network_ends_in_any_order():
    i, j, r = planted()
    found = scale_free_threshold(RankedPairs.of_modes(i, j, r, 1500), fit=0.8)
    assert 0.78 <= found.threshold <= 0.8
    assert found.curve["fit"].iloc[-1] < 0.8
    order = np.random.default_rng(0).permutation(i.size)
    again = scale_free_threshold(RankedPairs.of_modes(j[order], i[order], r[order], 1500), fit=0.8)
    assert again.message == found.message
    assert again.curve.equals(found.curve)


def test_curve_agrees_with_the_plain_way():
    i, j, r = naive.modules_and_noise(300, 15, seed=5)
    found = scale_free_threshold(RankedPairs.of_modes(i, j, r, 300), step=0.05)
    for row in found.curve.itertuples():
        strong = np.abs(r) >= np.float32(row.threshold)
        degree = np.bincount(np.concatenate([i[strong], j[strong]]), minlength=300)
        degree = degree[degree > 0]
        assert (row.genes, row.edges) == (degree.size, strong.sum())
        if degree.size >= 50:
            assert row.mean_degree == pytest.approx(2 * row.edges / row.genes)
            assert row.max_degree == degree.max()
            expected = naive.scale_free_fit(degree.tolist())
            assert row.fit == pytest.approx(expected, abs=1e-12, nan_ok=True)
        else:
            assert np.isnan(row.fit)
    assert found.curve["fit"].notna().any()
    best = found.curve[found.curve["fit"] >= 0.8]
    assert found.threshold == (best["threshold"].min() if len(best) else None)


def test_the_lowest_threshold_on_the_rice_example_reaches_the_fit(shared):
    import gzip

    path = shared / "golden" / "multimodal" / "rice1166.trad_spearman.cmx.nosamples.txt.gz"
    with gzip.open(path) as stream:
        later, earlier, r = np.loadtxt(stream, usecols=(0, 1, 5)).T
    found = scale_free_threshold(
        RankedPairs.of_modes(earlier.astype(int), later.astype(int), r, 1166)
    )
    assert found.threshold == 0.72
    fits = found.curve.set_index("threshold")["fit"]
    assert fits[0.72] >= 0.8
    assert (fits[fits.index < 0.72] < 0.8).all()


def test_a_fit_that_is_never_reached_says_the_best():
    i, j, r = planted()
    found = scale_free_threshold(RankedPairs.of_modes(i, j, r, 1500), fit=1.0)
    assert found.threshold is None
    assert f"the best power-law fit is {found.curve['fit'].max():.3f}" in found.message


def test_too_few_genes_and_no_pairs_say_so():
    found = scale_free_threshold(RankedPairs.of_modes([0, 1], [1, 2], [0.9, 0.8], 3))
    assert found.threshold is None
    assert "nowhere are there 50 genes" in found.message
    assert scale_free_threshold(RankedPairs.of_modes([], [], [], 3)).threshold is None
    above = scale_free_threshold(RankedPairs.of_modes([0, 1], [1, 2], [1.0, 1.0], 3))
    assert "above the start" in above.message


@pytest.mark.parametrize("settings", [{"fit": 0}, {"fit": 1.1}, {"step": 0}, {"start": 2}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match="expected"):
        scale_free_threshold(RankedPairs.of_modes([0], [1], [0.9], 2), **settings)
