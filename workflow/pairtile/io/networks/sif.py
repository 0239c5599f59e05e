"""Simple interaction format: the plainest file that Cytoscape opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pairtile.io.networks.table import NetworkTable


def write_sif(network: NetworkTable, path: Path) -> None:
    """Write ``source``, interaction, ``target`` a line, separated by tabs; no header, no numbers.

    The interaction is the metadata's ``method`` (``mutual_information``), or ``association``.
    Tabs as separators let names hold spaces; the format knows no quoting and no direction. A pair
    with several rows is written once: Cytoscape passes over a line that is there already.
    """
    interaction = str(network.metadata.get("method", "association"))
    names = network.names
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        _, first = np.unique(network.end_pairs(), axis=0, return_index=True)
        first.sort()
        for source, target in zip(network.source[first], network.target[first], strict=True):
            lines.write(f"{names[source]}\t{interaction}\t{names[target]}\n")
