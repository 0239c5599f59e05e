"""Rule ``null``: the null distribution, before the chunks, so that they know what can survive.

Only for methods that have one (``engine.stages.NullStage``).
"""

from __future__ import annotations

from pathlib import Path

from pairtile.config.models import Analysis
from pairtile.engine.chunk_file import Arrays
from pairtile.engine.stages import NullStage
from pairtile.runtime.files import read_arrays, write_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.plan import read_plan


def null(config: Analysis, plan_file: Path, state: Path, out: Path, record: Path) -> None:
    """Compute the null distribution of one analysis and write it as .npz."""
    with recorded("null", record) as step:
        plan = read_plan(plan_file)
        opened = plan.open_estimator(config, state)
        assert isinstance(opened, NullStage)
        arrays = opened.null(plan.seed)
        write_arrays(out, arrays)
        step.say(*opened.null_messages(plan.seed))
        step.device = opened.device.name
        step.peak_gpu_memory_bytes = opened.device.peak_bytes()
        if "lengths" in arrays:
            step.count(
                null_draws=int(arrays["lengths"].sum()), null_distributions=arrays["lengths"].size
            )


def read_null(path: Path | None) -> Arrays:
    """Arrays of ``null.npz``; empty for None, where the method has no null."""
    return {} if path is None else read_arrays(path)
