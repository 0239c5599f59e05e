"""Sets of predictors, where an analysis has these in place of pairs: those of a target, and those
that a predictor is in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from pairtile.method import methods
from pairtile.report.results import read_result_table
from pairtile.view.pair_store import PairStore, Store


class SetStore(Store):
    """The sets that a search for predictors reports, with the answers of ``PairStore``."""

    FILE, WORDS = "predictors.tsv", ("sets of predictors", "sets", "Sets of or with")
    score = "mi_bits"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        table = read_result_table(self.path, methods()[self.summary["method"]].package)
        self.columns = ("target", *(name for name in table if name.startswith("predictor_")))
        table = table[[*self.columns, self.score]].rename(columns={self.score: "score"})
        self._table = table.sort_values("score", ascending=False, kind="stable")
        self.rows = len(table)

    def named(
        self, sets: pd.DataFrame, most: int | None = None
    ) -> Iterator[tuple[str | float, ...]]:
        """Target, predictors and score of each of the first sets."""
        return sets[:most].itertuples(index=False, name=None)

    def partners(self, item: int, least: float = 0.0) -> pd.DataFrame:
        """The sets of a target or with a predictor, by its row in items.parquet."""
        found = self.best(least)
        return found[(found[[*self.columns]] == self.names[item]).any(axis=1)]

    def best(self, least: float = 0.0) -> pd.DataFrame:
        """The sets with a score from ``least`` on, the best first."""
        return self._table[self._table["score"] >= least] if least else self._table

    def pairs(self, least: float = 0.0) -> Iterator[pd.DataFrame]:
        """The same, in one part."""
        yield self.best(least)

    def count(self, least: float = 0.0) -> int:
        """How many these are."""
        return len(self.best(least))

    def snapped(self, least: float) -> float:
        """``least`` itself; ValueError where it is negative or not finite."""
        if not 0 <= least < np.inf:
            raise ValueError(least)
        return least


AnyStore: TypeAlias = PairStore | SetStore


def open_store(folder: Path) -> AnyStore:
    """What an analysis stores: sets where it reports sets, else pairs."""
    return SetStore(folder) if (folder / SetStore.FILE).is_file() else PairStore(folder)
