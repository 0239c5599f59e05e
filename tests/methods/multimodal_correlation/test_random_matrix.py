"""The RMT threshold against a plain reference; parts, ties, tiny and hopeless networks."""

from __future__ import annotations

import naive_random_matrix as naive
import numpy as np
import pytest
from pairtile.gpu.device import Device, choose
from pairtile.methods.multimodal_correlation import eigenvalues as eigenvalues_module
from pairtile.methods.multimodal_correlation.eigenvalues import (
    NetworkEigenvalues,
    PartTooLargeError,
    chi_square,
    distinct,
    spacing_density,
)
from pairtile.methods.multimodal_correlation.thresholds import (
    RankedPairs,
    random_matrix_threshold,
    walk,
)

CPU = choose("cpu")


def random_pairs(genes: int, edges: int, seed: int):
    random = np.random.default_rng(seed)
    i, j = np.triu_indices(genes, 1)
    chosen = random.choice(i.size, edges, replace=False)
    r = random.uniform(0.5, 1, edges) * random.choice([-1, 1], edges)
    return i[chosen], j[chosen], r.astype(np.float32)


def dense(genes, n_genes, i, j, r):
    matrix = np.eye(n_genes)
    matrix[i, j] = matrix[j, i] = r
    return np.linalg.eigvalsh(matrix[np.ix_(genes, genes)])


# eigenvalues, part by part


@pytest.mark.parametrize(
    ("genes", "edges"), [(2, 1), (30, 6), (60, 40), (80, 80), (250, 900), (400, 210)]
)
def test_eigenvalues_of_the_parts_are_those_of_the_whole(genes, edges):
    i, j, r = random_pairs(genes, edges, seed=genes)
    rows = np.arange(genes)  # those without an edge too: 1 each
    found = NetworkEigenvalues(genes, CPU).of_matrix(rows, i, j, r)
    np.testing.assert_allclose(found, dense(rows, genes, i, j, r), atol=1e-12)


def test_eigenvalues_of_a_growing_network_are_those_of_each_step():
    genes = 120
    i, j, r = random_pairs(genes, 160, seed=3)
    solver = NetworkEigenvalues(genes, CPU)
    for count in range(0, 161, 4):
        rows = np.unique(np.concatenate([i[:count], j[:count]]))
        found = solver.of_matrix(rows, i[:count], j[:count], r[:count])
        expected = dense(rows, genes, i[:count], j[:count], r[:count])
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_parts_that_did_not_change_are_not_computed_again(monkeypatch):
    solved = []
    solve = NetworkEigenvalues._solve

    def counted(self, parts, *rest):
        solved.append(len(parts))
        return solve(self, parts, *rest)

    monkeypatch.setattr(NetworkEigenvalues, "_solve", counted)
    solver = NetworkEigenvalues(9, CPU)
    i, j = np.array([0, 1, 3, 4, 6, 7, 3, 2]), np.array([1, 2, 4, 5, 7, 8, 5, 6])
    r = np.linspace(0.9, 0.6, 8).astype(np.float32)
    # Three chains of three genes; the same; one of them closed; the two others joined.
    for edges in (6, 6, 7, 8):
        found = solver.of_matrix(np.arange(9), i[:edges], j[:edges], r[:edges])
        expected = dense(np.arange(9), 9, i[:edges], j[:edges], r[:edges])
        np.testing.assert_allclose(found, expected, atol=1e-14)
    assert solved == [3, 0, 1, 1]


def test_a_part_too_large_for_the_memory_ends_the_walk_with_a_message(monkeypatch):
    monkeypatch.setattr(eigenvalues_module, "_MIN_FREE", 0)
    monkeypatch.setattr(Device, "free_bytes", lambda self: 8 * 200 * 200)
    i, j, r = naive.modules_and_noise(500, 20, seed=1)
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, r, 500))
    assert found.threshold is None
    assert "GB of memory (CPU)" in found.message
    assert "more memory" in found.message
    with pytest.raises(PartTooLargeError):
        NetworkEigenvalues(500, CPU).of_matrix(np.arange(500), i, j, r)


# spacings


