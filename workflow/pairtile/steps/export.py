"""Rule ``export``: the network in one of the formats that people's tools open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pairtile import __version__
from pairtile.config.root import models
from pairtile.io.networks import export_network
from pairtile.runtime.files import read_json, read_table
from pairtile.runtime.record import recorded
from pairtile.steps.tables import verified_table


def export(
    name: str,
    method: str,
    format: str,
    network: Path,
    items: Path,
    network_record: Path,
    out: Path,
    node_tables: Sequence[Path] = (),
) -> None:
    """Write ``network.<format>`` of the analysis ``name``.

    ``node_tables``: the files that ``Analysis.node_tables`` names, as far as the analysis has them.
    """
    with recorded(f"export {format}"):
        made = read_json(network_record)["details"]
        described = read_table(items)
        columns = models()[method].node_tables
        for table in node_tables:
            described = with_columns(described, verified_table(table), *columns[table.name])
        score = made["threshold"].get("score")  # the column, or in some methods a limit
        export_network(
            read_table(network),
            described,
            format,
            out,
            directed=bool(made["directed"]),
            name=name,
            metadata={"pairtile_version": __version__, "method": method},
            score=score if isinstance(score, str) else None,
        )


def with_columns(items: pd.DataFrame, path: Path, key: str, *columns: str) -> pd.DataFrame:
    """The items with columns of numbers of a table that names them under ``key``; those of an item
    with several rows (communities that overlap) as text, ``1 4``."""
    wanted = (key, *columns)
    table = pd.read_csv(
        path, sep="\t", usecols=lambda c: c in wanted, dtype=str, keep_default_na=False
    )
    several = bool(table[key].duplicated().any())
    for column in table.columns.drop(key):
        of_item = table.groupby(key, sort=False)[column]
        found = of_item.agg(lambda some: " ".join(map(str, some))) if several else of_item.first()
        found = items["name"].astype(str).map(found)
        items = items.assign(**{column: found if several else _numbers(found)})
    return items


def _numbers(values: pd.Series) -> pd.Series:
    """Whole numbers where all are written so; an empty field is none."""
    whole = values.dropna().astype(str).str.fullmatch(r"[+-]?\d*").all()
    return pd.to_numeric(values).astype("Int64" if whole else "float64")
