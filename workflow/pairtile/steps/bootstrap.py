"""Rule ``bootstrap``: some bootstrap networks, each made from resampled samples."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pairtile.engine.stages import Bootstraps
from pairtile.runtime.files import atomic_path
from pairtile.runtime.record import Progress, recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.plan import read_plan


def bootstrap(run: AnalysisRun, first: int, last: int) -> None:
    """Compute bootstraps ``first`` .. ``last`` and write their edges: bootstrap, unrelated,
    i, j."""
    with recorded(f"bootstrap {first}-{last}"):
        plan = read_plan(run.plan)
        opened = plan.open_estimator(run.config.for_step("network"), run.state)
        assert isinstance(opened, Bootstraps)
        progress = Progress(last - first + 1, "bootstraps")
        parts = []
        for number in range(first, last + 1):
            for unrelated, (i, j) in enumerate(opened.bootstrap(plan.tiles, number)):
                parts.append(
                    pd.DataFrame(
                        {
                            "bootstrap": np.full(i.size, number, dtype=np.int32),
                            "unrelated": np.full(i.size, bool(unrelated)),
                            "i": i,
                            "j": j,
                        }
                    )
                )
            progress.advance(1)
        with atomic_path(run.folder / f"bootstraps/{first:05d}-{last:05d}.parquet") as temporary:
            pd.concat(parts, ignore_index=True).to_parquet(temporary, index=False)
