"""Sets of predictors, where an analysis has these in place of pairs: those of a target, and those
that a predictor is in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pairtile.declare.tables import read_result_table
from pairtile.method import methods
from pairtile.view.pair_store import Pairs, PairStore, Store


class SetStore(Store):
    """The sets that a search for predictors reports, with the answers of ``PairStore``."""

    FILE, WORDS = "predictors.tsv", ("sets of predictors", "sets", "Sets of or with")
    score = "mi_bits"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        table = read_result_table(self.path, methods()[self.summary["method"]].package)
        table = table.sort_values(self.score, ascending=False, kind="stable")
        self.columns = ("target", *(c for c in map(str, table) if c.startswith("predictor_")))
        named = table[[*self.columns]].map(lambda name: self.labels.get(name, name))
        self._sets = named.to_numpy(dtype=str)
        self._score = table[self.score].to_numpy(dtype=np.float32)
        self.rows = len(table)

    def named(self, sets: Pairs, most: int | None = None) -> Iterator[tuple[list[str], float]]:
        """Target and predictors, and the score, of each of the first sets."""
        for row in sets.first[:most].tolist():
            yield self._sets[row].tolist(), float(self._score[row])

    def partners(self, item: int, least: float = 0.0) -> Pairs:
        """The sets of a target or with a predictor, by its row in items.parquet."""
        found = self.best(least)
        return found.rows((self._sets[found.first] == self.names[item]).any(axis=1))

    def best(self, least: float = 0.0) -> Pairs:
        """The sets with a score from ``least`` on, the best first; both items are their rows."""
        rows = np.flatnonzero((self._score >= np.float32(least)) | (not least)).astype(np.int32)
        return Pairs(rows, rows, self._score[rows])

    def pairs(self, least: float = 0.0) -> Iterator[Pairs]:
        """The same, in one part."""
        yield self.best(least)

    def count(self, least: float = 0.0) -> int:
        """How many these are."""
        return len(self.best(least).score)


AnyStore: TypeAlias = PairStore | SetStore


def open_store(folder: Path) -> AnyStore:
    """What an analysis stores: sets where it reports sets, else pairs."""
    return SetStore(folder) if (folder / SetStore.FILE).is_file() else PairStore(folder)