def test_distinct_leaves_out_what_is_no_further_than_a_millionth():
    assert distinct(np.array([])).size == 0
    values = np.array([0.0, 1.0, 1.0 + 5e-7, 1.0 + 3e-6, 2.0])
    assert distinct(values).tolist() == [0.0, 1.0, 1.0 + 3e-6, 2.0]
    assert distinct(values).tolist() == naive.distinct(values)


@pytest.mark.parametrize("n", [50, 51, 99, 200, 431])
def test_chi_square_agrees_with_the_plain_way(n):
    values = np.sort(np.random.default_rng(n).gamma(2.0, size=n))
    assert chi_square(values) == pytest.approx(naive.chi_square(values.tolist()), rel=1e-12)


def test_spacing_density_follows_the_law_of_its_matrix():
    random = np.random.default_rng(8)
    noise = random.normal(size=(800, 800))
    for values, near, far in (
        (np.linalg.eigvalsh(noise + noise.T), "wigner", "poisson"),
        (np.sort(random.uniform(size=800)), "poisson", "wigner"),
    ):
        shown = spacing_density(values)
        off = {law: np.abs(shown["density"] - shown[law]).sum() for law in (near, far)}
        assert off[near] < off[far] / 2
    assert shown["poisson"].sum() * 0.05 == pytest.approx(1 - np.exp(-3))
    assert shown["wigner"].sum() * 0.05 == pytest.approx(1 - np.exp(-9 * np.pi / 4))


# pairs and the walk


def test_of_several_modes_of_a_pair_the_strongest_counts_in_any_order():
    i, j = np.array([0, 3, 1, 0, 1]), np.array([1, 2, 0, 1, 2])
    r = np.array([0.6, 0.7, -0.9, 0.9, 0.5])
    for order in np.random.default_rng(0).permuted(np.tile(np.arange(5), (10, 1)), axis=1):
        pairs = RankedPairs.of_modes(i[order], j[order], r[order], 4)
        assert pairs.i.tolist() == [0, 2, 1]
        assert pairs.j.tolist() == [1, 3, 2]
        np.testing.assert_array_equal(pairs.r, np.float32([0.9, 0.7, 0.5]))


def test_a_correlation_equal_to_the_threshold_counts():
    pairs = RankedPairs.of_modes([0, 0, 1], [1, 2, 2], np.float32([0.7, -0.6, 0.5]), 3)
    assert [pairs.count(t) for t in (0.8, 0.7, 0.6, 0.5, 0.1)] == [0, 1, 2, 3, 3]


@pytest.mark.parametrize(
    ("i", "j", "r"),
    [
        ([0], [1, 2], [0.5]),
        ([0], [0], [0.5]),
        ([0], [3], [0.5]),
        ([-1], [1], [0.5]),
        ([0], [1], [1.5]),
        ([0], [1], [np.nan]),
    ],
)
def test_pairs_that_make_no_sense_are_refused(i, j, r):
    with pytest.raises(ValueError, match="expected"):
        random_matrix_threshold(RankedPairs.of_modes(i, j, r, 3))


def test_the_walk_is_decimal_and_ends_where_the_pairs_end():
    assert walk(0.9, 0.1, None, 0.6) == [0.9, 0.8, 0.7, 0.6]
    assert walk(0.9, 0.1, 0.7, 0.6) == [0.9, 0.8, 0.7]
    assert walk(0.9, 0.1, 0.5, np.float32(0.6)) == [0.9, 0.8, 0.7, 0.6]
    assert walk(0.9, 0.1, None, 0.95) == []
    assert len(walk(0.99, 0.001, None, 0.0)) == 991


def test_the_walk_of_kinc_adds_up_the_errors_of_single_precision():
    steps = walk(0.95, 0.001, 0.5, 0.0, single=True)
    assert f"{steps[124]:.6g}" == "0.826002"
    assert all(np.float32(step) == step for step in steps)


# the threshold


@pytest.mark.parametrize("rule", ["symmetric", "kinc"])
def test_curve_agrees_with_the_plain_way(rule):
    i, j, r = naive.modules_and_noise(220, 12, seed=2)
    order = np.random.default_rng(1).permutation(i.size)
    swap = order % 2 == 0
    i, j = np.where(swap, j, i)[order], np.where(swap, i, j)[order]
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, r[order], 220), step=0.01, rule=rule)
    steps = found.curve["threshold"].tolist()
    expected = naive.curve(i, j, r[order], 220, steps, rule)
    assert found.curve["genes"].tolist() == [row[1] for row in expected]
    assert found.curve["eigenvalues"].tolist() == [row[2] for row in expected]
    chi = [np.nan if row[3] is None else row[3] for row in expected]
    assert np.isfinite(chi).sum() > 10
    np.testing.assert_allclose(found.curve["chi_square"], chi, rtol=1e-9)


