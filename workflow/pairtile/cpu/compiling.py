"""Says when numba compiles: a first run would else be silent for up to a minute."""

from __future__ import annotations

import logging
from typing import Any

from numba.core.event import Event, Listener, register

log = logging.getLogger(__name__)


class _Teller(Listener):
    told = False

    def on_start(self, event: Event) -> Any:
        if not self.told and log.isEnabledFor(logging.INFO):
            log.info("Compiling for this CPU, once: later runs find it done.")
            self.told = True

    def on_end(self, event: Event) -> Any:
        """Nothing: the next line of the log says what was made."""


register("numba:compile", _Teller())
