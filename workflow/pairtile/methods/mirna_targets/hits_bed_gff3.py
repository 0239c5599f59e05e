"""Where hits lie, on transcripts or in the genome, and their lines in BED12 and GFF3 files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.prepare import TRANSCRIPT
from pairtile.methods.mirna_targets.scoring import offsets_of
from pairtile.methods.mirna_targets.tables import (
    TEXT_ROWS,
    batch_lines,
    categories,
    codes,
    joined_texts,
)
from pairtile.methods.mirna_targets.transcript_model import (
    Annotation,
    TranscriptModel,
    TranscriptToGenome,
)
from pairtile.runtime.threads import in_threads

NUMBER = "number"
"""Column of hits: their row in ``hits.tsv``, from 0."""


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


def hit_places(hits: pa.Table, to_genome: TranscriptToGenome) -> pa.Table:
    """Place each hit of a hits table (``tables.hits_table``).

    to_genome : where the transcript of each item lies (``items_to_genome``); hits of those without
    a model stay in transcript coordinates.

    Returns a row for each hit, sorted by sequence, begin, end and hit; positions from 0, int64:
    ``hit``, row of the hits table; ``sequence``, its chromosome or transcript; ``minus``, whether
    on the minus strand (never on transcripts); ``in_genome``, whether in genome coordinates;
    ``begin`` and ``end`` (excluded) of the hit's span; ``seed_begin`` and ``seed_end`` of its seed
    match, both its begin without one; ``block_begin`` and ``block_end``, lists, of its parts in
    exons, ascending.
    """
    item = codes(hits["transcript"])
    item_names = categories(hits["transcript"])
    in_genome = np.array([model is not None for model in to_genome.models], dtype=bool)[item]
    minus = [model is not None and model.strand == "-" for model in to_genome.models]
    names, sequence = sequences_of_items(item_names, to_genome)

    begin, end = _positions(hits, "reference_begin") - 1, _positions(hits, "reference_end")
    has_seed = hits["seed_begin"].is_valid().to_numpy()
    seed_begin = np.where(has_seed, _positions(hits, "seed_begin") - 1, begin)
    seed_end = np.where(has_seed, _positions(hits, "seed_end"), begin + 1)
    onto = np.flatnonzero(in_genome)
    span, first, last = to_genome.blocks(item[onto], seed_begin[onto] + 1, seed_end[onto])
    ends = offsets_of(np.bincount(span, minlength=onto.size))
    seed_begin[onto], seed_end[onto] = first[ends[:-1]], last[ends[1:] - 1]

    span, first, last = to_genome.blocks(item[onto], begin[onto] + 1, end[onto])
    n_blocks = np.ones(item.size, dtype=np.int64)
    n_blocks[onto] = np.bincount(span, minlength=onto.size)
    offsets = offsets_of(n_blocks)
    block_begin, block_end = np.repeat(begin, n_blocks), np.repeat(end, n_blocks)
    of_genome = np.repeat(in_genome, n_blocks)
    block_begin[of_genome], block_end[of_genome] = first, last
    begin, end = block_begin[offsets[:-1]], block_end[offsets[1:] - 1]
    places = pa.table(
        {
            "hit": np.arange(item.size),
            "sequence": pa.DictionaryArray.from_arrays(sequence[item], names),
            "minus": np.array(minus, dtype=bool)[item],
            "in_genome": in_genome,
            "begin": begin,
            "end": end,
            "seed_begin": np.where(has_seed, seed_begin, begin),
            "seed_end": np.where(has_seed, seed_end, begin),
            "block_begin": pa.LargeListArray.from_arrays(offsets, block_begin),
            "block_end": pa.LargeListArray.from_arrays(offsets, block_end),
        }
    )
    order = np.lexsort((end, begin, sequence[item]))  # stable: hits of one place stay in order
    return places.take(pa.array(order))


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


def bed_lines(hits: pa.Table, places: pa.Table) -> Iterator[bytes]:
    """One line a hit, sorted by sequence and begin, without a header.

    On a chromosome the name is ``miRNA:transcript``, on a transcript ``miRNA``. Score: the
    alignment score, at most 1000. The thick part is the seed match (none of class ``none``:
    both its ends are the begin); blocks are exons. Colours stand for seed classes (``COLOURS``). A
    sequence name that programs would take for a comment or a setting has its first character as
    ``%..``.
    """
    return _lines(partial(_bed_lines, hits), places)


def _lines(made: Callable[[pa.RecordBatch], pa.Table], places: pa.Table) -> Iterator[bytes]:
    """The text of tables of places, by all threads; some at a time: all at once would be large."""
    return in_threads(
        lambda part: b"".join(map(batch_lines, made(part).to_batches())),
        places.to_batches(max_chunksize=TEXT_ROWS),
    )


def _bed_lines(hits: pa.Table, places: pa.RecordBatch) -> pa.Table:
    hit = places["hit"]
    colours = pa.array([COLOURS[name] for name in categories(hits["seed_class"])], pa.string())
    sizes = pc.subtract(places["block_end"].flatten(), places["block_begin"].flatten())
    mirna, transcript = (hits[name].take(hit).cast(pa.string()) for name in ("mirna", "transcript"))
    both_names = pc.binary_join_element_wise(mirna, transcript, ":")
    n_blocks = pc.list_value_length(places["block_begin"])
    span_begin = np.repeat(places["begin"].to_numpy(), n_blocks.to_numpy())
    starts = pc.subtract(places["block_begin"].flatten(), pa.array(span_begin))
    return pa.table(
        {
            "chrom": _sequences(
                places,
                # Programs take lines that begin so for comments and settings, however they go on.
                lambda name: (
                    f"%{ord(name[0]):02X}{name[1:]}"
                    if name.startswith(("#", "track", "browser"))
                    else name
                ),
            ),
            "chromStart": places["begin"],
            "chromEnd": places["end"],
            "name": pc.if_else(places["in_genome"], both_names, mirna),
            "score": np.minimum(np.rint(hits["score"].take(hit).to_numpy()), 1000).astype(np.int32),
            "strand": pc.if_else(places["minus"], "-", "+"),
            "thickStart": places["seed_begin"],
            "thickEnd": places["seed_end"],
            "itemRgb": colours.take(pa.array(codes(hits["seed_class"])[hit.to_numpy()])),
            "blockCount": n_blocks,
            "blockSizes": _join_numbers(n_blocks, sizes),
            "blockStarts": _join_numbers(n_blocks, starts),
        }
    )


def _sequences(places: pa.RecordBatch, written: Callable[[str], str]) -> pa.Array:
    """Names of the sequences as a format wants them."""
    column = places["sequence"]
    return pa.array(map(written, column.dictionary.to_pylist()), pa.string()).take(column.indices)


def _join_numbers(counts: pa.Array, numbers: pa.Array) -> pa.Array:
    """Each hit's numbers with a comma after every one, as BED wants them."""
    texts = joined_texts(numbers.cast(pa.string()), offsets_of(counts.to_numpy()), ",")
    return pc.binary_join_element_wise(texts, "", ",")


