"""What earlier runs left: locks of a run that was killed, and results dated in the future."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from pairtile.runtime.files import file_digest, read_json

_held: list[int] = []
"""Open until this process ends: closing one would let go of its lock."""


def release_locks_of_a_killed_run(folder: str | os.PathLike[str]) -> bool:
    """Hold ``folder`` for this process; remove the lock files that a killed run left there.

    Nothing is removed while another run lives, or where the last run was on another host: a
    kernel's locks may not reach from one host to another. Then Snakemake decides.

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


TOLERANCE_SECONDS = 5.0
"""Clocks of a file server and of this machine may differ by so much."""

STEP_SECONDS = 0.001
"""Results keep their order, so far apart."""


def redate_future_results(folder: Path, now: float, dry_run: bool = False) -> str:
    """Date results that lie in the future at ``now``; where an input has changed since, before it.

    Parameters
    ----------
    folder
        Results folder of one analysis; need not exist.
    now
        Seconds since 1970, as file times are.
    dry_run
        Say what would be done and do nothing.

    Returns
    -------
    A message for the user; empty where no result lies in the future.
    """
    times = {path: path.lstat().st_mtime for path in _files(folder)}
    ahead = max(times.values(), default=now) - now
    if ahead <= TOLERANCE_SECONDS:
        return ""
    changed = list(_changed_inputs(folder))
    latest = min([now, *(os.stat(path).st_mtime - 1 for path in changed)])
    late = sorted((path for path, time in times.items() if time > latest), key=times.__getitem__)
    for place, path in enumerate(late if not dry_run else ()):
        dated = latest - STEP_SECONDS * (len(late) - 1 - place)
        os.utime(path, (dated, dated), follow_symlinks=False)
    message = (
        f"{folder}: found results dated {ahead:.0f} s in the future (the clock was set back); "
        f"expected the past: {'they would be' if dry_run else 'they are'} dated anew"
    )
    if changed:
        message += f"; changed since then: {', '.join(changed)}"
    return message


def _files(folder: Path) -> Iterator[Path]:
    for top, _, names in os.walk(folder):
        for name in names:
            yield Path(top) / name


def _changed_inputs(folder: Path) -> Iterator[str]:
    """Input files that are no longer what the records of the steps say they were."""
    for record in sorted((folder / "steps").glob("*.json")):
        try:
            inputs = read_json(record)["details"].get("inputs", {})
            for entry in inputs.values():
                path = entry["path"]
                if os.path.exists(path) and file_digest(path) != entry["sha256"]:
                    yield path
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            continue  # no record of ours: its step runs again
