"""Networks as graphs with attributes: GraphML, GEXF for Gephi, CX2 for Cytoscape and NDEx."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np

from pairtile.io.networks.table import NetworkTable, Scalar


def networkx_graph(network: NetworkTable) -> nx.Graph:
    """Genes with an edge as nodes (their names), with attributes of nodes and edges.

    Directed networks give a DiGraph. Where a pair has several rows (one for each cluster, say), it
    is a multigraph whose edge keys are row numbers.
    """
    # A pair may have several rows, one for each of its modes, say.
    repeated = len(np.unique(network.end_pairs(), axis=0)) < len(network.edges)
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
        key = {"key": str(number)} if repeated else {}
        graph.add_edge(names[source], names[target], **key, **record)
    return graph


def weighted_records(network: NetworkTable) -> list[dict[str, Scalar]]:
    """Attributes of the edges, with the size of the network's value as ``weight``, which layouts
    and graph algorithms look for, and the ``row`` of the network's tables, from 0."""
    records = network.edge_records()
    for row, record in enumerate(records):
        record["row"] = row
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
    graph = networkx_graph(network)
    nx.set_node_attributes(graph, {node: node for node in graph}, "name")
    graph.graph.update({f"pairtile_{key}": value for key, value in network.metadata.items()})
    # Keys are numbered: an attribute's name may hold what XML allows in no id, and nodes, edges and
    # the graph may each have an attribute of one name.
    nx.write_graphml_lxml(graph, path, named_key_ids=False)


def write_gexf(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes and edges (GEXF 1.2).

    A node's label is its symbol, or its name. A missing value has no entry. Several rows of a pair
    are parallel edges (``networkx_key`` is the row's number); Gephi asks on import whether to merge
    these.
    """
    graph = networkx_graph(network)
    nx.set_node_attributes(graph, nx.get_node_attributes(graph, "symbol"), "label")
    buffer = io.BytesIO()
    nx.write_gexf(graph, buffer, version="1.2draft")
    # networkx notes today's date in <meta>, ahead of anything a name could be found in.
    path.write_bytes(re.sub(rb' lastmodifieddate="[^"]*"', b"", buffer.getvalue(), count=1))


def write_cx2(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes, edges and the network.

    A node's id is the row number of the kept gene, its attribute ``name`` the gene. CX2 edges
    always have a source and a target; the network attribute ``directed`` says whether that means
    anything. ``interaction`` is the metadata's ``method``, or ``association``. Each row is an edge
    with its number as id, also where a pair has several. A style (``_cx2_style``) goes with it.
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
        document.add_edge(
            number, source=source, target=target, attributes={"interaction": interaction, **record}
        )
    document.set_visual_properties(_cx2_style(network))
    # ndex2's own write_as_raw_cx2 indents by four, which makes files four times as long and slow.
    with path.open("w", encoding="utf-8") as output:
        json.dump(document.to_cx2(), output, allow_nan=False, separators=(",", ":"))
        output.write("\n")


POSITIVE, NEGATIVE, NEUTRAL = "#D55E00", "#0072B2", "#9AA5B1"
NODE, REGULATOR = "#56B4E9", "#E69F00"
"""Colours that the colour-blind can tell apart (Okabe and Ito)."""

WIDTHS = (1.0, 6.0)


def _cx2_style(network: NetworkTable) -> dict[str, object]:
    """The style in which Cytoscape shows the network: nodes called by symbol or name, regulators as
    diamonds; edges as wide as their ``weight``, in the colour of their sign where they have one."""
    label = {"attribute": "symbol" if "symbol" in network.genes else "name", "type": "string"}
    nodes = {"NODE_LABEL": {"type": "PASSTHROUGH", "definition": label}}
    if network.is_regulator.any():
        for key, shown in (("NODE_SHAPE", "diamond"), ("NODE_BACKGROUND_COLOR", REGULATOR)):
            one = {"attribute": "role", "type": "string", "map": [{"v": "regulator", "vp": shown}]}
            nodes[key] = {"type": "DISCRETE", "definition": one}
    edges = {}
    weight = network.edges[network.value_column].abs()
    low, high = weight.min(), weight.max()
    if low < high:
        edges["EDGE_WIDTH"] = _continuous("weight", [float(low), float(high)], WIDTHS)
    if signed := network.sign_column:
        edges["EDGE_LINE_COLOR"] = _continuous(signed, [0.0], (NEGATIVE, POSITIVE))
    return {
        "default": {
            "network": {"NETWORK_BACKGROUND_COLOR": "#FFFFFF"},
            "node": {"NODE_SHAPE": "ellipse", "NODE_BACKGROUND_COLOR": NODE},
            "edge": {
                "EDGE_WIDTH": WIDTHS[0],
                "EDGE_LINE_COLOR": NEUTRAL,
                "EDGE_TARGET_ARROW_SHAPE": "triangle" if network.directed else "none",
            },
        },
        "nodeMapping": nodes,
        "edgeMapping": edges,
    }


def _continuous(attribute: str, at: Sequence[float], shown: Sequence[object]) -> dict[str, object]:
    """A mapping from one look to the other: straight between two values, or a step at one."""
    first, last = shown
    ranges = [{"max": at[0], "maxVPValue": first, "includeMin": False, "includeMax": False}]
    if len(at) > 1:
        between = {"min": at[0], "max": at[1], "minVPValue": first, "maxVPValue": last}
        ranges.append(between | {"includeMin": True, "includeMax": True})
    beyond = {"min": at[-1], "minVPValue": last, "includeMax": False}
    ranges.append(beyond | {"includeMin": len(at) == 1})
    return {
        "type": "CONTINUOUS",
        "definition": {"attribute": attribute, "type": "double", "map": ranges},
    }


def _cx2_type(value: str | int | float | bool) -> str:
    kinds = {bool: "boolean", int: "long", float: "double", str: "string"}  # bool is an int, too
    return next(name for kind, name in kinds.items() if isinstance(value, kind))
