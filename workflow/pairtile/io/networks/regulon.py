"""Regulons: who regulates whom, for VIPER (R) and decoupler (Python)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.io.networks.table import NetworkTable


def write_regulon(network: NetworkTable, path: Path) -> None:
    """Write regulator, target, weight: three tab-separated columns, without a header.

    No header, as ``viper::aracne2regulon(file, expression, format = "3col")`` takes each line as
    an edge: with a header, its maximum and so all its weights would be NA. For decoupler, name the
    columns when reading: ``pandas.read_csv(file, sep="\\t", names=["source", "target", "weight"],
    quoting=3, dtype={"source": str, "target": str}, keep_default_na=False)``.

    The weight is the network's value (``mi_bits``); mutual information tells no sign, VIPER takes
    it from the expression. An edge of an undirected network stands under each of its ends that is
    a regulator, or under both if no regulators were given. Every (regulator, target) is there
    once, with its strongest row; edges without a value are left out.
    """
    source, target, edge = network.source, network.target, np.arange(len(network.edges))
    if not network.directed:
        regulator = network.is_regulator
        if not regulator.any():
            regulator = ~regulator
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        edge = np.concatenate([edge, edge])
        allowed = regulator[source]
        source, target, edge = source[allowed], target[allowed], edge[allowed]
    rank = np.empty(len(network.edges), dtype=np.int64)
    rank[network.strongest()] = np.arange(len(network.edges))
    names = np.array(network.names, dtype=object)
    table = pd.DataFrame(
        {
            "row": source,
            "source": names[source],
            "target": names[target],
            "weight": network.edges[network.value_column].to_numpy()[edge],
            "rank": rank[edge],
        }
    )
    table = table.dropna(subset=["weight"]).sort_values(["row", "rank"], kind="stable")
    table = table.drop_duplicates(["source", "target"])
    table.to_csv(
        path,
        sep="\t",
        columns=["source", "target", "weight"],
        header=False,
        index=False,
        lineterminator="\n",
        encoding="utf-8",
        quoting=csv.QUOTE_NONE,
    )
