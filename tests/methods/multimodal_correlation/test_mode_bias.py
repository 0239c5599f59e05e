"""Tests for bias: against statsmodels and scipy one mode at a time, and in awkward cases."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_modes import categorical
from made_up_modes import random_modes as any_modes
from naive_conditions import missing_by_label_p, missing_p, welch_p
from pairtile.methods.multimodal_correlation.conditions import mode_bias
from pairtile.methods.multimodal_correlation.modes import ModeSamples


def random_modes(seed: int, limits: tuple[float, float] | None = None) -> ModeSamples:
    """Genes lack from none to 40 percent of their values."""
    missing = np.linspace(0.0, 0.4, 12)[:, None]
    return any_modes(seed, 70, 41, missing, limits, outliers=0.1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limits", [None, (5.0, 11.0)])
def test_welch_agrees_with_statsmodels(seed: int, limits: tuple[float, float] | None) -> None:
    modes = random_modes(seed, limits)
    found = mode_bias(modes)
    for column, genes in (
        (found["source_welch_p_value"], modes.i),
        (found["target_welch_p_value"], modes.j),
    ):
        expected = welch_p(modes, genes)
        assert 10 < np.isfinite(expected).sum() < 70
        np.testing.assert_allclose(column, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["ties", "huge offset", "tiny", "constant gene"])
def test_welch_agrees_on_awkward_values(kind: str) -> None:
    modes = random_modes(4)
    values = modes.values.copy()
    if kind == "ties":
        values = np.round(values / 4.0)
    elif kind == "huge offset":
        values += 1e4
    elif kind == "tiny":
        values *= 1e-100
    else:
        values[:5] = np.where(np.isnan(values[:5]), np.nan, 0.1)
    modes = ModeSamples(modes.i, modes.j, modes.members, values, modes.outliers)
    expected = welch_p(modes, modes.i)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(mode_bias(modes)["source_welch_p_value"], expected, rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_missing_values_of_genes_are_compared_as_mcnemar_does(seed: int) -> None:
    modes = random_modes(seed)
    p = mode_bias(modes)["missing_p_value"]
    np.testing.assert_allclose(p, missing_p(modes), rtol=1e-12)
    assert p.max() == 1.0
    assert p.min() < 0.01  # one gene has no missing value, another 40 percent


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c", "d"], ["a", "b", ""]])
def test_missing_values_by_label_agree_with_scipy(names: list[str]) -> None:
    modes = random_modes(5)
    cells = [str(c) for c in np.random.default_rng(5).choice(names, 41)]
    condition = categorical("T", cells)
    found = mode_bias(modes, [condition])["missing_by_T_p_value"]
    expected = missing_by_label_p(modes, condition)
    assert np.isfinite(expected).sum() > 40
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_one_label_none_and_no_modes_are_no_fault() -> None:
    modes = random_modes(7)
    lone = categorical("T", ["a"] * 41)
    assert np.isnan(mode_bias(modes, [lone])["missing_by_T_p_value"]).all()
    none = ModeSamples(modes.i[:0], modes.j[:0], modes.members[:0], modes.values)
    columns = mode_bias(none, [categorical("T", ["a", "b"] * 20 + [""])])
    assert [len(column) for column in columns.values()] == [0, 0, 0, 0]
