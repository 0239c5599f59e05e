"""Targets of miRNAs: the hits of miRanda 3.3a (Enright et al., Genome Biology 2003, 5:R1).

Candidates come from the score pass, on the CPU or the GPU; filters, traceback and strings follow
here, then energies. A pair's hits depend on nothing but the pair and the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.alignment import Alignments, align, written
from pairtile.methods.mirna_targets.hits import AlignmentSettings, Hits, Letters
from pairtile.methods.mirna_targets.kernels import miranda_alignment
from pairtile.methods.mirna_targets.kernels.miranda_scoring import Scoring

if TYPE_CHECKING:
    from pairtile.gpu.device import Device

__all__ = ["AlignmentSettings", "Hits", "Letters", "TargetSearch"]


class TargetSearch:
    """Searches transcripts for targets of miRNAs; opened once on all sequences."""

    def __init__(
        self, mirnas: Letters, transcripts: Letters, settings: AlignmentSettings, device: Device
    ) -> None:
        """Raises ValueError for settings that no alignment can have (``Scoring.of``)."""
        self.mirnas = mirnas
        self.transcripts = transcripts
        self.settings = settings
        self.device = device
        self.scoring = Scoring.of(
            settings.score, settings.scale, settings.gap_open, settings.gap_extend
        )
        self._energy = None
        if settings.energies:
            from pairtile.methods.mirna_targets.duplex_energy import DuplexEnergy

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
        aligned = self._aligned(mirnas, transcripts, allowed)
        if self.settings.strict:
            aligned = aligned.taken(np.flatnonzero(aligned.seed_is_perfect))
        energy = np.zeros(len(aligned), dtype=np.float32)
        if self._energy is not None:
            energy = self._energy.fold_letters(*aligned.fold_strings())
            passed = np.flatnonzero(energy.astype(np.float64) < self.settings.energy)
            aligned, energy = aligned.taken(passed), energy[passed]
        return _hits(aligned, energy, mirna_begin, rows)

    def _aligned(
        self, mirnas: Letters, transcripts: Letters, allowed: NDArray[np.bool_] | None
    ) -> Alignments:
        """Score pass, both filters and traceback."""
        coded = (mirnas.coded(), transcripts.coded(), self.scoring, allowed)
        if self.device.backend == "cpu":
            found = miranda_alignment.candidates(*coded)
            return align(found, mirnas, transcripts, self.scoring)
        from pairtile.methods.mirna_targets.search_cuda import alignments

        traced = alignments(*coded, device=self.device)
        return written(
            mirnas,
            transcripts,
            traced.cells,
            traced.begin_row,
            traced.begin_column,
            traced.state_count,
            traced.states,
            np.arange(len(traced.cells)),
        )


def _hits(
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
