"""The float32 screens of the search let every set through that their targets still want."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pairtile.cpu.bit_planes import bit_planes
from pairtile.methods.predictor_pairs.kernels.lanes import Lanes, lane_planes, margin_bits
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_OBS,
    Scoring,
    mean_conditional_entropy,
    n_log_n_table,
    poor_entropy_bits,
)
from pairtile.methods.predictor_pairs.kernels.screens import (
    PairCounts,
    bound_coefficients,
    fixed_parts,
    n_log_n,
    screen_binary,
    screen_complete,
    screen_missing,
    screen_ternary,
)
from pairtile.methods.predictor_pairs.kernels.search import fill_cells

LANES = 32
LARGEST = 1 << 18
LOG_TABLE = n_log_n_table(LARGEST)


@st.composite
def scores(draw: Any) -> Any:
    """Levels, penalty code, alpha, beta and a generator."""
    return (
        draw(st.integers(2, 4)),
        draw(st.integers(0, 2)),
        draw(st.sampled_from([0.0, 1.0, 7.5, 1e4])),
        draw(st.sampled_from([0.3, 0.8, 1.0])),
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
    )


def random_tables(random: Any, n_levels: int) -> Any:
    """Counts int64 (lanes, q * q, q) that share cell sizes, from empty to huge, even to pure."""
    n_cells = n_levels**2
    largest = random.choice([2, 12, 300, LARGEST // n_cells])
    sizes = random.integers(0, largest + 1, n_cells)
    sizes[random.random(n_cells) < 0.2] = random.integers(0, 3)
    sizes[0] = max(sizes[0], 1)
    evenness = 10.0 ** random.uniform(-2, 3, (LANES, 1))
    p = random.dirichlet(np.ones(n_levels), (LANES, n_cells))
    p = (p / p.max(axis=2, keepdims=True)) ** evenness[:, :, None]
    p /= p.sum(axis=2, keepdims=True)
    return random.multinomial(sizes, p), sizes


def exact_scores(tables: Any, scoring: Scoring) -> Any:
    scratch = np.empty(tables.shape[2], dtype=np.int64)
    return np.array([mean_conditional_entropy(t, scoring, scratch) for t in tables])


def entropies_of(tables: Any) -> Any:
    of_target = tables.sum(axis=1)
    p = of_target / of_target.sum(axis=1, keepdims=True)
    return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1)


def lanes_of(planes: Any, entropies: Any, limits: Any) -> Lanes:
    return Lanes(
        planes,
        entropies,
        entropies.astype(np.float32),
        limits.astype(np.float32),
        np.zeros(LANES, dtype=np.uint8),
        np.empty(LANES + 8, dtype=np.int64),
        np.empty(LANES),
        1.0,
    )


@given(score=scores())
@hypothesis_settings(max_examples=300, deadline=None)
def test_pair_screens_never_hold_back_a_set_within_the_limit(score: Any) -> None:
    """The limit of each lane is its own score: the bound may not be above it."""
    n_levels, penalty, alpha, beta, random = score
    n_levels = min(n_levels, 3)
    scoring = Scoring(LOG_TABLE, penalty, alpha, poor_entropy_bits(beta, n_levels), 1)
    tables, sizes = random_tables(random, n_levels)
    upper, n_cells, n_samples = n_levels - 1, n_levels**2, int(sizes.sum())
    cells = tables.reshape(LANES, n_levels, n_levels, n_levels).astype(np.float32)
    cells = np.ascontiguousarray(np.moveaxis(cells, 0, -1))
    both = cells[1:, 1:, 1:].reshape(upper**3, LANES)
    of_first = cells[1:, :, 1:].sum(axis=1).reshape(upper**2, LANES)
    of_second = cells[:, 1:, 1:].sum(axis=0).reshape(upper**2, LANES)
    rest = cells[0, :, 1:].sum(axis=0)
    exact = exact_scores(tables, scoring)
    scale = n_samples + alpha * n_cells if penalty == NO_OBS else n_samples
    no_planes = np.empty((n_levels, 1, LANES), dtype=np.uint32)
    limits = scale * (exact + margin_bits(n_cells))
    lanes = lanes_of(no_planes, entropies_of(tables), limits)
    screen = screen_binary if n_levels == 2 else screen_ternary
    coefficients = bound_coefficients(n_samples, penalty, alpha)
    counts, fixed = PairCounts(both, of_first, rest, of_second), fixed_parts(sizes, scoring)
    assert screen(counts, 0, sizes, coefficients, fixed, lanes) == LANES
    assert lanes.hits.all()
    # Nor is the bound so low that it is of no use.
    lanes.limits[:] = scale * (0.2 * exact - 2 * margin_bits(n_cells))
    assert screen(counts, 0, sizes, coefficients, fixed, lanes) == 0


@given(score=scores(), cardinality=st.integers(1, 4), missing=st.booleans())
@hypothesis_settings(max_examples=150, deadline=None)
def test_set_screens_never_hold_back_a_set_within_the_limit(
    score: Any, cardinality: int, missing: bool
) -> None:
    n_levels, penalty, alpha, beta, random = score
    scoring = Scoring(LOG_TABLE, penalty, alpha, poor_entropy_bits(beta, n_levels), 1)
    samples = int(random.choice([3, 20, 50, 100, 1000]))
    predictors = random.integers(0, n_levels, (cardinality, samples)).astype(np.int8)
    targets = random.integers(0, n_levels, (LANES, samples)).astype(np.int8)
    agree = random.random(targets.shape) < random.random((LANES, 1))
    targets = np.where(agree, predictors.sum(axis=0, dtype=np.int8) % n_levels, targets)
    if missing:
        predictors[:, random.random(samples) < 0.2] = -1
        targets[random.random(targets.shape) < 0.2] = -1
    n_cells = n_levels**cardinality
    cells = np.empty((1, n_cells, -(-samples // 32)), dtype=np.uint32)
    sizes = np.empty(n_cells, dtype=np.int64)
    chosen = np.arange(cardinality, dtype=np.int32)
    fill_cells(bit_planes(predictors, n_levels), chosen, cells, sizes)
    weights = n_levels ** np.arange(cardinality)[::-1]
    x = np.where(predictors.min(axis=0) < 0, -1, weights @ predictors)
    tables = np.zeros((LANES, n_cells, n_levels), dtype=np.int64)
    for lane in range(LANES):
        used = (x >= 0) & (targets[lane] >= 0)
        np.add.at(tables[lane], (x[used], targets[lane, used]), 1)
    n_samples = tables.sum(axis=(1, 2))
    least = int(np.sort(n_samples)[LANES // 3]) or 1
    exact = exact_scores(np.maximum(tables, 0), scoring)
    planes = lane_planes(bit_planes(targets, n_levels), LANES)
    work = np.empty((6 + n_levels, LANES), dtype=np.float32)
    margin = margin_bits(n_cells)
    entropies = np.zeros(LANES) if missing else entropies_of(tables)
    if missing:
        scoring = scoring._replace(min_samples=least)
        lanes = lanes_of(planes, entropies, exact + margin)
        screen_missing(cells, sizes, scoring, lanes, work)
        np.testing.assert_array_equal(lanes.hits, n_samples >= least)
        lanes.limits[:] -= np.float32(2 * margin)
        assert screen_missing(cells, sizes, scoring, lanes, work) == 0
        return
    scale = samples + alpha * n_cells if penalty == NO_OBS else samples
    coefficients = bound_coefficients(samples, penalty, alpha)
    fixed = fixed_parts(sizes, scoring)
    lanes = lanes_of(planes, entropies, scale * (exact + margin))
    assert screen_complete(cells, sizes, coefficients, fixed, lanes, work) == LANES
    lanes.limits[:] = scale * (0.2 * exact - 2 * margin)
    assert screen_complete(cells, sizes, coefficients, fixed, lanes, work) == 0


@pytest.mark.parametrize("first", [0, 1 << 16, (1 << 22) - 2000])
def test_the_vectorised_logarithm_is_close_enough(first: int) -> None:
    n = np.arange(first, first + 2000)
    approximate = [float(n_log_n(np.float32(k))) for k in n]
    exact = n * np.log2(np.maximum(n, 1))
    np.testing.assert_allclose(approximate, exact, rtol=1e-6, atol=0)
