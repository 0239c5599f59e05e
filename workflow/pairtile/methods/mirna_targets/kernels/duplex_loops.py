"""Hairpins, stacks, bulges and interior loops on the CPU, for ``duplex_energy``.

Matrices over intervals i..j are kept by diagonals: the interval from i of span d = j - i lies at
``begin(n, d) + i``. What the cells of a diagonal read of another one is then contiguous. Spans
below 4 cannot hold a pair and are not stored.
"""

from __future__ import annotations

import numba
import numpy as np

from pairtile.methods.mirna_targets.kernels.duplex_tables import OFFSETS
from pairtile.methods.mirna_targets.turner_1999 import LARGEST_LOOP

IMPOSSIBLE = 1 << 28
"""Energy of what cannot be. Large enough that no sum with real energies comes near them, small
enough that twice as much is still an int32."""

SHORTEST_SPAN = 4
"""A hairpin has three bases at least."""

STACK = OFFSETS["STACK"]
MISMATCH_HAIRPIN = OFFSETS["MISMATCH_HAIRPIN"]
TERMINAL = OFFSETS["TERMINAL"]
BULGE = OFFSETS["BULGE"]
INTERIOR_1X1 = OFFSETS["INTERIOR_1X1"]
INTERIOR_2X1 = OFFSETS["INTERIOR_2X1"]
TETRALOOP = OFFSETS["TETRALOOP"]
INTERIOR_2X2 = OFFSETS["INTERIOR_2X2"]
HAIRPIN = OFFSETS["HAIRPIN"]
INTERIOR = OFFSETS["INTERIOR"]
ASYMMETRY = OFFSETS["ASYMMETRY"]


@numba.njit(inline="always")
def cells(n):  # type: ignore[no-untyped-def]
    """Size of a matrix of a string of n letters."""
    return begin(n, n) if n > SHORTEST_SPAN else 0


@numba.njit(inline="always")
def begin(n, d):  # type: ignore[no-untyped-def]
    """Where the diagonal of span d starts in a matrix of a string of n letters."""
    k = d - SHORTEST_SPAN
    return k * (n - SHORTEST_SPAN) - k * (k - 1) // 2


@numba.njit(inline="always")
def hairpin_loop(i, j, t, base, tetra, tables):  # type: ignore[no-untyped-def]
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
def small_loops(i, j, t, n, pair, base, paired, types, tables):  # type: ignore[no-untyped-def]
    """Best energy of what the pair (i, j) of type t closes together with one inner pair: stack,
    bulge, or an interior loop small enough to have a table of its own."""
    d = j - i
    a, z = np.int64(base[i + 1]), np.int64(base[j - 1])
    best = IMPOSSIBLE
    inner = paired[begin(n, d - 2) + i + 1]
    if inner < IMPOSSIBLE:
        best = inner + tables[STACK + t * 7 + types[pair[j - 1], pair[i + 1]]]
    if d >= SHORTEST_SPAN + 3:
        row = begin(n, d - 3)
        for p in range(i + 1, i + 3):
            inner = paired[row + p]
            if inner < IMPOSSIBLE:
                stack = tables[STACK + t * 7 + types[pair[p + d - 3], pair[p]]]
                best = min(best, inner + tables[BULGE + 1] + stack)
    if d >= SHORTEST_SPAN + 4:
        inner = paired[begin(n, d - 4) + i + 2]
        if inner < IMPOSSIBLE:
            two = t * 7 + types[pair[j - 2], pair[i + 2]]
            best = min(best, inner + tables[INTERIOR_1X1 + (two * 5 + a) * 5 + z])
    if d >= SHORTEST_SPAN + 5:
        row = begin(n, d - 5)
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
    if d >= SHORTEST_SPAN + 6:
        inner = paired[begin(n, d - 6) + i + 3]
        if inner < IMPOSSIBLE:
            two = t * 7 + types[pair[j - 3], pair[i + 3]]
            loop = (((two * 5 + a) * 5 + base[i + 2]) * 5 + base[j - 2]) * 5 + z
            best = min(best, inner + tables[INTERIOR_2X2 + loop])
    return best


@numba.njit(nogil=True)
def large_loops(d, n, ended, facing, windows, tables, bulged, inside):  # type: ignore[no-untyped-def]
    """Best bulges of two bases and more (``bulged``) and best interior loops without a table of
    their own (``inside``) for every interval of a diagonal, but for what its own pair adds.

    All interior loops of one size inside i..j look at one diagonal, from i + 2 to i + size. Their
    asymmetry is the distance from the middle of that window, so a window's best is that of the
    window without its two ends, which belongs to i + 1..j - 1, or one of the ends.
    windows[d % 2, size, i], scratch, holds it from two diagonals ago.
    """
    half = np.uint64(d % 2)
    one, two = np.uint64(1), np.uint64(2)
    cells = n - d
    for k in range(cells):
        bulged[k] = IMPOSSIBLE
        inside[k] = IMPOSSIBLE
    # From large to small, so that a window is read before it is overwritten.
    for number in range(min(LARGEST_LOOP, d - 2 - SHORTEST_SPAN), 1, -1):
        size = np.uint64(number)
        row = np.uint64(begin(n, d - 2 - number))
        bulge = tables[BULGE + number]
        asymmetry = tables[ASYMMETRY + number - 2]
        initiation = tables[INTERIOR + number]
        for k in range(cells):
            i = row + np.uint64(k)
            first, last = ended[i + one], ended[i + one + size]
            energy = np.int32((first if first < last else last) + bulge)
            bulged[k] = energy if energy < bulged[k] else bulged[k]
        if number > 4:
            for k in range(cells):
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
            for k in range(cells):
                i = row + np.uint64(k)
                first, last = facing[i + two], facing[i + size]
                best = np.int32((first if first < last else last) + asymmetry)
                if number == 4:
                    energy = np.int32(best + initiation)
                    inside[k] = energy if energy < inside[k] else inside[k]
                    shorter = windows[half, size - two, np.uint64(k) + one]
                    best = shorter if shorter < best else best
                windows[half, size, np.uint64(k)] = best
