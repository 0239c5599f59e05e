"""Where hits lie and what is around them: aligned span, seed class, local AU content.

Each hit on its own, from the lines of its alignment and the letters of its two sequences: the lines
are read from the right, where the miRNA's 5' end is, and give the place of the transcript opposite
each of the miRNA's positions 1 to 8. Which of these pair with neighbouring places is the seed
class; the letters on either side of the matched places give the AU content.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.mirna_targets.kernels.traceback import (
    MIRNA_UNPAIRED,
    PAIRED,
    REFERENCE_UNPAIRED,
    text_of,
)
from pairtile.methods.mirna_targets.scoring import CODES, OTHER

HITS_OF_A_THREAD = 256
"""Fewer are not worth a thread."""

FLANK = 30  # letters looked at on either side of a site

SEED_CLASSES = ("none", "offset 6mer", "6mer", "7mer-A1", "7mer-m8", "8mer")
"""From no seed match to the best; ``seed_class`` is a position in this list."""

_NONE, _OFFSET_6MER, _6MER, _7MER_A1, _7MER_M8, _8MER = range(6)
_GAP = ord("-")
_A, _U = CODES[ord("A")], CODES[ord("U")]


class HitSpans(NamedTuple):
    """Which sequences hits are of, and where: int32 (hits,) each.

    mirna, transcript             rows of the sequences
    query_begin, query_end        aligned miRNA positions, from 1, inclusive
    reference_begin, reference_end   span in the transcript with the unaligned tails, likewise
    """

    mirna: NDArray[np.int32]
    transcript: NDArray[np.int32]
    query_begin: NDArray[np.int32]
    query_end: NDArray[np.int32]
    reference_begin: NDArray[np.int32]
    reference_end: NDArray[np.int32]


class HitSites(NamedTuple):
    """What is found of each hit, written.

    site_begin, site_end   int32: aligned positions of the transcript, from 1, inclusive
    seed_class             int8: number in ``SEED_CLASSES``
    seed_end               int32: transcript position opposite miRNA position 2, off its ends, too
    local_au               float64: 0 to 1, NaN where nothing is around the site
    match_begin, match_end   int32: the seed match in the transcript, with the A of 8mer and
                           7mer-A1, from 1, inclusive; 0 without one
    """

    site_begin: NDArray[np.int32]
    site_end: NDArray[np.int32]
    seed_class: NDArray[np.int8]
    seed_end: NDArray[np.int32]
    local_au: NDArray[np.float64]
    match_begin: NDArray[np.int32]
    match_end: NDArray[np.int32]

    @classmethod
    def empty(cls, count: int) -> HitSites:
        """Room for so many hits."""
        begin, end, seed_end, first, last = np.empty((5, count), dtype=np.int32)
        seed_class, local_au = np.empty(count, dtype=np.int8), np.empty(count)
        return cls(begin, end, seed_class, seed_end, local_au, first, last)


@threaded(entries=HITS_OF_A_THREAD)
def hit_sites(first_hit, last_hit, mirnas, transcripts, spans, queries, references, sites):  # type: ignore[no-untyped-def]
    """Describe each hit from its alignment; fills ``sites``.

    mirnas, transcripts   ``Texts``: all sequences, 5' to 3'
    queries, references   ``Texts``: miRNA line of each alignment, 3' to 5', and the transcript line
                          below it, 5' to 3', of the same lengths
    """
    opposite = np.empty(9, dtype=np.int64)
    paired = np.empty(9, dtype=np.bool_)
    for hit in range(first_hit, last_hit):
        mirna = text_of(mirnas, spans.mirna[hit])
        transcript = text_of(transcripts, spans.transcript[hit])
        query, reference = text_of(queries, hit), text_of(references, hit)
        left = mirna.size - spans.query_end[hit]
        right = spans.query_begin[hit] - 1
        first_of_right = query.size - right
        pads_right = _count_gaps(reference[first_of_right:])
        end = np.int64(spans.reference_end[hit]) + pads_right
        sites.site_begin[hit] = spans.reference_begin[hit] + left - _count_gaps(reference[:left])
        sites.site_end[hit] = end - right

        # States of the columns from the miRNA's 5' end on; tails are pairs.
        columns = query.size - left
        states = np.full(columns, PAIRED, np.uint8)
        for k in range(right, columns):
            column = query.size - 1 - k
            if query[column] == _GAP:
                states[k] = REFERENCE_UNPAIRED
            elif reference[column] == _GAP:
                states[k] = MIRNA_UNPAIRED
        position = _walk(mirna, transcript, end, states, 0, opposite, paired)
        sites.seed_end[hit] = opposite[min(2, position)]
        seed_class = _seed_class(opposite, paired, position, transcript)
        sites.seed_class[hit] = seed_class
        # The seed match, or opposite positions 2 to 8 where there is none; an A behind belongs to
        # the site.
        low = 3 if seed_class == _OFFSET_6MER else 2
        high = 7 if seed_class in (_7MER_A1, _6MER) else 8
        skipped = 1 if seed_class in (_8MER, _7MER_A1) else 0
        first, last = opposite[min(high, position)], opposite[min(low, position)]
        sites.local_au[hit] = au_content(transcript, first, last + skipped, 1, 1 + skipped, False)
        sites.match_begin[hit] = first if seed_class != _NONE else 0
        sites.match_end[hit] = last + skipped if seed_class != _NONE else 0


@njit(nogil=True)
def _seed_class(opposite, paired, last, transcript):  # type: ignore[no-untyped-def]
    """Number in ``SEED_CLASSES``.

    opposite   int64 (9,): transcript position opposite each miRNA position 1 to 8 (entry 0 is not
               used); off the transcript's ends, too. paired: whether that is a pair A-U or G-C
    last       last miRNA position that there is, at most 8
    """
    after = opposite[min(2, last)]  # the transcript's letter opposite position 1 is the next
    adenosine = 0 <= after < transcript.size and CODES[transcript[after]] == _A
    if _has_run(opposite, paired, 2, 8):
        return _8MER if adenosine else _7MER_M8
    if _has_run(opposite, paired, 2, 7):
        return _7MER_A1 if adenosine else _6MER
    return _OFFSET_6MER if _has_run(opposite, paired, 3, 8) else _NONE


@threaded(entries=HITS_OF_A_THREAD)
def seed_classes(first, last, mirnas, references, traced, found):  # type: ignore[no-untyped-def]
    """Seed class of each alignment, from its states alone: as ``hit_sites``, without its lines.

    mirnas, references   ``Texts``; traced: ``Traced``
    found                int8 (hits,), filled
    """
    opposite = np.empty(9, dtype=np.int64)
    paired = np.empty(9, dtype=np.bool_)
    for hit in range(first, last):
        mirna, transcript = text_of(mirnas, traced.i[hit]), text_of(references, traced.j[hit])
        n = len(mirna)
        # The tail of the miRNA's 5' end lies opposite the letters behind the last cell.
        tail = n - traced.row[hit]
        here = np.int64(traced.column[hit]) + tail
        states = traced.states[hit, : traced.state_count[hit]]
        position = _walk(mirna, transcript, here, states, tail, opposite, paired)
        found[hit] = _seed_class(opposite, paired, position, transcript)


@njit(nogil=True)
def _walk(mirna, transcript, here, states, tail, opposite, paired):  # type: ignore[no-untyped-def]
    """Fill ``opposite`` and ``paired`` of miRNA positions 1 to 8; returns the last one there is.

    here     transcript position opposite the miRNA's 5' end
    states   uint8, from the 5' end on, behind ``tail`` pairs; pairs beyond their end
    """
    opposite[:] = 0
    paired[:] = False
    position, k = 0, -tail
    while position < min(len(mirna), 8):
        state = PAIRED if k < 0 or k >= len(states) else states[k]
        k += 1
        if state != REFERENCE_UNPAIRED:
            position += 1
            opposite[position] = here + (state == MIRNA_UNPAIRED)
            if state == PAIRED and 1 <= here <= transcript.size:
                a, b = CODES[mirna[position - 1]], CODES[transcript[here - 1]]
                paired[position] = a + b == 3 and a < OTHER and b < OTHER
        here -= state != MIRNA_UNPAIRED
    return position


@njit(nogil=True)
def _count_gaps(letters):  # type: ignore[no-untyped-def]
    count = 0
    for letter in letters:
        if letter == _GAP:
            count += 1
    return count


@njit(nogil=True)
def _has_run(opposite, paired, low, high):  # type: ignore[no-untyped-def]
    """Whether miRNA positions ``low`` to ``high`` all pair, with neighbours of the transcript."""
    for position in range(low, high + 1):
        if not paired[position]:
            return False
        if position > low and opposite[position] != opposite[position - 1] - 1:
            return False
    return True


@njit(nogil=True)
def au_content(transcript, first, last, before, after, others):  # type: ignore[no-untyped-def]
    """Weighted share of A and U in the 30 letters on either side of ``first`` to ``last``.

    The nearest letter counts 1 / before, or 1 / after behind, the next one 1 / (before + 1), and so
    on. Places off the transcript are left out of both sums, and so are letters that are none of
    A C G U T unless ``others``.
    """
    au, total = 0.0, 0.0
    for step in range(FLANK):
        for side in range(2):
            place = first - 1 - step if side == 0 else last + 1 + step
            if 1 <= place <= transcript.size:
                base = CODES[transcript[place - 1]]
                weight = 1.0 / (step + (before if side == 0 else after))
                if others or base != OTHER:
                    total += weight
                if base in (_A, _U):
                    au += weight
    return au / total if total > 0 else math.nan
