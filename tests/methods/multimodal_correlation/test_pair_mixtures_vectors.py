"""The vectors of the mixtures' kernels: polynomials, sums in a fixed order, one EM step."""

from __future__ import annotations

import numpy as np
from numba import njit
from pairtile.cpu.vectors import LANES, load, store
from pairtile.methods.multimodal_correlation.kernels.mixture_fit import draw, mix64, pair_seed
from pairtile.methods.multimodal_correlation.kernels.vectors import exp2, log2, sum_16_rows


@njit
def all_exp2(values, results):  # type: ignore[no-untyped-def]
    for start in range(0, values.size, LANES):
        store(results, start, exp2(load(values, start)))


@njit
def all_log2(values, results):  # type: ignore[no-untyped-def]
    for start in range(0, values.size, LANES):
        store(results, start, log2(load(values, start)))


@njit
def each_log2(values, results):  # type: ignore[no-untyped-def]
    for i in range(values.size):
        results[i] = log2(values[i])


@njit
def sums_of(rows, sums):  # type: ignore[no-untyped-def]
    sum_16_rows(rows, 0, sums, 0)


def test_exp2_is_right_to_2e_7_and_0_far_below() -> None:
    values = np.linspace(-126.0, 0.0, 320_000, dtype=np.float32)
    results = np.empty_like(values)
    all_exp2(values, results)
    exact = np.exp2(values.astype(np.float64))
    assert np.abs(results / exact - 1.0).max() < 2e-7
    assert results[-1] == 1.0
    far = np.full(LANES, -1e30, dtype=np.float32)
    all_exp2(far, results)
    assert (results[:LANES] == 0.0).all()


def test_log2_is_right_to_2e_7() -> None:
    values = np.exp2(np.linspace(-100.0, 100.0, 320_000)).astype(np.float32)
    results, alone = np.empty_like(values), np.empty_like(values)
    all_log2(values, results)
    each_log2(values, alone)
    exact = np.log2(values.astype(np.float64))
    assert (np.abs(results - exact) <= 2e-7 * np.maximum(np.abs(exact), 1.0)).all()
    np.testing.assert_array_equal(results, alone)
    ones = np.ones(LANES, dtype=np.float32)
    all_log2(ones, results)
    assert (results[:LANES] == 0.0).all()


def test_sums_of_rows_are_pairwise_in_a_fixed_order() -> None:
    rows = np.random.default_rng(1).normal(size=(16, LANES)).astype(np.float32)
    sums = np.empty(16, dtype=np.float32)
    sums_of(rows.ravel(), sums)
    folded = rows
    while folded.shape[1] > 1:
        half = folded.shape[1] // 2
        folded = folded[:, :half] + folded[:, half:]
    np.testing.assert_array_equal(sums, folded[:, 0])


def test_random_numbers_are_those_of_splitmix64() -> None:
    # The first numbers of SplitMix64 with seed 1234567, as its authors publish them.
    state, expected = 1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423]
    for number in expected:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        assert int(mix64(np.uint64(state))) == number


def test_draws_differ_by_everything_they_are_keyed_on() -> None:
    first, second = np.uint64(3), np.uint64(2**63 + 5)
    assert pair_seed(np.uint64(1), first, second) == pair_seed(np.uint64(1), second, first)
    streams = [np.uint64(pair_seed(np.uint64(seed), first, second)) for seed in range(3)]
    drawn = {
        int(draw(stream, k, restart, number))
        for stream in streams
        for k in range(1, 6)
        for restart in range(4)
        for number in range(10)
    }
    assert len(drawn) == 3 * 5 * 4 * 10
