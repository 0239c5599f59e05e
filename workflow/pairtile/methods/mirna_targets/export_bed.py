"""BED12 of miRNA hits: for genome browsers and bedtools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.arrow_tsv import tsv_lines
from pairtile.methods.mirna_targets.export_places import Places
from pairtile.methods.mirna_targets.export_tables import codes, words

COLOURS = {
    "8mer": "213,94,0",
    "7mer-m8": "230,159,0",
    "7mer-A1": "204,121,167",
    "6mer": "0,158,115",
    "offset 6mer": "86,180,233",
    "none": "127,127,127",
}
"""Colour of each seed class (Okabe and Ito's, which colour-blind people can tell apart)."""

_MAX_SCORE = 1000
# Programs take lines that begin so for comments and settings, however the word goes on.
_NOT_A_LINE = ("#", "track", "browser")


def write_hits_bed(hits: pa.Table, places: Places, path: Path) -> None:
    """Write one line a hit, sorted by sequence and begin, without a header.

    On a chromosome the name is ``miRNA:transcript``, on a transcript ``miRNA``. Score: the
    alignment score, at most 1000. The thick part is what is aligned, the thin ends are the
    unaligned tails of the miRNA; blocks are exons. Colours tell seed classes (``COLOURS``). A
    sequence name that programs would take for a comment or a setting has its first character as
    ``%..``.
    """
    with path.open("wb") as handle:
        for part in places.parts():
            handle.writelines(tsv_lines(_lines(hits, part)))


def _lines(hits: pa.Table, places: Places) -> pa.Table:
    seed_class = codes(hits["seed_class"])[places.hit]
    colours = pa.array([COLOURS[name] for name in words(hits["seed_class"])], pa.string())
    score = np.minimum(np.rint(hits["score"].to_numpy()[places.hit]), _MAX_SCORE).astype(np.int32)
    sizes = places.block_end - places.block_begin
    starts = places.block_begin - np.repeat(places.begin, np.diff(places.block_offsets))
    sequences = pa.array([_sequence(name) for name in places.names], pa.string())
    return pa.table(
        {
            "chrom": sequences.take(pa.array(places.sequence)),
            "chromStart": places.begin,
            "chromEnd": places.end,
            "name": _names(hits, places),
            "score": score,
            "strand": pc.if_else(pa.array(places.minus), "-", "+"),
            "thickStart": places.site_begin,
            "thickEnd": places.site_end,
            "itemRgb": colours.take(pa.array(seed_class)),
            "blockCount": np.diff(places.block_offsets),
            "blockSizes": _listed(places.block_offsets, sizes),
            "blockStarts": _listed(places.block_offsets, starts),
        }
    )


def _sequence(name: str) -> str:
    if name.startswith(_NOT_A_LINE):
        return f"%{ord(name[0]):02X}{name[1:]}"
    return name


def _names(hits: pa.Table, places: Places) -> pa.Array:
    rows = pa.array(places.hit)
    mirna = hits["mirna"].take(rows).cast(pa.string())
    both = pc.binary_join_element_wise(mirna, hits["transcript"].take(rows).cast(pa.string()), ":")
    return pc.if_else(pa.array(places.lifted), both, mirna)


def _listed(offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> pa.Array:
    """Each hit's numbers with a comma after every one, as BED wants them."""
    texts = pa.array(numbers).cast(pa.string())
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
    return pc.binary_join_element_wise(pc.binary_join(lists, ","), "", ",")
