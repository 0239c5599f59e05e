"""miRanda 3.3a's scores as integers, and what a score pass takes and gives: no kernels.

A pair is n rows (the miRNA read 3'->5', so that row i is miRNA position n - i + 1) by m columns
(the reference 5'->3'). Of each cell, with zero borders and s the score of its two letters:

    a = max(0, best[i - 1, j - 1] + s)                              paired
    b = max(a[i, j - 1] + open, b[i, j - 1] + extend)               reference base unpaired
    c = max(a[i - 1, j] + open, c[i - 1, j] + extend); -1 in the seed   miRNA base unpaired
    best = max(a, b, c); its state is the first of a, b, c that reaches it
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

SEED_ROWS: Final = 7
"""Rows n - 7 .. n - 1, miRNA positions 2 .. 8, are the seed; all rows but n where n <= 8."""

UNLIMITED: Final = 2**31
"""Span of alignments that may have any: longer than any reference."""

OTHER: Final = 4
"""Code of a letter that is none of A C G U/T."""


WATSON_CRICK_SCORE: Final = 5
WOBBLE_SCORE: Final = 1
MISMATCH_SCORE: Final = -3
OTHER_SCORE: Final = -1
"""Scores of A-U and G-C, of G-U, of any other pair of A C G U, and of any pair with ``OTHER``."""


CODES: Final = np.full(256, OTHER, dtype=np.uint8)
"""Code of each ASCII letter: A 0, C 1, G 2, U and T 3, in either case; any other letter 4."""
for _code, _letters in enumerate(("Aa", "Cc", "Gg", "UuTt")):
    CODES[list(_letters.encode())] = _code

PAIRS: Final = np.full((5, 5), MISMATCH_SCORE, dtype=np.int32)
"""int32 (5, 5): score of two letters outside the seed, by their codes."""
_A, _C, _G, _U = range(4)
PAIRS[[_A, _U, _C, _G], [_U, _A, _G, _C]] = WATSON_CRICK_SCORE
PAIRS[[_G, _U], [_U, _G]] = WOBBLE_SCORE
PAIRS[OTHER, :] = PAIRS[:, OTHER] = OTHER_SCORE


class Texts(NamedTuple):
    """Texts one after the other: letters uint8 (total,); offsets int64 (texts + 1,)."""

    letters: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class SequenceBatch:
    """Many sequences, one after the other.

    text      uint8 (total,): ASCII as in the file, case kept, white space removed
    offsets   int64 (count + 1,): sequence k is text[offsets[k]:offsets[k + 1]]
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of_strings(cls, sequences: Sequence[str]) -> SequenceBatch:
        """Lay strings one after the other."""
        text = np.frombuffer("".join(sequences).encode("ascii"), dtype=np.uint8)
        return cls(text, offsets_of(np.array([len(s) for s in sequences], dtype=np.int64)))

    @classmethod
    def of_state(cls, state: Mapping[str, object], kind: str) -> SequenceBatch:
        """The sequences of a state whose names begin with ``kind``."""
        return cls(np.asarray(state[f"{kind}_text"]), np.asarray(state[f"{kind}_offsets"]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Letters of each sequence, int64 (count,)."""
        return np.diff(self.offsets)

    def sequence(self, k: int) -> str:
        """The letters of sequence ``k``, from 0 on."""
        return self.text[self.offsets[k] : self.offsets[k + 1]].tobytes().decode("ascii")

    def block(self, rows: NDArray[np.integer], trim: int | None = None) -> SequenceBatch:
        """The sequences of some rows, in that order, each cut after ``trim`` letters."""
        lengths = self.lengths[rows]
        if trim is not None:
            lengths = np.minimum(lengths, trim)
        begins = self.offsets[:-1][rows]
        if len(rows) and (begins[1:] == begins[:-1] + lengths[:-1]).all():
            text = self.text[begins[0] : begins[-1] + lengths[-1]]  # neighbours, often very many
            return SequenceBatch(text.copy(), offsets_of(lengths))
        pieces = [self.text[b : b + n] for b, n in zip(begins, lengths, strict=True)]
        text = np.concatenate([np.empty(0, dtype=np.uint8), *pieces])
        return SequenceBatch(text, offsets_of(lengths))

    @property
    def texts(self) -> Texts:
        """The same for kernels."""
        return Texts(self.text, self.offsets)

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """Code of each letter (``CODES``), uint8 (total,)."""
        return CODES[self.text]


def state_sequences(state: Mapping[str, object]) -> tuple[SequenceBatch, SequenceBatch]:
    """The miRNAs and the transcripts of a state."""
    return SequenceBatch.of_state(state, "mirna"), SequenceBatch.of_state(state, "transcript")


@dataclass(frozen=True)
class AlignmentScoring:
    """The integers of one set of alignment parameters.

    pair        int32 (2, 5, 5): score of a miRNA letter on a reference letter, by their codes;
                [0] outside the seed, [1] in it. Rows 1, 2 and n score 0 whatever the letters, and
                all rows where n <= 3
    open        int32 (2,): cost of the first base of a gap, outside and in the seed, 0 or below
    extend      int32 (2,): cost of each further base, 0 or below
    threshold   lowest score of a candidate, at least 1
    """

    pair: NDArray[np.int32]
    open: NDArray[np.int32]
    extend: NDArray[np.int32]
    threshold: int

    @classmethod
    def of_parameters(
        cls, threshold: float, scale: float, gap_open: float, gap_extend: float
    ) -> AlignmentScoring:
        """Scores 5, 1, -3, -1 and gaps; in the seed times ``scale``, truncated towards zero.

        Settings are those that ``config.AlignmentConfig`` allows: no sum of them leaves 32 bits.
        """
        seed = np.array([[int(scale * int(s)) for s in row] for row in PAIRS], dtype=np.int32)
        return cls(
            np.stack([PAIRS, seed]),
            np.array([int(gap_open), int(scale * gap_open)], dtype=np.int32),
            np.array([int(gap_extend), int(scale * gap_extend)], dtype=np.int32),
            math.ceil(threshold),
        )

    @property
    def gaps(self) -> NDArray[np.int64]:
        """Open and extend outside the seed, then in it: int64 (4,)."""
        return np.stack([self.open, self.extend], axis=1).reshape(-1).astype(np.int64)

    def all_row_pair_scores(self, mirnas: SequenceBatch) -> NDArray[np.int32]:
        """Of all miRNAs, one after the other: int32 (letters, 5)."""
        offsets = mirnas.offsets
        n = np.diff(offsets)
        length = np.repeat(n, n)
        # Row i is letter n - i, counted from 0.
        row = ranges(np.ones_like(n), n)
        codes = mirnas.codes[np.repeat(offsets[:-1], n) + length - row]
        scores = self.pair[(row >= length - SEED_ROWS).astype(np.int64), codes]
        scores[(row < 3) | (row == length)] = 0
        return scores

    def highest_score(self, length: int) -> int:
        """Upper bound of any cell's score, for a miRNA of ``length``."""
        rows = max(length - 3, 0)
        seed = min(rows, SEED_ROWS)
        outside_best, seed_best = (max(int(scores.max()), 0) for scores in self.pair)
        return (rows - seed) * outside_best + seed * seed_best

    def span_limit(self, length: int) -> int:
        """Most columns that an alignment scoring ``threshold`` or more can span.

        All columns but those of unpaired reference bases pair with a row of their own. What the
        unpaired ones cost comes off ``highest_score``, also where two alignments tie.
        """
        slack = self.highest_score(length) - self.threshold
        cheapest_open = -int(self.open.max())
        cheapest = min(cheapest_open, -int(self.extend.max()))
        if slack < cheapest_open:
            return length
        if cheapest == 0:
            return UNLIMITED
        return length + 1 + (slack - cheapest_open) // cheapest

    def span_limits(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """``span_limit`` of many lengths."""
        different, number = np.unique(lengths, return_inverse=True)
        return np.array([self.span_limit(int(n)) for n in different], dtype=np.int64)[number]


class Candidates(NamedTuple):
    """The best candidate of each diagonal of each pair, sorted by (i, j, rank of miRanda).

    A candidate is a cell that scores ``threshold`` or more and whose state is not "reference base
    unpaired". Of those on one diagonal (column - row), the best has the highest score, then the
    smallest column, then the smallest row; in that order they are sorted within a pair.

    i        int32: number of the miRNA within the block handed in
    j        int32: number of the reference within the block handed in
    row      int32: 1 .. n
    column   int32: 1 .. m
    score    int32
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    score: NDArray[np.int32]


class Traced(NamedTuple):
    """Candidates that both filters leave, and their alignments.

    i .. score      as ``Candidates``: row and column are the last aligned cell
    begin_row, begin_column   int32: the cell before the first aligned one
    state_count     int32: columns of the alignment
    states          uint8 (count, longest alignment): state of each column, the last one first
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    score: NDArray[np.int32]
    begin_row: NDArray[np.int32]
    begin_column: NDArray[np.int32]
    state_count: NDArray[np.int32]
    states: NDArray[np.uint8]

    def taken(self, rows: NDArray[np.integer]) -> Traced:
        """Some of them, in the order of ``rows``."""
        return Traced(*(values[rows] for values in self))


def offsets_of(lengths: ArrayLike) -> NDArray[np.int64]:
    """Where each of some things one after the other begins, and the end: int64 (count + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def reverse_cumsum(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Of each place on the last axis, the sum of this and all behind it."""
    return np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]


def pair_starts(i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where the runs of entries of one pair begin, and behind the last run: int64 (pairs + 1,)."""
    new = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
    first = np.flatnonzero(np.concatenate([np.ones(min(len(i), 1), bool), new]))
    return np.append(first, len(i))


def ranges(first: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """first[0], first[0] + 1, ... (count[0] numbers), then those of the next range, and so on."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum()), dtype=np.int64) + np.repeat(first - before, count)


def runs(sizes: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Slices of things whose sizes add up to at most so much, or of one."""
    begin, total = 0, 0
    for k, size in enumerate(sizes.tolist()):
        if total + size > most and k > begin:
            yield slice(begin, k)
            begin, total = k, 0
        total += size
    if begin < len(sizes):
        yield slice(begin, len(sizes))
