"""The files of one analysis, read once for the report, and what is derived from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pairtile.errors import StoreError
from pairtile.io.symbols import unique_labels, with_symbols
from pairtile.method import methods
from pairtile.report.method_report import MethodReport, MethodText

T = TypeVar("T")


@dataclass
class Results:
    """One analysis as the report sees it.

    ``evaluation`` and ``scores`` are None when their file is not there: the sections that need
    them are then left out of the page. ``labels``: what the page calls items, by their names, where
    the analysis has symbols; ``items`` and ``network`` have these in place of names already.
    """

    folder: Path
    items: pd.DataFrame
    network: pd.DataFrame
    summary: dict[str, Any]
    evaluation: dict[str, Any] | None = None
    scores: dict[str, np.ndarray] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    _read: dict[Callable[[Results], Any], Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Name of the analysis."""
        return str(self.summary.get("analysis") or self.folder.name)

    @property
    def method(self) -> str:
        """Name of the method in the configuration; "" when the summary names none."""
        return str(self.summary.get("method") or "")

    @property
    def parameters(self) -> dict[str, Any]:
        """The analysis' section of the configuration, defaults filled in."""
        return dict(self.summary.get("parameters") or {})

    @property
    def counts(self) -> dict[str, int]:
        """Counts at each step, in the order of the steps."""
        return dict(self.summary.get("counts") or {})

    @property
    def warnings(self) -> list[str]:
        """What a reader should beware of."""
        return list(self.summary.get("warnings") or [])

    @cached_property
    def method_report(self) -> MethodReport:
        """What the page says and shows of this analysis' method; general text for one that is not
        known here or has none."""
        known = methods().get(self.method)
        title = self.method.replace("_", " ").strip() or "pair scores"
        return (known and known.method_report) or MethodReport(MethodText(title=title))

    @cached_property
    def text(self) -> MethodText:
        """Names and sentences of this analysis' method."""
        text = self.method_report.text
        return text.adapted(self) if text.adapted else text

    @cached_property
    def regulators(self) -> frozenset[str]:
        """Names of the regulators; empty when none were given."""
        if "is_regulator" not in self.items:
            return frozenset()
        return frozenset(self.items.loc[self.items["is_regulator"].astype(bool), "name"])

    @cached_property
    def directed(self) -> bool:
        """Whether an edge runs from source to target: stated in the summary, else inferred."""
        stated = self.summary.get("directed")
        if stated is not None:
            return bool(stated)
        return bool(self.regulators) or any(
            column in self.network for column in self.text.directed_columns
        )

    @cached_property
    def strength(self) -> str | None:
        """The column that edges are ranked by, None when the table has no number at all."""
        for column in self.text.strength:
            if column in self.network:
                return column
        numeric = self.network.drop(columns=["source", "target"]).select_dtypes("number")
        return str(numeric.columns[0]) if len(numeric.columns) else None

    @cached_property
    def score(self) -> np.ndarray:
        """What edges are ranked by, float64 (edges,): larger is stronger; -inf where missing."""
        if self.strength is None:
            return np.zeros(len(self.network))
        score = self.network[self.strength].to_numpy(dtype=np.float64)
        return np.where(np.isnan(score), -np.inf, np.abs(score) if self.text.signed else score)

    @cached_property
    def dropped(self) -> pd.DataFrame:
        """The items that were left out, in input order."""
        return self.items[~self.items["kept"].astype(bool)]

    @cached_property
    def out_degree(self) -> pd.Series:
        """Edges by their source, largest first, ties by name."""
        return _ordered(self.network["source"].value_counts())

    @cached_property
    def degree(self) -> pd.Series:
        """Edges at each item of the network, both ends counted, largest first, ties by name."""
        targets = self.network["target"].value_counts()
        return _ordered(self.network["source"].value_counts().add(targets, fill_value=0))

    def labelled(self, table: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
        """A table of names with what the page calls them, in ``columns`` (those that it has)."""
        there = [column for column in columns if self.labels and column in table]
        return table.assign(**{c: table[c].map(lambda n: self.labels.get(n, n)) for c in there})

    def cached(self, read: Callable[[Results], T]) -> T:
        """``read(self)``, read once: what a method's own files hold."""
        if read not in self._read:
            self._read[read] = read(self)
        found: T = self._read[read]
        return found

    def strongest(self, limit: int) -> pd.DataFrame:
        """The ``limit`` strongest edges, best first; ties by ``text.ties``, then by the names."""
        if self.strength is None or self.network.empty:
            return self.network.head(limit)
        score = self.score
        if len(score) > limit:
            # Sort only what can be shown: the network may have millions of edges.
            least = np.partition(score, len(score) - limit)[len(score) - limit]
            candidates = np.flatnonzero(score >= least)
        else:
            candidates = np.arange(len(score))
        table = self.network.iloc[candidates].assign(_score=score[candidates])
        ties = [column for column in self.text.ties if column in table]
        by = ["_score", *ties, "source", "target"]
        table = table.sort_values(by, ascending=[column != "_score" for column in by])
        return table.drop(columns="_score").head(limit).reset_index(drop=True)


def read_results(
    folder: Path, summary: dict[str, Any] | None = None, names: Path | None = None
) -> Results:
    """Read what the report needs from ``folder`` (``results/NAME/``).

    ``summary``: what ``summary.json`` will hold, where it is not written yet. ``names``: the
    analysis' file of symbols, which take the place of identifiers.

    Raises StoreError naming the file when a required one (items.parquet, network.parquet,
    summary.json) is missing or is not what its name says.
    """
    if summary is None:
        summary = _read_json(folder / "summary.json", required=True) or {}
    items, _ = with_symbols(_read(folder / "items.parquet", {"name", "kept", "reason"}), names)
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


def warnings_of_results(results: Results) -> list[str]:
    """What the settings and results give rise to, beyond what the steps warned of themselves."""
    found = results.text.warnings(results)
    if results.network.empty:
        found.append(results.text.empty)
    return [text for text in dict.fromkeys(found) if text not in results.warnings]


def _ordered(counts: pd.Series) -> pd.Series:
    table = counts.rename("n").rename_axis("name").reset_index()
    table = table.sort_values(["n", "name"], ascending=[False, True])
    return table.set_index("name")["n"].astype(np.int64)


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


def _read_json(path: Path, *, required: bool) -> dict[str, Any] | None:
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
