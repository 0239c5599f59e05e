"""Targets of miRNAs, in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.api.settings import analysis_config
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import Device, choose
from pairtile.methods.mirna_targets.api_sequences import as_fasta, as_pairs
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.export_extras import extra_columns
from pairtile.methods.mirna_targets.export_tables import ALIGNMENT, ROWS, hits_table
from pairtile.methods.mirna_targets.fasta import Fasta, refuse_bad_records
from pairtile.methods.mirna_targets.hits import COLUMNS, Hits, Letters
from pairtile.methods.mirna_targets.prepare import LONG_MIRNA
from pairtile.methods.mirna_targets.restrict import match_restrict
from pairtile.methods.mirna_targets.score import MIRNAS_OF_A_TILE, TRANSCRIPTS_OF_A_TILE
from pairtile.methods.mirna_targets.search import AlignmentSettings, TargetSearch
from pairtile.methods.mirna_targets.sequence_items import items_table

_SHOWN = 5


def mirna_targets(
    mirnas: Any,
    transcripts: Any,
    *,
    score: float = 140.0,
    energy: float = 1.0,
    scale: float = 4.0,
    gap_open: float = -9.0,
    gap_extend: float = -4.0,
    strict: bool = False,
    energies: bool = True,
    trim: int | None = None,
    restrict: Any = None,
    extras: Mapping[str, bool] | None = None,
    on_bad_record: str = "error",
    backend: str = "auto",
) -> pd.DataFrame:
    """Find the sites of transcripts that miRNAs may bind: the hits of miRanda 3.3a, one a row.

    The same as an analysis of the workflow with these settings: the table that it writes to
    ``hits.tsv``. Matches of sequence: most of them are no targets in a cell.

    Parameters
    ----------
    mirnas : path, mapping, Series or list
        Mature miRNAs, 5' to 3': the path of a FASTA file (plain or gzip); name -> sequence; or a
        list of sequences, of (name, sequence), or of records with ``id`` and ``seq``. T or U,
        either case, IUPAC letters allowed.
    transcripts : as ``mirnas``
        Transcripts or their 3' UTRs, 5' to 3'.
    score : float, above 0
        Least alignment score of a hit.
    energy : float
        A hit's energy is below this, kcal/mol.
    scale : float, at least 0
        How much more miRNA positions 2 to 8, the seed, count.
    gap_open, gap_extend : float, at most 0
        Scores of the first and of each further base of a gap.
    strict : bool
        Demand a perfect seed: positions 2 to 8 paired by A-U or G-C, without a gap.
    energies : bool
        Compute energies; without them ``energy`` decides nothing.
    trim : int, optional
        Use only so many letters from the start of each transcript.
    restrict : path, DataFrame or list of pairs, optional
        The pairs to look at, names of miRNA and transcript. Pairs that are not there are left out
        with a warning.
    extras : mapping, optional
        ``{"duplex_energy": True}``, ``{"accessibility": True}``: more columns, from ViennaRNA.
    on_bad_record : {"error", "skip"}
        Of FASTA files: refuse records that cannot be used, or go on without, with a warning.
    backend : {"auto", "cpu", "cuda"}
        All give the same answer.

    Returns
    -------
    DataFrame, a row for each hit: miRNA by miRNA, transcript by transcript, best hit first
        ``mirna``, ``transcript``, ``rank``, ``score``, ``energy_kcal_mol``, ``query_begin`` and
        ``query_end`` (in the miRNA), ``reference_begin`` and ``reference_end`` (in the transcript,
        unaligned tails included), ``site_begin`` and ``site_end`` (without), ``alignment_length``,
        ``identity_percent``, ``similarity_percent``, ``seed_class``, ``local_au``,
        ``relative_position``, ``transcript_length``, ``query_alignment`` (3' to 5'),
        ``match_line``, ``reference_alignment`` (5' to 3'). Positions count from 1 and include both
        ends. ``attrs`` has ``counts``, ``warnings``, ``device``, ``settings``. A name that is there
        twice has ``#2`` the second time; sequences without names are ``mirna_0``,
        ``transcript_0``, and so on.

    Raises
    ------
    ValueError
        Settings that are not allowed; sequences in no known form.
    InputError
        Files that cannot be read; records that cannot be used; ``restrict`` without a pair that is
        there.
    ConfigError
        Energies or extras without the package ViennaRNA.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Enright et al. 2003, Genome Biology 5:R1; docs/mirna_targets.md has every rule. Seed
    classes: Bartel 2009, Cell 136:215. All hits are held in memory, some 550 bytes each; the
    workflow writes them as it goes.

    Examples
    --------
    >>> mirnas = {"let-7a": "UGAGGUAGUAGGUUGUAUAGUU"}
    >>> utrs = {"utr": "CAUUUAUACAACCGUUCUACCUCAACGCGAUGUAAAUAUCGCAAUCCCUUUUUAUACAACCAUUCUGCCUCU"}
    >>> hits = mirna_targets(mirnas, utrs)
    >>> hits[["mirna", "transcript", "score", "energy_kcal_mol", "site_begin", "seed_class"]]
        mirna transcript  score  energy_kcal_mol  site_begin seed_class
    0  let-7a        utr  179.0           -28.84           4       8mer
    1  let-7a        utr  163.0           -25.06          52       none
    >>> for name in ("query_alignment", "match_line", "reference_alignment"):
    ...     print(hits[name][0].rstrip())
    uuGAUAUGUUGG-AUGAUGGAGu
      :||||||||| | |||||||
    auUUAUACAACCGUUCUACCUCa
    """
    config = analysis_config(
        MirnaTargetsConfig,
        estimator={
            "score": score,
            "energy": energy,
            "scale": scale,
            "gap_open": gap_open,
            "gap_extend": gap_extend,
            "strict": strict,
            "energies": energies,
            "trim": trim,
        },
        extras=extras or {},
        on_bad_record=on_bad_record,
        backend=backend,
    )
    settings = AlignmentSettings(**config["estimator"])
    files = as_fasta(mirnas, "mirnas"), as_fasta(transcripts, "transcripts")
    if on_bad_record == "error":
        refuse_bad_records(files)
    cautions = [*_cautions(*files)]
    pairs = None
    if restrict is not None:
        pairs, missing = _restricted(restrict, *files)
        cautions += missing
    items, renamed = items_table(*files)
    if renamed:
        shown = ", ".join(f"{old} as {new}" for old, new in renamed[:_SHOWN])
        cautions.append(f"{len(renamed)} names are there twice; the table shows {shown}.")
    for caution in cautions:
        warnings.warn(caution, stacklevel=2)

    state = _state(*files, settings.trim)
    device = choose(backend)
    found = _search(state, settings, pairs, device)
    columns = {name: getattr(found, name) for name in COLUMNS}
    columns["j"] = columns["j"] + np.int32(len(files[0]))
    hits = hits_table(
        pa.table(columns, schema=ROWS), items, state, energies=config["estimator"]["energies"]
    )
    for name, values in extra_columns(hits, state, config["extras"]).items():
        hits = hits.add_column(hits.num_columns - len(ALIGNMENT), name, values)
    table = _plain(hits).to_pandas()
    table["energy_kcal_mol"] = table["energy_kcal_mol"].astype(np.float64).round(2)
    table.attrs = {
        "counts": {
            "mirnas_kept": len(files[0]),
            "transcripts_kept": len(files[1]),
            "pairs": len(files[0]) * len(files[1]) if pairs is None else len(pairs),
            "hits": len(table),
            "pairs_with_hits": int((table["rank"] == 1).sum()),
        },
        "warnings": cautions,
        "device": device.name,
        "settings": {key: config[key] for key in ("estimator", "extras")},
    }
    return table


def _cautions(mirnas: Fasta, transcripts: Fasta) -> list[str]:
    told = []
    for file in (mirnas, transcripts):
        if file.bad:
            count = "1 bad record" if len(file.bad) == 1 else f"{len(file.bad)} bad records"
            told.append(f"{count} left out, the first: {file.bad[0].message(file.path)}.")
    told += [
        f"{file.path}: no sequence to search with."
        for file in (mirnas, transcripts)
        if not len(file)
    ]
    long = int((mirnas.lengths > LONG_MIRNA).sum())
    if long:
        told.append(
            f"{mirnas.path}: {long} of {len(mirnas)} miRNAs have more than {LONG_MIRNA} letters; "
            "mature miRNAs have 18 to 25. Are these hairpins, or are mirnas and transcripts "
            "exchanged?"
        )
    return told


def _restricted(
    restrict: Any, mirnas: Fasta, transcripts: Fasta
) -> tuple[NDArray[np.int32], list[str]]:
    """Rows of the pairs that are there, and a word on those that are not."""
    asked = as_pairs(restrict)
    matched = match_restrict(asked, mirnas.names, transcripts.names, "restrict")
    if not matched.missing:
        return matched.pairs, []
    shown = ", ".join(f"{a} {b}" for a, b in matched.missing[:_SHOWN])
    more = ", ..." if len(matched.missing) > _SHOWN else ""
    return matched.pairs, [
        f"{len(matched.missing)} of {len(asked)} pairs of restrict name a miRNA or transcript that "
        f"is not there and were left out: {shown}{more}."
    ]


def _state(mirnas: Fasta, transcripts: Fasta, trim: int | None) -> dict[str, NDArray[Any]]:
    """The arrays of ``prepare.sequences.PreparedSequences`` that hits are described with, the
    transcripts in the order of their file."""
    count = len(transcripts)
    cut = Letters(transcripts.text, transcripts.offsets).block(np.arange(count), trim)
    return {
        "mirna_text": mirnas.text,
        "mirna_offsets": mirnas.offsets,
        "transcript_text": cut.text,
        "transcript_offsets": cut.offsets,
        "transcript_order": np.arange(count, dtype=np.int32),
    }


def _search(
    state: Mapping[str, NDArray[Any]],
    settings: AlignmentSettings,
    pairs: NDArray[np.int32] | None,
    device: Device,
) -> Hits:
    """Hits of all pairs, or of some, by tiles as in the workflow."""
    mirnas = Letters(state["mirna_text"], state["mirna_offsets"])
    transcripts = Letters(state["transcript_text"], state["transcript_offsets"])
    search = TargetSearch(mirnas, transcripts, settings, device)
    parts = []
    space = PairSpace("rectangle", len(mirnas), len(transcripts))
    for tile in space.tiles(MIRNAS_OF_A_TILE, TRANSCRIPTS_OF_A_TILE):
        columns = np.arange(tile.column_begin, tile.column_end)
        allowed = None if pairs is None else _allowed(pairs, tile)
        if allowed is None or allowed.any():
            parts.append(search.hits(tile.row_begin, tile.row_end, columns, allowed))
    return Hits.joined(parts)


def _allowed(pairs: NDArray[np.int32], tile: Tile) -> NDArray[np.bool_]:
    shape = (tile.row_end - tile.row_begin, tile.column_end - tile.column_begin)
    rows, columns = pairs[:, 0] - tile.row_begin, pairs[:, 1] - tile.column_begin
    inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    allowed = np.zeros(shape, dtype=bool)
    allowed[rows[inside], columns[inside]] = True
    return allowed


def _plain(hits: pa.Table) -> pa.Table:
    """Words as text, not as categories: grouping by categories makes rows for what is not there."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type)
        for field in hits.schema
    ]
    return hits.cast(pa.schema(fields))
