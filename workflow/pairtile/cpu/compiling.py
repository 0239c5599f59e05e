"""Says when numba compiles, and for how long: a first run would else be silent for a minute.

A first run also knows what it will compile (``expect``): a process of its own compiles what is
needed last, while the job compiles what it needs first.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from inspect import unwrap
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, register

from pairtile.runtime import job
from pairtile.runtime.end_together import end_with_parent
from pairtile.runtime.record import COMPILING

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0

_expected: dict[str, None] = {}


def expect(listed: Path) -> None:
    """Expect that a first run compiles what a file lists, where it is there: a line for each
    function, after those that it calls: ``MODULE:FUNCTION``, a space, and the types of its
    arguments (``types_of``) as JSON."""
    if listed.exists():
        _expected.update(dict.fromkeys(listed.read_text().splitlines()))


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
            _share_out()
        elif now - self.said >= EVERY_SECONDS:
            so_far = (self.functions, COMPILING.seconds())
            log.info("Compiling for this CPU: %d functions in %.0f s so far.", *so_far)
            self.said = now

    def on_end(self, event: Event) -> None:
        COMPILING.stop()
        if self.collected.pop():
            gc.enable()


register("numba:compile", _CompileListener())


def _share_out() -> None:
    """Start the process that compiles beside, where the job has a thread for it. It is no fork:
    that could wait for ever for a module which another thread imports, with what the job needs."""
    if job.IS_JOB and os.environ["NUMBA_NUM_THREADS"] != "1":
        code = f"from {__name__} import compile_backwards; compile_backwards()"
        with suppress(OSError):  # it cannot start, or has ended: the job compiles all
            beside = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
            assert beside.stdin
            with beside.stdin:
                beside.stdin.write("\n".join(reversed(_expected)).encode())


def compile_backwards() -> None:
    """Compile what standard input lists (``expect``), but for what another process compiles."""
    end_with_parent()
    for line in sys.stdin:
        place, _, arguments = line.partition(" ")
        with suppress(Exception):  # the job itself says what cannot be compiled
            kernel = kernel_of(place)
            if not vars(kernel)["_cache"].is_busy():
                kernel.compile(types_of(json.loads(arguments)))


def kernel_of(place: str) -> Dispatcher:
    """What numba made of the function at a place, ``MODULE:FUNCTION``, which may be called by all
    threads (``threaded``)."""
    return unwrap(resolve_name(place), stop=lambda found: isinstance(found, Dispatcher))


def types_of(told: Sequence[Any]) -> tuple[types.Type, ...]:
    """Types of numba: a number by its name, an array by those of its numbers, its dimensions, its
    layout and whether it is read-only, a tuple by the place of its class (null: a plain one) and
    ``of`` what it is."""
    found = []
    for one in told:
        if isinstance(one, str):
            found.append(getattr(types, one))
        elif isinstance(one, dict):
            place = one["tuple"]
            made = place and resolve_name(place)
            found.append(types.BaseTuple.from_types(types_of(one["of"]), made))
        else:
            name, dimensions, layout, read_only = one
            found.append(types.Array(getattr(types, name), dimensions, layout, read_only))
    return tuple(found)
