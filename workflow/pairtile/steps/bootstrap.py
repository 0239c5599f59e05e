"""Rule ``bootstrap``: some bootstrap networks, each made from resampled samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.config.models import Analysis
from pairtile.engine.stages import Bootstraps
from pairtile.runtime.files import atomic_path
from pairtile.runtime.record import Progress, recorded
from pairtile.steps.plan import read_plan


def bootstrap(
    config: Analysis, plan_file: Path, state: Path, first: int, last: int, out: Path
) -> None:
    """Compute bootstraps ``first`` .. ``last`` and write their edges: bootstrap, unrelated,
    i, j."""
    with recorded(f"bootstrap {first}-{last}"):
        plan = read_plan(plan_file)
        opened = plan.open_estimator(config, state)
        assert isinstance(opened, Bootstraps)
        progress = Progress(last - first + 1, "bootstraps")
        parts = []
        for number in range(first, last + 1):
            for unrelated, (i, j) in enumerate(opened.bootstrap(plan.tiles, number)):
                columns = {
                    "bootstrap": np.full(i.size, number, dtype=np.int32),
                    "unrelated": np.full(i.size, bool(unrelated)),
                    "i": i,
                    "j": j,
                }
                parts.append(pd.DataFrame(columns))
            progress.advance(1)
        with atomic_path(out) as temporary:
            pd.concat(parts, ignore_index=True).to_parquet(temporary, index=False)
