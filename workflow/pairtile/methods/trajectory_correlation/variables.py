"""The variables of a trajectory: positions, dihedrals or distances, from the atoms of a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse

from pairtile.arrays import Float64Array, Int64Array, IntegerArray
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.atoms import CALCIUM
from pairtile.methods.trajectory_correlation.residues import Residues
from pairtile.preprocess.items import unique_names

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Variables:
    """What is paired.

    Attributes
    ----------
    table
        A row each: name, atom, residue (row of the residues' table; -1 for none).
    atoms
        Numbers of the atoms that they are made of, ascending.
    dimensions
        3 for positions, 1 for scalars.
    values
        Positions (frames, atoms, 3) in Angstrom -> (frames, variables, dimensions).
    centres
        The same positions -> where each variable lies, (frames, variables, 3).
    turns
        Whether values depend on how the system lies in space, and so on the superposition.
    cyclic
        Whether values are angles in radians.
    dropped
        Rows like those of ``table``, with a reason, of what is no variable.
    """

    table: pd.DataFrame
    atoms: Int64Array
    dimensions: int
    values: Callable[[Float64Array], Float64Array]
    centres: Callable[[Float64Array], Float64Array]
    turns: bool = False
    cyclic: bool = False
    dropped: list[dict[str, object]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.table)


def position_variables(
    residues: Residues, selected: Int64Array, kind: str, masses: Float64Array | None, source: str
) -> Variables:
    """Positions of atoms (``kind``: atom), C-alphas (ca) or centres of mass (center_of_mass).

    ``selected``: atom numbers. ``masses``: of all atoms of the topology, for ``center_of_mass``.
    ``source``: what messages call the topology.

    Raises
    ------
    InputError
        If no residue has a C-alpha; if masses are needed and not known.
    """
    chosen = residues.atoms[residues.atoms["number"].isin(selected)]
    labels = residues.table["label"].tolist()
    dropped: list[dict[str, object]] = []
    rows: list[tuple[str, str, int, list[int]]] = []  # name, atom, residue, its atoms
    if kind == "atom":
        several = chosen.duplicated("residue", keep=False)
        columns = (chosen[key].tolist() for key in ("name", "residue", "number"))
        for atom, residue, number, more in zip(*columns, several, strict=True):
            name = f"{labels[residue]}:{atom}" if more else labels[residue]
            rows.append((name, atom, residue, [number]))
    elif kind == "center_of_mass":
        own_atoms = chosen.groupby("residue")["number"].agg(list)
        for residue, own in zip(own_atoms.index.tolist(), own_atoms.tolist(), strict=True):
            rows.append((labels[residue], "center_of_mass", residue, own))
    else:
        for residue, (label, names) in enumerate(zip(labels, residues.by_name, strict=True)):
            if "CA" in names and residues.table["resname"][residue].upper() not in CALCIUM:
                rows.append((label, "CA", residue, [names["CA"]]))
            else:
                dropped.append(
                    {"name": label, "atom": "CA", "residue": residue, "reason": "no C-alpha"}
                )
    if not rows:
        raise InputError.at(
            source, "positions: ca", f"no C-alpha in {len(residues)} residues", "some atoms CA"
        )
    names_of_rows, atom, residue_of_row, groups = zip(*rows, strict=True)
    atoms, compute = _weights(groups, masses, kind, names_of_rows, source)
    table = pd.DataFrame(
        {
            "name": unique_names(names_of_rows),
            "atom": atom,
            "residue": np.array(residue_of_row, dtype=np.int32),
        }
    )
    return Variables(table, atoms, 3, compute, compute, turns=True, dropped=dropped)


def dihedral_variables(
    residues: Residues, names: Sequence[str], first_frame: Float64Array, source: str
) -> Variables:
    """The dihedral angles ``names`` of each residue that has them, in radians.

    ``first_frame``: positions of all atoms; residues are joined where C and N of successive ones
    are near there.

    Raises
    ------
    InputError
        If no residue has any of the angles.
    """
    of = residues.by_name
    joined = [
        "C" in one
        and "N" in after
        # Angstrom. C and N further apart belong to residues that are not joined (a chain
        # break).
        and np.linalg.norm(first_frame[one["C"]] - first_frame[after["N"]]) <= 2.0
        for one, after in pairwise(of)
    ]
    rows, quadruples, alphas = [], [], []
    for k, label in enumerate(residues.table["label"]):
        before = of[k - 1] if k and joined[k - 1] else None
        after = of[k + 1] if k + 1 < len(of) and joined[k] else None
        for name in names:
            found = dihedral_atoms(name, of[k], before, after)
            if found is not None:
                rows.append((f"{label}:{name}", name, k))
                quadruples.append(found)
                alphas.append(of[k].get("CA", found[1]))
    if not rows:
        raise InputError.at(
            source,
            f"dihedrals {', '.join(names)}",
            f"none in the {len(residues)} selected residues",
            "residues of a protein, with all atoms that the angles need (N, CA, C, CB, ...)",
        )
    atoms = np.unique([*np.ravel(quadruples), *alphas]).astype(np.int64)
    places = np.searchsorted(atoms, np.array(quadruples))
    centres = np.searchsorted(atoms, np.array(alphas))
    return Variables(
        pd.DataFrame(rows, columns=["name", "atom", "residue"]).astype({"residue": np.int32}),
        atoms,
        1,
        lambda positions: dihedral_angles(positions, places)[:, :, None],
        lambda positions: positions[:, centres],
        cyclic=True,
    )


def distance_variables(ends: Mapping[str, tuple[Int64Array, Int64Array]]) -> Variables:
    """Distances in Angstrom between the geometric centres of two groups of atoms, by name."""
    groups = [group.tolist() for pair in ends.values() for group in pair]
    atoms, compute = _weights(groups, None, "", [], "")

    def pairs(positions: Float64Array) -> tuple[Float64Array, Float64Array]:
        centres = compute(positions)
        return centres[:, 0::2], centres[:, 1::2]

    table = pd.DataFrame({"name": list(ends), "atom": "distance", "residue": np.int32(-1)})
    return Variables(
        table,
        atoms,
        1,
        lambda positions: np.linalg.norm(np.subtract(*pairs(positions)), axis=-1)[:, :, None],
        lambda positions: np.add(*pairs(positions)) / 2,
    )


def coordinate_variables(positions: Variables) -> Variables:
    """x, y and z of each position as variables of their own, in this order: ``A:LYS13:x``."""
    table = positions.table.loc[positions.table.index.repeat(len(AXES))].reset_index(drop=True)
    axis = np.tile(AXES, len(positions))
    table = table.assign(
        **{
            column: [f"{text}:{end}" for text, end in zip(table[column], axis, strict=True)]
            for column in ("name", "atom")
        }
    )
    return replace(
        positions,
        table=table,
        dimensions=1,
        values=lambda atoms: positions.values(atoms).reshape(len(atoms), len(table), 1),
        centres=lambda atoms: np.repeat(positions.centres(atoms), len(AXES), axis=1),
    )


def _weights(
    groups: Sequence[Sequence[int]],
    masses: Float64Array | None,
    kind: str,
    names: Sequence[str],
    source: str,
) -> tuple[Int64Array, Callable[[Float64Array], Float64Array]]:
    """The atoms of all groups, and a function from their positions to the groups' centres."""
    flat = np.concatenate([np.asarray(group, dtype=np.int64) for group in groups])
    sizes = np.array([len(group) for group in groups])
    atoms, columns = np.unique(flat, return_inverse=True)
    if (sizes == 1).all():
        return atoms, lambda positions: positions[:, columns]
    owner = np.repeat(np.arange(len(groups)), sizes)
    weight = np.ones(flat.size) if masses is None else masses[flat]
    total = np.bincount(owner, weights=weight, minlength=len(groups))
    if not (total > 0).all():
        raise InputError.at(
            source,
            f"positions: {kind}, {names[int(np.flatnonzero(~(total > 0))[0])]}",
            "atoms of unknown mass",
            "masses, in the topology or by its elements",
        )
    matrix = sparse.csr_array(
        (weight / total[owner], (owner, columns)), shape=(len(groups), atoms.size)
    )

    def centres(positions: Float64Array) -> Float64Array:
        side_by_side = np.moveaxis(positions, 1, 0).reshape(atoms.size, -1)
        result: Float64Array = matrix @ side_by_side
        return np.moveaxis(result.reshape(len(groups), len(positions), 3), 0, 1)

    return atoms, centres


# --- dihedral angles ------------------------------------------------------------------------------


BACKBONE = {
    "phi": (("C", -1), ("N", 0), ("CA", 0), ("C", 0)),
    "psi": (("N", 0), ("CA", 0), ("C", 0), ("N", 1)),
    "omega": (("CA", 0), ("C", 0), ("N", 1), ("CA", 1)),
}
"""Atom and residue (-1: the one before, 1: the next) of each backbone angle (IUPAC-IUB 1970)."""

_SIDE_CHAIN = (
    ("N",),
    ("CA",),
    ("CB",),
    ("CG", "CG1", "OG", "OG1", "SG", "SE"),
    ("CD", "CD1", "OD1", "ND1", "SD"),
    ("NE", "OE1", "CE"),
    ("CZ", "NZ"),
    ("NH1",),
)
"""Atoms along a side chain, outwards; of several names a residue has, the first (IUPAC: branch 1).
Names, not residues, decide, so that HSD, HIE, CYX, MSE, ... need no table of their own."""


def dihedral_atoms(
    name: str,
    residue: Mapping[str, int],
    before: Mapping[str, int] | None = None,
    after: Mapping[str, int] | None = None,
) -> tuple[int, int, int, int] | None:
    """The four atoms of a residue's angle ``name``, or None where it has no such angle.

    ``residue``: its atoms, name -> number. ``before``, ``after``: those of the residues that it is
    joined to, where there are.
    """
    if name in BACKBONE:
        near = {-1: before, 0: residue, 1: after}
        found = [(near[at] or {}).get(atom) for atom, at in BACKBONE[name]]
    else:
        first = int(name.removeprefix("chi")) - 1
        chain = [
            next((residue[atom] for atom in names if atom in residue), None)
            for names in _SIDE_CHAIN[: first + 4]
        ]
        # Without a gap: proline's delta carbon is followed by no epsilon, valine's gamma by none.
        found = [None] * 4 if None in chain else chain[first:]
    a, b, c, d = found
    return None if a is None or b is None or c is None or d is None else (a, b, c, d)


def dihedral_angles(positions: Float64Array, quadruples: IntegerArray) -> Float64Array:
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
    return np.asarray(np.arctan2(sine, cosine))
