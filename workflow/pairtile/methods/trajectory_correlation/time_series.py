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
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.arrays import BoolArray, Float64Array, Int64Array
from pairtile.declare.messages import messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError, StoreError
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.network import path_ends
from pairtile.methods.trajectory_correlation.read_tables import SeriesTable, open_series_table

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
        scratch: Scratch,
        replicas: Sequence[tuple[str, int]],
        table: pd.DataFrame,
        dimensions: int,
        cyclic: bool,
    ) -> None:
        self.displacements = config.variables == "displacements"
        self.scratch = scratch
        self.cyclic = cyclic
        self.table = table
        shape = (len(table), dimensions)
        if shape[0] < 2:
            raise InputError.at(replicas[0][0], "", "one variable", "two or more, to make pairs")
        path_ends(table.assign(kept=True), config.paths)  # before all frames are read
        self.names = [name for name, _ in replicas]
        for name, n_frames in replicas:
            _check_frames(config, name, n_frames, shape[1])
        self.offsets = np.cumsum([0, *(n for _, n in replicas)])
        full = (*shape, int(self.offsets[-1]))
        large = 8 * int(np.prod(full)) > FLOAT64_BYTES
        self.dtype = np.dtype(np.float32 if large else np.float64)
        name = "positions.npy" if self.displacements else "series.npy"
        self.file = SeriesFile(scratch.folder / name, full, self.dtype)
        kind = CyclicMoments if cyclic else Moments
        self.moments: list[Moments] = [kind(*shape) for _ in replicas]
        self.n_written = 0

    def write(self, block: Float64Array) -> None:
        """The next frames, (frames, variables, dimensions), all of one replica."""
        replica = int(np.searchsorted(self.offsets, self.n_written, side="right")) - 1
        self.file.write(self.n_written, block)
        self.moments[replica].add(block)
        self.n_written += len(block)

    def finish(self, dropped: Sequence[Mapping[str, object]] = ()) -> PreparedInput[MotionArrays]:
        """``dropped``: name, atom, residue of what is no variable, and a reason."""
        assert self.n_written == self.offsets[-1]
        names = self.table["name"].tolist()
        self._check_observed(names)
        constant = np.all([part.constant for part in self.moments], axis=0)
        frozen = np.any([part.constant for part in self.moments], axis=0) & ~constant
        mean, sd = pooled(self.moments, self.cyclic)
        n_variables, d, n_frames = self.file.shape
        positions = mean if d == 3 else np.full((n_variables, 3), np.nan)
        spreads = replica_spreads(self.moments)
        if self.displacements:
            mean, sd, spreads = self._to_displacements()
            d = 1
        gap = len(dropped)
        kept = self.table.assign(
            kept=True,
            reason="",
            n_observed=sum(part.n.min(axis=1) for part in self.moments),
            mean=mean[:, 0] if d == 1 else np.nan,
            sd=sd,
            **spreads,
            constant=constant,
        )
        rest = pd.DataFrame(list(dropped), columns=["name", "atom", "residue", "reason"])
        rest = rest.assign(kept=False, n_observed=0, constant=False)
        items = pd.concat([kept, rest], ignore_index=True) if dropped else kept
        items.insert(0, "item", np.arange(len(items), dtype=np.int32))
        items = items.astype({"residue": np.int32, "n_observed": np.int32, "kept": bool})
        items["constant"] = items["constant"].astype(bool)
        replicas = len(self.moments)
        prepared: PreparedInput[MotionArrays] = PreparedInput(
            items,
            {
                "series": self.scratch.hold(self.file.opened()),
                "replica_offsets": self.offsets.astype(np.int64),
                "mean_positions": positions,
                "frame_interval_ps": np.full(replicas, np.nan),
            },
            {"variables": n_variables, "frames": n_frames, "replicas": replicas},
        )
        prepared.counts["variables_dropped"] = gap
        prepared.counts["variables_constant"] = int(constant.sum())
        self._tell(prepared, names, constant, frozen)
        return prepared

    def _check_observed(self, names: Sequence[str]) -> None:
        for part, name in zip(self.moments, self.names, strict=True):
            few = np.flatnonzero(part.n.min(axis=1) < MIN_OBSERVED)
            if few.size:
                found = f"{int(part.n[few[0]].min())} values"
                raise InputError.at(name, names[few[0]], found, f"at least {MIN_OBSERVED}")

    def _to_displacements(
        self,
    ) -> tuple[Float64Array, Float64Array, dict[str, Float64Array]]:
        """Series of |r - mean of the replica|, from the positions; mean and spread of those, and
        the spread in each replica."""
        n_variables, _, n_frames = self.file.shape
        result = SeriesFile(
            self.scratch.folder / "series.npy", (n_variables, 1, n_frames), self.dtype
        )
        moments = [Moments(n_variables, 1) for _ in self.moments]
        frames = frames_in_block(4 * n_variables)
        for replica, part in enumerate(self.moments):
            first, end = self.offsets[replica], self.offsets[replica + 1]
            for start in range(first, end, frames):
                block = self.file.read(slice(None), slice(start, min(start + frames, end)))
                away = np.linalg.norm(block - part.mean[:, :, None], axis=1).T[:, :, None]
                result.write(start, away)
                moments[replica].add(away)
        self.file.path.unlink()
        self.file = result
        return *pooled(moments, cyclic=False), replica_spreads(moments)

    def _tell(
        self,
        prepared: PreparedInput[MotionArrays],
        names: list[str],
        constant: BoolArray,
        frozen: BoolArray,
    ) -> None:
        lengths = np.diff(self.offsets)
        n_frames = int(self.offsets[-1])
        if len(lengths) > 1:
            prepared.messages.append(
                message(
                    "replicas",
                    n=len(lengths),
                    lengths=", ".join(str(n) for n in lengths[:_SHOWN]),
                    more=", ..." if len(lengths) > _SHOWN else "",
                )
            )
        if self.dtype == np.float32:
            prepared.messages.append(message("series_float32"))
        missing = int(n_frames * len(names) - prepared.items["n_observed"].sum())
        if missing:
            prepared.counts["values_missing"] = missing
            prepared.messages.append(
                message("values_missing", n=missing, values=n_frames * len(names))
            )
        for rows, text in ((constant, "never move"), (frozen, "do not move in some replica")):
            if rows.any():
                found = [names[k] for k in np.flatnonzero(rows)[:_SHOWN]]
                more = ", ..." if rows.sum() > _SHOWN else ""
                which = f"{int(rows.sum())} of {len(names)} variables {text}"
                prepared.messages.append(
                    message("variables_still", which=which, names=", ".join(found), more=more)
                )
        dropped = prepared.items.loc[~prepared.items["kept"], "reason"].value_counts()
        for reason, number in dropped.items():
            prepared.messages.append(message("residues_left_out", n=number, reason=reason))


