"""One run at a time works on a folder of results, whichever folder it was started from."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pairtile.errors import StoreError
from pairtile.runtime.files import writing

LOCK_FILE = ".pairtile.lock"
"""In the folder of results: says who works on them; empty where nobody does."""


def hold_results(folder: str | os.PathLike[str]) -> None:
    """Hold a folder of results for this process, until it ends.

    The kernel lets go of the lock of a process that was killed. Where its locks do not reach,
    what that process wrote into the lock file counts.

    Raises
    ------
    StoreError
        Naming host and process of the run that works on the results; or the folder cannot be
        written.
    """
    path = Path(folder) / LOCK_FILE
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lives_here, holder = False, _read(handle)
    except BlockingIOError:
        lives_here, holder = True, _read(handle)
        if not holder:  # a run that has just taken the lock
            time.sleep(0.5)
            holder = _read(handle)
    except OSError:  # a file system without such locks
        holder = _read(handle)
        lives_here = bool(holder) and _started(holder["process"]) == holder["started"]
    host, boot = socket.gethostname(), _boot()
    elsewhere = bool(holder) and host != holder["host"] and boot != holder["boot"]
    if lives_here or elsewhere:
        cure = "wait until it has ended" if lives_here else f"if it has ended, delete {path}"
        os.close(handle)
        raise StoreError(
            f"{folder}: another run works on these results, on host {holder.get('host')}, process "
            f"{holder.get('process')}: {cure}"
        )
    here = {"host": host, "boot": boot, "process": os.getpid(), "started": _started(os.getpid())}
    _write(handle, json.dumps(here))
    atexit.register(_write, handle, "")


def mark_run(folder: str | os.PathLike[str], results: str | os.PathLike[str]) -> bool:
    """Mark in Snakemake's own folder that a run makes ``results``, which this process holds, until
    it ends; whether an earlier run from there was killed, and left its locks there."""
    name = hashlib.sha256(os.path.realpath(results).encode()).hexdigest()[:16]
    mark = Path(folder) / f"pairtile-{name}.run"
    was_killed = mark.exists()
    mark.touch()
    atexit.register(mark.unlink, missing_ok=True)
    return was_killed


def _boot() -> str:
    """Tells this start of this machine from every other, in whatever container."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return socket.gethostname()


def _started(process: int) -> float:
    """When a process of this machine started; 0 where there is none."""
    import psutil

    with suppress(psutil.Error):
        return float(psutil.Process(process).create_time())
    return 0.0


def _read(handle: int) -> dict[str, Any]:
    with suppress(ValueError, TypeError):
        found = dict(json.loads(os.pread(handle, 4096, 0)))
        if found.keys() >= {"host", "boot", "process", "started"}:
            return found
    return {}  # of no run: damaged, or let go


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)
