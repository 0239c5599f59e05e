"""Tab-separated table: for spreadsheets, R and pandas."""

from __future__ import annotations

from pathlib import Path

from pairtile.io.networks.table import NetworkTable

_PARQUET_ONLY = ("p_method",)


def write_tsv(network: NetworkTable, path: Path) -> None:
    """Write a header line and one line an edge, UTF-8, in the order of rows.

    Columns are those of the network (but ``p_method``, which is in the Parquet table). Numbers are
    the shortest decimals that read back to the same value; a missing one is an empty field. Names
    are as in the input; one that begins with or contains a quotation mark is quoted in the way of
    CSV. pandas reads all names exactly, also genes called ``NA`` or ``007``, with
    ``read_csv(path, sep="\\t", dtype={"source": str, "target": str}, keep_default_na=False,
    na_values=[""], float_precision="round_trip")``.
    """
    columns = ["source", "target", *(c for c in network.columns if c not in _PARQUET_ONLY)]
    network.edges.to_csv(
        path, sep="\t", columns=columns, index=False, lineterminator="\n", encoding="utf-8"
    )
