"""Minimum free energy of strings on the CPU: the twin of ``duplex_energy.cu``, same recursions.

Energies of the intervals i..j of a string are found from short to long, all of one span d = j - i
together, since an interval reads shorter ones only. Matrices are kept by these diagonals: the
interval from i of span d lies at ``_begin(n, d) + i``, so that what the cells of a diagonal read of
another one is contiguous, and loops over a diagonal take many cells at a time. Spans below 4 cannot
hold a pair and are not stored. Strings are folded one by one, each thread with its own matrices.
All energies are integers of 0.01 kcal/mol, looked up in one array (``OFFSETS``).
"""

from __future__ import annotations

import itertools
import math

import numba
import numpy as np

from pairtile.cpu.threaded import threaded

# --- energies -----------------------------------------------------------------------------------

PAIR_TYPES = 7
"""Types of base pairs (5' base, 3' base): 0 none, 1 CG, 2 GC, 3 GU, 4 UG, 5 AU, 6 UA."""

MAX_LOOP = 30
"""Unpaired bases in the largest interior loop or bulge; longer hairpins are extrapolated."""

# Base codes of the tables: 0 no base, 1 A, 2 C, 3 G, 4 U.
_T, _B = PAIR_TYPES, 5
TABLES: dict[str, tuple[int, ...]] = {
    "STACK": (_T, _T),  # type of the outer pair, type of the inner pair
    "MISMATCH_HAIRPIN": (_T, _B, _B),  # type, base after its 5' base, base before its 3' base
    "MISMATCH_INTERIOR": (_T, _B, _B),  # the same, in interior loops
    "DANGLE5": (_T, _B),  # type, single base before the pair's 5' base; never positive
    "DANGLE3": (_T, _B),  # type, single base behind the pair's 3' base; never positive
    "TERMINAL": (_T,),  # type of the pair in which a helix ends
    "BULGE": (MAX_LOOP + 1,),
    "INTERIOR": (MAX_LOOP + 1,),
    "ASYMMETRY": (MAX_LOOP + 1,),  # bases that one side of a loop has more than the other
    "MULTILOOP_CLOSING": (1,),
    "MULTILOOP_BRANCH": (1,),
    "INTERIOR_1X1": (_T, _T, _B, _B),  # outer, inner type, base on the 5' side, on the 3' side
    # The base of the short 5' side, then the two of the long 3' side: the one next to the inner
    # pair, the one next to the outer pair.
    "INTERIOR_2X1": (_T, _T, _B, _B, _B),
    "TETRALOOP": (4**6,),  # six bases of a hairpin of four, two bits each, the first one highest
    "INTERIOR_2X2": (_T, _T, _B, _B, _B, _B),  # the four bases in 5' to 3' order
}
"""Tables in their order in the array, each in row-major order: the small, busy ones come first. A
pair's type is seen from the loop that it closes; the second pair of a loop is read from the loop
too, hence from inside out."""

_ends = itertools.accumulate(map(math.prod, TABLES.values()), initial=0)
OFFSETS: dict[str, int] = dict(zip([*TABLES, "HAIRPIN"], _ends, strict=True))
"""Where each table starts; HAIRPIN, whose length depends on the strings, comes last."""

# In the order of TABLES.
STACK, MISMATCH_HAIRPIN, MISMATCH_INTERIOR, DANGLE5, DANGLE3, TERMINAL, *_others = OFFSETS.values()
BULGE, INTERIOR, ASYMMETRY, MULTILOOP_CLOSING, MULTILOOP_BRANCH, *_others = _others
INTERIOR_1X1, INTERIOR_2X1, TETRALOOP, INTERIOR_2X2, HAIRPIN = _others

IMPOSSIBLE = 1 << 28
"""Energy of what cannot be. Large enough that no sum with real energies comes near them, small
enough that twice as much is still an int32."""

MIN_SPAN = 4
"""A hairpin has three bases at least."""


# --- folding ------------------------------------------------------------------------------------


