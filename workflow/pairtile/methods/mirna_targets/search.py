"""Targets of miRNAs: the hits of miRanda 3.3a (Enright et al., Genome Biology 2003, 5:R1).

Candidates come from the score pass, on the CPU or the GPU; filters, traceback and letters follow
here, then energies. A pair's hits depend on nothing but the pair and the settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.columns import arrow_schema
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets import search_cpu, search_cuda
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.kernels.hit_sites import seed_classes
from pairtile.methods.mirna_targets.kernels.traceback import (
    LINKER,
    AlignedLines,
    TracedCandidates,
    trace_pairs,
    write_alignments,
    write_fold_strings,
)
from pairtile.methods.mirna_targets.scoring import (
    AlignmentScoring,
    Candidates,
    SequenceBatch,
    Traced,
    offsets_of,
    pair_starts,
    ranges,
)

ROWS = arrow_schema(__package__, "pairs.parquet")
"""The columns of merged hits."""

ALIGNMENT = ("query_alignment", "match_line", "reference_alignment")


class TargetSearch:
    """Searches transcripts for targets of miRNAs; opened once on all sequences."""

    def __init__(
        self,
        mirnas: SequenceBatch,
        transcripts: SequenceBatch,
        settings: AlignmentConfig,
        device: Device,
    ) -> None:
        self.mirnas = mirnas
        self.transcripts = transcripts
        self.settings = settings
        self.device = device
        self.scoring = AlignmentScoring.of_parameters(
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
    ) -> pa.Table:
        """Hits of a block of miRNAs on some transcripts, all filters applied: the columns ``ROWS``,
        ``i`` and ``j`` being rows of the sequences, sorted by these and ``rank``.

        mirna_begin, mirna_end   rows of the miRNAs, the last one not included
        transcript_rows          int (count,): rows of the transcripts, each once, in any order
        allowed                  bool (mirna_end - mirna_begin, count): pairs to look at; all
                                 where None
        """
        block = self.traced_block(mirna_begin, mirna_end, transcript_rows, allowed)
        # Some pairs at a time: letters of what does not pass are gone before the next are written.
        parts = []
        for traced in block.parts:
            lines = aligned_lines(block.mirnas, block.transcripts, traced)
            kept, energy = self._passing(block, traced, lines, self.settings.energies)
            parts.append(_hits(block, traced, lines, kept, energy))
        hits = pa.concat_tables(parts)
        order = np.lexsort([hits[name].to_numpy() for name in ("rank", "j", "i")])
        return hits.take(pa.array(order))

    def sites(
        self,
        mirna_begin: int,
        mirna_end: int,
        transcript_rows: NDArray[np.integer],
        allowed: NDArray[np.bool_] | None = None,
    ) -> Sites:
        """The hits that ``hits`` gives, without letters and energies: what counting takes."""
        block = self.traced_block(mirna_begin, mirna_end, transcript_rows, allowed)
        parts = [Sites.none()]
        strict = self.settings.strict
        for traced in block.parts:
            lines = aligned_lines(block.mirnas, block.transcripts, traced) if strict else None
            kept, _ = self._passing(block, traced, lines, self._energies_decide)
            seed_class = np.empty(len(traced.i), dtype=np.int8)
            seed_classes(block.mirnas.texts, block.transcripts.texts, traced, seed_class)
            i, j = block.sequences(traced.i[kept], traced.j[kept])
            parts.append(Sites(i, j, traced.score[kept], seed_class[kept]))
        return Sites(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def traced_block(
        self,
        mirna_begin: int,
        mirna_end: int,
        transcript_rows: NDArray[np.integer],
        allowed: NDArray[np.bool_] | None,
    ) -> TracedBlock:
        """Some miRNAs and transcripts, and their alignments in parts, traced when they are read."""
        rows = np.sort(np.asarray(transcript_rows, dtype=np.int64))
        if allowed is not None:
            allowed = allowed[:, np.argsort(transcript_rows)]
        mirnas = self.mirnas.block(np.arange(mirna_begin, mirna_end))
        transcripts = self.transcripts.block(rows, self.settings.trim)
        block = (mirnas, transcripts, self.scoring, allowed)
        if self.device.backend == "cpu":
            parts = trace(search_cpu.candidates(*block), mirnas, transcripts, self.scoring)
        else:
            parts = iter([search_cuda.alignments(*block, device=self.device)])
        return TracedBlock(mirna_begin, rows, mirnas, transcripts, parts)

    @property
    def _energies_decide(self) -> bool:
        """Energies are computed for sites only then: that of a fold is never above 0."""
        return self.settings.energies and self.settings.energy <= 0

    @property
    def alignments_decide(self) -> bool:
        """Whether every alignment that both filters leave is a hit."""
        return not (self.settings.strict or self._energies_decide)

    def _passing(
        self, block: TracedBlock, traced: Traced, lines: AlignedLines | None, fold: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Which alignments pass what is asked of seeds and energies, and their energies in
        kcal/mol, 0 unless ``fold``. lines : needed where seeds are looked at (``strict``)."""
        kept = (
            np.flatnonzero(lines.seed_is_perfect)
            if self.settings.strict and lines is not None
            else np.arange(len(traced.i))
        )
        if not fold or self._energy is None:
            return kept, np.zeros(len(kept), dtype=np.float32)
        strings = fold_strings(block.mirnas, block.transcripts, traced.taken(kept))
        energy = self._energy.fold_letters(*strings)
        passed = np.flatnonzero(energy.astype(np.float64) < self.settings.energy)
        return kept[passed], energy[passed]


