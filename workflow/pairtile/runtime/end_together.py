"""The processes of a run end together: none outlives the one that it works for, however that ends.

A job that outlives its run could put its files in place of those of the next run, and a Snakemake
that outlives ``pairtile run`` would keep the results locked.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from select import select

ENDS_WITH = "PAIRTILE_ENDS_WITH"
"""The environment variable with the number of the process that a process is to end with."""


def end_with_parent() -> None:
    """Let Linux end this process when the one that started it is killed."""
    if sys.platform == "linux":
        # 1 is PR_SET_PDEATHSIG of <linux/prctl.h>.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def end_with_run() -> None:
    """End this process as soon as that of ``ENDS_WITH`` has ended, even before this call: a shell
    or a server that forks may stand between the two."""
    number = os.environ.get(ENDS_WITH)
    if number:
        threading.Thread(target=_end_after, args=[int(number)], daemon=True).start()


def _end_after(process: int) -> None:
    try:
        select([os.pidfd_open(process)], [], [])
    except (AttributeError, OSError):  # not on Linux, before 5.3, forbidden in a container, or gone
        with suppress(OSError):
            while True:
                os.kill(process, 0)
                time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
