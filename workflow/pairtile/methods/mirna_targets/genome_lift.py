"""Spans of transcripts carried over to the genome, over exon borders and on either strand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.transcript_model import TranscriptModel


@dataclass(frozen=True)
class Blocks:
    """Genome intervals of spans, 0-based, end excluded, ascending within each span.

    span : int64 (blocks,), which span a block belongs to, ascending. begin, end : int64 (blocks,).
    """

    span: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


def lift_spans(
    models: Sequence[TranscriptModel | None],
    sequence: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
) -> Blocks:
    """Carry spans of transcripts over to the genome; a span over exon borders becomes blocks.

    sequence : int64 (spans,), position in ``models``; each must have a model. begin, end : int64
    (spans,), from 1, both included, within the transcript.
    """
    used, which = np.unique(sequence, return_inverse=True)
    chosen = [_required(models[k]) for k in used.tolist()]
    # All exons of all transcripts, 5' to 3' of each, on one long line of spliced positions.
    ordered = [m.exons if m.strand == "+" else m.exons[::-1] for m in chosen]
    genome = np.array([exon for exons in ordered for exon in exons], np.int64).reshape(-1, 2)
    minus = np.repeat([m.strand == "-" for m in chosen], [len(m.exons) for m in chosen])
    line = np.concatenate([[0], np.cumsum(genome[:, 1] - genome[:, 0])])
    first_exon = np.concatenate([[0], np.cumsum([len(m.exons) for m in chosen])]).astype(np.int64)
    shift = line[first_exon[which]]
    low, high = shift + begin - 1, shift + end
    first = np.searchsorted(line, low, side="right") - 1
    last = np.searchsorted(line, high - 1, side="right") - 1
    count = last - first + 1
    span = np.repeat(np.arange(count.size), count)
    step = np.arange(span.size) - np.repeat(np.cumsum(count) - count, count)
    backwards = minus[first][span] if span.size else np.zeros(0, dtype=bool)
    exon = np.where(backwards, last[span] - step, first[span] + step)
    from_start = np.maximum(low[span], line[exon]) - line[exon]
    to_start = np.minimum(high[span], line[exon + 1]) - line[exon]
    exon_begin, exon_end = genome[exon, 0], genome[exon, 1]
    return Blocks(
        span.astype(np.int64),
        np.where(backwards, exon_end - to_start, exon_begin + from_start),
        np.where(backwards, exon_end - from_start, exon_begin + to_start),
    )


def _required(model: TranscriptModel | None) -> TranscriptModel:
    if model is None:
        raise ValueError("a span of a sequence that has no transcript model")
    return model