def prepare_tables(
    config: TrajectoryCorrelationConfig,
    scratch: str | os.PathLike[str] | None = None,
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
        _check_columns(first, table)
    variables = pd.DataFrame({"name": first.names, "atom": "", "residue": np.int32(-1)})
    angles = how.angles != "none"
    with Scratch(scratch) as folder:
        replicas = [(table.path, len(table.used)) for table in tables]
        writer = SeriesWriter(config, folder, replicas, variables, first.dimensions, cyclic=angles)
        for table in tables:
            size = frames_in_block(2 * len(variables) * first.dimensions)
            for block in table.blocks(size, config.estimator.allows_missing):
                values = np.radians(block) if how.angles == "degrees" else block
                writer.write((values + np.pi) % (2 * np.pi) - np.pi if angles else values)
        prepared = writer.finish()
    prepared.state["mean_positions"] = np.full((len(variables), 3), np.nan)
    return prepared


def _check_frames(config: TrajectoryCorrelationConfig, name: str, n_frames: int, d: int) -> None:
    """What each estimator needs at the least: k neighbours, a covariance of full rank."""
    estimator = config.estimator
    kind = estimator.kind
    of_normal = 2 * d + 2
    least = {"ksg": estimator.neighbours + 2, "gaussian": of_normal, "auto": of_normal}.get(kind, 3)
    if n_frames < least:
        raise InputError.at(
            name,
            "",
            f"{n_frames} frame{'s' if n_frames != 1 else ''}",
            f"at least {least} for estimator.kind: {kind} (and hundreds for a result that means "
            "something)",
        )


def _check_columns(first: SeriesTable, table: SeriesTable) -> None:
    if table.dimensions != first.dimensions:
        found = f"{table.dimensions} dimensions"
        raise InputError.at(table.path, "", found, f"{first.dimensions}, as in {first.path}")
    if table.names == first.names:
        return
    other = next((n for n in table.names if n not in first.names), None)
    other = other or next((n for n in first.names if n not in table.names), "another order")
    raise InputError.at(
        table.path,
        "",
        f"{len(table.names)} variables ({other!r})",
        f"the same {len(first.names)} in the same order as in {first.path}",
    )


# --- means and spreads ----------------------------------------------------------------------------


class Moments:
    """Of one replica: mean and sum of squared deviations, by block (Chan et al. 1979), so that no
    digits are lost however far from the origin values lie. NaN is a value that is missing; ``n``
    counts the others."""

    def __init__(self, n_variables: int, dimensions: int) -> None:
        self.n = np.zeros((n_variables, dimensions), dtype=np.int64)
        self.mean = np.zeros((n_variables, dimensions))
        self.squares = np.zeros((n_variables, dimensions))
        self.low = np.full((n_variables, dimensions), np.inf)
        self.high = np.full((n_variables, dimensions), -np.inf)

    def add(self, block: Float64Array) -> None:
        """``block``: (frames, variables, dimensions)."""
        n = (~np.isnan(block)).sum(axis=0)
        mean = np.nansum(block, axis=0) / np.maximum(n, 1)
        shift, total = mean - self.mean, self.n + n
        share = n / np.maximum(total, 1)
        self.squares += np.nansum((block - mean) ** 2, axis=0) + shift**2 * self.n * share
        self.mean += shift * share
        self.n = total
        np.fmin(self.low, np.fmin.reduce(block, axis=0), out=self.low)
        np.fmax(self.high, np.fmax.reduce(block, axis=0), out=self.high)

    @property
    def constant(self) -> BoolArray:
        """Whether a variable has the same value in all frames, (variables,)."""
        result: BoolArray = (self.low == self.high).all(axis=1)
        return result


class CyclicMoments(Moments):
    """Of angles in radians: the direction of the mean, and the angular deviation
    sqrt(2 (1 - R)) about it, with R the length of the mean vector (Batschelet 1981)."""

    def __init__(self, n_variables: int, dimensions: int) -> None:
        super().__init__(n_variables, dimensions)
        self._vectors = np.zeros((n_variables, dimensions), dtype=np.complex128)

    def add(self, block: Float64Array) -> None:
        self.n += len(block)
        self._vectors += np.exp(1j * block).sum(axis=0)
        self.mean = np.angle(self._vectors)
        self.squares = 2.0 * np.maximum(self.n - np.abs(self._vectors), 0.0)
        np.minimum(self.low, block.min(axis=0), out=self.low)
        np.maximum(self.high, block.max(axis=0), out=self.high)


def pooled(replicas: list[Moments], cyclic: bool) -> tuple[Float64Array, Float64Array]:
    """Over all replicas: mean (variables, dimensions), and the root mean square deviation of each
    replica about its own mean, over all dimensions, (variables,)."""
    n = np.stack([part.n for part in replicas]).astype(float)
    means = np.stack([part.mean for part in replicas])
    if cyclic:
        mean = np.angle((np.exp(1j * means) * n).sum(axis=0))
    else:
        mean = (means * n).sum(axis=0) / n.sum(axis=0)
    spread = np.sqrt((sum(part.squares for part in replicas) / n.sum(axis=0)).sum(axis=1))
    return mean, spread


def replica_spreads(replicas: list[Moments]) -> dict[str, Float64Array]:
    """``sd_replica_1``, ...: root mean square deviation of each replica, (variables,); none where
    there is one."""
    if len(replicas) < 2:
        return {}
    return {
        f"sd_replica_{k}": np.sqrt((part.squares / np.maximum(part.n, 1)).sum(axis=1))
        for k, part in enumerate(replicas, 1)
    }


# --- files of series ------------------------------------------------------------------------------


BLOCK_BYTES = 1 << 26
FLOAT64_BYTES = 1 << 33
"""Series that take more than this (8 GiB) as float64 are kept as float32: trajectories are stored
with no more digits than that, mostly with fewer."""


class SeriesFile:
    """A ``.npy`` of shape (variables, dimensions, frames) that grows along its frames.

    Raises
    ------
    StoreError
        If the disk has no room for it: asked for at once, for a full disk would otherwise end the
        process without a message.
    """

    def __init__(self, path: Path, shape: tuple[int, int, int], dtype: np.dtype) -> None:
        self.path = path
        self.shape = shape
        self.dtype = dtype
        try:
            np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape).flush()
            with path.open("r+b") as handle:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(handle.fileno(), 0, path.stat().st_size)
        except OSError as error:
            size = int(np.prod(shape)) * dtype.itemsize / 2**20
            found = f"a full disk, or none for files of this size ({error})"
            expected = f"room for {size:,.1f} MiB: free some or choose another folder for results"
            raise StoreError.at(path.parent, "", found, expected) from error

    def write(self, first: int, block: NDArray) -> None:
        """Frames from ``first`` on; ``block`` has shape (frames, variables, dimensions)."""
        # Mapped anew for each block: pages of the last one do not stay in this process' memory.
        mapped = np.lib.format.open_memmap(self.path, mode="r+")
        mapped[:, :, first : first + len(block)] = np.moveaxis(block, 0, 2)
        mapped.flush()

    def read(self, variables: slice, frames: slice) -> NDArray:
        """A part, as an array in memory: shape (variables, dimensions, frames)."""
        return np.array(np.load(self.path, mmap_mode="r")[variables, :, frames])

    def opened(self) -> np.memmap:
        """All of it, mapped read-only."""
        mapped = np.load(self.path, mmap_mode="r")
        assert isinstance(mapped, np.memmap)
        return mapped


