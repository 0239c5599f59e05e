"""All files of miRNA hits, in one pass over the merged table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.arrow_tsv import tsv_header, tsv_lines, write_arrow_tsv
from pairtile.methods.mirna_targets.export_bed import write_hits_bed
from pairtile.methods.mirna_targets.export_extras import extra_columns
from pairtile.methods.mirna_targets.export_gff3 import write_hits_gff3
from pairtile.methods.mirna_targets.export_places import hit_places, lift_of
from pairtile.methods.mirna_targets.export_tables import ALIGNMENT, ROWS, hits_table, targets_table
from pairtile.methods.mirna_targets.transcript_model import Lift, read_transcript_models
from pairtile.runtime.files import atomic_path

FILES = ("hits.tsv", "hits.parquet", "targets.tsv", "hits.bed", "hits.gff3")


@dataclass
class HitFiles:
    """What was written: counts for the summary, and warnings."""

    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def write_hits(
    batches: Iterable[pa.Table],
    items: pd.DataFrame,
    state: Mapping[str, NDArray[Any]],
    folder: str | PathLike[str],
    *,
    energies: bool = True,
    annotation: str | None = None,
    extras: Mapping[str, bool] | None = None,
) -> HitFiles:
    """Write ``FILES`` into a folder, each whole or not at all.

    Parameters
    ----------
    batches : iterable of Table
        The merged hits in order (``hits_tables.ROWS``), a part at a time: alignments are held in
        memory for one part only, numbers for all.
    items, state : DataFrame, mapping
        As ``prepare.sequences`` made them.
    folder : path
        Where the files go.
    energies : bool
        Whether energies were computed.
    annotation : str, optional
        GTF or BED12 file of the transcripts: BED and GFF3 have genome coordinates where it tells.
    extras : mapping, optional
        ``duplex_energy``, ``accessibility``: whether to add these columns to the hits.

    Raises
    ------
    InputError
        An annotation that cannot be read.
    ConfigError
        Extras without the package ViennaRNA.
    """
    done = HitFiles()
    lift = None if annotation is None else lift_of(items, read_transcript_models(annotation))
    with ExitStack() as stack:
        path = {name: stack.enter_context(atomic_path(Path(folder) / name)) for name in FILES}
        with path["hits.tsv"].open("wb") as tsv:
            numbers = []
            parquet = None
            for rows in _at_least_one(batches):
                hits = hits_table(rows, items, state, energies=energies)
                hits = _with_extras(hits, state, extras or {})
                if parquet is None:
                    tsv.write(tsv_header(hits))
                    parquet = stack.enter_context(_parquet(hits.schema, path["hits.parquet"]))
                parquet.write_table(hits)
                tsv.writelines(tsv_lines(hits))
                numbers.append(hits.drop_columns(list(ALIGNMENT)))
            if parquet is not None:
                parquet.close()
        all_hits = pa.concat_tables(numbers)
        targets = targets_table(all_hits)
        write_arrow_tsv(targets, path["targets.tsv"])
        places = hit_places(all_hits, lift.models if lift else None)
        write_hits_bed(all_hits, places, path["hits.bed"])
        write_hits_gff3(all_hits, places, path["hits.gff3"])
    done.counts |= {"hits": all_hits.num_rows, "pairs_with_hits": targets.num_rows}
    if lift is not None:
        done.counts["transcripts_in_genome"] = sum(model is not None for model in lift.models)
        done.counts["hits_in_genome"] = int(places.lifted.sum())
        done.warnings += _warnings(lift, str(annotation))
    return done


def _at_least_one(batches: Iterable[pa.Table]) -> Iterable[pa.Table]:
    """The batches, or one without rows: so that empty files have their columns, too."""
    empty = True
    for rows in batches:
        empty = False
        yield rows
    if empty:
        yield ROWS.empty_table()


def _with_extras(
    hits: pa.Table, state: Mapping[str, NDArray[Any]], asked: Mapping[str, bool]
) -> pa.Table:
    if not any(asked.values()):
        return hits
    for name, values in extra_columns(hits, state, asked).items():
        hits = hits.append_column(name, values)
    names = [name for name in hits.column_names if name not in ALIGNMENT]
    return hits.select([*names, *ALIGNMENT])


def _parquet(schema: pa.Schema, path: Path) -> pq.ParquetWriter:
    # Without Arrow's own schema, words of a dictionary are plain text to every reader.
    return pq.ParquetWriter(path, schema, compression="zstd", store_schema=False)


def _warnings(lift: Lift, annotation: str) -> list[str]:
    reasons = {
        "are not in it": lift.n_missing,
        "have several places in it": lift.n_ambiguous,
        "have another length than its spliced transcripts": lift.n_other_length,
    }
    told = ", ".join(f"{n} {words}" for words, n in reasons.items() if n)
    if not told:
        return []
    return [f"{annotation}: transcripts left in their own coordinates: {told}."]
