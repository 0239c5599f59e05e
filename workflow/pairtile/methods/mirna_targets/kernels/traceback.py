"""From candidates to the letters of hits: miRanda's two filters, the traceback, the lines.

Filters and traceback go pair by pair, one pair a thread, since what a candidate is worth depends
on the better ones of its pair. Candidates come in miRanda's order: one within ``NEAR_DIAGONALS`` of
a better one that was kept goes; the others are traced back, and one whose aligned reference span
shares ``SHARED_BASES`` or more with an accepted one goes too. For the traceback the few columns
before a candidate are computed again, now with a byte of directions for each cell. Letters are then
written hit by hit: three lines to print, and the string whose folding gives the energy.
``miranda_traceback.cu`` is the CUDA twin of filters and traceback.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.mirna_targets.kernels.score_pass import NEVER
from pairtile.methods.mirna_targets.scoring import (
    CODES,
    PAIRS,
    SEED_ROWS,
    WATSON_CRICK_SCORE,
    WOBBLE_SCORE,
)

NEAR_DIAGONALS: Final = 6
SHARED_BASES: Final = 6

PAIRED, REFERENCE_UNPAIRED, MIRNA_UNPAIRED, STOP = 0, 1, 2, 3
"""States a, b and c of a cell; STOP where nothing is above 0."""

_B_EXTENDS, _C_EXTENDS = 4, 8
"""Bits of a cell's direction: its b, its c came from one of the same kind rather than from an a."""


# --- filters and traceback ----------------------------------------------------------------------


class TracedCandidates(NamedTuple):
    """What becomes of candidates, written: all but ``accepted`` where accepted only.

    accepted       uint8 (candidates,): 1 for an alignment that both filters leave
    begin_row, begin_column   int32 (candidates,): the cell before the first aligned one
    state_count    int32 (candidates,): columns of the alignment
    states         uint8 (candidates, longest alignment): the last state first
    """

    accepted: NDArray[np.uint8]
    begin_row: NDArray[np.int32]
    begin_column: NDArray[np.int32]
    state_count: NDArray[np.int32]
    states: NDArray[np.uint8]


@threaded(over="pairs", entries=1 << 3)
def trace_pairs(first, last, pairs, candidates, mirnas, references, scores, gaps, traced):  # type: ignore[no-untyped-def]
    """Filter and trace the candidates of many pairs, on all cores.

    pairs        where the candidates of each begin and end: int64 (pairs,) each
    candidates   ``Candidates``
    mirnas       where the rows of each begin in ``scores``, and most columns that an alignment of
                 each can span: int64 (miRNAs + 1,), int64 (miRNAs,)
    references   their codes, uint8, and where each begins in them, int64 (references + 1,)
    scores       int32 (rows of all miRNAs, 5)
    gaps         int64 (4,): open and extend outside the seed, then in it
    """
    first_scores, spans = mirnas
    codes, begins = references
    for pair in range(first, last):
        base, end = pairs[0][pair], pairs[1][pair]
        i, begin = candidates.i[base], begins[candidates.j[base]]
        columns = candidates.column[base:end]
        _trace_pair(
            candidates.row[base:end],
            columns,
            codes[begin : begin + columns.max()],
            scores[first_scores[i] : first_scores[i + 1]],
            gaps,
            spans[i],
            TracedCandidates(
                traced.accepted[base:end],
                traced.begin_row[base:end],
                traced.begin_column[base:end],
                traced.state_count[base:end],
                traced.states[base:end],
            ),
        )


