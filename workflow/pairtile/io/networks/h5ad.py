"""AnnData: the network beside the genes, for scanpy and the scverse."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from pairtile.io.networks.matrix import sparse_matrices
from pairtile.io.networks.table import NetworkTable

_NOT_IN_VAR = ("item", "name", "kept", "reason")


def write_h5ad(network: NetworkTable, path: Path) -> None:
    """Write an AnnData file with no observations and all kept genes as variables.

    ``var`` has the items' columns. ``varp["pairtile"]`` is the sparse matrix (genes, genes) of the
    network's value (``mi_bits``), rows sources, columns targets, symmetric if undirected;
    ``varp["pairtile_COLUMN"]`` are its other numbers, with the same stored cells (an absent
    ``p_value`` means no edge, not 0). Where a pair has several rows, all matrices hold the numbers
    of the strongest. ``uns["pairtile"]`` tells name, direction, which column is where, and the
    metadata. A slash in the name of a column or of a metadata key, which HDF5 has no place for,
    becomes an underscore.
    """
    import anndata

    var = network.genes.drop(columns=[c for c in _NOT_IN_VAR if c in network.genes])
    var.index = pd.Index(network.names, dtype=object)
    value, *others = sparse_matrices(network).items()
    others = list(
        zip(_without_slash([name for name, _ in others]), (m for _, m in others), strict=True)
    )
    keys = {value[0]: "pairtile", **{name: f"pairtile_{name}" for name, _ in others}}
    about: dict[str, Any] = {
        "name": network.name,
        "directed": network.directed,
        "varp_keys": keys,
        "metadata": dict(
            zip(_without_slash(network.metadata), network.metadata.values(), strict=True)
        ),
    }
    data = anndata.AnnData(
        obs=pd.DataFrame(index=pd.Index([], dtype=object)),
        var=var,
        varp={keys[name]: matrix for name, matrix in (value, *others)},
        uns={"pairtile": about},
    )
    data.write_h5ad(path, compression="gzip")


def _without_slash(names: Iterable[str]) -> list[str]:
    """Names that HDF5 can hold (a slash would mean a group inside a group), all different."""
    safe: list[str] = []
    for name in names:
        plain = name.replace("/", "_")
        number, unique = 1, plain
        while unique in safe:
            number += 1
            unique = f"{plain}_{number}"
        safe.append(unique)
    return safe
