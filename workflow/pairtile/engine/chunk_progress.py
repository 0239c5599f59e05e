"""How far an analysis is, over all its chunks: tiles done, rate and time left, line by line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pairtile.engine.tiles import Chunk
from pairtile.runtime.record import COMPILING, EVERY_SECONDS, Progress, format_duration, log


class ChunkProgress:
    """Says how much of a stage is done, at most every 5 s and at the end of the chunk.

    Chunk files that other jobs of this plan have finished count as well as this job's own tiles,
    so the last line in the terminal is about the whole analysis. The rate is that of all jobs
    together since this one began. Where files lie in remote storage, or come late on a shared
    file system, what this machine does not see is not counted.

    Parameters
    ----------
    label : str
        What is counted: the analysis.
    folder, plan_file : Path
        Where the chunk files of the stage go; the plan, older than all that count.
    chunks : sequence of Chunk
        All of the plan.
    own : Chunk
        The one that this job computes.
    works : sequence of float
        Work of each of its tiles, in units called ``unit``.
    """

    def __init__(
        self,
        label: str,
        folder: Path,
        plan_file: Path,
        chunks: Sequence[Chunk],
        own: Chunk,
        works: Sequence[float],
        unit: str,
    ) -> None:
        self.label, self.folder, self.chunks, self.own, self.unit = label, folder, chunks, own, unit
        self.planned = plan_file.stat().st_mtime
        self.work = max(float(sum(works)), 1e-300)
        self.done, self.tiles = 0.0, 0
        self.start = self.last = time.time()
        self.compiled_before = COMPILING.seconds()
        before = [when for _, when in self._finished() if when <= self.start]
        latest = max(before, default=0.0)
        # With what passes between two jobs, where one follows the other within a minute: that is
        # one stretch of work.
        self.since = latest if self.start - latest < 60.0 else self.start

    def advance(self, work: float) -> None:
        """Count one more tile, and its work, as done."""
        self.done += work
        self.tiles += 1
        if time.time() - self.last >= EVERY_SECONDS:
            self.log_progress()

    def log_progress(self) -> None:
        """Log the line."""
        self.last, Progress.latest = time.time(), time.perf_counter()
        log.info("%s", self.line(self.last))

    def line(self, now: float) -> str:
        """``net: 12 of 40 tiles, 31 %, 2.1e+06 pairs a second, about 3 min left``."""
        others = self._finished()
        own_share = min(1.0, self.done / self.work)
        own = own_share * self.own.seconds
        tiles = self.tiles + sum(chunk.last - chunk.first + 1 for chunk, _ in others)
        all_tiles = sum(chunk.last - chunk.first + 1 for chunk in self.chunks)
        planned = sum(chunk.seconds for chunk in self.chunks)
        finished = own + sum(chunk.seconds for chunk, _ in others)
        share = finished / planned if planned > 0 else tiles / all_tiles
        percent = 100 if tiles == all_tiles else min(99, int(100 * share))
        said = [f"{self.label}: {tiles:,} of {all_tiles:,} tiles", f"{percent} %"]
        together = own + sum(chunk.seconds for chunk, when in others if when > self.since)
        elapsed = now - self.since - (COMPILING.seconds() - self.compiled_before)
        if own > 0 and elapsed > 0:
            # Planned seconds in a second; and the unit's rate of the same stretch.
            speed = together / elapsed
            rate = self.work / self.own.seconds * speed
            said.append(f"{rate:.2g} {self.unit} a second")
            if tiles < all_tiles:
                said.append(f"{format_duration((planned - finished) / speed)} left")
        return ", ".join(said)

    def _finished(self) -> list[tuple[Chunk, float]]:
        """The other chunks of the plan whose file is there, and when it came."""
        others = {f"{chunk.name}.parquet": chunk for chunk in self.chunks if chunk != self.own}
        found = []
        for path in self.folder.glob("tiles-*.parquet"):
            with suppress(FileNotFoundError):  # taken away by a run that computes it again
                when = path.stat().st_mtime
                if path.name in others and when >= self.planned:
                    found.append((others[path.name], when))
        return found
