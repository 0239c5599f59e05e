"""``miranda.txt``: what miRanda 3.3a prints after its list of settings, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.search import Hits

_RULE = "=-" * 31 + "=\n"
_SUMMARY_HEADER = "Seq1,Seq2,Tot Score,Tot Energy,Max Score,Max Energy,Strand,Len1,Len2,Positions\n"


@dataclass(frozen=True)
class TextSequences:
    """Sequences in the order of their file.

    names     each up to the first white space
    headers   what follows in the header line, after that one white space
    lengths   int (count,): letters as read, before ``trim``
    """

    names: Sequence[str]
    headers: Sequence[str]
    lengths: NDArray[np.integer]


def write_miranda_text(
    hits: Iterable[Hits],
    mirnas: TextSequences,
    transcripts: TextSequences,
    settings: AlignmentConfig,
    out: BinaryIO,
    *,
    quiet: bool = True,
    keyval: bool = False,
    pairs: NDArray[np.integer] | None = None,
) -> None:
    """Write the text of a whole search, holding one pair and one batch of hits at a time.

    hits     batches, sorted by (i, j, rank) throughout; a pair may go on in the next batch. i and
             j are rows of ``mirnas`` and ``transcripts``
    quiet    ``-quiet``: leave out pairs without a hit, and what was read and scanned
    keyval   ``-keyval``: one line of keys and values for each hit
    pairs    int (count, 2), sorted, each once: the pairs scanned (``-restrict``); all where None

    Names and headers are written as UTF-8; surrogates (PEP 383) as the bytes they stand for.
    """
    text = _MirandaText(mirnas, transcripts, settings, keyval, pairs)
    found = text.pairs_with_hits(hits)
    for part in text.quiet(found) if quiet else text.verbose(found):
        out.write(part.encode("utf-8", "surrogateescape"))
    out.write(b"Scan Complete\n\n")


@dataclass(frozen=True)
class _PairText:
    """The hits of pair (i, j), and its summary: "" where its energies are not below 0 in sum."""

    i: int
    j: int
    hits: str
    summary: str


_Row = tuple[Any, ...]
"""A hit: i, j, score, energy, query begin, end, reference begin, end, alignment length, identity,
similarity, and the three lines of its alignment."""


def _rows(hits: Hits) -> Iterator[_Row]:
    numbers = (
        hits.i,
        hits.j,
        hits.score,
        hits.energy_kcal_mol.astype(np.float64),
        hits.query_begin,
        hits.query_end,
        hits.reference_begin,
        hits.reference_end,
        hits.alignment_length,
        hits.identity_percent,
        hits.similarity_percent,
    )
    lists = [column.tolist() for column in numbers]
    lines = (hits.query_alignment, hits.match_line, hits.reference_alignment)
    return zip(*lists, *lines, strict=True)


class _MirandaText:
    """The parts of the text, in the order in which miRanda prints them."""

    def __init__(
        self,
        mirnas: TextSequences,
        transcripts: TextSequences,
        settings: AlignmentConfig,
        keyval: bool,
        pairs: NDArray[np.integer] | None,
    ) -> None:
        self.mirnas, self.transcripts = mirnas, transcripts
        self.settings = settings
        self.one_hit = _hit_as_keys if keyval else _hit_as_lines
        self.scanned: NDArray[np.int64] | None = None
        if pairs is not None:
            wide = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
            self.scanned = wide[:, 0] * len(transcripts.names) + wide[:, 1]

    def pairs_with_hits(self, batches: Iterable[Hits]) -> Iterator[_PairText]:
        """Put each pair's hits together."""
        rows = (row for batch in batches for row in _rows(batch))
        for (i, j), group in groupby(rows, key=itemgetter(0, 1)):
            of_pair = list(group)
            names = self.mirnas.names[i], self.transcripts.names[j]
            lines = [self.one_hit(*names, row, self.settings.energies) for row in of_pair]
            yield _PairText(i, j, "".join(lines), self._summary(i, j, of_pair))

    def quiet(self, found: Iterator[_PairText]) -> Iterator[str]:
        """Pairs with hits only."""
        for pair in found:
            yield f"{pair.hits}{pair.summary}Complete\n\n" if pair.summary else pair.hits

    def verbose(self, found: Iterator[_PairText]) -> Iterator[str]:
        """Whatever is read and scanned."""
        count = len(self.transcripts.names)
        read = [_read_line(self.transcripts, j) for j in range(count)]
        pair = next(found, None)
        for i, mirna in enumerate(self.mirnas.names):
            yield _read_line(self.mirnas, i)
            for j in self._transcripts_of(i):
                hits, summary = "", ""
                if pair is not None and (pair.i, pair.j) == (i, j):
                    hits, summary = pair.hits, pair.summary
                    pair = next(found, None)
                yield (
                    f"{read[j]}{_RULE}Performing Scan: {mirna} vs {self.transcripts.names[j]}\n"
                    f"{_RULE}{hits}Score for this Scan:\n"
                    f"{summary or 'No Hits Found above Threshold' + chr(10)}Complete\n\n"
                )

    def _transcripts_of(self, i: int) -> Iterable[int]:
        """Rows of the transcripts that a miRNA is aligned to."""
        count = len(self.transcripts.names)
        if self.scanned is None:
            return range(count)
        begin, end = np.searchsorted(self.scanned, [i * count, (i + 1) * count])
        rows: list[int] = (self.scanned[begin:end] - i * count).tolist()
        return rows

    def _number(self, i: int, j: int) -> int:
        """How many pairs have been scanned when this one has."""
        key = i * len(self.transcripts.names) + j
        return 1 + (key if self.scanned is None else int(np.searchsorted(self.scanned, key)))

    def _summary(self, i: int, j: int, rows: list[_Row]) -> str:
        scores, energies = [row[2] for row in rows], [row[3] for row in rows]
        total_energy, lowest_energy = "0.0", "0.0"
        if self.settings.energies:
            if not sum(-energy for energy in energies) > 0:
                return ""
            total_energy, lowest_energy = f"{sum(energies):.2f}", f"{min(energies):.2f}"
        m = int(self.transcripts.lengths[j])
        if self.settings.trim is not None:
            m = min(m, self.settings.trim)
        positions = "".join(f" {row[6]}" for row in rows)
        return (
            f"{_SUMMARY_HEADER}>>{self.mirnas.names[i]}\t{self.transcripts.names[j]}"
            f"\t{sum(scores):.2f}\t{total_energy}\t{max(scores):.2f}\t{lowest_energy}"
            f"\t{self._number(i, j)}\t{self.mirnas.lengths[i]}\t{m}\t{positions}\n"
        )


