"""The letters of an alignment: its three lines, and the string whose folding gives the energy."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit, prange

from pairtile.methods.mirna_targets.kernels.miranda_scoring import (
    CODES,
    PAIRS,
    WATSON_CRICK_SCORE,
    WOBBLE_SCORE,
)
from pairtile.methods.mirna_targets.kernels.miranda_traceback import (
    MIRNA_UNPAIRED,
    PAIRED,
    REFERENCE_UNPAIRED,
)

LINKER: Final = 7
"""Letters X between the miRNA and the reference in a fold string."""

_GAP, _BLANK, _BAR, _COLON, _X = (ord(letter) for letter in "- |:X")
_LOWER_CASE = 0x20
_MARKS: Final = np.where(
    PAIRS == WATSON_CRICK_SCORE, _BAR, np.where(PAIRS == WOBBLE_SCORE, _COLON, _BLANK)
).astype(np.uint8)


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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, parallel=True)
def write_alignments(  # type: ignore[no-untyped-def]
    mirnas,
    mirna_begin,
    lengths,
    references,
    reference_begin,
    reference_length,
    begin_row,
    begin_column,
    end_row,
    end_column,
    states,
    states_row,
    state_count,
    place,
    lines,
    identical,
    similar,
    seed_is_perfect,
):
    """Write the three lines of each hit, miRNA 3'->5' above reference 5'->3'.

    mirnas, references   uint8: letters as in the files; hit h is of the ``lengths[h]`` letters from
                         mirna_begin[h] and the ``reference_length[h]`` from reference_begin[h]
    begin_row, begin_column   int32 (hits,): the cell before the first aligned one
    end_row, end_column       int32 (hits,): the last aligned cell
    states, state_count  uint8 (rows, any), int32 (hits,): of ``trace_pairs``, the last state first
    states_row           int64 (hits,): row of each hit in ``states``
    place                int64 (hits,): where a hit's letters begin in each of the lines
    lines                uint8 (3, total), written: miRNA, marks, reference
    identical, similar   int32 (hits,), written: columns marked |; marked | or :
    seed_is_perfect      bool (hits,), written: miRNA positions 2 .. 8 are seven | without a gap
    """
    for h in prange(len(place)):
        n, m = lengths[h], reference_length[h]
        mirna = mirnas[mirna_begin[h] : mirna_begin[h] + n]
        reference = references[reference_begin[h] : reference_begin[h] + m]
        before, after = begin_row[h], n - end_row[h]
        aligned = state_count[h]
        size = before + aligned + after
        top = lines[0, place[h] : place[h] + size]
        marks = lines[1, place[h] : place[h] + size]
        bottom = lines[2, place[h] : place[h] + size]
        marks[:] = _BLANK
        for k in range(before):
            top[k] = _lower(mirna[n - 1 - k])
            bottom[k] = _tail(reference, begin_column[h] - before + k)
        row, column = begin_row[h], begin_column[h]
        identical[h] = 0
        similar[h] = 0
        for k in range(aligned):
            state = states[states_row[h], aligned - 1 - k]
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
                identical[h] += mark == _BAR
                similar[h] += mark != _BLANK
        for k in range(after):
            top[before + aligned + k] = _lower(mirna[after - 1 - k])
            bottom[before + aligned + k] = _tail(reference, end_column[h] + k)
        seed_is_perfect[h] = _perfect_seed(top, marks)


@njit(cache=True, nogil=True, parallel=True)
def write_fold_strings(  # type: ignore[no-untyped-def]
    mirnas,
    mirna_begin,
    lengths,
    references,
    reference_begin,
    reference_length,
    begin_row,
    begin_column,
    end_row,
    end_column,
    place,
    text,
):
    """Write each hit's miRNA 3'->5', linker, and target 3'->5'; arguments as above.

    Aligned letters are upper case, tails lower case; a tail beyond the reference's end stays ``-``.
    """
    for h in prange(len(place)):
        n, m = lengths[h], reference_length[h]
        mirna = mirnas[mirna_begin[h] : mirna_begin[h] + n]
        reference = references[reference_begin[h] : reference_begin[h] + m]
        before, after = begin_row[h], n - end_row[h]
        at = place[h]
        for row in range(1, n + 1):
            aligned = before < row <= end_row[h]
            letter = mirna[n - row]
            text[at] = _upper(letter) if aligned else _lower(letter)
            at += 1
        for _ in range(LINKER):
            text[at] = _X
            at += 1
        for position in range(end_column[h] + after - 1, begin_column[h] - before - 1, -1):
            if begin_column[h] <= position < end_column[h]:
                text[at] = _upper(reference[position])
            else:
                text[at] = _tail(reference, position)
            at += 1