@njit(nogil=True)
def _trace_pair(rows, columns, reference, scores, gaps, span, traced):  # type: ignore[no-untyped-def]
    """Filter and trace the candidates of one pair; reference: codes up to the last candidate."""
    count, n, highest = len(rows), len(scores), len(reference)
    kept = traced.accepted
    far_from_better(rows, columns, kept)
    widest = min(span, highest)
    directions = np.empty((widest + 1) * (n + 1), np.uint8)
    tracks = np.empty((4, n + 1), np.int64)
    size = max(widest, 1)
    first_bucket = max(columns.min() - widest, 0) // size
    # Accepted spans are filed by the bucket of their begin; none is longer than a bucket. Of each
    # bucket the candidate that was filed last (-1: none), and of each candidate the one before.
    heads = np.full(highest // size - first_bucket + 1, -1, np.int64)
    following = np.empty(count, np.int64)
    for k in range(count):
        if not kept[k]:
            continue
        end = columns[k]
        start = max(end - span, 0)
        _directions(reference, scores, gaps, rows[k], start, end, tracks, directions)
        traced.begin_row[k], traced.begin_column[k], traced.state_count[k] = _trace(
            directions, rows[k], start, end, traced.states[k]
        )
        begin = traced.begin_column[k]
        home = begin // size - first_bucket
        if _overlaps(begin, end, home, heads, following, traced.begin_column, columns):
            kept[k] = 0
            continue
        following[k] = heads[home]
        heads[home] = k


@njit(nogil=True)
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


@njit(nogil=True)
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


@njit(nogil=True)
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


@njit(nogil=True)
def _overlaps(begin, end, home, heads, following, begins, ends):  # type: ignore[no-untyped-def]
    """Whether columns begin + 1 .. end, of the bucket ``home``, share ``SHARED_BASES`` or more with
    an accepted span."""
    for place in range(max(home - 1, 0), min(home + 2, len(heads))):
        other = heads[place]
        while other >= 0:
            if min(end, ends[other]) - max(begin, begins[other]) >= SHARED_BASES:
                return True
            other = following[other]
    return False


# --- letters ------------------------------------------------------------------------------------

LINKER: Final = 7
"""Letters X between the miRNA and the reference in a fold string."""

_GAP, _BLANK, _BAR, _COLON, _X = (ord(letter) for letter in "- |:X")
_LOWER_CASE = 0x20
_MARKS: Final = np.where(
    PAIRS == WATSON_CRICK_SCORE, _BAR, np.where(PAIRS == WOBBLE_SCORE, _COLON, _BLANK)
).astype(np.uint8)


class AlignedLines(NamedTuple):
    """The three lines of each hit, written, but for ``place``.

    place             int64 (hits,): where its letters begin in each line
    text              uint8 (3, total): miRNA, marks, reference
    identical         int32 (hits,): columns marked |
    similar           int32 (hits,): columns marked | or :
    seed_is_perfect   bool (hits,): miRNA positions 2 .. 8 are seven | without a gap
    """

    place: NDArray[np.int64]
    text: NDArray[np.uint8]
    identical: NDArray[np.int32]
    similar: NDArray[np.int32]
    seed_is_perfect: NDArray[np.bool_]


@njit(inline="always")
def text_of(texts, row):  # type: ignore[no-untyped-def]
    """Letters of a text."""
    return texts.letters[texts.offsets[row] : texts.offsets[row + 1]]


@threaded(entries=1 << 8)
def write_alignments(first, last, mirnas, references, traced, lines):  # type: ignore[no-untyped-def]
    """Write the three lines of each hit, miRNA 3'->5' above reference 5'->3'.

    mirnas, references   ``Texts`` of the block; traced: ``Traced``
    """
    for h in range(first, last):
        mirna, reference = text_of(mirnas, traced.i[h]), text_of(references, traced.j[h])
        n = len(mirna)
        begin_column, end_column = traced.begin_column[h], traced.column[h]
        before, after = traced.begin_row[h], n - traced.row[h]
        aligned = traced.state_count[h]
        size = before + aligned + after
        text = lines.text[:, lines.place[h] : lines.place[h] + size]
        top, marks, bottom = text[0], text[1], text[2]
        marks[:] = _BLANK
        for k in range(before):
            top[k] = _lower(mirna[n - 1 - k])
            bottom[k] = _tail(reference, begin_column - before + k)
        row, column = before, begin_column
        identical, similar = 0, 0
        for k in range(aligned):
            state = traced.states[h, aligned - 1 - k]
            at = before + k
            top[at] = bottom[at] = _GAP
            if state != REFERENCE_UNPAIRED:
                row += 1
                top[at] = _upper(mirna[n - row])
            if state != MIRNA_UNPAIRED:
                column += 1
                bottom[at] = _upper(reference[column - 1])
            if state == PAIRED:
                mark = _MARKS[CODES[mirna[n - row]], CODES[reference[column - 1]]]
                marks[at] = mark
                identical += mark == _BAR
                similar += mark != _BLANK
        for k in range(after):
            top[before + aligned + k] = _lower(mirna[after - 1 - k])
            bottom[before + aligned + k] = _tail(reference, end_column + k)
        lines.identical[h] = identical
        lines.similar[h] = similar
        lines.seed_is_perfect[h] = _perfect_seed(top, marks)


@threaded(over="place", entries=1 << 8)
def write_fold_strings(first, last, mirnas, references, traced, place, text):  # type: ignore[no-untyped-def]
    """Write each hit's miRNA 3'->5', linker, and target 3'->5'.

    Aligned letters are upper case, tails lower case; a tail beyond the reference's end stays ``-``.

    place   int64 (hits,): where each string begins in ``text``, uint8 (total,)
    """
    for h in range(first, last):
        mirna, reference = text_of(mirnas, traced.i[h]), text_of(references, traced.j[h])
        n = len(mirna)
        begin_column, end_column = traced.begin_column[h], traced.column[h]
        before, end_row = traced.begin_row[h], traced.row[h]
        at = place[h]
        for row in range(1, n + 1):
            letter = mirna[n - row]
            text[at] = _upper(letter) if before < row <= end_row else _lower(letter)
            at += 1
        for _ in range(LINKER):
            text[at] = _X
            at += 1
        for position in range(end_column + n - end_row - 1, begin_column - before - 1, -1):
            if begin_column <= position < end_column:
                text[at] = _upper(reference[position])
            else:
                text[at] = _tail(reference, position)
            at += 1


@njit(inline="always")
def _upper(letter):  # type: ignore[no-untyped-def]
    return np.uint8(letter & ~_LOWER_CASE)


@njit(inline="always")
def _lower(letter):  # type: ignore[no-untyped-def]
    return np.uint8(letter | _LOWER_CASE)


@njit(inline="always")
def _tail(reference, position):  # type: ignore[no-untyped-def]
    """Lower-case letter of a column (0-based), or a pad beyond either end."""
    if 0 <= position < len(reference):
        return _lower(reference[position])
    return np.uint8(_GAP)


@njit(nogil=True)
def _perfect_seed(top, marks):  # type: ignore[no-untyped-def]
    """Whether miRNA positions 2 .. 8 are all marked | and nothing is unpaired between them."""
    position = 0
    for column in range(len(top) - 1, -1, -1):
        position += top[column] != _GAP
        if position >= 2 and (marks[column] != _BAR or top[column] == _GAP):
            return False
        if position == 8:
            return True
    return False
