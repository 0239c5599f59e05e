"""Prepare trajectories: superpose frames, and turn them into time series of variables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations
from pathlib import Path

import numpy as np

from pairtile.arrays import Float32Array, Float64Array, Int64Array
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.io.names import join_first
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.atoms import texts
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.read_trajectory import (
    DEFAULT_FIT,
    Run,
    check_finite,
    fit_selection,
    trajectories_of,
)
from pairtile.methods.trajectory_correlation.residues import (
    Residues,
    domains_of,
    residues_of,
    secondary_structure,
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
from pairtile.runtime.record import Progress, say_done

message = messages_of(__package__)


def prepare_trajectory(
    config: TrajectoryCorrelationConfig, scratch: Path
) -> PreparedInput[MotionArrays]:
    """Read what a section of ``method: trajectory_correlation`` names, and prepare it.

    Parameters
    ----------
    config
        Every default filled in.
    scratch
        Folder for the series, which are written as they are read; it must outlive the result. Best
        on the disk where the state will lie.

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
    return _Preparation(config).run(scratch)


class _Preparation:
    def __init__(self, config: TrajectoryCorrelationConfig) -> None:
        self.config = config
        self.input = trajectories_of(config)
        self.messages: list[Message] = []
        run = self.input.runs[0]
        (_, step), *_ = self.input.read(run, run.frames[:1])
        self.first: Float64Array = np.array(step.positions, dtype=np.float64)
        self.residues, self.variables = self._variables()
        self.fit = np.empty(0, dtype=np.int64)
        if self.variables.turns and config.fit is not False:
            self.fit = self.input.select(fit_selection(config), "fit")
        elif self.variables.turns:
            self.messages.append(message("not_fitted"))
        else:
            self.messages.append(message("variables_need_no_fit", variables=config.variables))
        self.reference: Float64Array | None = None

    def run(self, scratch: Path) -> PreparedInput[MotionArrays]:
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
                    # Frames in which something is further than half a box from the one before.
                    joined = values if last is None else np.concatenate([last, values])
                    moved = ((joined[1:] - joined[:-1]) ** 2).sum(axis=-1)
                    broken += int((moved > (float(box[:3].min()) / 2) ** 2).any(axis=1).sum())
                    last = values[-1:]
                progress.advance(len(block))
        if self.config.unwrap:
            self.messages.append(say_done(message("unwrapped")))
        prepared = writer.finish(variables.dropped)
        self._describe(prepared, broken)
        return prepared

    # --- what is read ------------------------------------------------------------------------

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
        selected = source.select(config.select, "select")
        residues = residues_of(source.universe, selected)
        if kind == "dihedrals":
            names = config.dihedrals
            return residues, dihedral_variables(residues, names, self.first, source.topology)
        masses = self._masses(residues, selected) if config.positions == "center_of_mass" else None
        positions = position_variables(
            residues, selected, config.positions, masses, source.topology
        )
        return residues, coordinate_variables(positions) if kind == "coordinates" else positions

    def _masses(self, residues: Residues, selected: Int64Array) -> Float64Array:
        """Of all atoms: those of the topology; else by elements, where all are known; else 1."""
        universe = self.input.universe
        if hasattr(universe.atoms, "masses") and not universe._topology.masses.is_guessed:
            return np.nan_to_num(np.asarray(universe.atoms.masses, dtype=np.float64))
        masses = residues.atom_masses(self.input.n_atoms)
        chosen = residues.atoms[residues.atoms["number"].isin(selected)]
        weighed = chosen.loc[chosen.duplicated("residue", keep=False), "number"].to_numpy()
        unknown = weighed[np.isnan(masses[weighed])]
        if not unknown.size:
            if weighed.size:
                n = sum(map(bool, texts(universe.atoms[weighed], "elements")))
                self.messages.append(message("masses_by_element", n=n, n_by_name=weighed.size - n))
            return np.nan_to_num(masses, nan=1.0)
        self.messages.append(
            message(
                "masses_unknown",
                n=unknown.size,
                n_weighed=weighed.size,
                names=join_first(list(dict.fromkeys(texts(universe.atoms[unknown], "names")))),
            )
        )
        return np.ones(self.input.n_atoms)

    def _least_moving(self, atoms: Int64Array) -> Int64Array:
        """``atoms``, or those of them that never move; or that move least under ``fit:
        least_moving``; by default a warning where these would make a difference."""
        runs = self.input.runs
        # Some million coordinates are enough, in 20 to 200 frames.
        n_frames = int(np.clip((1 << 23) // (3 * atoms.size), 20, 200))
        step = max(1, sum(len(run.frames) for run in runs) // n_frames)
        parts = [part for run in runs for part, _ in self._blocks(run, atoms, run.frames[::step])]
        # Frozen atoms stay where they are in the files (XTC rounds to 0.01 Angstrom). Superposed on
        # others, they would follow these, and be those that correlate most.
        still = np.all([np.ptp(part, axis=0).max(axis=1) < 0.015 for part in parts], axis=0)
        held = 1 < still.sum() < still.size and spans_a_plane(centred(self.first[atoms[still]]))
        if not held and self.config.fit not in (DEFAULT_FIT, "least_moving"):
            return atoms
        frames = np.concatenate(parts)
        core = still if held else least_moving(frames)
        share = 0.0 if core.all() else changed_pairs(frames, np.ones(atoms.size, bool), core)
        # Frames are superposed by all atoms where a smaller share of the pairs changes.
        if share < 0.1 and not held:
            return atoms
        squares = (moves(frames, np.flatnonzero(core)) ** 2).sum(axis=2).mean(axis=0)
        within, beyond = (np.sqrt(squares[part].mean()) for part in (core, ~core))
        code = "fit_core" if held or self.config.fit == "least_moving" else "fit_moves"
        table, part = (
            residues_of(self.input.universe, some).table for some in (atoms, atoms[core])
        )
        self.messages.append(
            message(
                "fit_still" if held else code,
                n=core.sum(),
                of=atoms.size,
                within=within,
                beyond=beyond,
                share=share,
                selection=selection_of(table, core) if len(table) == core.size else "",
                names=join_first(part["label"].tolist()),
            )
        )
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
                total, n_frames = np.zeros_like(reference), 0
                for run in self.input.runs:
                    for block, _box in self._blocks(run, self.fit):
                        total += superpose(block, np.arange(self.fit.size), reference).sum(axis=0)
                        n_frames += len(block)
                reference = centred(total / n_frames)
            where = f"the average structure, found in {AVERAGE_PASSES} rounds from {where}"
        self.messages.append(say_done(message("superposed", atoms=self.fit.size, where=where)))
        return reference

    # --- reading -----------------------------------------------------------------------------

    def _blocks(
        self, run: Run, atoms: Int64Array, numbers: range | None = None
    ) -> Iterator[tuple[Float64Array, Float32Array | None]]:
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
                box = step.dimensions
            check_finite(self.input, run, frames, atoms, block)
            yield block, box

    def _superposed(self, block: Float64Array, atoms: Int64Array) -> Float64Array:
        if self.reference is None:
            return block
        return superpose(block, np.searchsorted(atoms, self.fit), self.reference)

    # --- what is said of it ------------------------------------------------------------------

    def _describe(self, prepared: PreparedInput[MotionArrays], broken: int) -> None:
        residues, items, runs = self.residues, prepared.items, self.input.runs
        rows, numbers = items["residue"].to_numpy(), residues.atoms["number"].to_numpy()
        fitted = residues.atoms.loc[np.isin(numbers, self.fit), "residue"]
        domains = {
            name: self.input.select(text, f"domains.{name}")
            for name, text in self.config.domains.items()
        }
        described = residues.table.assign(
            fitted=np.isin(np.arange(len(residues)), fitted),
            domain=domains_of(residues, domains),
            secondary_structure=secondary_structure(residues, self.first),
        )
        for key in (
            "fitted",
            "chain",
            "resid",
            "icode",
            "resname",
            "domain",
            "secondary_structure",
        ):
            items[key] = np.where(
                rows >= 0,
                described[key].to_numpy()[rows],
                {"fitted": False, "resid": 0}.get(key, ""),
            )
        drawn = np.unique(np.concatenate([numbers, self.needed]))
        frame = self._superposed(self.first[None, drawn], drawn)
        prepared.state["structure"] = residues.structure(frame[0, np.searchsorted(drawn, numbers)])
        if self.variables.dimensions == 1:
            prepared.state["mean_positions"] = self.variables.centres(
                frame[:, np.searchsorted(drawn, self.variables.atoms)]
            )[0]
        prepared.state["frame_interval_ps"] = np.array([run.interval_ps for run in runs])
        prepared.counts.update(
            atoms=self.input.n_atoms, residues=len(residues), fit_atoms=int(self.fit.size)
        )
        prepared.messages[:0] = [*self.messages, *self.input.said.values()]
        prepared.messages.extend(
            message("frames_lacking", file=run.name, promised=run.n_promised, frames=run.n_frames)
            for run in runs
            if run.n_promised > run.n_frames
        )
        for first, second in permutations(runs, 2):
            interval = first.interval_ps / first.frames.step
            gap = second.start_ps - first.start_ps - first.n_frames * interval
            if abs(gap) < interval / 2:
                prepared.messages.append(
                    message(
                        "replicas_of_one_run",
                        first=first.name,
                        second=second.name,
                        how="begins one step after the end of",
                    )
                )
        if broken:
            prepared.messages.append(message("molecules_broken", n=broken))
