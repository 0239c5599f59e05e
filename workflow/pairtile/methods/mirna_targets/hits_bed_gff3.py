"""Where hits lie, on transcripts or in the genome, and their lines in BED12 and GFF3 files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.prepare import TRANSCRIPT
from pairtile.methods.mirna_targets.tables import TEXT_ROWS, batch_lines, categories, codes
from pairtile.methods.mirna_targets.transcript_model import (
    Annotation,
    TranscriptModel,
    TranscriptToGenome,
)
from pairtile.runtime.threads import in_threads

NUMBER = "number"
"""Column of hits: their row in ``hits.tsv``, from 0."""


@dataclass(frozen=True)
class Places:
    """Intervals of hits, 0-based, end excluded, sorted by sequence, begin, end and hit.

    hit : int64 (n,), row of the hits table. sequence : int64 (n,), position in ``names``.
    names : chromosomes and transcripts. minus : bool (n,), whether on the minus strand (never on
    transcripts). in_genome : bool (n,), whether in genome coordinates. begin, end : int64 (n,),
    from the first to the last base of the hit's span. seed_begin, seed_end : int64 (n,), of its
    seed match; both its begin without one. block_offsets : int64 (n + 1,), which of block_begin,
    block_end (int64, ascending within a hit) are a hit's.
    """

    hit: NDArray[np.int64]
    sequence: NDArray[np.int64]
    names: list[str]
    minus: NDArray[np.bool_]
    in_genome: NDArray[np.bool_]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    seed_begin: NDArray[np.int64]
    seed_end: NDArray[np.int64]
    block_offsets: NDArray[np.int64]
    block_begin: NDArray[np.int64]
    block_end: NDArray[np.int64]

    def parts(self) -> Iterator[Places]:
        """The same, some at a time: text of all hits at once would be large."""
        for first in range(0, self.hit.size, TEXT_ROWS):
            some = slice(first, first + TEXT_ROWS)
            offsets = self.block_offsets[first : first + TEXT_ROWS + 1]
            blocks = slice(offsets[0], offsets[-1])
            yield Places(
                hit=self.hit[some],
                sequence=self.sequence[some],
                names=self.names,
                minus=self.minus[some],
                in_genome=self.in_genome[some],
                begin=self.begin[some],
                end=self.end[some],
                seed_begin=self.seed_begin[some],
                seed_end=self.seed_end[some],
                block_offsets=offsets - offsets[0],
                block_begin=self.block_begin[blocks],
                block_end=self.block_end[blocks],
            )


def items_to_genome(items: pd.DataFrame, annotation: Annotation) -> TranscriptToGenome:
    """The transcripts of an items table in an annotation: one model or None for each item.

    miRNAs and items that were left out have none and are not counted as missing. Lengths are those
    in the file, before ``trim``: a trimmed transcript still begins at its first base.
    """
    rows = np.flatnonzero((items["kind"] == TRANSCRIPT) & items["kept"])
    chosen = items.iloc[rows]
    names, lengths = chosen["name"].tolist(), chosen["length"].tolist()
    found = TranscriptToGenome.match(names, lengths, annotation)
    models: list[TranscriptModel | None] = [None] * len(items)
    for row, model in zip(rows.tolist(), found.models, strict=True):
        models[row] = model
    return replace(found, models=models)


def hit_places(hits: pa.Table, to_genome: TranscriptToGenome | None = None) -> Places:
    """Place each hit of a hits table (``tables.hits_table``).

    to_genome : where the transcript of each item lies (``items_to_genome``); None: all hits stay in
    transcript coordinates.
    """
    item = codes(hits["transcript"]).astype(np.int64)
    item_names = categories(hits["transcript"])
    to_genome = to_genome or TranscriptToGenome([None] * len(item_names))
    of_item = to_genome.models
    in_genome = np.array([model is not None for model in of_item], dtype=bool)[item]
    names, sequence = sequences_of_items(item_names, to_genome)
    minus = np.array([model is not None and model.strand == "-" for model in of_item], dtype=bool)

    begin, end = _positions(hits, "reference_begin") - 1, _positions(hits, "reference_end")
    has_seed = hits["seed_begin"].is_valid().to_numpy()
    seed_begin, seed_end = (_positions(hits, f"seed_{side}") for side in ("begin", "end"))
    seed_begin = np.where(has_seed, seed_begin - 1, begin)
    seed_end = np.where(has_seed, seed_end, begin + 1)
    onto = np.flatnonzero(in_genome)
    seeds = to_genome.blocks(item[onto], seed_begin[onto] + 1, seed_end[onto])
    blocks = to_genome.blocks(item[onto], begin[onto] + 1, end[onto])
    seed_begin[onto], seed_end[onto] = _ends(seeds.span, seeds.begin, seeds.end, onto.size)

    n_blocks = np.ones(item.size, dtype=np.int64)
    n_blocks[onto] = np.bincount(blocks.span, minlength=onto.size)
    offsets = _offsets(n_blocks)
    block_begin, block_end = np.repeat(begin, n_blocks), np.repeat(end, n_blocks)
    of_genome = np.repeat(in_genome, n_blocks)
    block_begin[of_genome], block_end[of_genome] = blocks.begin, blocks.end
    begin, end = block_begin[offsets[:-1]], block_end[offsets[1:] - 1]
    seed_begin[~has_seed] = seed_end[~has_seed] = begin[~has_seed]

    order = np.lexsort((end, begin, sequence[item]))  # stable: hits of one place stay in order
    kept = n_blocks[order]
    step = np.arange(kept.sum()) - np.repeat(_offsets(kept)[:-1], kept)
    gathered = np.repeat(offsets[:-1][order], kept) + step
    return Places(
        hit=order,
        sequence=sequence[item][order],
        names=names.tolist(),
        minus=minus[item][order],
        in_genome=in_genome[order],
        begin=begin[order],
        end=end[order],
        seed_begin=seed_begin[order],
        seed_end=seed_end[order],
        block_offsets=_offsets(kept),
        block_begin=block_begin[gathered],
        block_end=block_end[gathered],
    )


def sequences_of_items(
    names: Sequence[str], to_genome: TranscriptToGenome
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Sorted names of chromosomes and, of what is not in the genome, items; which of them each item
    lies on."""
    pairs = zip(to_genome.models, names, strict=True)
    places = [model.chromosome if model else name for model, name in pairs]
    found, sequence = np.unique(np.array(places, dtype=np.str_), return_inverse=True)
    return found, sequence.astype(np.int64)


