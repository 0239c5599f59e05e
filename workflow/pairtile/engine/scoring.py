"""The loop over tiles, the same for a chunk file and for a bootstrap in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pairtile.engine.chunk_file import RANK_SCORE, Rows, Summaries, add_summaries
from pairtile.engine.selection import RunningTopK, Selection
from pairtile.engine.tiles import Tile


def score_tiles(
    score_tile: Callable[[Tile, Selection], tuple[Rows, Summaries]],
    tiles: Iterable[Tile],
    selection: Selection,
    sums: Summaries,
) -> Iterator[tuple[Tile, Rows]]:
    """The rows of each tile in order; its summaries are added to ``sums``.

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
