"""Prepare miRNAs and transcripts for the search of targets: what is kept, in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.fasta import Fasta, read_fasta, refuse_bad_records
from pairtile.methods.mirna_targets.restrict import Restriction, match_restrict, read_restrict
from pairtile.methods.mirna_targets.sequence_items import items_table, with_genes
from pairtile.preprocess.items import printable

LONG_MIRNA = 30
"""Letters; mature miRNAs have 18 to 25."""

_SHOWN = 5
_LISTED = 20


@dataclass
class PreparedSequences:
    """miRNAs and transcripts ready for the search, and the account of how they came about.

    ``items``: see ``sequence_items.items_table``. ``state``: the arrays

    | name | type, shape | meaning |
    |---|---|---|
    | mirna_text | uint8 (letters,) | the kept miRNAs in file order, letters as in the file |
    | mirna_offsets | int64 (miRNAs + 1,) | where each begins and ends |
    | transcript_text | uint8 (letters,) | the kept transcripts, trimmed, by ascending length |
    | transcript_offsets | int64 (transcripts + 1,) | where each begins and ends |
    | transcript_order | int32 (transcripts,) | state row -> row among the kept in file order |
    | mirna_lines, transcript_lines | uint8 | header lines of the kept, file order, each with LF |
    | restrict | int32 (pairs, 2) | miRNA and transcript (rows in file order); only with a list |
    | gene_items | int32 (transcripts,) | item of each one's gene, file order; only with genes |

    Row k of the kept miRNAs is item k, row k of the kept transcripts (file order) is item
    ``n_mirnas + k``.
    """

    items: pd.DataFrame
    state: dict[str, NDArray[Any]]
    counts: dict[str, int]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)


def prepare_sequences(config: MirnaTargetsConfig) -> PreparedSequences:
    """Read both FASTA files and the restrict list of a ``mirna_targets`` section.

    Letters beyond ``estimator.trim`` are dropped. Transcripts are sorted by what is left of their
    length, so that neighbours cost about the same; equal ones stay in file order.

    Raises
    ------
    InputError
        A file that is missing or damaged; bad records, all of both files in one message, unless
        ``on_bad_record`` is ``skip``; a restrict list without a pair that is there.
    """
    mirnas = read_fasta(config["mirnas"], "mirnas", "skip")
    transcripts = read_fasta(config["transcripts"], "transcripts", "skip")
    if config["on_bad_record"] == "error":
        refuse_bad_records([mirnas, transcripts])
    restriction = None
    if config["restrict"] is not None:
        restriction = match_restrict(
            read_restrict(config["restrict"]), mirnas.names, transcripts.names, config["restrict"]
        )
    trim = config["estimator"]["trim"]
    state = {
        "mirna_text": mirnas.text,
        "mirna_offsets": mirnas.offsets,
        "mirna_lines": _lines(mirnas),
        "transcript_lines": _lines(transcripts),
        **_sorted_transcripts(transcripts, trim),
    }
    if restriction is not None:
        state["restrict"] = restriction.pairs
    items, renamed = items_table(mirnas, transcripts)
    unmapped = 0
    if config["genes"] is not None:
        items, state["gene_items"], unmapped = with_genes(
            items, transcripts.names, len(mirnas), config["genes"]
        )
    return PreparedSequences(
        items=items,
        state=state,
        counts=_counts(mirnas, transcripts, restriction, state),
        notes=_notes(transcripts, trim),
        warnings=[
            *_warn_of_bad(mirnas),
            *_warn_of_bad(transcripts),
            *_warn_of_names(renamed),
            *_warn_of_lengths(mirnas),
            *_warn_of_missing(restriction, config["restrict"]),
            *_warn_of_unmapped(unmapped, len(transcripts), config["genes"]),
        ],
    )


def header_lines(lines: NDArray[np.uint8]) -> tuple[list[str], list[str]]:
    """Names and rest of the header lines, as in the file, from ``mirna_lines`` or
    ``transcript_lines`` of the state.

    Bytes that are not UTF-8 are surrogates: write them with ``errors="surrogateescape"``.
    """
    text = lines.tobytes().decode("utf-8", "surrogateescape")
    pairs = [line.split(" ", 1) for line in text.split("\n")[:-1]]
    return [name for name, _ in pairs], [header for _, header in pairs]


def _lines(fasta: Fasta) -> NDArray[np.uint8]:
    """Header lines with one blank after the name, whatever white space stood there."""
    pairs = zip(fasta.names, fasta.headers, strict=True)
    text = "".join(f"{name} {header}\n" for name, header in pairs)
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), dtype=np.uint8)


def _sorted_transcripts(transcripts: Fasta, trim: int | None) -> dict[str, NDArray[Any]]:
    lengths = transcripts.lengths
    if trim is not None:
        lengths = np.minimum(lengths, trim)
    order = np.argsort(lengths, kind="stable").astype(np.int32)
    begins = transcripts.offsets[:-1]
    parts = [transcripts.text[begins[k] : begins[k] + lengths[k]] for k in order]
    offsets = np.zeros(order.size + 1, dtype=np.int64)
    np.cumsum(lengths[order], out=offsets[1:])
    return {
        "transcript_text": np.concatenate([np.empty(0, np.uint8), *parts]),
        "transcript_offsets": offsets,
        "transcript_order": order,
    }


def _counts(
    mirnas: Fasta,
    transcripts: Fasta,
    restriction: Restriction | None,
    state: Mapping[str, NDArray[Any]],
) -> dict[str, int]:
    counts = {
        "mirnas_read": len(mirnas) + len(mirnas.bad),
        "mirnas_kept": len(mirnas),
        "transcripts_read": len(transcripts) + len(transcripts.bad),
        "transcripts_kept": len(transcripts),
        "mirna_letters": int(state["mirna_text"].size),
        "transcript_letters": int(state["transcript_text"].size),
        "longest_transcript": int(np.diff(state["transcript_offsets"]).max(initial=0)),
        "pairs": len(mirnas) * len(transcripts),
    }
    if restriction is not None:
        counts["pairs"] = len(restriction.pairs)
        counts["restrict_pairs_read"] = restriction.n_rows
        counts["restrict_pairs_missing"] = len(restriction.missing)
    return counts


def _notes(transcripts: Fasta, trim: int | None) -> list[str]:
    if trim is None:
        return []
    n_cut = int((transcripts.lengths > trim).sum())
    return [f"{n_cut} of {len(transcripts)} transcripts were cut to {trim} letters (trim)."]


def _warn_of_bad(fasta: Fasta) -> list[str]:
    warnings = [f"Left out: {bad.message(fasta.path)}." for bad in fasta.bad[:_LISTED]]
    if len(fasta.bad) > _LISTED:
        more = len(fasta.bad) - _LISTED
        warnings.append(f"{fasta.path}: {more} more bad records were left out, see items.parquet.")
    if not len(fasta):
        warnings.append(f"{fasta.path}: no sequence to search with ({fasta.key}).")
    return warnings


def _warn_of_names(renamed: Sequence[tuple[str, str]]) -> list[str]:
    if not renamed:
        return []
    shown = ", ".join(f"{printable(old)} as {new}" for old, new in renamed[:_SHOWN])
    more = ", ..." if len(renamed) > _SHOWN else ""
    records = "1 record has a name that is" if len(renamed) == 1 else f"{len(renamed)} records have"
    names = "" if len(renamed) == 1 else " names that are"
    return [
        f"{records}{names} taken, or that tables cannot hold; our tables and networks "
        f"show {shown}{more}. miranda.txt has them as in the file."
    ]


def _warn_of_lengths(mirnas: Fasta) -> list[str]:
    long = int((mirnas.lengths > LONG_MIRNA).sum())
    if not long:
        return []
    return [
        f"{mirnas.path}: {long} of {len(mirnas)} miRNAs have more than {LONG_MIRNA} letters (up to "
        f"{int(mirnas.lengths.max())}); mature miRNAs have 18 to 25. Are these hairpins, or are "
        "mirnas and transcripts exchanged?"
    ]


def _warn_of_unmapped(unmapped: int, transcripts: int, source: str | None) -> list[str]:
    if not unmapped:
        return []
    return [
        f"{source}: {unmapped} of {transcripts} transcripts have no gene there; they stand for "
        "themselves in the network."
    ]


def _warn_of_missing(restriction: Restriction | None, source: str | None) -> list[str]:
    if restriction is None or not restriction.missing:
        return []
    shown = ", ".join(f"{a} {b}" for a, b in restriction.missing[:_SHOWN])
    more = ", ..." if len(restriction.missing) > _SHOWN else ""
    return [
        f"{source}: {len(restriction.missing)} of {restriction.n_rows} pairs name a miRNA or "
        f"transcript that is not there and were left out: {shown}{more}."
    ]
