"""Networks with several edges of a pair, one for each of its modes: what each format does."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import anndata
import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from export_networks import items_table, write
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from ndex2.cx2 import RawCX2NetworkFactory

GENES = ["a", "b b", "ç", "d", "alone"]
AWKWARD_COLUMN = 'Stage: early/late "q" <é>'
Edge = tuple[frozenset[str], int]


def modes(pairs: list[tuple[int, int]], seed: int = 1) -> pd.DataFrame:
    """A row for each entry of ``pairs`` (rows of ``GENES``), the modes of a pair numbered."""
    random = np.random.default_rng(seed)
    names = np.array(GENES, dtype=object)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    n = len(ends)
    low, high = ends.min(axis=1, initial=9), ends.max(axis=1, initial=0)
    pair = pd.Series(low * 10 + high)
    return pd.DataFrame(
        {
            "source": names[ends[:, 0]],
            "target": names[ends[:, 1]],
            "cluster": (pair.groupby(pair).cumcount() + 1).astype(np.int32),
            "n_clusters": pair.groupby(pair).transform("size").astype(np.int32),
            "n_samples": random.integers(30, 90, n).astype(np.int32),
            "correlation": random.permutation(np.linspace(-1, 1, n + 1)[:n]).astype(np.float32),
            AWKWARD_COLUMN: np.where(random.random(n) < 0.3, np.nan, random.random(n)),
        }
    )


PAIRS = [(0, 1), (0, 1), (2, 1), (1, 2), (0, 3), (1, 2)]
"""Two modes, three modes (one of them the other way round), one mode."""

ANY_PAIRS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda p: p[0] != p[1]), max_size=12
)


def edges_of(network: pd.DataFrame) -> dict[Edge, dict[str, Any]]:
    """The attributes of each mode, without the missing ones."""
    return {
        (frozenset((row.pop("source"), row.pop("target"))), row["cluster"]): {
            key: value for key, value in row.items() if value == value
        }
        for row in network.to_dict("records")
    }


def read_edges(graph: nx.Graph, extra: tuple[str, ...] = ()) -> dict[Edge, dict[str, Any]]:
    found = {}
    for source, target, data in graph.edges(data=True):
        attributes = {key: value for key, value in data.items() if key not in extra}
        found[frozenset((source, target)), attributes["cluster"]] = attributes
    assert len(found) == graph.number_of_edges()
    return found


@settings(max_examples=30, deadline=None)
@given(pairs=ANY_PAIRS)
def test_networkx_and_igraph_read_every_mode_back_from_graphml(pairs: list[Any]) -> None:
    network = modes(pairs)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "graphml", network, items_table(GENES))
        graph, same = nx.read_graphml(path), igraph.Graph.Read_GraphML(str(path))
    wanted = edges_of(network)
    assert read_edges(graph, ("weight", "row")) == wanted
    for _, _, data in graph.edges(data=True):
        assert data["weight"] == abs(data["correlation"])
    assert same.ecount() == len(network)
    names = same.vs["name"] if same.vcount() else []
    for edge in same.es:
        ends = frozenset((names[edge.source], names[edge.target]))
        mode = wanted[ends, int(edge["cluster"])]
        assert edge["correlation"] == mode["correlation"]
        assert edge["n_samples"] == mode["n_samples"]
        if AWKWARD_COLUMN in mode:
            assert edge[AWKWARD_COLUMN] == mode[AWKWARD_COLUMN]


def test_graphml_has_an_id_for_each_mode_and_valid_keys(tmp_path: Path) -> None:
    path = write(tmp_path, "graphml", modes(PAIRS), items_table(GENES))
    root = etree.parse(str(path)).getroot()
    space = {"g": root.nsmap[None]}
    ids = [edge.get("id") for edge in root.iterfind(".//g:edge", space)]
    assert sorted(ids) == [str(n) for n in range(len(PAIRS))]
    # The schema of GraphML wants keys that are name tokens, each there once, and data of keys.
    keys = [key.get("id") for key in root.iterfind("g:key", space)]
    assert len(set(keys)) == len(keys)
    assert all(key.isalnum() for key in keys)
    assert {data.get("key") for data in root.iterfind(".//g:data", space)} <= set(keys)
    titles = [key.get("attr.name") for key in root.iterfind("g:key", space)]
    assert AWKWARD_COLUMN in titles


@pytest.mark.parametrize("directed", [False, True])
def test_graphml_keeps_direction_of_parallel_edges(directed: bool, tmp_path: Path) -> None:
    network = modes(PAIRS)
    path = write(tmp_path, "graphml", network, items_table(GENES), directed=directed)
    graph = nx.read_graphml(path)
    assert (graph.is_directed(), graph.is_multigraph()) == (directed, True)
    assert graph.number_of_edges("b b", "ç") == (2 if directed else 3)
    assert graph.number_of_edges("ç", "b b") == (1 if directed else 3)


@settings(max_examples=20, deadline=None)
@given(pairs=ANY_PAIRS)
def test_gexf_has_every_mode_with_its_weight(pairs: list[Any]) -> None:
    network = modes(pairs)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "gexf", network, items_table(GENES))
        graph = nx.read_gexf(path)
        root = etree.parse(str(path)).getroot()
    assert read_edges(graph, ("id", "weight", "row", "networkx_key")) == edges_of(network)
    for _, _, data in graph.edges(data=True):
        assert data["weight"] == abs(data["correlation"])
    ids = [edge.get("id") for edge in root.iterfind(".//{*}edge")]
    assert len(set(ids)) == len(ids) == len(network)


def test_cx2_has_every_mode_as_an_edge_of_its_own(tmp_path: Path) -> None:
    network = modes(PAIRS)
    path = write(tmp_path, "cx2", network, items_table(GENES))
    document = RawCX2NetworkFactory().get_cx2network(str(path))
    names = {key: node["v"]["name"] for key, node in document.get_nodes().items()}
    found = {}
    for edge in document.get_edges().values():
        attributes = {key: value for key, value in edge["v"].items() if key != "interaction"}
        del attributes["row"]
        assert attributes.pop("weight") == abs(attributes["correlation"])
        found[frozenset((names[edge["s"]], names[edge["t"]])), attributes["cluster"]] = attributes
    assert found == edges_of(network)
    assert sorted(document.get_edges()) == list(range(len(PAIRS)))


@pytest.mark.parametrize("directed", [False, True])
def test_sif_names_a_pair_once_however_many_modes_it_has(directed: bool, tmp_path: Path) -> None:
    path = write(tmp_path, "sif", modes(PAIRS), items_table(GENES), directed=directed)
    with path.open(encoding="utf-8", newline="") as text:
        lines = [(line[0], line[2]) for line in csv.reader(text, delimiter="\t")]
    both_ways = [("a", "b b"), ("ç", "b b"), ("b b", "ç"), ("a", "d")]
    assert lines == (both_ways if directed else [both_ways[0], both_ways[1], both_ways[3]])


def strongest(network: pd.DataFrame) -> dict[frozenset[str], dict[str, Any]]:
    """The mode of greatest correlation, whatever its sign, of each pair."""
    best: dict[frozenset[str], dict[str, Any]] = {}
    for row in network.to_dict("records"):
        pair = frozenset((row["source"], row["target"]))
        if pair not in best or abs(row["correlation"]) > abs(best[pair]["correlation"]):
            best[pair] = row
    return best


def check_matrix(
    matrix: scipy.sparse.csr_array, best: dict[frozenset[str], dict[str, Any]], column: str
) -> None:
    cells = matrix.tocoo()
    assert len(cells.data) == 2 * len(best)
    for row, other, value in zip(cells.row, cells.col, cells.data, strict=True):
        wanted = best[frozenset((GENES[row], GENES[other]))][column]
        np.testing.assert_equal(value, wanted)


@settings(max_examples=20, deadline=None)
@given(pairs=ANY_PAIRS)
def test_every_number_in_matrices_is_of_the_strongest_mode(pairs: list[Any]) -> None:
    network = modes(pairs)
    best = strongest(network)
    numbers = ["cluster", "n_clusters", "n_samples"]
    keys = {key: key for key in numbers} | {AWKWARD_COLUMN: AWKWARD_COLUMN.replace("/", "_")}
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "adjacency", network, items_table(GENES))
        check_matrix(scipy.sparse.load_npz(path), best, "correlation")
        with np.load(path, allow_pickle=False) as archive:
            for column, key in keys.items():
                parts = (archive[f"data_{key}"], archive["indices"], archive["indptr"])
                check_matrix(scipy.sparse.csr_array(parts, archive["shape"]), best, column)
        data = anndata.read_h5ad(write(Path(folder), "h5ad", network, items_table(GENES)))
    check_matrix(scipy.sparse.csr_array(data.varp["pairtile"]), best, "correlation")
    for column, key in keys.items():
        varp = data.uns["pairtile"]["varp_keys"][key]
        check_matrix(scipy.sparse.csr_array(data.varp[varp]), best, column)


def test_columns_that_differ_in_a_slash_only_keep_matrices_of_their_own(tmp_path: Path) -> None:
    network = modes(PAIRS)[["source", "target", "correlation"]]
    network = network.assign(**{"a/b": 1.0, "a_b": 2.0})
    data = anndata.read_h5ad(write(tmp_path, "h5ad", network, items_table(GENES)))
    assert data.varp["pairtile_a_b"].max() == 1
    assert data.varp["pairtile_a_b_2"].max() == 2


def test_regulon_has_the_strongest_mode_with_its_sign(tmp_path: Path) -> None:
    network = modes(PAIRS)
    path = write(tmp_path, "regulon", network, items_table(GENES))
    table = pd.read_csv(path, sep="\t")
    best = strongest(network)
    assert len(table) == 2 * len(best)
    for row in table.itertuples():
        wanted = best[frozenset((row.source, row.target))]["correlation"]
        assert np.float32(row.weight) == np.float32(wanted)
    assert (table["weight"] < 0).any()


def test_page_draws_every_mode(tmp_path: Path) -> None:
    page = write(tmp_path, "html", modes(PAIRS), items_table(GENES)).read_text(encoding="utf-8")
    found = re.search(r'id="network-data">(.*?)</script>', page, re.DOTALL)
    assert found
    assert len(json.loads(found.group(1))["edges"]) == len(PAIRS)
