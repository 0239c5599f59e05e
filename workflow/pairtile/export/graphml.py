"""GraphML: for igraph, networkx, Gephi, Cytoscape, yEd."""

from __future__ import annotations

from pathlib import Path

from pairtile.export.graph import networkx_graph
from pairtile.export.table import NetworkTable


def write_graphml(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes, edges and the network.

    A node's id and its attribute ``name`` (igraph's ``vs["name"]``) are the gene. A missing value
    has no entry. The metadata are attributes of the graph.
    """
    import networkx as nx

    graph = networkx_graph(network)
    nx.set_node_attributes(graph, {node: node for node in graph}, "name")
    graph.graph.update({f"pairtile_{key}": value for key, value in network.metadata.items()})
    nx.write_graphml_lxml(graph, path, named_key_ids=True)
