"""CX2: Cytoscape's exchange format, and NDEx's."""

from __future__ import annotations

import json
from pathlib import Path

from pairtile.io.networks.table import NetworkTable


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
    # Types are declared first, or numbers would be taken as words; nothing is missing if the first
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
        zip(ends, network.edge_records(), strict=True)
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
