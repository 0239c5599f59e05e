"""Which rows of a tile a chunk writes, and the loop over tiles that keeps to it.

A row is kept for its own sake (it passed a test that needs no other row) or because it is among
the best ``top`` of the whole analysis. The second cannot be known inside a chunk, so a chunk keeps
its own best ``top`` with their ``rank_score`` and the merge takes the best of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType

import numpy as np

from pairtile.arrays import DeviceArray, Float64Array, FloatingArray
from pairtile.engine.chunk_file import (
    PASSED,
    RANK_SCORE,
    Arrays,
    Rows,
    Summaries,
    add_summaries,
)
from pairtile.engine.tiles import Tile


@dataclass(frozen=True)
class Selection:
    """The rules, in terms of a method's test statistic and its ranking score.

    everything : keep every scored row.
    min_statistic : float64, shape (classes, classes); keep rows whose test statistic is at least
        that of their pair of null classes. None: no such test.
    min_score : keep rows whose ranking score is at least this. None: no such rule.
    top : keep the best so many by ranking score; 0: no such rule.
    cut : the lowest ranking score that can still be among these.
    scan : sums of the first pass (``stages.FirstPass``), which scores are made from. None: none.
    """

    everything: bool = False
    min_statistic: Float64Array | None = None
    min_score: float | None = None
    top: int = 0
    cut: float = -np.inf
    scan: Arrays | None = None

    def passed(
        self,
        xp: ModuleType,
        statistic: DeviceArray,
        row_class: DeviceArray,
        column_class: DeviceArray,
        score: DeviceArray,
    ) -> DeviceArray:
        """Boolean array: kept for its own sake. All arguments have the shape of the tile, except
        the classes: (rows,) and (columns,)."""
        if self.everything:
            return xp.ones(score.shape, dtype=bool)
        keep = xp.zeros(score.shape, dtype=bool)
        if self.min_statistic is not None:
            limits = self.min_statistic.astype(statistic.dtype)
            if limits.size == 1:
                keep |= statistic >= limits[0, 0]
            else:
                row_codes, column_codes = xp.asarray(row_class), xp.asarray(column_class)
                keep |= statistic >= xp.asarray(limits)[row_codes[:, None], column_codes[None, :]]
        if self.min_score is not None:
            keep |= score >= self.min_score
        return keep


@dataclass
class RunningTopK:
    """The ``top`` best rows of a chunk, tile by tile; ties with the last one stay."""

    top: int
    threshold: float = -np.inf
    _best: Float64Array = field(default_factory=lambda: np.empty(0))

    def add(self, scores: FloatingArray) -> None:
        """Take note of a tile's ranking scores; ``threshold`` rises."""
        best = np.concatenate([self._best, scores[scores >= self.threshold]])
        if best.size > self.top:
            best = -np.partition(-best, self.top - 1)[: self.top]
        self._best = best
        if best.size == self.top:
            self.threshold = float(best.min())

    def prune(self, rows: Rows) -> Rows:
        """The rows that passed or are still among the best."""
        keep = rows[PASSED] | (rows[RANK_SCORE] >= self.threshold)
        return rows if keep.all() else {name: values[keep] for name, values in rows.items()}


def score_tiles(
    score_tile: Callable[[Tile, Selection], tuple[Rows, Summaries]],
    tiles: Iterable[Tile],
    selection: Selection,
    sums: Summaries,
) -> Iterator[tuple[Tile, Rows]]:
    """The rows of each tile in order, for a chunk file as for a bootstrap in memory; its summaries
    are added to ``sums``.

    Where ``selection.top`` is set, no rows are given before the last tile is computed: only then
    is known which are among the best.
    """
    best = RunningTopK(selection.top)
    waiting: list[tuple[Tile, Rows]] = []
    for tile in tiles:
        rows, sums_of_tile = score_tile(tile, replace(selection, cut=best.threshold))
        add_summaries(sums, sums_of_tile)
        if selection.top:
            best.add(rows[RANK_SCORE])
            waiting.append((tile, best.prune(rows)))
        else:
            yield tile, rows
    for tile, rows in waiting:
        yield tile, best.prune(rows)
