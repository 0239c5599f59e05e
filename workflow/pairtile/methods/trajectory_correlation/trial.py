"""Small input that makes trajectory correlation compile what usual settings need."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_trial(folder: Path) -> dict[str, object]:
    """Twelve positions that wander through 200 frames; nearest neighbours, with surrogates."""
    steps = np.random.default_rng(1).normal(size=(200, 12, 3))
    np.save(folder / "run.npy", steps.cumsum(axis=0), allow_pickle=False)
    return {"time_series": ["run.npy"], "estimator": {"kind": "ksg", "surrogates": 4}}