def frames_in_block(numbers_in_frame: int) -> int:
    """How many frames to hold at a time, for so many numbers in each."""
    return int(np.clip(BLOCK_BYTES // (8 * max(numbers_in_frame, 1)), 8, 4096))


class Scratch:
    """A folder for arrays in the making.

    ``given``: one that the caller made and removes; else a temporary one, which goes when the
    arrays handed to ``hold`` are no longer used.
    """

    def __init__(self, given: str | os.PathLike[str] | None) -> None:
        self._own = given is None
        self.folder = Path(tempfile.mkdtemp(prefix="pairtile-") if given is None else given)
        self._held = False

    def hold(self, array: np.memmap) -> np.memmap:
        """``array``, which keeps the folder alive."""
        self._held = True
        if self._own:
            weakref.finalize(array, shutil.rmtree, self.folder, ignore_errors=True)
        return array

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own and not self._held:
            shutil.rmtree(self.folder, ignore_errors=True)


# --- repeated frames ------------------------------------------------------------------------------


def without_frames(
    prepared: PreparedInput[MotionArrays],
    repeated: Sequence[Sequence[int]],
    cyclic: bool,
    scratch: str | os.PathLike[str] | None = None,
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
    shape = (series.shape[0], series.shape[1], sum(lengths))
    new_offsets = np.cumsum([0, *lengths]).astype(np.int64)
    with Scratch(scratch) as folder:
        file = SeriesFile(folder.folder / "kept_frames.npy", shape, series.dtype)
        mean, sd, spreads = _copied(series, kept, file, new_offsets, cyclic)
        opened = folder.hold(file.opened())
    items = prepared.items.copy()
    rows = np.arange(shape[0])
    items.loc[rows, "n_observed"] = np.int32(shape[2])
    items.loc[rows, "sd"] = sd
    for name, spread in spreads.items():
        items.loc[rows, name] = spread
    if shape[1] == 1:
        items.loc[rows, "mean"] = mean[:, 0]
    state: MotionArrays = {**prepared.state, "series": opened, "replica_offsets": new_offsets}
    return replace(
        prepared, items=items, state=state, counts={**prepared.counts, "frames": shape[2]}
    )


def _copied(
    series: NDArray[np.floating],
    kept: BoolArray,
    file: SeriesFile,
    offsets: Int64Array,
    cyclic: bool,
) -> tuple[Float64Array, Float64Array, dict[str, Float64Array]]:
    """Copy the kept frames, some variables at a time; mean and spread of each variable, and the
    spread in each replica."""
    n_variables, d, _ = file.shape
    size = max(1, BLOCK_BYTES // (8 * d * series.shape[2]))
    mean, sd = np.empty((n_variables, d)), np.empty(n_variables)
    spreads: list[dict[str, Float64Array]] = []
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
        spreads.append(replica_spreads(moments))
    written.flush()
    return mean, sd, {k: np.concatenate([part[k] for part in spreads]) for k in spreads[0]}