@threaded()
def fold_strings(first, last, text, offsets, codes, types, tables, energies):  # type: ignore[no-untyped-def]
    """Minimum free energies of many strings.

    text       uint8 (total,): all strings, one behind the other
    offsets    int64 (strings + 1,)
    codes      uint8 (3, 256): for each letter its code in ``types``, in the tables, in tetraloops
    types      uint8 (7, 7): type of the pair of two letters
    tables     int32: energies in the order of ``TABLES``, then HAIRPIN
    energies   int32 (strings,): the result, in 0.01 kcal/mol
    """
    longest = 0
    for k in range(first, last):
        longest = max(longest, offsets[k + 1] - offsets[k])
    matrices = np.empty((5, _cells(longest)), np.int32)
    windows = np.full((2, MAX_LOOP + 1, longest + 1), IMPOSSIBLE, np.int32)
    rows = np.empty((3, longest + 1), np.int32)
    for k in range(first, last):
        string = text[offsets[k] : offsets[k + 1]]
        pair, base, tetra = codes[0][string], codes[1][string], codes[2][string]
        energies[k] = _minimum_free_energy(
            pair, base, tetra, types, tables, matrices, windows, rows
        )


@numba.njit(nogil=True)
def _minimum_free_energy(pair, base, tetra, types, tables, matrices, windows, rows):  # type: ignore[no-untyped-def]
    """Minimum free energy of one string of n letters, in 0.01 kcal/mol.

    pair, base, tetra  uint8 (n,): the three codes of each letter
    windows   int32 (2, 31, n + 1), scratch of ``large_loops``
    rows      int32 (3, n + 1), scratch
    matrices  int32 (5, cells), scratch. For each interval i..j the best energy
              0 paired    where i and j pair
              1 ended     the same, with the penalty of a helix that ends here
              2 facing    the same, with the mismatch that an interior loop around (i, j) sees
              3 branched  inside a multiloop, with one branch at least
              4 forked    inside a multiloop, as two stretches with one branch at least each
    """
    n = len(pair)
    paired, ended, facing, branched, forked = matrices
    bulged, inside, best_to = rows
    branched[: _cells(n)] = IMPOSSIBLE
    for d in range(MIN_SPAN, n):
        row = _begin(n, d)
        _join_stretches(d, n, branched, forked)
        _large_loops(d, n, ended, facing, windows, tables, bulged, inside)
        for i in range(n - d):
            j = i + d
            t = np.int64(types[pair[i], pair[j]])
            if t == 0:
                paired[row + i] = IMPOSSIBLE
                ended[row + i] = IMPOSSIBLE
                facing[row + i] = IMPOSSIBLE
                continue
            # The pair's type from inside. It faces outwards with t, inwards with this.
            inward = np.int64(types[pair[j], pair[i]])
            energy = _hairpin_loop(i, j, t, base, tetra, tables)
            if d >= MIN_SPAN + 2:
                energy = min(energy, _small_loops(i, j, t, pair, base, paired, types, tables))
                mismatch = tables[MISMATCH_INTERIOR + (t * 5 + base[i + 1]) * 5 + base[j - 1]]
                energy = min(energy, bulged[i] + tables[TERMINAL + t], inside[i] + mismatch)
            if d >= 2 * MIN_SPAN + 3:
                energy = min(energy, _multiloop(i, d, inward, n, base, forked, tables))
            end = energy + tables[TERMINAL + t]
            paired[row + i] = energy
            ended[row + i] = end
            facing[row + i] = IMPOSSIBLE
            if i > 0 and j + 1 < n:
                mismatch = MISMATCH_INTERIOR + (inward * 5 + base[j + 1]) * 5 + base[i - 1]
                facing[row + i] = energy + tables[mismatch]
            _add_branch(i, d, t, n, end + tables[MULTILOOP_BRANCH], base, branched, tables)
        for i in range(n - d):
            best = min(branched[row + i], forked[row + i])
            if d > MIN_SPAN:
                shorter = _begin(n, d - 1)
                best = min(best, branched[shorter + i], branched[shorter + i + 1])
            branched[row + i] = best
    return _outside(n, pair, base, ended, types, tables, best_to)


@numba.njit(nogil=True)
def _join_stretches(d, n, branched, forked):  # type: ignore[no-untyped-def]
    """``forked`` of a whole diagonal: every way to split its intervals in two."""
    row = _begin(n, d)
    best = forked[row : row + n - d]
    best[:] = IMPOSSIBLE
    for m in range(MIN_SPAN, d - MIN_SPAN):
        left = _begin(n, m)
        right = _begin(n, d - m - 1) + m + 1
        left_part = branched[left : left + n - d]
        right_part = branched[right : right + n - d]
        for i in range(n - d):
            # int32 throughout, so that the compiler can take eight or sixteen at a time
            both = np.int32(left_part[i] + right_part[i])
            known = best[i]
            best[i] = both if both < known else known


