"""Hidden factors: found where most genes share something, modules left as they are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.simulate import simulate_kinetic
from pairtile.statistics.hidden_factors import (
    find_hidden_factors,
    normal_scores,
    without_factors,
)
from scipy import stats

Values = NDArray[np.float64]


def unrelated(random: np.random.Generator, genes: int, samples: int) -> Values:
    return random.normal(size=(genes, samples))


def modules(random: np.random.Generator, genes: int, samples: int) -> tuple[Values, Values]:
    """Five modules of 20 genes, and which pairs lie within one."""
    values, related = unrelated(random, genes, samples), np.zeros((genes, genes), dtype=bool)
    for k in range(5):
        members = slice(20 * k, 20 * (k + 1))
        share = random.uniform(0.3, 0.8, size=(20, 1))
        common = random.normal(size=samples)
        values[members] = np.sqrt(share) * common + np.sqrt(1 - share) * values[members]
        related[members, members] = True
    return values, related


def hide(random: np.random.Generator, values: Values, kind: str, share: float = 0.3) -> Values:
    """The table with something that its samples share."""
    genes, samples = values.shape
    factors = {
        "factor": lambda: random.normal(size=(1, samples)),
        "cell types": lambda: random.dirichlet(np.full(4, 2.0), size=samples).T,
        "quality": lambda: random.uniform(size=(1, samples)),
        "batches": lambda: np.eye(8)[:, random.integers(0, 8, samples)],
    }[kind]()
    hidden = random.normal(size=(genes, len(factors))) @ factors
    hidden -= hidden.mean(axis=1, keepdims=True)
    return values + hidden * np.sqrt(share / (1 - share) * values.var() / hidden.var())


def false_share_and_power(values: Values, related: Values, given_up: int) -> tuple[float, float]:
    """Of pairs whose correlation has q <= .05."""
    i, j = np.triu_indices(len(values), 1)
    r = np.clip(np.corrcoef(values)[i, j], -0.9999, 0.9999)
    freedom = values.shape[1] - 2 - given_up
    p = 2 * stats.t.sf(np.abs(r) * np.sqrt(freedom / (1 - r**2)), freedom)
    chosen = stats.false_discovery_control(p) <= 0.05
    right = related[i, j]
    return float((chosen & ~right).sum() / max(chosen.sum(), 1)), float(chosen[right].mean())


@pytest.mark.parametrize("kind", ["factor", "cell types", "quality", "batches"])
@pytest.mark.parametrize("samples", [100, 500])
def test_what_most_genes_share_is_strong(kind: str, samples: int) -> None:
    marked = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        values = hide(random, unrelated(random, 80, samples), kind)
        marked.append(find_hidden_factors(values, seed).strong)
    assert sum(marked) >= 9


@pytest.mark.parametrize("samples", [60, 300])
def test_neither_unrelated_genes_nor_modules_are_strong(samples: int) -> None:
    marked = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        tables = unrelated(random, 150, samples), modules(random, 150, samples)[0]
        marked += [find_hidden_factors(values, seed).strong for values in tables]
    assert sum(marked) <= 1


@pytest.mark.parametrize("kind", ["factor", "cell types", "quality", "batches"])
def test_taking_factors_off_leaves_modules(kind: str) -> None:
    """Means of three tables; within .05 of the power without a factor."""
    found = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        clean, related = modules(random, 400, 150)
        values = hide(random, clean, kind)
        factors = find_hidden_factors(values, seed)
        rest = without_factors(values, factors)
        before = false_share_and_power(normal_scores(values), related, 0)
        after = false_share_and_power(rest, related, len(factors.shares))
        ideal = false_share_and_power(normal_scores(clean), related, 0)
        found.append([before[0], after[0], ideal[1] - after[1]])
    confounded, false_share, lost_power = np.mean(found, axis=0)
    assert confounded > 0.5
    assert false_share <= 0.1
    assert lost_power <= 0.05


def test_scores_and_loadings_rebuild_what_is_factors_removed() -> None:
    random = np.random.default_rng(1)
    values = hide(random, unrelated(random, 90, 70), "cell types")
    values[random.random(values.shape) < 0.05] = np.nan
    values[3] = 1.0
    factors = find_hidden_factors(values, 1)
    assert factors.scores.var(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert (np.diff(factors.shares) <= 0).all()
    rest = without_factors(values, factors)
    assert (np.isnan(rest) == np.isnan(values)).all()
    kept = np.isfinite(values)
    taken = normal_scores(values) - normal_scores(values) @ factors.weights @ factors.scores
    assert rest[kept] == pytest.approx(taken[kept])
    assert (rest[3] == 0.0).all()
    left = (normal_scores(values) - normal_scores(values) @ factors.weights @ factors.scores) ** 2
    assert factors.share == pytest.approx(1 - left.sum() / (normal_scores(values) ** 2).sum())


@pytest.mark.parametrize(
    ("genes", "controls", "most"), [(30, None, 29), (30, 15, 15), (200, None, 40)]
)
def test_more_factors_than_leave_anything_of_a_gene_are_not_taken(
    genes: int, controls: int | None, most: int
) -> None:
    values = unrelated(np.random.default_rng(3), genes, 80)[:controls]
    found = find_hidden_factors(values, number=50, of_controls=controls is not None)
    assert len(found.shares) == most
    assert found.share < 1 or controls


def test_a_stated_number_is_taken_and_signs_of_genes_do_not_matter() -> None:
    random = np.random.default_rng(2)
    values = hide(random, unrelated(random, 60, 50), "factor")
    two = find_hidden_factors(values, 0, number=2)
    assert two.scores.shape == (2, 50)
    turned = values * random.choice([-1.0, 1.0], size=(60, 1))
    first, second = (find_hidden_factors(table, 0) for table in (values, turned))
    assert first.shares == pytest.approx(second.shares, rel=1e-6)
    assert np.abs(np.corrcoef(first.scores[0], second.scores[0])[0, 1]) > 0.999


def test_components_that_genes_make_are_told_from_those_of_samples() -> None:
    """A network of few regulators, and the same with a factor of the samples."""
    network_found, factor_found = [], []
    for seed in range(100, 106):
        random = np.random.default_rng(seed)
        network = normal_scores(simulate_kinetic(200, 150, 20, seed=seed).values)
        network_found.append(find_hidden_factors(network, seed))
        factor_found.append(find_hidden_factors(hide(random, network, "factor"), seed))
    of_network = [found.made_by for found in network_found if found.strong]
    assert len(of_network) >= 3
    assert set(of_network) == {"genes"}
    assert sum(found.strong and found.made_by == "samples" for found in factor_found) >= 5
    nothing_beside = hide(random, unrelated(random, 200, 150), "factor")
    assert find_hidden_factors(nothing_beside).made_by == ""
