"""Correlation times, duplicate frames, and surrogates that tell signal from slowness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from motion_blocks import estimator, normal
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.estimators import (
    MotionPairs,
    generalized_correlation,
)
from pairtile.methods.trajectory_correlation.pair_scores import (
    SurrogateMoments,
    p_value,
)
from pairtile.methods.trajectory_correlation.state import (
    correlation_time,
    duplicate_frames,
    effective_frames,
    surrogate_shifts,
    theiler_window,
)
from scipy import stats
from trajectory_analyses import slow_series


@pytest.mark.parametrize("time", [2.0, 20.0])
def test_the_correlation_time_of_ar1_noise_is_found(time: float) -> None:
    tau = correlation_time(slow_series(30, 3, 20_000, time))
    assert tau.mean() == pytest.approx(0.5 / np.tanh(0.5 / time), rel=0.1)
    assert effective_frames(tau, 20_000).mean() == pytest.approx(20_000 / (2 * time), rel=0.12)


def test_white_noise_has_a_correlation_time_of_half_a_frame() -> None:
    tau = correlation_time(normal(40, 3, 2000))
    assert tau.mean() == pytest.approx(0.5, abs=0.05)
    assert theiler_window(tau, 2000) == 0
    assert effective_frames(tau, 2000).min() > 1500


def test_angles_that_cross_the_cut_are_not_slow() -> None:
    fast = np.pi + 0.2 * normal(3, 1, 1000)
    wrapped = np.mod(fast + np.pi, 2 * np.pi) - np.pi
    assert correlation_time(wrapped, cyclic=True).max() < 0.8


def test_a_still_variable_has_one_effective_frame() -> None:
    series = normal(2, 3, 100)
    series[1] = 0.1
    tau = correlation_time(series)
    assert tau[1] == 50.0
    assert effective_frames(tau, 100)[1] == 1.0


def test_the_theiler_window_is_two_correlation_times_and_bounded() -> None:
    assert theiler_window(np.array([0.5, 20.0, 400.0]), 1000) == 39
    assert theiler_window(np.array([200.0]), 1000) == 125


def test_duplicate_frames_are_found_with_what_they_repeat() -> None:
    series = normal(30, 3, 200)
    series[:, :, 150] = series[:, :, 20]
    series[:, :, 170] = series[:, :, 20]
    series[:, :, 90] = series[:, :, 5] + 1e-9
    assert duplicate_frames(series) == ({150: 20, 170: 20}, {90: 5})


def test_frames_equal_in_some_variables_only_are_no_duplicates() -> None:
    series = normal(30, 3, 100)
    series[:29, :, 60] = series[:29, :, 3]
    assert duplicate_frames(series) == ({}, {})


def test_all_frames_of_a_still_series_repeat_the_first() -> None:
    assert duplicate_frames(np.ones((2, 3, 9))) == (dict.fromkeys(range(1, 9), 0), {})


def test_slow_motion_has_no_duplicates() -> None:
    assert duplicate_frames(slow_series(20, 3, 1000, 200.0)) == ({}, {})


@given(
    frames=st.integers(20, 2000),
    number=st.integers(1, 10),
    tau=st.floats(0.5, 1e4),
    seed=st.integers(0, 99),
)
def test_shifts_differ_and_keep_away_from_none(
    frames: int, number: int, tau: float, seed: int
) -> None:
    shifts = surrogate_shifts(frames, number, tau, seed)
    assert len(set(shifts.tolist())) == number
    away = min(3 * tau, frames // 4)
    assert shifts.min() >= away
    assert frames - shifts.max() >= away
    np.testing.assert_array_equal(shifts, surrogate_shifts(frames, number, tau, seed))


def test_more_shifts_than_frames_are_refused() -> None:
    with pytest.raises(ValueError, match=r"found 20 for 30 frames; expected 1 to 17 different"):
        surrogate_shifts(30, 20, 50.0, 1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_are_those_of_all_surrogates_together(order: str) -> None:
    random = np.random.default_rng(5)
    observed = np.asarray(random.normal(size=(4, 6)), order=order)
    observed[0, 0] = np.nan
    draws = random.normal(size=(20, 4, 6))
    moments = SurrogateMoments(observed)
    for draw in draws:
        moments.add(draw)
    np.testing.assert_allclose(moments.mean, draws.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(moments.standard_deviation, draws.std(axis=0, ddof=1), atol=1e-14)
    p = moments.p_value()
    assert np.isnan(p[0, 0])
    assert ((p > 0) & (p < 1)).sum() == 23


@pytest.mark.parametrize("number", [4, 20])
def test_p_values_of_normal_draws_are_uniform(number: int) -> None:
    draws = np.random.default_rng(6).normal(3.0, 2.0, size=(number + 1, 20_000))
    p = p_value(draws[0], draws[1:].mean(axis=0), draws[1:].std(axis=0, ddof=1), number)
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    for level in (0.001, 0.01, 0.1, 0.5):
        assert (p <= level).mean() == pytest.approx(level, rel=0.5 if level == 0.001 else 0.1)


def test_p_values_need_two_surrogates() -> None:
    with pytest.raises(ValueError, match="found 1; expected 2 or more"):
        p_value(np.ones(1), np.ones(1), np.zeros(1), 1)
    assert p_value(np.ones(1), np.ones(1), np.zeros(1), 3)[0] == 0.5


def significance(series: Any, surrogates: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values, and p-values against what ``surrogates`` (a function of a number) gives."""
    n = len(series)
    everything = slice(0, n)
    pairs = MotionPairs(series, estimator(), choose("cpu"))
    moments = SurrogateMoments(pairs.block(everything, everything))
    for number in range(20):
        moments.add(surrogates(pairs, number))
    upper = np.triu_indices(n, 1)
    return moments.observed[upper], moments.p_value()[upper]


