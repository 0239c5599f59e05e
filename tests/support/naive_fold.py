"""Minimum free energy of one string, plain and slow: the reference for the fast kernels.

Two readings of the same model, written apart from each other and from the kernels:

``energy_of_structure``  the energy of a structure given in brackets, loop by loop
``fold``                 the best structure's energy, by recursion over intervals

The model is Zuker & Stiegler (1981) with Turner 1999 tables: hairpins of at least three bases,
interior loops and bulges of at most 30, multiloops linear in their branches. A single base next to
a helix in a multiloop or outside of all pairs may stack on it ("dangle"), 5' or 3' or both, but
each base on one helix only; the best choice counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from math import inf

from pairtile.methods.mirna_targets.energy import (
    MAX_ASYMMETRY_PENALTY,
    Turner1999,
    hairpin_initiation,
)

TYPES = {"CG": 1, "GC": 2, "GU": 3, "UG": 4, "AU": 5, "UA": 6, "KX": 1, "XK": 2}
STACKING_BASE = {"A": 1, "C": 2, "G": 3, "U": 4, "X": 3, "K": 2}


class Model:
    """Loop energies of one string, in 0.01 kcal/mol. Positions count from 0."""

    def __init__(self, text: str, tables: Turner1999) -> None:
        self.text = text
        self.n = len(text)
        letters = text.upper().replace("T", "U")
        self.letters = letters
        self.base = [STACKING_BASE.get(letter, 0) for letter in letters]
        self.t = tables
        self.initiation = hairpin_initiation(tables, max(self.n, 30)).tolist()
        self.terminal_au = int(tables["TERMINAL"][3])
        self.asymmetry = int(tables["ASYMMETRY"][1])
        self.multiloop_branch = int(tables["MULTILOOP_BRANCH"][0])
        self.multiloop_closing = int(tables["MULTILOOP_CLOSING"][0])

    def type(self, i: int, j: int) -> int:
        """Type of the pair (i, j) in this direction; 0 where the letters do not pair."""
        return TYPES.get(self.letters[i] + self.letters[j], 0)

    def end(self, kind: int) -> int:
        return self.terminal_au if kind > 2 else 0

    def hairpin(self, i: int, j: int) -> int:
        t, kind, size = self.t, self.type(i, j), j - i - 1
        energy: int = self.initiation[size]
        if size == 3:
            return energy + self.end(kind)
        six = self.text[i : j + 1]
        if size == 4 and set(six) <= set("ACGU"):
            index = 0
            for letter in six:
                index = 4 * index + "ACGU".index(letter)
            energy += int(t["TETRALOOP"][index])
        return energy + int(t["MISMATCH_HAIRPIN"][kind, self.base[i + 1], self.base[j - 1]])

    def interior(self, i: int, j: int, p: int, q: int) -> int:
        """Stack, bulge or interior loop between the pairs (i, j) and (p, q)."""
        t, b = self.t, self.base
        left, right = p - i - 1, j - q - 1
        outer, inner = self.type(i, j), self.type(q, p)
        size = left + right
        if size == 0:
            return int(t["STACK"][outer, inner])
        if left == 0 or right == 0:
            if size == 1:
                return int(t["BULGE"][1] + t["STACK"][outer, inner])
            return int(t["BULGE"][size]) + self.end(outer) + self.end(inner)
        if (left, right) == (1, 1):
            return int(t["INTERIOR_1X1"][outer, inner, b[i + 1], b[j - 1]])
        if (left, right) == (1, 2):
            return int(t["INTERIOR_2X1"][outer, inner, b[i + 1], b[q + 1], b[j - 1]])
        if (left, right) == (2, 1):
            return int(t["INTERIOR_2X1"][inner, outer, b[q + 1], b[i + 1], b[p - 1]])
        if (left, right) == (2, 2):
            return int(t["INTERIOR_2X2"][outer, inner, b[i + 1], b[p - 1], b[q + 1], b[j - 1]])
        return int(
            t["INTERIOR"][size]
            + min(MAX_ASYMMETRY_PENALTY, self.asymmetry * abs(left - right))
            + t["MISMATCH_INTERIOR"][outer, b[i + 1], b[j - 1]]
            + t["MISMATCH_INTERIOR"][inner, b[q + 1], b[p - 1]]
        )

    def branch(self, i: int, j: int, five: bool, three: bool) -> int:
        """End of the helix (i, j) seen from outside, with the dangling bases that are asked for."""
        kind = self.type(i, j)
        energy = self.end(kind)
        if five:
            energy += int(self.t["DANGLE5"][kind, self.base[i - 1]])
        if three:
            energy += int(self.t["DANGLE3"][kind, self.base[j + 1]])
        return energy

    def closing(self, i: int, j: int, five: bool, three: bool) -> int:
        """The pair that closes a multiloop: the same, seen from inside. Its 5' dangle is the base
        before j, its 3' dangle the base behind i."""
        kind = self.type(j, i)
        energy = self.end(kind) + self.multiloop_closing + self.multiloop_branch
        if five:
            energy += int(self.t["DANGLE5"][kind, self.base[j - 1]])
        if three:
            energy += int(self.t["DANGLE3"][kind, self.base[i + 1]])
        return energy


