"""Candidates to alignments, pair by pair, and their letters; all cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.hits import Letters
from pairtile.methods.mirna_targets.kernels.dealing import dealt
from pairtile.methods.mirna_targets.kernels.miranda_scoring import Candidates, Scoring
from pairtile.methods.mirna_targets.kernels.miranda_strings import (
    LINKER,
    write_alignments,
    write_fold_strings,
)
from pairtile.methods.mirna_targets.kernels.miranda_traceback import trace_pairs

STATES_AT_ONCE: Final = 2**28
"""Room for the states of one batch of pairs, in bytes; taken only where written."""


@dataclass(frozen=True)
class Alignments:
    """Alignments that miRanda's two filters leave, in miRanda's order within each pair.

    mirnas, transcripts       the block's sequences
    i, j                      int32: rows within the block
    begin_row, begin_column   int32: the cell before the first aligned one
    end_row, end_column       int32: the last aligned cell
    score                     int32
    state_count               int32: columns of the alignment
    size, place               int64: letters of a line, with tails; where they begin in ``text``
    text                      uint8 (3, total): miRNA, marks, reference
    identical, similar        int32: columns marked ``|``; ``|`` or ``:``
    seed_is_perfect           bool: miRNA positions 2 to 8 are seven ``|``, without a gap
    """

    mirnas: Letters
    transcripts: Letters
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    begin_row: NDArray[np.int32]
    begin_column: NDArray[np.int32]
    end_row: NDArray[np.int32]
    end_column: NDArray[np.int32]
    score: NDArray[np.int32]
    state_count: NDArray[np.int32]
    size: NDArray[np.int64]
    place: NDArray[np.int64]
    text: NDArray[np.uint8]
    identical: NDArray[np.int32]
    similar: NDArray[np.int32]
    seed_is_perfect: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.i)

    def taken(self, rows: NDArray[np.integer]) -> Alignments:
        """Some of them, in the order of ``rows``."""
        whole = ("mirnas", "transcripts", "text")
        names = [field.name for field in fields(self) if field.name not in whole]
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        return replace(self, **columns)

    def lines(self) -> tuple[list[str], list[str], list[str]]:
        """Of each, the three lines: miRNA 3'->5', marks, reference 5'->3'."""
        spans = list(zip(self.place.tolist(), (self.place + self.size).tolist(), strict=True))
        top, marks, bottom = (line.tobytes().decode("ascii") for line in self.text)
        return (
            [top[begin:end] for begin, end in spans],
            [marks[begin:end] for begin, end in spans],
            [bottom[begin:end] for begin, end in spans],
        )

    def fold_strings(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Of each, the string whose minimum free energy is the hit's: letters and offsets."""
        n = self.mirnas.lengths[self.i]
        tails = self.begin_row + n - self.end_row
        sizes = n + LINKER + tails + (self.end_column - self.begin_column)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        text = np.empty(int(offsets[-1]), dtype=np.uint8)
        write_fold_strings(
            *sequences_of(self.mirnas, self.transcripts, self.i, self.j),
            self.begin_row,
            self.begin_column,
            self.end_row,
            self.end_column,
            offsets[:-1],
            text,
        )
        return text, offsets


def align(found: Candidates, mirnas: Letters, transcripts: Letters, scoring: Scoring) -> Alignments:
    """Filter candidates, trace them back and write their letters.

    found                 candidates of a block's pairs, sorted by pair, miRanda's order within
    mirnas, transcripts   the block's sequences, transcripts trimmed
    """
    pair = found.i.astype(np.int64) << 32 | found.j
    first = np.flatnonzero(np.r_[True, np.diff(pair) != 0][: len(pair)])
    first = np.r_[first, len(pair)].astype(np.int64)
    pairs = _Pairs(mirnas, transcripts, scoring, found.i[first[:-1]], found.j[first[:-1]])
    parts = []
    for begin, end in _batches(np.diff(first), pairs.longest):
        cells = slice(first[begin], first[end])
        some = Candidates(*(getattr(found, field.name)[cells] for field in fields(found)))
        parts.append(pairs.aligned(some, first[begin : end + 1] - first[begin], begin, end))
    return _joined(parts) if parts else pairs.aligned(found, first, 0, 0)


