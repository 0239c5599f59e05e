"""Sections and inputs of trajectory analyses: made-up series and adenylate kinase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter
from small_trajectories import adenylate_kinase_files

SMALL = "protein and name CA and resid 1-40"


def section(**changes: Any) -> dict[str, Any]:
    """Tables of time series to start from."""
    base = {"method": "trajectory_correlation", "time_series": ["run0.npy"], "export": ["tsv"]}
    return base | changes


def write_runs(folder: Path, *runs: np.ndarray) -> list[str]:
    """Each (frames, variables, dimensions)."""
    for number, values in enumerate(runs):
        np.save(folder / f"run{number}.npy", values)
    return [f"run{number}.npy" for number in range(len(runs))]


def slow(
    frames: int, variables: int, d: int, time: float = 4.0, seed: int = 1, start: int = 100
) -> np.ndarray:
    """AR(1) noise of unit variance whose autocorrelation falls as exp(-lag / time), (frames,
    variables, d). ``start``: frames before the first."""
    phi = np.exp(-1.0 / time)
    noise = np.random.default_rng(seed).standard_normal((frames + start, variables, d))
    return lfilter([np.sqrt(1 - phi * phi)], [1, -phi], noise, axis=0)[start:]


def slow_series(variables: int, d: int, frames: int, time: float, seed: int = 1) -> np.ndarray:
    """The same as estimators take it, (variables, d, frames)."""
    return np.moveaxis(slow(frames, variables, d, time, seed, start=200), 0, 2).copy()


def adenylate_kinase(**changes: Any) -> dict[str, Any]:
    files = adenylate_kinase_files()
    base = {"method": "trajectory_correlation", **files, "select": SMALL, "fit": SMALL}
    return base | {"export": ["tsv"], "estimator": {"surrogates": 4}} | changes
