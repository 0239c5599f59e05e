"""Which residues touch, and in what share of the frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.finite_positions import check_finite
from pairtile.methods.trajectory_correlation.read_trajectory import (
    Trajectories,
    box_of,
    trajectories_of,
)
from pairtile.methods.trajectory_correlation.residues import selected_residues
from pairtile.runtime.record import Progress

_PENDING = 1 << 18
"""Contacts gathered before they are added up: bounds the memory, whatever the number of frames."""
_ARRAY = 16  # what an array takes beside its numbers, in numbers


def trajectory_contacts(
    config: TrajectoryCorrelationConfig, items: pd.DataFrame, source: Trajectories | None = None
) -> dict[str, NDArray]:
    """Which variables belong to residues that touch, from the frames that the series are made of.

    The trajectories are read once, a frame at a time.

    Parameters
    ----------
    config
        Of ``method: trajectory_correlation`` with ``contacts``, every default filled in.
    items
        As ``prepare_trajectory`` gives them for this section.
    source
        Trajectories that are open already, in place of those that the section names.

    Returns
    -------
    dict
        As ``variable_contacts``.

    Raises
    ------
    ConfigError, InputError
        As ``prepare_trajectory``, here for positions of all heavy atoms of the residues.
    """
    assert config.contacts
    source = source or trajectories_of(config)
    _, residues = selected_residues(config, source)
    atoms, owner = residues.heavy_atoms()
    count = ContactCount(atoms, owner, config.contacts.cutoff)
    progress = Progress(sum(len(run.frames) for run in source.runs), "frames")
    for run in source.runs:
        for number, step in source.read(run):
            check_finite(source, run, [number], atoms, step.positions[atoms][None])
            count.add(step.positions, box_of(step))
            progress.advance(1)
    residue_of_variable = items.loc[items["kept"].to_numpy(dtype=bool), "residue"]
    return variable_contacts(count.fractions(), residue_of_variable.to_numpy(), len(residues))


class ContactCount:
    """Counts, frame by frame, in how many frames each two residues touch.

    atoms : heavy atoms, numbers in the frame. residues : the residue of each, from 0.
    cutoff : distance in Angstrom of two atoms that touch.
    """

    def __init__(
        self, atoms: NDArray[np.int64], residues: NDArray[np.int64], cutoff: float
    ) -> None:
        self.atoms = atoms
        self.residues = residues
        self.cutoff = cutoff
        self.n_residues = int(residues.max(initial=-1)) + 1
        self.n_frames = 0
        self._keys = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)
        self._new: list[NDArray[np.int64]] = []
        self._n_new = 0

    def add(self, positions: NDArray[np.float32], box: NDArray[np.float32] | None) -> None:
        """One frame: positions of all atoms in Angstrom; with a box, the nearest images count."""
        from MDAnalysis.lib.distances import self_capped_distance

        pairs = self_capped_distance(
            positions[self.atoms], self.cutoff, box=box, return_distances=False
        )
        first, second = self.residues[pairs[:, 0]], self.residues[pairs[:, 1]]
        apart = first != second
        low = np.minimum(first, second)[apart]
        high = np.maximum(first, second)[apart]
        found = np.unique(low * self.n_residues + high)
        self.n_frames += 1
        self._new.append(found)
        self._n_new += found.size + _ARRAY
        if self._n_new > _PENDING:
            self._add_up()

    def fractions(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Residues i < j that touch in some frame, in order, and the share of the frames."""
        self._add_up()
        low, high = np.divmod(self._keys, max(self.n_residues, 1))
        return low, high, (self._counts / max(self.n_frames, 1)).astype(np.float32)

    def _add_up(self) -> None:
        keys, counts = np.unique(np.concatenate([self._keys, *self._new]), return_counts=True)
        # Each key of before stands among them once.
        counts[np.searchsorted(keys, self._keys)] += self._counts - 1
        self._keys, self._counts = keys, counts
        self._new, self._n_new = [], 0


def variable_contacts(
    residues_in_contact: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]],
    residue_of_variable: Sequence[int] | NDArray[np.integer],
    n_residues: int,
) -> dict[str, NDArray]:
    """Contacts of residues as contacts of the variables that belong to them.

    Two variables of one residue touch always. Returns ``contact_i`` < ``contact_j`` (int32, in
    order) and ``contact_fraction`` (float32).
    """
    owner = np.asarray(residue_of_variable, dtype=np.int64)
    order = np.argsort(owner, kind="stable")
    number = np.bincount(owner, minlength=n_residues)
    start = np.concatenate([[0], np.cumsum(number)[:-1]])
    low, high, fraction = residues_in_contact
    own = np.arange(n_residues)
    low, high = np.concatenate([low, own]), np.concatenate([high, own])
    fraction = np.concatenate([fraction, np.ones(n_residues, dtype=np.float32)])
    size = number[low] * number[high]
    row = np.repeat(np.arange(size.size), size)
    within = np.arange(row.size) - np.repeat(np.cumsum(size) - size, size)
    width = number[high][row]
    a = order[start[low][row] + within // np.maximum(width, 1)]
    b = order[start[high][row] + within % np.maximum(width, 1)]
    i, j, kept = np.minimum(a, b), np.maximum(a, b), a != b
    kept &= (low != high)[row] | (a < b)  # a residue with itself gives each two twice
    sorted_ = np.lexsort((j[kept], i[kept]))
    return {
        "contact_i": i[kept][sorted_].astype(np.int32),
        "contact_j": j[kept][sorted_].astype(np.int32),
        "contact_fraction": fraction[row][kept][sorted_],
    }
