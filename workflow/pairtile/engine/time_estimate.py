"""How long an analysis will take on the machine at hand: the cost model, held against a sample.

A method's ``cost`` knows the reference machine of docs/speed.md. Where there is enough
to do, a part of one tile is scored and timed instead, a second of work or little of the whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pairtile.engine.estimator import Cost, Estimator
from pairtile.engine.selection import Selection
from pairtile.engine.stages import FirstPass
from pairtile.engine.tiles import Tile
from pairtile.runtime.record import about

SAMPLE_SECONDS = 0.2
"""Of the part of a tile that says how fast the machine is."""

LARGEST_STEP = 32
"""A part is so many times the one before at most: how long it takes is a guess yet."""

WORTH_SAMPLING_SECONDS = 2.0
"""Of work by the cost model: less is over before it is estimated well."""

FIRST_CELLS = 64

FIRST_SHARE = 0.005
"""Of all work that the first part may be, where its pairs take long; it is scored a few times."""

BOOTSTRAP_SECONDS = 0.05
"""Of DPI and files of each."""

START_SECONDS = 3.0
"""Snakemake, until the first job runs, and at its end."""

STEP_SECONDS = {
    "merge": 0.3,
    "network": 0.6,
    "tables": 0.6,
    "export": 0.4,
    "report": 2.0,
}
"""What the other steps take of a small analysis, with the start of their jobs."""


class Speed(NamedTuple):
    """Seconds that a tile takes whatever is in it, and for each unit of work."""

    of_a_tile: float
    of_work: float


def is_worth_sampling(seconds: float, tiles: Sequence[Tile]) -> bool:
    """Whether a sample is little of all tiles, which take so long by the cost model."""
    first = seconds * FIRST_CELLS / max(sum(tile.cells for tile in tiles), 1)
    return seconds >= WORTH_SAMPLING_SECONDS and first <= max(SAMPLE_SECONDS, FIRST_SHARE * seconds)


def sampled_speed(opening: Callable[[], Estimator], tiles: Sequence[Tile], cost: Cost) -> Speed:
    """How fast this machine is, from parts of the largest tile.

    opening : gives the estimator anew: what it keeps of one part must not help with the next.
    cost : by the model, for the size of the first part: in too small a one, the start of threads on
    a busy machine would be taken for work.

    Before each part a single pair is scored, twice: what is made ready once is no part of the
    speed, and the second time is what a tile takes at least.
    """
    opened = opening()
    tile = max(tiles, key=cost.tile)
    corner = replace(tile, row_begin=tile.row_end - 1, column_begin=tile.column_end - 1)
    _seconds(opened, _part(tile, FIRST_CELLS))  # compiles
    share = SAMPLE_SECONDS / 2 * cost.per_second / max(cost.tile(tile), 1)
    cells, least = max(float(FIRST_CELLS), min(1.0, share) * tile.cells), math.inf
    while True:
        part, times = _part(tile, cells), []
        for _ in range(2):  # other work on this machine only ever adds time
            opened = opening()
            _seconds(opened, corner)
            least = min(least, _seconds(opened, corner))
            times.append(_seconds(opened, part))
        seconds = max(min(times) - least, 1e-9)
        if seconds >= SAMPLE_SECONDS / 2 or part == tile:
            return Speed(least, seconds / max(cost.tile(part), 1))
        cells *= min(LARGEST_STEP, max(2.0, SAMPLE_SECONDS / seconds))


def _part(tile: Tile, cells: float) -> Tile:
    """About so many cells of a tile: a square (a triangle's tile needs one), or all its rows or
    columns where it has too few of them."""
    edge = math.ceil(math.sqrt(cells))
    most_rows, most_columns = tile.row_end - tile.row_begin, tile.column_end - tile.column_begin
    rows, columns = min(edge, most_rows), min(edge, most_columns)
    if rows < edge:
        columns = min(most_columns, math.ceil(cells / rows))
    elif columns < edge:
        rows = min(most_rows, math.ceil(cells / columns))
    row_end, column_end = tile.row_begin + rows, tile.column_begin + columns
    return replace(tile, row_end=row_end, column_end=column_end)


def _seconds(opened: Estimator, part: Tile) -> float:
    start = time.perf_counter()
    if isinstance(opened, FirstPass) and opened.needs_scan(opened.config):
        opened.scan_tile(part)
    else:
        opened.score_tile(part, Selection(everything=True))
    return time.perf_counter() - start


def step_seconds(
    *,
    tiles: float,
    passes: int,
    null: float,
    network: float,
    bootstraps: int,
    tables: bool,
) -> dict[str, float]:
    """Seconds of each step that follows the plan, by the name of its rule.

    tiles, null, network : of all tiles in one pass, of the null, and of what the network computes
    like tiles. bootstraps : their number.
    """
    seconds = {
        "null": null,
        "chunk": passes * tiles,
        "bootstrap": bootstraps * (passes * tiles + null + BOOTSTRAP_SECONDS),
        "merge": STEP_SECONDS["merge"],
        "network": STEP_SECONDS["network"] + network,
        "tables": STEP_SECONDS["tables"] if tables else 0.0,
        "export": STEP_SECONDS["export"],
        "report": STEP_SECONDS["report"],
    }
    return {step: round(each, 2) for step, each in seconds.items() if each}


def in_words(estimate: Mapping[str, float]) -> str:
    """``about 40 s (chunk 25 s, null 10 s)``: the whole, and what takes the most of it."""
    total = sum(estimate.values())
    longest = sorted(estimate, key=lambda step: -estimate[step])[:3]
    parts = (f"{step} {about(estimate[step])[6:]}" for step in longest)
    return f"{about(total)} ({', '.join(parts)})"
