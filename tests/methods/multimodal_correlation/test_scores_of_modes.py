"""Kendall's tau and bicor within modes agree with scipy and a reference, on the modes' samples."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from backends import both_backends
from mixture_modes import keys_of, members, mixed_table, mixture_config
from pairtile import multimodal_correlation
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.plain_correlation import pair_scorer
from scipy import stats

KINDS = ("kendall", "bicor")


def awkward_table():
    """Genes of several modes, with missing values, ties, outliers; modes of one value, or where
    most values are equal; tiny and huge ones, and some moved far from 0."""
    values = mixed_table()
    random = np.random.default_rng(8)
    halves = np.repeat([0.0, 9.0], [40, values.shape[1] - 40])
    floor = np.where(random.random(75) < 0.6, 0.0, random.normal(size=75))
    skewed = np.exp(random.normal(size=75)) + halves
    more = np.stack([halves, halves + random.normal(size=75), np.round(halves + floor), skewed])
    more = np.concatenate([more, more[1:2] * 1e-200, values[:1] * 1e150, values[:1] + 1e6])
    return np.concatenate([values, np.round(values), more])


def found_modes(values, kind, backend="cpu", genes=None, **changes):
    """Modes of all pairs, and their p-values."""
    given = {"min_samples": 3, "min_correlation": 0.0, **changes}
    config = mixture_config(correlation=kind, **given)
    scorer = pair_scorer(config, values, keys_of(len(values)), choose(backend), 0)
    genes = np.arange(len(values)) if genes is None else genes
    modes = scorer.tile(genes, genes, upper=True)
    p = scorer.p_values(modes, genes, genes) if kind in KINDS else None
    return modes, p


def weighted(values):
    """What the biweight midcorrelation is Pearson's of, but for the mean: one gene, one mode."""
    apart = values - np.median(values)
    spread = np.median(np.abs(apart))
    if spread == 0:
        return values - values.mean()
    u = apart / (9 * spread)
    return apart * np.where(np.abs(u) < 1, (1 - u**2) ** 2, 0)


def bicor(x, y):
    """The correlation, and Student's p-value of Pearson's of its rows."""
    rows = [weighted(each / np.abs(each).max()) for each in (x, y)]
    r = rows[0] @ rows[1] / np.sqrt((rows[0] @ rows[0]) * (rows[1] @ rows[1]))
    return r, stats.pearsonr(*rows).pvalue if len(x) > 2 else np.nan


def kendall(x, y):
    found = stats.kendalltau(x, y, method="asymptotic")
    return found.statistic, found.pvalue


