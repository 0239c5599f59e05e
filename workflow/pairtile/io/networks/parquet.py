"""Parquet table: types kept exactly, for pandas, polars, arrow and DuckDB."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pairtile.io.networks.table import NetworkTable


def write_parquet(network: NetworkTable, path: Path) -> None:
    """Write all columns; NaN becomes null.

    The schema's metadata key ``pairtile`` holds JSON: ``name``, ``directed``, ``metadata``.
    """
    table = pa.Table.from_pandas(network.edges, preserve_index=False)
    about = {"name": network.name, "directed": network.directed, "metadata": network.metadata}
    # pandas' own metadata is left away: it says nothing that the types do not, and names versions.
    table = table.replace_schema_metadata({"pairtile": json.dumps(about, sort_keys=True)})
    pq.write_table(table, path, compression="zstd")
