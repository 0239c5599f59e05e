"""Modules of genes and of edges: planted ones are found, whatever the order; plain modularity."""

from __future__ import annotations

import itertools
import random

import igraph
import numpy as np
import pytest
from pairtile.errors import InputError
from pairtile.statistics import modules as modules_module
from pairtile.statistics.modules import leiden_modules, link_communities, module_table


def cliques(*members: list[int], r: float = 0.9):
    pairs = [pair for each in members for pair in itertools.combinations(each, 2)]
    i, j = np.array(pairs).T
    return i, j, np.full(len(pairs), r)


def blocks(sizes: list[int], seed: int, within: float = 0.5, between: float = 0.02):
    draws = np.random.default_rng(seed)
    block = draws.permutation(np.repeat(np.arange(len(sizes)), sizes))
    i, j = np.triu_indices(block.size, 1)
    chance = np.where(block[i] == block[j], within, between)
    joined = draws.random(i.size) < chance
    r = draws.uniform(0.7, 1, joined.sum()) * draws.choice([-1, 1], joined.sum())
    return block, i[joined], j[joined], r


def test_planted_modules_are_found_whatever_the_signs():
    block, i, j, r = blocks([60, 40, 30, 20], seed=1)
    found = leiden_modules(i, j, r, block.size)
    assert igraph.compare_communities(block, found, "adjusted_rand") > 0.95
    assert np.bincount(found)[1:].tolist() == sorted(np.bincount(found)[1:], reverse=True)


@pytest.mark.parametrize("find", [leiden_modules, link_communities])
def test_modules_are_the_same_for_any_order_of_edges_and_ends(find):
    _, i, j, r = blocks([25, 20, 15], seed=2, within=0.3, between=0.08)
    expected = find(i, j, r, 60, seed=5)
    for seed in range(3):
        draws = np.random.default_rng(seed)
        order, swap = draws.permutation(i.size), draws.random(i.size) < 0.5
        a, b = np.where(swap, j, i)[order], np.where(swap, i, j)[order]
        random.seed(seed)  # igraph draws from this one by default
        found = find(a, b, r[order], 60, seed=5)
        wanted = expected if find is leiden_modules else expected[order]
        np.testing.assert_array_equal(found, wanted)


def test_the_draws_leave_the_generator_of_the_process_alone():
    i, j, r = cliques([0, 1, 2])
    random.seed(1)
    expected = random.random()
    random.seed(1)
    leiden_modules(i, j, r, 3)
    assert random.random() == expected


def test_of_several_modes_of_a_pair_the_strongest_counts():
    i, j, r = cliques([0, 1, 2, 3], [4, 5, 6, 7])
    bridge = np.array([[0, 4, 0.01], [4, 0, 0.02]])
    twice = [np.concatenate(pair) for pair in zip((i, j, r), bridge.T, strict=True)]
    once = [np.append(a, b) for a, b in zip((i, j, r), (0, 4, 0.02), strict=True)]
    for a, b, value in (twice, once):
        found = leiden_modules(a.astype(int), b.astype(int), value, 8)
        assert found.tolist() == [1] * 4 + [2] * 4
    table = module_table(found, twice[0].astype(int), twice[1].astype(int), twice[2])
    assert table["edges"].tolist() == [6, 6]
    assert table["edges_out"].tolist() == [1, 1]


def test_genes_without_edges_have_no_module_and_parts_are_not_mixed():
    i, j, r = cliques([1, 2, 3], [5, 6])
    found = leiden_modules(np.append(i, 0), np.append(j, 7), np.append(r, np.nan), 8)
    assert found.tolist() == [0, 1, 1, 1, 0, 2, 2, 0]
    assert leiden_modules([], [], [], 4).tolist() == [0] * 4
    assert module_table([0] * 4, [], [], []).empty


def test_a_higher_resolution_makes_smaller_modules():
    block, i, j, r = blocks([60, 60], seed=3)
    sizes = [leiden_modules(i, j, r, block.size, resolution=x).max() for x in (0.05, 1, 4)]
    assert sizes[0] == 1
    assert sizes[0] < sizes[1] < sizes[2]


