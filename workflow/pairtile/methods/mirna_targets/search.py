"""Targets of miRNAs: the hits of miRanda 3.3a (Enright et al., Genome Biology 2003, 5:R1).

Candidates come from the score pass, on the CPU or the GPU; filters, traceback and letters follow
here, then energies. A pair's hits depend on nothing but the pair and the settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.methods.mirna_targets import search_cpu
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.kernels.hit_sites import seed_classes
from pairtile.methods.mirna_targets.kernels.traceback import (
    LINKER,
    AlignedCells,
    AlignedLines,
    AlignedStates,
    HitSequences,
    PairCandidates,
    PairSequences,
    TracedCandidates,
    trace_pairs,
    write_alignments,
    write_fold_strings,
)
from pairtile.methods.mirna_targets.scoring import (
    CODES,
    AlignmentScoring,
    Candidates,
    CodedSequences,
    Traced,
    round_robin_order,
)

if TYPE_CHECKING:
    from pairtile.gpu.device import Device


class TargetSearch:
    """Searches transcripts for targets of miRNAs; opened once on all sequences."""

    def __init__(
        self,
        mirnas: SequenceBatch,
        transcripts: SequenceBatch,
        settings: AlignmentConfig,
        device: Device,
    ) -> None:
        """Raises ValueError for settings that no alignment can have (``AlignmentScoring.of``)."""
        self.mirnas = mirnas
        self.transcripts = transcripts
        self.coded_mirnas = mirnas.coded()
        self.settings = settings
        self.device = device
        self.scoring = AlignmentScoring.of(
            settings.score, settings.scale, settings.gap_open, settings.gap_extend
        )
        self._energy = None
        if settings.energies:
            from pairtile.methods.mirna_targets.energy import DuplexEnergy

            self._energy = DuplexEnergy(device)

    def hits(
        self,
        mirna_begin: int,
        mirna_end: int,
        transcript_rows: NDArray[np.integer],
        allowed: NDArray[np.bool_] | None = None,
    ) -> Hits:
        """Hits of a block of miRNAs on some transcripts, all filters applied.

        mirna_begin, mirna_end   rows of the miRNAs, the last one not included
        transcript_rows          int (count,): rows of the transcripts, each once, in any order
        allowed                  bool (mirna_end - mirna_begin, count): pairs to look at; all
                                 where None
        """
        rows = np.sort(np.asarray(transcript_rows, dtype=np.int64))
        if allowed is not None:
            allowed = allowed[:, np.argsort(transcript_rows)]
        mirnas = self.mirnas.block(np.arange(mirna_begin, mirna_end))
        transcripts = self.transcripts.block(rows, self.settings.trim)
        # Some pairs at a time: letters of what does not pass are gone before the next are written.
        parts = []
        for traced in self._traced(mirnas, transcripts, allowed):
            aligned = written(mirnas, transcripts, traced)
            if self.settings.strict:
                aligned = aligned.taken(np.flatnonzero(aligned.seed_is_perfect))
            energy = np.zeros(len(aligned), dtype=np.float32)
            if self._energy is not None:
                energy = self._energy.fold_letters(*aligned.fold_strings())
                passed = np.flatnonzero(energy.astype(np.float64) < self.settings.energy)
                aligned, energy = aligned.taken(passed), energy[passed]
            parts.append(_as_hits(aligned, energy, mirna_begin, rows))
        return Hits.joined(parts)

    def sites(
        self,
        mirna_begin: int,
        mirna_end: int,
        transcript_rows: NDArray[np.integer],
        allowed: NDArray[np.bool_] | None = None,
    ) -> Sites:
        """The hits that ``hits`` gives, without letters and energies: what counting takes.

        Energies are computed only where they decide: that of a fold is never above 0.
        """
        return self.sites_of(self.traced(mirna_begin, mirna_end, transcript_rows, allowed))

    def traced(
        self,
        mirna_begin: int,
        mirna_end: int,
        transcript_rows: NDArray[np.integer],
        allowed: NDArray[np.bool_] | None = None,
    ) -> TracedBlock:
        """The first half of ``sites``: on a GPU all that it does, on the CPU nothing yet."""
        rows = np.sort(np.asarray(transcript_rows, dtype=np.int64))
        if allowed is not None:
            allowed = allowed[:, np.argsort(transcript_rows)]
        mirnas = self.mirnas.block(np.arange(mirna_begin, mirna_end))
        transcripts = self.transcripts.block(rows, self.settings.trim)
        parts: Iterable[Traced] = self._traced(mirnas, transcripts, allowed)
        if self.device.backend == "cuda":
            parts = list(parts)
        return TracedBlock(mirna_begin, rows, mirnas, transcripts, parts)

    def sites_of(self, block: TracedBlock) -> Sites:
        """The second half of ``sites``."""
        mirnas, transcripts, rows = block.mirnas, block.transcripts, block.rows
        energy = self._energy if self.settings.energy <= 0 else None
        parts = []
        for traced in block.parts:
            kept = np.arange(len(traced))
            if self.settings.strict or energy is not None:
                aligned = written(mirnas, transcripts, traced)
                if self.settings.strict:
                    kept = np.flatnonzero(aligned.seed_is_perfect)
                if energy is not None:
                    folded = energy.fold_letters(*aligned.taken(kept).fold_strings())
                    kept = kept[folded.astype(np.float64) < self.settings.energy]
            seed_class = _seed_classes(mirnas, transcripts, traced)[kept]
            cells = traced.cells
            parts.append(
                Sites(
                    cells.i[kept] + np.int32(block.mirna_begin),
                    rows[cells.j[kept]].astype(np.int32),
                    cells.score[kept],
                    seed_class,
                )
            )
        return Sites(
            *(np.concatenate(columns) for columns in zip(Sites.none(), *parts, strict=True))
        )

    def _traced(
        self, mirnas: SequenceBatch, transcripts: SequenceBatch, allowed: NDArray[np.bool_] | None
    ) -> Iterator[Traced]:
        """Score pass, both filters and traceback; at least one part, in order."""
        coded = (mirnas.coded(), transcripts.coded(), self.scoring, allowed)
        if self.device.backend == "cpu":
            yield from trace(search_cpu.candidates(*coded), mirnas, transcripts, self.scoring)
            return
        from pairtile.methods.mirna_targets.search_cuda import alignments

        yield alignments(*coded, device=self.device)


class TracedBlock(NamedTuple):
    """What is traced back of a block of miRNAs, from row ``mirna_begin`` on, on the transcripts of
    ``rows``; their sequences, and the alignments in parts, which may be looked at once."""

    mirna_begin: int
    rows: NDArray[np.int64]
    mirnas: SequenceBatch
    transcripts: SequenceBatch
    parts: Iterable[Traced]


class Sites(NamedTuple):
    """Hits without their alignments, sorted by (i, j, rank): (sites,) each.

    i, j         int32: rows of the miRNA and the transcript
    score        int32
    seed_class   int8: number in ``hit_sites.SEED_CLASSES``
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    score: NDArray[np.int32]
    seed_class: NDArray[np.int8]

    @classmethod
    def none(cls) -> Sites:
        """No sites."""
        nobody = np.empty(0, np.int32)
        return cls(nobody, nobody, nobody, np.empty(0, np.int8))


