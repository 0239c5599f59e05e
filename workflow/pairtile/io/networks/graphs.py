"""Networks as graphs with attributes: GraphML, GEXF for Gephi, CX2 for Cytoscape and NDEx."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pairtile.io.networks.table import NetworkTable, Scalar

if TYPE_CHECKING:
    import networkx as nx


def networkx_graph(network: NetworkTable) -> nx.Graph:
    """Genes with an edge as nodes (their names), with attributes of nodes and edges.

    Directed networks give a DiGraph. Where a pair has several rows (one for each cluster, say), it
    is a multigraph whose edge keys are row numbers.
    """
    import networkx as nx

    repeated = network.has_parallel_edges()
    kinds = {
        (False, False): nx.Graph,
        (False, True): nx.MultiGraph,
        (True, False): nx.DiGraph,
        (True, True): nx.MultiDiGraph,
    }
    graph = kinds[network.directed, repeated](name=network.name)
    names = network.names
    linked = network.linked_genes()
    for row, record in zip(linked, network.node_records(linked), strict=True):
        graph.add_node(names[row], **record)
    ends = zip(network.source, network.target, weighted_records(network), strict=True)
    for number, (source, target, record) in enumerate(ends):
        if repeated:
            graph.add_edge(names[source], names[target], key=str(number), **record)
        else:
            graph.add_edge(names[source], names[target], **record)
    return graph


def weighted_records(network: NetworkTable) -> list[dict[str, Scalar]]:
    """Attributes of the edges, with the size of the network's value as ``weight``, which layouts
    and graph algorithms look for."""
    records = network.edge_records()
    for record in records:
        value = record.get(network.value_column)
        if isinstance(value, int | float):
            record["weight"] = abs(value)
    return records


def write_graphml(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes, edges and the network.

    A node's id and its attribute ``name`` (igraph's ``vs["name"]``) are the gene. A missing value
    has no entry. The metadata are attributes of the graph. Several rows of a pair are parallel
    edges, each with the row's number as its id.
    """
    import networkx as nx

    graph = networkx_graph(network)
    nx.set_node_attributes(graph, {node: node for node in graph}, "name")
    graph.graph.update({f"pairtile_{key}": value for key, value in network.metadata.items()})
    # Keys are numbered: an attribute's name may hold what XML allows in no id, and nodes, edges and
    # the graph may each have an attribute of one name.
    nx.write_graphml_lxml(graph, path, named_key_ids=False)


def write_gexf(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes and edges (GEXF 1.2).

    A missing value has no entry. Several rows of a pair are parallel edges (``networkx_key`` is the
    row's number); Gephi asks on import whether to merge these.
    """
    import networkx as nx

    graph = networkx_graph(network)
    buffer = io.BytesIO()
    nx.write_gexf(graph, buffer, version="1.2draft")
    # networkx notes today's date in <meta>, ahead of anything a name could be found in.
    text = re.sub(rb' lastmodifieddate="[^"]*"', b"", buffer.getvalue(), count=1)
    path.write_bytes(text)


def write_cx2(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes, edges and the network.

    A node's id is the row number of the kept gene, its attribute ``name`` the gene. CX2 edges
    always have a source and a target; the network attribute ``directed`` says whether that means
    anything. ``interaction`` is the metadata's ``method``, or ``association``. Each row is an edge
    with its number as id, also where a pair has several.
    """
    from ndex2.cx2 import CX2Network

    document = CX2Network()
    about = {**network.metadata, "name": network.name, "directed": network.directed}
    # Types are declared first, or numbers would be taken as text; nothing is missing if the first
    # edge lacks a value, or if a column's first number happens to be whole.
    document.set_attribute_declarations(
        {
            "networkAttributes": {key: {"d": _cx2_type(value)} for key, value in about.items()},
            "nodes": {},
            "edges": {},
        }
    )
    document.set_network_attributes(about)
    names = network.names
    linked = network.linked_genes()
    for row, record in zip(linked.tolist(), network.node_records(linked), strict=True):
        document.add_node(row, attributes={"name": names[row], **record})
    interaction = str(network.metadata.get("method", "association"))
    ends = zip(network.source.tolist(), network.target.tolist(), strict=True)
    for number, ((source, target), record) in enumerate(
        zip(ends, weighted_records(network), strict=True)
    ):
        attributes = {"interaction": interaction, **record}
        document.add_edge(number, source=source, target=target, attributes=attributes)
    # ndex2's own write_as_raw_cx2 indents by four, which makes files four times as long and slow.
    with path.open("w", encoding="utf-8") as output:
        json.dump(document.to_cx2(), output, allow_nan=False, separators=(",", ":"))
        output.write("\n")


def _cx2_type(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long"
    return "double" if isinstance(value, float) else "string"
