"""Rule ``null``: the null distribution, before the chunks, so that they know what can survive.

Only for methods that have one (``engine.stages.NullStage``).
"""

from __future__ import annotations

from pairtile.engine.chunk_file import Arrays
from pairtile.engine.estimator import estimator_of
from pairtile.engine.stages import NullStage
from pairtile.runtime.files import read_arrays, write_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.plan import read_plan


def null(run: AnalysisRun) -> None:
    """Compute the null distribution of one analysis and write it as .npz."""
    with recorded("null", run.record("null")) as step:
        plan = read_plan(run.plan)
        opened = plan.open_estimator(run.config.for_step("score"), run.state)
        assert isinstance(opened, NullStage)
        arrays = opened.null(plan.seed)
        write_arrays(run.folder / "null.npz", arrays)
        step.log_messages(*opened.null_messages(plan.seed))
        step.device = opened.device.name
        step.peak_gpu_memory_bytes = opened.device.peak_bytes()
        if "lengths" in arrays and arrays["lengths"].any():
            step.count(
                null_draws=int(arrays["lengths"].sum()), null_distributions=arrays["lengths"].size
            )


def read_null(run: AnalysisRun) -> Arrays:
    """Arrays of ``null.npz``; empty where the method has no null."""
    if not issubclass(estimator_of(run.config.method, run.config), NullStage):
        return {}
    return read_arrays(run.folder / "null.npz")
