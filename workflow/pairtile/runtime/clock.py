"""Results from the future: what a clock that was set back makes of Snakemake's times.

Snakemake runs what is older than its input. Where the clock was set back after a run, a later
change of an input looks older than the results, and would never be computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pairtile.runtime.files import file_digest, read_json

TOLERANCE_SECONDS = 5.0
"""Clocks of a file server and of this machine may differ by so much."""

STEP_SECONDS = 0.001
"""Results keep their order, so far apart."""


def mend_future_times(folder: Path, now: float, dry_run: bool = False) -> str:
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
    What to tell the user; empty where no result lies in the future.
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
