"""Peak memory of chunk jobs: each in a process of its own, forked from one that has imported all.

Started as a program with a folder, it computes one tile of each analysis that ``cases.json`` there
names, and prints a line of JSON for each: what it asks for and what it took.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairtile.engine.estimator import estimator_of
from pairtile.method import methods
from workflow_runs import Analysis


def grown_bytes(work: Callable[[], Any]) -> int:
    """By how much ``work`` raises the peak memory of a process beyond what imports took."""
    peaks = []
    for job in (lambda: None, work):
        child = os.fork()
        if child == 0:
            try:
                job()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        _, status, usage = os.wait4(child, 0)
        if status:
            raise RuntimeError("a job failed")
        peaks.append(1024 * usage.ru_maxrss)
    return peaks[1] - peaks[0]


def measure(folder: Path, name: str, section: dict[str, Any]) -> dict[str, Any]:
    """The first tile that pairs different items, and the null before it."""
    analysis = Analysis(folder, section | {"chunks": 100_000}, name=name)
    prepared = grown_bytes(analysis.prepare)
    plan = json.loads((analysis.out / "plan.json").read_text())
    chunks = analysis.plan.chunks
    tile = chunks[min(1, len(chunks) - 1)].name
    taken = grown_bytes(lambda: analysis.compute("chunks", [tile]))
    return {"name": name, "asked": plan["memory_bytes"], "prepare": prepared, "taken": taken}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for known in methods().values():
        estimator_of(known.name)
    for name, section in json.loads((folder / "cases.json").read_text()).items():
        print("MEASURED " + json.dumps(measure(folder, name, section)), flush=True)
