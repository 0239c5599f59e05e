"""What a step leaves in writing: its record for the summary, and lines on how far it is."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from pairtile.declare.messages import Message
from pairtile.runtime.files import OWNER, write_json
from pairtile.runtime.host_memory import peak_host_bytes

log = logging.getLogger("pairtile")

COMMAND = "PAIRTILE_COMMAND"
"""The environment variable that tells jobs which command a person gave."""


@dataclass
class StepRecord:
    """Collects what a step has to say; ``recorded`` writes it out."""

    step: str
    counts: dict[str, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    done: list[dict[str, object]] = field(default_factory=list)
    """What it did, in order (``say_done``)."""
    details: dict[str, object] = field(default_factory=dict)
    seconds: float = 0.0
    peak_memory_bytes: int = 0
    peak_gpu_memory_bytes: int = 0
    device: str = ""
    started: float = field(default_factory=time.perf_counter)
    doing: ClassVar[str] = ""
    """What the step at hand does (``doing``)."""

    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.perf_counter() - self.started

    def log_messages(self, *messages: Message) -> None:
        """To the record and the log, which has what was done already."""
        self.messages += messages
        for message in messages:
            if all(message != done["text"] for done in self.done):
                log.log(logging.INFO if message.severity == "note" else logging.WARNING, message)

    def count(self, **numbers: int) -> None:
        """Numbers of things read, kept, dropped."""
        for name, number in numbers.items():
            self.counts[name] = int(number)
            log.info("%s: %s", name.replace("_", " "), f"{int(number):,}")


_AT_HAND: ContextVar[StepRecord | None] = ContextVar("step at hand", default=None)


def say_done(done: Message) -> Message:
    """Log what the step at hand has just done, with the seconds since its start, and note it in its
    record. Of no step, as in a call of the library on arrays: nothing. Returns ``done``."""
    if record := _AT_HAND.get():
        record.done.append(done.as_json() | {"after_seconds": round(record.elapsed(), 3)})
        log.info("%s (after %.1f s)", done, record.elapsed())
    return done


FIRST_SECONDS, EVERY_SECONDS = 2.0, 5.0
"""When a step that goes on says so, and how often a line about progress is logged at most."""


def doing(what: str) -> None:
    """Log what the step at hand does from here on, as "read counts.tsv". Said before, not after:
    a library that keeps Python's lock lets no other thread say that the step goes on."""
    StepRecord.doing = what
    log.info("%s", what)


@contextmanager
def recorded(
    step: str, path: str | os.PathLike[str] | None = None, expected: float = 0.0
) -> Iterator[StepRecord]:
    """Time a step; when it ends without error, write its record to ``path`` as JSON,
    with the checksums of the files that it wrote. Until then it is seen to go on; ``expected``:
    seconds that it takes, where no plan says them."""
    record, ended = StepRecord(step), threading.Event()
    StepRecord.doing = ""
    seen = record, _expected_seconds(step, path) or expected, ended
    threading.Thread(target=_show_that_it_goes_on, args=seen, daemon=True).start()
    token = _AT_HAND.set(record)
    try:
        yield record
    finally:
        _AT_HAND.reset(token)
        ended.set()
    record.seconds = round(record.elapsed(), 3)
    peak = record.peak_memory_bytes = peak_host_bytes()
    log.info("%s: %.1f s, at most %.2f GiB", step, record.seconds, peak / 2**30)
    if path is not None:
        content = asdict(replace(record, messages=[]))
        content["messages"] = [message.as_json() for message in record.messages]
        content |= owner.file_records() if (owner := OWNER.get()) else {"files": {}}
        del content["started"]
        write_json(path, content)


def _expected_seconds(step: str, path: str | os.PathLike[str] | None) -> float:
    """What the plan whose record lies beside ``path`` says of a step; 0 where none does. It is only
    shown, so that a plan of other settings does no harm."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        plan = json.loads(Path(path or "").with_name("plan.json").read_text(encoding="utf-8"))
        return float(plan["details"]["estimated_seconds"][step.split()[0]])
    return 0.0


def _show_that_it_goes_on(record: StepRecord, expected: float, ended: threading.Event) -> None:
    """Log how long a step has worked, where nothing else says how far it is."""
    wait = FIRST_SECONDS
    while not ended.wait(wait):
        wait, elapsed = EVERY_SECONDS, record.elapsed()
        if time.perf_counter() - Progress.latest < EVERY_SECONDS:
            continue
        left = (
            f", {100 * elapsed / max(expected, elapsed):.0f} %, "
            f"{format_duration(expected - elapsed)} left"
        )
        what = f"{record.step}, {record.doing}" if record.doing else record.step
        log.info("%s: %.0f s so far%s", what, elapsed, left * (elapsed < expected))


class Stopwatch:
    """Adds up the seconds between starts and stops; a start within another counts once."""

    def __init__(self) -> None:
        self._depth, self._began, self._before = 0, 0.0, 0.0

    def start(self) -> None:
        """Run, if it does not yet."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """The end of the last start."""
        self._depth -= 1
        if self._depth == 0:
            self._before += time.perf_counter() - self._began

    def seconds(self) -> float:
        """All so far."""
        return self._before + (time.perf_counter() - self._began if self._depth else 0.0)


COMPILING = Stopwatch()
"""What this process has spent on compiling (``cpu.compiling``): it says nothing of the time that
the rest of a job will take."""


class Progress:
    """Logs how much of a long job is done, its rate and the time left, at most every 5 s."""

    latest = -EVERY_SECONDS
    """When any line of progress was logged."""

    def __init__(self, total: float, what: str) -> None:
        self.total = total
        self.what = what
        self.start = self.last = time.perf_counter()
        self.compiled_before = COMPILING.seconds()
        self.done = 0.0

    def advance(self, amount: float) -> None:
        """Count ``amount`` more as done."""
        self.done += amount
        now = time.perf_counter()
        if now - self.last >= EVERY_SECONDS and 0 < self.done < self.total:
            self.last = Progress.latest = now
            compiling = COMPILING.seconds() - self.compiled_before
            rate = self.done / max(now - self.start - compiling, 1e-9)
            left = (self.total - self.done) / rate
            log.info(
                "%.1f%% of %.3g %s done, %.3g a second, %s left",
                100 * self.done / self.total,
                self.total,
                self.what,
                rate,
                format_duration(left),
            )


def format_duration(seconds: float) -> str:
    """``about 40 s``, ``about 3 min``, ``about 2.5 h``, ``about 3 days``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"about {round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"about {seconds / 3600:.1f} h"
    return f"about {round(seconds / 86400)} days"
