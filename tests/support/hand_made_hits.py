"""Hits for tests: made by hand, or read from what miRanda printed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pairtile.config.load import load_config
from pairtile.engine.estimator import PreparedInput, TableSummary
from pairtile.methods.mirna_targets.export import write_hits
from pairtile.methods.mirna_targets.prepare import prepare_sequences
from pairtile.methods.mirna_targets.score import target_edges
from pairtile.methods.mirna_targets.search import ROWS, SequenceBatch
from pairtile.methods.mirna_targets.tables import hits_table

LET7 = "UGAGGUAGUAGGUUGUAUAGUU"
# What pairs with let-7's positions 9 to 22, and with its seed, in the transcript's direction.
BODY, SEED = "AACUAUACAACCUA", "CUACCUC"

RUNS = {
    "bantam_default": ("bantam_stRNA.fasta", "hid_UTR.fasta", None),
    "mplant_quiet": ("mir8.fa", "ref_mirplanted.fa", None),
    "mplant_sc120_en-15": ("mir8.fa", "ref_mirplanted.fa", None),
    "mplant_trim50": ("mir8.fa", "ref_mirplanted.fa", 50),
    "planted_quiet": ("q_synth.fa", "ref_planted.fa", None),
    "planted_go-4_ge-2": ("q_synth.fa", "ref_planted.fa", None),
    "planted_scale1_sc60": ("q_synth.fa", "ref_planted.fa", None),
    "rnd_quiet": ("q_synth.fa", "rnd_iupac.fa", None),
    "ts_quiet": ("mir32.fa", "ts_utr_allspecies.fa", None),
    "long_quiet": ("mir8.fa", "ref30k.fa", None),
}
"""Golden runs that print hits: miRNAs, transcripts, letters of each to search."""

_NUMBERS = re.compile(
    r"Forward:\tScore: (\S+)  Q:(\d+) to (\d+)  R:(\d+) to (\d+) "
    r"Align Len \((\d+)\) \((\S+)%\) \((\S+)%\)"
)


def prepared(
    folder: Path,
    mirnas: dict[str, str] | str | bytes,
    transcripts: dict[str, str] | str | bytes,
    **keys: Any,
) -> PreparedInput:
    """Both FASTA files written and prepared; ``keys`` of the section with a line end are files."""
    section: dict[str, Any] = {"method": "mirna_targets"}
    for key, value in {"mirnas": mirnas, "transcripts": transcripts, **keys}.items():
        is_fasta = key in ("mirnas", "transcripts")
        if is_fasta and isinstance(value, dict):
            value = "".join(f">{name}\n{text}\n" for name, text in value.items())
        if is_fasta or (isinstance(value, str) and "\n" in value):
            path = folder / f"{key}.{'fa' if is_fasta else 'tsv'}"
            path.write_bytes(value if isinstance(value, bytes) else value.encode())
            value = str(path)
        section[key] = value
    return prepare(section)


def prepare(section: dict[str, Any]) -> PreparedInput:
    return prepare_sequences(load_config({"analyses": {"a": section}}).analyses["a"])


def texts(batch: SequenceBatch) -> list[str]:
    return [batch.text[a:b].tobytes().decode() for a, b in pairwise(batch.offsets)]


def rows(hits: list[dict[str, Any]]) -> pa.Table:
    """Hits as the merged table has them, sorted."""
    hits = sorted(hits, key=lambda hit: (hit["i"], hit["j"], hit["rank"]))
    return pa.Table.from_pylist(hits, schema=ROWS)


def table(sequences: PreparedInput, hits: list[dict[str, Any]], **more: Any) -> pa.Table:
    """Hits as the files have them."""
    return hits_table(rows(hits), sequences.items, sequences.state, **more)


def write(
    sequences: PreparedInput,
    batches: Callable[[], Iterable[pa.Table]],
    folder: Path,
    **keys: Any,
) -> TableSummary:
    """The files of hits, written with some keys of the section."""
    section = {"method": "mirna_targets", "mirnas": "m.fa", "transcripts": "t.fa", **keys}
    config = load_config({"analyses": {"a": section}}).analyses["a"]
    found = pa.concat_tables([ROWS.empty_table(), *(part.select(ROWS.names) for part in batches())])
    pairs = target_edges(found.to_pandas(), ("i", "j"))[["source", "target"]]
    return write_hits(batches, sequences.items, sequences.state, folder, config, pairs, None)


def ungapped_hit(
    sequences: PreparedInput, mirna: str, transcript: str, begin: int, **more: Any
) -> dict[str, Any]:
    """A hit whose tail begins at ``begin`` (from 1; may be off either end) and that has no gap.

    Aligned are miRNA positions 2 to n - 1, as in most of miRanda's hits.
    """
    items = sequences.items
    i = int(np.flatnonzero((items["name"] == mirna) & (items["kind"] == "mirna"))[0])
    j = int(np.flatnonzero((items["name"] == transcript) & (items["kind"] == "transcript"))[0])
    letters = text_of(sequences, "mirna", i)
    target = text_of(sequences, "transcript", j - int((items["kind"] == "mirna").sum()))
    n, m = len(letters), len(target)
    query = letters[::-1].upper()
    reference = "".join(
        target[p - 1].upper() if 1 <= p <= m else "-" for p in range(begin, begin + n)
    )
    pairs = {"AU", "UA", "AT", "TA", "GC", "CG"}
    matches = ["|" if a + b in pairs else " " for a, b in zip(query, reference, strict=True)]
    matches[0] = matches[-1] = " "
    hit = {
        "i": i,
        "j": j,
        "rank": 0,
        "score": 150.0,
        "energy_kcal_mol": -20.5,
        "query_begin": 2,
        "query_end": n,  # one too large, as miRanda has it
        "reference_begin": max(1, begin),
        "reference_end": min(m, begin + n - 1),
        "alignment_length": n - 2,
        "identity_percent": 100 * matches.count("|") / (n - 2),
        "similarity_percent": 100 * matches.count("|") / (n - 2),
        "query_alignment": query[0].lower() + query[1:-1] + query[-1].lower(),
        "match_line": "".join(matches),
        "reference_alignment": reference[0].lower() + reference[1:-1] + reference[-1].lower(),
    }
    return hit | more


def text_of(sequences: PreparedInput, kind: str, row: int) -> str:
    """Letters of a miRNA or transcript by its row in file order."""
    state = sequences.state
    if kind == "transcript":
        row = int(np.flatnonzero(state["transcript_order"] == row)[0])
    return texts(SequenceBatch.of_state(state, kind))[row]


def printed_hits(path: Path, items: pd.DataFrame) -> pa.Table:
    """The hits in what miRanda printed (not ``-keyval``), as the merged table has them."""
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    n_mirnas = int((items["kind"] == "mirna").sum())
    names = items["name"].tolist()
    mirnas = {name: k for k, name in reversed(list(enumerate(names[:n_mirnas])))}
    transcripts = {name: k + n_mirnas for k, name in reversed(list(enumerate(names[n_mirnas:])))}
    hits: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        found = _NUMBERS.search(line)
        if not found:
            continue
        query, match, reference = (text[16:] for text in lines[number + 2 : number + 5])
        length = len(query) - len(" 5'")
        header = next(x for x in lines[number:] if x.startswith(">") and not x.startswith(">>"))
        name_i, name_j, _, energy, *_ = header[1:].split("\t")
        score, qb, qe, rb, re_, columns, identity, similarity = found.groups()
        i, j = mirnas[name_i], transcripts[name_j]
        hits.append(
            {
                "i": i,
                "j": j,
                "rank": sum(hit["i"] == i and hit["j"] == j for hit in hits[-200:]),
                "score": float(score),
                "energy_kcal_mol": float(energy),
                "query_begin": int(qb),
                "query_end": int(qe),
                "reference_begin": int(rb),
                "reference_end": int(re_),
                "alignment_length": int(columns),
                "identity_percent": float(identity),
                "similarity_percent": float(similarity),
                "query_alignment": query[:length],
                "match_line": match.ljust(length)[:length],
                "reference_alignment": reference[:length],
            }
        )
    return rows(hits)


def golden(shared: Path, run: str) -> tuple[PreparedInput, pa.Table]:
    """Sequences of a golden run, and the hits that miRanda printed."""
    mirnas, transcripts, trim = RUNS[run]
    folder = shared / "golden/mirna"
    section = {"method": "mirna_targets", "estimator": {"trim": trim}}
    section |= {"mirnas": str(folder / "inputs" / mirnas)}
    section |= {"transcripts": str(folder / "inputs" / transcripts)}
    sequences = prepare(section)
    return sequences, printed_hits(folder / f"expected/{run}.txt.gz", sequences.items)
