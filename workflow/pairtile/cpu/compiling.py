"""Says when numba compiles, and for how long: a first run would else be silent for a minute."""

from __future__ import annotations

import gc
import logging
import time

from numba.core.event import Event, Listener, register

from pairtile.runtime.record import COMPILING

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0


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
        if not self.functions:
            log.info("Compiling for this CPU, once: later runs find it done.")
            self.said = now
        elif now - self.said >= EVERY_SECONDS:
            so_far = (self.functions, COMPILING.seconds())
            log.info("Compiling for this CPU: %d functions in %.0f s so far.", *so_far)
            self.said = now
        self.functions += 1

    def on_end(self, event: Event) -> None:
        COMPILING.stop()
        if self.collected.pop():
            gc.enable()


register("numba:compile", _CompileListener())
