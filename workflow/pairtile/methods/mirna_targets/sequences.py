"""Sequences and pairs of names in any form that a user may have them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from os.path import exists
from typing import TypeAlias, TypeGuard

import numpy as np
import pandas as pd

from pairtile.errors import InputError
from pairtile.methods.mirna_targets.fasta import Fasta, letters_fault, read_fasta
from pairtile.methods.mirna_targets.maf import read_orthologs
from pairtile.methods.mirna_targets.prepare import read_restrict

_FAULTS_SHOWN = 20

# What ``as_fasta`` and ``as_pairs`` take.
FastaLike: TypeAlias = "str | PathLike[str] | Mapping[str, str] | pd.Series[str] | Iterable[object]"
PairsLike: TypeAlias = "str | PathLike[str] | pd.DataFrame | Iterable[Sequence[str]]"


def as_fasta(sequences: FastaLike, key: str) -> Fasta:
    """Take sequences in any form as what ``read_fasta`` gives; the input is not changed.

    sequences : the path of a FASTA file; a mapping or pandas Series of name -> sequence; or a list
    of sequences, of (name, sequence), or of records with ``id`` and ``seq`` (Biopython's). Those
    without names are called ``mirna_0``, ``mirna_1``... White space is left out. Bad records of a
    file are in ``bad``: the caller decides on them. key : what messages call them, ``mirnas`` or
    ``transcripts``.

    Raises ValueError for other forms; InputError for a file that cannot be read, and for sequences
    in memory without letters, or with letters that are none, all of them in one message.
    """
    if isinstance(sequences, str | PathLike):
        if _is_sequence(sequences):
            text = str(sequences)
            raise ValueError(
                f"{key}: found the sequence {text if len(text) <= 30 else f'{text[:30]}...'!r}; "
                "expected the path of a FASTA file, a mapping of name -> sequence, or a list of "
                "sequences"
            )
        return read_fasta(sequences, key, "skip")
    names, texts, faults = [], [], []
    for name, text in _named(sequences, key):
        names.append(name)
        texts.append("".join(text.split()).encode("utf-8", "replace"))
        fault = letters_fault(texts[-1])
        if fault:
            faults.append(str(InputError.at(key, repr(name), *fault)))
    if faults:
        more = [f"... and {len(faults) - _FAULTS_SHOWN} more"] * (len(faults) > _FAULTS_SHOWN)
        raise InputError("\n".join([*faults[:_FAULTS_SHOWN], *more]))
    return Fasta.of_records(key, key, names, texts)


def as_orthologs(orthologs: FastaLike, reference: str | None) -> Fasta:
    """Orthologs in any form of ``as_fasta``, or the path of an alignment (``maf.read_orthologs``).
    Raises InputError as both do."""
    if isinstance(orthologs, str | PathLike) and not _is_sequence(orthologs):
        return read_orthologs(orthologs, "orthologs", reference)
    return as_fasta(orthologs, "orthologs")


def as_pairs(restrict: PairsLike) -> list[tuple[str, str]]:
    """Pairs of names, miRNA and transcript: from a file, a DataFrame's first two columns, or a
    list. Raises ValueError for other forms, InputError for a file that cannot be used."""
    if isinstance(restrict, str | PathLike):
        return read_restrict(restrict)
    if isinstance(restrict, pd.DataFrame):
        restrict = list(restrict.iloc[:, :2].itertuples(index=False, name=None))
    pairs: list[tuple[object, ...]] = [
        tuple(pair) if _is_listing(pair) else (pair,) for pair in restrict
    ]
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"restrict: found {pair}; expected pairs of a miRNA and a transcript")
    if not pairs:
        raise ValueError("restrict: found no pair; expected at least one, or restrict=None")
    return list(dict.fromkeys((str(mirna), str(transcript)) for mirna, transcript in pairs))


def _named(sequences: FastaLike, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(sequences, Mapping | pd.Series):
        entries: Iterable[object] = sequences.items()
    elif isinstance(sequences, Iterable) and not isinstance(sequences, bytes | pd.DataFrame):
        entries = sequences
    else:
        raise ValueError(
            f"{key}: found {type(sequences).__name__}; expected the path of a FASTA file, a "
            "mapping of name -> sequence, or a list of sequences"
        )
    for number, entry in enumerate(entries):
        if isinstance(entry, str):
            yield f"{key.removesuffix('s')}_{number}", entry
        elif hasattr(entry, "id") and hasattr(entry, "seq"):
            yield str(entry.id), str(entry.seq)
        elif _is_listing(entry) and len(entry) == 2 and isinstance(entry[1], str):
            yield str(entry[0]), entry[1]
        else:
            raise ValueError(
                f"{key}: found {entry!r}; expected a sequence as text, or a name and a sequence"
            )


def _is_sequence(text: str | PathLike[str]) -> bool:
    """Whether a text is a sequence rather than a path."""
    # os.path: a text longer than a path can be is no file, where pathlib raises an error.
    bases = isinstance(text, str) and re.fullmatch("[ACGTUNacgtun]{10,}", text)
    return bool(bases) and not exists(text)


def _is_listing(entry: object) -> TypeGuard[Sequence[object]]:
    return isinstance(entry, tuple | list | np.ndarray)
