"""Memory of the host: what this process took, and may still take."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def peak_host_bytes() -> int:
    """Largest resident memory of this process so far, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        # Elsewhere than on Linux, where this would count what the parent had taken, too.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def free_host_bytes() -> int:
    """What is free on the host, or left of the job's own limit, whichever is less.

    Schedulers and containers limit a job by control groups, or by Slurm's own count
    (SLURM_MEM_PER_NODE); a job that fills the machine instead is killed.
    """
    import psutil

    available = int(psutil.virtual_memory().available)
    limits = [*_cgroup_limits(), *_slurm_limit()]
    if not limits:
        return available
    return max(0, min(available, min(limits) - int(psutil.Process().memory_info().rss)))


def _slurm_limit() -> list[int]:
    megabytes = os.environ.get("SLURM_MEM_PER_NODE", "")
    return [int(megabytes) << 20] if megabytes.isdigit() and int(megabytes) else []


def _cgroup_limits(
    groups: Path = Path("/proc/self/cgroup"), top: Path = Path("/sys/fs/cgroup")
) -> list[int]:
    """Limits of the control groups that this process is in, of either version; none elsewhere."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = top, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = top / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = Path(path.lstrip("/"))
        for group in [inner, *inner.parents]:
            try:
                text = (root / group / name).read_text().strip()
            except OSError:
                continue
            if text.isdigit():
                found.append(int(text))
    return found
