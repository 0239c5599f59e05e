"""Samples that depend on each other are found; samples that do not are left in peace."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.statistics.dependence import (
    MAX_RESULTS,
    Dependence,
    lag_one,
    measure_dependence,
    remembered,
)
from pairtile.statistics.sample_effects import indicators, orthonormal

GENES, SAMPLES = 200, 90


def replicated(copies: int, share: float, shuffled: bool) -> NDArray[np.float64]:
    """Specimens measured ``copies`` times; ``share`` of the variance is the specimen's."""
    random = np.random.default_rng(copies)
    specimens = random.normal(size=(GENES, SAMPLES // copies))
    noise = random.normal(size=(GENES, SAMPLES))
    values = np.sqrt(share) * np.repeat(specimens, copies, axis=1) + np.sqrt(1 - share) * noise
    return values[:, random.permutation(SAMPLES)] if shuffled else values


def batches(distance: float) -> NDArray[np.float64]:
    random = np.random.default_rng(9)
    side = random.permutation(np.repeat([0.0, 1.0], [SAMPLES - 30, 30]))
    shift = distance * random.choice([-1, 1], size=(GENES, 1))
    return random.normal(size=(GENES, SAMPLES)) + shift * side


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "form", ["independent", "skewed", "heavy-tailed", "one factor", "modules", "missing"]
)
def test_independent_samples_are_left_in_peace(form: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=(GENES, SAMPLES))
    if form == "skewed":
        values = np.exp(values)
    if form == "heavy-tailed":
        values = np.exp(3 * values)
    if form == "one factor":
        values += random.normal(size=(GENES, 1)) * random.normal(size=SAMPLES)
    if form == "modules":
        values += 2 * np.repeat(random.normal(size=(20, SAMPLES)), GENES // 20, axis=0)
    if form == "missing":
        values[random.random(values.shape) < 0.3] = np.nan
    found = measure_dependence(values)
    assert not found.ordered
    assert found.near_copies < 0.1 * SAMPLES
    assert found.groups == ()


def test_time_courses_are_found_in_their_order_only() -> None:
    random = np.random.default_rng(0)
    values = np.cumsum(random.normal(size=(GENES, SAMPLES)), axis=1)
    assert measure_dependence(values).ordered
    assert not measure_dependence(values[:, random.permutation(SAMPLES)]).ordered


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("copies", [2, 3])
def test_replicates_are_found_in_any_order(copies: int, shuffled: bool) -> None:
    found = measure_dependence(replicated(copies, 0.8, shuffled))
    assert found.near_copies > 0.9 * SAMPLES
    assert found.ordered is not shuffled


def test_batches_are_found() -> None:
    assert measure_dependence(batches(2.0)).groups == (30, SAMPLES - 30)
    assert measure_dependence(batches(0.0)).groups == ()


@pytest.mark.parametrize("sizes", [(50, 20, 10), (40, 20, 20, 10), (30, 30, 15, 10, 5)])
def test_several_unequal_batches_are_found_and_are_no_replicates(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(4)
    batch = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    shift = 1.5 * random.normal(size=(GENES, len(sizes)))
    values = random.normal(size=(GENES, batch.size)) + shift[:, batch]
    found = measure_dependence(values)
    assert found.groups == tuple(sorted(sizes))
    assert found.near_copies < 0.2 * batch.size
    stated = measure_dependence(values, removed=orthonormal(indicators(batch)))
    assert (stated.groups, stated.near_copies) == ((), 0)


def test_lag_one_is_the_textbook_s_within_series() -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(3, 12))
    values[2] = 5.0
    series = np.repeat([0, 1], 6).astype(np.int32)
    found = lag_one(values, series)
    for row in range(2):
        x = (values[row] - values[row].mean()) / values[row].std()
        pairs = [x[t] * x[t + 1] for t in range(11) if t != 5]
        assert found[row] == pytest.approx(np.mean(pairs))
    assert found[2] == 0.0


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (5, 7)])
def test_tables_too_small_to_say_anything(shape: tuple[int, int]) -> None:
    values = np.zeros(shape)
    values[0, 0] = np.nan
    found = measure_dependence(values)
    assert isinstance(found, Dependence)
    assert not found.ordered
    assert found.groups == ()


def test_a_table_is_measured_once_until_it_or_another_argument_changes() -> None:
    measured = []

    @remembered
    def total(values: NDArray[np.float64], times: int = 1) -> dict[str, float]:
        measured.append(times)
        return {"total": times * float(np.nansum(values))}

    values = np.random.default_rng(2).normal(size=(300, 500))
    values[3, 5] = np.nan
    first = total(values)
    first["total"] += 1.0  # what one caller changes, another does not see
    assert total(values.copy()) == {"total": np.nansum(values)}
    assert measured == [1]
    values[299, 499] += 1e-9  # in place
    assert total(values) == {"total": np.nansum(values)}
    total(values, 2)
    total(np.asfortranarray(values))  # sums may differ in the last digit
    total(values[:, ::2])
    assert measured == [1, 1, 2, 1, 1]
    for k in range(1, MAX_RESULTS + 1):
        total(values + k)
    before = len(measured)
    total(values + MAX_RESULTS)
    assert len(measured) == before
    total(values[:, ::2])  # the oldest went
    assert len(measured) == before + 1


def test_a_long_array_beside_the_table_counts_whole() -> None:
    @remembered
    def added(values: NDArray[np.float64], more: NDArray[np.float64]) -> float:
        return float(values[0, 0] + more[1500])

    values, more = np.ones((2, 3)), np.zeros(3000)
    assert added(values, more) == 1.0
    more[1500] = 1e-12
    assert added(values, more) == 1.0 + 1e-12