def _positions(hits: pa.Table, name: str) -> NDArray[np.int64]:
    return pc.fill_null(hits[name], 0).to_numpy().astype(np.int64)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _ends(
    span: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin of the first and end of the last block of each span."""
    offsets = _offsets(np.bincount(span, minlength=n).astype(np.int64))
    return begin[offsets[:-1]], end[offsets[1:] - 1]


# --- BED12 ----------------------------------------------------------------------------------------


COLOURS = {
    "8mer": "213,94,0",
    "7mer-m8": "230,159,0",
    "7mer-A1": "204,121,167",
    "6mer": "0,158,115",
    "offset 6mer": "86,180,233",
    "none": "127,127,127",
}
"""Colour of each seed class (Okabe and Ito's, distinct for colour-blind people)."""

_MAX_SCORE = 1000
# Programs take lines that begin so for comments and settings, however the word goes on.
_NOT_A_LINE = ("#", "track", "browser")


def bed_lines(hits: pa.Table, places: Places) -> Iterator[bytes]:
    """One line a hit, sorted by sequence and begin, without a header.

    On a chromosome the name is ``miRNA:transcript``, on a transcript ``miRNA``. Score: the
    alignment score, at most 1000. The thick part is the seed match (none of class ``none``:
    both its ends are the begin); blocks are exons. Colours stand for seed classes (``COLOURS``). A
    sequence name that programs would take for a comment or a setting has its first character as
    ``%..``.
    """
    return _lines(partial(_bed_lines, hits), places)


def _lines(made: Callable[[Places], pa.Table], places: Places) -> Iterator[bytes]:
    """The text of tables of places, by all threads."""
    return in_threads(
        lambda part: b"".join(map(batch_lines, made(part).to_batches())), places.parts()
    )


def _bed_lines(hits: pa.Table, places: Places) -> pa.Table:
    seed_class = codes(hits["seed_class"])[places.hit]
    colours = pa.array([COLOURS[name] for name in categories(hits["seed_class"])], pa.string())
    score = np.minimum(np.rint(hits["score"].to_numpy()[places.hit]), _MAX_SCORE).astype(np.int32)
    sizes = places.block_end - places.block_begin
    starts = places.block_begin - np.repeat(places.begin, np.diff(places.block_offsets))
    sequences = pa.array([_bed_sequence(name) for name in places.names], pa.string())
    return pa.table(
        {
            "chrom": sequences.take(pa.array(places.sequence)),
            "chromStart": places.begin,
            "chromEnd": places.end,
            "name": _bed_names(hits, places),
            "score": score,
            "strand": pc.if_else(pa.array(places.minus), "-", "+"),
            "thickStart": places.seed_begin,
            "thickEnd": places.seed_end,
            "itemRgb": colours.take(pa.array(seed_class)),
            "blockCount": np.diff(places.block_offsets),
            "blockSizes": _listed(places.block_offsets, sizes),
            "blockStarts": _listed(places.block_offsets, starts),
        }
    )


def _bed_sequence(name: str) -> str:
    if name.startswith(_NOT_A_LINE):
        return f"%{ord(name[0]):02X}{name[1:]}"
    return name


def _bed_names(hits: pa.Table, places: Places) -> pa.Array:
    rows = pa.array(places.hit)
    mirna = hits["mirna"].take(rows).cast(pa.string())
    both = pc.binary_join_element_wise(mirna, hits["transcript"].take(rows).cast(pa.string()), ":")
    return pc.if_else(pa.array(places.in_genome), both, mirna)


def _listed(offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> pa.Array:
    """Each hit's numbers with a comma after every one, as BED wants them."""
    texts = pa.array(numbers).cast(pa.string())
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
    return pc.binary_join_element_wise(pc.binary_join(lists, ","), "", ",")


# --- GFF3 -----------------------------------------------------------------------------------------


TYPE = "miRNA_target_site"  # SO:0000934
SOURCE = "pairtile"

_SEQUENCE_SAFE = ".:^*$@!+?|"  # beside letters, digits, _ and -, which quote leaves as they are
_ATTRIBUTE_UNSAFE = re.compile("[\x00-\x1f\x7f%;=&,]")


def gff3_lines(hits: pa.Table, places: Places) -> Iterator[bytes]:
    """One line for each exon of a hit, sorted by sequence and begin, without a header.

    A hit over an exon border has several lines of the same ``ID`` (a discontinuous feature).
    ``ID=hitN`` is row N of ``hits.tsv``. Attributes: ``Name`` and ``mirna``, ``transcript``,
    ``transcript_begin`` and ``transcript_end`` (from 1, both included), ``seed_class``, and
    ``energy_kcal_mol`` where there is one. The score is the alignment score. Characters that GFF3
    keeps for itself are written ``%..``. In ``hits.gff3``, transcripts whose coordinates are used
    have a ``##sequence-region`` line.
    """
    safe = {name: _escaped(hits[name]) for name in ("mirna", "transcript")}
    return _lines(partial(_gff3_lines, hits, safe), places)


def _gff3_lines(hits: pa.Table, safe: Mapping[str, pa.Array], places: Places) -> pa.Table:
    hit = np.repeat(places.hit, np.diff(places.block_offsets))
    rows = pa.array(hit)
    of_place = np.repeat(np.arange(places.hit.size), np.diff(places.block_offsets))
    names = pa.array([gff3_sequence(name) for name in places.names], pa.string())
    return pa.table(
        {
            "seqid": names.take(pa.array(places.sequence[of_place])),
            "source": pa.repeat(SOURCE, len(hit)),
            "type": pa.repeat(TYPE, len(hit)),
            "start": places.block_begin + 1,
            "end": places.block_end,
            "score": hits["score"].take(rows),
            "strand": pc.if_else(pa.array(places.minus[of_place]), "-", "+"),
            "phase": pa.repeat(".", len(hit)),
            "attributes": _attributes(hits, safe, hit),
        }
    )


def _attributes(hits: pa.Table, safe: Mapping[str, pa.Array], hit: np.ndarray) -> pa.Array:
    rows = pa.array(hit)

    def text(column: str) -> pa.Array:
        return hits[column].take(rows).cast(pa.string())

    mirna, transcript = (safe[name].take(rows) for name in ("mirna", "transcript"))
    mirna, transcript = mirna.cast(pa.string()), transcript.cast(pa.string())
    pairs = {
        "ID": pc.binary_join_element_wise(
            "hit", pc.add(hits[NUMBER].take(rows), 1).cast(pa.string()), ""
        ),
        "Name": mirna,
        "mirna": mirna,
        "transcript": transcript,
        "transcript_begin": text("reference_begin"),
        "transcript_end": text("reference_end"),
        "seed_class": text("seed_class"),
    }
    parts = [pc.binary_join_element_wise(key, value, "=") for key, value in pairs.items()]
    attributes = pc.binary_join_element_wise(*parts, ";")
    energy = text("energy_kcal_mol")
    with_energy = pc.binary_join_element_wise(attributes, energy, ";energy_kcal_mol=")
    return pc.if_else(pc.is_valid(energy), with_energy, attributes)


def gff3_sequence(name: str) -> str:
    return quote(name, safe=_SEQUENCE_SAFE)


def _escaped(column: pa.ChunkedArray) -> pa.Array:
    """The words of a dictionary column, written as attributes may be; each once in memory."""
    safe = [
        _ATTRIBUTE_UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", word)
        for word in categories(column)
    ]
    return pa.DictionaryArray.from_arrays(pa.array(codes(column), pa.int32()), safe)