def test_module_table_counts_by_hand():
    #  0-1-2 with 0-2, hub 1; 3-4; 2-3 between; 5 alone
    i, j, r = np.array([0, 2, 0, 3, 2]), np.array([1, 1, 2, 4, 3]), [0.9, -0.8, 0.5, 0.7, 0.6]
    table = module_table([1, 1, 1, 2, 2, 0], i, j, r)
    assert table.to_dict("records") == [
        {
            "module": 1,
            "genes": 3,
            "edges": 3,
            "edges_out": 1,
            "density": 1.0,
            "mean_correlation": pytest.approx(2.2 / 3),
            "hub": 1,
            "hub_edges": 2,
        },
        {
            "module": 2,
            "genes": 2,
            "edges": 1,
            "edges_out": 1,
            "density": 1.0,
            "mean_correlation": 0.7,
            "hub": 3,
            "hub_edges": 1,
        },
    ]


# link communities


def test_a_gene_of_two_cliques_is_in_the_communities_of_both():
    i, j, r = cliques([0, 1, 2, 3, 4], [4, 5, 6, 7])
    found = link_communities(i, j, r, 8)
    assert found.tolist() == [1] * 10 + [2] * 6
    genes = {c: set(i[found == c]) | set(j[found == c]) for c in (1, 2)}
    assert genes[1] & genes[2] == {4}


def test_several_modes_of_a_pair_and_unjoined_ones():
    i, j, r = cliques([0, 1, 2], [3, 4, 5])
    i, j, r = np.append(i, [1, 0, 3]), np.append(j, [0, 4, 5]), np.append(r, [0.5, 0.0, 0.6])
    assert link_communities(i, j, r, 6).tolist() == [1, 1, 1, 2, 2, 2, 1, 0, 2]
    assert link_communities([], [], [], 6).tolist() == []
    assert link_communities([0, 1], [1, 2], [np.nan, 0.0], 6).tolist() == [0, 0]


def line_graph(i, j, weight, n):
    """Evans and Lambiotte's weighted line graph, whole, with its loops: walks edge-gene-edge."""
    meeting = np.zeros((len(i), len(i)))
    for gene in range(n):
        at = [e for e in range(len(i)) if gene in (i[e], j[e])]
        strength = sum(weight[e] for e in at)
        for e, f in itertools.product(at, at):
            meeting[e, f] += weight[e] * weight[f] / strength
    return meeting


def modularity(matrix, group, resolution=1.0):
    strength = matrix.sum(axis=1)
    total = matrix.sum()
    same = np.equal.outer(group, group)
    return ((matrix - resolution * np.outer(strength, strength) / total) * same).sum() / total


@pytest.mark.parametrize("seed", range(4))
def test_no_edge_is_better_off_in_another_community(seed):
    _, i, j, r = blocks([8, 7, 6], seed=seed, within=0.5, between=0.06)
    found = link_communities(i, j, r, 21, seed=seed)
    matrix = line_graph(i, j, np.abs(r), 21)
    np.testing.assert_allclose(matrix.sum(axis=1), 2 * np.abs(r))  # no edge weighs more for a hub
    best = modularity(matrix, found)
    assert best > 0.3
    for edge in range(len(i)):
        for other in set(found) - {found[edge]}:
            moved = found.copy()
            moved[edge] = other
            assert modularity(matrix, moved) <= best + 1e-12


def test_too_many_meetings_of_edges_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr(modules_module, "MAX_MEETINGS", 20)
    i, j, r = cliques(list(range(6)))
    with pytest.raises(InputError, match="found 60 pairs of edges"):
        link_communities(i, j, r, 6)


@pytest.mark.parametrize("find", [leiden_modules, link_communities])
def test_settings_and_genes_that_make_no_sense_are_refused(find):
    with pytest.raises(ValueError, match="resolution"):
        find([0], [1], [0.9], 2, resolution=0)
    with pytest.raises(ValueError, match="two genes"):
        find([0], [2], [0.9], 2)
    with pytest.raises(ValueError, match="two genes"):
        find([1], [1], [0.9], 2)
