"""Gaussian mutual information, DCC and B-splines of trajectories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from backends import both_backends
from motion_blocks import all_pairs, estimator, host_block, normal
from naive_motion import naive_cyclic_mi, naive_dcc, naive_gaussian
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.estimators import (
    MotionPairs,
    generalized_correlation,
)


@both_backends
@pytest.mark.parametrize("name", ["adk_dims98", "gpcr250"])
def test_lmi_and_dcc_agree_with_golden_results(shared: Path, backend: str, name: str) -> None:
    golden = np.load(shared / "golden" / "trajectory" / f"{name}.npz")
    series = golden["aligned"].transpose(1, 2, 0)
    lmi = all_pairs(series, backend, kind="gaussian")
    np.testing.assert_allclose(lmi, golden["lmi"], rtol=0, atol=1e-10)
    dcc = all_pairs(series, backend, kind="dcc")
    np.testing.assert_allclose(dcc, golden["dcc"], rtol=0, atol=1e-10)
    np.fill_diagonal(lmi, np.inf)
    np.testing.assert_allclose(generalized_correlation(lmi, 3), golden["gcc_lmi"], atol=1e-10)


@both_backends
@pytest.mark.parametrize("name", ["adk_dims98", "gpcr250"])
def test_bspline_mi_agrees_with_golden_results(shared: Path, backend: str, name: str) -> None:
    golden = np.load(shared / "golden" / "trajectory" / f"{name}.npz")
    moves = golden["aligned"].transpose(1, 2, 0)
    moves = moves - moves.mean(axis=2, keepdims=True)
    series = np.sqrt((moves * moves).sum(axis=1, keepdims=True))
    mi = all_pairs(series, backend, kind="bspline", transform="none")
    expected = golden["bspline_R10k3_norm"].copy()
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(mi, expected, rtol=0, atol=1e-10)


@both_backends
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_gaussian_mi_and_dcc_agree_with_their_definitions(backend: str, d: int) -> None:
    series = normal(5, d, 60)
    series[1] += 2.0 * series[0]
    series[3] -= 30.0 * series[2]
    later = np.roll(series, -7, axis=2)
    for shift, other in [(0, series), (7, later)]:
        lmi = all_pairs(series, backend, shift, kind="gaussian")
        dcc = all_pairs(series, backend, shift, kind="dcc")
        for i in range(5):
            for j in range(5):
                assert dcc[i, j] == pytest.approx(naive_dcc(series[i], other[j]), abs=1e-12)
                if i != j:
                    assert lmi[i, j] == pytest.approx(naive_gaussian(series[i], other[j]), abs=1e-9)


@both_backends
def test_the_finite_sample_correction_removes_the_bias(backend: str) -> None:
    """100 frames of independent positions: 0.047 nat on average before, none after."""
    series = normal(150, 3, 100)
    upper = np.triu_indices(150, 1)
    raw, corrected = (
        all_pairs(series, backend, kind="gaussian", corrected=c)[upper] for c in (False, True)
    )
    error = raw.std() / np.sqrt(150)
    assert raw.mean() == pytest.approx(0.0475, abs=4 * error)
    assert corrected.mean() == pytest.approx(0.0, abs=4 * error)
    assert raw.mean() > 20 * error


@both_backends
def test_still_directions_tell_nothing(backend: str) -> None:
    series = normal(4, 3, 80)
    series[0] = 2.5
    series[1, 2] = -1.0
    flat = series[:, :2].copy()
    for corrected in (False, True):
        mi = all_pairs(series, backend, kind="gaussian", corrected=corrected)
        np.testing.assert_array_equal(mi[0, 1:], 0.0)
        assert np.isfinite(mi[1, 2:]).all()
    plane = all_pairs(np.concatenate([flat[1:2], flat[2:3]]), backend, kind="gaussian")[0, 1]
    series[2, 2] = 0.25
    mi = all_pairs(series, backend, kind="gaussian")
    assert mi[1, 2] == pytest.approx(plane, abs=1e-10)
    dcc = all_pairs(series, backend, kind="dcc")
    np.testing.assert_array_equal(dcc[0], 0.0)


@both_backends
def test_gaussian_mi_of_a_copy_is_large_and_finite(backend: str) -> None:
    series = normal(1, 3, 50)
    mi = all_pairs(np.concatenate([series, series]), backend, kind="gaussian")[0, 1]
    assert 40 < mi < 60
    assert generalized_correlation(mi, 3) == pytest.approx(1.0)


@both_backends
@pytest.mark.parametrize(("bins", "order"), [(12, 3), (8, 2), (5, 1), (3, 3)])
def test_dihedral_mi_agrees_with_its_definition(backend: str, bins: int, order: int) -> None:
    angles = np.random.default_rng(3).vonmises(3.0, 2.0, size=(4, 1, 90))
    angles[1] = angles[0] + 0.3 * angles[1]
    mi = all_pairs(angles, backend, kind="dihedral", bins=bins, order=order)
    later = all_pairs(angles, backend, 11, kind="dihedral", bins=bins, order=order)
    for i, j in [(0, 1), (1, 2), (3, 0)]:
        expected = naive_cyclic_mi(angles[i, 0], angles[j, 0], bins, order)
        assert mi[i, j] == pytest.approx(expected, abs=1e-12)
        expected = naive_cyclic_mi(angles[i, 0], np.roll(angles[j, 0], -11), bins, order)
        assert later[i, j] == pytest.approx(expected, abs=1e-12)


@both_backends
@pytest.mark.parametrize("kind", ["ksg", "gaussian", "dcc", "bspline", "dihedral"])
def test_a_shift_is_the_same_as_shifted_series(backend: str, kind: str) -> None:
    series = normal(7, 1, 60)
    pairs = MotionPairs(series, estimator(kind=kind), choose(backend))
    both = np.concatenate([series, np.roll(series, -13, axis=2)])
    plain = MotionPairs(both, estimator(kind=kind), choose(backend))
    shifted = host_block(pairs, slice(2, 5), slice(0, 7), 13)
    expected = host_block(plain, slice(2, 5), slice(7, 14))
    np.testing.assert_allclose(shifted, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        host_block(pairs, slice(2, 5), slice(0, 7), 13 - 60), expected, atol=1e-12
    )


def test_generalized_correlation_of_normal_variables_is_their_correlation() -> None:
    rho = np.array([0.0, 0.3, 0.9])
    for d in (1, 3):
        mi = -0.5 * d * np.log1p(-(rho**2))
        np.testing.assert_allclose(generalized_correlation(mi, d), rho, atol=1e-15)
    assert generalized_correlation(-0.02, 3) == 0.0
    assert np.isnan(generalized_correlation(np.nan, 3))
