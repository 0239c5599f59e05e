"""Prepare trajectories: superpose frames, and turn them into time series of variables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice, permutations

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
    DEFAULT_FIT,
    Run,
    box_of,
    check_finite,
    fit_selection,
    trajectories_of,
)
from pairtile.methods.trajectory_correlation.residues import (
    Residues,
    domains_of,
    residues_of,
    secondary_structure,
    selected_residues,
    selection_of,
)
from pairtile.methods.trajectory_correlation.superposition import (
    AVERAGE_PASSES,
    centred,
    changed_pairs,
    least_moving,
    moves,
    spans_a_plane,
    superpose,
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
_NAMES_SHOWN = 5
_CORE_FRAMES = 200
_CORE_VALUES = 1 << 23
MIN_CHANGED_PAIRS = 0.1
"""Share of the pairs that must change for frames not to be superposed by all atoms."""


def prepare_trajectory(
    config: TrajectoryCorrelationConfig,
    seed: int,
    scratch: str | os.PathLike[str] | None = None,
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
        return _Preparation(config).run(folder)


class _Preparation:
    def __init__(self, config: TrajectoryCorrelationConfig) -> None:
        self.config = config
        self.input = trajectories_of(config)
        self.messages: list[Message] = []
        self.first = self._first_frame()
        self.residues, self.variables = self._variables()
        self.fit = self._fit_atoms()
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
            self.fit = self._least_moving(self.fit)
            self.reference = self._reference()
        self.needed = np.union1d(variables.atoms, self.fit)
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
        return self.input.select(fit_selection(self.config), "fit")

    def _least_moving(self, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
        """``atoms``, or those of them that move least under ``fit: least_moving``; by default a
        warning where these would make a difference."""
        if self.config.fit not in (DEFAULT_FIT, "least_moving"):
            return atoms
        runs = self.input.runs
        n_frames = min(_CORE_FRAMES, max(20, _CORE_VALUES // (3 * atoms.size)))
        step = max(1, sum(len(run.frames) for run in runs) // n_frames)
        parts = [part for run in runs for part, _ in self._blocks(run, atoms, run.frames[::step])]
        frames = np.concatenate(parts)
        core = least_moving(frames)
        share = 0.0 if core.all() else changed_pairs(frames, np.ones(atoms.size, bool), core)
        if share < MIN_CHANGED_PAIRS:
            return atoms
        squares = (moves(frames, np.flatnonzero(core)) ** 2).sum(axis=2).mean(axis=0)
        within, beyond = (np.sqrt(squares[part].mean()) for part in (core, ~core))
        numbers = {"n": core.sum(), "of": atoms.size, "within": within, "beyond": beyond}
        code = "fit_core" if self.config.fit == "least_moving" else "fit_moves"
        table = residues_of(self.input.universe, atoms).table
        line = selection_of(table, core) if len(table) == core.size else ""
        self.messages.append(message(code, **numbers, share=share, selection=line))
        return atoms[core] if code == "fit_core" else atoms

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
            for _ in range(AVERAGE_PASSES):
                reference = self._average(reference)
            where = f"the average structure, found in {AVERAGE_PASSES} rounds from {where}"
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
        self, run: Run, atoms: NDArray[np.int64], numbers: range | None = None
    ) -> Iterator[tuple[Float64Array, NDArray[np.float32] | None]]:
        """Positions of ``atoms`` (frames, atoms, 3), a block of frames at a time, and the box."""
        at_a_time = frames_in_block(3 * atoms.size + len(self.variables) * 3)
        numbers = run.frames if numbers is None else numbers
        read = self.input.read(run, numbers)
        for first in range(0, len(numbers), at_a_time):
            frames = numbers[first : first + at_a_time]
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
        residues, items, runs = self.residues, prepared.items, self.input.runs
        rows = items["residue"].to_numpy()
        fitted = [bool(np.isin(own, self.fit).any()) for own in residues.atoms]
        items["fitted"] = (rows >= 0) & np.array(fitted)[rows]
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
        for first, second in permutations(runs, 2):
            interval = first.interval_ps / first.frames.step
            gap = second.start_ps - first.start_ps - first.n_frames * interval
            if abs(gap) < interval / 2:
                how = "begins one step after the end of"
                numbers = {"first": first.name, "second": second.name, "how": how}
                prepared.messages.append(message("replicas_of_one_run", **numbers))
        if broken:
            prepared.messages.append(message("molecules_broken", n=broken))


def _jumps(values: Float64Array, last: Float64Array | None, far: float) -> int:
    """Frames of a block in which something is further than ``far`` from the frame before."""
    joined = values if last is None else np.concatenate([last, values])
    moved = ((joined[1:] - joined[:-1]) ** 2).sum(axis=-1)
    return int((moved > far**2).any(axis=1).sum())
