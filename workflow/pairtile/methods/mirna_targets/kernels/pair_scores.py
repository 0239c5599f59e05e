"""How unlikely the sites of a pair are by chance: their number and their kinds in one score.

Sites are ordered by seed class, and by alignment score within a class. Of the strongest site, the
two strongest, the three strongest and so on, take the probability of at least so many sites at
least so strong, if sites fell at random (Poisson) as often as the pair's sequences let expect. The
score is -log10 of the least of these probabilities.

What is to be expected: of each seed class, the number of its words in the transcript (a Markov
chain, and the transcript's own composition), times how many hits of the class with so high a
score there are for each such word, measured on shuffled miRNAs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.kernels.shuffled_mirnas import (
    WORD_7,
    WORD_7A,
    WORD_8,
    WORD_8A,
    WORD_38,
)

CLASSES = len(SEED_CLASSES)
SCORE_BINS, SCORE_STEP = 24, 5
"""Alignment scores from the least that a hit may have, in steps; the last one has all above."""

PAIR_BINS, PAIR_STEP = 300, 0.05
"""Pair scores from 0; the last step has all above."""


class PairSites(NamedTuple):
    """Sites of pairs, pair by pair.

    first        int64 (pairs + 1,): sites first[p] .. first[p + 1] - 1 are those of pair p
    mirna        int64 (pairs,): rows of the words
    transcript   int64 (pairs,): rows of the background
    seed_class   int8 (sites,): number in ``SEED_CLASSES``
    score_bin    int8 (sites,)
    """

    first: NDArray[np.int64]
    mirna: NDArray[np.int64]
    transcript: NDArray[np.int64]
    seed_class: NDArray[np.int8]
    score_bin: NDArray[np.int8]


class Background(NamedTuple):
    """What transcripts let expect.

    places      float64 (transcripts,): where a site may lie
    log_ratio   float64 (transcripts, 4): log of the share of A, C, G, U over that in all of them
    """

    places: NDArray[np.float64]
    log_ratio: NDArray[np.float64]


@threaded(entries=1 << 12)
def expected_words(first, last, mirnas, transcripts, words, background, expected):  # type: ignore[no-untyped-def]
    """Fill ``expected``, float64 (pairs, CLASSES): words of each class, of pairs of rows."""
    for pair in range(first, last):
        number = np.empty(words.log_probability.shape[1])
        _words_of_pair(mirnas[pair], transcripts[pair], words, background, number, expected[pair])


@njit(nogil=True)
def _words_of_pair(mirna, transcript, words, background, number, expected):  # type: ignore[no-untyped-def]
    """Fill ``expected``; number: float64 (SITE_WORDS,), scratch."""
    places = background.places[transcript]
    for word in range(len(number)):
        log_probability = words.log_probability[mirna, word]
        for letter in range(4):
            log_probability += (
                words.letters[mirna, word, letter] * background.log_ratio[transcript, letter]
            )
        number[word] = places * math.exp(log_probability)
    seven = max(number[WORD_8] - number[WORD_8A], 0.0)
    expected[5] = number[WORD_8A]
    expected[4] = seven
    expected[3] = max(number[WORD_7A] - number[WORD_8A], 0.0)
    expected[2] = max(number[WORD_7] - number[WORD_7A] - seven, 0.0)
    expected[1] = max(number[WORD_38] - number[WORD_8], 0.0)
    expected[0] = places


@threaded(entries=1 << 10)
def score_pairs(first, last, sites, words, background, rates, scores):  # type: ignore[no-untyped-def]
    """Fill ``scores``, float32 (pairs,).

    rates   float64 (CLASSES, SCORE_BINS): hits with this or a higher score for each word of a class
    """
    number = np.empty(words.log_probability.shape[1])
    expected = np.empty(CLASSES)
    strength = np.empty(sites.first[last] - sites.first[first], np.int64)
    for pair in range(first, last):
        _words_of_pair(
            sites.mirna[pair], sites.transcript[pair], words, background, number, expected
        )
        count = sites.first[pair + 1] - sites.first[pair]
        for k in range(count):
            site = sites.first[pair] + k
            strength[k] = np.int64(sites.seed_class[site]) * SCORE_BINS + sites.score_bin[site]
        if count > 1:
            strength[:count].sort()
        scores[pair] = _score(strength[:count], expected, rates)


@njit(nogil=True)
def _score(strength, expected, rates):  # type: ignore[no-untyped-def]
    least = 1.0
    for k in range(len(strength)):
        seed_class, score_bin = divmod(strength[len(strength) - 1 - k], SCORE_BINS)
        number = expected[seed_class] * rates[seed_class, score_bin]
        for better in range(seed_class + 1, CLASSES):
            number += expected[better] * rates[better, 0]
        least = min(least, at_least(k + 1, number))
    return -math.log10(max(least, 1e-300))


@njit(nogil=True)
def add_at(total, places):  # type: ignore[no-untyped-def]
    """Add 1 to ``total``, int64, at each place."""
    for place in places:
        total[place] += 1


@njit(nogil=True)
def at_least(count, mean):  # type: ignore[no-untyped-def]
    """Probability of ``count`` or more events of a Poisson distribution, for count >= 1."""
    if mean <= 0.0:
        return 0.0
    if count == 1:
        return -math.expm1(-mean)
    if mean > count:
        # Here the sum of the others is far from 1.
        term, fewer = math.exp(-mean), 0.0
        for k in range(1, count + 1):
            fewer += term
            term *= mean / k
        return 1.0 - fewer
    term = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1.0))
    total = 0.0
    k = count
    while term > total * 1e-12:
        total += term
        k += 1
        term *= mean / k
    return total
