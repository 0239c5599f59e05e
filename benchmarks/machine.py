"""Name of the machine, and how results are timed and written."""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pairtile import __version__
from pairtile.gpu.device import choose

RESULTS = Path(__file__).parent / "results"


def timed(function: Callable[[], Any], repeats: int = 3, warm: int = 1) -> dict[str, float]:
    """Seconds of a call: least and median of ``repeats`` after ``warm`` calls, GPU included."""
    seconds = []
    for run in range(warm + repeats):
        start = time.perf_counter()
        function()
        _synchronize()
        if run >= warm:
            seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "median_seconds": statistics.median(seconds)}


def _synchronize() -> None:
    import sys

    if "cupy" in sys.modules:
        sys.modules["cupy"].cuda.Stream.null.synchronize()


def results_path(name: str, backend: str) -> Path:
    """``results/NAME.DEVICE.json``."""
    device = choose(backend).name.split(",")[0].lower()
    return RESULTS / f"{name}.{re.sub(r'[^a-z0-9]+', '-', device).strip('-')}.json"


def write(name: str, backend: str, results: dict[str, Any]) -> Path:
    """Write ``results_path``: the figures with the machine and the date."""
    content = {
        "benchmark": name,
        "device": choose(backend).name,
        "cpu": choose("cpu").name,
        "pairtile_version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "results": results,
    }
    path = results_path(name, backend)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path


MEASURED_MI = {"score": "mi", "estimator": {"bins": 10, "order": 3, "transform": "rank"}}
"""Settings of mutual information that times are measured with, whatever the defaults are."""
