"""The files of one analysis, read once for the report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from pairtile.declare.messages import Message
from pairtile.errors import StoreError
from pairtile.io.symbols import unique_labels
from pairtile.report.method_report import Results
from pairtile.runtime.files import read_arrays, read_json


def read_results(folder: str | os.PathLike[str], summary: dict[str, Any] | None = None) -> Results:
    """Open the results of an analysis, which ``Results.figure`` draws.

    Parameters
    ----------
    folder : path
        ``results/NAME``.
    summary : dict, optional
        What ``summary.json`` will hold, where it is not written yet.

    Raises
    ------
    StoreError
        When a required file (items.parquet, network.parquet, summary.json) is missing or is not
        what its name says; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from pairtile import analyse
    >>> table = pd.DataFrame(np.random.default_rng(1).normal(size=(5, 40)), index=list("abcde"))
    >>> made = analyse("mutual_information", expression=table, keep={"top_edges": 3})
    >>> read_results(made.folder).figure("degree_distribution").savefig(made.folder / "degrees.svg")
    """
    folder, judged = Path(folder), Path(folder) / "evaluation.json"
    summary = summary or read_json(folder / "summary.json")
    # One that is asked for no more is removed by the summary; it is of another configuration.
    evaluated = judged.is_file() and summary["parameters"].get("gold_standard", judged)
    items = _read(folder / "items.parquet", {"name", "kept", "reason"})
    network = _read(folder / "network.parquet", {"source", "target"})
    results = Results(
        folder=folder,
        items=items,
        network=network.drop(columns=["source_symbol", "target_symbol"], errors="ignore"),
        summary=summary,
        evaluation=read_json(judged) if evaluated else None,
        scores=read_arrays(folder / "scores.npz") if (folder / "scores.npz").is_file() else None,
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


def _read(path: Path, columns: set[str]) -> pd.DataFrame:
    if not path.is_file():
        raise StoreError.at(path, "", "no such file", "the table that an earlier step writes")
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a Parquet table") from error
    if missing := sorted(columns - set(table.columns)):
        raise StoreError.at(
            path, "columns", ", ".join(map(str, table.columns)) or "none", ", ".join(missing)
        )
    return table