@numba.njit(inline="always")
def _multiloop(i, d, inward, n, base, forked, tables):  # type: ignore[no-untyped-def]
    """Best multiloop that (i, i + d) closes. The bases next to the pair may dangle on it."""
    five = tables[DANGLE5 + inward * 5 + base[i + d - 1]]
    three = tables[DANGLE3 + inward * 5 + base[i + 1]]
    row = _begin(n, d - 3)
    best = min(
        forked[_begin(n, d - 2) + i + 1],
        forked[row + i + 2] + three,
        forked[row + i + 1] + five,
        forked[_begin(n, d - 4) + i + 2] + five + three,
    )
    closing = tables[MULTILOOP_CLOSING] + tables[MULTILOOP_BRANCH]
    return best + closing + tables[TERMINAL + inward]


@numba.njit(inline="always")
def _add_branch(i, d, t, n, energy, base, branched, tables):  # type: ignore[no-untyped-def]
    """Offer the helix (i, i + d) to the interval it fills, and with one dangling base or two to
    those around it."""
    j = i + d
    place = _begin(n, d) + i
    branched[place] = min(branched[place], energy)
    five = tables[DANGLE5 + t * 5 + base[i - 1]] if i > 0 else 0
    three = tables[DANGLE3 + t * 5 + base[j + 1]] if j + 1 < n else 0
    if i > 0:
        place = _begin(n, d + 1) + i - 1
        branched[place] = min(branched[place], energy + five)
    if j + 1 < n:
        place = _begin(n, d + 1) + i
        branched[place] = min(branched[place], energy + three)
    if i > 0 and j + 1 < n:
        place = _begin(n, d + 2) + i - 1
        branched[place] = min(branched[place], energy + five + three)


@numba.njit(nogil=True)
def _outside(n, pair, base, ended, types, tables, best_to):  # type: ignore[no-untyped-def]
    """Best energy of the whole string; ``best_to[k]``, scratch, is that of its first k letters."""
    best_to[: min(MIN_SPAN, n) + 1] = 0
    for j in range(MIN_SPAN, n):
        best = best_to[j]
        # The last helix ends at j, or before j and j dangles on it.
        for last in range(j, max(j - 2, MIN_SPAN - 1), -1):
            for i in range(last - MIN_SPAN + 1):
                energy = ended[_begin(n, last - i) + i]
                if energy >= IMPOSSIBLE:
                    continue
                t = np.int64(types[pair[i], pair[last]])
                if last < j:
                    energy += tables[DANGLE3 + t * 5 + base[j]]
                best = min(best, energy + best_to[i])
                if i > 0:
                    five = tables[DANGLE5 + t * 5 + base[i - 1]]
                    best = min(best, energy + five + best_to[i - 1])
        best_to[j + 1] = best
    return best_to[n]


# --- loops --------------------------------------------------------------------------------------


@numba.njit(inline="always")
def _hairpin_loop(i, j, t, base, tetra, tables):  # type: ignore[no-untyped-def]
    energy = tables[HAIRPIN + j - i - 1]
    if j - i - 1 == 3:
        return energy + tables[TERMINAL + t]
    if j - i - 1 == 4:
        code = 0
        for k in range(i, j + 1):
            code = code * 4 + tetra[k] if tetra[k] < 4 and code >= 0 else -1
        if code >= 0:
            energy += tables[TETRALOOP + code]
    return energy + tables[MISMATCH_HAIRPIN + (t * 5 + base[i + 1]) * 5 + base[j - 1]]


