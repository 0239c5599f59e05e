"""Counting noise made equal between groups: what is thinned, and what is left as it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.io.sparse_rows import SparseRows
from pairtile.preprocess.value_kind import whole_counts
from pairtile.statistics.counting_noise import (
    Counts,
    EqualNoise,
    relative_depths,
)
from scipy import sparse, stats

GROUPS = np.repeat([0, 1], 200).astype(np.int32)
ONES = np.ones(GROUPS.size)


def drawn(random: np.random.Generator, genes: int, mean: NDArray, spread: NDArray) -> tuple:
    """Counts, and the logarithms of their rates."""
    rates = spread * random.normal(size=(genes, GROUPS.size))
    return random.poisson(np.exp(rates - spread**2 / 2) * mean).astype(np.uint16), rates


def equalised(
    counts: NDArray, groups: NDArray = GROUPS, values: NDArray | None = None
) -> EqualNoise:
    values = np.log2(counts + 1.0) if values is None else values
    known = Counts(counts, ONES, np.arange(len(counts), dtype=np.uint64))
    return known.equalised(values, np.arange(len(counts)), groups)


@pytest.mark.parametrize("means", [(100, 2), (40, 10), (5, 1)])
@pytest.mark.parametrize("spreads", [(0.7, 0.7), (0.9, 0.6)])
def test_ranks_follow_the_rates_alike_in_both_groups(means: tuple, spreads: tuple) -> None:
    random = np.random.default_rng(1)
    counts, rates = drawn(random, 60, np.array(means)[GROUPS], np.array(spreads)[GROUPS])

    def fidelity(values: NDArray, group: int) -> float:
        own = group == GROUPS
        pairs = zip(values[:, own], rates[:, own], strict=True)
        return float(np.nanmean([stats.spearmanr(*pair).statistic for pair in pairs]))

    before = fidelity(np.log2(counts + 1.0), 0) - fidelity(np.log2(counts + 1.0), 1)
    found = equalised(counts)
    assert found.unequal.all()
    assert before > 0.08
    assert fidelity(found.values, 0) == pytest.approx(fidelity(found.values, 1), abs=0.04)


def test_genes_with_equal_or_little_noise_keep_their_values() -> None:
    random = np.random.default_rng(2)
    for mean in (np.full(400, 20.0), np.array([20000.0, 10000.0])[GROUPS]):
        counts, _ = drawn(random, 200, mean, np.full(400, 0.6))
        found = equalised(counts)
        assert found.unequal.mean() <= 0.1
        kept = ~found.unequal
        assert (found.values[kept] == np.log2(counts[kept] + 1.0)).all()


def test_a_group_without_counts_is_left_out() -> None:
    random = np.random.default_rng(3)
    counts, _ = drawn(random, 5, np.array([50.0, 0.01])[GROUPS], np.full(400, 0.6))
    found = equalised(counts)
    assert found.unequal.all()
    assert np.isnan(found.values[:, GROUPS == 1]).all()
    np.testing.assert_allclose(found.values[:, GROUPS == 0], np.log2(counts[:, GROUPS == 0] + 1.0))
    assert not equalised(np.zeros_like(counts)).unequal.any(), "nor is there one to hold it against"


def test_missing_values_and_samples_in_no_group_stay_what_they_are() -> None:
    random = np.random.default_rng(4)
    counts, _ = drawn(random, 4, np.array([100.0, 3.0])[GROUPS], np.full(400, 0.6))
    groups = np.where(np.arange(400) % 7 == 0, -1, GROUPS).astype(np.int32)
    values = np.log2(counts + 1.0)
    values[:, ::9] = np.nan
    found = equalised(counts, groups, values)
    assert (np.isnan(found.values) == np.isnan(values)).all()
    free = (groups < 0) & ~np.isnan(values[0])
    np.testing.assert_allclose(found.values[:, free], values[:, free])
    zeros_missing = np.where(counts == 0, np.nan, np.log2(np.maximum(counts, 1)))
    found = equalised(counts, groups, zeros_missing)
    assert found.unequal.all()
    assert np.nanmin(found.values) >= 1.0, "thinned to zero: missing, too"


def test_draws_belong_to_the_gene() -> None:
    counts, _ = drawn(
        np.random.default_rng(5), 6, np.array([100.0, 3.0])[GROUPS], np.full(400, 0.6)
    )
    known, order = Counts(counts, ONES, np.arange(6, dtype=np.uint64)), np.array([4, 1, 0])
    values = np.log2(counts + 1.0)
    whole = known.equalised(values, np.arange(6), GROUPS).values
    part = known.equalised(values[order], order, GROUPS).values
    assert (part == whole[order]).all()


def test_depths_of_samples() -> None:
    random = np.random.default_rng(6)
    depth = np.exp(random.normal(size=50))
    for mean in (2000.0, 0.5):  # by ratios, and by totals
        counts = random.poisson(mean * depth, size=(400, 50)).astype(np.uint32)
        found = relative_depths(counts)
        np.testing.assert_allclose(found / found.mean(), depth / depth.mean(), rtol=0.3)


def test_whole_counts() -> None:
    table = np.array([[0.0, 3.0, np.nan], [1.0, 70000.0, 2.0]])
    found = whole_counts(table)
    assert found is not None
    assert found.dtype == np.uint32
    assert found.tolist() == [[0, 3, 0], [1, 70000, 2]]
    held = whole_counts(SparseRows(sparse.csr_array(np.nan_to_num(table))))
    assert held is not None
    assert (held == found).all()
    for wrong in (0.5, -1.0, np.inf):
        assert whole_counts(np.array([[1.0, wrong]])) is None
