"""Modes of pairs: kernels against a slow float64 reference, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from mixture_modes import (
    agreement,
    assert_same,
    members,
    mixed_table,
    modes_of,
)
from pairtile.methods.multimodal_correlation.mixtures import (
    mixture_genes,
)
from pairtile.simulate.modes import simulate_modes

complete = pytest.mark.complete


@both_backends
@pytest.mark.parametrize(
    ("criterion", "genes"),
    [
        ("icl", slice(3, 13)),
        pytest.param("icl", slice(None), marks=complete),
        pytest.param("bic", slice(3, 13), marks=complete),
        pytest.param("aic", slice(3, 13), marks=complete),
    ],
    ids=["icl", "icl, all genes", "bic", "aic"],
)
def test_modes_agree_with_the_float64_reference(backend: str, criterion: str, genes: slice) -> None:
    values = mixed_table()[genes]
    alike, pairs, worst = agreement(values, backend, criterion=criterion, restarts=2)
    assert alike >= 0.97 * pairs
    assert worst < 0.01


@both_backends
@pytest.mark.parametrize(
    "genes", [slice(3, 10), pytest.param(slice(3, 14), marks=complete)], ids=["some", "more"]
)
def test_modes_of_kinc_agree_with_the_float64_reference(backend: str, genes: slice) -> None:
    alike, pairs, worst = agreement(mixed_table()[genes], backend, compatibility="kinc")
    assert alike >= 0.95 * pairs
    assert worst < 0.1


@both_backends
def test_parameters_of_modes_are_in_units_of_the_values(backend: str) -> None:
    simulation = simulate_modes(4, 400, 2, separation=8.0, seed=3)
    for pair in range(4):
        values = simulation.values[2 * pair : 2 * pair + 2] * [[1.0], [1e4]] + [[0.0], [1e6]]
        modes = modes_of(values, backend, outliers_before=False, outliers_after=False)
        assert len(modes) == 2
        for mode, who in enumerate(members(modes, 400)):
            covariance = np.cov(values[:, who], bias=True)
            assert modes.mean_i[mode] == pytest.approx(values[0, who].mean(), abs=0.05)
            assert modes.mean_j[mode] == pytest.approx(values[1, who].mean(), abs=500.0)
            # The ridge and the prior widen a mode a little.
            assert modes.variance_i[mode] == pytest.approx(covariance[0, 0], rel=0.25)
            assert modes.variance_j[mode] == pytest.approx(covariance[1, 1], rel=0.25)
            scale = np.sqrt(covariance[0, 0] * covariance[1, 1])
            assert modes.covariance[mode] == pytest.approx(covariance[0, 1], abs=0.1 * scale)
            assert modes.weight[mode] == pytest.approx(who.mean(), abs=0.01)


@both_backends
def test_a_tile_without_pairs_is_empty(backend: str) -> None:
    modes = modes_of(mixed_table()[:1], backend)
    assert len(modes) == 0
    assert modes.samples.shape == (0, 10)
    assert modes.counts["pairs"] == 0


@both_backends
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_pairs_on_a_line_are_one_mode(backend: str, correlation: str) -> None:
    x = np.random.default_rng(2).normal(size=60)
    values = np.stack([x, x, 3.0 * x - 1e6, -1e-20 * x])
    modes = modes_of(values, backend, correlation=correlation)
    assert modes.counts["degenerate"] == modes.counts["modes_kept"] == 6
    assert (modes.n_modes == 1).all()
    expected = np.where(modes.column == 3, -1.0, 1.0)
    if correlation == "spearman":
        np.testing.assert_array_equal(modes.correlation, expected)
    np.testing.assert_allclose(modes.correlation, expected, rtol=0, atol=1e-6)
    assert (np.abs(modes.correlation) <= 1.0).all()


@both_backends
def test_lines_that_are_bent_by_noise_do_not_vanish(backend: str) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=100)
    values = np.stack(
        [x, *(x + noise * random.normal(size=100) for noise in 10.0 ** -np.arange(1, 7))]
    )
    modes = modes_of(values, backend, max_clusters=5)
    assert len({*zip(modes.row, modes.column, strict=True)}) == 21
    assert modes.counts["failed"] == 0


@both_backends
def test_every_pair_is_counted_once(backend: str) -> None:
    values = mixed_table(8)
    values[3] = 7.0  # constant
    values[4, 8:] = np.nan  # nearly empty
    values[6] = np.where(np.arange(75) < 70, 0.0, np.arange(75))  # constant but for outliers
    modes = modes_of(values, backend, min_samples=20, min_correlation=0.4, max_correlation=0.9)
    counts = modes.counts
    assert counts["pairs"] == 120
    assert counts["too_few_samples"] == 15
    assert counts["constant"] == 14 + 13
    assert modes.histogram_k.sum() == 120
    assert modes.histogram_k[0] == counts["too_few_samples"] + counts["constant"]
    fitted = int(modes.histogram_k @ np.arange(6))
    names = ("modes_kept", "modes_below", "modes_small", "modes_undefined")
    assert fitted == sum(counts[name] for name in names)
    assert modes.histogram_r.sum() == counts["modes_kept"] + counts["modes_below"]
    assert len(modes) == counts["modes_kept"]
    assert ((np.abs(modes.correlation) >= 0.4) & (np.abs(modes.correlation) <= 0.9)).all()


@both_backends
def test_limits_are_kept_themselves(backend: str) -> None:
    x = np.random.default_rng(4).uniform(1, 2, size=30)
    values = np.stack([x, x**9])  # Spearman's coefficient is exactly 1
    how = {"max_clusters": 1, "outliers_before": False, "min_correlation": 1.0}
    modes = modes_of(values, backend, min_samples=30, **how)
    assert modes.n_samples.tolist() == [30]
    assert len(modes_of(values, backend, min_samples=31, **how)) == 0


@both_backends
def test_masks_clusters_and_numbers_fit_together(backend: str) -> None:
    values = mixed_table(9)
    modes = modes_of(values, backend)
    who = members(modes, 75)
    out = np.unpackbits(modes.outliers, axis=1)[:, :75].astype(bool)
    np.testing.assert_array_equal(who.sum(axis=1), modes.n_samples)
    assert not (who & out).any()
    assert not np.isnan(values)[modes.row][who].any()
    assert not np.isnan(values)[modes.column][who].any()
    assert (np.unpackbits(modes.samples, axis=1)[:, 75:] == 0).all()
    pairs = modes.row.astype(np.int64) * 100 + modes.column
    for pair in np.unique(pairs):
        rows = np.flatnonzero(pairs == pair)
        assert (who[rows].sum(axis=0) <= 1).all()
        np.testing.assert_array_equal(modes.cluster[rows], np.arange(len(rows)) + 1)
        assert (modes.n_clusters[rows] == len(rows)).all()
        assert len(rows) <= modes.n_modes[rows[0]]
        assert (np.diff(modes.weight[rows]) <= 0.0).all()
        assert modes.weight[rows].sum() <= 1.0 + 1e-5


@both_backends
def test_min_clusters_equal_to_max_clusters_is_what_is_fitted(backend: str) -> None:
    values = simulate_modes(3, 120, 3, separation=5.0).values
    for k in range(1, 6):
        modes = modes_of(values, backend, min_clusters=k, max_clusters=k)
        assert (modes.n_modes == k).all()


@both_backends
def test_more_components_never_fit_worse(backend: str) -> None:
    simulation = simulate_modes(10, 150, 2, separation=4.0, seed=11)
    reached = []
    for k in (1, 2, 3):
        modes = modes_of(
            simulation.values, backend, min_clusters=k, max_clusters=k, restarts=5, min_samples=1
        )
        pairs = modes.row * 100 + modes.column
        reached.append(dict(zip(pairs.tolist(), modes.log_likelihood.tolist(), strict=True)))
    common = set(reached[0]) & set(reached[1]) & set(reached[2])
    assert len(common) > 180
    for fewer, more in ((0, 1), (1, 2)):
        better = sum(reached[more][pair] > reached[fewer][pair] - 0.5 for pair in common)
        assert better >= 0.98 * len(common)


@both_backends
def test_two_thousand_samples_with_offset_and_ties(backend: str) -> None:
    simulation = simulate_modes(3, 2000, 2, separation=6.0, missing=0.02, seed=12)
    values = np.round(simulation.values, 1) + 1e7
    modes = modes_of(values, backend, outliers_before=False)
    for pair in range(3):
        rows = np.flatnonzero((modes.row == 2 * pair) & (modes.column == 2 * pair + 1))
        assert len(rows) == 2
        for who in members(modes, 2000)[rows]:
            share = np.bincount(simulation.labels[pair][who], minlength=2) / who.sum()
            assert share.max() > 0.99


@both_backends
def test_another_seed_begins_elsewhere(backend: str) -> None:
    values = mixed_table(13)
    first = modes_of(values, backend, restarts=1, seed=1)
    assert_same(first, modes_of(values, backend, restarts=1, seed=1))
    second = modes_of(values, backend, restarts=1, seed=2)
    assert first.counts["em_steps"] != second.counts["em_steps"]


@both_backends
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_table_gives_modes_that_make_sense(backend: str, data: st.DataObject) -> None:
    n_samples = data.draw(st.integers(1, 70))
    numbers = st.one_of(
        st.floats(-1e300, 1e300),
        st.integers(-3, 3).map(float),
        st.just(float("nan")),
        st.floats(-1.0, 1.0).map(lambda v: v * 1e-290),
    )
    row = st.lists(numbers, min_size=n_samples, max_size=n_samples)
    values = np.array(data.draw(st.lists(row, min_size=2, max_size=3)))
    how = {
        "correlation": data.draw(st.sampled_from(["pearson", "spearman"])),
        "compatibility": data.draw(st.sampled_from(["none", "kinc"])),
        "outliers_before": data.draw(st.booleans()),
        "outliers_after": data.draw(st.booleans()),
        "min_samples": data.draw(st.integers(1, 10)),
    }
    modes = modes_of(values, backend, **how)
    assert np.isfinite(modes.correlation).all()
    assert (np.abs(modes.correlation) <= 1.0).all()
    assert (modes.n_samples >= max(2, how["min_samples"])).all()
    assert modes.histogram_k.sum() == modes.counts["pairs"]
    np.testing.assert_array_equal(members(modes, n_samples).sum(axis=1), modes.n_samples)


def test_genes_are_prepared_as_documented() -> None:
    values = np.array([[3.0, np.nan, -5.0, 3.0, 9.0], [1.0, 2.0, 3.0, 4.0, 0.5]])
    genes = mixture_genes(values, np.array([5, 2]), max_expression=8.0)
    np.testing.assert_array_equal(genes.unit, [4.0, 4.0])
    np.testing.assert_array_equal(genes.values[0], [0.75, 0.0, -1.25, 0.75, 0.0])
    np.testing.assert_array_equal(genes.present, [[0b01101], [0b11111]])
    np.testing.assert_array_equal(genes.order, [[2, 0, 3, 1, 4], [4, 0, 1, 2, 3]])
    np.testing.assert_array_equal(genes.codes, [[1, -1, 0, 1, -1], [1, 2, 3, 4, 0]])
    np.testing.assert_array_equal(genes.usable, [3, 5])
    np.testing.assert_allclose(np.exp(genes.log_n), [1, 1, 2, 3, 4, 5])
