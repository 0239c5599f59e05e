"""Prepare trajectories: superpose frames, and turn them into time series of variables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import Float64Array
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.atoms import texts
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.read_trajectory import (
    Run,
    Trajectories,
    box_of,
    check_finite,
    trajectories_of,
)
from pairtile.methods.trajectory_correlation.residues import (
    Residues,
    domains_of,
    residues_of,
    secondary_structure,
    selected_residues,
)
from pairtile.methods.trajectory_correlation.time_series import (
    Scratch,
    SeriesWriter,
    frames_in_block,
    prepare_tables,
)
from pairtile.methods.trajectory_correlation.variables import (
    Variables,
    coordinate_variables,
    dihedral_variables,
    distance_variables,
    position_variables,
)
from pairtile.runtime.record import Progress

message = messages_of(__package__)
_AVERAGE_PASSES = 2
_NAMES_SHOWN = 5


def prepare_trajectory(
    config: TrajectoryCorrelationConfig,
    seed: int,
    scratch: str | os.PathLike[str] | None = None,
    source: Trajectories | None = None,
) -> PreparedInput[MotionArrays]:
    """Read what a section of ``method: trajectory_correlation`` names, and prepare it.

    Parameters
    ----------
    config
        Every default filled in.
    seed
        Not used: nothing is drawn here.
    scratch
        Folder for the series, which are written as they are read; it must outlive the result. Best
        on the disk where the state will lie. None: a temporary folder, which goes with the series.
    source
        Trajectories that are open already, in place of those that the section names.

    Raises
    ------
    ConfigError
        Without MDAnalysis; for a selection that is not in its language; for ``paths`` between what
        is no variable.
    InputError
        Files that cannot be read; a trajectory of another number of atoms; selections that match
        nothing, or not the same in all trajectories; too few frames; positions that are no finite
        numbers; a fit that leaves the rotation open.
    StoreError
        If the disk has no room for the series.
    """
    if config.time_series:
        return prepare_tables(config, scratch)
    with Scratch(scratch) as folder:
        return _Preparation(config, source).run(folder)


class _Preparation:
    """One analysis: what is read, and how."""

    def __init__(self, config: TrajectoryCorrelationConfig, source: Trajectories | None) -> None:
        self.config = config
        self.input = source or trajectories_of(config)
        self.messages: list[Message] = []
        self.first = self._first_frame()
        self.residues, self.variables = self._variables()
        self.fit = self._fit_atoms()
        self.needed = np.union1d(self.variables.atoms, self.fit)
        self.reference: Float64Array | None = None

    def run(self, scratch: Scratch) -> PreparedInput[MotionArrays]:
        """Read all frames, and write the series."""
        variables, runs = self.variables, self.input.runs
        writer = SeriesWriter(
            self.config,
            scratch,
            [(run.name, len(run.frames)) for run in runs],
            variables.table,
            variables.dimensions,
            cyclic=variables.cyclic,
        )
        if self.fit.size:
            self.reference = self._reference()
        own = np.searchsorted(self.needed, variables.atoms)
        progress = Progress(sum(len(run.frames) for run in runs), "frames")
        broken = 0
        for run in runs:
            last: Float64Array | None = None
            for block, box in self._blocks(run, self.needed):
                values = variables.values(self._superposed(block, self.needed)[:, own])
                writer.write(values)
                if variables.turns and box is not None:
                    broken += _jumps(values, last, float(box[:3].min()) / 2)
                    last = values[-1:]
                progress.advance(len(block))
        prepared = writer.finish(variables.dropped)
        self._describe(prepared, broken)
        return prepared

    # --- what is read ------------------------------------------------------------------------

    def _first_frame(self) -> Float64Array:
        run = self.input.runs[0]
        (_, step), *_ = self.input.read(run, run.frames[:1])
        return np.array(step.positions, dtype=np.float64)

    def _variables(self) -> tuple[Residues, Variables]:
        config, source = self.config, self.input
        kind = config.variables
        if kind == "distances":
            ends = {
                name: (
                    source.select(one, f"distances.{name}"),
                    source.select(other, f"distances.{name}"),
                )
                for name, (one, other) in config.distances.items()
            }
            atoms = np.unique(np.concatenate([part for pair in ends.values() for part in pair]))
            return residues_of(source.universe, atoms), distance_variables(ends)
        selected, residues = selected_residues(config, source)
        if kind == "dihedrals":
            names = config.dihedrals
            return residues, dihedral_variables(residues, names, self.first, source.topology)
        masses = None
        if config.positions == "center_of_mass":
            masses = self._masses(residues, selected)
        positions = position_variables(
            residues, selected, config.positions, masses, source.topology
        )
        return residues, coordinate_variables(positions) if kind == "coordinates" else positions

    def _masses(self, residues: Residues, selected: NDArray[np.int64]) -> Float64Array:
        """Of all atoms: those of the topology; else by elements, where all are known; else 1."""
        universe = self.input.universe
        if hasattr(universe.atoms, "masses") and not universe._topology.masses.is_guessed:
            return np.nan_to_num(np.asarray(universe.atoms.masses, dtype=np.float64))
        masses = residues.atom_masses(self.input.n_atoms)
        parts = (own[np.isin(own, selected)] for own in residues.atoms)
        weighed = np.concatenate([selected[:0], *(part for part in parts if part.size > 1)])
        unknown = weighed[np.isnan(masses[weighed])]
        if not unknown.size:
            if weighed.size:
                n = sum(map(bool, texts(universe.atoms[weighed], "elements")))
                self.messages.append(message("masses_by_element", n=n, n_by_name=weighed.size - n))
            return np.nan_to_num(masses, nan=1.0)
        names = list(dict.fromkeys(texts(universe.atoms[unknown], "names")))
        shown = ", ".join(names[:_NAMES_SHOWN]) + ", ..." * (len(names) > _NAMES_SHOWN)
        numbers = {"n": unknown.size, "n_weighed": weighed.size, "names": shown}
        self.messages.append(message("masses_unknown", **numbers))
        return np.ones(self.input.n_atoms)

    def _fit_atoms(self) -> NDArray[np.int64]:
        none = np.empty(0, dtype=np.int64)
        if not self.variables.turns:
            self.messages.append(message("variables_need_no_fit", variables=self.config.variables))
            return none
        if self.config.fit is False:
            self.messages.append(message("not_fitted"))
            return none
        return self.input.select(self.config.fit, "fit")

    def _reference(self) -> Float64Array:
        """Positions of the fit's atoms on which all frames are laid, centroid at the origin."""
        start = self.input.runs[0]
        check_finite(self.input, start, start.frames[:1], self.fit, self.first[self.fit][None])
        reference = centred(self.first[self.fit])
        if not spans_a_plane(reference):
            found = f"{self.fit.size} atom{'s' if self.fit.size > 1 else ''}"
            raise InputError.at(
                self.input.topology,
                f"fit {self.config.fit!r}",
                f"{found} {'on one line' if self.fit.size > 2 else ''}".strip(),
                "three atoms or more that are not on one line, or fit: false",
            )
        where = f"frame {start.frames[0]} of {start.name}"
        if self.config.reference == "average":
            for _ in range(_AVERAGE_PASSES):
                reference = self._average(reference)
            where = f"the average structure, found in {_AVERAGE_PASSES} rounds from {where}"
        self.messages.append(message("superposed", atoms=self.fit.size, where=where))
        return reference

    def _average(self, reference: Float64Array) -> Float64Array:
        total, n_frames = np.zeros_like(reference), 0
        everything = np.arange(self.fit.size)
        for run in self.input.runs:
            for block, _ in self._blocks(run, self.fit):
                total += superpose(block, everything, reference).sum(axis=0)
                n_frames += len(block)
        return centred(total / n_frames)

    # --- reading -----------------------------------------------------------------------------

    def _blocks(
        self, run: Run, atoms: NDArray[np.int64]
    ) -> Iterator[tuple[Float64Array, NDArray[np.float32] | None]]:
        """Positions of ``atoms`` (frames, atoms, 3), a block of frames at a time, and the box."""
        at_a_time = frames_in_block(3 * atoms.size + len(self.variables) * 3)
        read = self.input.read(run)
        for first in range(0, len(run.frames), at_a_time):
            frames = run.frames[first : first + at_a_time]
            block = np.empty((len(frames), atoms.size, 3))
            box = None
            for k, (_, step) in enumerate(islice(read, len(frames))):
                block[k] = step.positions[atoms]
                box = box_of(step)
            check_finite(self.input, run, frames, atoms, block)
            yield block, box

    def _superposed(self, block: Float64Array, atoms: NDArray[np.int64]) -> Float64Array:
        if self.reference is None:
            return block
        return superpose(block, np.searchsorted(atoms, self.fit), self.reference)

    # --- what is said of it ------------------------------------------------------------------

    def _describe(self, prepared: PreparedInput[MotionArrays], broken: int) -> None:
        """Residues, structure, domains and secondary structure, and where variables lie."""
        residues, items, runs = self.residues, prepared.items, self.input.runs
        rows = items["residue"].to_numpy()
        domains = domains_of(
            residues,
            {
                name: self.input.select(text, f"domains.{name}")
                for name, text in self.config.domains.items()
            },
        )
        states = secondary_structure(residues, self.first)
        for key in ("chain", "resid", "icode", "resname"):
            absent: int | str = 0 if key == "resid" else ""
            column = residues.table[key].to_numpy()
            items[key] = np.where(rows >= 0, column[rows], absent)
        items["domain"] = np.where(rows >= 0, np.array(domains, dtype=object)[rows], "")
        items["secondary_structure"] = np.where(rows >= 0, np.array(states, dtype=object)[rows], "")
        everything = np.concatenate([*residues.atoms, self.needed])
        drawn = np.unique(everything)
        frame = self._superposed(self.first[None, drawn], drawn)
        of_residues = np.searchsorted(drawn, np.concatenate(residues.atoms))
        prepared.state["structure"] = residues.structure(frame[0, of_residues])
        if self.variables.dimensions == 1:
            own = np.searchsorted(drawn, self.variables.atoms)
            prepared.state["mean_positions"] = self.variables.centres(frame[:, own])[0]
        prepared.state["frame_interval_ps"] = np.array([run.interval_ps for run in runs])
        counts = {"atoms": self.input.n_atoms, "residues": len(residues)}
        prepared.counts.update(counts, fit_atoms=int(self.fit.size))
        if self.config.unwrap:
            prepared.messages.append(message("unwrapped"))
        prepared.messages[:0] = [*self.messages, *self.input.said.values()]
        for run in runs:
            if run.n_promised > run.n_frames:
                prepared.messages.append(
                    message(
                        "frames_lacking",
                        file=run.name,
                        promised=run.n_promised,
                        frames=run.n_frames,
                    )
                )
        if broken:
            prepared.messages.append(message("molecules_broken", n=broken))


