"""Rule ``export``: the network in one of the formats that people's tools open."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pairtile import __version__
from pairtile.io.networks import export_network
from pairtile.runtime.files import read_json
from pairtile.runtime.record import recorded


def export(
    name: str, method: str, format: str, network: Path, items: Path, network_record: Path, out: Path
) -> None:
    """Write ``network.<format>`` of the analysis ``name``."""
    with recorded(f"export {format}"):
        made = read_json(network_record)["details"]
        score = made["threshold"].get("score")  # the column, or in some methods a limit
        export_network(
            pd.read_parquet(network),
            pd.read_parquet(items),
            format,
            out,
            directed=bool(made["directed"]),
            name=name,
            metadata={"pairtile_version": __version__, "method": method},
            score=score if isinstance(score, str) else None,
        )
