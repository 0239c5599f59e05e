"""The motion of the whole: how far frames lie from the first, and its principal components.

Of positions, as they were superposed for the analysis.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import eigh

from pairtile.arrays import Float64Array
from pairtile.methods.trajectory_correlation.arrays import MotionArrays

COMPONENTS = 2
MAX_COORDINATES = 6_000
"""Of the covariance whose axes are sought; more would take minutes and gigabytes."""

BLOCK_VALUES = 1 << 23


def frames_table(state: MotionArrays) -> tuple[pd.DataFrame, Float64Array]:
    """One row for each frame of each replica (``frames.tsv``), and the share of the variance that
    each component explains, float64 (2,).

    Columns are those of ``frames.tsv`` in ``columns.toml``.

    ``state``: ``series`` (positions, 3, frames of all replicas), ``replica_offsets``,
    ``frame_interval_ps``. Components are axes of the covariance of all frames about their common
    mean, so that replicas lie in one picture (Amadei et al. 1993); the sign of each is that of its
    largest coordinate.
    """
    series, offsets = state["series"], np.asarray(state["replica_offsets"])
    n, _, n_frames = series.shape
    first = np.asarray(series[:, :, 0], dtype=np.float64)
    rmsd, projected = np.empty(n_frames), np.full((n_frames, COMPONENTS), np.nan)
    axes, mean, shares = _components(series)
    for block in _blocks(n_frames, 3 * n):
        values = np.asarray(series[:, :, block], dtype=np.float64)
        rmsd[block] = np.sqrt(((values - first[:, :, None]) ** 2).sum(axis=1).mean(axis=0))
        if axes is not None:
            projected[block] = (values.reshape(3 * n, -1) - mean[:, None]).T @ axes
    intervals = np.array(state["frame_interval_ps"], dtype=np.float64)
    if state.get("ensemble"):
        intervals[:] = np.nan
    parts = []
    for replica, (begin, end) in enumerate(pairwise(offsets.tolist())):
        frame = np.arange(end - begin)
        part = {"replica": replica + 1, "frame": frame, "time_ps": frame * intervals[replica]}
        part |= {"rmsd": rmsd[begin:end]}
        part |= {f"pc{k + 1}": projected[begin:end, k] for k in range(COMPONENTS)}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True), shares


def _components(
    series: NDArray[np.floating],
) -> tuple[Float64Array | None, Float64Array, Float64Array]:
    """Axes (3 n, 2), the mean (3 n,), and shares of the variance (2,); no axes of too many."""
    n, _, n_frames = series.shape
    size = 3 * n
    if size > MAX_COORDINATES or n_frames < 3:
        return None, np.empty(0), np.full(COMPONENTS, np.nan)
    mean = np.asarray(series.mean(axis=2), dtype=np.float64).reshape(size)
    covariance = np.zeros((size, size))
    for block in _blocks(n_frames, size):
        moves = np.asarray(series[:, :, block], dtype=np.float64).reshape(size, -1) - mean[:, None]
        covariance += moves @ moves.T
    total = float(np.trace(covariance))
    variance, axes = eigh(covariance, subset_by_index=[size - COMPONENTS, size - 1])
    best = axes[:, ::-1]
    largest = best[np.abs(best).argmax(axis=0), np.arange(COMPONENTS)]
    shares = variance[::-1] / total if total > 0 else np.zeros(COMPONENTS)
    return best * np.sign(largest), mean, shares


def _blocks(n_frames: int, values_a_frame: int) -> list[slice]:
    size = max(1, BLOCK_VALUES // values_a_frame)
    return [slice(begin, min(begin + size, n_frames)) for begin in range(0, n_frames, size)]
