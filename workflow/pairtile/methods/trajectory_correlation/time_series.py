"""Time series of variables, a replica after another: written, described, made from tables.

Estimators want all frames of a variable side by side; trajectories give all variables of a frame.
The file is turned a block of frames at a time, so that memory does not grow with the number of
frames.

A prepared input has ``items``: one row per variable in the order of the series, then what is none:

Columns are those of ``items.parquet`` in ``columns.toml``.

``state``: ``arrays.MotionArrays``; ``series`` is mapped from a ``.npy`` of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pairtile.arrays import BoolArray, Float64Array, FloatingArray, Int64Array
from pairtile.declare.messages import messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.engine.large_table import releasing, row_blocks
from pairtile.errors import InputError, StoreError
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.network import path_ends
from pairtile.methods.trajectory_correlation.read_tables import open_series_table
from pairtile.runtime.record import say_done

message = messages_of(__package__)

_SHOWN = 5

MIN_OBSERVED = 3
"""Frames in which a variable must have a value, in each replica."""


class SeriesWriter:
    """Takes the frames of all replicas in order, writes the series and says what is in them.

    ``replicas``: name and number of frames of each. ``table``: name, atom, residue of each
    variable. ``dimensions``: as they come; ``variables: displacements`` makes distances from the
    mean of the replica of them.

    Raises
    ------
    InputError
        If a replica has too few frames for the estimator.
    ConfigError
        If ``paths`` names what is no variable.
    """

    def __init__(
        self,
        config: TrajectoryCorrelationConfig,
        scratch: Path,
        replicas: Sequence[tuple[str, int]],
        table: pd.DataFrame,
        dimensions: int,
        cyclic: bool,
    ) -> None:
        self.displacements = config.variables == "displacements"
        self.scratch = scratch
        self.cyclic = cyclic
        self.table = table
        if len(table) < 2:
            raise InputError.at(replicas[0][0], "", "one variable", "two or more, to make pairs")
        path_ends(table.assign(kept=True), config.paths)  # before all frames are read
        self.names = [name for name, _ in replicas]
        least = config.estimator.facts.least_frames(dimensions, config.estimator.neighbours)
        for name, n_frames in replicas:
            if n_frames < least:
                raise InputError.at(
                    name,
                    "",
                    f"{n_frames} frame{'s' if n_frames != 1 else ''}",
                    f"at least {least} for estimator.kind: {config.estimator.kind} (and hundreds "
                    "for a result that means something)",
                )
        self.offsets = np.cumsum([0, *(n for _, n in replicas)])
        full = (len(table), dimensions, int(self.offsets[-1]))
        large = 8 * int(np.prod(full)) > FLOAT64_BYTES
        self.dtype = np.dtype(np.float32 if large else np.float64)
        name = "positions.npy" if self.displacements else "series.npy"
        self.path = new_series(scratch / name, full, self.dtype)
        self.n_written = 0

    def write(self, block: Float64Array) -> None:
        """The next frames, (frames, variables, dimensions)."""
        # Mapped anew for each block: pages of the last one do not stay in this process' memory.
        mapped = np.lib.format.open_memmap(self.path, mode="r+")
        mapped[:, :, self.n_written : self.n_written + len(block)] = np.moveaxis(block, 0, 2)
        mapped.flush()
        self.n_written += len(block)

    def finish(self, dropped: Sequence[Mapping[str, object]] = ()) -> PreparedInput[MotionArrays]:
        """``dropped``: name, atom, residue of what is no variable, and a reason."""
        assert self.n_written == self.offsets[-1]
        names, series = self.table["name"].tolist(), np.load(self.path, mmap_mode="r")
        n_variables, d, n_frames = series.shape
        say_done(
            message("frames_read", frames=n_frames, runs=len(self.names), variables=n_variables)
        )
        moments = moments_of(series, self.offsets, self.cyclic)
        n_observed = moments.n.min(axis=2)
        for replica, row in np.argwhere(n_observed < MIN_OBSERVED)[:1].tolist():
            raise InputError.at(
                self.names[replica],
                names[row],
                f"{n_observed[replica, row]} values",
                f"at least {MIN_OBSERVED}",
            )
        mean, spreads = pooled(moments, self.cyclic)
        positions = mean if d == 3 else np.full((n_variables, 3), np.nan)
        path = self.path
        if self.displacements:
            path = self._displacements(series, moments.mean)
            away = moments_of(np.load(path, mmap_mode="r"), self.offsets, cyclic=False)
            (mean, spreads), d = pooled(away, cyclic=False), 1
        constant: BoolArray = np.all(moments.constant, axis=0)
        kept = self.table.assign(
            kept=True,
            reason="",
            n_observed=n_observed.sum(axis=0),
            mean=mean[:, 0] if d == 1 else np.nan,
            **spreads,
            constant=constant,
        )
        rest = pd.DataFrame(list(dropped), columns=["name", "atom", "residue", "reason"]).assign(
            kept=False, n_observed=0, constant=False
        )
        items = pd.concat([kept, rest], ignore_index=True) if dropped else kept
        items.insert(0, "item", np.arange(len(items), dtype=np.int32))
        items = items.astype(
            {"residue": np.int32, "n_observed": np.int32, "kept": bool, "constant": bool}
        )
        replicas = len(self.names)
        prepared: PreparedInput[MotionArrays] = PreparedInput(
            items,
            {
                "series": np.load(path, mmap_mode="r"),
                "replica_offsets": self.offsets.astype(np.int64),
                "mean_positions": positions,
                "frame_interval_ps": np.full(replicas, np.nan),
            },
            {
                "variables": n_variables,
                "frames": n_frames,
                "replicas": replicas,
                "variables_dropped": len(dropped),
                "variables_constant": int(constant.sum()),
            },
        )
        frozen: BoolArray = np.any(moments.constant, axis=0) & ~constant
        self._add_messages(
            prepared, names, {"never move": constant, "do not move in some replica": frozen}
        )
        return prepared

    def _displacements(self, positions: np.memmap, means: Float64Array) -> Path:
        """Series of |r - mean of the replica|, in place of the positions. ``means``: (replicas,
        variables, 3)."""
        shape = (len(positions), 1, positions.shape[2])
        path = new_series(self.scratch / "series.npy", shape, self.dtype)
        written = np.lib.format.open_memmap(path, mode="r+")
        for some in row_blocks(positions.shape, BLOCK_BYTES // 8):
            block = np.array(positions[some])
            for mean, (begin, end) in zip(means[:, some], pairwise(self.offsets), strict=True):
                away = np.linalg.norm(block[:, :, begin:end] - mean[:, :, None], axis=1)
                written[some, 0, begin:end] = away
        written.flush()
        self.path.unlink()
        return path

    def _add_messages(
        self, prepared: PreparedInput[MotionArrays], names: list[str], still: dict[str, BoolArray]
    ) -> None:
        lengths, n_values = np.diff(self.offsets), int(self.offsets[-1]) * len(names)
        found = prepared.messages
        if len(lengths) > 1:
            found.append(
                message(
                    "replicas",
                    n=len(lengths),
                    lengths=", ".join(str(n) for n in lengths[:_SHOWN]),
                    more=", ..." if len(lengths) > _SHOWN else "",
                )
            )
        if self.dtype == np.float32:
            found.append(message("series_float32"))
        missing = int(n_values - prepared.items["n_observed"].sum())
        if missing:
            prepared.counts["values_missing"] = missing
            found.append(message("values_missing", n=missing, values=n_values))
        found += [
            message(
                "variables_still",
                which=f"{int(rows.sum())} of {len(names)} variables {text}",
                names=", ".join(names[k] for k in np.flatnonzero(rows)[:_SHOWN]),
                more=", ..." if rows.sum() > _SHOWN else "",
            )
            for text, rows in still.items()
            if rows.any()
        ]
        dropped = prepared.items.loc[~prepared.items["kept"], "reason"].value_counts()
        found += [message("residues_left_out", n=n, reason=why) for why, n in dropped.items()]


def prepare_tables(
    config: TrajectoryCorrelationConfig, scratch: Path
) -> PreparedInput[MotionArrays]:
    """The time series under ``time_series``; see ``prepare_trajectory``.

    Raises
    ------
    InputError
        If a table cannot be read, has too few frames, or other columns than the first.
    ConfigError
        If ``paths`` names no column.
    """
    how, frames = config.table, config.frames
    tables = [
        open_series_table(path, how.dimensions, how.time, frames.start, frames.stop, frames.step)
        for path in config.time_series
    ]
    first = tables[0]
    for table in tables[1:]:
        if table.dimensions != first.dimensions:
            raise InputError.at(
                table.path,
                "",
                f"{table.dimensions} dimensions",
                f"{first.dimensions}, as in {first.path}",
            )
        if table.names != first.names:
            other = next(
                (
                    n
                    for n in table.names + first.names
                    if n not in table.names or n not in first.names
                ),
                "another order",
            )
            raise InputError.at(
                table.path,
                "",
                f"{len(table.names)} variables ({other!r})",
                f"the same {len(first.names)} in the same order as in {first.path}",
            )
    variables = pd.DataFrame({"name": first.names, "atom": "", "residue": np.int32(-1)})
    angles = how.angles != "none"
    writer = SeriesWriter(
        config,
        scratch,
        [(table.path, len(table.used)) for table in tables],
        variables,
        first.dimensions,
        cyclic=angles,
    )
    for table in tables:
        for block in table.blocks(
            frames_in_block(2 * len(variables) * first.dimensions),
            config.estimator.facts.allows_missing,
        ):
            values = np.radians(block) if how.angles == "degrees" else block
            writer.write((values + np.pi) % (2 * np.pi) - np.pi if angles else values)
    prepared = writer.finish()
    prepared.state["mean_positions"] = np.full((len(variables), 3), np.nan)
    return prepared


# --- means and spreads ----------------------------------------------------------------------------


class Moments(NamedTuple):
    """Of each replica, (replicas, variables, dimensions): ``n`` values that are not missing, their
    mean and their sum of squared deviations. ``constant``: bool (replicas, variables), whether a
    variable has the same value in all frames.

    Of angles in radians: the direction of the mean, and n times the squared angular deviation
    2 (1 - R) about it, with R the length of the mean vector (Batschelet 1981).
    """

    n: Int64Array
    mean: Float64Array
    squares: Float64Array
    constant: BoolArray


def moments_of(series: FloatingArray, offsets: Int64Array, cyclic: bool) -> Moments:
    """Moments of series (variables, dimensions, frames), some variables at a time; NaN is a value
    that is missing, but of angles (``cyclic``) none is."""
    shape = (len(offsets) - 1, *series.shape[:2])
    found = Moments(
        np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape), np.zeros(shape[:2], bool)
    )
    # Each block is there several times, as it is and in sums.
    for some in releasing(row_blocks(series.shape, BLOCK_BYTES // 128), series):
        block = np.asarray(series[some], dtype=np.float64)
        for replica, (begin, end) in enumerate(pairwise(offsets)):
            # Frame after frame, all variables at once: one pass over the memory for each sum.
            values = np.ascontiguousarray(np.moveaxis(block[:, :, begin:end], 2, 0))
            at, n = (replica, some), (~np.isnan(values)).sum(axis=0)
            found.n[at] = n
            if cyclic:
                vectors = np.exp(1j * values).sum(axis=0)
                found.mean[at] = np.angle(vectors)
                found.squares[at] = 2.0 * np.maximum(n - np.abs(vectors), 0.0)
            else:
                found.mean[at] = np.nansum(values, axis=0) / np.maximum(n, 1)
                found.squares[at] = np.nansum((values - found.mean[at]) ** 2, axis=0)
            low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
            found.constant[at] = (low == high).all(axis=1)
    return found


def pooled(moments: Moments, cyclic: bool) -> tuple[Float64Array, dict[str, Float64Array]]:
    """Mean over all replicas, (variables, dimensions); and ``sd``, the root mean square deviation
    of each replica about its own mean, over all dimensions, (variables,), of all replicas, and of
    each ``sd_replica_1``, ... where there are several."""
    n, total = moments.n.astype(float), moments.n.sum(axis=0).astype(float)
    mean = (moments.mean * n).sum(axis=0) / total
    if cyclic:
        mean = np.angle((np.exp(1j * moments.mean) * n).sum(axis=0))
    spreads = {"sd": np.sqrt((moments.squares.sum(axis=0) / total).sum(axis=1))}
    each = np.sqrt((moments.squares / np.maximum(n, 1)).sum(axis=2))
    if len(each) > 1:
        spreads |= {f"sd_replica_{k}": part for k, part in enumerate(each, 1)}
    return mean, spreads


# --- files of series ------------------------------------------------------------------------------


BLOCK_BYTES = 1 << 26
FLOAT64_BYTES = 1 << 33
"""Series that take more than this (8 GiB) as float64 are kept as float32: trajectories are stored
with no more digits than that, mostly with fewer."""


def new_series(path: Path, shape: tuple[int, int, int], dtype: np.dtype) -> Path:
    """Make a ``.npy`` of shape (variables, dimensions, frames), all 0.

    Raises
    ------
    StoreError
        If the disk has no room for it: asked for at once, for a full disk would otherwise end the
        process without a message.
    """
    try:
        np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape).flush()
        with path.open("r+b") as handle:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle.fileno(), 0, path.stat().st_size)
    except OSError as error:
        size = int(np.prod(shape)) * dtype.itemsize / 2**20
        raise StoreError.at(
            path.parent,
            "",
            f"a full disk, or none for files of this size ({error})",
            f"room for {size:,.1f} MiB: free some or choose another folder for results",
        ) from error
    return path


def frames_in_block(numbers_in_frame: int) -> int:
    """How many frames to hold at a time, for so many numbers in each."""
    return int(np.clip(BLOCK_BYTES // (8 * max(numbers_in_frame, 1)), 8, 4096))


# --- repeated frames ------------------------------------------------------------------------------


def without_frames(
    prepared: PreparedInput[MotionArrays],
    repeated: Sequence[Sequence[int]],
    cyclic: bool,
    scratch: Path,
) -> PreparedInput[MotionArrays]:
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
        kept[first + np.asarray(frames, dtype=np.int64)] = False
    lengths = [int(kept[a:b].sum()) for a, b in pairwise(offsets)]
    n_variables, d, n_frames = *series.shape[:2], sum(lengths)
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    path = new_series(scratch / "kept_frames.npy", (n_variables, d, n_frames), series.dtype)
    written = np.lib.format.open_memmap(path, mode="r+")
    for some in row_blocks(series.shape, BLOCK_BYTES // 8):
        written[some] = np.asarray(series[some])[:, :, kept]
    written.flush()
    opened = np.load(path, mmap_mode="r")
    mean, columns = pooled(moments_of(opened, offsets, cyclic), cyclic)
    if d == 1:
        columns["mean"] = mean[:, 0]
    items, rows = prepared.items.copy(), np.arange(n_variables)
    items.loc[rows, "n_observed"] = np.int32(n_frames)
    for name, values in columns.items():
        items.loc[rows, name] = values
    state: MotionArrays = {**prepared.state, "series": opened, "replica_offsets": offsets}
    counts = {**prepared.counts, "frames": n_frames}
    return replace(prepared, items=items, state=state, counts=counts)
