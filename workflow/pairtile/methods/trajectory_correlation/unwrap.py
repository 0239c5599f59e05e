"""Molecules made whole where a periodic box breaks them.

Simulations store each atom in whichever image of the box it is in, so that molecules lie in pieces
and chains of a complex boxes apart. Atoms that are near each other in the first frame, mostly by a
bond, make a tree (the shortest one); along it every atom is put into the image nearest to the one
before. That needs no bonds in the topology, holds for chains that stay together as for one
molecule, and depends on no frame but its own, so that frames may be read in any order and at any
step. MDAnalysis' NoJump needs each frame after the one before, its ``unwrap`` bonds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.errors import InputError

if TYPE_CHECKING:
    from MDAnalysis.coordinates.timestep import Timestep


@dataclass(frozen=True)
class Frame:
    """Positions of all atoms in Angstrom, (atoms, 3), and the periodic box as three lengths and
    three angles; None where there is none, or a number of it is 0."""

    positions: NDArray[np.float32]
    dimensions: NDArray[np.float32] | None

    @classmethod
    def of_step(cls, step: Timestep) -> Frame:
        """From a time step of MDAnalysis, which is overwritten by the next."""
        box = step.dimensions
        there = box is not None and np.all(np.asarray(box) > 0)
        return cls(step.positions.copy(), np.asarray(box) if there else None)


class WholeMolecules:
    """Puts atoms back together.

    Parameters
    ----------
    atoms
        Numbers of the atoms, int64, ascending: all of the residues that are looked at.
    positions, box
        The first frame: positions of all atoms of the system in Angstrom, and the box as three
        lengths and three angles, or None.
    name
        What messages call the trajectory.

    Raises
    ------
    InputError
        Without a box.
    """

    def __init__(
        self,
        atoms: NDArray[np.int64],
        positions: NDArray[np.float32],
        box: NDArray[np.float32] | None,
        name: str,
    ) -> None:
        self.atoms = atoms
        self._child, self._parent = _tree(positions[atoms], _present(box, name))

    def made_whole(self, step: Frame, name: str) -> Frame:
        """The frame with the atoms whole and their centre in the middle of the box; others stay
        where they are.

        Raises ``InputError`` without a box.
        """
        from MDAnalysis.lib.mdamath import triclinic_vectors

        vectors = triclinic_vectors(_present(step.dimensions, name)).astype(np.float64)
        positions = step.positions.copy()
        own = step.positions[self.atoms].astype(np.float64)
        places = own @ np.linalg.inv(vectors)
        apart = np.rint(places[self._child] - places[self._parent])
        images = np.zeros_like(places)
        _add_along(self._child, self._parent, apart, images)
        own -= images @ vectors
        positions[self.atoms] = own - own.mean(axis=0) + vectors.sum(axis=0) / 2
        return replace(step, positions=positions)


@njit()
def _add_along(child, parent, apart, images):  # type: ignore[no-untyped-def]
    """Boxes between each atom and the root of its tree; parents come before their children."""
    for edge in range(child.size):
        images[child[edge]] = images[parent[edge]] + apart[edge]


def _present(box: NDArray[np.float32] | None, name: str) -> NDArray[np.float32]:
    if box is None:
        raise InputError.at(name, "unwrap: true", "no periodic box", "one in every frame")
    return np.asarray(box, dtype=np.float32)


def _tree(
    positions: NDArray[np.float32], box: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Atoms and the atom that each hangs on, from the root outwards: int64 (atoms - 1,) each, fewer
    where parts are more than half a box from all others."""
    from MDAnalysis.lib.distances import self_capped_distance

    # Angstrom within which atoms are looked for first: bonds; then twice as far, and so on.
    n, cutoff, farthest = len(positions), 2.5, float(box[:3].min()) / 2
    while True:
        pairs, distance = self_capped_distance(positions, min(cutoff, farthest), box=box)
        # Two atoms at one place are near, too, but a distance of 0 would be no edge.
        weight = np.maximum(distance, 1e-6)
        graph = scipy.sparse.coo_array((weight, (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
        number, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
        if number == 1 or cutoff >= farthest:
            break
        cutoff *= 2
    tree = scipy.sparse.csgraph.minimum_spanning_tree(graph)
    child, parent = [], []
    for root in np.unique(part, return_index=True)[1]:
        order, before = scipy.sparse.csgraph.breadth_first_order(tree, root, directed=False)
        child.append(order[1:])
        parent.append(before[order[1:]])
    return np.concatenate(child).astype(np.int64), np.concatenate(parent).astype(np.int64)
