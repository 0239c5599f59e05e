"""Networks as lists of edges and of genes: TSV, Parquet, SIF, regulons, adjacencies, gene sets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairtile.io.networks.table import NetworkTable
from pairtile.statistics.modules import leiden_modules


def write_tsv(network: NetworkTable, path: Path) -> None:
    """Write a header line and one line an edge, UTF-8, in the order of rows.

    Columns are those of the network. Numbers are the shortest decimals that read back to the same
    value; a missing one is an empty field. Names are as in the input; one that begins with or
    contains a quotation mark is quoted in the way of CSV. pandas reads all names exactly, also
    genes called ``NA`` or ``007``, with ``read_csv(path, sep="\\t", dtype={"source": str, "target":
    str}, keep_default_na=False, na_values=[""])`` (before pandas 3.1 with
    ``float_precision="round_trip"``, too).
    """
    network.edges.to_csv(
        path,
        sep="\t",
        columns=["source", "target", *network.columns],
        index=False,
        lineterminator="\n",
        encoding="utf-8",
    )


def write_parquet(network: NetworkTable, path: Path) -> None:
    """Write all columns; NaN becomes null.

    The schema's metadata key ``pairtile`` holds JSON: ``name``, ``directed``, ``metadata``.
    """
    table = pa.Table.from_pandas(network.edges, preserve_index=False)
    about = {"name": network.name, "directed": network.directed, "metadata": network.metadata}
    # pandas' own metadata is left away: it says nothing that the types do not, and names versions.
    table = table.replace_schema_metadata({"pairtile": json.dumps(about, sort_keys=True)})
    pq.write_table(table, path, compression="zstd")


def write_sif(network: NetworkTable, path: Path) -> None:
    """Write ``source``, interaction, ``target`` a line, separated by tabs; no header, no numbers.

    The interaction is the metadata's ``method`` (``mutual_information``), or ``association``.
    Tabs as separators let names hold spaces; the format knows no quoting and no direction. A pair
    with several rows is written once: Cytoscape passes over a line that is there already.
    """
    interaction = network.method or "association"
    names = network.names
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        _, first = np.unique(network.end_pairs(), axis=0, return_index=True)
        first.sort()
        for source, target in zip(network.source[first], network.target[first], strict=True):
            lines.write(f"{names[source]}\t{interaction}\t{names[target]}\n")


def write_regulon(network: NetworkTable, path: Path) -> None:
    """Write ``source``, ``target``, ``weight`` and ``likelihood`` of each regulator's edges: tab-
    separated columns with a header, as decoupler reads them (``pandas.read_csv(file, sep="\\t",
    quoting=3, dtype={"source": str, "target": str}, keep_default_na=False)``).

    ``weight`` is the column of the sign, such as ``spearman`` (VIPER's mode of regulation; 0 where
    it is not known), else the network's value. ``likelihood`` is the value's size beside the
    largest, 0 to 1. An edge of an undirected network stands under each of its ends that is a
    regulator, or under both if no regulators were given. Every (regulator, target) is there once,
    with its strongest row; edges without a value are left out.
    """
    regulon_table(network).to_csv(
        path,
        sep="\t",
        index=False,
        lineterminator="\n",
        encoding="utf-8",
        quoting=csv.QUOTE_NONE,
    )


def write_adj(network: NetworkTable, path: Path) -> None:
    """Write ARACNe's adjacency lists: a regulator a line, then its targets, each followed by the
    value (``mi_bits``), best first, all separated by tabs. ``viper::aracne2regulon`` reads it.
    """
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for source, edges in _edges_of_regulators(network).groupby("source", sort=False):
            pairs = zip(edges["target"], edges["value"], strict=True)
            fields = [f"{target}\t{float(value)!r}" for target, value in pairs]
            lines.write("\t".join([str(source), *fields]) + "\n")


def write_adjacencies(network: NetworkTable, path: Path) -> None:
    """Write ``TF``, ``target``, ``importance`` (the size of the value) of each regulator's edges,
    the largest first, tab-separated with a header: what ``pyscenic grn`` writes and ``pyscenic
    ctx`` reads. pySCENIC finds the sign of a relation from the expression again.
    """
    edges = _edges_of_regulators(network)
    table = pd.DataFrame(
        {"TF": edges["source"], "target": edges["target"], "importance": edges["value"].abs()}
    ).sort_values("importance", ascending=False, kind="stable")
    table.to_csv(path, sep="\t", index=False, lineterminator="\n", encoding="utf-8")


def write_gmt(network: NetworkTable, path: Path) -> None:
    """Write gene sets, one a line (name, description, genes; tabs): the modules of the network, and
    the targets of each regulator where the network has regulators or directions.

    Modules are those of the column ``module`` of the genes, else Leiden's (``leiden_modules``).
    """
    names = np.array(network.names, dtype=object)
    if "module" in network.genes:
        found = network.genes["module"].astype("string").fillna("").tolist()
    else:
        found = leiden_modules(*network.edges_by_number, len(names)).astype(str).tolist()
    modules: dict[str, list[str]] = {}
    for name, numbers in zip(names, found, strict=True):
        for number in numbers.split():
            if number != "0":
                modules.setdefault(number, []).append(name)
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for number in sorted(modules, key=lambda text: (len(text), text)):
            lines.write("\t".join([f"module_{number}", "pairtile", *modules[number]]) + "\n")
        if network.directed or network.is_regulator.any():
            for source, edges in _edges_of_regulators(network).groupby("source", sort=False):
                lines.write("\t".join([f"regulon_{source}", "pairtile", *edges["target"]]) + "\n")


def regulon_table(network: NetworkTable) -> pd.DataFrame:
    """``source``, ``target``, ``weight``, ``likelihood``, as ``write_regulon`` says."""
    edges = _edges_of_regulators(network)
    value = edges["value"].abs()
    return edges[["source", "target"]].assign(
        weight=edges["sign"].fillna(0.0),
        likelihood=value / max(value.max(), np.finfo(float).tiny),
    )


def _edges_of_regulators(network: NetworkTable) -> pd.DataFrame:
    """``source``, ``target`` (names), ``value`` and ``sign`` (the column that says it, else the
    value); regulators in the order of the genes, each with its strongest edges first."""
    edges = network.directed_edges()
    if not network.directed and network.is_regulator.any():
        edges = edges[network.is_regulator[edges["source"]]]
    source, target, rank = (edges[name].to_numpy() for name in ("source", "target", "rank"))
    names = np.array(network.names, dtype=object)
    rows = network.edges.iloc[edges.index]
    table = pd.DataFrame(
        {
            "row": source,
            "source": names[source],
            "target": names[target],
            "value": rows[network.value_column].to_numpy(dtype=np.float64),
            "sign": rows[network.sign_column or network.value_column].to_numpy(dtype=np.float64),
            "rank": rank,
        }
    )
    table = table.dropna(subset=["value"]).sort_values(["row", "rank"], kind="stable")
    return table.drop_duplicates(["source", "target"])
