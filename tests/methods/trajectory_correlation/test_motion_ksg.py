"""KSG mutual information of trajectories against its definition, golden results and truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_blocks import all_pairs, ensembles, estimator, host_block, normal
from naive_motion import naive_ksg
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.estimators import (
    MotionPairs,
    generalized_correlation,
)
from pairtile.methods.trajectory_correlation.kinds import SORTED_FROM
from pairtile.methods.trajectory_correlation.neighbour_pairs import STRETCH

GOLDEN = {
    "ksg1_k6_cheb_raw": {"norm": "max"},
    "ksg1_k6_eucl_raw": {},
    "ksg1_k3_cheb_raw": {"norm": "max", "neighbours": 3},
    "ksg1_k6_cheb_std": {"norm": "max", "scale": "std"},
    "ksg2_k6_cheb_raw": {"norm": "max", "variant": 2},
    "ksg2_k7_cheb_std": {"norm": "max", "scale": "std", "variant": 2, "neighbours": 7},
}


@both_backends
@pytest.mark.parametrize(
    ("name", "result"),
    [("adk_dims98", result) for result in GOLDEN]
    + [("gpcr250", "ksg1_k6_cheb_raw"), ("gpcr250", "ksg1_k6_eucl_raw")],
)
def test_ksg_agrees_with_golden_results(shared: Path, backend: str, name: str, result: str) -> None:
    golden = np.load(shared / "golden" / "trajectory" / f"{name}.npz")
    series = golden["aligned"].transpose(1, 2, 0)
    mi = all_pairs(series, backend, **GOLDEN[result])
    np.testing.assert_allclose(mi, golden[result], rtol=0, atol=1e-10)
    if f"gcc_{result}" in golden:
        np.fill_diagonal(mi, np.inf)
        correlation = generalized_correlation(mi, 3)
        np.testing.assert_allclose(correlation, golden[f"gcc_{result}"], rtol=0, atol=1e-9)


@both_backends
@given(
    series=ensembles(),
    k=st.sampled_from([1, 2, 6, 12]),
    variant=st.sampled_from([1, 2]),
    norm=st.sampled_from(["euclidean", "max"]),
    theiler=st.sampled_from([0, 2]),
    shift=st.sampled_from([0, 5]),
    sorted_from=st.sampled_from([0, 1000]),
)
@settings(max_examples=80, deadline=None)
def test_ksg_agrees_with_the_definition(
    backend: str,
    series: Any,
    k: int,
    variant: int,
    norm: str,
    theiler: int,
    shift: int,
    sorted_from: int,
) -> None:
    how = {"variant": variant, "norm": norm, "theiler": theiler}
    with patch.dict(SORTED_FROM, {backend: sorted_from}):
        mi = all_pairs(series, backend, shift, neighbours=k, **how)
    later = np.roll(series, -shift, axis=2)
    for i, j in [(0, 1), (1, 4), (4, 2), (2, 2)]:
        if i == j and shift == 0:
            assert np.isnan(mi[i, j])
        else:
            assert mi[i, j] == pytest.approx(naive_ksg(series[i], later[j], k, **how), abs=1e-10)


@both_backends
@pytest.mark.parametrize("variant", [1, 2])
@pytest.mark.parametrize("k", [6, 64])
def test_ksg_agrees_with_the_definition_in_many_slow_frames(
    backend: str, variant: int, k: int
) -> None:
    """Neighbours in time lie side by side, and float32 rounding makes hundreds of ties."""
    series = normal(3, 3, 700).cumsum(axis=2)
    series[2] = series[0] + 0.1 * series[2]
    # Far from the mean in float32 terms: many distances agree to seven digits.
    series[1] = np.round(series[1], 2)
    mi = all_pairs(series, backend, variant=variant, neighbours=k)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        assert mi[i, j] == pytest.approx(naive_ksg(series[i], series[j], k, variant), abs=1e-10)


@both_backends
@pytest.mark.parametrize("variant", [1, 2])
@pytest.mark.parametrize("theiler", [0, 150])
def test_sorted_scalars_give_what_all_distances_do(
    backend: str, variant: int, theiler: int
) -> None:
    """Slow, fast, on a grid, with few values, with outliers."""
    series = normal(5, 1, 2500)
    series[0] = series[0].cumsum(axis=1)
    series[2] = np.round(series[0] + series[1], 1)
    series[3] = series[3] > 0.5
    series[4] = series[1] ** 5
    how = {"variant": variant, "theiler": theiler}
    found = []
    for first in (0, series.shape[2] + 1):
        with patch.dict(SORTED_FROM, {backend: first}):
            found.append(all_pairs(series, backend, 700, **how))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)


@both_backends
@pytest.mark.parametrize("d", [1, 3])
def test_blocks_of_any_shape_give_the_same_numbers(
    backend: str, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SORTED_FROM, backend, 0)
    series = normal(23, d, 90)
    pairs = MotionPairs(series, estimator(), choose(backend))
    whole = host_block(pairs, slice(0, 23), slice(0, 23))
    assert np.array_equal(whole, whole.T, equal_nan=True)
    np.testing.assert_array_equal(np.isnan(whole), np.eye(23, dtype=bool))
    for rows, columns in [(slice(0, 9), slice(0, 23)), (slice(3, 4), slice(2, 21))]:
        np.testing.assert_array_equal(host_block(pairs, rows, columns), whole[rows, columns])


@both_backends
def test_batches_of_frames_change_nothing(backend: str) -> None:
    series = normal(6, 3, 2 * STRETCH + 30)
    pairs = MotionPairs(series, estimator(), choose(backend))
    whole = host_block(pairs, slice(0, 6), slice(0, 6))
    pairs._blocks._batch_bytes = 7 * 6 * pairs._blocks.padded * 4  # seven frames
    np.testing.assert_array_equal(host_block(pairs, slice(0, 6), slice(0, 6)), whole)


@pytest.mark.gpu
@pytest.mark.parametrize("variant", [1, 2])
def test_gpu_and_cpu_count_alike(variant: int) -> None:
    series = normal(40, 3, 1000).cumsum(axis=2)
    results = [all_pairs(series, backend, variant=variant) for backend in ("cpu", "cuda")]
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=1e-12)


@both_backends
@pytest.mark.parametrize("variant", [1, 2])
def test_ksg_of_normal_variables_is_near_the_truth(backend: str, variant: int) -> None:
    rho = 0.8
    x = normal(1, 1, 4000)
    y = rho * x + np.sqrt(1 - rho**2) * normal(1, 1, 4000, seed=2)
    mi = all_pairs(np.concatenate([x, y]), backend, variant=variant)[0, 1]
    assert mi == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.05)


def test_netsci_rounds_coordinates_to_float32() -> None:
    series = normal(3, 3, 60)
    rounded = series.astype(np.float32)
    netsci = all_pairs(series, preset="netsci")
    np.testing.assert_array_equal(netsci, all_pairs(rounded, variant=2, norm="max"))


def test_a_window_that_is_not_decided_is_refused() -> None:
    with pytest.raises(ValueError, match="theiler: found auto; expected a number of frames"):
        all_pairs(normal(2, 3, 50), theiler="auto")