def _as_hits(
    aligned: Alignments, energy: NDArray[np.float32], mirna_begin: int, rows: NDArray[np.int64]
) -> Hits:
    """Name things as miRanda prints them."""
    lines = aligned.lines()
    n = aligned.mirnas.lengths[aligned.i]
    m = aligned.transcripts.lengths[aligned.j]
    length = aligned.state_count
    first = np.flatnonzero(
        np.r_[True, (np.diff(aligned.i) != 0) | (np.diff(aligned.j) != 0)][: len(aligned)]
    )
    count = np.diff(np.r_[first, len(aligned)])
    return Hits(
        i=(aligned.i + mirna_begin).astype(np.int32),
        j=rows[aligned.j].astype(np.int32),
        rank=(np.arange(len(aligned)) - np.repeat(first, count)).astype(np.int32),
        score=aligned.score.astype(np.float64),
        energy_kcal_mol=energy,
        query_begin=(n - aligned.end_row + 1).astype(np.int32),
        query_end=(n - aligned.begin_row + 1).astype(np.int32),
        reference_begin=np.maximum(aligned.begin_column - aligned.begin_row + 1, 1),
        reference_end=np.minimum(aligned.end_column + (n - aligned.end_row), m).astype(np.int32),
        alignment_length=length,
        identity_percent=aligned.identical / length * 100.0,
        similarity_percent=aligned.similar / length * 100.0,
        query_alignment=lines[0],
        match_line=lines[1],
        reference_alignment=lines[2],
    )


