"""Rule ``export``: the network in one of the formats that people's tools open."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pairtile import __version__
from pairtile.config.export_formats import FORMAT_OF_SUFFIX
from pairtile.engine.custody import verified_by_record
from pairtile.io.networks import export_network
from pairtile.runtime.files import read_json, read_table
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun


def export(run: AnalysisRun, suffix: str) -> None:
    """Write ``network.SUFFIX`` of the analysis."""
    folder, method, format = run.folder, run.config.method, FORMAT_OF_SUFFIX[suffix]
    with recorded(f"export {format}", run.record(f"export.{suffix}")):
        made = read_json(run.record("network"))["details"]
        described = read_table(folder / "items.parquet")
        for table in map(Path, run.files.node_tables()):
            written = read_json(run.record("tables"))["files"]
            path = verified_by_record(table, written.get(table.name, ""))
            described = with_columns(described, path, *run.config.node_tables[table.name])
        export_network(
            read_table(folder / "network.parquet"),
            described,
            format,
            folder / f"network.{suffix}",
            directed=bool(made["directed"]),
            name=run.name,
            metadata={"pairtile_version": __version__, "method": method},
            **made["ranked_by"],
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
