"""``miranda.txt``: what miRanda 3.3a prints after its list of settings, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.scoring import pair_starts
from pairtile.methods.mirna_targets.search import ALIGNMENT
from pairtile.methods.mirna_targets.tables import joined_texts, large_text, whole_pairs
from pairtile.runtime.threads import in_threads

_RULE = "=-" * 31 + "=\n"
_ALIGNMENT = (
    "\n   Forward:\tScore: {score:f}  Q:{query_begin} to {query_end}  R:{reference_begin} to "
    "{reference_end} Align Len ({alignment_length}) ({identity_percent:.2f}%) "
    "({similarity_percent:.2f}%)\n\n"
    "   Query:    3' {query_alignment} 5'\n"
    "                {match_line}\n"
    "   Ref:      5' {reference_alignment} 3'\n\n"
)
_SCORES = (
    "\nScores for this hit:\n"
    ">{mirna}\t{transcript}\t{score:.2f}\t{energy_kcal_mol:.2f}\t{query_begin} {query_end}"
    "\t{reference_begin} {reference_end}\t{alignment_length}\t{identity_percent:.2f}%"
    "\t{similarity_percent:.2f}%\n\n"
)
_KEYS = (
    "//hit_info\tquery_id={mirna}\treference_id={transcript}\tscore={score:f}"
    "\tenergy={energy_kcal_mol:f}\tquery_start={query_begin}\tquery_end={query_end}"
    "\tref_start={reference_begin}\tref_end={reference_end}\taln_length={alignment_length}"
    "\tidentity={identity_percent:f}\tsimilarity={similarity_percent:f}"
    "\taln_mirna={query_alignment}\taln_map={match_line}\taln_utr={reference_alignment}\n"
)
_SUMMARY = (
    "Seq1,Seq2,Tot Score,Tot Energy,Max Score,Max Energy,Strand,Len1,Len2,Positions\n"
    ">>{mirna}\t{transcript}\t{total_score:.2f}\t{total_energy}\t{max_score:.2f}\t{min_energy}"
    "\t{number}\t{mirna_length}\t{transcript_length}\t{positions}\n"
)

_BYTES: Final = pa.large_binary()  # names need not be UTF-8


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
    hits: Iterable[pa.Table],
    mirnas: TextSequences,
    transcripts: TextSequences,
    settings: AlignmentConfig,
    out: BinaryIO,
    *,
    quiet: bool = True,
    keyval: bool = False,
    pairs: NDArray[np.integer] | None = None,
) -> None:
    """Write the text of a whole search, holding one batch of hits at a time.

    hits     batches of merged hits; a pair may go on in the next one
    quiet    ``-quiet``: leave out pairs without a hit, and what was read and scanned
    keyval   ``-keyval``: one line of keys and values for each hit
    pairs    int (count, 2), sorted, each once: the pairs scanned (``-restrict``); all where None

    Names and headers are written as UTF-8; surrogates (PEP 383) as the bytes they stand for.
    """
    text = _MirandaText(mirnas, transcripts, settings, keyval, pairs)
    found = in_threads(text.of_pairs, filter(len, whole_pairs(hits)))
    out.writelines(text.quiet(found) if quiet else text.verbose(found))
    out.write(b"Scan Complete\n\n")


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
        self.names = [
            pa.array(map(_encoded, sequences.names), _BYTES) for sequences in (mirnas, transcripts)
        ]
        self.energies = settings.energies
        lengths = np.asarray(transcripts.lengths)
        self.lengths = lengths if settings.trim is None else np.minimum(lengths, settings.trim)
        energy = "   Energy:  {energy_kcal_mol:f} kCal/Mol\n" if settings.energies else ""
        self.one_hit = _KEYS if keyval else f"{_ALIGNMENT}{energy}{_SCORES}"
        self.scanned: NDArray[np.int64] | None = None
        if pairs is not None:
            wide = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
            self.scanned = wide[:, 0] * len(transcripts.names) + wide[:, 1]

    def of_pairs(self, hits: pa.Table) -> pa.RecordBatch:
        """Put each pair's hits together; the hits of a pair are all there.

        Of each pair rows ``i`` and ``j``, the text of its ``hits``, and its ``summary``, which is
        empty where its energies are not below 0 in sum.
        """
        columns = {
            name: large_text(hits, name) if name in ALIGNMENT else hits[name].to_numpy()
            for name in hits.column_names
        }
        columns["energy_kcal_mol"] = columns["energy_kcal_mol"].astype(np.float64)
        i, j = columns["i"], columns["j"] - np.int32(len(self.mirnas.names))
        first = pair_starts(i, j)
        lines = _filled(self.one_hit, columns | self._named(i, j))
        i, j = i[first[:-1]], j[first[:-1]]
        return pa.record_batch(
            {
                "i": pa.array(i),
                "j": pa.array(j),
                "hits": joined_texts(lines, first, b""),
                "summary": self._summary(columns, i, j, first),
            }
        )

    def quiet(self, found: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Pairs with hits only."""
        for pairs in found:
            end = pc.if_else(pc.equal(pairs["summary"], b""), b"", b"Complete\n\n").cast(_BYTES)
            columns = {"hits": pairs["hits"], "summary": pairs["summary"], "end": end}
            yield _filled("{hits}{summary}{end}", columns).buffers()[2]

    def verbose(self, found: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Whatever is read and scanned."""
        with_hits = (
            ((i, j), hits, summary)
            for pairs in found
            for i, j, hits, summary in zip(*map(pa.Array.to_pylist, pairs), strict=True)
        )
        count = len(self.transcripts.names)
        read = [_read_line(self.transcripts, j) for j in range(count)]
        nothing: tuple[tuple[int, int] | None, bytes, bytes] = (None, b"", b"")
        following = next(with_hits, nothing)
        for i, mirna in enumerate(self.mirnas.names):
            yield _read_line(self.mirnas, i)
            rows: Iterable[int] = range(count)
            if self.scanned is not None:
                begin, end = np.searchsorted(self.scanned, [i * count, (i + 1) * count])
                rows = (self.scanned[begin:end] - i * count).tolist()
            for j in rows:
                hits, summary = b"", b""
                if following[0] == (i, j):
                    _, hits, summary = following
                    following = next(with_hits, nothing)
                scan = f"{_RULE}Performing Scan: {mirna} vs {self.transcripts.names[j]}\n{_RULE}"
                yield read[j] + _encoded(scan) + hits + b"Score for this Scan:\n"
                yield (summary or b"No Hits Found above Threshold\n") + b"Complete\n\n"

    def _named(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> dict[str, pa.Array]:
        mirnas, transcripts = self.names
        return {"mirna": mirnas.take(pa.array(i)), "transcript": transcripts.take(pa.array(j))}

    def _summary(
        self,
        hits: Mapping[str, NDArray[np.integer | np.floating]],
        i: NDArray[np.integer],
        j: NDArray[np.integer],
        first: NDArray[np.int64],
    ) -> pa.Array:
        """Of each pair (rows ``i``, ``j``), whose hits begin at ``first``."""
        pair = np.repeat(np.arange(len(i)), np.diff(first))
        score, energy = hits["score"], hits["energy_kcal_mol"]
        total_energy = np.bincount(pair, energy)  # adds one after the other, as miRanda does
        key = i.astype(np.int64) * len(self.transcripts.names) + j
        number = key if self.scanned is None else np.searchsorted(self.scanned, key)
        totals = total_energy, np.minimum.reduceat(energy, first[:-1])
        if self.energies:
            total, least = (_as_text(values, ".2f") for values in totals)
        else:
            total = least = pa.repeat(pa.scalar(b"0.0", _BYTES), len(i))
        positions = _filled(" {begin}", {"begin": hits["reference_begin"]})
        summary = _filled(
            _SUMMARY,
            self._named(i, j)
            | {
                "total_score": np.bincount(pair, score),
                "max_score": np.maximum.reduceat(score, first[:-1]),
                "total_energy": total,
                "min_energy": least,
                "number": number + 1,  # pairs scanned when this one has been
                "mirna_length": np.asarray(self.mirnas.lengths)[i],
                "transcript_length": self.lengths[j],
                "positions": joined_texts(positions, first, b""),
            },
        )
        if not self.energies:
            return summary
        return pc.if_else(pa.array(total_energy < 0), summary, pa.scalar(b"", _BYTES))


def _filled(template: str, columns: Mapping[str, NDArray[np.generic] | pa.Array]) -> pa.Array:
    """A text for each row: ``template`` with the row's entries of the columns that it names."""
    parts = []
    for literal, name, form, _ in Formatter().parse(template):
        parts.append(pa.scalar(literal.encode(), _BYTES))
        if name is not None:
            parts.append(_as_text(columns[name], form or ""))
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", _BYTES))


def _as_text(column: NDArray[np.generic] | pa.Array, form: str) -> pa.Array:
    """Texts as bytes; whole numbers; and other numbers in the form of a format string."""
    if form:
        # Few of them differ, and each is written once. By their bits, so that 0 and -0 do.
        bits, place = np.unique(column.view(np.int64), return_inverse=True)
        words = [format(number, form).encode() for number in bits.view(np.float64).tolist()]
        return pa.array(words, _BYTES).take(pa.array(place))
    if isinstance(column, np.ndarray):
        return pa.array(column).cast(pa.large_string()).cast(_BYTES)
    return column.cast(_BYTES)


def _read_line(sequences: TextSequences, row: int) -> bytes:
    name, header = sequences.names[row], sequences.headers[row]
    return _encoded(f"Read Sequence:{name} {header}({sequences.lengths[row]} nt)\n")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