# --- from candidates to alignments ----------------------------------------------------------------


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

    mirnas: SequenceBatch
    transcripts: SequenceBatch
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

    def lines(self) -> list[pa.LargeStringArray]:
        """Of each, the three lines: miRNA 3'->5', marks, reference 5'->3'."""
        # Every other text is an alignment; those between are of alignments that were not taken.
        ends = np.column_stack([self.place, self.place + self.size]).ravel()
        offsets = pa.py_buffer(np.append(ends, self.text.shape[1]).astype(np.int64))
        taken = pa.array(np.arange(0, len(ends), 2))
        return [
            pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(line)).take(taken)
            for line in np.ascontiguousarray(self.text)
        ]

    def fold_strings(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Of each, the string whose minimum free energy is the hit's: letters and offsets."""
        n = self.mirnas.lengths[self.i]
        tails = self.begin_row + n - self.end_row
        sizes = n + LINKER + tails + (self.end_column - self.begin_column)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        text = np.empty(int(offsets[-1]), dtype=np.uint8)
        write_fold_strings(
            _hit_sequences(self.mirnas, self.transcripts, self.i, self.j),
            AlignedCells(self.begin_row, self.begin_column, self.end_row, self.end_column),
            offsets[:-1],
            text,
        )
        return text, offsets


def align(
    found: Candidates, mirnas: SequenceBatch, transcripts: SequenceBatch, scoring: AlignmentScoring
) -> Alignments:
    """Filter candidates, trace them back and write their letters; arguments as for ``trace``."""
    parts = trace(found, mirnas, transcripts, scoring)
    return _joined([written(mirnas, transcripts, traced) for traced in parts])


def trace(
    found: Candidates, mirnas: SequenceBatch, transcripts: SequenceBatch, scoring: AlignmentScoring
) -> Iterator[Traced]:
    """Filter candidates and trace them back, some pairs at a time; at least one part.

    found                 candidates of a block's pairs, sorted by pair, miRanda's order within
    mirnas, transcripts   the block's sequences, transcripts trimmed
    """
    pair = found.i.astype(np.int64) << 32 | found.j
    first = np.flatnonzero(np.r_[True, np.diff(pair) != 0][: len(pair)])
    first = np.r_[first, len(pair)].astype(np.int64)
    pairs = _Pairs(mirnas, transcripts, scoring, found.i[first[:-1]], found.j[first[:-1]])
    batches = list(_batches(np.diff(first), pairs.longest)) or [(0, 0)]
    for begin, end in batches:
        cells = slice(first[begin], first[end])
        some = Candidates(*(getattr(found, field.name)[cells] for field in fields(found)))
        yield pairs.traced(some, first[begin : end + 1] - first[begin], begin, end)


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
        mirnas: SequenceBatch,
        transcripts: SequenceBatch,
        scoring: AlignmentScoring,
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

    def traced(self, found: Candidates, first: NDArray[np.int64], begin: int, end: int) -> Traced:
        """Alignments of pairs begin .. end - 1; of pair k the candidates from first[k - begin]."""
        i, j = self.i[begin:end], self.j[begin:end]
        count = len(found)
        longest = int(self.longest[begin:end].max(initial=1))
        begin_row, begin_column, state_count = (np.zeros(count, dtype=np.int32) for _ in range(3))
        traced = TracedCandidates(
            accepted=np.zeros(count, dtype=np.uint8),
            begin_row=begin_row,
            begin_column=begin_column,
            state_count=state_count,
            states=np.empty((count, longest), dtype=np.uint8),
        )
        trace_pairs(
            round_robin_order(len(i)),
            PairCandidates(first, found.row, found.column),
            PairSequences(
                begin=self.transcripts.offsets[j],
                first_score=self.mirnas.offsets[i],
                length=self.mirnas.lengths[i],
                span=self.spans[begin:end],
            ),
            self.codes,
            self.scores,
            self.gaps,
            traced,
        )
        kept = np.flatnonzero(traced.accepted)
        return Traced(
            Candidates(*(getattr(found, field.name)[kept] for field in fields(found))),
            begin_row[kept],
            begin_column[kept],
            state_count[kept],
            traced.states[kept],
        )


def written(mirnas: SequenceBatch, transcripts: SequenceBatch, traced: Traced) -> Alignments:
    """Write the letters of alignments that were traced back, on whichever device."""
    cells, begin_row, state_count = traced.cells, traced.begin_row, traced.state_count
    count = len(cells)
    n = mirnas.lengths[cells.i]
    size = begin_row + state_count + n - cells.row
    place = np.cumsum(size) - size
    lines = AlignedLines(
        place=place,
        text=np.empty((3, int(size.sum())), dtype=np.uint8),
        identical=np.empty(count, dtype=np.int32),
        similar=np.empty(count, dtype=np.int32),
        seed_is_perfect=np.empty(count, dtype=np.bool_),
    )
    write_alignments(
        _hit_sequences(mirnas, transcripts, cells.i, cells.j),
        *_cells_and_states(traced),
        lines,
    )
    return Alignments(
        mirnas=mirnas,
        transcripts=transcripts,
        i=cells.i,
        j=cells.j,
        begin_row=begin_row,
        begin_column=traced.begin_column,
        end_row=cells.row,
        end_column=cells.column,
        score=cells.score,
        state_count=state_count,
        size=size,
        place=place,
        text=lines.text,
        identical=lines.identical,
        similar=lines.similar,
        seed_is_perfect=lines.seed_is_perfect,
    )


def _cells_and_states(traced: Traced) -> tuple[AlignedCells, AlignedStates]:
    cells = AlignedCells(
        traced.begin_row, traced.begin_column, traced.cells.row, traced.cells.column
    )
    return cells, AlignedStates(traced.states, np.arange(len(traced)), traced.state_count)


def _seed_classes(
    mirnas: SequenceBatch, transcripts: SequenceBatch, traced: Traced
) -> NDArray[np.int8]:
    found = np.empty(len(traced), dtype=np.int8)
    sequences = _hit_sequences(mirnas, transcripts, traced.cells.i, traced.cells.j)
    seed_classes(sequences, *_cells_and_states(traced), found)
    return found


def _hit_sequences(
    mirnas: SequenceBatch,
    transcripts: SequenceBatch,
    i: NDArray[np.int32],
    j: NDArray[np.int32],
) -> HitSequences:
    return HitSequences(
        mirnas=mirnas.text,
        mirna_begin=mirnas.offsets[i],
        mirna_length=mirnas.lengths[i],
        references=transcripts.text,
        reference_begin=transcripts.offsets[j],
        reference_length=transcripts.lengths[j],
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


# --- sequences and hits ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceBatch:
    """Many sequences, one after the other.

    text      uint8 (total,): ASCII as in the file, case kept, white space removed
    offsets   int64 (count + 1,): sequence k is text[offsets[k]:offsets[k + 1]]
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[str]) -> SequenceBatch:
        """Lay strings one after the other."""
        lengths = np.array([len(s) for s in sequences], dtype=np.int64)
        text = np.frombuffer("".join(sequences).encode("ascii"), dtype=np.uint8)
        return cls(text, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """SequenceBatch of each sequence, int64 (count,)."""
        return np.diff(self.offsets)

    def block(self, rows: NDArray[np.integer], trim: int | None = None) -> SequenceBatch:
        """The sequences of some rows, in that order, each cut after ``trim`` letters."""
        lengths = self.lengths[rows]
        if trim is not None:
            lengths = np.minimum(lengths, trim)
        begins = self.offsets[:-1][rows]
        pieces = [self.text[b : b + n] for b, n in zip(begins, lengths, strict=True)]
        text = np.concatenate([np.empty(0, dtype=np.uint8), *pieces])
        return SequenceBatch(text, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def coded(self) -> CodedSequences:
        """The same by codes of letters."""
        return CodedSequences(CODES[self.text], self.offsets)


@dataclass(frozen=True)
class Hits:
    """Hits of miRNAs on transcripts: one entry each, sorted by (i, j, rank).

    i, j                 int32: rows of the miRNA and the transcript
    rank                 int32: 0, 1, ... within a pair, miRanda's order
    score                float64
    energy_kcal_mol      float32; 0 where energies are off
    query_begin, query_end          int32: positions in the miRNA, from 1, as miRanda prints them:
                         ``query_end`` is one too large
    reference_begin, reference_end  int32: positions in the transcript, from 1, both inclusive, with
                         the unaligned tails
    alignment_length     int32: columns of the alignment, with gaps
    identity_percent     float64: columns marked ``|``
    similarity_percent   float64: columns marked ``|`` or ``:``
    query_alignment      text: the miRNA 3'->5'; aligned letters upper case, tails lower case
    match_line           text: ``|`` A-U and G-C, ``:`` G-U, else blank
    reference_alignment  text: the transcript 5'->3'
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    energy_kcal_mol: NDArray[np.float32]
    query_begin: NDArray[np.int32]
    query_end: NDArray[np.int32]
    reference_begin: NDArray[np.int32]
    reference_end: NDArray[np.int32]
    alignment_length: NDArray[np.int32]
    identity_percent: NDArray[np.float64]
    similarity_percent: NDArray[np.float64]
    query_alignment: pa.LargeStringArray
    match_line: pa.LargeStringArray
    reference_alignment: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.i)

    @classmethod
    def none(cls) -> Hits:
        """No hits."""
        return cls(*(_no_entries(name) for name in COLUMNS))

    @classmethod
    def joined(cls, parts: Sequence[Hits]) -> Hits:
        """The hits of disjoint blocks, sorted by (i, j, rank)."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        whole = cls(*(_joined_columns([getattr(part, name) for part in parts]) for name in COLUMNS))
        return whole.taken(np.lexsort((whole.rank, whole.j, whole.i)))

    def taken(self, rows: NDArray[np.integer]) -> Hits:
        """Some entries, in the order of ``rows``."""
        return Hits(*(_taken_rows(getattr(self, name), rows) for name in COLUMNS))


COLUMNS: Final = tuple(field.name for field in fields(Hits))
"""Fields of ``Hits``."""

_TEXTS = ("query_alignment", "match_line", "reference_alignment")
_FLOATS = {"energy_kcal_mol": np.float32} | dict.fromkeys(
    ("score", "identity_percent", "similarity_percent"), np.float64
)


def _no_entries(name: str) -> Any:
    if name in _TEXTS:
        return pa.array([], pa.large_string())
    return np.empty(0, dtype=_FLOATS.get(name, np.int32))


def _joined_columns(columns: list[Any]) -> Any:
    return (
        pa.concat_arrays(columns) if isinstance(columns[0], pa.Array) else np.concatenate(columns)
    )


def _taken_rows(column: Any, rows: NDArray[np.integer]) -> Any:
    return column.take(pa.array(rows)) if isinstance(column, pa.Array) else column[rows]
