"""A network as a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairtile.io.networks.table import NetworkTable

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
    ends = zip(network.source, network.target, network.edge_records(), strict=True)
    for number, (source, target, record) in enumerate(ends):
        if repeated:
            graph.add_edge(names[source], names[target], key=str(number), **record)
        else:
            graph.add_edge(names[source], names[target], **record)
    return graph
