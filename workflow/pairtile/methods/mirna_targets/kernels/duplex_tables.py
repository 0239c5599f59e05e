"""What both duplex energy kernels are given: letter codes, pair types, one array of energies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.turner_1999 import (
    BASES,
    LARGEST_ASYMMETRY,
    LARGEST_LOOP,
    PAIR_TYPES,
    Turner1999,
    hairpin_initiation,
)

_T, _B = PAIR_TYPES, BASES
_ORDER: dict[str, tuple[int, ...]] = {
    "STACK": (_T, _T),
    "MISMATCH_HAIRPIN": (_T, _B, _B),
    "MISMATCH_INTERIOR": (_T, _B, _B),
    "DANGLE5": (_T, _B),
    "DANGLE3": (_T, _B),
    "TERMINAL": (_T,),
    "BULGE": (LARGEST_LOOP + 1,),
    "INTERIOR": (LARGEST_LOOP + 1,),
    "ASYMMETRY": (LARGEST_LOOP + 1,),
    "MULTILOOP_CLOSING": (1,),
    "MULTILOOP_BRANCH": (1,),
    "INTERIOR_1X1": (_T, _T, _B, _B),
    "INTERIOR_2X1": (_T, _T, _B, _B, _B),
    "TETRALOOP": (4**6,),
    "INTERIOR_2X2": (_T, _T, _B, _B, _B, _B),
}
"""Tables in their order in the array, each in row-major order: the small, busy ones come first."""

OFFSETS: dict[str, int] = {}
"""Where each table starts; HAIRPIN, whose length depends on the strings, comes last."""

_place = 0
for _name, _shape in _ORDER.items():
    OFFSETS[_name] = _place
    _place += math.prod(_shape)
OFFSETS["HAIRPIN"] = _place


def pack(tables: Turner1999, longest: int) -> NDArray[np.int32]:
    """All energies that the kernels look up, for strings of up to ``longest`` letters."""
    terminal = np.where(np.arange(PAIR_TYPES) > 2, tables.terminal_au, 0)
    parts: dict[str, NDArray[Any] | int] = {
        "STACK": tables.stack,
        "MISMATCH_HAIRPIN": tables.mismatch_hairpin,
        "MISMATCH_INTERIOR": tables.mismatch_interior,
        "DANGLE5": tables.dangle5,
        "DANGLE3": tables.dangle3,
        "TERMINAL": terminal,
        "BULGE": tables.bulge,
        "INTERIOR": tables.interior,
        "ASYMMETRY": np.minimum(LARGEST_ASYMMETRY, tables.asymmetry * np.arange(LARGEST_LOOP + 1)),
        "MULTILOOP_CLOSING": tables.multiloop_closing,
        "MULTILOOP_BRANCH": tables.multiloop_branch,
        "INTERIOR_1X1": tables.interior_1x1,
        "INTERIOR_2X1": tables.interior_2x1,
        "TETRALOOP": tables.tetraloop,
        "INTERIOR_2X2": tables.interior_2x2,
    }
    flat = [np.broadcast_to(parts[name], shape).ravel() for name, shape in _ORDER.items()]
    flat.append(hairpin_initiation(tables, max(longest, LARGEST_LOOP)))
    return np.concatenate(flat).astype(np.int32)


def letter_codes() -> NDArray[np.uint8]:
    """(3, 256): what a letter counts as, by its ASCII code.

    Row 0, for pairing: 0 nothing, 1 A, 2 C, 3 G, 4 U or T, 5 X, 6 K. Row 1, next to a pair: 0 to
    4, where X counts as G and K as C. Row 2, in tetraloops: A C G U are 0 1 2 3, all else is 4;
    lower case and T do not count there. Any other letter is no base.
    """
    codes = np.zeros((3, 256), np.uint8)
    codes[2] = 4
    pairing = {"A": 1, "C": 2, "G": 3, "U": 4, "T": 4, "X": 5, "K": 6}
    neighbour = {**pairing, "X": 3, "K": 2}
    for letter in pairing:
        for place in ord(letter), ord(letter.lower()):
            codes[0, place] = pairing[letter]
            codes[1, place] = neighbour[letter]
    for code, letter in enumerate("ACGU"):
        codes[2, ord(letter)] = code
    return codes


def pair_types() -> NDArray[np.uint8]:
    """(7, 7): type of the pair of two letters, by their codes for pairing; 0 where they do not
    pair. X pairs with nothing but K."""
    letters = ".ACGUXK"
    types = np.zeros((len(letters), len(letters)), np.uint8)
    for kind, pairs in enumerate(["CG KX", "GC XK", "GU", "UG", "AU", "UA"], start=1):
        for pair in pairs.split():
            types[letters.index(pair[0]), letters.index(pair[1])] = kind
    return types
