"""From candidates to alignments: both filters of miRanda in their order, and the traceback.

Of each pair, candidates come in miRanda's order. One within ``NEAR_DIAGONALS`` of a better one that
was kept goes. The others are traced back, and one whose aligned reference span shares
``SHARED_BASES`` or more with an accepted one goes too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit, prange

from pairtile.methods.mirna_targets.kernels.miranda_candidates import NEVER
from pairtile.methods.mirna_targets.kernels.miranda_scoring import SEED_ROWS

NEAR_DIAGONALS: Final = 6
SHARED_BASES: Final = 6

PAIRED, REFERENCE_UNPAIRED, MIRNA_UNPAIRED, STOP = 0, 1, 2, 3
"""States a, b and c of a cell; STOP where nothing is above 0."""

_B_EXTENDS, _C_EXTENDS = 4, 8
"""Bits of a cell's direction: its b, its c came from one of the same kind rather than from an a."""


@njit(cache=True, nogil=True)
def far_from_better(row, column, kept):  # type: ignore[no-untyped-def]
    """Mark the candidates of one pair that stay: kept uint8, for candidates in miRanda's order."""
    count = len(row)
    diagonal = column - row
    order = np.argsort(diagonal)
    rank = np.empty(count, np.int64)
    for k in range(count):
        rank[order[k]] = k
    kept[:] = 1
    for candidate in range(count):
        if not kept[candidate]:
            continue
        # All that are near come later: an earlier one would have removed this one.
        for step in (-1, 1):
            k = rank[candidate] + step
            while (
                0 <= k < count and abs(diagonal[order[k]] - diagonal[candidate]) <= NEAR_DIAGONALS
            ):
                kept[order[k]] = 0
                k += step


@njit(cache=True, nogil=True)
def _directions(codes, scores, gaps, row, start, column, tracks, directions):  # type: ignore[no-untyped-def]
    """Direction of each cell of rows 0 .. row, columns start .. column, from zero borders.

    tracks       int64 (4, row + 1) or larger: scratch
    directions   uint8: cell (r, start + k) is number k * (row + 1) + r
    """
    n = scores.shape[0]
    best_of, a_of, b_of, c_of = tracks[0], tracks[1], tracks[2], tracks[3]
    tracks[:] = 0
    directions[: row + 1] = STOP
    for position in range(start, column):
        code = codes[position]
        cell = (position - start + 1) * (row + 1)
        directions[cell] = STOP
        diagonal = best_of[0]
        for r in range(1, row + 1):
            seed = r != n and r >= n - SEED_ROWS
            gap_open, gap_extend = (gaps[2], gaps[3]) if seed else (gaps[0], gaps[1])
            b_opened, b_extended = a_of[r] + gap_open, b_of[r] + gap_extend
            c_opened, c_extended = a_of[r - 1] + gap_open, c_of[r - 1] + gap_extend
            a = max(diagonal + scores[r - 1, code], 0)
            b = max(b_opened, b_extended)
            c = NEVER if seed else max(c_opened, c_extended)
            diagonal = best_of[r]
            best = max(a, b, c)
            best_of[r], a_of[r], b_of[r], c_of[r] = best, a, b, c
            state = PAIRED if best == a else REFERENCE_UNPAIRED if best == b else MIRNA_UNPAIRED
            if best <= 0:
                state = STOP
            if b_extended > b_opened:
                state |= _B_EXTENDS
            if c_extended > c_opened:
                state |= _C_EXTENDS
            directions[cell + r] = state


