"""GFF3 of miRNA hits: for genome browsers and annotation tools."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairtile.methods.mirna_targets.arrow_tsv import tsv_lines
from pairtile.methods.mirna_targets.export_places import Places
from pairtile.methods.mirna_targets.export_tables import words

TYPE = "miRNA_target_site"  # SO:0000934
SOURCE = "pairtile"

_SEQUENCE_SAFE = ".:^*$@!+?|"  # beside letters, digits, _ and -, which quote leaves as they are
_ATTRIBUTE_UNSAFE = re.compile("[\x00-\x1f\x7f%;=&,]")


def write_hits_gff3(hits: pa.Table, places: Places, path: Path) -> None:
    """Write one line for each exon of a hit, sorted by sequence and begin.

    A hit over an exon border has several lines of the same ``ID`` (a discontinuous feature).
    ``ID=hitN`` is row N of ``hits.tsv``. Attributes: ``Name`` and ``mirna``, ``transcript``,
    ``transcript_begin`` and ``transcript_end`` (from 1, both included), ``seed_class``, and
    ``energy_kcal_mol`` where there is one. The score is the alignment score. Characters that GFF3
    keeps for itself are written ``%..``. Transcripts that hits are told on have a
    ``##sequence-region`` line.
    """
    with path.open("wb") as handle:
        handle.write(b"##gff-version 3\n")
        handle.write("".join(_regions(hits, places)).encode())
        for part in places.parts():
            handle.writelines(tsv_lines(_lines(hits, part)))


def _lines(hits: pa.Table, places: Places) -> pa.Table:
    hit = np.repeat(places.hit, np.diff(places.block_offsets))
    rows = pa.array(hit)
    of_place = np.repeat(np.arange(places.hit.size), np.diff(places.block_offsets))
    names = pa.array([_sequence(name) for name in places.names], pa.string())
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
            "attributes": _attributes(hits, hit),
        }
    )


def _regions(hits: pa.Table, places: Places) -> list[str]:
    on_transcripts = np.flatnonzero(~places.lifted)
    sequences, first = np.unique(places.sequence[on_transcripts], return_index=True)
    lengths = hits["transcript_length"].to_numpy()[places.hit[on_transcripts[first]]]
    return [
        f"##sequence-region {_sequence(places.names[sequence])} 1 {length}\n"
        for sequence, length in zip(sequences.tolist(), lengths.tolist(), strict=True)
    ]


def _attributes(hits: pa.Table, hit: np.ndarray) -> pa.Array:
    rows = pa.array(hit)

    def text(column: str) -> pa.Array:
        return hits[column].take(rows).cast(pa.string())

    mirna, transcript = _escaped(hits["mirna"], rows), _escaped(hits["transcript"], rows)
    pairs = {
        "ID": pc.binary_join_element_wise("hit", pa.array(hit + 1).cast(pa.string()), ""),
        "Name": mirna,
        "mirna": mirna,
        "transcript": transcript,
        "transcript_begin": text("reference_begin"),
        "transcript_end": text("reference_end"),
        "seed_class": text("seed_class"),
    }
    parts = [pc.binary_join_element_wise(key, value, "=") for key, value in pairs.items()]
    told = pc.binary_join_element_wise(*parts, ";")
    energy = text("energy_kcal_mol")
    with_energy = pc.binary_join_element_wise(told, energy, ";energy_kcal_mol=")
    return pc.if_else(pc.is_valid(energy), with_energy, told)


def _sequence(name: str) -> str:
    return quote(name, safe=_SEQUENCE_SAFE)


def _escaped(column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    safe = [
        _ATTRIBUTE_UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", word)
        for word in words(column)
    ]
    return pa.array(safe, pa.string()).take(column.combine_chunks().indices).take(rows)