def fold(text: str, tables: Turner1999) -> int:
    """Minimum free energy in 0.01 kcal/mol."""
    m = Model(text, tables)
    choices = list(itertools.product((False, True), repeat=2))

    @cache
    def paired(i: int, j: int) -> float:
        """Best energy of i..j with i and j paired to each other."""
        if j - i < 4 or not m.type(i, j):
            return inf
        best: float = m.hairpin(i, j)
        for p in range(i + 1, min(i + 32, j - 4)):
            for q in range(j - 1, max(p + 3, j - 32 + (p - i - 1)), -1):
                inner = paired(p, q)
                if inner < inf:
                    best = min(best, inner + m.interior(i, j, p, q))
        for five, three in choices:
            first, last = i + 1 + three, j - 1 - five
            if last - first >= 9:
                best = min(best, m.closing(i, j, five, three) + branches(first, last, 2))
        return best

    @cache
    def branches(i: int, j: int, least: int) -> float:
        """Best energy of the stretch i..j inside a multiloop with at least that many branches."""
        if j < i:
            return inf if least else 0
        best = branches(i + 1, j, least)
        for five, three in choices:
            for q in range(i + five + 4, j - three + 1):
                helix = paired(i + five, q)
                if helix < inf:
                    rest = branches(q + 1 + three, j, max(least - 1, 0))
                    best = min(
                        best,
                        m.multiloop_branch + m.branch(i + five, q, five, three) + helix + rest,
                    )
        return best

    @cache
    def outside(i: int) -> float:
        """Best energy of everything from i on."""
        if i >= m.n:
            return 0
        best = outside(i + 1)
        for five, three in choices:
            for q in range(i + five + 4, m.n - three):
                helix = paired(i + five, q)
                if helix < inf:
                    rest = outside(q + 1 + three)
                    best = min(best, m.branch(i + five, q, five, three) + helix + rest)
        return best

    # Short intervals first, so that no recursion goes deep.
    for span in range(4, m.n):
        for i in range(m.n - span):
            paired(i, i + span)
    for i in range(m.n, -1, -1):
        outside(i)
    return int(outside(0))


def energy_of_structure(text: str, structure: str, tables: Turner1999) -> int:
    """Energy in 0.01 kcal/mol of a structure in dot-bracket form, with the best dangles."""
    m = Model(text, tables)
    partner: dict[int, int] = {}
    opened: list[int] = []
    for place, sign in enumerate(structure):
        if sign == "(":
            opened.append(place)
        elif sign == ")":
            partner[opened.pop()] = place

    def helices(first: int, last: int) -> list[tuple[int, int]]:
        """Outermost pairs between two places."""
        found = []
        place = first
        while place <= last:
            if place in partner:
                found.append((place, partner[place]))
                place = partner[place]
            place += 1
        return found

    energy = _with_best_dangles(m, helices(0, m.n - 1), None)
    for i, j in partner.items():
        inner = helices(i + 1, j - 1)
        if not inner:
            energy += m.hairpin(i, j)
        elif len(inner) == 1:
            energy += m.interior(i, j, *inner[0])
        else:
            energy += _with_best_dangles(m, inner, (i, j))
    return energy


def _with_best_dangles(
    m: Model, helices: list[tuple[int, int]], closing: tuple[int, int] | None
) -> int:
    """Energy of an open loop (outside or multiloop), every choice of dangles tried."""
    taken = {place for helix in helices for place in helix} | set(closing or ())
    ends = [(m.branch, i, j, i - 1, j + 1) for i, j in helices]
    if closing is not None:
        ends.append((m.closing, *closing, closing[1] - 1, closing[0] + 1))

    def best(k: int, used: frozenset[int]) -> float:
        if k == len(ends):
            return 0
        function, i, j, before, behind = ends[k]
        result = inf
        for five, three in itertools.product((False, True), repeat=2):
            bases = [place for place, wanted in ((before, five), (behind, three)) if wanted]
            if len(set(bases)) < len(bases) or any(
                not 0 <= place < m.n or place in taken | used for place in bases
            ):
                continue
            result = min(result, function(i, j, five, three) + best(k + 1, used | set(bases)))
        return result

    loose = best(0, frozenset())
    return int(loose) + (m.multiloop_branch * len(helices) if closing is not None else 0)


def structures(text: str, tables: Turner1999) -> Iterator[str]:
    """Every structure of a short string in dot-bracket form."""
    m = Model(text, tables)

    def of(i: int, j: int) -> Iterator[str]:
        if i > j:
            yield ""
            return
        for rest in of(i + 1, j):
            yield "." + rest
        for q in range(i + 4, j + 1):
            if m.type(i, q):
                for inside in of(i + 1, q - 1):
                    for rest in of(q + 1, j):
                        yield "(" + inside + ")" + rest

    return of(0, m.n - 1)