# --- GFF3 -----------------------------------------------------------------------------------------


_ATTRIBUTE_UNSAFE = re.compile("[\x00-\x1f\x7f%;=&,]")


def gff3_lines(hits: pa.Table, places: pa.Table) -> Iterator[bytes]:
    """One line for each exon of a hit, sorted by sequence and begin, without a header.

    A hit over an exon border has several lines of the same ``ID`` (a discontinuous feature).
    ``ID=hitN`` is row N of ``hits.tsv``. Attributes: ``Name`` and ``mirna``, ``transcript``,
    ``transcript_begin`` and ``transcript_end`` (from 1, both included), ``seed_class``, and
    ``energy_kcal_mol`` where there is one. The score is the alignment score. Characters that GFF3
    keeps for itself are written ``%..``. In ``hits.gff3``, transcripts whose coordinates are used
    have a ``##sequence-region`` line.
    """
    safe = {}
    for name in ("mirna", "transcript"):
        words = [
            _ATTRIBUTE_UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", word)
            for word in categories(hits[name])
        ]
        safe[name] = pa.DictionaryArray.from_arrays(pa.array(codes(hits[name]), pa.int32()), words)
    return _lines(partial(_gff3_lines, hits, safe), places)


def _gff3_lines(hits: pa.Table, safe: Mapping[str, pa.Array], places: pa.RecordBatch) -> pa.Table:
    n_blocks = pc.list_value_length(places["block_begin"]).to_numpy()
    of_place = pa.array(np.repeat(np.arange(len(places)), n_blocks))
    rows = places["hit"].take(of_place)

    def text(column: pa.Array) -> pa.Array:
        return column.take(rows).cast(pa.string())

    number = pc.add(hits[NUMBER].take(rows), 1).cast(pa.string())
    pairs = {
        "ID": pc.binary_join_element_wise("hit", number, ""),
        "Name": text(safe["mirna"]),
        "mirna": text(safe["mirna"]),
        "transcript": text(safe["transcript"]),
        "transcript_begin": text(hits["reference_begin"]),
        "transcript_end": text(hits["reference_end"]),
        "seed_class": text(hits["seed_class"]),
    }
    parts = [pc.binary_join_element_wise(key, value, "=") for key, value in pairs.items()]
    attributes, energy = pc.binary_join_element_wise(*parts, ";"), text(hits["energy_kcal_mol"])
    with_energy = pc.binary_join_element_wise(attributes, energy, ";energy_kcal_mol=")
    return pa.table(
        {
            "seqid": _sequences(places, gff3_sequence).take(of_place),
            "source": pa.repeat("pairtile", len(rows)),
            "type": pa.repeat("miRNA_target_site", len(rows)),  # SO:0000934
            "start": pc.add(places["block_begin"].flatten(), 1),
            "end": places["block_end"].flatten(),
            "score": hits["score"].take(rows),
            "strand": pc.if_else(places["minus"].take(of_place), "-", "+"),
            "phase": pa.repeat(".", len(rows)),
            "attributes": pc.if_else(pc.is_valid(energy), with_energy, attributes),
        }
    )


def gff3_sequence(name: str) -> str:
    # Beside letters, digits, _ and -, which quote leaves as they are.
    return quote(name, safe=".:^*$@!+?|")
