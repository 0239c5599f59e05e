"""What each step did: counts, decisions, warnings, seconds and peak memory, as one JSON file."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from pairtile.runtime.files import write_json
from pairtile.runtime.host_memory import peak_host_bytes

log = logging.getLogger("pairtile")


@dataclass
class StepRecord:
    """Collects what a step has to say; ``recorded`` writes it out."""

    step: str
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    peak_memory_bytes: int = 0
    peak_gpu_memory_bytes: int = 0
    device: str = ""
    started: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.perf_counter() - self.started

    def note(self, text: str) -> None:
        """A decision, in plain words."""
        self.notes.append(text)
        log.info(text)

    def warn(self, text: str) -> None:
        """Something the user should look at."""
        self.warnings.append(text)
        log.warning(text)

    def count(self, **numbers: int) -> None:
        """Numbers of things read, kept, dropped."""
        for name, number in numbers.items():
            self.counts[name] = int(number)
            log.info("%s: %s", name.replace("_", " "), f"{int(number):,}")


@contextmanager
def recorded(step: str, path: str | os.PathLike[str] | None = None) -> Iterator[StepRecord]:
    """Time a step; when it ends without error, write its record to ``path`` as JSON."""
    record = StepRecord(step)
    yield record
    record.seconds = round(record.elapsed(), 3)
    record.peak_memory_bytes = peak_host_bytes()
    log.info("%s: %.1f s, at most %.2f GiB", step, record.seconds, peak_host_bytes() / 2**30)
    if path is not None:
        content = asdict(record)
        del content["started"]
        write_json(path, content)


class Progress:
    """Logs how much of a long job is done, its rate and the time left, at most every 10 s."""

    def __init__(self, total: float, what: str, every_seconds: float = 10.0) -> None:
        self.total = total
        self.what = what
        self.every = every_seconds
        self.start = self.last = time.perf_counter()
        self.done = 0.0

    def advance(self, amount: float) -> None:
        """Count ``amount`` more as done."""
        self.done += amount
        now = time.perf_counter()
        if now - self.last >= self.every and self.done > 0:
            self.last = now
            rate = self.done / (now - self.start)
            left = (self.total - self.done) / rate
            log.info(
                "%.1f%% of %.3g %s done, %.3g a second, %.0f s left",
                100 * self.done / self.total,
                self.total,
                self.what,
                rate,
                left,
            )
