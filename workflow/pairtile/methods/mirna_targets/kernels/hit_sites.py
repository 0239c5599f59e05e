"""Where hits lie and what is around them: aligned span, seed class, local AU content."""

from __future__ import annotations

import math

import numba
import numpy as np

FLANK = 30  # letters looked at on either side of a site

SEED_CLASSES = ("none", "offset 6mer", "6mer", "7mer-A1", "7mer-m8", "8mer")
"""From no seed match to the best; ``seed_class`` is a position in this list."""

_NONE, _OFFSET_6MER, _6MER, _7MER_A1, _7MER_M8, _8MER = range(6)
_GAP = ord("-")
_A, _C, _G, _U = 0, 1, 2, 3
_OTHER = 4

BASES = np.full(256, _OTHER, dtype=np.uint8)
for _letters, _base in (("Aa", _A), ("Cc", _C), ("Gg", _G), ("UuTt", _U)):
    for _letter in _letters:
        BASES[ord(_letter)] = _base


@numba.njit(cache=True, parallel=True, nogil=True)
def hit_sites(  # type: ignore[no-untyped-def]
    mirna_text,
    mirna_offsets,
    transcript_text,
    transcript_offsets,
    mirna_rows,
    transcript_rows,
    query_begin,
    query_end,
    reference_begin,
    reference_end,
    query_letters,
    query_starts,
    reference_letters,
    reference_starts,
    bases,
    site_begin,
    site_end,
    seed_class,
    local_au,
):
    """Describe each hit from its alignment; fills the last four arrays.

    mirna_text, transcript_text        uint8: letters, 5' to 3'
    mirna_offsets, transcript_offsets  int64: where each sequence begins and ends
    mirna_rows, transcript_rows        int32 (n,): the hit's sequences
    query_begin, query_end             int32 (n,): aligned miRNA positions, from 1, inclusive
    reference_begin, reference_end     int32 (n,): span in the transcript with the unaligned tails
    query_letters, query_starts        uint8, int64 (n + 1,): miRNA line of the alignments, 3' to 5'
    reference_letters, reference_starts  the transcript line, 5' to 3', of the same lengths
    bases                              uint8 (256,): ``BASES``
    site_begin, site_end               int32 (n,): aligned positions of the transcript, from 1
    seed_class                         int8 (n,): number in ``SEED_CLASSES``
    local_au                           float64 (n,): 0 to 1, NaN where nothing is around the site
    """
    for hit in numba.prange(mirna_rows.size):
        mirna = mirna_text[mirna_offsets[mirna_rows[hit]] : mirna_offsets[mirna_rows[hit] + 1]]
        row = transcript_rows[hit]
        transcript = transcript_text[transcript_offsets[row] : transcript_offsets[row + 1]]
        query = query_letters[query_starts[hit] : query_starts[hit + 1]]
        reference = reference_letters[reference_starts[hit] : reference_starts[hit + 1]]
        left = mirna.size - query_end[hit]
        right = query_begin[hit] - 1
        first_of_right = query.size - right
        pads_left = count_gaps(reference[:left])
        pads_right = count_gaps(reference[first_of_right:])
        site_begin[hit] = reference_begin[hit] + left - pads_left
        site_end[hit] = reference_end[hit] - right + pads_right

        # Transcript position opposite each miRNA position 1 to 8; off the transcript's ends, too.
        opposite = np.zeros(9, dtype=np.int64)
        paired = np.zeros(9, dtype=np.bool_)
        next_position = np.int64(reference_end[hit]) + pads_right
        position = 0
        for column in range(query.size - 1, -1, -1):
            tail = column < left or column >= first_of_right
            here = next_position + 1  # opposite a gap: as the base before
            in_reference = tail or reference[column] != _GAP
            if in_reference:
                here = next_position
                next_position -= 1
            if query[column] == _GAP:
                continue
            position += 1
            if position > 8:
                break
            opposite[position] = here
            if in_reference and 1 <= here <= transcript.size:
                a, b = bases[mirna[position - 1]], bases[transcript[here - 1]]
                paired[position] = a + b == 3 and a < 4 and b < 4
        last = min(position, 8)

        to_7 = has_run(opposite, paired, 2, 7)
        to_8 = has_run(opposite, paired, 2, 8)
        after = opposite[min(2, last)]  # the transcript's letter opposite position 1 is the next
        adenosine = after < transcript.size and after >= 0 and bases[transcript[after]] == _A
        low, high, skipped = 2, 8, 0
        if to_8:
            seed_class[hit] = _8MER if adenosine else _7MER_M8
            skipped = 1 if adenosine else 0
        elif to_7:
            seed_class[hit] = _7MER_A1 if adenosine else _6MER
            high = 7
            skipped = 1 if adenosine else 0
        elif has_run(opposite, paired, 3, 8):
            seed_class[hit] = _OFFSET_6MER
            low = 3
        else:
            seed_class[hit] = _NONE
        local_au[hit] = au_content(
            transcript, bases, opposite[min(high, last)], opposite[min(low, last)], skipped
        )


@numba.njit(cache=True, nogil=True)
def count_gaps(letters):  # type: ignore[no-untyped-def]
    """Number of ``-``."""
    count = 0
    for letter in letters:
        if letter == _GAP:
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def has_run(opposite, paired, low, high):  # type: ignore[no-untyped-def]
    """Whether miRNA positions ``low`` to ``high`` all pair, with neighbours of the transcript."""
    for position in range(low, high + 1):
        if not paired[position]:
            return False
        if position > low and opposite[position] != opposite[position - 1] - 1:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def au_content(transcript, bases, first, last, skipped):  # type: ignore[no-untyped-def]
    """Weighted share of A and U in the 30 letters on either side of ``first`` to ``last``.

    A letter at distance d from the nearer end counts 1/d. ``skipped`` letters after ``last`` are
    part of the site: they do not count, and the 30 letters begin behind them. Letters that are
    none of A C G U T, and places off the transcript, are left out of both sums.
    """
    au, total = 0.0, 0.0
    for distance in range(1, FLANK + 1):
        before = first - distance
        if 1 <= before <= transcript.size:
            base = bases[transcript[before - 1]]
            if base != _OTHER:
                total += 1.0 / distance
                if base in (_A, _U):
                    au += 1.0 / distance
        distance_after = distance + skipped
        after = last + distance_after
        if 1 <= after <= transcript.size:
            base = bases[transcript[after - 1]]
            if base != _OTHER:
                total += 1.0 / distance_after
                if base in (_A, _U):
                    au += 1.0 / distance_after
    return au / total if total > 0 else math.nan