def test_slow_independent_noise_is_significant_when_shuffled_and_not_when_shifted() -> None:
    """Correlation time 20, 1,000 frames: a generalized correlation near 0.7 out of nothing."""
    series = slow_series(8, 3, 1000, 20.0)
    everything = slice(0, 8)
    shifts = surrogate_shifts(1000, 20, 20.0, seed=1)
    mi, p = significance(series, lambda pairs, q: pairs.block(everything, everything, shifts[q]))
    assert 0.55 < generalized_correlation(mi, 3).mean() < 0.8
    assert (p < 0.001).sum() == 0
    assert 0.3 < p.mean() < 0.7

    random = np.random.default_rng(1)

    def shuffled(pairs: MotionPairs, number: int) -> np.ndarray:
        order = random.permutation(1000)
        both = np.concatenate([series, series[:, :, order]])
        doubled = MotionPairs(both, estimator(), choose("cpu"))
        return doubled.block(slice(0, 8), slice(8, 16))

    _, p = significance(series, shuffled)
    assert (p < 0.001).mean() == 1.0


def test_a_driven_pair_is_significant_among_slow_noise() -> None:
    series = slow_series(6, 3, 1000, 20.0)
    series[1] = 0.9 * series[0] + np.sqrt(1 - 0.81) * series[1]
    shifts = surrogate_shifts(1000, 20, 20.0, seed=1)
    everything = slice(0, 6)
    _, p = significance(series, lambda pairs, q: pairs.block(everything, everything, shifts[q]))
    assert p[0] < 1e-4
    assert (p[1:] < 1e-4).sum() == 0


def test_a_theiler_window_takes_most_of_what_slowness_adds() -> None:
    series = slow_series(6, 3, 1000, 20.0)
    window = theiler_window(correlation_time(series), 1000)
    assert 25 <= window <= 60
    everything = slice(0, 6)
    upper = np.triu_indices(6, 1)
    raw, windowed = (
        MotionPairs(series, estimator(theiler=w), choose("cpu")).block(everything, everything)[
            upper
        ]
        for w in (0, window)
    )
    assert windowed.mean() < 0.35 * raw.mean()
