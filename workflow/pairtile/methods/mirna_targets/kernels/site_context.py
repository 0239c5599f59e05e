"""What is around seed matches, as the context++ model takes it: letters and lengths only.

Agarwal et al. (2015, eLife 4:e05005) and, of pairing behind the seed, Grimson et al. (2007, Mol.
Cell 27:91). All of a site follows from where its seed match lies on the transcript.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.mirna_targets.kernels.hit_sites import au_content
from pairtile.methods.mirna_targets.kernels.traceback import text_of
from pairtile.methods.mirna_targets.scoring import CODES, OTHER

_6MER, _7MER_A1, _7MER_M8, _8MER = 2, 3, 4, 5


class SiteContext(NamedTuple):
    """Of each hit, written; NaN and -1 for those without a 6mer or better.

    local_au      float64: weighted share of A and U around the match
    pairing_3p    float64: score of pairs behind the seed
    end_distance  int32: letters between the match and the nearer end of the transcript
    offset_6mers  int32: matches to miRNA positions 3 to 8 in the transcript
    site_8        int8: code of the letter opposite position 8
    """

    local_au: NDArray[np.float64]
    pairing_3p: NDArray[np.float64]
    end_distance: NDArray[np.int32]
    offset_6mers: NDArray[np.int32]
    site_8: NDArray[np.int8]

    @classmethod
    def empty(cls, count: int) -> SiteContext:
        """Room for so many hits."""
        return cls(
            np.full(count, np.nan),
            np.full(count, np.nan),
            np.full(count, -1, np.int32),
            np.full(count, -1, np.int32),
            np.full(count, -1, np.int8),
        )


@threaded(entries=1 << 5)
def site_context(first, last, mirnas, transcripts, mirna, transcript, sites, context):  # type: ignore[no-untyped-def]
    """Fill ``context``.

    mirnas, transcripts   ``Texts``; mirna, transcript: int32 (hits,), rows of them
    sites                 ``HitSites``: seed class, and transcript position opposite position 2
    """
    for hit in range(first, last):
        if sites.seed_class[hit] >= _6MER:
            _context_of_hit(
                hit,
                text_of(mirnas, mirna[hit]),
                text_of(transcripts, transcript[hit]),
                sites.seed_class[hit],
                np.int64(sites.seed_end[hit]),
                context,
            )


@njit(nogil=True)
def _context_of_hit(hit, mirna, transcript, seed_class, seed_end, context):  # type: ignore[no-untyped-def]
    with_8 = seed_class in (_7MER_M8, _8MER)
    with_a = seed_class in (_7MER_A1, _8MER)
    # Positions of the match from 1, both included: opposite position 8 or 7 to 2 or the A.
    begin = seed_end - (6 if with_8 else 5)
    end = seed_end + (1 if with_a else 0)
    context.end_distance[hit] = min(transcript.size - end, begin - 1)
    # Near letters count 1, 1/2, 1/3, ... beside a match that reaches to position 8 or to the A;
    # else 1/2, 1/3, ... upstream and 1, 1/2, ... downstream, with the two exchanged of the A.
    before, after = 1 if with_8 else 2, 2 if with_a else 1
    context.local_au[hit] = au_content(transcript, begin, end, before, after, True)
    context.site_8[hit] = _code(transcript, seed_end - 6)
    context.offset_6mers[hit] = _matches_3_to_8(mirna, transcript)
    context.pairing_3p[hit] = pairing_behind_seed(mirna, transcript, begin, 8 if with_8 else 7)


@njit(nogil=True)
def _code(letters, position):  # type: ignore[no-untyped-def]
    """Code of the letter at a position from 1; ``OTHER`` off the ends."""
    if 1 <= position <= letters.size:
        return np.int64(CODES[letters[position - 1]])
    return OTHER


@njit(nogil=True)
def _matches_3_to_8(mirna, transcript):  # type: ignore[no-untyped-def]
    count = 0
    for begin in range(transcript.size - 5):
        k = 0
        while k < 6 and _pairs(CODES[mirna[7 - k]], CODES[transcript[begin + k]]):
            k += 1
        count += k == 6
    return count


WORD = 8
"""Letters of a word that is counted: what may face a miRNA's positions 8 to 1."""


@njit(nogil=True)
def count_words(transcripts, counts):  # type: ignore[no-untyped-def]
    """Add up how often each word of ``WORD`` letters is in the transcripts, one place beyond both
    ends of each included as ``OTHER``; counts: int64 (5 ** WORD,), first letter most significant.
    """
    below = 5 ** (WORD - 1)
    for row in range(transcripts.offsets.size - 1):
        word = np.int64(5**WORD - 1)
        begin, end = transcripts.offsets[row], transcripts.offsets[row + 1]
        for place in range(begin, end + 1):
            code = CODES[transcripts.letters[place]] if place < end else OTHER
            word = word % below * 5 + code
            counts[word] += 1


@njit(nogil=True)
def _pairs(one, other):  # type: ignore[no-untyped-def]
    return one + other == 3 and one < OTHER and other < OTHER


@njit(nogil=True)
def pairing_behind_seed(mirna, transcript, begin, last):  # type: ignore[no-untyped-def]
    """Score of the best run of A-U and G-C pairs behind a seed match (Grimson et al. 2007).

    In a run of two pairs or more, each at the miRNA's positions 13 to 16 counts 1, each other 0.5.
    One strand may have letters left over between seed and run; each beyond two takes off 0.5.

    begin   transcript position of the seed match, from 1
    last    last miRNA position in the match, 7 or 8
    """
    best = 0.0
    # 15 letters before the seed match may pair with the miRNA's 3' part.
    upstream = min(15 + 8 - last, begin - 1)
    behind = len(mirna) - last
    for left_over in range(max(upstream, behind)):
        off = max(0.0, (left_over - 2) / 2.0)
        for of_mirna in range(2):
            skip_mirna = left_over if of_mirna else 0
            skip_transcript = 0 if of_mirna else left_over
            run, length = 0.0, 0
            for k in range(min(behind - skip_mirna, upstream - skip_transcript)):
                position = last + 1 + skip_mirna + k
                letter = begin - 1 - skip_transcript - k
                if _pairs(CODES[mirna[position - 1]], CODES[transcript[letter - 1]]):
                    run += 1.0 if 13 <= position <= 16 else 0.5
                    length += 1
                    if length >= 2:
                        best = max(best, run - off)
                else:
                    run, length = 0.0, 0
    return best