@njit(cache=True, nogil=True)
def _trace(directions, row, start, column, states):  # type: ignore[no-untyped-def]
    """Walk back from (row, column): the cell before the first aligned one, and how many states.

    states   uint8: written from the last to the first
    """
    width = row + 1
    state = directions[(column - start) * width + row] & 3
    length = 0
    while state != STOP:
        states[length] = state
        length += 1
        direction = directions[(column - start) * width + row]
        if state == PAIRED:
            row -= 1
            column -= 1
            state = directions[(column - start) * width + row] & 3
        elif state == REFERENCE_UNPAIRED:
            column -= 1
            state = REFERENCE_UNPAIRED if direction & _B_EXTENDS else PAIRED
        else:
            row -= 1
            state = MIRNA_UNPAIRED if direction & _C_EXTENDS else PAIRED
    return row, column, length


@njit(cache=True, nogil=True)
def _overlaps(begin, end, first, heads, following, begins, ends, bucket):  # type: ignore[no-untyped-def]
    """Whether columns begin + 1 .. end share ``SHARED_BASES`` or more with an accepted span.

    A span is filed in the bucket of its ``begin``; none is longer than ``bucket`` columns.
    """
    home = begin // bucket - first
    for place in range(max(home - 1, 0), min(home + 2, len(heads))):
        other = heads[place]
        while other >= 0:
            if min(end, ends[other]) - max(begin, begins[other]) >= SHARED_BASES:
                return True
            other = following[other]
    return False


@njit(cache=True, nogil=True, parallel=True)
def trace_pairs(  # type: ignore[no-untyped-def]
    order,
    first,
    row,
    column,
    codes,
    begin,
    scores,
    first_score,
    lengths,
    spans,
    gaps,
    accepted,
    begin_row,
    begin_column,
    state_count,
    states,
):
    """Filter and trace the candidates of many pairs, on all cores.

    order          int64 (pairs,): of ``dealt``
    first          int64 (pairs + 1,): candidates first[p] .. first[p + 1] - 1 are those of pair p
    row, column    int32 (candidates,): miRanda's order within a pair
    codes          uint8: the references' codes; ``begin`` int64 (pairs,): where each pair's begins
    scores         int32 (rows of all miRNAs, 5), ``first_score`` int64 (pairs,): where each's begin
    lengths        int64 (pairs,): n
    spans          int64 (pairs,): most columns an alignment can span
    gaps           int64 (4,): open and extend outside the seed, then in it
    accepted       uint8 (candidates,), written: 1 for an alignment that both filters leave
    begin_row, begin_column, state_count   int32 (candidates,), written where accepted: the cell
                   before the first aligned one, and the columns of the alignment
    states         uint8 (candidates, longest alignment), written where accepted, last state first
    """
    for turn in prange(len(order)):
        pair = order[turn]
        base, count = first[pair], first[pair + 1] - first[pair]
        if count == 0:
            continue
        n, span = lengths[pair], spans[pair]
        rows, columns = row[base : base + count], column[base : base + count]
        kept = accepted[base : base + count]
        far_from_better(rows, columns, kept)
        pair_scores = scores[first_score[pair] : first_score[pair] + n]
        lowest, highest = columns.min(), columns.max()
        reference = codes[begin[pair] : begin[pair] + highest]
        widest = min(span, highest)
        directions = np.empty((widest + 1) * (n + 1), np.uint8)
        tracks = np.empty((4, n + 1), np.int64)
        bucket = max(widest, 1)
        first_bucket = max(lowest - widest, 0) // bucket
        heads = np.full(highest // bucket - first_bucket + 1, -1, np.int64)
        following = np.empty(count, np.int64)
        for k in range(count):
            if not kept[k]:
                continue
            where = base + k
            end = columns[k]
            start = max(end - span, 0)
            _directions(reference, pair_scores, gaps, rows[k], start, end, tracks, directions)
            begin_row[where], begin_column[where], state_count[where] = _trace(
                directions, rows[k], start, end, states[where]
            )
            if _overlaps(
                begin_column[where],
                end,
                first_bucket,
                heads,
                following,
                begin_column[base : base + count],
                columns,
                bucket,
            ):
                kept[k] = 0
                continue
            home = begin_column[where] // bucket - first_bucket
            following[k] = heads[home]
            heads[home] = k
