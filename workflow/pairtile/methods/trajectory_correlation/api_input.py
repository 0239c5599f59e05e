"""Trajectories in the forms that people hold in memory: arrays, Universes and AtomGroups."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_frames import FramesConfig
from pairtile.methods.trajectory_correlation.read_trajectory import Run, Trajectories
from pairtile.methods.trajectory_correlation.series_file import Scratch, frames_in_block
from pairtile.methods.trajectory_correlation.time_series import PreparedTrajectory, SeriesWriter


def is_universe(value: Any) -> bool:
    """Whether this is a Universe or an AtomGroup of MDAnalysis, told without importing it."""
    return hasattr(value, "universe") and hasattr(value, "select_atoms")


class OpenTrajectories(Trajectories):
    """Universes that are open already, each a replica; they are left at the frame they were at.

    Parameters
    ----------
    sources
        Universes of the same atoms, or AtomGroups: then these are what is selected.
    frames
        As for ``Trajectories``.
    """

    def __init__(self, sources: Sequence[Any], frames: FramesConfig) -> None:
        self.topology = "topology"
        self._universes: dict[tuple[str, ...], Any] = {
            (name_of(n),): one.universe for n, one in enumerate(sources)
        }
        self._chosen = [None if one is one.universe else one for one in sources]
        self.universe = sources[0].universe
        self._loaded = None
        self._files = list(self._universes)
        self._at = [universe.trajectory.frame for universe in self._universes.values()]
        self.runs = [self._opened(files, frames) for files in self._files]

    def select(self, selection: str, key: str) -> NDArray[np.int64]:
        """As ``Trajectories.select``; under ``select`` the AtomGroups, where such were given."""
        if key != "select" or self._chosen[0] is None:
            return super().select(selection, key)
        found = [np.unique(np.asarray(group.indices, np.int64)) for group in self._chosen if group]
        if len(found) < len(self._chosen) or any(not np.array_equal(a, found[0]) for a in found):
            raise InputError.at("trajectory", "", "different atoms", "the same atoms in all groups")
        return found[0]

    def restore(self) -> None:
        """Back to the frames at which the Universes were."""
        for universe, frame in zip(self._universes.values(), self._at, strict=True):
            universe.trajectory[frame]

    def _opened(self, files: tuple[str, ...], frames: FramesConfig) -> Run:
        self._load(files)
        trajectory = self.universe.trajectory
        n_frames = int(trajectory.n_frames)
        used = range(n_frames)[frames.as_slice]
        if not used:
            wanted = ", ".join(f"{k}: {v}" for k, v in frames)
            raise InputError.at(files[0], "", f"no frame for {wanted}", f"some of {n_frames}")
        return Run(files, n_frames, used, float(trajectory.dt) * used.step, n_frames)

    def _load(self, files: tuple[str, ...]) -> None:
        if self._loaded == files:
            return
        n_atoms = self._universes[files].atoms.n_atoms
        if n_atoms != self.universe.atoms.n_atoms:
            found, wanted = f"{n_atoms} atoms", f"{self.universe.atoms.n_atoms}, as in the first"
            raise InputError.at(files[0], "", found, wanted)
        self.universe, self._loaded = self._universes[files], files


@contextmanager
def opened(sources: Sequence[Any], frames: FramesConfig) -> Any:
    """``OpenTrajectories`` that are restored at the end."""
    trajectories = OpenTrajectories(sources, frames)
    try:
        yield trajectories
    finally:
        trajectories.restore()


@dataclass(frozen=True)
class SeriesArrays:
    """Replicas, each float64 (frames, variables, dimensions), and labels of the variables (None:
    they are numbered)."""

    replicas: list[NDArray[np.float64]]
    labels: pd.Index[Any] | None

    @property
    def dimensions(self) -> int:
        """Coordinates of a variable."""
        return int(self.replicas[0].shape[2])


def as_arrays(values: Any, names: Sequence[Any] | None) -> SeriesArrays:
    """Take series as an array, a DataFrame (frames x variables), or a list of such.

    Raises
    ------
    ValueError
        Not numbers; not (frames, variables) or (frames, variables, dimensions) with one to three
        dimensions; replicas of other variables; names that are not one for each, or repeated.
    """
    parts = values if isinstance(values, list | tuple) else [values]
    if not len(parts):
        raise ValueError("trajectory: found an empty list; expected an array, or several")
    labels = parts[0].columns if isinstance(parts[0], pd.DataFrame) else None
    arrays = [
        _array(part, f"trajectory {n}" if n else "trajectory") for n, part in enumerate(parts)
    ]
    for n, part in enumerate(arrays):
        if part.shape[1:] != arrays[0].shape[1:]:
            raise ValueError(
                f"trajectory {n}: found shape {part.shape}; expected (frames, "
                f"{', '.join(map(str, arrays[0].shape[1:]))}), as in the first"
            )
    if names is not None:
        labels = pd.Index(names)
    if labels is not None and (len(labels) != arrays[0].shape[1] or not labels.is_unique):
        raise ValueError(
            f"names: found {len(labels)} ({labels.nunique()} different) for {arrays[0].shape[1]} "
            "variables; expected one for each"
        )
    return SeriesArrays(arrays, labels)


def prepare_arrays(
    config: TrajectoryCorrelationConfig, arrays: SeriesArrays, folder: str
) -> PreparedTrajectory:
    """The series as ``prepare_trajectory`` would give them.

    Raises
    ------
    InputError
        Too few frames or variables, or values that are no finite numbers.
    """
    for n, part in enumerate(arrays.replicas):
        if not np.isfinite(part).all():
            frame, variable, axis = np.argwhere(~np.isfinite(part))[0]
            raise InputError.at(
                name_of(n),
                f"frame {frame}, variable {variable}, coordinate {axis}",
                f"{part[frame, variable, axis]}",
                "a finite number",
            )
    shape = arrays.replicas[0].shape[1:]
    numbered = range(shape[0]) if arrays.labels is None else arrays.labels
    table = pd.DataFrame(
        {
            "name": [str(label) for label in numbered],
            "atom": "",
            "residue": np.full(shape[0], -1, dtype=np.int32),
        }
    )
    with Scratch(folder) as scratch:
        writer = SeriesWriter(
            config,
            scratch,
            [(name_of(n), len(part)) for n, part in enumerate(arrays.replicas)],
            (int(shape[0]), int(shape[1])),
            cyclic=config.table.angles != "none",
        )
        size = frames_in_block(2 * int(np.prod(shape)))
        for part in arrays.replicas:
            for first in range(0, len(part), size):
                block = part[first : first + size]
                writer.write(_wrapped(block) if writer.cyclic else block)
        prepared = writer.finish(table)
    prepared.state["mean_positions"] = np.full((shape[0], 3), np.nan)
    return prepared


def name_of(replica: int) -> str:
    """What messages call a replica."""
    return f"trajectory {replica}"


def _array(part: Any, name: str) -> NDArray[np.float64]:
    try:
        values = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: found no table of numbers ({error}); expected numbers"
        ) from error
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or not 1 <= values.shape[2] <= 3:
        raise ValueError(
            f"{name}: found shape {np.shape(part)}; expected (frames, variables) or "
            "(frames, variables, dimensions) with 1 to 3 dimensions"
        )
    return values


def _wrapped(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angles between -pi and pi."""
    return np.asarray((angles + np.pi) % (2 * np.pi) - np.pi)
