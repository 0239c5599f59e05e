"""What a search for miRNA targets takes and gives: sequences, settings, hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.kernels.miranda_scoring import CODES, CodedSequences


@dataclass(frozen=True)
class AlignmentSettings:
    """Parameters of miRanda 3.3a, with its defaults.

    score        lowest score of a hit (``-sc``), above 0
    energy       energies of hits are below this, kcal/mol (``-en``)
    scale        factor of scores and gaps in the seed, truncated (``-scale``)
    gap_open     score of the first base of a gap, 0 or below (``-go``); truncated
    gap_extend   score of each further base (``-ge``), likewise
    strict       demand seven pairs A-U or G-C at miRNA positions 2 to 8 (``-strict``)
    energies     compute and test energies; False is ``-noenergy``
    trim         use so many letters of each reference (``-trim``); all where None
    """

    score: float = 140.0
    energy: float = 1.0
    scale: float = 4.0
    gap_open: float = -9.0
    gap_extend: float = -4.0
    strict: bool = False
    energies: bool = True
    trim: int | None = None


@dataclass(frozen=True)
class Letters:
    """Many sequences, one after the other.

    text      uint8 (total,): ASCII as in the file, case kept, white space removed
    offsets   int64 (count + 1,): sequence k is text[offsets[k]:offsets[k + 1]]
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[str]) -> Letters:
        """Lay strings one after the other."""
        lengths = np.array([len(s) for s in sequences], dtype=np.int64)
        text = np.frombuffer("".join(sequences).encode("ascii"), dtype=np.uint8)
        return cls(text, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Letters of each sequence, int64 (count,)."""
        return np.diff(self.offsets)

    def block(self, rows: NDArray[np.integer], trim: int | None = None) -> Letters:
        """The sequences of some rows, in that order, each cut after ``trim`` letters."""
        lengths = self.lengths[rows]
        if trim is not None:
            lengths = np.minimum(lengths, trim)
        begins = self.offsets[:-1][rows]
        pieces = [self.text[b : b + n] for b, n in zip(begins, lengths, strict=True)]
        text = np.concatenate([np.empty(0, dtype=np.uint8), *pieces])
        return Letters(text, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def coded(self) -> CodedSequences:
        """The same by codes of letters."""
        return CodedSequences(CODES[self.text], self.offsets)


@dataclass(frozen=True)
class Hits:
    """Hits of miRNAs on transcripts: one entry each, sorted by (i, j, rank).

    i, j                 int32: rows of the miRNA and the transcript
    rank                 int32: 0, 1, ... within a pair, miRanda's order
    score                float64
    energy_kcal_mol      float32; 0 where energies are off
    query_begin, query_end          int32: positions in the miRNA, from 1, as miRanda prints them:
                         ``query_end`` is one too large
    reference_begin, reference_end  int32: positions in the transcript, from 1, both inclusive, with
                         the unaligned tails
    alignment_length     int32: columns of the alignment, with gaps
    identity_percent     float64: columns marked ``|``
    similarity_percent   float64: columns marked ``|`` or ``:``
    query_alignment      str: the miRNA 3'->5'; aligned letters upper case, tails lower case
    match_line           str: ``|`` A-U and G-C, ``:`` G-U, else blank
    reference_alignment  str: the transcript 5'->3'
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    energy_kcal_mol: NDArray[np.float32]
    query_begin: NDArray[np.int32]
    query_end: NDArray[np.int32]
    reference_begin: NDArray[np.int32]
    reference_end: NDArray[np.int32]
    alignment_length: NDArray[np.int32]
    identity_percent: NDArray[np.float64]
    similarity_percent: NDArray[np.float64]
    query_alignment: list[str]
    match_line: list[str]
    reference_alignment: list[str]

    def __len__(self) -> int:
        return len(self.i)

    @classmethod
    def none(cls) -> Hits:
        """No hits."""
        return cls(*(_no_entries(name) for name in COLUMNS))

    @classmethod
    def joined(cls, parts: Sequence[Hits]) -> Hits:
        """The hits of disjoint blocks, sorted by (i, j, rank)."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        whole = cls(*(_joined([getattr(part, name) for part in parts]) for name in COLUMNS))
        return whole.taken(np.lexsort((whole.rank, whole.j, whole.i)))

    def taken(self, rows: NDArray[np.integer]) -> Hits:
        """Some entries, in the order of ``rows``."""
        return Hits(*(_taken(getattr(self, name), rows) for name in COLUMNS))


COLUMNS: Final = tuple(field.name for field in fields(Hits))
"""Fields of ``Hits``."""

_TEXTS = ("query_alignment", "match_line", "reference_alignment")
_FLOATS = {"energy_kcal_mol": np.float32} | dict.fromkeys(
    ("score", "identity_percent", "similarity_percent"), np.float64
)


def _no_entries(name: str) -> Any:
    return [] if name in _TEXTS else np.empty(0, dtype=_FLOATS.get(name, np.int32))


def _joined(columns: list[Any]) -> Any:
    return list(chain(*columns)) if isinstance(columns[0], list) else np.concatenate(columns)


def _taken(column: Any, rows: NDArray[np.integer]) -> Any:
    return [column[k] for k in rows] if isinstance(column, list) else column[rows]