@numba.njit(nogil=True)
def _small_loops(i, j, t, pair, base, paired, types, tables):  # type: ignore[no-untyped-def]
    """Best energy of what the pair (i, j) of type t closes together with one inner pair: stack,
    bulge, or an interior loop small enough to have a table of its own."""
    n, d = len(pair), j - i
    a, z = np.int64(base[i + 1]), np.int64(base[j - 1])
    best = IMPOSSIBLE
    inner = paired[_begin(n, d - 2) + i + 1]
    if inner < IMPOSSIBLE:
        best = inner + tables[STACK + t * 7 + types[pair[j - 1], pair[i + 1]]]
    if d >= MIN_SPAN + 3:
        row = _begin(n, d - 3)
        for p in range(i + 1, i + 3):
            inner = paired[row + p]
            if inner < IMPOSSIBLE:
                stack = tables[STACK + t * 7 + types[pair[p + d - 3], pair[p]]]
                best = min(best, inner + tables[BULGE + 1] + stack)
    if d >= MIN_SPAN + 4:
        inner = paired[_begin(n, d - 4) + i + 2]
        if inner < IMPOSSIBLE:
            two = t * 7 + types[pair[j - 2], pair[i + 2]]
            best = min(best, inner + tables[INTERIOR_1X1 + (two * 5 + a) * 5 + z])
    if d >= MIN_SPAN + 5:
        row = _begin(n, d - 5)
        inner = paired[row + i + 2]
        if inner < IMPOSSIBLE:
            two = t * 7 + types[pair[j - 3], pair[i + 2]]
            loop = INTERIOR_2X1 + ((two * 5 + a) * 5 + base[j - 2]) * 5 + z
            best = min(best, inner + tables[loop])
        inner = paired[row + i + 3]
        if inner < IMPOSSIBLE:
            two = np.int64(types[pair[j - 2], pair[i + 3]]) * 7 + t
            loop = INTERIOR_2X1 + ((two * 5 + z) * 5 + a) * 5 + base[i + 2]
            best = min(best, inner + tables[loop])
    if d >= MIN_SPAN + 6:
        inner = paired[_begin(n, d - 6) + i + 3]
        if inner < IMPOSSIBLE:
            two = t * 7 + types[pair[j - 3], pair[i + 3]]
            loop = (((two * 5 + a) * 5 + base[i + 2]) * 5 + base[j - 2]) * 5 + z
            best = min(best, inner + tables[INTERIOR_2X2 + loop])
    return best


@numba.njit(nogil=True)
def _large_loops(d, n, ended, facing, windows, tables, bulged, inside):  # type: ignore[no-untyped-def]
    """Best bulges of two bases and more (``bulged``) and best interior loops without a table of
    their own (``inside``) for every interval of a diagonal, but for what its own pair adds.

    All interior loops of one size inside i..j look at one diagonal, from i + 2 to i + size. Their
    asymmetry is the distance from the middle of that window, so a window's best is that of the
    window without its two ends, which belongs to i + 1..j - 1, or one of the ends.
    windows[d % 2, size, i], scratch, holds it from two diagonals ago.
    """
    half = np.uint64(d % 2)
    one, two = np.uint64(1), np.uint64(2)
    size_of_diagonal = n - d
    for k in range(size_of_diagonal):
        bulged[k] = IMPOSSIBLE
        inside[k] = IMPOSSIBLE
    # From large to small, so that a window is read before it is overwritten.
    for number in range(min(MAX_LOOP, d - 2 - MIN_SPAN), 1, -1):
        size = np.uint64(number)
        row = np.uint64(_begin(n, d - 2 - number))
        bulge = tables[BULGE + number]
        asymmetry = tables[ASYMMETRY + number - 2]
        initiation = tables[INTERIOR + number]
        for k in range(size_of_diagonal):
            i = row + np.uint64(k)
            first, last = ended[i + one], ended[i + one + size]
            energy = np.int32((first if first < last else last) + bulge)
            bulged[k] = energy if energy < bulged[k] else bulged[k]
        if number > 4:
            for k in range(size_of_diagonal):
                i = row + np.uint64(k)
                first, last = facing[i + two], facing[i + size]
                best = np.int32((first if first < last else last) + asymmetry)
                shorter = windows[half, size - two, np.uint64(k) + one]
                best = shorter if shorter < best else best
                windows[half, size, np.uint64(k)] = best
                energy = np.int32(best + initiation)
                inside[k] = energy if energy < inside[k] else inside[k]
        else:
            # 1x1, 2x1, 1x2 and 2x2 count in windows only.
            for k in range(size_of_diagonal):
                i = row + np.uint64(k)
                first, last = facing[i + two], facing[i + size]
                best = np.int32((first if first < last else last) + asymmetry)
                if number == 4:
                    energy = np.int32(best + initiation)
                    inside[k] = energy if energy < inside[k] else inside[k]
                    shorter = windows[half, size - two, np.uint64(k) + one]
                    best = shorter if shorter < best else best
                windows[half, size, np.uint64(k)] = best


# --- layout -------------------------------------------------------------------------------------


@numba.njit(inline="always")
def _cells(n):  # type: ignore[no-untyped-def]
    """Size of a matrix of a string of n letters."""
    return _begin(n, n) if n > MIN_SPAN else 0


@numba.njit(inline="always")
def _begin(n, d):  # type: ignore[no-untyped-def]
    """Where the diagonal of span d starts in a matrix of a string of n letters."""
    k = d - MIN_SPAN
    return k * (n - MIN_SPAN) - k * (k - 1) // 2
