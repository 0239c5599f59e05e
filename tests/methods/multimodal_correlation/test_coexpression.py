"""Differential co-expression against a slow reference, and where it must find nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.coexpression import (
    DifferentialCoexpression,
    detectable_correlation,
    differential_coexpression,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples
from pairtile.statistics.counting_noise import Counts
from pairtile.statistics.exchangeable import Exchangeable
from scipy import stats

NONE = np.empty(0, dtype=np.int32)
ALL = Exchangeable(NONE, NONE)


def labels(codes: NDArray) -> Condition:
    codes = np.asarray(codes, dtype=np.int32)
    names = tuple("abcdef"[: codes.max() + 1])
    return Condition("T", "categorical", names, codes, np.full(codes.size, np.nan))


def numbers(values: NDArray) -> Condition:
    return Condition("H", "quantitative", (), np.zeros(values.size, np.int32), values)


def compared(
    x: NDArray,
    y: NDArray,
    condition: Condition,
    exchangeable: Exchangeable = ALL,
    spearman: bool = True,
    counts: Counts | None = None,
) -> DifferentialCoexpression:
    """Row k of ``x`` with row k of ``y``."""
    number, samples = x.shape
    modes = ModeSamples(
        np.arange(number),
        np.arange(number, 2 * number),
        np.zeros((number, -(-samples // 8)), np.uint8),
        np.concatenate([x, y]),
    )
    return differential_coexpression(modes, condition, exchangeable, spearman, counts=counts)


def correlated(random: np.random.Generator, shape: tuple[int, int], rho: float) -> tuple:
    shared = random.normal(size=shape)
    return shared, rho * shared + np.sqrt(1 - rho**2) * random.normal(size=shape)


def slow_z(x: NDArray, y: NDArray, codes: NDArray, spearman: bool) -> tuple[list, list]:
    z, weight = [], []
    for code in range(codes.max() + 1):
        here = (codes == code) & ~np.isnan(x) & ~np.isnan(y)
        n = here.sum()
        r = (stats.spearmanr if spearman else stats.pearsonr)(x[here], y[here])[0]
        z.append(np.arctanh(r) - r / (2 * (n - 1)))
        weight.append(n - 3)
    return z, weight


@pytest.mark.parametrize("spearman", [True, False])
@pytest.mark.complete
def test_correlations_and_differences_are_those_of_the_definition(spearman: bool) -> None:
    random = np.random.default_rng(1)
    codes = np.array([0] * 20 + [1] * 14 + [2] * 11)
    x, y = correlated(random, (6, 45), 0.5)
    x, y = np.round(x, 1), np.round(y, 1)  # ties
    x[random.random(x.shape) < 0.05] = np.nan
    found = compared(x, y, labels(codes), ALL, spearman)
    for edge in range(6):
        z, weight = slow_z(x[edge], y[edge], codes, spearman)
        for label in range(3):
            others = [k for k in range(3) if k != label]
            rest = np.average([z[k] for k in others], weights=[weight[k] for k in others])
            assert found.r_label[edge, label] == pytest.approx(np.tanh(z[label]), abs=1e-9)
            assert found.r_others[edge, label] == pytest.approx(np.tanh(rest), abs=1e-9)

    # The p-value by a plain permutation test of the same difference.
    def difference(codes: NDArray) -> float:
        z, weight = slow_z(x[0], y[0], codes, spearman)
        return float(z[0] - np.average(z[1:], weights=weight[1:]))

    drawn = [abs(difference(random.permutation(codes))) for _ in range(400)]
    p = np.mean(np.array(drawn) >= abs(difference(codes)))
    assert found.p_value[0, 0] == pytest.approx(p, abs=0.1)


@pytest.mark.parametrize("spearman", [True, False])
def test_a_shift_or_a_change_of_scale_between_groups_counts_for_nothing(spearman: bool) -> None:
    random = np.random.default_rng(2)
    group = np.repeat([0, 1], 25)
    x, y = correlated(random, (20, 50), 0.6)
    plain = compared(x, y, labels(group), ALL, spearman)
    moved = compared(x + 6 * group, (1 + 4 * group) * y - 6 * group, labels(group), ALL, spearman)
    np.testing.assert_allclose(moved.p_value, plain.p_value, rtol=1e-9)


CASES = {
    "shifted groups": (np.repeat([0, 1], 30), 0.7, 6.0),
    "small group": (np.repeat([0, 1], [8, 52]), 0.8, 3.0),
    "two small groups": (np.repeat([0, 1], 8), 0.0, 0.0),
    "three labels": (np.repeat([0, 1, 2], 20), 0.5, 1.0),
}


@pytest.mark.parametrize("spearman", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_equal_correlations_are_called_different_at_the_nominal_rate(
    case: str, spearman: bool
) -> None:
    codes, rho, shift = CASES[case]
    x, y = correlated(np.random.default_rng(3), (600, codes.size), rho)
    if not spearman:
        x, y = np.exp(x), np.exp(y)
    p = compared(x + shift * codes, y + shift * codes, labels(codes), ALL, spearman).p_value[:, 0]
    assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)
    assert (p <= 0.001).mean() <= 0.005
    assert (p <= 0.5).mean() >= 0.3, "nor is it never called"


def test_genes_that_follow_a_quantitative_condition_are_not_different() -> None:
    random = np.random.default_rng(4)
    hours = random.normal(size=80)
    x, y = correlated(random, (600, 80), 0.7)
    p = compared(x + hours, y + hours, numbers(hours)).p_value[:, 0]
    assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)
    hours[:3] *= 50
    p = compared(x + hours, y + hours, numbers(hours)).p_value[:, 0]
    assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600), "far off numbers"
    step = random.choice([0.0, 1.0, 3.0, 6.0, 24.0], size=80)
    p = compared(x + 3 * (step > 0), y + 3 * (step > 0), numbers(step)).p_value[:, 0]
    assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


@pytest.mark.parametrize("spearman", [True, False])
@pytest.mark.parametrize("condition", ["labels", "hours"])
def test_counts_that_fall_under_a_condition_are_not_different(
    condition: str, spearman: bool
) -> None:
    random, size = np.random.default_rng(6), 160
    hours = np.sort(random.uniform(size=size))
    group = np.repeat([0, 1], size // 2)
    mean = 100.0 * 0.02 ** (group if condition == "labels" else hours)
    tested = labels(group) if condition == "labels" else numbers(hours)
    rates = 0.7 * np.concatenate(correlated(random, (400, size), 0.7))
    counts = random.poisson(np.exp(rates) * mean).astype(np.uint16)
    x, y = np.split(np.log2(counts + 1.0), 2)
    keys = np.arange(len(counts), dtype=np.uint64)
    plain = compared(x, y, tested, ALL, spearman)
    assert (plain.p_value <= 0.05).mean() > 0.3
    known = Counts(counts, np.ones(size), keys)
    found = compared(x, y, tested, ALL, spearman, known)
    assert found.unequal_noise.all()
    assert np.nanmean(found.p_value <= 0.05) <= 0.08
    fixed = compared(x, y, tested, ALL, spearman, Counts(counts, np.ones(size), keys, True))
    assert fixed.unequal_noise.all()
    assert (fixed.p_value == plain.p_value).all()


def test_differences_are_found() -> None:
    random = np.random.default_rng(5)
    group = np.repeat([0, 1], 30)
    x, y = correlated(random, (200, 60), 0.8)
    turned = compared(x, np.where(group, -y, y), labels(group))
    assert (turned.p_value <= 1e-3).mean() >= 0.95
    assert (turned.r_label[:, 0] > turned.r_others[:, 0]).all()
    lost = compared(x, np.where(group, random.normal(size=y.shape), y), labels(group))
    assert (lost.p_value <= 0.05).mean() >= 0.85
    hours = np.linspace(-1, 1, 80)
    x = random.normal(size=(200, 80))
    y = 0.9 * hours * x + np.sqrt(1 - (0.9 * hours) ** 2) * random.normal(size=x.shape)
    trend = compared(x, y, numbers(hours))
    assert (trend.p_value <= 0.01).mean() >= 0.85
    assert (trend.r_label > trend.r_others).mean() >= 0.95


# --- what can be exchanged ---


def test_triplicates_with_random_labels_are_not_taken_for_thirty_samples() -> None:
    random = np.random.default_rng(6)
    specimen = np.repeat(np.arange(20), 3).astype(np.int32)
    label = random.permutation(np.repeat([0, 1], 10))[specimen]
    shared = random.normal(size=(600, 20))
    other = 0.6 * shared + 0.8 * random.normal(size=shared.shape)
    x, y = (each[:, specimen] + 0.3 * random.normal(size=(600, 60)) for each in (shared, other))
    stated = compared(x, y, labels(label), Exchangeable(specimen, NONE)).p_value[:, 0]
    assert (stated <= 0.05).mean() <= 0.07
    assert (compared(x, y, labels(label)).p_value[:, 0] <= 0.05).mean() > 0.1, "without: not so"


def test_four_series_are_too_few_for_any_difference() -> None:
    random = np.random.default_rng(7)
    series = np.repeat(np.arange(4), 15).astype(np.int32)
    label = np.repeat([0, 1], 30)
    x, y = correlated(random, (20, 60), 0.99)
    turned = compared(x, np.where(label, -y, y), labels(label), Exchangeable(series, NONE))
    # Four labels can be shared out in six ways, two of which are these.
    assert (turned.p_value[:, 0] >= 0.2).all()


def test_labels_move_within_batches_and_with_whole_series() -> None:
    codes = np.array([0, 0, 1, 1, 0, 1, 1, -1, 0, 1], dtype=np.int32)
    batch = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2], dtype=np.int32)
    permuted, units = Exchangeable(NONE, batch).permute(codes, 50)
    assert units == 9
    assert (permuted[:, 7] == -1).all()
    for b in range(3):
        here = np.sort(permuted[:, batch == b], axis=1)
        np.testing.assert_array_equal(here, np.tile(np.sort(codes[batch == b]), (50, 1)))
    assert len(np.unique(permuted, axis=0)) > 10
    series = np.array([3, 3, 0, 0, 0, 2, 2, 1], dtype=np.int32)
    whole = np.array([1, 1, 0, 0, 0, 1, 1, 0], dtype=np.int32)
    permuted, units = Exchangeable(series, NONE).permute(whole, 50)
    assert units == 4
    for row in permuted:
        of_series = [np.unique(row[series == s]) for s in range(4)]
        assert all(each.size == 1 for each in of_series)
        assert sorted(int(each[0]) for each in of_series) == [0, 0, 1, 1]
    course = np.array([0, 1, 2, 3, 0, 1, 2, 3], dtype=np.int32)
    permuted, _ = Exchangeable(np.repeat([0, 1], 4).astype(np.int32), NONE).permute(course, 50)
    turns = {tuple(np.roll(np.arange(4), k)) for k in range(4)}
    assert {tuple(row[:4]) for row in permuted} == {tuple(row[4:]) for row in permuted} == turns


def test_what_cannot_be_tested_is_not() -> None:
    random = np.random.default_rng(7)
    x, y = correlated(random, (3, 40), 0.5)
    group = np.repeat([0, 1], 20)
    confounded = compared(x, y, labels(group), Exchangeable(NONE, group.astype(np.int32)))
    assert np.isnan(confounded.p_value).all()
    assert np.isnan(compared(x, y, labels(np.repeat([0, 1], [33, 7]))).p_value).all()
    x[0, group == 0] = 1.0  # constant under one label
    found = compared(x, y, labels(group)).p_value
    assert np.isnan(found[0]).all()
    assert not np.isnan(found[1:]).any()
    assert np.isnan(compared(x, y, numbers(np.ones(40))).p_value).all()
    copies = compared(y, y, labels(group))
    assert np.isnan(copies.p_value).all(), "no permutation changes a correlation of 1"
    assert compared(x[:0], y[:0], labels(group)).p_value.shape == (0, 2)


def moved(random: np.random.Generator, codes: NDArray, z: NDArray) -> tuple:
    """1,000 pairs whose Fisher z is z[code] in the samples of each code."""
    x, y = np.empty((2, 1000, codes.size))
    for code in np.unique(codes):
        here = codes == code
        x[:, here], y[:, here] = correlated(random, (1000, here.sum()), np.tanh(z[code]))
    return x, y


@pytest.mark.parametrize(
    ("sizes", "level", "spearman"),
    [((12, 24), 0.05, True), ((40, 25, 30), 0.001, False), ((60, 60), 1e-5, True)],
)
def test_the_detectable_correlation_is_found_with_the_power_stated(
    sizes: tuple[int, ...], level: float, spearman: bool
) -> None:
    random = np.random.default_rng(11)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    z = np.zeros(len(sizes))
    z[0] = np.arctanh(detectable_correlation(labels(codes), 0, ALL, spearman, level))
    found = compared(*moved(random, codes, z), labels(codes), ALL, spearman)
    assert (found.p_value[:, 0] <= level).mean() == pytest.approx(0.8, abs=0.08)
    less = compared(*moved(random, codes, 0.6 * z), labels(codes), ALL, spearman)
    assert (less.p_value[:, 0] <= level).mean() < 0.55


def test_the_detectable_trend_is_found_with_the_power_stated() -> None:
    codes = np.repeat([0, 1, 2, 3], 25)
    condition = numbers(codes.astype(float))
    z = np.arctanh(detectable_correlation(condition, 0, ALL, True, 0.01))
    found = compared(*moved(np.random.default_rng(12), codes, z * np.arange(4) / 3), condition)
    assert (found.p_value[:, 0] <= 0.01).mean() == pytest.approx(0.8, abs=0.08)


def test_nothing_is_detectable_where_nothing_is_tested_or_no_correlation_is_enough() -> None:
    assert np.isnan(detectable_correlation(labels(np.repeat([0, 1], [33, 7])), 0, ALL, True, 0.05))
    assert np.isnan(detectable_correlation(labels(np.repeat([0, 1], 8)), 0, ALL, True, 1e-9))
