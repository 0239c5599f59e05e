"""Turner 1999 energy tables at a chosen temperature, taken from the ViennaRNA package at run time.

The package carries the 1999 free energies (37 C) and enthalpies as a parameter file in text form.
Reading that text, instead of loading it into the library, leaves the library's own settings (Turner
2004) as they are.

Source: Mathews, Sabina, Zuker & Turner, J. Mol. Biol. 288 (1999), 911-940. The rounding is that of
RNAlib 1.5, which miRanda 3.3a is built on: everything is an integer of 0.01 kcal/mol, cut towards
zero after scaling.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.viennarna import package

Energies = NDArray[np.int32]

BASES = 5
"""Base codes of the tables: 0 no base, 1 A, 2 C, 3 G, 4 U."""

PAIR_TYPES = 7
"""Types of base pairs (5' base, 3' base): 0 none, 1 CG, 2 GC, 3 GU, 4 UG, 5 AU, 6 UA."""

LARGEST_LOOP = 30
"""Unpaired bases in the largest interior loop or bulge; longer hairpins are extrapolated."""

LARGEST_ASYMMETRY = 300
"""Cap on the penalty for an interior loop with sides of unequal length; not scaled."""

INFINITE = 1_000_000
"""The parameter file's INF."""

DEFAULT_ENTHALPY = -50
"""The parameter file's DEF."""


class Turner1999(NamedTuple):
    """Energies in 0.01 kcal/mol, int32. A pair's type is that of (5' base, 3' base) seen from the
    loop it closes; the second pair of a loop is read from the loop too, hence from inside out."""

    stack: Energies
    """(7, 7): type of the outer pair, type of the inner pair."""
    mismatch_hairpin: Energies
    """(7, 5, 5): type, base after the pair's 5' base, base before its 3' base."""
    mismatch_interior: Energies
    """(7, 5, 5): the same, in interior loops."""
    dangle5: Energies
    """(7, 5): type, single base before the pair's 5' base. Never positive."""
    dangle3: Energies
    """(7, 5): type, single base behind the pair's 3' base. Never positive."""
    interior_1x1: Energies
    """(7, 7, 5, 5): outer type, inner type, base on the 5' side, base on the 3' side."""
    interior_2x1: Energies
    """(7, 7, 5, 5, 5): outer type, inner type, the base of the short 5' side, then the two bases
    of the long 3' side: the one next to the inner pair, the one next to the outer pair."""
    interior_2x2: Energies
    """(7, 7, 5, 5, 5, 5): outer type, inner type, the four bases in 5' to 3' order."""
    hairpin: Energies
    """(31,): initiation by number of unpaired bases; see ``hairpin_initiation`` beyond 30."""
    bulge: Energies
    """(31,)"""
    interior: Energies
    """(31,)"""
    tetraloop: Energies
    """(4096,): bonus by the six bases of a hairpin of four, two bits each (A C G U = 0 1 2 3),
    the first base highest."""
    asymmetry: int
    """Penalty for each base that one side of an interior loop has more than the other."""
    terminal_au: int
    """Penalty for a helix that ends in a pair other than CG and GC; the same at all
    temperatures."""
    multiloop_closing: int
    multiloop_branch: int
    extrapolation: float
    """A hairpin of n > 30 bases costs ``hairpin[30] + int(extrapolation * log(n / 30))``."""


def hairpin_initiation(tables: Turner1999, size: int) -> Energies:
    """Initiation of hairpins of 0..size unpaired bases: the table, extrapolated beyond 30."""
    longer = [
        int(tables.hairpin[LARGEST_LOOP])
        + int(tables.extrapolation * math.log(n / float(LARGEST_LOOP)))
        for n in range(LARGEST_LOOP + 1, size + 1)
    ]
    return np.concatenate([tables.hairpin, np.array(longer, np.int32)])[: size + 1]


def turner_1999(celsius: float = 30.0) -> Turner1999:
    """The tables at a temperature. Raises ConfigError where ViennaRNA is not installed."""
    return _tables(float(celsius))