def _batches(count: NDArray[np.int64], longest: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Pairs begin .. end - 1 whose states need at most ``STATES_AT_ONCE`` bytes; at least one."""
    begin, candidates, widest = 0, 0, 0
    for pair, (more, width) in enumerate(zip(count.tolist(), longest.tolist(), strict=True)):
        if pair > begin and (candidates + more) * max(widest, width) > STATES_AT_ONCE:
            yield begin, pair
            begin, candidates, widest = pair, 0, 0
        candidates, widest = candidates + more, max(widest, width)
    if begin < len(count):
        yield begin, len(count)


class _Pairs:
    """The pairs that have candidates, and what their alignment takes."""

    def __init__(
        self,
        mirnas: Letters,
        transcripts: Letters,
        scoring: Scoring,
        i: NDArray[np.int32],
        j: NDArray[np.int32],
    ) -> None:
        self.mirnas, self.transcripts = mirnas, transcripts
        self.i, self.j = i, j
        self.gaps = scoring.gaps
        coded = mirnas.coded()
        self.scores = scoring.all_row_pair_scores(coded)
        self.codes = transcripts.coded().codes
        self.spans = scoring.span_limits(mirnas.lengths)[i]
        # Each column of an alignment takes a row of its own or an unpaired reference base.
        self.longest = mirnas.lengths[i] + np.minimum(self.spans, transcripts.lengths[j])

    def aligned(
        self, found: Candidates, first: NDArray[np.int64], begin: int, end: int
    ) -> Alignments:
        """Alignments of pairs begin .. end - 1; of pair k the candidates from first[k - begin]."""
        i, j = self.i[begin:end], self.j[begin:end]
        count = len(found)
        begin_row, begin_column, state_count = (np.zeros(count, dtype=np.int32) for _ in range(3))
        accepted = np.zeros(count, dtype=np.uint8)
        states = np.empty((count, int(self.longest[begin:end].max(initial=1))), dtype=np.uint8)
        trace_pairs(
            dealt(len(i)),
            first,
            found.row,
            found.column,
            self.codes,
            self.transcripts.offsets[j],
            self.scores,
            self.mirnas.offsets[i],
            self.mirnas.lengths[i],
            self.spans[begin:end],
            self.gaps,
            accepted,
            begin_row,
            begin_column,
            state_count,
            states,
        )
        kept = np.flatnonzero(accepted)
        return written(
            self.mirnas,
            self.transcripts,
            Candidates(*(getattr(found, field.name)[kept] for field in fields(found))),
            begin_row[kept],
            begin_column[kept],
            state_count[kept],
            states,
            kept,
        )


def written(
    mirnas: Letters,
    transcripts: Letters,
    cells: Candidates,
    begin_row: NDArray[np.int32],
    begin_column: NDArray[np.int32],
    state_count: NDArray[np.int32],
    states: NDArray[np.uint8],
    states_row: NDArray[np.int64],
) -> Alignments:
    """Write the letters of alignments that were traced back, on whichever device.

    cells            the last aligned cell of each
    states           uint8 (rows, longest): state of each column, the last one first
    states_row       int64: the row of ``states`` of each alignment
    """
    count = len(cells)
    n = mirnas.lengths[cells.i]
    size = begin_row + state_count + n - cells.row
    place = np.cumsum(size) - size
    text = np.empty((3, int(size.sum())), dtype=np.uint8)
    identical, similar = (np.empty(count, dtype=np.int32) for _ in range(2))
    seed_is_perfect = np.empty(count, dtype=np.bool_)
    write_alignments(
        *sequences_of(mirnas, transcripts, cells.i, cells.j),
        begin_row,
        begin_column,
        cells.row,
        cells.column,
        states,
        states_row,
        state_count,
        place,
        text,
        identical,
        similar,
        seed_is_perfect,
    )
    return Alignments(
        mirnas=mirnas,
        transcripts=transcripts,
        i=cells.i,
        j=cells.j,
        begin_row=begin_row,
        begin_column=begin_column,
        end_row=cells.row,
        end_column=cells.column,
        score=cells.score,
        state_count=state_count,
        size=size,
        place=place,
        text=text,
        identical=identical,
        similar=similar,
        seed_is_perfect=seed_is_perfect,
    )


def sequences_of(
    mirnas: Letters, transcripts: Letters, i: NDArray[np.int32], j: NDArray[np.int32]
) -> tuple[
    NDArray[np.uint8],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.uint8],
    NDArray[np.int64],
    NDArray[np.int64],
]:
    """Letters, and where those of each pair begin and how many they are, as the kernels ask."""
    return (
        mirnas.text,
        mirnas.offsets[i],
        mirnas.lengths[i],
        transcripts.text,
        transcripts.offsets[j],
        transcripts.lengths[j],
    )


def _joined(parts: list[Alignments]) -> Alignments:
    if len(parts) == 1:
        return parts[0]
    shift = np.cumsum([0] + [part.text.shape[1] for part in parts[:-1]])
    parts = [
        replace(part, place=part.place + more) for part, more in zip(parts, shift, strict=True)
    ]
    names = [field.name for field in fields(Alignments)][2:]
    joined = {name: np.concatenate([getattr(p, name) for p in parts], axis=-1) for name in names}
    return Alignments(parts[0].mirnas, parts[0].transcripts, **joined)
