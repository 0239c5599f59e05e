"""GEXF: for Gephi."""

from __future__ import annotations

import io
import re
from pathlib import Path

from pairtile.io.networks.graph import networkx_graph
from pairtile.io.networks.table import NetworkTable


def write_gexf(network: NetworkTable, path: Path) -> None:
    """Write the genes with an edge, with the attributes of nodes and edges (GEXF 1.2).

    The edge weight, which Gephi's layouts use, is the size of the network's value (``mi_bits``).
    A missing value has no entry. Several rows of a pair are parallel edges (``networkx_key`` is the
    row's number); Gephi asks on import whether to merge these.
    """
    import networkx as nx

    graph = networkx_graph(network)
    for _, _, record in graph.edges(data=True):
        if network.value_column in record:
            record["weight"] = abs(record[network.value_column])
    buffer = io.BytesIO()
    nx.write_gexf(graph, buffer, version="1.2draft")
    # networkx notes today's date in <meta>, ahead of anything a name could be found in.
    text = re.sub(rb' lastmodifieddate="[^"]*"', b"", buffer.getvalue(), count=1)
    path.write_bytes(text)
