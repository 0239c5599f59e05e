"""The plan: pair space -> tiles with costs -> chunks.

A tile is a rectangle of the pair space, at a place that depends on the shape of the space alone;
a chunk is a run of neighbouring tiles. So however many chunks are asked for, every tile is the
same rectangle and gives the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

TILE_EDGE = 1024
"""Items along each side of a tile. Large enough for a GPU's matrix unit, small enough that a
tile's results (a million pairs) are a few megabytes. Fixed, because results are defined by tile."""

CHUNK_SECONDS = 60.0
"""Work aimed at in one chunk with ``chunks: auto``: long against a job's start, short to lose."""

CLUSTER_SECONDS = 300.0
"""The same where a scheduler starts each job: it loses 10 s and more before it computes."""

MIN_SECONDS = 5.0
"""Work for which another GPU is worth a job of its own: several times what its start takes."""

MIN_CPU_SHARE = 0.02
"""Part of the work from which on cores beside GPUs have chunks: less is not worth the wait for one
that ends late."""

MAX_CHUNKS = 4000
"""A directed acyclic graph of more jobs than this makes Snakemake itself slow."""


@dataclass(frozen=True)
class Tile:
    """Rows [row_begin, row_end) x columns [column_begin, column_end) of a pair space."""

    number: int
    row_begin: int
    row_end: int
    column_begin: int
    column_end: int

    @property
    def rows(self) -> slice:
        """Its rows, for indexing."""
        return slice(self.row_begin, self.row_end)

    @property
    def columns(self) -> slice:
        """Its columns, for indexing."""
        return slice(self.column_begin, self.column_end)

    @property
    def cells(self) -> int:
        """Cells of the rectangle, wanted or not."""
        return (self.row_end - self.row_begin) * (self.column_end - self.column_begin)


@dataclass(frozen=True)
class PairSpace:
    """Shape of the pairs to be scored.

    ``triangle``: every unordered pair of ``columns`` items, each once; with fewer ``rows``, those
    of which one at least is among the first ``rows`` items.
    ``rectangle``: every row with every column, as regulators x genes or queries x references.
    """

    kind: str
    rows: int
    columns: int

    def __post_init__(self) -> None:
        if self.kind not in ("triangle", "rectangle"):
            raise ValueError(f"kind: found {self.kind!r}; expected 'triangle' or 'rectangle'")
        if self.kind == "triangle" and self.rows > self.columns:
            raise ValueError(f"a triangle of {self.rows} rows and {self.columns} columns")

    def tiles(self, row_edge: int = TILE_EDGE, column_edge: int | None = None) -> list[Tile]:
        """All tiles, band of rows by band of rows; those wholly below a triangle's diagonal are
        left out. ``column_edge`` is ``row_edge`` unless given."""
        column_edge = column_edge or row_edge
        if self.kind == "triangle" and column_edge != row_edge:
            raise ValueError("tiles of a triangle are squares: its diagonal runs through corners")
        found: list[Tile] = []
        for row in range(0, self.rows, row_edge):
            end = min(row + row_edge, self.rows)
            starts = [*range(0, self.columns, column_edge), self.columns]
            if self.kind == "triangle":  # the tile on the diagonal is a square, also in a last band
                starts = [row, *range(end, self.columns, column_edge), self.columns]
            for column, column_end in pairwise(starts):
                found.append(Tile(len(found), row, end, column, column_end))
        return found

    def pairs_in(self, tile: Tile) -> int:
        """Pairs of the space that lie in a tile."""
        if self.kind == "triangle" and tile.row_begin == tile.column_begin:
            n = tile.row_end - tile.row_begin
            return n * (n - 1) // 2
        return tile.cells


@dataclass(frozen=True)
class Chunk:
    """Tiles [first, last] with their estimated seconds on the backend of the plan.

    ``backend``: another one on which it is computed.
    """

    first: int
    last: int
    seconds: float
    backend: str = ""

    @property
    def name(self) -> str:
        """File name without suffix: ``tiles-000000-000009``, or ``tiles-000010-000019-cpu``."""
        other = f"-{self.backend}" if self.backend else ""
        return f"tiles-{self.first:06d}-{self.last:06d}{other}"


def number_of_jobs(seconds: float, wanted_seconds: float, side_by_side: int) -> int:
    """How many jobs to cut work of so many seconds into.

    As few as keep each at ``wanted_seconds`` or less; where several run side by side, two for each
    of them, so that unequal ones even out, of ``MIN_SECONDS`` at least, and a multiple of them.
    """
    jobs = max(1, ceil(seconds / wanted_seconds))
    if side_by_side > 1:
        long_enough = int(seconds / MIN_SECONDS)
        rounds = min(2, long_enough // side_by_side)
        jobs = max(jobs, rounds * side_by_side or min(long_enough, side_by_side))
        if jobs > side_by_side:
            jobs = ceil(jobs / side_by_side) * side_by_side
    return jobs


def plan_chunks(
    seconds: Sequence[float],
    chunks: int | str = "auto",
    side_by_side: int = 1,
    wanted_seconds: float = CHUNK_SECONDS,
) -> list[Chunk]:
    """Cut the row of tiles into chunks of about equal cost.

    Parameters
    ----------
    seconds
        Estimated seconds of each tile, in order.
    chunks
        ``auto``: as ``number_of_jobs`` says of ``wanted_seconds``; or their number, never more than
        there are tiles (the configuration refuses numbers below 1).
    side_by_side
        Chunks that are computed at once.
    """
    total = float(sum(seconds))
    jobs = min(MAX_CHUNKS, number_of_jobs(total, wanted_seconds, side_by_side))
    wanted = min(jobs if chunks == "auto" else int(chunks), len(seconds))
    result = []
    first, done = 0, 0.0
    for k in range(wanted):
        # Up to this chunk's share of the total, leaving at least one tile for each chunk to come.
        goal = total * (k + 1) / wanted
        last = first
        cost = float(seconds[first])
        limit = len(seconds) - (wanted - k - 1)
        while last + 1 < limit and (k == wanted - 1 or done + cost + seconds[last + 1] / 2 <= goal):
            last += 1
            cost += float(seconds[last])
        result.append(Chunk(first, last, cost))
        first, done = last + 1, done + cost
    return result


def cpu_chunks(seconds: Sequence[float], gpus: int, speed: float) -> list[Chunk]:
    """Chunks of the last tiles, for idle cores to score one after the other while GPUs score all
    other tiles, so that both end together. None where that saves little, or lasts hardly longer
    than a job takes to start.

    Parameters
    ----------
    seconds
        Estimated seconds of each tile on one GPU, in order.
    gpus
        How many compute at once.
    speed
        How many GPUs the cores do the work of, all of them together.
    """
    both_seconds = sum(seconds) / (gpus + speed)
    if speed < MIN_CPU_SHARE * (gpus + speed) or both_seconds < MIN_SECONDS:
        return []
    of_cpu = sum(done <= speed * both_seconds for done in accumulate(reversed(seconds)))
    first = len(seconds) - of_cpu
    return [
        Chunk(first + chunk.first, first + chunk.last, chunk.seconds * speed, "cpu")
        for chunk in plan_chunks([each / speed for each in seconds[first:]])
    ]