@cache
def _tables(celsius: float) -> Turner1999:
    text = _parameter_file()
    factor = (celsius + 273.15) / (37.0 + 273.15)

    def scaled(free: NDArray[np.int64], enthalpy: NDArray[np.int64]) -> Energies:
        return np.trunc(enthalpy - (enthalpy - free) * factor).astype(np.int32)

    def table(name: str, *shape: int) -> Energies:
        return scaled(_numbers(text, name, shape), _numbers(text, f"{name}_enthalpies", shape))

    def entropic(name: str) -> Energies:
        return np.trunc(_numbers(text, name, (31,)) * factor).astype(np.int32)

    # The file's seventh type is a pair of no kind; it takes the place of type 0 here, unused.
    def by_type(values: Energies) -> Energies:
        out = np.zeros((PAIR_TYPES, *values.shape[1:]), np.int32)
        out[1:] = values[:6]
        return out

    def by_two_types(values: Energies) -> Energies:
        out = np.zeros((PAIR_TYPES, PAIR_TYPES, *values.shape[2:]), np.int32)
        out[1:, 1:] = values[:6, :6]
        return out

    misc = text["Misc"]
    _, _, closing, _, branch, _ = (int(word) for word in text["ML_params"])
    return Turner1999(
        stack=by_two_types(table("stack", 7, 7)),
        mismatch_hairpin=by_type(table("mismatch_hairpin", 7, 5, 5)),
        mismatch_interior=by_type(table("mismatch_internal", 7, 5, 5)),
        dangle5=np.minimum(by_type(table("dangle5", 7, 5)), 0),
        dangle3=np.minimum(by_type(table("dangle3", 7, 5)), 0),
        interior_1x1=by_two_types(table("int11", 7, 7, 5, 5)),
        interior_2x1=by_two_types(table("int21", 7, 7, 5, 5, 5)),
        interior_2x2=by_two_types(scaled(*_interior_2x2(text))),
        hairpin=entropic("hairpin"),
        bulge=entropic("bulge"),
        interior=entropic("internal"),
        tetraloop=_tetraloops(text, factor),
        asymmetry=int(int(text["NINIO"][0]) * factor),
        terminal_au=int(misc[2]),
        multiloop_closing=int(closing * factor),
        multiloop_branch=int(branch * factor),
        extrapolation=float(misc[4]) * factor,
    )


def _interior_2x2(text: dict[str, list[str]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Free energies and enthalpies (6, 6, 5, 5, 5, 5) of 2x2 loops.

    The file has no entries for loops with a missing base. RNAlib 1.5 gives them one free energy
    and, as all others, an enthalpy that is the sum of two mismatches; its mismatches there are
    those of hairpins, 0.01 kcal/mol higher, but for UA with U and U.
    """
    free = np.full((6, 6, 5, 5, 5, 5), 340, np.int64)
    free[:, :, 1:, 1:, 1:, 1:] = _numbers(text, "int22", (6, 6, 4, 4, 4, 4))
    mismatch = _numbers(text, "mismatch_hairpin_enthalpies", (7, 5, 5))[:6].copy()
    mismatch[:, 1:, 1:] += 1
    mismatch[5, 4, 4] -= 1
    mismatch[:, 0, :] = 0
    mismatch[:, 1:, 0] = DEFAULT_ENTHALPY
    # Bases a b c d in 5' to 3' order: a and d are next to the first pair, c and b to the second.
    first = mismatch[:, None, :, None, None, :]
    second = mismatch.transpose(0, 2, 1)[None, :, None, :, :, None]
    enthalpy = np.broadcast_to(first + second, free.shape).copy()
    enthalpy[:, :, 1:, 1:, 1:, 1:] = _numbers(text, "int22_enthalpies", (6, 6, 4, 4, 4, 4))
    return free, enthalpy


def _tetraloops(text: dict[str, list[str]], factor: float) -> Energies:
    """Bonuses on top of a hairpin of four. The file holds whole loops: initiation, mismatch of the
    closing pair, bonus; scaling must act on the bonus alone."""
    mismatch = _numbers(text, "mismatch_hairpin", (7, 5, 5))
    mismatch_enthalpy = _numbers(text, "mismatch_hairpin_enthalpies", (7, 5, 5))
    initiation = int(text["hairpin"][4])
    types = {"CG": 0, "GC": 1, "GU": 2, "UG": 3, "AU": 4, "UA": 5}
    bonus = np.zeros(4**6, np.int32)
    words = text["Tetraloops"]
    for loop, free, enthalpy in zip(words[0::3], words[1::3], words[2::3], strict=True):
        code = ["ACGU".index(base) for base in loop]
        closing = types[loop[0] + loop[5]], code[1] + 1, code[4] + 1
        bonus_free = int(free) - initiation - int(mismatch[closing])
        bonus_enthalpy = int(enthalpy) - int(mismatch_enthalpy[closing])
        index = sum(base << (2 * (5 - place)) for place, base in enumerate(code))
        bonus[index] = int(bonus_enthalpy - (bonus_enthalpy - bonus_free) * factor)
    return bonus


def _numbers(text: dict[str, list[str]], name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    special = {"INF": INFINITE, "DEF": DEFAULT_ENTHALPY}
    values = [special[word] if word in special else int(word) for word in text[name]]
    return np.array(values, np.int64).reshape(shape)


def _parameter_file() -> dict[str, list[str]]:
    """Sections of the parameter file: name -> words, comments left out."""
    sections: dict[str, list[str]] = {}
    words: list[str] = []
    text = str(package().parameter_set_rna_turner1999)
    for line in re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).splitlines():
        if line.startswith("#"):
            words = sections.setdefault(line.strip("# "), [])
        else:
            words.extend(line.split())
    return sections
