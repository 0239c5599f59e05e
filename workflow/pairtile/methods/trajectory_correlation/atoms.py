"""What atoms are where a structure leaves it open: alternate positions, calcium, modified residues,
chains, masses."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, islice, takewhile
from itertools import count as count_from
from string import ascii_uppercase
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairtile.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup, Universe

OXYGENS = ("O", "OT1", "O1", "OC1")
"""Names of the oxygen of the backbone."""

CALCIUM = ("CA", "CAL", "CA2+")
"""Names of residues that are a calcium ion."""

NO_CHAIN = {"", "SYSTEM"}
_PLACE = ["segids", "chainIDs", "resids", "icodes"]


def texts(group: AtomGroup | ResidueGroup, attribute: str) -> list[str]:
    """An attribute of MDAnalysis as text without blanks around it; empty where there is none."""
    values = getattr(group, attribute, None)
    return [""] * len(group) if values is None else [str(value).strip() for value in values]


def alternate_positions(universe: Universe, chosen: Int64Array) -> Int64Array:
    """Numbers of the atoms to leave out so that each residue is in one place.

    Of the alternate locations of a residue that stays which ``chosen`` (numbers of atoms) alone
    have; else that of the highest mean occupancy; else the first. Residues of different names at
    one number are alternates, too.
    """
    letters = np.array(texts(universe.atoms, "altLocs"), dtype=object)
    marked = np.flatnonzero(~np.isin(letters, ("", ".", "?")))
    group = universe.atoms[marked]
    if not marked.size:
        return marked
    table = pd.DataFrame({key: texts(group, key) for key in _PLACE}).assign(
        letter=letters[marked],
        chosen=np.isin(marked, chosen),
        occupancy=np.asarray(getattr(group, "occupancies", np.zeros(marked.size))),
    )
    by_letter = table.groupby([*_PLACE, "letter"], sort=False)
    found = by_letter.agg({"chosen": "max", "occupancy": "mean"}).reset_index()
    best = found.sort_values(["chosen", "occupancy"], ascending=False).drop_duplicates(_PLACE)
    stays = table.merge(best[[*_PLACE, "letter"]], how="left", indicator=True)["_merge"] == "both"
    return marked[~stays.to_numpy()]


def calcium_ions(universe: Universe, atoms: Int64Array, selection: str) -> Int64Array:
    """The calcium ions among ``atoms`` where ``selection`` means C-alphas: it has ``name CA`` and
    speaks of no residue or element, or (an empty one) all atoms are called CA."""
    group = universe.atoms[atoms]
    names = texts(group, "names")
    means_alphas = (
        re.search(r"\bname\s[^()]*\bCA\b", selection) if selection else set(names) == {"CA"}
    )
    if not means_alphas or re.search(r"\b(resname|element|type|index|bynum|id)\b", selection):
        return atoms[:0]
    residue = np.char.upper(np.array(texts(group, "resnames"), dtype=np.str_))
    element = np.char.upper(np.array(texts(group, "elements"), dtype=np.str_))
    ions = np.isin(residue, CALCIUM) | (element == "CA")
    return atoms[:0] if ions.all() else atoms[ions]


def modified_residues(universe: Universe) -> Int64Array:
    """Numbers of the atoms of residues of a protein that MDAnalysis does not know by name, such as
    phosphorylated ones: they have N, CA, C and O, or nothing but a C-alpha."""
    atoms = universe.atoms
    names, residue = pd.Series(texts(atoms, "names")), atoms.resindices
    rows = np.arange(len(universe.residues))

    def with_atom(*called: str) -> BoolArray:
        return np.isin(rows, residue[names.isin(called)])

    alone = (np.bincount(residue, minlength=rows.size) == 1) & with_atom("CA")
    ions = np.isin(np.char.upper(texts(universe.residues, "resnames")), CALCIUM)
    ions[residue[pd.Series(texts(atoms, "elements")).isin(["Ca", "CA"])]] = True
    whole = with_atom("N") & with_atom("CA") & with_atom("C") & with_atom(*OXYGENS)
    whole |= alone & ~ions
    whole[universe.select_atoms("protein").residues.resindices] = False
    return np.flatnonzero(whole[residue])


def chain_names(group: ResidueGroup) -> list[str]:
    """Chain identifiers (of PDB and the like), else segment names, made readable; where residue
    numbers begin again within one, as in GROMACS files of several molecules, each part (of two
    residues or more) is a chain of its own: ``A``, ``B``, ... of the nameless, else ``A``, ``A2``,
    ``A3``, ..."""
    found = [""] * len(group)
    if hasattr(group.atoms, "chainIDs"):
        found = [str(residue.atoms.chainIDs[0]).strip() for residue in group]
    segments = texts(group, "segids")
    # Segments of GROMACS' .tpr files: "seg_0_Protein_chain_A" is A.
    prefix = r"^seg_\d+_(?:(?:Protein|DNA|RNA|Other)(?:_chain)?_?)?(?=\w*$)"
    short = {name: re.sub(prefix, "", name) for name in segments}
    if len(set(short.values())) == len(short):  # they tell the segments apart
        segments = [short[name] for name in segments]
    named = np.array(
        [
            own or ("" if segment in NO_CHAIN else segment)
            for own, segment in zip(found, segments, strict=True)
        ],
        dtype=object,
    )
    resids = np.asarray(getattr(group, "resids", np.zeros(len(group))))
    taken = set(named)
    for name in dict.fromkeys(named):
        rows = np.flatnonzero(named == name)
        part = np.cumsum(np.diff(resids[rows], prepend=-np.inf) < 0)
        sizes = np.bincount(part)
        if sizes.size < 2 or sizes.min() < 2:
            continue
        # A2, A3, ... after A; A to Z, A2, ... after none.
        letters = [name] if name else ascii_uppercase
        numbered = (f"{letter}{number}" for number in count_from(2) for letter in letters)
        more = numbered if name else chain(ascii_uppercase, numbered)
        free = (new for new in more if new not in taken)
        labels = [*([name] * bool(name)), *islice(free, sizes.size)]
        named[rows] = np.array(labels, dtype=object)[part]
    return list(named)


@cache
def atomic_masses() -> dict[str, float]:
    """Atomic masses in u, by symbols in capitals."""
    from MDAnalysis.guesser.tables import masses

    return {symbol.upper(): mass for symbol, mass in masses.items()} | {"D": 2.014}


def guessed_element(name: str) -> str:
    """By the name of an atom of a residue of several, as those of proteins, nucleic acids and
    ligands are called; ``""`` where it is none of these, as those of coarse-grained beads."""
    letters = "".join(takewhile(str.isalpha, name.lstrip("0123456789").upper()))
    if letters[:2] in ("CL", "BR", "SE"):
        return letters[:2]
    if letters[:1] in tuple("HCNOSP"):
        return letters[:1]
    return letters if letters in atomic_masses() else ""
