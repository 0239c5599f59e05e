"""Says when numba compiles, and for how long: a first run would else be silent for a minute.

A first run also knows what it will compile (``expect``): a process of its own compiles what is
needed last, while the job compiles what it needs first.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import time
from collections.abc import Sequence

from numba.core.event import Event, Listener, register

from pairtile.cpu.first_run import compile_beside
from pairtile.cpu.njit import EXPECTED, compile_last_of
from pairtile.runtime import job
from pairtile.runtime.end_together import end_with_parent
from pairtile.runtime.record import COMPILING

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0


def expect(listed: Sequence[str]) -> None:
    """Expect that a first run compiles what is listed (``first_run.read_list``)."""
    EXPECTED.update(dict.fromkeys(listed))


class _CompileListener(Listener):
    def __init__(self) -> None:
        self.functions, self.said = 0, 0.0
        self.collected: list[bool] = []

    def on_start(self, event: Event) -> None:
        # The compiler keeps nearly all that it makes: to look for garbage is a tenth of its time.
        self.collected.append(gc.isenabled())
        gc.disable()
        COMPILING.start()
        now = time.perf_counter()
        self.functions += 1
        if self.functions == 1:
            log.info("Compiling for this CPU, once: later runs find it done.")
            self.said = now
            if job.IS_JOB and os.environ["NUMBA_NUM_THREADS"] != "1":
                compile_beside(EXPECTED)
        elif now - self.said >= EVERY_SECONDS:
            so_far = (self.functions, COMPILING.seconds())
            log.info("Compiling for this CPU: %d functions in %.0f s so far.", *so_far)
            self.said = now

    def on_end(self, event: Event) -> None:
        COMPILING.stop()
        if self.collected.pop():
            gc.enable()


register("numba:compile", _CompileListener())


def compile_backwards() -> None:
    """Compile what standard input lists, but for what another process compiles."""
    end_with_parent()
    expect(sys.stdin.read().splitlines())
    compile_last_of(list(EXPECTED))
