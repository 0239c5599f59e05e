"""Networks as the files that people's tools open: one small writer for each format of
``pairtile.config.export_formats``, and the one function that calls them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike

import pandas as pd

from pairtile.config.export_formats import EXPORT_FORMATS, lacking_packages
from pairtile.errors import ConfigError
from pairtile.io.networks.table import NetworkTable
from pairtile.runtime.files import atomic_path


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
    value: str | None = None,
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
        words. May be empty.
    items : DataFrame
        The items table: ``name`` and, where there, ``kept``; the columns of ``NODE_COLUMNS`` become
        attributes of the nodes in ``graphml``, ``gexf`` and ``cx2``.
    format : str
        A key of ``EXPORT_FORMATS``.
    path : path
        The file to write.
    directed : bool
        Whether a row means source -> target only; both directions of a pair may then be there.
    name : str
        The network's name in formats that have a place for it.
    metadata : mapping of str to str or number
        Said of the network as a whole, in formats that have a place for it. None is left out. A
        ``method`` that is known declares what the columns are.
    score : str, optional
        The column that ranks the edges. None, or a column that is not there: by the names of the
        columns.
    value : str, optional
        The column of their weight in formats that hold one number. None: ``score``.

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
    if format not in EXPORT_FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(EXPORT_FORMATS)}")
    if lacking := lacking_packages(format):
        raise ConfigError(f"export: {format} needs {lacking}")
    table = NetworkTable.build(
        network,
        items,
        directed=directed,
        name=name,
        metadata=metadata,
        score=score,
        value=value,
    )
    module, _, writer = EXPORT_FORMATS[format].writer.partition(".")
    with atomic_path(path) as temporary:
        getattr(import_module(f"pairtile.io.networks.{module}"), writer)(table, temporary)
