"""GraphML: for igraph, networkx, Gephi, Cytoscape, yEd."""

from __future__ import annotations

from pathlib import Path

from pairtile.io.networks.graph import networkx_graph
from pairtile.io.networks.table import NetworkTable


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
