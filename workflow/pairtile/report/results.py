"""The files of one analysis, read once for the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.declare.columns import declared_columns, explained
from pairtile.declare.messages import Message
from pairtile.errors import StoreError
from pairtile.io.symbols import unique_labels
from pairtile.report.method_report import Results


def read_results(folder: Path, summary: dict[str, object] | None = None) -> Results:
    """Read what the report needs from ``folder`` (``results/NAME/``).

    ``summary``: what ``summary.json`` will hold, where it is not written yet.

    Raises StoreError naming the file when a required one (items.parquet, network.parquet,
    summary.json) is missing or is not what its name says.
    """
    if summary is None:
        summary = _read_json(folder / "summary.json", required=True) or {}
    items = _read(folder / "items.parquet", {"name", "kept", "reason"})
    network = _read(folder / "network.parquet", {"source", "target"})
    results = Results(
        folder=folder,
        items=items,
        network=network.drop(columns=["source_symbol", "target_symbol"], errors="ignore"),
        summary=summary,
        evaluation=_read_json(folder / "evaluation.json", required=False),
        scores=_read_arrays(folder / "scores.npz"),
        labels=unique_labels(items) if "symbol" in items else {},
    )
    results.items = results.labelled(items.assign(identifier=items["name"]), ["name"])
    results.network = results.labelled(results.network, ["source", "target"])
    return results


def warnings_of_results(results: Results) -> list[Message]:
    """What the settings and results give rise to, beyond what the steps warned of themselves."""
    found = list(results.text.warnings(results))
    if results.network.empty:
        found.append(results.text.empty)
    return [text for text in dict.fromkeys(found) if text not in results.warnings]


def read_result_table(path: Path, package: str) -> pd.DataFrame:
    """A ``.tsv`` that the method of ``package`` wrote: text is text, whatever it looks like (a gene
    may be called NA or 1e5), and only numbers can be missing.

    Raises StoreError naming the file when it is missing, unreadable or lacks a column.
    """
    if not path.is_file():
        raise StoreError.at(path, "", "no such file", "the table that the step tables writes")
    try:
        header = pd.read_csv(path, sep="\t", nrows=0).columns
        known = {column: explained(package, path.name, column) for column in header}
        texts = [column for column, found in known.items() if found and found.type == "string"]
        table = pd.read_csv(
            path,
            sep="\t",
            dtype=dict.fromkeys(texts, str),
            keep_default_na=False,
            na_values={column: [""] for column in header if column not in texts},
        )
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a table") from error
    declared = [some for some in declared_columns(package, path.name) if not some.when]
    there = {some.name_of(column) for some in declared for column in header}
    missing = [name for some in declared for name in some.names if name not in there]
    if missing:
        raise StoreError.at(path, "columns", ", ".join(header), ", ".join(missing))
    return table


def _read(path: Path, columns: set[str]) -> pd.DataFrame:
    if not path.is_file():
        raise StoreError.at(path, "", "no such file", "the table that an earlier step writes")
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a Parquet table") from error
    missing = sorted(columns - set(table.columns))
    if missing:
        raise StoreError.at(
            path, "columns", ", ".join(map(str, table.columns)) or "none", ", ".join(missing)
        )
    return table


def _read_json(path: Path, *, required: bool) -> dict[str, object] | None:
    if not path.is_file():
        if required:
            raise StoreError.at(path, "", "no such file", "the summary that an earlier step writes")
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "JSON") from error
    if not isinstance(content, dict):
        raise StoreError.at(path, "", type(content).__name__, "a JSON object")
    return content


def _read_arrays(path: Path) -> dict[str, np.ndarray] | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as content:
        return {key: content[key] for key in content.files}
