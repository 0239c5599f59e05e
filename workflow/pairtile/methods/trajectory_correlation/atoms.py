"""What atoms are where a structure leaves it open: alternate positions, calcium, masses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairtile.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup, Universe

Place = Int64Array

CALCIUM = ("CA", "CAL", "CA2+")
"""Names of residues that are a calcium ion."""

_NO_LETTER = ("", ".", "?")
_PLACE = ["segids", "chainIDs", "resids", "icodes"]
_TWO_LETTERS = ("CL", "BR", "SE")
_ASKS_FOR_IONS = re.compile(r"\b(resname|element|type|index|bynum|id)\b")
_C_ALPHAS = re.compile(r"\bname\s[^()]*\bCA\b")


def texts(group: AtomGroup | ResidueGroup, attribute: str) -> list[str]:
    """An attribute of MDAnalysis as text without blanks around it; empty where there is none."""
    values = getattr(group, attribute, None)
    return [""] * len(group) if values is None else [str(value).strip() for value in values]


def alternate_positions(universe: Universe, chosen: Place) -> Place:
    """Numbers of the atoms to leave out so that each residue is in one place.

    Of the alternate locations of a residue that stays which ``chosen`` (numbers of atoms) alone
    have; else that of the highest mean occupancy; else the first. Residues of different names at
    one number are alternates, too.
    """
    letters = np.array(texts(universe.atoms, "altLocs"), dtype=object)
    marked = np.flatnonzero(~np.isin(letters, _NO_LETTER))
    group = universe.atoms[marked]
    if not marked.size:
        return marked
    table = pd.DataFrame({key: texts(group, key) for key in _PLACE})
    table["letter"] = letters[marked]
    table["chosen"] = np.isin(marked, chosen)
    table["occupancy"] = np.asarray(getattr(group, "occupancies", np.zeros(marked.size)))
    by_letter = table.groupby([*_PLACE, "letter"], sort=False)
    found = by_letter.agg({"chosen": "max", "occupancy": "mean"}).reset_index()
    best = found.sort_values(["chosen", "occupancy"], ascending=False).drop_duplicates(_PLACE)
    stays = table.merge(best[[*_PLACE, "letter"]], how="left", indicator=True)["_merge"] == "both"
    return marked[~stays.to_numpy()]


def calcium_ions(universe: Universe, atoms: Place, selection: str) -> Place:
    """The calcium ions among ``atoms`` where ``selection`` means C-alphas: it has ``name CA`` and
    speaks of no residue or element, or (an empty one) all atoms are called CA."""
    group = universe.atoms[atoms]
    names = texts(group, "names")
    means_alphas = _C_ALPHAS.search(selection) if selection else set(names) == {"CA"}
    if not means_alphas or _ASKS_FOR_IONS.search(selection):
        return atoms[:0]
    residue = np.char.upper(np.array(texts(group, "resnames"), dtype=np.str_))
    element = np.char.upper(np.array(texts(group, "elements"), dtype=np.str_))
    ions = np.isin(residue, CALCIUM) | (element == "CA")
    return atoms[:0] if ions.all() else atoms[ions]


@cache
def _masses() -> dict[str, float]:
    """Atomic masses in u, by symbols in capitals."""
    from MDAnalysis.guesser.tables import masses

    return {symbol.upper(): mass for symbol, mass in masses.items()} | {"D": 2.014}


def guessed_element(name: str) -> str:
    """By the name of an atom of a residue of several, as those of proteins, nucleic acids and
    ligands are called; ``""`` where it is none of these, as those of coarse-grained beads."""
    letters = "".join(takewhile(str.isalpha, name.lstrip("0123456789").upper()))
    if letters[:2] in _TWO_LETTERS:
        return letters[:2]
    if letters[:1] in tuple("HCNOSP"):
        return letters[:1]
    return letters if letters in _masses() else ""


def masses_of(elements: Sequence[str]) -> Float64Array:
    """Atomic masses in u; NaN for what is no element."""
    return np.array([_masses().get(element.upper(), np.nan) for element in elements])
