"""Dihedral angles of proteins: which atoms make them, and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

MAX_PEPTIDE_BOND = 2.0
"""Angstrom. C and N further apart belong to residues that are not joined (a chain break)."""

BACKBONE = {
    "phi": (("C", -1), ("N", 0), ("CA", 0), ("C", 0)),
    "psi": (("N", 0), ("CA", 0), ("C", 0), ("N", 1)),
    "omega": (("CA", 0), ("C", 0), ("N", 1), ("CA", 1)),
}
"""Atom and residue (-1: the one before, 1: the next) of each backbone angle (IUPAC-IUB 1970)."""

_GAMMA = ("CG", "CG1", "OG", "OG1", "SG", "SE")
_DELTA = ("CD", "CD1", "OD1", "ND1", "SD")
_EPSILON = ("NE", "OE1", "CE")
_ZETA = ("CZ", "NZ")
_SIDE_CHAIN = (("N",), ("CA",), ("CB",), _GAMMA, _DELTA, _EPSILON, _ZETA, ("NH1",))
"""Atoms along a side chain, outwards; of several names a residue has, the first (IUPAC: branch 1).
Names, not residues, decide, so that HSD, HIE, CYX, MSE, ... need no table of their own."""

Atoms = Mapping[str, int]
"""Atom name -> number, of one residue."""


def dihedral_atoms(
    name: str, residue: Atoms, before: Atoms | None = None, after: Atoms | None = None
) -> tuple[int, int, int, int] | None:
    """The four atoms of a residue's angle ``name``, or None where it has no such angle.

    ``before``, ``after``: the residues that it is joined to, where there are.
    """
    if name in BACKBONE:
        near = {-1: before, 0: residue, 1: after}
        found = [(near[at] or {}).get(atom) for atom, at in BACKBONE[name]]
    else:
        first = int(name.removeprefix("chi")) - 1
        chain = [_first_of(names, residue) for names in _SIDE_CHAIN[: first + 4]]
        # Without a gap: proline's delta carbon is followed by no epsilon, valine's gamma by none.
        found = [None] * 4 if None in chain else chain[first:]
    a, b, c, d = found
    if a is None or b is None or c is None or d is None:
        return None
    return a, b, c, d


def dihedral_angles(positions: NDArray[np.float64], quadruples: NDArray[np.integer]) -> NDArray:
    """Angles in radians, -pi to pi, shape (frames, angles); 0 is cis, positive is clockwise when
    seen along the middle bond (IUPAC).

    ``positions``: (frames, atoms, 3). ``quadruples``: (angles, 4), atom numbers.
    """
    a, b, c, d = (positions[:, quadruples[:, k]] for k in range(4))
    along = c - b
    first, second = np.cross(a - b, along), np.cross(d - c, along)
    # atan2 of sine and cosine times the same lengths: exact near 0 and 180 degrees too.
    sine = np.einsum("fqx,fqx->fq", np.cross(first, second), along)
    cosine = np.einsum("fqx,fqx->fq", first, second) * np.linalg.norm(along, axis=-1)
    result: NDArray = np.arctan2(sine, cosine)
    return result


def _first_of(names: Sequence[str], residue: Atoms) -> int | None:
    return next((residue[name] for name in names if name in residue), None)
