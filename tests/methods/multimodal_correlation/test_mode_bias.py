"""Tests for bias: against statsmodels and scipy one mode at a time, and in awkward cases."""

from __future__ import annotations

import numpy as np
import pytest
from naive_conditions import missing_by_label_p, missing_p, welch_p
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.conditions import mode_bias
from pairtile.methods.multimodal_correlation.modes import ModeSamples


def labels(cells: list[str], name: str = "T") -> Condition:
    names = tuple(sorted(set(cells) - {""}))
    codes = np.array([names.index(c) if c else -1 for c in cells], dtype=np.int32)
    return Condition(name, "categorical", names, codes, np.full(len(cells), np.nan))


def random_modes(seed: int, limits: bool = False) -> ModeSamples:
    random = np.random.default_rng(seed)
    values = random.normal(8.0, 2.0, size=(10, 41))
    values[random.random(values.shape) < np.linspace(0.0, 0.4, 10)[:, None]] = np.nan
    i = random.integers(0, 10, 70)
    j = (i + random.integers(1, 10, 70)) % 10
    low, high = (5.0, 11.0) if limits else (None, None)
    usable = ~np.isnan(values[i]) & ~np.isnan(values[j])
    if limits:
        inside = (values >= 5.0) & (values <= 11.0)
        usable &= inside[i] & inside[j]
    draw = random.random(usable.shape)
    members = usable & (draw < random.choice([0.0, 0.05, 0.5, 1.0], size=(70, 1)))
    outliers = usable & ~members & (draw > 0.9)
    masks = np.packbits(members, axis=1), np.packbits(outliers, axis=1)
    return ModeSamples(i, j, masks[0], values, masks[1], low, high)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limits", [False, True])
def test_welch_agrees_with_statsmodels(seed: int, limits: bool) -> None:
    modes = random_modes(seed, limits)
    found = mode_bias(modes)
    for column, genes in (
        (found.source_welch_p_value, modes.i),
        (found.target_welch_p_value, modes.j),
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
    np.testing.assert_allclose(mode_bias(modes).source_welch_p_value, expected, rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_missing_values_of_genes_are_compared_as_mcnemar_does(seed: int) -> None:
    modes = random_modes(seed)
    p = mode_bias(modes).missing_p_value
    np.testing.assert_allclose(p, missing_p(modes), rtol=1e-12)
    assert p.max() == 1.0
    assert p.min() < 0.01  # one gene has no missing value, another 40 percent


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c", "d"], ["a", "b", ""]])
def test_missing_values_by_label_agree_with_scipy(names: list[str]) -> None:
    modes = random_modes(5)
    cells = [str(c) for c in np.random.default_rng(5).choice(names, 41)]
    condition = labels(cells)
    found = mode_bias(modes, [condition]).columns()["missing_by_T_p_value"]
    expected = missing_by_label_p(modes, condition)
    assert np.isfinite(expected).sum() > 40
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_planted_bias_is_seen() -> None:
    random = np.random.default_rng(6)
    values = random.normal(size=(3, 60))
    low = np.arange(60) < 30
    values[:2, low] -= 6.0  # genes 0 and 1 have two modes, gene 2 has one
    values[2, low & (np.arange(60) % 2 == 0)] = np.nan  # and lacks half of the first label
    members = np.packbits(np.array([low, low & ~np.isnan(values[2])]), axis=1)
    modes = ModeSamples(np.array([0, 0]), np.array([1, 2]), members, values)
    found = mode_bias(modes, [labels(["cold" if x else "warm" for x in low], "Heat")])
    assert found.source_welch_p_value.max() < 1e-12
    assert found.target_welch_p_value[0] < 1e-20
    assert found.target_welch_p_value[1] > 0.01
    assert found.missing_p_value[0] == 1.0
    assert found.missing_p_value[1] < 1e-4
    by_label = found.condition_missing_p_value["Heat"]
    assert np.isnan(by_label[0])  # nothing is missing
    assert by_label[1] < 1e-4


def test_one_label_none_and_no_modes_are_no_fault() -> None:
    modes = random_modes(7)
    lone = labels(["a"] * 41)
    assert np.isnan(mode_bias(modes, [lone]).condition_missing_p_value["T"]).all()
    none = ModeSamples(modes.i[:0], modes.j[:0], modes.members[:0], modes.values)
    columns = mode_bias(none, [labels(["a", "b"] * 20 + [""])]).columns()
    assert [len(column) for column in columns.values()] == [0, 0, 0, 0]


def test_masks_may_be_read_only_as_tables_give_them() -> None:
    modes = random_modes(8)
    frozen = np.frombuffer(modes.members.tobytes(), np.uint8).reshape(modes.members.shape)
    values = modes.values.copy()
    values.flags.writeable = False
    again = ModeSamples(modes.i.astype(np.int32), modes.j, frozen, values, modes.outliers)
    for column, expected in zip(
        mode_bias(again).columns().values(), mode_bias(modes).columns().values(), strict=True
    ):
        np.testing.assert_array_equal(column, expected)
