"""Where transcripts lie in the genome: exons from a GTF or BED12 file, and spans carried over.

A sequence is taken for the whole spliced transcript (position 1 is the first base of its first
exon, introns are left out, and the last position is the last base of its last exon) or for its 3'
UTR, whichever has its length. A sequence of another length has other coordinates and is not carried
over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.io.names import without_version
from pairtile.io.text_file import open_lines
from pairtile.methods.mirna_targets.scoring import offsets_of, ranges

_GTF_FIELDS, _BED12_FIELDS = 9, 12
_ID = re.compile(r'(?:^|[;\s])transcript_id "?([^";]+)"?')
_VERSION = re.compile(r'(?:^|[;\s])transcript_version "?([^";]+)"?')


@dataclass(frozen=True)
class TranscriptModel:
    """The exons of a transcript.

    exons : (begin, end) of each, 0-based, end excluded, ascending along the chromosome.
    """

    chromosome: str
    strand: str
    exons: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        """Letters of the spliced transcript."""
        return sum(end - begin for begin, end in self.exons)

    def without_first(self, n: int) -> TranscriptModel:
        """The same without its first letters, 5' to 3'."""
        left = []
        for begin, end in self.exons if self.strand == "+" else self.exons[::-1]:
            cut = min(n, end - begin)
            n -= cut
            if cut < end - begin:
                plus = self.strand == "+"
                left.append((begin + cut, end) if plus else (begin, end - cut))
        return replace(self, exons=tuple(sorted(left)))


@dataclass(frozen=True)
class Annotation:
    """The transcripts of an annotation file.

    models : name -> transcript. ambiguous : names with exons at several places (chromosomes,
    strands, overlapping exons, or BED lines), which have no model. utrs : name -> 3' UTR, where the
    file says it. coding : name -> begin and end of the CDS, 0-based, end excluded.
    """

    models: Mapping[str, TranscriptModel]
    ambiguous: frozenset[str]
    utrs: Mapping[str, TranscriptModel] = field(default_factory=dict)
    coding: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def three_prime_utrs(self, name: str) -> list[TranscriptModel]:
        """What the 3' UTR of a transcript may be: as the file says it; what follows the CDS; and
        that without the stop codon, which files count to either."""
        found = [self.utrs[name]] if name in self.utrs else []
        if name not in self.coding or name not in self.models:
            return found
        model, (begin, end) = self.models[name], self.coding[name]
        if model.strand == "+":
            behind = tuple((max(a, end), b) for a, b in model.exons if b > end)
        else:
            behind = tuple((a, min(b, begin)) for a, b in model.exons if a < begin)
        utr = TranscriptModel(model.chromosome, model.strand, behind)
        # Without the stop codon, of three letters.
        return [*found, utr, utr.without_first(3)]


@dataclass(frozen=True)
class TranscriptToGenome:
    """Which sequences can be carried over to the genome, and how.

    models : for each sequence its transcript or 3' UTR, or None. n_utrs : how many are 3' UTRs.
    n_missing : sequences that the annotation does not hold. n_ambiguous : those that it holds at
    several places. other_lengths : of those whose length is neither that of the spliced transcript
    nor that of its 3' UTR, name, own length and the length of the transcript.
    """

    models: Sequence[TranscriptModel | None]
    n_utrs: int = 0
    n_missing: int = 0
    n_ambiguous: int = 0
    other_lengths: Sequence[tuple[str, int, int]] = ()

    @classmethod
    def match(
        cls,
        names: Sequence[str],
        lengths: Sequence[int] | NDArray[np.int32],
        annotation: Annotation,
    ) -> TranscriptToGenome:
        """Find the transcripts of sequences by name and check their lengths.

        A name is looked for as a whole, then each of its parts between ``|``
        (``ENST00000456328.2|ENSG...``, ``gi|34147578|ref|NM_014338.3|``), then without the version
        after the last point on either side, where that leaves one transcript only.
        """
        versionless: dict[str, set[str]] = {}
        for name in annotation.models.keys() | annotation.utrs.keys() | annotation.ambiguous:
            versionless.setdefault(without_version(name), set()).add(name)
        models: list[TranscriptModel | None] = []
        n_utrs = n_missing = n_ambiguous = 0
        other_lengths = []
        for name, length in zip(names, lengths, strict=True):
            found = _found(name, versionless, annotation)
            model = None
            if found is None:
                n_missing += 1
            elif found in annotation.ambiguous:
                n_ambiguous += 1
            else:
                whole = annotation.models.get(found)
                utrs = annotation.three_prime_utrs(found)
                places = utrs if whole is None else [whole, *utrs]
                model = next((place for place in places if place.length == int(length)), None)
                n_utrs += model is not None and model is not whole
                if model is None:
                    other_lengths.append((name, int(length), places[0].length))
            models.append(model)
        return cls(models, n_utrs, n_missing, n_ambiguous, other_lengths)

    def blocks(
        self, sequence: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Carry spans of transcripts over to the genome; a span over exon borders becomes blocks.

        Returns int64 (blocks,) each: which span a block belongs to, ascending; its begin and end in
        the genome, 0-based, end excluded, ascending within each span.

        sequence : int64 (spans,), position in ``models``; each must have a model. begin, end :
        int64 (spans,), from 1, both included, within the transcript.
        """
        used, which = np.unique(sequence, return_inverse=True)
        chosen = [model for k in used.tolist() if (model := self.models[k]) is not None]
        # All exons of all transcripts, 5' to 3' of each, on one long line of spliced positions.
        ordered = [m.exons if m.strand == "+" else m.exons[::-1] for m in chosen]
        genome = np.array([exon for exons in ordered for exon in exons], np.int64).reshape(-1, 2)
        minus = np.repeat([m.strand == "-" for m in chosen], [len(m.exons) for m in chosen])
        line = offsets_of(genome[:, 1] - genome[:, 0])
        shift = line[offsets_of([len(m.exons) for m in chosen])[which]]
        low, high = shift + begin - 1, shift + end
        first = np.searchsorted(line, low, side="right") - 1
        last = np.searchsorted(line, high - 1, side="right") - 1
        count = last - first + 1
        span = np.repeat(np.arange(count.size), count)
        step = ranges(np.zeros_like(count), count)
        backwards = minus[first][span] if span.size else np.zeros(0, dtype=bool)
        exon = np.where(backwards, last[span] - step, first[span] + step)
        from_start = np.maximum(low[span], line[exon]) - line[exon]
        to_start = np.minimum(high[span], line[exon + 1]) - line[exon]
        exon_begin, exon_end = genome[exon, 0], genome[exon, 1]
        return (
            span.astype(np.int64),
            np.where(backwards, exon_end - to_start, exon_begin + from_start),
            np.where(backwards, exon_end - from_start, exon_begin + to_start),
        )


