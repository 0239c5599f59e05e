"""Where hits lie: on their transcripts, or in the genome where an annotation tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.export_tables import codes, words
from pairtile.methods.mirna_targets.genome_lift import lift_spans
from pairtile.methods.mirna_targets.sequence_items import TRANSCRIPT
from pairtile.methods.mirna_targets.transcript_model import (
    Annotation,
    Lift,
    TranscriptModel,
    match_models,
)

_PART = 500_000


@dataclass(frozen=True)
class Places:
    """Intervals of hits, 0-based, end excluded, sorted by sequence, begin, end and hit.

    hit : int64 (n,), row of the hits table. sequence : int64 (n,), position in ``names``.
    names : chromosomes and transcripts. minus : bool (n,), whether on the minus strand (never on
    transcripts). lifted : bool (n,), whether in genome coordinates. begin, end : int64 (n,), from
    the first to the last base of the hit's span. site_begin, site_end : int64 (n,), of its aligned
    part. block_offsets : int64 (n + 1,), which of block_begin, block_end (int64, ascending within
    a hit) are a hit's.
    """

    hit: NDArray[np.int64]
    sequence: NDArray[np.int64]
    names: list[str]
    minus: NDArray[np.bool_]
    lifted: NDArray[np.bool_]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    site_begin: NDArray[np.int64]
    site_end: NDArray[np.int64]
    block_offsets: NDArray[np.int64]
    block_begin: NDArray[np.int64]
    block_end: NDArray[np.int64]

    def parts(self) -> Iterator[Places]:
        """The same, some at a time: text of all hits at once would be large."""
        for first in range(0, self.hit.size, _PART):
            some = slice(first, first + _PART)
            offsets = self.block_offsets[first : first + _PART + 1]
            blocks = slice(offsets[0], offsets[-1])
            yield Places(
                hit=self.hit[some],
                sequence=self.sequence[some],
                names=self.names,
                minus=self.minus[some],
                lifted=self.lifted[some],
                begin=self.begin[some],
                end=self.end[some],
                site_begin=self.site_begin[some],
                site_end=self.site_end[some],
                block_offsets=offsets - offsets[0],
                block_begin=self.block_begin[blocks],
                block_end=self.block_end[blocks],
            )


def lift_of(items: pd.DataFrame, annotation: Annotation) -> Lift:
    """The transcripts of an items table in an annotation: one model or None for each item.

    miRNAs and items that were left out have none and are not counted as missing. Lengths are those
    in the file, before ``trim``: a trimmed transcript still begins at its first base.
    """
    rows = np.flatnonzero((items["kind"] == TRANSCRIPT) & items["kept"])
    chosen = items.iloc[rows]
    found = match_models(chosen["name"].tolist(), chosen["length"].tolist(), annotation)
    models: list[TranscriptModel | None] = [None] * len(items)
    for row, model in zip(rows.tolist(), found.models, strict=True):
        models[row] = model
    return Lift(models, found.n_missing, found.n_ambiguous, found.n_other_length)


def hit_places(hits: pa.Table, models: Sequence[TranscriptModel | None] | None = None) -> Places:
    """Place each hit of a hits table (``export.hits_tables.hits_table``).

    models : the transcript of each item, or None where it has none (``lift_of``); None as a whole:
    all hits stay in transcript coordinates.
    """
    item = codes(hits["transcript"]).astype(np.int64)
    item_names = words(hits["transcript"])
    of_item = [None] * len(item_names) if models is None else list(models)
    lifted = np.array([model is not None for model in of_item], dtype=bool)[item]
    places = [m.chromosome if m else name for m, name in zip(of_item, item_names, strict=True)]
    names, sequence = np.unique(np.array(places, dtype=np.str_), return_inverse=True)
    minus = np.array([model is not None and model.strand == "-" for model in of_item], dtype=bool)

    begin, end = _positions(hits, "reference_begin") - 1, _positions(hits, "reference_end")
    site_begin, site_end = _positions(hits, "site_begin") - 1, _positions(hits, "site_end")
    onto = np.flatnonzero(lifted)
    sites = lift_spans(of_item, item[onto], site_begin[onto] + 1, site_end[onto])
    blocks = lift_spans(of_item, item[onto], begin[onto] + 1, end[onto])
    site_begin[onto], site_end[onto] = _ends(sites.span, sites.begin, sites.end, onto.size)

    n_blocks = np.ones(item.size, dtype=np.int64)
    n_blocks[onto] = np.bincount(blocks.span, minlength=onto.size)
    offsets = _offsets(n_blocks)
    block_begin, block_end = np.repeat(begin, n_blocks), np.repeat(end, n_blocks)
    of_lifted = np.repeat(lifted, n_blocks)
    block_begin[of_lifted], block_end[of_lifted] = blocks.begin, blocks.end
    begin, end = block_begin[offsets[:-1]], block_end[offsets[1:] - 1]

    order = np.lexsort((end, begin, sequence[item]))  # stable: hits of one place stay in order
    kept = n_blocks[order]
    step = np.arange(kept.sum()) - np.repeat(_offsets(kept)[:-1], kept)
    gathered = np.repeat(offsets[:-1][order], kept) + step
    return Places(
        hit=order,
        sequence=sequence[item][order],
        names=names.tolist(),
        minus=minus[item][order],
        lifted=lifted[order],
        begin=begin[order],
        end=end[order],
        site_begin=site_begin[order],
        site_end=site_end[order],
        block_offsets=_offsets(kept),
        block_begin=block_begin[gathered],
        block_end=block_end[gathered],
    )


def _positions(hits: pa.Table, name: str) -> NDArray[np.int64]:
    return hits[name].to_numpy().astype(np.int64)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _ends(
    span: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin of the first and end of the last block of each span."""
    offsets = _offsets(np.bincount(span, minlength=n).astype(np.int64))
    return begin[offsets[:-1]], end[offsets[1:] - 1]
