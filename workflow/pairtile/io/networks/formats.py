"""The formats a network can be written in, and the one function that writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pairtile.io.networks.edge_lists import (
    write_adj,
    write_adjacencies,
    write_gmt,
    write_parquet,
    write_regulon,
    write_sif,
    write_tsv,
)
from pairtile.io.networks.graphs import write_cx2, write_gexf, write_graphml
from pairtile.io.networks.matrices import write_adjacency, write_h5ad, write_h5mu, write_zarr
from pairtile.io.networks.page import write_html
from pairtile.io.networks.table import NetworkTable
from pairtile.runtime.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd


class Exporter(NamedTuple):
    """How one format is written, and how its files are called: ``network`` + ``suffix``."""

    writer: Callable[[NetworkTable, Path], None]
    suffix: str


EXPORTERS: dict[str, Exporter] = {
    "tsv": Exporter(write_tsv, ".tsv"),
    "parquet": Exporter(write_parquet, ".parquet"),
    "graphml": Exporter(write_graphml, ".graphml"),
    "gexf": Exporter(write_gexf, ".gexf"),
    "sif": Exporter(write_sif, ".sif"),
    "cx2": Exporter(write_cx2, ".cx2"),
    "adjacency": Exporter(write_adjacency, ".npz"),
    "h5ad": Exporter(write_h5ad, ".h5ad"),
    "h5mu": Exporter(write_h5mu, ".h5mu"),
    "zarr": Exporter(write_zarr, ".zarr.zip"),
    "regulon": Exporter(write_regulon, ".regulon.tsv"),
    "adj": Exporter(write_adj, ".adj"),
    "adjacencies": Exporter(write_adjacencies, ".adjacencies.tsv"),
    "gmt": Exporter(write_gmt, ".gmt"),
    "html": Exporter(write_html, ".html"),
}


def export_network(
    network: pd.DataFrame,
    items: pd.DataFrame,
    format: str,
    path: str | PathLike[str],
    *,
    directed: bool,
    name: str,
    metadata: Mapping[str, str | int | float | bool | None],
    score: str | None = None,
) -> None:
    """Write a network in one format, whole or not at all.

    Equal input gives equal bytes (with the same library versions): no format carries a date.
    Missing values (NaN) are an empty field in tsv, null in parquet, NaN in adjacency, h5ad, h5mu
    and zarr; in the other formats the attribute is left out, which their readers take as missing.
    These four hold all kept genes, the other formats only genes with an edge.

    Parameters
    ----------
    network : DataFrame
        One row an edge: ``source``, ``target`` (names of kept genes), then columns of numbers or
        words, among them ``mi_bits``, ``mi_nats`` or ``correlation``. May be empty.
    items : DataFrame
        The items table: ``name`` and, where there, ``kept``; the columns of ``NODE_COLUMNS`` become
        attributes of the nodes in ``graphml``, ``gexf`` and ``cx2``.
    format : str
        A key of ``EXPORTERS``.
    path : path
        The file to write.
    directed : bool
        Whether a row means source -> target only; both directions of a pair may then be there.
    name : str
        The network's name in formats that have a place for it.
    metadata : mapping of str to str or number
        Said of the network as a whole, in formats that have a place for it. None is left out.
    score : str, optional
        The column that edges were chosen by: their rank, and their weight in formats that hold one
        number. None, or a column that is not there: by the names of the columns.

    Raises
    ------
    ValueError
        Unknown format; a column that is missing; an edge with a gene that is not among the kept
        ones; a gene named twice.
    InputError
        A name that the formats cannot hold: with a control character, or not valid Unicode.
    ConfigError
        h5mu or zarr without the packages that write them (mudata; xarray and zarr).
    """
    if format not in EXPORTERS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(EXPORTERS)}")
    table = NetworkTable.build(
        network, items, directed=directed, name=name, metadata=metadata, score=score
    )
    with atomic_path(path) as temporary:
        EXPORTERS[format].writer(table, temporary)
