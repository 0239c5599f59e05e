"""White noise, and the scores of all pairs of series on either backend."""

from __future__ import annotations

from typing import Any

import numpy as np
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import MotionPairs


def estimator(**keys: Any) -> MotionEstimatorConfig:
    """Settings of an estimator, without a Theiler window and correction where none is given."""
    return MotionEstimatorConfig(**{"kind": "ksg", "theiler": 0, "corrected": False, **keys})


def all_pairs(series: Any, backend: str = "cpu", shift: Any = 0, **how: Any) -> np.ndarray:
    """One block with all pairs."""
    pairs = MotionPairs(series, estimator(**how), choose(backend))
    whole = slice(0, len(series))
    return pairs.block(whole, whole, shift)


def normal(variables: int, d: int, frames: int, seed: int = 1) -> np.ndarray:
    """Independent white noise."""
    return np.random.default_rng(seed).normal(size=(variables, d, frames))
