"""Shuffled miRNAs that keep their dinucleotides, and how often their sites are to be expected.

A shuffle is a random Eulerian path over the letters, each drawn with the same probability (Altschul
and Erickson 1985, Mol. Biol. Evol. 2:526; Kandel et al. 1996, Discrete Appl. Math. 71:171): of
every letter but the last one, draw the edge by which the path leaves it for the last time; where
these edges do not lead to the last letter, draw again; then order the other edges at random.

Words of letters have the probabilities of a Markov chain of second order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.mirna_targets.scoring import OTHER, SequenceBatch

SYMBOLS = OTHER + 1

SITE_WORDS = 5
"""Words of a transcript opposite miRNA positions 8-2 with an A behind, 8-2, 7-2 with an A behind,
7-2, and 8-3: what the seed classes are counted from."""

WORD_8A, WORD_8, WORD_7A, WORD_7, WORD_38 = range(SITE_WORDS)

NEVER = -1000.0
"""Logarithm that stands for a probability of 0."""


class MarkovChain(NamedTuple):
    """Logarithms of probabilities: start float64 (16,), of the first two letters; step float64
    (64,), of a letter after two others. Letters by their codes, the first one counts most."""

    start: NDArray[np.float64]
    step: NDArray[np.float64]


class SiteWords(NamedTuple):
    """Of each miRNA, its ``SITE_WORDS``: log_probability float64 (miRNAs, SITE_WORDS); letters
    float64 (miRNAs, SITE_WORDS, 4), how many A, C, G and U each word has."""

    log_probability: NDArray[np.float64]
    letters: NDArray[np.float64]

    @classmethod
    def of_mirnas(cls, mirnas: SequenceBatch, chain: MarkovChain) -> SiteWords:
        """Words of the sites of miRNAs, 5' to 3'."""
        count = len(mirnas)
        words = cls(np.empty((count, SITE_WORDS)), np.zeros((count, SITE_WORDS, 4)))
        _site_words(mirnas.codes, mirnas.offsets, chain, words)
        return words


class Shuffles(NamedTuple):
    """Shuffles of miRNAs, written; ``draws`` of each.

    codes      uint8 (draws * letters,): those of miRNA k begin at draws * offsets[k]
    key        uint64 (miRNAs, draws): the same for the same letters
    expected   float64 (miRNAs, draws): logarithm of the probability of a canonical site
    same_seed  bool (miRNAs, draws): positions 2 to 8 are those of the miRNA itself
    """

    codes: NDArray[np.uint8]
    key: NDArray[np.uint64]
    expected: NDArray[np.float64]
    same_seed: NDArray[np.bool_]


@threaded(over="start")
def shuffle_mirnas(first, last, codes, offsets, start, chain, shuffles):  # type: ignore[no-untyped-def]
    """Fill ``shuffles`` for all miRNAs.

    codes, offsets   the miRNAs, 5' to 3'
    start            uint64 (miRNAs,): where the random numbers of each begin
    """
    draws = shuffles.key.shape[1]
    random = np.empty(1, np.uint64)
    for mirna in range(first, last):
        own = codes[offsets[mirna] : offsets[mirna + 1]]
        n = len(own)
        random[0] = start[mirna]
        edges = np.empty((SYMBOLS, max(n, 1)), np.uint8)
        for draw in range(draws):
            at = draws * offsets[mirna] + draw * n
            letters = shuffles.codes[at : at + n]
            _shuffle(own, random, edges, letters)
            key = np.uint64(0)
            for letter in letters:
                key = key * np.uint64(SYMBOLS) + np.uint64(letter)
            shuffles.key[mirna, draw] = key
            shuffles.expected[mirna, draw] = log_canonical_probability(letters, chain)
            shuffles.same_seed[mirna, draw] = np.array_equal(letters[1:8], own[1:8])


@njit(nogil=True)
def _below(random, limit):  # type: ignore[no-untyped-def]
    """The next of 0 .. limit - 1 (SplitMix64: Steele, Lea and Flood 2014)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(((z >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@njit(nogil=True)
def _shuffle(codes, random, edges, out):  # type: ignore[no-untyped-def]
    """One shuffle of ``codes`` to ``out``; edges: uint8 (SYMBOLS, len(codes)), scratch."""
    n = len(codes)
    out[:] = codes
    if n < 4:
        return
    last_letter = codes[n - 1]
    degree = np.zeros(SYMBOLS, np.int64)
    for k in range(n - 1):
        edges[codes[k], degree[codes[k]]] = codes[k + 1]
        degree[codes[k]] += 1
    last_edge = np.zeros(SYMBOLS, np.int64)
    reaches = False
    while not reaches:
        for letter in range(SYMBOLS):
            if degree[letter] > 0:
                last_edge[letter] = _below(random, degree[letter])
        reaches = True
        for letter in range(SYMBOLS):
            here = letter
            for _ in range(SYMBOLS):
                if here != last_letter and degree[here] > 0:
                    here = np.int64(edges[here, last_edge[here]])
            reaches &= degree[letter] == 0 or here == last_letter
    for letter in range(SYMBOLS):
        free = degree[letter]
        if free and letter != last_letter:
            free -= 1
            _swap(edges[letter], last_edge[letter], free)
        for k in range(free - 1, 0, -1):
            _swap(edges[letter], _below(random, k + 1), k)
    used = np.zeros(SYMBOLS, np.int64)
    for k in range(1, n):
        here = out[k - 1]
        out[k] = edges[here, used[here]]
        used[here] += 1


@njit(nogil=True)
def _swap(values, one, other):  # type: ignore[no-untyped-def]
    values[one], values[other] = values[other], values[one]


# --- words ----------------------------------------------------------------------------------------


@njit(nogil=True)
def log_canonical_probability(codes, chain):  # type: ignore[no-untyped-def]
    """Logarithm of the probability that a place of a transcript is an 8mer, 7mer-m8 or 7mer-A1 site
    of a miRNA; ``NEVER`` for one of fewer than 8 letters, or with others than A C G U there."""
    if len(codes) < 8:
        return NEVER
    eight, eight_a = _log_words(codes, chain, 2, 8)
    if eight <= NEVER:
        return NEVER
    _, seven_a = _log_words(codes, chain, 2, 7)
    return math.log(math.exp(eight) + math.exp(seven_a) - math.exp(eight_a))


@njit(nogil=True)
def _log_words(codes, chain, low, high):  # type: ignore[no-untyped-def]
    """Logarithm of the probability of the word opposite positions ``high`` to ``low`` of a miRNA,
    and of the same with an A behind it."""
    for position in range(low, high + 1):
        if codes[position - 1] >= OTHER:
            return NEVER, NEVER
    before, here = 3 - np.int64(codes[high - 1]), 3 - np.int64(codes[high - 2])
    total = chain.start[before * 4 + here]
    for position in range(high - 2, low - 1, -1):
        letter = 3 - np.int64(codes[position - 1])
        total += chain.step[(before * 4 + here) * 4 + letter]
        before, here = here, letter
    return total, total + chain.step[(before * 4 + here) * 4]


@threaded(entries=1 << 13)
def _site_words(first, last, codes, offsets, chain, words):  # type: ignore[no-untyped-def]
    for mirna in range(first, last):
        own = codes[offsets[mirna] : offsets[mirna + 1]]
        log_probability, letters = words.log_probability[mirna], words.letters[mirna]
        log_probability[:] = NEVER
        if len(own) < 8:
            continue
        log_probability[WORD_8], log_probability[WORD_8A] = _log_words(own, chain, 2, 8)
        log_probability[WORD_7], log_probability[WORD_7A] = _log_words(own, chain, 2, 7)
        log_probability[WORD_38] = _log_words(own, chain, 3, 8)[0]
        for position in range(2, 9):
            code = own[position - 1]
            if code < OTHER:
                for word in range(SITE_WORDS):
                    in_word = (
                        position < 8
                        if word in (WORD_7A, WORD_7)
                        else position > 2 or word != WORD_38
                    )
                    letters[word, 3 - code] += in_word
        letters[WORD_8A, 0] += 1
        letters[WORD_7A, 0] += 1
