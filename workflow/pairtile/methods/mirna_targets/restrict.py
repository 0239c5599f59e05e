"""Restrict lists: the pairs of a miRNA and a transcript that are to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from pairtile.errors import InputError
from pairtile.methods.mirna_targets.name_pairs import read_name_pairs

_FIRST_HEADERS = {"mirna", "mirnas", "microrna", "query", "source", "regulator", "from"}
_SECOND_HEADERS = {"transcript", "transcripts", "reference", "target", "gene", "to", "utr"}
_SHOWN = 3


@dataclass(frozen=True)
class Restriction:
    """The pairs of a restrict list, as row numbers.

    pairs : int32 (n, 2), row of the miRNA and row of the transcript, sorted, each once.
    n_rows : pairs in the file. missing : those of which a name is not there, in file order.
    """

    pairs: np.ndarray
    n_rows: int
    missing: list[tuple[str, str]]


def read_restrict(path: str | PathLike[str]) -> list[tuple[str, str]]:
    """Read pairs of names, miRNA and transcript, in file order, each pair once.

    Two fields a line, with tabs or blanks between them (names in FASTA files have neither). Blank
    lines and lines that start with ``#`` are passed over, and so is a header such as ``miRNA
    transcript``.

    Raises
    ------
    InputError
        File missing or damaged, a line with another number of fields, or no pair at all.
    """
    return read_name_pairs(path, "miRNA and transcript", (_FIRST_HEADERS, _SECOND_HEADERS))


def match_restrict(
    pairs: Sequence[tuple[str, str]],
    mirnas: Sequence[str],
    transcripts: Sequence[str],
    source: str | PathLike[str],
) -> Restriction:
    """Find pairs of names among the miRNAs and transcripts.

    A name that several records have stands for all of them. ``source``: the list's file, for the
    message.

    Raises
    ------
    InputError
        No pair of the list is there although there are miRNAs and transcripts.
    """
    mirna_rows, transcript_rows = _rows(mirnas), _rows(transcripts)
    rows: set[tuple[int, int]] = set()
    missing = []
    for mirna, transcript in pairs:
        if mirna in mirna_rows and transcript in transcript_rows:
            rows |= {(i, j) for i in mirna_rows[mirna] for j in transcript_rows[transcript]}
        else:
            missing.append((mirna, transcript))
    if not rows and mirnas and transcripts:
        shown = ", ".join(f"{a} {b}" for a, b in missing[:_SHOWN])
        dots = ", ..." if len(missing) > _SHOWN else ""
        raise InputError.at(
            source,
            "",
            f"none of its {len(missing)} pairs ({shown}{dots}) in the two FASTA files",
            f"pairs such as {mirnas[0]} {transcripts[0]}, the miRNA first",
        )
    found = np.array(sorted(rows), dtype=np.int32).reshape(-1, 2)
    return Restriction(found, len(pairs), missing)


def _rows(names: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        rows.setdefault(name, []).append(k)
    return rows
