"""Permuted and resampled rows against NumPy's own generator and a plain ranking."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.methods.mutual_information.kernels.permuted_rows import Resampling, permuted_rows
from pairtile.methods.mutual_information.kernels.philox import permute
from pairtile.splines.values import row_orders, scale_rows

TOP = 8.0


def awkward(samples: int = 60) -> NDArray[np.float64]:
    """Rows with ties, constants, missing, tiny and huge values."""
    values = np.random.default_rng(0).normal(size=(12, samples))
    values[1] = 3.0
    values[2] = np.round(values[2])
    values[3, ::7] = np.nan
    values[4] = np.nan
    values[5, 1:] = np.nan
    values[6] *= 1e-300
    values[7] *= 1e300
    values[8, : samples // 2] = 0.0
    values[9, 0], values[9, 1] = np.inf, -np.inf
    return values


def by_numpy(
    values: NDArray[np.float64], genes: NDArray[np.int64], seed: int, side: int, pair_class: int
) -> NDArray[np.float64]:
    key = [np.uint64(seed), np.uint64(0x6E756C6C)]
    rows = []
    for draw, gene in enumerate(genes):
        bits = np.random.Philox(key=key, counter=[0, draw, side, pair_class])
        rows.append(np.random.Generator(bits).permutation(values[gene]))
    return np.array(rows)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 255, 256, 257, 5000])
def test_permutations_are_those_of_numpy(n: int):
    key = np.array([2**64 - 1, 12345678901234567890], dtype=np.uint64)
    # The counter's first word runs over into the next.
    counter = np.array([2**64 - 2, 2**64 - 1, 4, 5], dtype=np.uint64)
    expected = np.random.Generator(np.random.Philox(key=key, counter=counter))
    found = np.empty(n, dtype=np.int64)
    permute(key, counter.copy(), found)
    # An array of its own: permutation(n) of a number takes other draws.
    assert np.array_equal(found, expected.permutation(np.arange(n)))


@pytest.mark.parametrize(("seed", "side", "pair_class"), [(0, 0, 0), (7, 1, 3), (2**63, 1, 9)])
def test_rows_are_permuted_as_by_numpy(seed: int, side: int, pair_class: int):
    values = awkward()
    genes = np.random.default_rng(1).integers(0, len(values), 40)
    found = permuted_rows(values, genes, seed, side, pair_class)
    assert np.array_equal(found, by_numpy(values, genes, seed, side, pair_class), equal_nan=True)


SAMPLES = {
    "bootstrap": np.sort(np.random.default_rng(2).integers(0, 60, 60)),
    "subsample": np.sort(np.random.default_rng(3).choice(60, 37, replace=False)),
    "one sample": np.full(60, 11),
}


@pytest.mark.parametrize("by_rank", [True, False], ids=["rank", "none"])
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.filterwarnings("ignore:invalid value")
def test_resampled_rows_are_scaled_as_a_data_set_of_these_samples(
    samples: NDArray[np.int64], by_rank: bool
):
    values = awkward()
    order = row_orders(values if by_rank else np.empty((0, 0)))
    resampling = Resampling(samples, order, TOP)
    genes = np.random.default_rng(1).integers(0, len(values), 40)
    for rows, found in (
        (values, resampling.rows(values)),
        (by_numpy(values, genes, 7, 1, 3), permuted_rows(values, genes, 7, 1, 3, resampling)),
    ):
        picked = np.ascontiguousarray(rows[:, samples])
        expected = np.empty(picked.shape)
        scale_rows(picked, by_rank, TOP, expected)
        assert np.array_equal(found, expected, equal_nan=True)


def test_row_orders_run_from_small_to_large_with_missing_ones_last():
    values = awkward()
    ordered = np.take_along_axis(values, row_orders(values).astype(np.int64), axis=1)
    assert np.array_equal(ordered, np.sort(values, axis=1), equal_nan=True)