def _read_line(sequences: TextSequences, row: int) -> str:
    name, header = sequences.names[row], sequences.headers[row]
    return f"Read Sequence:{name} {header}({sequences.lengths[row]} nt)\n"


def _hit_as_lines(mirna: str, transcript: str, row: _Row, energies: bool) -> str:
    _, _, score, energy, qb, qe, rb, re, length, identity, similarity, query, marks, target = row
    identity, similarity = f"{identity:.2f}%", f"{similarity:.2f}%"
    return (
        f"\n   Forward:\tScore: {score:f}  Q:{qb} to {qe}  R:{rb} to {re} "
        f"Align Len ({length}) ({identity}) ({similarity})\n\n"
        f"   Query:    3' {query} 5'\n"
        f"                {marks}\n"
        f"   Ref:      5' {target} 3'\n\n"
        f"{f'   Energy:  {energy:f} kCal/Mol{chr(10)}' if energies else ''}\n"
        "Scores for this hit:\n"
        f">{mirna}\t{transcript}\t{score:.2f}\t{energy:.2f}\t{qb} {qe}\t{rb} {re}"
        f"\t{length}\t{identity}\t{similarity}\n\n"
    )


def _hit_as_keys(mirna: str, transcript: str, row: _Row, energies: bool) -> str:
    _, _, score, energy, qb, qe, rb, re, length, identity, similarity, query, marks, target = row
    return (
        f"//hit_info\tquery_id={mirna}\treference_id={transcript}\tscore={score:f}"
        f"\tenergy={energy:f}\tquery_start={qb}\tquery_end={qe}\tref_start={rb}\tref_end={re}"
        f"\taln_length={length}\tidentity={identity:f}\tsimilarity={similarity:f}"
        f"\taln_mirna={query}\taln_map={marks}\taln_utr={target}\n"
    )