def test_threshold_is_the_last_below_the_critical_value_before_a_random_one():
    i, j, r = naive.modules_and_noise(600, 20, seed=4)
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, r, 600))
    chi = found.curve["chi_square"].to_numpy()
    assert found.threshold is not None
    at = found.curve["threshold"].tolist().index(found.threshold)
    assert chi[at] < 99.607
    assert (chi[at + 1 :] >= 99.607).all()
    assert chi[-1] >= 200
    assert (chi[at + 1 : -1] < 200).all()
    assert sorted(found.spacings["threshold"].unique()) == sorted(
        {
            found.curve["threshold"][np.isfinite(chi)].iloc[0],
            found.threshold,
            found.curve["threshold"].iloc[-1],
        }
    )
    assert f"threshold {found.threshold:g}" in found.message


def test_symmetric_rule_does_not_depend_on_the_order_of_genes_or_pairs():
    i, j, r = naive.modules_and_noise(600, 20, seed=4)
    expected = random_matrix_threshold(RankedPairs.of_modes(i, j, r, 600))
    random = np.random.default_rng(5)
    name, order = random.permutation(600), random.permutation(i.size)
    found = random_matrix_threshold(
        RankedPairs.of_modes(name[j[order]], name[i[order]], r[order], 600)
    )
    assert found.threshold == expected.threshold
    np.testing.assert_array_equal(found.curve["eigenvalues"], expected.curve["eigenvalues"])
    np.testing.assert_allclose(found.curve["chi_square"], expected.curve["chi_square"], rtol=1e-6)


# no threshold: a message and an end, never a wait


def test_no_pairs_no_threshold():
    found = random_matrix_threshold(RankedPairs.of_modes([], [], [], 10))
    assert found.threshold is None
    assert "no threshold found" in found.message
    assert found.curve["genes"].max() == 0


def test_too_few_genes_say_so():
    i, j, r = random_pairs(40, 300, seed=1)
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, r, 40))
    assert found.threshold is None
    assert "between 0.99 and 0.5" in found.message
    assert "50 are needed" in found.message
    assert "estimator.min_correlation" in found.message
    assert found.spacings.empty


def test_separate_modules_down_to_the_end_say_so():
    random = np.random.default_rng(3)  # lone pairs: nothing ever ties them together
    found = random_matrix_threshold(
        RankedPairs.of_modes(
            np.arange(0, 800, 2), np.arange(1, 800, 2), random.uniform(0.5, 1, 400), 800
        ),
        step=0.005,
    )
    assert found.threshold is None
    assert "never reaches 200" in found.message
    assert found.curve["threshold"].iloc[-1] < 0.51


def test_a_network_random_from_the_start_says_so():
    random = np.random.default_rng(6)
    i, j = np.triu_indices(300, 1)
    size = np.where(random.random(i.size) < 0.5, 0.995, random.uniform(0.9, 0.98, i.size))
    r = size * random.choice([-1, 1], i.size)
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, r, 300), step=0.01)
    assert found.threshold is None
    assert "never falls below 99.607" in found.message


def test_perfect_correlations_have_no_distinct_eigenvalues_and_an_end():
    i, j = np.triu_indices(100, 1)
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, np.ones(i.size), 100))
    assert found.threshold is None
    assert "the weakest pair has |r| = 1, above the start" in found.message
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, np.ones(i.size), 100), start=1.0)
    assert found.threshold is None
    assert found.curve["eigenvalues"].tolist() == [2]  # 0, and 100 for all of them together


@pytest.mark.parametrize(
    "settings",
    [{"rule": "both"}, {"min_eigenvalues": 49}, {"start": 0.0}, {"step": 0.0}, {"start": 1.1}],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=r"expected"):
        random_matrix_threshold(RankedPairs.of_modes([0], [1], [0.9], 2), **settings)