_Key = tuple[str, str, str]  # name, chromosome, strand


@dataclass
class _Parts:
    """What a file says, before it is one model for each transcript."""

    exons: dict[_Key, list[tuple[int, int]]] = field(default_factory=dict)
    utrs: dict[_Key, list[tuple[int, int]]] = field(default_factory=dict)
    coding: dict[str, tuple[int, int]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    repeated: set[str] = field(default_factory=set)


def read_transcript_models(path: str | PathLike[str]) -> Annotation:
    """Read a GTF file (lines with ``transcript_id``) or a BED12 file, plain or gzip.

    The number of fields says which of the two it is. Comment, ``track`` and ``browser``
    lines are passed over. Of GTF files ``exon``, ``CDS`` and ``three_prime_utr`` (or ``3UTR``)
    lines are used; of BED12 lines the thick part is the CDS. A transcript is known by its id, and
    by ``id.version`` where a GTF line has ``transcript_version``. Transcripts without a strand
    (``.``) are left out.

    Raises InputError: file missing or damaged, another number of fields, coordinates that are none,
    such lines without ``transcript_id`` (GFF3), blocks that do not fit their line; or no
    transcript.
    """
    found, width = _Parts(), 0
    readers = {_GTF_FIELDS: _add_gtf, _BED12_FIELDS: _add_bed}
    with open_lines(path) as lines:
        for number, line in lines:
            if not line or line.startswith(("#", "track ", "browser ", "track\t")):
                continue
            fields = line.split("\t")
            add = readers.get(len(fields))
            width = width or len(fields)
            if add is None or len(fields) != width:
                expected = str(width) if width in readers else "9 (GTF) or 12 (BED12)"
                given = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                expected += ", with tabs between them"
                raise InputError.at(path, f"line {number}", given, expected)
            add(path, number, fields, found)
    if not found.exons and not found.utrs:
        raise InputError.at(path, "", "no transcript", "exon lines of GTF, or BED12 lines")
    return _annotation(found)


def _add_gtf(path: str | PathLike[str], number: int, fields: list[str], parts: _Parts) -> None:
    kind = "utr" if fields[2] in {"three_prime_utr", "three_prime_UTR", "3UTR"} else fields[2]
    if kind not in ("exon", "CDS", "utr"):
        return
    name = _ID.search(fields[8])
    if not name:
        raise InputError.at(
            path,
            f"line {number}",
            f"an {fields[2]} without transcript_id",
            'transcript_id "..." in the last field (GTF; GFF3 files have none)',
        )
    begin, end = _integers(path, number, fields[3:5])
    if not 1 <= begin <= end:
        raise InputError.at(path, f"line {number}", f"{begin} to {end}", "start up to end, from 1")
    if fields[6] not in ("+", "-"):
        return
    if kind == "CDS":
        first, last = parts.coding.get(name[1], (begin - 1, end))
        parts.coding[name[1]] = min(first, begin - 1), max(last, end)
        return
    places = parts.exons if kind == "exon" else parts.utrs
    places.setdefault((name[1], fields[0], fields[6]), []).append((begin - 1, end))
    version = _VERSION.search(fields[8])
    if version:
        parts.aliases[f"{name[1]}.{version[1]}"] = name[1]


def _add_bed(path: str | PathLike[str], number: int, fields: list[str], parts: _Parts) -> None:
    begin, end = _integers(path, number, fields[1:3])
    sizes = _integers(path, number, fields[10].rstrip(",").split(","))
    starts = _integers(path, number, fields[11].rstrip(",").split(","))
    (count,) = _integers(path, number, fields[9:10])
    blocks = [(begin + a, begin + a + size) for a, size in zip(starts, sizes, strict=False)]
    fits = len(sizes) == len(starts) == count and min(sizes) > 0 and begin >= 0
    if not fits or blocks[0][0] != begin or blocks[-1][1] != end:
        raise InputError.at(
            path,
            f"line {number}",
            f"blocks {fields[10]} at {fields[11]} of {begin} to {end}",
            f"{count} blocks that begin and end with their line",
        )
    if fields[5] not in ("+", "-"):
        return
    key = (fields[3], fields[0], fields[5])
    if key in parts.exons:
        parts.repeated.add(fields[3])
    parts.exons[key] = blocks
    thick_begin, thick_end = fields[6:8]
    if thick_begin.isdigit() and thick_end.isdigit() and int(thick_begin) < int(thick_end):
        parts.coding[fields[3]] = int(thick_begin), int(thick_end)


def _integers(path: str | PathLike[str], number: int, texts: Sequence[str]) -> list[int]:
    try:
        return [int(text) for text in texts]
    except ValueError:
        found = " ".join(texts)
        raise InputError.at(path, f"line {number}", repr(found), "whole numbers") from None


def _annotation(found: _Parts) -> Annotation:
    ambiguous = set(found.repeated)
    models: dict[str, TranscriptModel] = {}
    utrs: dict[str, TranscriptModel] = {}
    for of_name, places in ((models, found.exons), (utrs, found.utrs)):
        for (name, chromosome, strand), parts in places.items():
            parts.sort()
            if name in of_name or any(a[1] > b[0] for a, b in pairwise(parts)):
                ambiguous.add(name)  # no model can have it
            of_name[name] = TranscriptModel(chromosome, strand, tuple(parts))
    coding = dict(found.coding)
    of_names: tuple[dict[str, Any], ...] = (models, utrs, coding)
    for alias, name in found.aliases.items():
        if name in ambiguous:
            ambiguous.add(alias)
        for of_name in of_names:
            if name in of_name:
                of_name.setdefault(alias, of_name[name])
    for name in ambiguous:
        for of_name in of_names:
            of_name.pop(name, None)
    return Annotation(models, frozenset(ambiguous), utrs, coding)


def _found(
    name: str,
    versionless: Mapping[str, set[str]],
    annotation: Annotation,
) -> str | None:
    """The name of the annotation that a sequence's name stands for."""
    parts = [name, *(part for part in re.split("[|;]", name) if part)]
    for part in parts:
        if any(part in of for of in (annotation.models, annotation.utrs, annotation.ambiguous)):
            return part
    for part in parts:
        candidates = versionless.get(without_version(part), set())
        # id and id.version of one GTF line are one transcript.
        models = annotation.models, annotation.utrs
        places = {tuple(id(of.get(candidate)) for of in models) for candidate in candidates}
        if candidates and len(places) == 1:
            return next(iter(candidates))
    return None
