"""graphml, gexf and cx2, read back by networkx, igraph and ndex2."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import anndata
import igraph
import networkx as nx
import pandas as pd
import pytest
from export_networks import AWKWARD, METADATA, NAMES, chain, items_table, write
from hypothesis import given, settings
from ndex2.cx2 import RawCX2NetworkFactory
from pairtile.steps.export import with_columns

KEPT_METADATA = {key: value for key, value in METADATA.items() if value is not None}
Edges = dict[tuple[str, str], dict[str, Any]]


def expected_edges(network: pd.DataFrame, directed: bool) -> Edges:
    """Attributes of each edge by its ends (sorted if undirected), without missing values."""
    edges: Edges = {}
    for row in network.to_dict("records"):
        ends = row.pop("source"), row.pop("target")
        ends = ends if directed else (min(ends), max(ends))
        edges[ends] = {str(k): v for k, v in row.items() if v == v}
    return edges


def edges_of(graph: nx.Graph, drop: tuple[str, ...] = ()) -> Edges:
    edges: Edges = {}
    for source, target, data in graph.edges(data=True):
        ends = (
            (source, target) if graph.is_directed() else (min(source, target), max(source, target))
        )
        edges[ends] = {k: v for k, v in data.items() if k not in drop}
    return edges


def check_nodes(graph: nx.Graph, items: pd.DataFrame, genes: list[str]) -> None:
    assert list(graph) == genes
    table = items.set_index("name")
    for gene, data in graph.nodes(data=True):
        assert data["mean"] == table.loc[gene, "mean"]
        assert data["n_observed"] == table.loc[gene, "n_observed"]
        assert data["is_regulator"] is bool(table.loc[gene, "is_regulator"])
        assert data["role"] == ("regulator" if table.loc[gene, "is_regulator"] else "target")
        assert data["item"] == table.loc[gene, "item"]
        assert data["degree"] == graph.degree(gene)
        assert data.get("sd", math.nan) == pytest.approx(table.loc[gene, "sd"], nan_ok=True, abs=0)


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_reads_graphml_back_exactly(directed: bool, tmp_path: Path) -> None:
    network, items = chain(AWKWARD[:-1], directed), items_table(AWKWARD, 3)
    graph = nx.read_graphml(write(tmp_path, "graphml", network, items, directed=directed))
    assert graph.is_directed() is directed
    assert edges_of(graph, drop=("weight", "row")) == expected_edges(network, directed)
    assert all(d["weight"] == d["mi_bits"] for _, _, d in graph.edges(data=True))
    check_nodes(graph, items, AWKWARD[:-1])  # the last gene has no edge
    assert nx.get_node_attributes(graph, "name") == {gene: gene for gene in graph}
    assert graph.graph["name"] == 'demo "1" <α>'
    assert {k: graph.graph[f"pairtile_{k}"] for k in KEPT_METADATA} == KEPT_METADATA


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_reads_gexf_back_exactly(directed: bool, tmp_path: Path) -> None:
    network, items = chain(AWKWARD, directed), items_table(AWKWARD, 3)
    path = write(tmp_path, "gexf", network, items, directed=directed)
    assert b"lastmodifieddate" not in path.read_bytes()
    graph = nx.read_gexf(path)
    assert graph.is_directed() is directed
    assert edges_of(graph, drop=("id", "weight", "row")) == expected_edges(network, directed)
    check_nodes(graph, items, AWKWARD)
    assert all(d["weight"] == d["mi_bits"] for _, _, d in graph.edges(data=True))
    assert nx.get_node_attributes(graph, "label") == {gene: gene for gene in graph}


@pytest.mark.parametrize("directed", [False, True])
def test_ndex2_reads_cx2_back_exactly(directed: bool, tmp_path: Path) -> None:
    network, items = chain(AWKWARD, directed), items_table(AWKWARD, 3)
    path = write(tmp_path, "cx2", network, items, directed=directed)
    document = RawCX2NetworkFactory().get_cx2network(str(path))
    attributes = document.get_network_attributes()
    assert attributes == {**KEPT_METADATA, "name": 'demo "1" <α>', "directed": directed}
    names = {key: node["v"]["name"] for key, node in document.get_nodes().items()}
    assert list(names.values()) == AWKWARD
    edges = {
        (names[edge["s"]], names[edge["t"]]): {
            k: v for k, v in edge["v"].items() if k not in ("interaction", "weight", "row")
        }
        for edge in document.get_edges().values()
    }
    assert all(e["v"]["weight"] == e["v"]["mi_bits"] for e in document.get_edges().values())
    assert edges == expected_edges(network, True)
    assert {edge["v"]["interaction"] for edge in document.get_edges().values()} == {
        "mutual_information"
    }
    second = document.get_nodes()[1]["v"]
    assert "sd" not in second
    assert second["is_regulator"] is True


def test_cx2_declares_numbers_as_numbers_even_if_the_first_one_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path, "cx2", chain(AWKWARD), items_table(AWKWARD))
    aspects = {key: value for part in json.loads(path.read_text()) for key, value in part.items()}
    declared = aspects["attributeDeclarations"][0]
    assert declared["edges"]["p_value"] == {"d": "double"}
    assert declared["nodes"]["mean"] == {"d": "double"}
    assert declared["nodes"]["is_regulator"] == {"d": "boolean"}
    assert declared["networkAttributes"]["threshold_bits"] == {"d": "double"}


@pytest.mark.parametrize("format", ["graphml", "gexf"])
def test_edges_name_their_row_in_the_tables(format: str, tmp_path: Path) -> None:
    network, items = chain(["c", "a", "b"], directed=True), items_table(["a", "b", "c"])
    path = write(tmp_path, format, network, items, directed=True)
    graph = nx.read_graphml(path) if format == "graphml" else nx.read_gexf(path)
    for source, target, data in graph.edges(data=True):
        assert network.loc[data["row"], ["source", "target"]].tolist() == [source, target]


def style(folder: Path, network: pd.DataFrame, items: pd.DataFrame) -> dict[str, Any]:
    path = write(folder, "cx2", network, items)
    aspects = {key: value for part in json.loads(path.read_text()) for key, value in part.items()}
    return aspects["visualProperties"][0]


def test_cx2_has_a_style_by_name_weight_and_sign(tmp_path: Path) -> None:
    network, items = chain(["a", "b", "c"]), items_table(["a", "b", "c"], 1)
    plain = style(tmp_path, network, items)
    assert plain["nodeMapping"]["NODE_LABEL"]["definition"]["attribute"] == "name"
    assert plain["nodeMapping"]["NODE_SHAPE"]["definition"]["map"] == [
        {"v": "regulator", "vp": "diamond"}
    ]
    width = plain["edgeMapping"]["EDGE_WIDTH"]["definition"]
    assert width["attribute"] == "weight"
    assert [width["map"][1][key] for key in ("min", "max")] == sorted(network["mi_bits"])
    assert "EDGE_LINE_COLOR" not in plain["edgeMapping"]
    signed = style(
        tmp_path, network.assign(spearman=[0.5, -0.5]), items.assign(symbol=items["name"] + "!")
    )
    assert signed["nodeMapping"]["NODE_LABEL"]["definition"]["attribute"] == "symbol"
    colour = signed["edgeMapping"]["EDGE_LINE_COLOR"]["definition"]
    assert colour["attribute"] == "spearman"
    below, above = colour["map"]
    assert below["maxVPValue"] != above["minVPValue"]
    assert (below["max"], above["min"], above["includeMin"]) == (0.0, 0.0, True)


def test_graphs_have_the_modules_of_a_method_s_table(tmp_path: Path) -> None:
    network, items = chain(["a", "b", "NA", "d"]), items_table(["a", "b", "NA", "d"])
    table = tmp_path / "modules.tsv"
    table.write_text("gene\tmodule\tdegree\nNA\t2\t1\na\t1\t1\n")
    graph = nx.read_graphml(
        write(tmp_path, "graphml", network, with_columns(items, table, "gene", "module"))
    )
    assert nx.get_node_attributes(graph, "module") == {"NA": 2, "a": 1}
    table.write_text("gene\tmodule\na\t1\nb\t1\na\t4\n")
    described = with_columns(items, table, "gene", "module")
    graph = nx.read_gexf(write(tmp_path, "gexf", network, described))
    assert nx.get_node_attributes(graph, "module") == {"a": "1 4", "b": "1"}


def test_numbers_of_a_table_that_some_items_lack_reach_every_format(tmp_path: Path) -> None:
    network, items = chain(["a", "b", "c", "d"]), items_table(["a", "b", "c", "d"])
    table = tmp_path / "residues.tsv"
    table.write_text("name\tbetweenness\tmodule\na\t0.5\t1\nb\t\t2\n")
    described = with_columns(items, table, "name", "betweenness", "module")
    graph = nx.read_graphml(write(tmp_path, "graphml", network, described))
    assert nx.get_node_attributes(graph, "betweenness") == {"a": 0.5}
    modules = nx.get_node_attributes(graph, "module")
    assert modules == {"a": 1, "b": 2}
    assert all(isinstance(module, int) for module in modules.values())
    var = anndata.read_h5ad(write(tmp_path, "h5ad", network, described)).var
    assert var["betweenness"].isna().tolist() == [False, True, True, True]
    assert var["module"].tolist()[:2] == [1, 2]


@settings(max_examples=40, deadline=None)
@given(names=NAMES)
def test_graph_formats_keep_any_printable_name(names: list[str]) -> None:
    network, items = chain(names), items_table(names)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "graphml", network, items)
        assert list(nx.read_graphml(path)) == names
        assert igraph.Graph.Read_GraphML(str(path)).vs["name"] == names
        assert list(nx.read_gexf(write(Path(folder), "gexf", network, items))) == names


@pytest.mark.parametrize("directed", [False, True])
def test_empty_networks_read_back_empty(directed: bool, tmp_path: Path) -> None:
    network, items = chain(["a", "b"]).iloc[:0], items_table(["a", "b"])
    paths = {f: write(tmp_path, f, network, items, directed=directed) for f in ("graphml", "gexf")}
    for graph in (nx.read_graphml(paths["graphml"]), nx.read_gexf(paths["gexf"])):
        assert (len(graph), graph.number_of_edges(), graph.is_directed()) == (0, 0, directed)
    assert igraph.Graph.Read_GraphML(str(paths["graphml"])).vcount() == 0
    path = write(tmp_path, "cx2", network, items, directed=directed)
    assert not RawCX2NetworkFactory().get_cx2network(str(path)).get_nodes()
