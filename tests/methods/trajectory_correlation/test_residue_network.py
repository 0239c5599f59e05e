"""Residue networks against networkx and plain references; parts, empty ones, names of ends."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from MDAnalysis.lib.mdamath import triclinic_vectors
from pairtile.errors import ConfigError, InputError
from pairtile.methods.trajectory_correlation import network as residue_network
from pairtile.methods.trajectory_correlation.differences import difference, matched_items
from pairtile.methods.trajectory_correlation.network import (
    ResidueNetwork,
    path_ends,
    shortest_paths,
)
from pairtile.methods.trajectory_correlation.residues import (
    in_contact,
    touching_residues,
)

METHODS = ("leiden", "girvan_newman")


def random_network(n: int, n_edges: int, seed: int) -> ResidueNetwork:
    rng = np.random.default_rng(seed)
    every = np.array(list(itertools.combinations(range(n), 2)))
    ends = every[rng.choice(len(every), n_edges, replace=False)]
    return ResidueNetwork.of_edges(n, ends[:, 0], ends[:, 1], rng.uniform(-1, 1, n_edges))


def as_networkx(network: ResidueNetwork) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(network.n_nodes))
    for (a, b), c in zip(network.ends.tolist(), network.correlation.tolist(), strict=True):
        graph.add_edge(a, b, correlation=c, length=-np.log(c))
    return graph


def two_groups(n: int = 6, within: float = 0.9, between: float = 0.2) -> ResidueNetwork:
    """Two cliques and one edge from the one to the other."""
    edges = [(a, b, within) for a, b in itertools.combinations(range(n), 2)]
    edges += [(a + n, b + n, within) for a, b, _ in edges]
    i, j, c = zip(*edges, (0, n, between), strict=True)
    return ResidueNetwork.of_edges(2 * n, i, j, c)


def naive_girvan_newman(graph: nx.Graph) -> tuple[list[set[int]], float]:
    """Edges off one by one by betweenness counted anew, of equals the weakest; the division of
    greatest modularity."""
    work, best = graph.copy(), (None, -np.inf)
    while True:
        parts = list(nx.connected_components(work))
        score = nx.community.modularity(graph, parts, weight="correlation")
        if score > best[1] + 1e-12:
            best = (parts, score)
        if not work.number_of_edges():
            return best
        through = nx.edge_betweenness_centrality(work, normalized=False, weight="length")
        work.remove_edge(
            *max(through, key=lambda e: (round(through[e], 6), work.edges[e]["length"]))
        )


def groups(communities: np.ndarray) -> set[frozenset[int]]:
    return {
        frozenset(np.flatnonzero(communities == c).tolist())
        for c in set(communities.tolist()) - {0}
    }


@pytest.mark.parametrize("dense_nodes", [500, 5])
def test_closeness_and_eigenvector_agree_with_networkx(dense_nodes, monkeypatch):
    monkeypatch.setattr(residue_network, "_DENSE_NODES", dense_nodes)
    network = random_network(20, 60, seed=3)
    graph = as_networkx(network)
    closeness = nx.closeness_centrality(graph, distance="length")
    np.testing.assert_allclose(network.closeness(), list(closeness.values()), rtol=1e-9)
    eigenvector = np.array(list(nx.eigenvector_centrality_numpy(graph, "correlation").values()))
    np.testing.assert_allclose(network.eigenvector(), eigenvector / eigenvector.max(), atol=1e-6)
    empty = ResidueNetwork.of_edges(4, [], [], [])
    assert np.isnan(empty.closeness()).all()
    assert (empty.eigenvector() == 0).all()


@pytest.mark.parametrize(("n", "n_edges"), [(12, 8), (20, 60), (40, 100)])
def test_betweenness_and_degree_agree_with_networkx(n, n_edges):
    network = random_network(n, n_edges, seed=n)
    graph = as_networkx(network)
    expected = nx.betweenness_centrality(graph, weight="length")
    np.testing.assert_allclose(network.betweenness(), [expected[k] for k in range(n)], atol=1e-12)
    assert network.degree().tolist() == [graph.degree(k) for k in range(n)]


@pytest.mark.parametrize(("n", "n_edges"), [(10, 12), (14, 30), (25, 45), (30, 120)])
def test_girvan_newman_agrees_with_the_plain_way(n, n_edges):
    network = random_network(n, n_edges, seed=100 + n)
    expected, score = naive_girvan_newman(as_networkx(network))
    found = network.communities("girvan_newman", seed=1)
    joined = {frozenset(part) for part in expected if len(part) > 1 or network.degree()[min(part)]}
    assert groups(found) == joined
    assert network.modularity(found) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_two_groups_are_two_communities(method):
    network = two_groups()
    found = network.communities(method, seed=3)
    assert found.tolist() == [1] * 6 + [2] * 6


@pytest.mark.parametrize("method", METHODS)
def test_communities_of_a_disconnected_network_stay_within_its_parts(method):
    # Parts {0 1 2}, {3 4}, and 5 alone.
    network = ResidueNetwork.of_edges(6, [0, 1, 3], [1, 2, 4], [0.9, 0.9, 0.5])
    assert network.communities(method, seed=1).tolist() == [1, 1, 1, 2, 2, 0]
    assert shortest_paths(network, 0, 4, 5) == []
    assert shortest_paths(network, 0, 5, 5) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_an_empty_network_has_no_communities_and_no_betweenness(method, n):
    network = ResidueNetwork.of_edges(n, [], [], [])
    assert network.communities(method, seed=1).tolist() == [0] * n
    assert network.betweenness().tolist() == [0.0] * n
    assert network.degree().tolist() == [0] * n
    assert np.isnan(network.modularity([0] * n))
    if n > 1:
        assert shortest_paths(network, 0, n - 1, 3) == []


def test_leiden_is_the_same_for_a_seed_and_leaves_the_generator_alone():
    network = random_network(60, 400, seed=5)
    runs = [network.communities("leiden", seed=9).tolist() for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]
    import random

    random.seed(1)
    before = random.getstate()
    network.communities("leiden", seed=2)
    assert random.getstate() == before


def test_communities_are_numbered_by_size():
    sizes = np.bincount(random_network(60, 90, seed=6).communities("leiden", seed=1))[1:]
    assert sizes.size > 2
    assert (np.diff(sizes) <= 0).all()


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="louvain"):
        two_groups().communities("louvain", seed=1)


def test_edges_without_correlation_join_nothing_and_full_correlation_has_almost_no_length():
    network = ResidueNetwork.of_edges(4, [0, 1, 2], [1, 2, 3], [1.0, 0.0, np.nan])
    assert network.ends.tolist() == [[0, 1]]
    assert 0 < network.lengths[0] < 1e-8
    assert network.betweenness().tolist() == [0.0] * 4
    for method in METHODS:
        assert network.communities(method, seed=1).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("number", [1, 5, 25])
def test_paths_agree_with_networkx(number):
    network = random_network(18, 50, seed=8)
    graph = as_networkx(network)
    found = shortest_paths(network, 2, 11, number)
    expected = list(
        itertools.islice(nx.shortest_simple_paths(graph, 2, 11, weight="length"), number)
    )
    assert [list(nodes) for _, nodes in found] == expected
    lengths = [nx.path_weight(graph, path, "length") for path in expected]
    np.testing.assert_allclose([length for length, _ in found], lengths, rtol=1e-12)


def test_contacts_of_enough_frames_are_kept_in_any_order_of_ends():
    state = {
        "contact_i": np.array([0, 0, 2], np.int32),
        "contact_j": np.array([1, 3, 3], np.int32),
        "contact_fraction": np.array([0.8, 0.7, 0.6], np.float32),
    }
    i, j = [0, 1, 0, 3, 1, 2], [1, 0, 3, 2, 2, 3]
    assert in_contact(i, j, state, 0.75).tolist() == [True, True, False, False, False, False]
    assert in_contact(i, j, state, 0.6).tolist() == [True, True, True, True, False, True]
    assert in_contact([], [], state, 0.6).tolist() == []


def test_residues_touch_across_the_periodic_box_and_not_with_themselves():
    positions = np.full((4, 3), 50.0, dtype=np.float32)
    positions[:, 0] = [1.0, 2.0, 29.0, 15.0]
    box = np.array([30.0, 90.0, 90.0, 90.0, 90.0, 90.0], dtype=np.float32)
    owner = np.array([0, 0, 1, 2])
    found = [touching_residues(positions, given, owner, 3, cutoff=4.0) for given in (box, None)]
    assert [part.nnz for part in found] == [1, 0]
    assert found[0][0, 1] == 1


@pytest.mark.parametrize(
    ("lengths", "angles"),
    [
        (None, None),
        ((31, 23, 17), (90, 90, 90)),
        ((24, 24, 24), (60, 60, 90)),  # rhombic dodecahedron
        ((24, 24, 24), (70.53, 109.47, 70.53)),  # truncated octahedron
        ((30, 22, 19), (90, 110, 90)),
        ((8, 8, 60), (90, 90, 90)),  # narrower than two cutoffs
    ],
)
def test_residues_touch_as_their_nearest_images_do(lengths, angles):
    rng = np.random.default_rng(5)
    positions = rng.uniform(-40, 40, (150, 3)).astype(np.float32)  # in several images of the box
    apart = positions[:, None].astype(float) - positions
    box, distance = None, np.linalg.norm(apart, axis=-1)
    if lengths:
        box = np.array([*lengths, *angles], dtype=np.float32)
        axes = triclinic_vectors(box).astype(float)
        nearest = apart - np.rint(apart @ np.linalg.inv(axes)) @ axes
        shifts = np.array(list(itertools.product((-1, 0, 1), repeat=3))) @ axes
        distance = np.linalg.norm(nearest[..., None, :] + shifts, axis=-1).min(axis=-1)
    nearest_atoms = distance.reshape(50, 3, 50, 3).min(axis=(1, 3))
    found = touching_residues(positions, box, np.arange(150) // 3, 50, cutoff=4.5).toarray()
    above = np.triu_indices(50, 1)
    assert set(np.unique(found[above])) == {0, 1}
    assert not np.tril(found).any()
    # Single precision may decide what is this near to the cutoff.
    clear = np.abs(nearest_atoms[above] - 4.5) > 1e-4
    assert (found[above] == (nearest_atoms[above] <= 4.5))[clear].all()


def items(names: list[str], dropped: tuple[str, ...] = ()) -> pd.DataFrame:
    table = pd.DataFrame({"name": names, "kept": [name not in dropped for name in names]})
    parts = table["name"].str.extract(r"(?P<chain>\w):(?P<resname>[A-Z]{3})(?P<resid>\d+)(:.*)?")
    return table.assign(chain=parts["chain"], resid=parts["resid"].astype(int), icode="", atom="CA")


def test_ends_of_paths_are_found_by_name_or_by_the_residue_of_one_variable():
    table = items(["A:LYS1:CB", "A:GLY2", "B:SER3:phi", "B:SER3:psi", "B:TRP4"], ("B:TRP4",))
    assert path_ends(table, [["A:LYS1", "A:GLY2"], ["B:SER3:psi", "A:LYS1:CB"]]) == [(0, 1), (3, 0)]
    for name, expected in (
        ("B:SER3", "B:SER3:phi, B:SER3:psi"),
        ("A:GLY3", "A:GLY2"),
        ("B:TRP4", "such as"),
    ):
        with pytest.raises(ConfigError, match=expected) as caught:
            path_ends(table, [["A:GLY2", name]])
        assert repr(name) in str(caught.value)


def full(n: int, values: np.ndarray) -> pd.DataFrame:
    i, j = np.triu_indices(n, 1)
    return pd.DataFrame({"i": i, "j": j, "correlation": values[i, j], "dcc": -values[i, j]})


def test_difference_matches_names_in_another_order_and_mutants_by_place():
    wild = items(["A:LYS1", "A:GLY2", "A:SER3", "A:TRP4"])
    mutant = items(["A:TRP4", "A:ALA2", "A:LYS1", "B:SER3"])
    matched = matched_items(wild, mutant, ("wild", "mutant"))
    assert matched.to_dict() == {0: 2, 1: 1, 3: 0}
    rng = np.random.default_rng(2)
    a, b = (m + m.T for m in rng.normal(size=(2, 4, 4)))
    found = difference(full(4, a), full(4, b), matched, len(mutant))
    assert list(zip(found["i"], found["j"], strict=True)) == [(0, 1), (0, 3), (1, 3)]
    for row in found.itertuples():
        other = b[matched[row.i], matched[row.j]]
        assert row.correlation_difference == pytest.approx(a[row.i, row.j] - other, abs=1e-15)
        assert row.dcc_difference == pytest.approx(-row.correlation_difference, abs=1e-15)
    assert "mi_nats_difference" not in found


def test_analyses_of_different_molecules_have_no_difference():
    with pytest.raises(InputError, match="compare: closed"):
        matched_items(items(["A:LYS1", "A:GLY2"]), items(["C:LYS1", "C:GLY2"]), ("open", "closed"))
