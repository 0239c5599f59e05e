"""Values scaled for B-splines, and the sums of their weights, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.splines import bspline
from pairtile.splines.bspline import bin_sums, bspline_weights, dense_weights
from pairtile.splines.scorer import SplineSettings
from pairtile.splines.values import marginal_entropies, scaled, scaled_halves
from pairtile.statistics import ranks
from scipy.stats import rankdata

RANDOM = np.random.default_rng(4)
PLAIN = RANDOM.normal(size=(20, 97))
HOLES = np.where(RANDOM.random(PLAIN.shape) < 0.2, np.nan, PLAIN)
VALUES = {
    "complete": PLAIN,
    "missing": HOLES,
    "tied": HOLES.round(1),
    "huge": np.exp(200 * HOLES),
    "tiny": 1e-300 * PLAIN,
    "constant": 0.0 * PLAIN + 7.25,
    "one value left": np.where(np.arange(97) == 5, PLAIN, np.nan),
}


def scaled_in_numpy(values: np.ndarray, transform: str, top: float) -> np.ndarray:
    """What ``scaled`` is to give, by SciPy's ranks."""
    z = values.copy()
    for row in z if transform == "rank" else ():
        row[~np.isnan(row)] = rankdata(row[~np.isnan(row)])
    low = np.nanmin(z, axis=1, keepdims=True)
    width = np.nanmax(z, axis=1, keepdims=True) - low
    return np.minimum((z - low) / np.where(width > 0, width, 1.0), 1.0) * top


@pytest.mark.parametrize("transform", ["rank", "none"])
@pytest.mark.parametrize("block", [1, 300, 1 << 22])
@pytest.mark.parametrize("kind", VALUES)
def test_rows_are_scaled_to_the_same_bits_as_in_numpy(
    transform: str, block: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "_BLOCK_VALUES", block)
    spline = SplineSettings(10, 3, "clamped", "float64")
    given = VALUES[kind].copy()
    expected = scaled_in_numpy(given, transform, spline.intervals)
    np.testing.assert_array_equal(scaled(given, spline, transform), expected)
    np.testing.assert_array_equal(given, VALUES[kind])
    assert scaled(given, spline, transform, overwrite=True) is given
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize(("bins", "order", "knots"), [(10, 3, "clamped"), (5, 1, "uniform")])
@pytest.mark.parametrize("kind", VALUES)
def test_sums_of_weights_are_those_of_all_the_weights(
    bins: int, order: int, knots: str, kind: str
) -> None:
    z = scaled(VALUES[kind], SplineSettings(bins, order, knots, "float64"), "rank")
    expected = dense_weights(*bspline_weights(z, bins, order, knots), bins).sum(axis=1)
    np.testing.assert_allclose(bin_sums(z, bins, order, knots), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("transform", ["rank", "none"])
@pytest.mark.parametrize("kind", VALUES)
def test_halves_are_scaled_value_by_value_as_all_samples_are(transform: str, kind: str) -> None:
    spline = SplineSettings(10, 3, "clamped", "float64")
    with np.errstate(over="ignore"):
        given = VALUES[kind].astype(np.float16)
    given[~np.isfinite(given)] = np.nan
    given[0, 3:7] = 0.0, -0.0, 0.0, -0.0  # two codes of one value
    expected = scaled(given.astype(np.float64), spline, transform)
    entropies = scaled_halves(given, spline, transform)
    np.testing.assert_array_equal(given, expected.astype(np.float16))
    np.testing.assert_allclose(entropies, marginal_entropies(expected, spline), atol=1e-12)


def test_one_compiled_kernel_serves_values_in_memory_and_of_a_file():
    z = np.linspace(0.0, 8.0, 20).reshape(2, 10)
    mapped = z.copy()
    mapped.flags.writeable = False
    first, weights = bspline_weights(z, 10, 3, "clamped")
    np.testing.assert_array_equal(bspline_weights(mapped, 10, 3, "clamped")[1], weights)
    sums = bin_sums(mapped, 10, 3, "clamped")
    np.testing.assert_allclose(sums, dense_weights(first, weights, 10).sum(axis=1))
    assert (
        len(bspline._bspline_weights.__wrapped__.signatures)
        == len(bspline._add_weights.signatures)
        == 1
    )
