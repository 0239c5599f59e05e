"""The formats of a network: all that pairtile knows of each, but how it is written.

To add one, write its function in ``pairtile.io.networks`` and add it here.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, NamedTuple


class ExportFormat(NamedTuple):
    """One format.

    Parameters
    ----------
    writer
        Its function in ``pairtile.io.networks``: ``module.function``.
    description
        What it is, or who reads it.
    suffix
        Of ``network.SUFFIX``.
    packages
        What it needs that pairtile does not bring: the extra of its name.
    memory_factor
        How many times the network's bytes its job takes: most are written in parts, some made of an
        object for each edge.
    """

    writer: str
    description: str
    suffix: str
    packages: tuple[str, ...] = ()
    memory_factor: int = 15


EXPORT_FORMATS = {
    "tsv": ExportFormat("edge_lists.write_tsv", "table", "tsv"),
    "parquet": ExportFormat("edge_lists.write_parquet", "the same, typed", "parquet"),
    "graphml": ExportFormat("graphs.write_graphml", "Cytoscape, igraph, networkx", "graphml"),
    "gexf": ExportFormat("graphs.write_gexf", "Gephi", "gexf", memory_factor=110),
    "sif": ExportFormat("edge_lists.write_sif", "plain Cytoscape", "sif"),
    "cx2": ExportFormat("graphs.write_cx2", "Cytoscape Web and NDEx", "cx2", memory_factor=40),
    "adjacency": ExportFormat("matrices.write_adjacency", "sparse matrix (`.npz`)", "npz"),
    "h5ad": ExportFormat("matrices.write_h5ad", "AnnData with the network in `varp`", "h5ad"),
    "h5mu": ExportFormat(
        "matrices.write_h5mu", "MuData, each kind of item a modality", "h5mu", ("mudata",)
    ),
    "zarr": ExportFormat(
        "matrices.write_zarr", "edges as an xarray data set", "zarr.zip", ("xarray", "zarr")
    ),
    "regulon": ExportFormat(
        "edge_lists.write_regulon", "signed table for decoupler", "regulon.tsv"
    ),
    "adj": ExportFormat("edge_lists.write_adj", "ARACNe's lists, for VIPER", "adj"),
    "adjacencies": ExportFormat(
        "edge_lists.write_adjacencies", "TF, target and importance, for pySCENIC", "adjacencies.tsv"
    ),
    "gmt": ExportFormat("edge_lists.write_gmt", "modules and regulons as gene sets", "gmt"),
    "html": ExportFormat("page.write_html", "a page with the network drawn", "html"),
}

FORMAT_OF_SUFFIX = {format.suffix: name for name, format in EXPORT_FORMATS.items()}


AUTO_FORMATS = ("tsv", "graphml")
MAX_AUTO_EDGES = 100_000
"""``export: auto`` writes both formats up to so many edges, and the first alone beyond: hardly a
program draws more."""


def exported_formats(export: Literal["auto"] | tuple[str, ...], n_edges: float) -> tuple[str, ...]:
    """The formats that a value of the key ``export`` means for a network of so many edges."""
    if export != "auto":
        return export
    return AUTO_FORMATS if n_edges <= MAX_AUTO_EDGES else AUTO_FORMATS[:1]


def lacking_packages(name: str) -> str:
    """What a format needs and is not installed, in words; "" where nothing is lacking."""
    lacking = [package for package in EXPORT_FORMATS[name].packages if find_spec(package) is None]
    return f"{' and '.join(lacking)} (the extra {name} of pairtile brings it)" if lacking else ""
