"""Positions that are no finite numbers are told with frame and atom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.read_trajectory import Run, Trajectories


def check_finite(
    source: Trajectories,
    run: Run,
    frames: Sequence[int],
    atoms: NDArray[np.int64],
    positions: NDArray[np.floating],
) -> None:
    """Refuse positions that are no finite numbers.

    Parameters
    ----------
    frames, atoms
        Numbers of the frames of ``run`` and of the atoms that ``positions`` are of.
    positions
        Shape (frames, atoms, 3).

    Raises
    ------
    InputError
        Naming the first frame and atom.
    """
    if np.isfinite(positions).all():
        return
    frame, atom, axis = np.argwhere(~np.isfinite(positions))[0]
    number = int(atoms[atom])
    raise InputError.at(
        run.name,
        f"frame {frames[int(frame)]}, atom {number + 1} ({_atom_name(source, number)})",
        f"{'xyz'[axis]} = {positions[frame, atom, axis]:g}",
        "finite positions (leave damaged frames out by frames, or mend the file)",
    )


def _atom_name(source: Trajectories, number: int) -> str:
    atom = source.universe.atoms[number]
    parts = [str(getattr(atom, key, "")) for key in ("resname", "resid", "name")]
    return " ".join(part for part in parts if part)
