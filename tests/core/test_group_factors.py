"""Hidden factors of one group of samples: told from modules, and from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.statistics.group_factors import group_factors

SIZE, GENES = 60, 120
GROUPS = np.repeat([0, 1], SIZE).astype(np.int32)


def table(random: np.random.Generator, hidden: str) -> NDArray[np.float64]:
    """Three modules of ten genes, and what is hidden under label 1."""
    values = random.normal(size=(GENES, 2 * SIZE))
    shared = np.repeat(random.normal(size=(3, 2 * SIZE)), 10, axis=0)
    values[:30] = np.sqrt(0.6) * shared + np.sqrt(0.4) * values[:30]
    values += 3.0 * GROUPS * random.normal(size=(GENES, 1))
    factors = {
        "nothing": np.zeros((1, SIZE)),
        "batches": np.eye(4)[:, random.integers(0, 4, SIZE)],
        "cell types": random.dirichlet(np.full(4, 2.0), SIZE).T,
    }[hidden]
    added = random.normal(size=(GENES, len(factors))) @ factors
    added -= added.mean(axis=1, keepdims=True)
    values[:, GROUPS == 1] += added * np.sqrt(0.3 / 0.7 / max(added.var(), 1e-9))
    return values


def groups_found(values: NDArray[np.float64], seed: int) -> list[int]:
    random = np.random.default_rng([seed, 1])
    permuted = np.stack([random.permutation(GROUPS) for _ in range(200)])
    return [group for group, _, _ in group_factors(values, GROUPS, permuted)]


@pytest.mark.parametrize("hidden", ["batches", "cell types"])
def test_factors_of_one_group_are_found(hidden: str) -> None:
    found = [groups_found(table(np.random.default_rng(seed), hidden), seed) for seed in range(10)]
    assert sum(groups == [1] for groups in found) >= 9


def test_modules_of_both_groups_and_shifts_between_them_are_not() -> None:
    found = [
        groups_found(table(np.random.default_rng(seed), "nothing"), seed) for seed in range(20)
    ]
    assert sum(map(bool, found)) <= 1


def test_groups_that_no_permutation_changes_are_not() -> None:
    values = table(np.random.default_rng(1), "batches")
    assert not group_factors(values, GROUPS, np.tile(GROUPS, (200, 1)))