class TracedBlock(NamedTuple):
    """What is traced back of a block of miRNAs, from row ``mirna_begin`` on, on the transcripts of
    ``rows``; their sequences, and the alignments in parts, which may be looked at once."""

    mirna_begin: int
    rows: NDArray[np.int64]
    mirnas: SequenceBatch
    transcripts: SequenceBatch
    parts: Iterator[Traced]

    def sequences(
        self, i: NDArray[np.int32], j: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows of the miRNAs and transcripts of all, by their rows in the block."""
        return i + np.int32(self.mirna_begin), self.rows[j].astype(np.int32)


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


def _hits(
    block: TracedBlock,
    traced: Traced,
    lines: AlignedLines,
    kept: NDArray[np.int64],
    energy: NDArray[np.float32],
) -> pa.Table:
    """Name what passed as miRanda prints it."""
    place, size = lines.place[kept], _line_sizes(block.mirnas, traced)[kept]
    # Every other text is an alignment; those between are of alignments that were not taken.
    ends = np.column_stack([place, place + size]).ravel()
    offsets = pa.py_buffer(np.append(ends, lines.text.shape[1]).astype(np.int64))
    chosen = pa.array(np.arange(0, len(ends), 2))
    texts = [
        pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(line)).take(chosen)
        for line in np.ascontiguousarray(lines.text)
    ]
    traced = traced.taken(kept)
    i, j = block.sequences(traced.i, traced.j)
    n, m = block.mirnas.lengths[traced.i], block.transcripts.lengths[traced.j]
    first = pair_starts(i, j)
    span = traced.begin_column - traced.begin_row + 1, traced.column + (n - traced.row)
    columns = {
        "i": i,
        "j": j,
        "rank": ranges(np.zeros_like(first[1:]), np.diff(first)).astype(np.int32),
        "score": traced.score.astype(np.float64),
        "energy_kcal_mol": energy,
        "query_begin": (n - traced.row + 1).astype(np.int32),
        "query_end": (n - traced.begin_row + 1).astype(np.int32),
        "reference_begin": np.maximum(span[0], 1),
        "reference_end": np.minimum(span[1], m).astype(np.int32),
        "alignment_length": traced.state_count,
        "identity_percent": lines.identical[kept] / traced.state_count * 100.0,
        "similarity_percent": lines.similar[kept] / traced.state_count * 100.0,
    }
    return pa.table(columns | dict(zip(ALIGNMENT, texts, strict=True)))


# --- from candidates to alignments ----------------------------------------------------------------


STATES_AT_ONCE: Final = 2**28
"""Room for the states of one batch of pairs, in bytes; taken only where written."""


def trace(
    found: Candidates, mirnas: SequenceBatch, transcripts: SequenceBatch, scoring: AlignmentScoring
) -> Iterator[Traced]:
    """Filter candidates and trace them back, some pairs at a time; at least one part.

    found                 candidates of a block's pairs, sorted by pair, miRanda's order within
    mirnas, transcripts   the block's sequences, transcripts trimmed
    """
    first = pair_starts(found.i, found.j)
    i, j = found.i[first[:-1]], found.j[first[:-1]]
    spans = scoring.span_limits(mirnas.lengths)
    scores = scoring.all_row_pair_scores(mirnas)
    # Each column of an alignment takes a row of its own or an unpaired reference base.
    longest = mirnas.lengths[i] + np.minimum(spans[i], transcripts.lengths[j])
    for begin, end in list(_batches(np.diff(first), longest)) or [(0, 0)]:
        some = Candidates(*(values[first[begin] : first[end]] for values in found))
        count = len(some.i)
        begin_row, begin_column, state_count = np.zeros((3, count), dtype=np.int32)
        states = np.empty((count, int(longest[begin:end].max(initial=1))), dtype=np.uint8)
        accepted = np.zeros(count, dtype=np.uint8)
        trace_pairs(
            (first[begin:end] - first[begin], first[begin + 1 : end + 1] - first[begin]),
            some,
            (mirnas.offsets, spans),
            (transcripts.codes, transcripts.offsets),
            scores,
            scoring.gaps,
            TracedCandidates(accepted, begin_row, begin_column, state_count, states),
        )
        whole = Traced(*some, begin_row, begin_column, state_count, states)
        yield whole.taken(np.flatnonzero(accepted))


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


def aligned_lines(
    mirnas: SequenceBatch, transcripts: SequenceBatch, traced: Traced
) -> AlignedLines:
    """Write the letters of alignments that were traced back, on whichever device."""
    count = len(traced.i)
    size = _line_sizes(mirnas, traced)
    lines = AlignedLines(
        place=np.cumsum(size) - size,
        text=np.empty((3, int(size.sum())), dtype=np.uint8),
        identical=np.empty(count, dtype=np.int32),
        similar=np.empty(count, dtype=np.int32),
        seed_is_perfect=np.empty(count, dtype=np.bool_),
    )
    write_alignments(mirnas.texts, transcripts.texts, traced, lines)
    return lines


def _line_sizes(mirnas: SequenceBatch, traced: Traced) -> NDArray[np.int64]:
    """Letters of a line of each alignment, with tails."""
    return traced.begin_row + traced.state_count + mirnas.lengths[traced.i] - traced.row


def fold_strings(
    mirnas: SequenceBatch, transcripts: SequenceBatch, traced: Traced
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Of each alignment, the string whose minimum free energy is the hit's: letters and offsets."""
    n = mirnas.lengths[traced.i]
    tails = traced.begin_row + n - traced.row
    offsets = offsets_of(n + LINKER + tails + (traced.column - traced.begin_column))
    text = np.empty(int(offsets[-1]), dtype=np.uint8)
    write_fold_strings(mirnas.texts, transcripts.texts, traced, offsets[:-1], text)
    return text, offsets
