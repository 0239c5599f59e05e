"""Which run holds a working directory, told apart from one that was killed.

Snakemake's own locks are files: after ``kill -9`` or a power loss they stay, and every later run
refuses until ``--unlock``. Here a run also holds a lock of the kernel's (flock), which ends with
the process however it ends; whoever gets it knows that the run before is over.
"""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

_held: list[int] = []
"""Open until this process ends: closing one would let go of its lock."""


def release_locks_of_a_killed_run(folder: str | os.PathLike[str]) -> bool:
    """Hold ``folder`` for this process; remove the lock files that a killed run left there.

    Nothing is removed while another run lives, or where the last run was on another host: a
    kernel's locks may not reach from one host to another. Then it is for Snakemake to judge.

    Parameters
    ----------
    folder
        Snakemake's own folder, ``.snakemake``.

    Returns
    -------
    Whether lock files were removed.
    """
    top = Path(folder)
    handle = os.open(top / "pairtile.run", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by a living run, or a file system without such locks
        os.close(handle)
        return False
    _held.append(handle)
    here = socket.gethostname().encode()
    locks = list((top / "locks").glob("*.lock"))
    if locks and os.pread(handle, 4096, 0) != here:
        return False
    os.ftruncate(handle, 0)
    os.pwrite(handle, here, 0)
    for lock in locks:
        lock.unlink(missing_ok=True)
    return bool(locks)