@pytest.mark.parametrize("kind", KINDS)
@both_backends
def test_each_mode_has_the_score_of_its_samples(backend, kind):
    values = awkward_table()
    of_ranks, _ = found_modes(values, "spearman", backend)
    modes, p = found_modes(values, kind, backend)
    for part in fields(modes):  # the modes themselves are those of Spearman's
        if part.name not in ("correlation", "histogram_r"):
            np.testing.assert_equal(getattr(modes, part.name), getattr(of_ranks, part.name))
    who = members(modes, values.shape[1])
    naive = {"kendall": kendall, "bicor": bicor}[kind]
    scores = [
        naive(values[i, inside], values[j, inside])
        for i, j, inside in zip(modes.row, modes.column, who, strict=True)
    ]
    r, expected = np.transpose(scores)
    assert (modes.n_modes > 1).sum() > 50
    assert modes.counts["modes_undefined"] > 0  # constant in a mode
    assert (modes.n_samples < 10).any()
    assert np.isnan(values[modes.row[:, None], np.arange(75)]).any()
    np.testing.assert_allclose(modes.correlation, r, atol=6e-8)
    np.testing.assert_allclose(p, expected, rtol=1e-7, atol=1e-12)
    edges = np.linspace(-1, 1, 201)[1:]
    up_to = np.cumsum(modes.histogram_r)
    assert ((r[:, None] < edges - 1e-9).sum(axis=0) <= up_to).all()
    assert (up_to <= (r[:, None] < edges + 1e-9).sum(axis=0)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_modes_within_the_limits_are_numbered_anew(kind):
    values = awkward_table()
    every, p = found_modes(values, kind)
    modes, p_of_kept = found_modes(values, kind, min_correlation=0.2, max_correlation=0.8)
    size = np.abs(every.correlation)
    kept = (size >= 0.2) & (size <= 0.8)
    assert 50 < kept.sum() < len(every) - 50
    np.testing.assert_array_equal(p_of_kept, p[kept])
    for part in fields(modes):
        there = getattr(every, part.name)
        if part.name not in ("cluster", "n_clusters", "counts") and len(there) == len(every):
            np.testing.assert_equal(getattr(modes, part.name), there[kept])
    pairs = pd.DataFrame({"row": modes.row, "column": modes.column}).groupby(["row", "column"])
    np.testing.assert_array_equal(modes.cluster, pairs.cumcount() + 1)
    np.testing.assert_array_equal(modes.n_clusters, pairs["row"].transform("size"))
    assert modes.counts["modes_kept"] == kept.sum()
    assert modes.counts["modes_below"] == len(every) - kept.sum()
    np.testing.assert_array_equal(modes.histogram_r, every.histogram_r)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_do_not_depend_on_which_pairs_are_scored_together(kind):
    values = awkward_table()
    modes, p = found_modes(values, kind)
    some = np.array([2, 5, 9, len(values) - 3])
    alone, p_alone = found_modes(values, kind, genes=some)
    here = np.isin(modes.row, some) & np.isin(modes.column, some)
    np.testing.assert_array_equal(alone.correlation, modes.correlation[here])
    np.testing.assert_array_equal(p_alone, p[here])


@pytest.mark.parametrize("shape", ["normal", "skewed", "tied"])
@pytest.mark.parametrize("kind", KINDS)
def test_p_values_of_unrelated_modes_are_uniform(kind, shape):
    """Two modes far apart in both genes, which have nothing to do with each other within either."""
    random = np.random.default_rng(5)
    values = random.normal(size=(90, 100))
    if shape == "skewed":
        values = np.exp(0.6 * values)
    if shape == "tied":
        values = np.round(1.5 * values)
    second = np.arange(100) >= 45
    values[:, second] += 25.0
    settings = {"outliers_before": False, "outliers_after": False, "max_clusters": 2}
    modes, p = found_modes(values, kind, min_samples=30, min_clusters=2, **settings)
    who = members(modes, 100)
    as_planted = (who == second).all(axis=1) | (who == ~second).all(axis=1)
    assert as_planted.sum() > 0.9 * 90 * 89
    p = p[as_planted]
    for level in (0.01, 0.05, 0.5):  # p-values of two pairs are independent, also of one gene
        spread = np.sqrt(level * (1 - level) / p.size)
        assert abs((p <= level).mean() - level) < 4 * spread, level


@pytest.mark.filterwarnings("ignore")  # the first component is the half that genes share
@pytest.mark.parametrize("kind", KINDS)
def test_modes_that_go_together_make_the_network(kind):
    """A pair in two modes of opposite sign, one together in half of the samples; the rest noise."""
    random = np.random.default_rng(2)
    values = random.normal(size=(16, 160))
    half = random.permutation(160) < 80
    for a, b in ((0, 1), (2, 3)):
        values[b, half] = values[a, half] + 0.4 * random.normal(size=80)
    values[1, ~half] = -values[0, ~half] + 0.4 * random.normal(size=80)
    values[:4] += 9.0 * half
    table = pd.DataFrame(values, [f"g{k}" for k in range(16)])
    found = multimodal_correlation(
        table, correlation=kind, max_clusters=3, preprocess={"log2": False}, backend="cpu",
        min_correlation=0.3,
    )  # fmt: skip
    edges = found.network(threshold={"method": "fdr", "fdr": 0.05}).edges
    assert set(zip(edges["source"], edges["target"], strict=True)) == {("g0", "g1"), ("g2", "g3")}
    signs = edges.groupby("source")["correlation"].agg(lambda r: sorted(np.sign(r)))
    assert signs.to_dict() == {"g0": [-1.0, 1.0], "g2": [1.0]}
    assert (edges["q_value"] <= 0.05).all()
