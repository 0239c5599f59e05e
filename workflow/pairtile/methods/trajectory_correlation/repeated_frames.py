"""Frames that are there twice, as where the parts of a run overlap: taken out of the series."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation.moments import CyclicMoments, Moments, pooled
from pairtile.methods.trajectory_correlation.series_file import Scratch, SeriesFile
from pairtile.methods.trajectory_correlation.time_series import PreparedTrajectory

BLOCK_BYTES = 1 << 26


def without_frames(
    prepared: PreparedTrajectory,
    repeated: Sequence[NDArray[np.int64]],
    cyclic: bool,
    scratch: str | os.PathLike[str] | None = None,
) -> PreparedTrajectory:
    """The same series without some frames; mean, spread and number of frames are of the rest.

    Parameters
    ----------
    repeated
        Of each replica, the frames to leave out, counted from its first.
    cyclic
        Whether the series are angles.
    scratch
        As for ``prepare_trajectory``.
    """
    series = prepared.state["series"]
    offsets = np.asarray(prepared.state["replica_offsets"])
    kept = np.ones(series.shape[2], dtype=bool)
    for first, frames in zip(offsets[:-1], repeated, strict=True):
        kept[first + frames] = False
    lengths = [int(kept[a:b].sum()) for a, b in pairwise(offsets)]
    shape = (series.shape[0], series.shape[1], sum(lengths))
    new_offsets = np.cumsum([0, *lengths]).astype(np.int64)
    with Scratch(scratch) as folder:
        file = SeriesFile(folder.folder / "kept_frames.npy", shape, series.dtype)
        mean, sd = _copied(series, kept, file, new_offsets, cyclic)
        opened = folder.hold(file.opened())
    items = prepared.items.copy()
    rows = np.arange(shape[0])
    items.loc[rows, "n_observed"] = np.int32(shape[2])
    items.loc[rows, "sd"] = sd
    if shape[1] == 1:
        items.loc[rows, "mean"] = mean[:, 0]
    state = {**prepared.state, "series": opened, "replica_offsets": new_offsets}
    counts: Mapping[str, int] = {**prepared.counts, "frames": shape[2]}
    return replace(prepared, items=items, state=state, counts=dict(counts))


def _copied(
    series: NDArray[np.floating],
    kept: NDArray[np.bool_],
    file: SeriesFile,
    offsets: NDArray[np.int64],
    cyclic: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Copy the kept frames, some variables at a time; mean and spread of each variable."""
    n_variables, d, _ = file.shape
    size = max(1, BLOCK_BYTES // (8 * d * series.shape[2]))
    mean, sd = np.empty((n_variables, d)), np.empty(n_variables)
    written = np.lib.format.open_memmap(file.path, mode="r+")
    for first in range(0, n_variables, size):
        block = np.asarray(series[first : first + size])[:, :, kept]
        written[first : first + size] = block
        moments: list[Moments] = []
        for begin, end in pairwise(offsets):
            part = (CyclicMoments if cyclic else Moments)(len(block), d)
            part.add(np.moveaxis(block[:, :, begin:end], 2, 0).astype(np.float64))
            moments.append(part)
        mean[first : first + size], sd[first : first + size] = pooled(moments, cyclic)
    written.flush()
    return mean, sd
