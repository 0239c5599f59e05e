"""White noise, and the scores of all pairs of series on either backend."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
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
    return host_block(pairs, whole, whole, shift)


def host_block(pairs: MotionPairs, *block: Any) -> np.ndarray:
    """What it gives of a block, on the host."""
    return pairs.device.to_host(pairs.block(*block))


def normal(variables: int, d: int, frames: int, seed: int = 1) -> np.ndarray:
    """Independent white noise."""
    return np.random.default_rng(seed).normal(size=(variables, d, frames))


@st.composite
def ensembles(draw: Any) -> Any:
    """A few variables: smooth, rounded so that distances tie, tiny, huge, and partly constant."""
    d = draw(st.sampled_from([1, 2, 3, 5]))
    frames = draw(st.sampled_from([17, 33, 70, 130]))
    series = normal(5, d, frames, draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "walk", "rounded", "tiny", "huge", "constant"]))
    if kind == "walk":
        series = series.cumsum(axis=2)
    elif kind == "rounded":
        series = np.round(series, 1)
    elif kind == "tiny":
        series *= 1e-30
    elif kind == "huge":
        series *= 1e30
    elif kind == "constant":
        series[0] = 3.0
        series[1, 0] = -1.0
    return series
