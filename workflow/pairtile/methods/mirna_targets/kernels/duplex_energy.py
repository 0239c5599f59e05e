"""Minimum free energy of strings on the CPU: the twin of ``duplex_energy.cu``, same recursions.

Loops and the layout of matrices are in ``duplex_loops``. Numba's cache of compiled code knows this
file only: after a change there or in ``duplex_tables``, save this file too.
"""

from __future__ import annotations

import numba
import numpy as np

from pairtile.methods.mirna_targets.kernels.duplex_loops import (
    IMPOSSIBLE,
    SHORTEST_SPAN,
    begin,
    cells,
    hairpin_loop,
    large_loops,
    small_loops,
)
from pairtile.methods.mirna_targets.kernels.duplex_tables import OFFSETS
from pairtile.methods.mirna_targets.turner_1999 import LARGEST_LOOP

MISMATCH_INTERIOR = OFFSETS["MISMATCH_INTERIOR"]
DANGLE5 = OFFSETS["DANGLE5"]
DANGLE3 = OFFSETS["DANGLE3"]
TERMINAL = OFFSETS["TERMINAL"]
MULTILOOP_CLOSING = OFFSETS["MULTILOOP_CLOSING"]
MULTILOOP_BRANCH = OFFSETS["MULTILOOP_BRANCH"]


@numba.njit(cache=True, parallel=True, nogil=True)
def fold_strings(  # type: ignore[no-untyped-def]
    text, offsets, codes, types, tables, n_workers, energies
):
    """Minimum free energies of many strings.

    text       uint8 (total,): all strings, one behind the other
    offsets    int64 (strings + 1,)
    codes      uint8 (3, 256): for each letter its code in ``types``, in the tables, in tetraloops
    types      uint8 (7, 7): type of the pair of two letters
    tables     int32: energies as ``duplex_tables.pack`` lays them out
    n_workers  threads to use; strings are dealt out in turn
    energies   int32 (strings,): the result, in 0.01 kcal/mol
    """
    n_strings = len(offsets) - 1
    longest = 0
    for k in range(n_strings):
        longest = max(longest, offsets[k + 1] - offsets[k])
    for worker in numba.prange(n_workers):
        matrices = np.empty((5, cells(longest)), np.int32)
        windows = np.full((2, LARGEST_LOOP + 1, longest + 1), IMPOSSIBLE, np.int32)
        rows = np.empty((3, longest + 1), np.int32)
        for k in range(worker, n_strings, n_workers):
            string = text[offsets[k] : offsets[k + 1]]
            pair, base, tetra = codes[0][string], codes[1][string], codes[2][string]
            energies[k] = minimum_free_energy(
                pair, base, tetra, types, tables, matrices, windows, rows
            )


@numba.njit(nogil=True)
def minimum_free_energy(pair, base, tetra, types, tables, matrices, windows, rows):  # type: ignore[no-untyped-def]
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
    branched[: cells(n)] = IMPOSSIBLE
    for d in range(SHORTEST_SPAN, n):
        row = begin(n, d)
        join_stretches(d, n, branched, forked)
        large_loops(d, n, ended, facing, windows, tables, bulged, inside)
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
            energy = hairpin_loop(i, j, t, base, tetra, tables)
            if d >= SHORTEST_SPAN + 2:
                energy = min(energy, small_loops(i, j, t, n, pair, base, paired, types, tables))
                mismatch = tables[MISMATCH_INTERIOR + (t * 5 + base[i + 1]) * 5 + base[j - 1]]
                energy = min(energy, bulged[i] + tables[TERMINAL + t], inside[i] + mismatch)
            if d >= 2 * SHORTEST_SPAN + 3:
                energy = min(energy, multiloop(i, d, inward, n, base, forked, tables))
            end = energy + tables[TERMINAL + t]
            paired[row + i] = energy
            ended[row + i] = end
            facing[row + i] = IMPOSSIBLE
            if i > 0 and j + 1 < n:
                mismatch = MISMATCH_INTERIOR + (inward * 5 + base[j + 1]) * 5 + base[i - 1]
                facing[row + i] = energy + tables[mismatch]
            add_branch(i, d, t, n, end + tables[MULTILOOP_BRANCH], base, branched, tables)
        for i in range(n - d):
            best = min(branched[row + i], forked[row + i])
            if d > SHORTEST_SPAN:
                shorter = begin(n, d - 1)
                best = min(best, branched[shorter + i], branched[shorter + i + 1])
            branched[row + i] = best
    return outside(n, pair, base, ended, types, tables, best_to)


@numba.njit(nogil=True)
def join_stretches(d, n, branched, forked):  # type: ignore[no-untyped-def]
    """``forked`` of a whole diagonal: every way to split its intervals in two."""
    row = begin(n, d)
    best = forked[row : row + n - d]
    best[:] = IMPOSSIBLE
    for m in range(SHORTEST_SPAN, d - SHORTEST_SPAN):
        left = begin(n, m)
        right = begin(n, d - m - 1) + m + 1
        lefts = branched[left : left + n - d]
        rights = branched[right : right + n - d]
        for i in range(n - d):
            # int32 throughout, so that the compiler can take eight or sixteen at a time
            both = np.int32(lefts[i] + rights[i])
            known = best[i]
            best[i] = both if both < known else known


@numba.njit(inline="always")
def multiloop(i, d, inward, n, base, forked, tables):  # type: ignore[no-untyped-def]
    """Best multiloop that (i, i + d) closes. The bases next to the pair may dangle on it."""
    five = tables[DANGLE5 + inward * 5 + base[i + d - 1]]
    three = tables[DANGLE3 + inward * 5 + base[i + 1]]
    row = begin(n, d - 3)
    best = min(
        forked[begin(n, d - 2) + i + 1],
        forked[row + i + 2] + three,
        forked[row + i + 1] + five,
        forked[begin(n, d - 4) + i + 2] + five + three,
    )
    closing = tables[MULTILOOP_CLOSING] + tables[MULTILOOP_BRANCH]
    return best + closing + tables[TERMINAL + inward]


@numba.njit(inline="always")
def add_branch(i, d, t, n, energy, base, branched, tables):  # type: ignore[no-untyped-def]
    """Offer the helix (i, i + d) to the interval it fills, and with one dangling base or two to
    those around it."""
    j = i + d
    place = begin(n, d) + i
    branched[place] = min(branched[place], energy)
    five = tables[DANGLE5 + t * 5 + base[i - 1]] if i > 0 else 0
    three = tables[DANGLE3 + t * 5 + base[j + 1]] if j + 1 < n else 0
    if i > 0:
        place = begin(n, d + 1) + i - 1
        branched[place] = min(branched[place], energy + five)
    if j + 1 < n:
        place = begin(n, d + 1) + i
        branched[place] = min(branched[place], energy + three)
    if i > 0 and j + 1 < n:
        place = begin(n, d + 2) + i - 1
        branched[place] = min(branched[place], energy + five + three)


@numba.njit(nogil=True)
def outside(n, pair, base, ended, types, tables, best_to):  # type: ignore[no-untyped-def]
    """Best energy of the whole string; ``best_to[k]``, scratch, is that of its first k letters."""
    best_to[: min(SHORTEST_SPAN, n) + 1] = 0
    for j in range(SHORTEST_SPAN, n):
        best = best_to[j]
        # The last helix ends at j, or before j and j dangles on it.
        for last in range(j, max(j - 2, SHORTEST_SPAN - 1), -1):
            for i in range(last - SHORTEST_SPAN + 1):
                energy = ended[begin(n, last - i) + i]
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
