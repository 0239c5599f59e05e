"""Names and places of atoms and residues, and the structure to draw on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.read_trajectory import Trajectories

STRUCTURE = np.dtype(
    [
        ("name", "U8"),
        ("resname", "U8"),
        ("chain", "U8"),
        ("resid", "i4"),
        ("icode", "U2"),
        ("element", "U3"),
        ("residue", "i4"),
        ("position", "f8", (3,)),
    ]
)
"""An atom of the structure that results are drawn on; ``residue``: as in the items' table."""

_NO_CHAIN = {"", "SYSTEM"}
_LIGHT = 3.5  # u; hydrogen and its isotopes, and atoms whose mass is not known (0)


@dataclass(frozen=True)
class Residues:
    """The residues of the selected atoms, in the order of the topology.

    ``table``: one row each, columns chain, resid, icode, resname, label (``A:LYS13``). ``atoms``:
    numbers of all atoms of each. ``names``: name of every atom in ``atoms``.
    """

    table: pd.DataFrame
    atoms: list[NDArray[np.int64]]
    names: list[list[str]]
    hydrogen: list[NDArray[np.bool_]]
    elements: list[list[str]]

    def __len__(self) -> int:
        return len(self.table)

    def by_name(self, residue: int) -> dict[str, int]:
        """Atom name -> number; the first of alternate locations."""
        numbers = self.atoms[residue].tolist()
        return dict(zip(reversed(self.names[residue]), reversed(numbers), strict=True))

    def heavy_atoms(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of all atoms but hydrogen, and the residue of each."""
        heavy = [atoms[~light] for atoms, light in zip(self.atoms, self.hydrogen, strict=True)]
        owner = np.repeat(np.arange(len(heavy)), [part.size for part in heavy])
        return np.concatenate([*heavy, np.empty(0, np.int64)]), owner.astype(np.int64)

    def structure(self, positions: NDArray[np.float64]) -> NDArray[Any]:
        """All atoms as an array of type ``STRUCTURE``; ``positions``: of all of them, in order."""
        owner = np.repeat(np.arange(len(self)), [part.size for part in self.atoms])
        result = np.zeros(owner.size, dtype=STRUCTURE)
        for key in ("resname", "chain", "resid", "icode"):
            result[key] = self.table[key].to_numpy()[owner]
        result["name"] = [name for names in self.names for name in names]
        result["element"] = [element for elements in self.elements for element in elements]
        result["residue"] = owner
        result["position"] = positions
        return result


def residues_of(universe: Any, atoms: NDArray[np.int64]) -> Residues:
    """The residues that hold at least one of ``atoms``."""
    group = universe.atoms[atoms].residues
    chains = _chains(group)
    resnames = _texts(group, "resnames")
    icodes = _texts(group, "icodes")
    resids = np.asarray(getattr(group, "resids", np.arange(1, len(group) + 1)))
    labels = [
        f"{chain}:" * bool(chain) + f"{resname}{resid}{icode}"
        for chain, resname, resid, icode in zip(chains, resnames, resids, icodes, strict=True)
    ]
    table = pd.DataFrame(
        {
            "chain": chains,
            "resid": resids.astype(np.int32),
            "icode": icodes,
            "resname": resnames,
            "label": unique_names(labels),
        }
    )
    parts = [residue.atoms for residue in group]
    names = [_texts(part, "names") for part in parts]
    return Residues(
        table,
        [np.asarray(part.indices, dtype=np.int64) for part in parts],
        names,
        [_hydrogen(part, own) for part, own in zip(parts, names, strict=True)],
        [_elements(part, own) for part, own in zip(parts, names, strict=True)],
    )


def selected_residues(
    config: TrajectoryCorrelationConfig, source: Trajectories
) -> tuple[NDArray[np.int64], Residues]:
    """Numbers of the atoms that a section selects, and their residues.

    Raises
    ------
    ConfigError, InputError
        As ``Trajectories.select``.
    """
    atoms = source.select(config.select, "select")
    return atoms, residues_of(source.universe, atoms)


def unique_names(names: Sequence[str]) -> list[str]:
    """``names``, those that were there before with ``#2``, ``#3``, ... added."""
    seen: dict[str, int] = {}
    result, taken = [], set(names)
    for name in names:
        number = seen[name] = seen.get(name, 0) + 1
        unique = name
        while number > 1 and unique in taken:
            unique = f"{name}#{number}"
            number += 1
        taken.add(unique)
        result.append(unique)
    return result


def domains_of(residues: Residues, selected: Mapping[str, NDArray[np.int64]]) -> list[str]:
    """The domain of each residue: the first of ``selected`` with one of its atoms, or ``""``."""
    result = [""] * len(residues)
    for name, atoms in reversed(list(selected.items())):
        for k, own in enumerate(residues.atoms):
            if np.isin(own, atoms, assume_unique=True).any():
                result[k] = name
    return result


def secondary_structure(residues: Residues, positions: NDArray[np.float64]) -> list[str]:
    """H (helix), E (strand) or - of each residue by its backbone's hydrogen bonds (DSSP, Kabsch
    and Sander 1983, as MDAnalysis computes it); ``""`` where N, CA, C or O is missing.

    ``positions``: of all atoms of the topology.
    """
    from MDAnalysis.analysis.dssp.pydssp_numpy import assign

    backbone = ("N", "CA", "C")
    rows, places = [], []
    for k in range(len(residues)):
        names = residues.by_name(k)
        oxygen = next((names[o] for o in ("O", "OT1", "O1", "OC1") if o in names), None)
        if oxygen is not None and all(name in names for name in backbone):
            rows.append(k)
            places.append([*(names[name] for name in backbone), oxygen])
    result = [""] * len(residues)
    if len(rows) > 5:  # fewer cannot form a bond that DSSP counts
        states = assign(positions[np.array(places)])
        letters = np.array(["-", "H", "E"])[np.argmax(states, axis=1)]
        for k, letter in zip(rows, letters, strict=True):
            result[k] = str(letter)
    return result


def _chains(group: Any) -> list[str]:
    """Chain identifiers (of PDB and the like), else segment names."""
    found = [""] * len(group)
    if hasattr(group.atoms, "chainIDs"):
        found = [str(residue.atoms.chainIDs[0]).strip() for residue in group]
    segments = _texts(group, "segids")
    return [
        chain or ("" if segment in _NO_CHAIN else segment)
        for chain, segment in zip(found, segments, strict=True)
    ]


def _texts(group: Any, attribute: str) -> list[str]:
    values = getattr(group, attribute, None)
    return [""] * len(group) if values is None else [str(value).strip() for value in values]


def _elements(part: Any, names: Sequence[str]) -> list[str]:
    """As the topology says; else told by names, as those of proteins and nucleic acids can be."""
    letters = [name.lstrip("0123456789")[:1].upper() for name in names]
    guessed = [letter if len(names) > 1 and letter in "HCNOSP" else "" for letter in letters]
    return [a or b for a, b in zip(_texts(part, "elements"), guessed, strict=True)]


def _hydrogen(part: Any, names: Sequence[str]) -> NDArray[np.bool_]:
    masses = np.asarray(getattr(part, "masses", np.zeros(len(names))))
    first = np.array([name.lstrip("0123456789")[:1].upper() for name in names])
    result: NDArray[np.bool_] = (masses < _LIGHT) & (
        (first == "H") | ((first == "D") & (masses > 1.5))
    )
    return result