def _jumps(values: Float64Array, last: Float64Array | None, far: float) -> int:
    """Frames of a block in which something is further than ``far`` from the frame before."""
    joined = values if last is None else np.concatenate([last, values])
    moved = ((joined[1:] - joined[:-1]) ** 2).sum(axis=-1)
    return int((moved > far**2).any(axis=1).sum())


# --- superposition --------------------------------------------------------------------------------


def rotations(mobile: Float64Array, reference: Float64Array) -> Float64Array:
    """The rotations that bring each frame nearest to the reference (Kabsch 1976, 1978).

    Parameters
    ----------
    mobile
        Positions, shape (frames, atoms, 3), each frame's centroid at the origin.
    reference
        Positions, shape (atoms, 3), centroid at the origin.

    Returns
    -------
    Shape (frames, 3, 3): ``mobile[f] @ result[f]`` is nearest to ``reference``. Proper rotations
    all, determinant +1: a molecule is never turned into its mirror image.
    """
    covariance = np.swapaxes(mobile, 1, 2) @ reference
    left, _, right = np.linalg.svd(covariance)
    mirrored = np.linalg.det(left) * np.linalg.det(right) < 0
    left[mirrored, :, 2] *= -1.0
    result: Float64Array = left @ right
    return result


def superpose(
    positions: Float64Array, fit: NDArray[np.integer], reference: Float64Array
) -> Float64Array:
    """Frames moved and turned so that the atoms ``fit`` lie nearest to the reference.

    ``positions``: (frames, atoms, 3). ``fit``: numbers of the atoms to lay over one another.
    ``reference``: (fitted atoms, 3), centroid at the origin. Returns (frames, atoms, 3), in which
    the fitted atoms' centroid is the origin.
    """
    mobile = positions[:, fit]
    centroids = mobile.mean(axis=1, keepdims=True)
    return (positions - centroids) @ rotations(mobile - centroids, reference)


def centred(positions: Float64Array) -> Float64Array:
    """Positions (..., atoms, 3) with their centroid at the origin."""
    return positions - positions.mean(axis=-2, keepdims=True)


def spans_a_plane(reference: Float64Array) -> bool:
    """Whether centred positions (atoms, 3) fix a rotation: they do unless they lie on a line."""
    if len(reference) < 3:
        return False
    widths = np.linalg.svd(reference, compute_uv=False)
    return bool(widths[1] > 1e-6 * widths[0])
