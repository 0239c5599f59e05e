"""The files of miRNA hits: tables, BED12 and GFF3 in one pass, and ``miranda.txt``."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.declare.columns import with_metadata
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import Estimator, Merged, Written
from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.config import ExtraColumnsConfig, MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import Conservation, conservation_rates
from pairtile.methods.mirna_targets.conservation_tables import (
    conservation_columns,
    conservation_table,
)
from pairtile.methods.mirna_targets.expression import expression_columns, expression_table
from pairtile.methods.mirna_targets.hits_bed_gff3 import (
    NUMBER,
    bed_lines,
    gff3_lines,
    gff3_sequence,
    hit_places,
    items_to_genome,
    sequences_of_items,
)
from pairtile.methods.mirna_targets.miranda_text import TextSequences, write_miranda_text
from pairtile.methods.mirna_targets.prepare import header_lines
from pairtile.methods.mirna_targets.search import COLUMNS, Hits
from pairtile.methods.mirna_targets.tables import (
    ALIGNMENT,
    ROWS,
    codes,
    context_of,
    hits_table,
    named_targets,
    ranked_targets,
    rows_by_length,
    signal_curve,
    signal_table,
    targets_table,
    tsv_header,
    tsv_lines,
    whole_pairs,
    write_arrow_tsv,
)
from pairtile.methods.mirna_targets.transcript_model import (
    TranscriptToGenome,
    read_transcript_models,
)
from pairtile.methods.mirna_targets.viennarna_columns import Accessibilities, duplex_energies
from pairtile.runtime.files import atomic_path

message = messages_of(__package__)


# --- all files ------------------------------------------------------------------------------------


def write_target_tables(
    opened: Estimator[MirnaTargetsConfig, SequenceArrays],
    merged: Merged,
    items: pd.DataFrame,
    folder: Path,
    tests: pd.DataFrame | None,
    counts: Mapping[str, NDArray[np.int64]] | None,
    conservation: Conservation | None,
) -> Written:
    """Write all files of hits into ``folder``; what they hold is said by their writers.

    tests, counts, conservation : ``pair_tests``, ``all_null_counts`` and ``conservation`` of the
    estimator; None without a null or orthologs.
    """
    config, state = opened.config, opened.state
    n_mirnas = len(state["mirna_offsets"]) - 1
    restrict = np.asarray(state["restrict"]) if "restrict" in state else None
    if restrict is not None:
        restrict = np.unique(restrict, axis=0)

    def write_text() -> None:
        with atomic_path(folder / "miranda.txt") as temporary, temporary.open("wb") as out:
            write_miranda_text(
                _merged_hits(merged, n_mirnas),
                _sequences(state, items, "mirna"),
                _sequences(state, items, "transcript"),
                config.estimator,
                out,
                quiet=config.miranda_text.quiet,
                keyval=config.miranda_text.keyval,
                pairs=restrict,
            )

    # Arrow writes the text of both without Python's lock: two threads take half the time.
    with ThreadPoolExecutor(1) as beside:
        text = beside.submit(write_text)
        done = write_hits(
            merged.batches,
            items,
            state,
            folder,
            energies=config.estimator.energies,
            annotation=config.annotation,
            extras=config.extras,
            tests=tests,
            null_counts=counts,
        )
        text.result()
    if counts is not None:
        names = items["name"].to_numpy()[:n_mirnas]
        tables = {
            "signal.tsv": signal_table(counts, names, config.estimator.score),
            "signal_curve.tsv": signal_curve(counts, names),
        }
        if conservation is not None:
            tables["conservation.tsv"] = conservation_table(counts, names, conservation)
        if config.mirna_expression is not None:
            tables["expression.tsv"] = expression_table(counts, names)
        for name, table in tables.items():
            with atomic_path(folder / name) as temporary:
                write_arrow_tsv(table, temporary)
    return Written(done.counts, done.warnings)


def _sequences(state: Any, items: pd.DataFrame, kind: str) -> TextSequences:
    """Names as in the file: those of the items are made unique."""
    names, headers = header_lines(np.asarray(state[f"{kind}_lines"]))
    kept = items[(items["kind"] == kind) & items["kept"]]
    return TextSequences(names, headers, kept["length"].to_numpy())


_ROWS = 1 << 16
"""Hits whose text is in memory at a time."""


def _merged_hits(merged: Merged, n_mirnas: int) -> Iterator[Hits]:
    """The merged hits in order, by rows of both files."""
    parts = (part for batch in merged.batches() for part in batch.to_batches(_ROWS))
    for part in parts:
        columns: dict[str, Any] = {}
        for name in COLUMNS:
            text = name in ALIGNMENT
            columns[name] = part[name].cast(pa.large_string()) if text else part[name].to_numpy()
        columns["j"] = columns["j"] - np.int32(n_mirnas)
        yield Hits(**columns)


# --- tables of hits -------------------------------------------------------------------------------


NO_EXTRAS = ExtraColumnsConfig()

FILES = ("hits.tsv", "hits.parquet", "targets.tsv", "hits.bed", "hits.gff3")


@dataclass
class HitFiles:
    """What was written: counts for the summary, and warnings."""

    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def write_hits(
    batches: Callable[[], Iterable[pa.Table]],
    items: pd.DataFrame,
    state: SequenceArrays,
    folder: str | PathLike[str],
    *,
    energies: bool = True,
    annotation: str | None = None,
    extras: ExtraColumnsConfig = NO_EXTRAS,
    tests: pd.DataFrame | None = None,
    null_counts: Mapping[str, NDArray[np.int64]] | None = None,
) -> HitFiles:
    """Write ``FILES`` into a folder, each whole or not at all.

    Parameters
    ----------
    batches : function without arguments, to an iterable of Table
        The merged hits in order (``tables.ROWS``), a part at a time: alignments are held in
        memory for one part only, numbers for all.
    items, state : DataFrame, mapping
        As ``prepare`` made them.
    folder : path
        Where the files go.
    energies : bool
        Whether energies were computed.
    annotation : str, optional
        GTF or BED12 file of the transcripts: BED and GFF3 have genome coordinates for those that
        it holds.
    extras : ExtraColumnsConfig
        Which columns of ViennaRNA to add to the hits.
    tests : DataFrame, optional
        ``pair_score``, ``p_value`` and ``q_value`` of each pair with a hit, in order of the hits:
        ``targets.tsv`` has them first, and is ranked by p.
    null_counts : mapping, optional
        What the null counted (``null.count_shapes``): conservation beyond chance with orthologs in
        the state, and how low correlations are with expression.

    Raises
    ------
    InputError
        An annotation that cannot be read.
    ConfigError
        Extras without the package ViennaRNA.
    """
    done = HitFiles()

    def described(among: NDArray[np.bool_] | None = None) -> Iterator[pa.Table]:
        """Hits of whole pairs, with their number in the file; of some transcripts (items) only."""
        first = 0
        for rows in whole_pairs(_at_least_one(batches())):
            number = np.arange(first, first + len(rows))
            first += len(rows)
            if among is not None:
                some = among[rows["j"].to_numpy()]
                rows, number = rows.filter(pa.array(some)), number[some]
            found = hits_table(rows, items, state, energies=energies)
            yield found.append_column(NUMBER, pa.array(number))

    rates = None
    if null_counts is not None and "kept_counts" in null_counts:
        rates = conservation_rates(null_counts)
    accessibilities = None
    if extras.accessibility:
        accessibilities = Accessibilities(described(), state, Path(folder))
    models = None
    if annotation is not None:
        models = items_to_genome(items, read_transcript_models(annotation))
    to_genome = models or TranscriptToGenome([None] * len(items))
    with ExitStack() as stack:
        path = {name: stack.enter_context(atomic_path(Path(folder) / name)) for name in FILES}
        hits_of_item = np.zeros(len(items), dtype=np.int64)
        targets: list[pa.Table] = []
        held: list[pa.Table] = []
        with path["hits.tsv"].open("wb") as tsv:
            parquet = None
            for found in described():
                numbers = found.drop_columns(list(ALIGNMENT))
                hits = found.drop_columns([NUMBER])
                hits = with_more_columns(hits, state, extras, rates, accessibilities)
                if parquet is None:
                    tsv.write(tsv_header(hits))
                    parquet = stack.enter_context(_parquet(hits.schema, path["hits.parquet"]))
                with ThreadPoolExecutor(1) as beside:
                    compressed = beside.submit(parquet.write_table, hits)
                    tsv.writelines(tsv_lines(hits))
                    targets.append(targets_table(hits))
                compressed.result()
                hits_of_item += np.bincount(codes(hits["transcript"]), minlength=len(items))
                held = [*held, numbers] if hits_of_item.sum() <= PLACED_AT_ONCE else []
            if parquet is not None:
                parquet.close()
        all_targets = pa.concat_tables(targets)
        if null_counts is not None:
            all_targets = with_expression(all_targets, state, null_counts)
        if tests is not None:
            all_targets = ranked_targets(all_targets, tests)
        all_targets = named_targets(all_targets, items)
        write_arrow_tsv(all_targets, path["targets.tsv"])
        regions = _regions(items, hits_of_item, to_genome)
        with path["hits.bed"].open("wb") as bed, path["hits.gff3"].open("wb") as gff3:
            gff3.writelines([b"##gff-version 3\n", *regions])
            in_genome = 0
            for among in _groups(items, hits_of_item, to_genome):
                some = pa.concat_tables(held or described(among))
                places = hit_places(some, to_genome)
                bed.writelines(bed_lines(some, places))
                gff3.writelines(gff3_lines(some, places))
                in_genome += int(places.in_genome.sum())
    n_hits = int(hits_of_item.sum())
    done.counts |= {"hits": n_hits, "pairs_with_hits": all_targets.num_rows}
    if models is not None:
        done.counts["transcripts_in_genome"] = sum(model is not None for model in models.models)
        done.counts["utrs_in_genome"] = models.n_utrs
        done.counts["hits_in_genome"] = in_genome
        done.warnings += _genome_warnings(models, str(annotation))
    return done


PLACED_AT_ONCE = 4_000_000
"""Hits that are sorted by their place at a time; of more, those of some sequences, made again."""


def _groups(
    items: pd.DataFrame, hits_of_item: NDArray[np.int64], to_genome: TranscriptToGenome
) -> Iterator[NDArray[np.bool_]]:
    """Which items are on the first sequences (chromosomes, transcripts) by name, on the next ones,
    and so on: each group has at most ``PLACED_AT_ONCE`` hits, or one sequence."""
    sequence = sequences_of_items(items["name"].tolist(), to_genome)[1]
    number = np.bincount(sequence, hits_of_item).astype(np.int64)
    begin, total = 0, 0
    for k, n in enumerate(number.tolist()):
        if total + n > PLACED_AT_ONCE and total:
            yield (begin <= sequence) & (sequence < k)
            begin, total = k, 0
        total += n
    yield begin <= sequence


def _regions(
    items: pd.DataFrame, hits_of_item: NDArray[np.int64], to_genome: TranscriptToGenome
) -> list[bytes]:
    """A line for each transcript whose own coordinates are used, sorted by name."""
    pairs = zip(items["name"], items["length"], hits_of_item, to_genome.models, strict=True)
    used = sorted((name, length) for name, length, n, model in pairs if n and model is None)
    return [f"##sequence-region {gff3_sequence(x)} 1 {length}\n".encode() for x, length in used]


def _at_least_one(batches: Iterable[pa.Table]) -> Iterable[pa.Table]:
    """The batches, or one without rows: so that empty files have their columns, too."""
    empty = True
    for rows in batches:
        empty = False
        yield rows
    if empty:
        yield ROWS.empty_table()


def with_more_columns(
    hits: pa.Table,
    state: SequenceArrays,
    asked: ExtraColumnsConfig,
    rates: NDArray[np.float64] | None = None,
    accessibilities: Accessibilities | None = None,
) -> pa.Table:
    """The hits with conservation and the extras that are asked for, before the alignments.

    Columns are those of ``hits.parquet`` in ``columns.toml``.

    rates : ``conservation.conservation_rates``. accessibilities : of all hits; None: of these.

    Raises
    ------
    ConfigError
        ViennaRNA is not installed and is asked for.
    """
    columns = conservation_columns(hits, state, rates)
    if asked.context:
        columns |= context_of(hits, state)
    if asked.duplex_energy:
        columns["duplex_energy_kcal_mol"] = duplex_energies(hits, state)
    if asked.accessibility:
        found = accessibilities or Accessibilities([hits], state)
        columns["accessibility"] = found.column(hits)
    for name, values in columns.items():
        hits = hits.append_column(name, values)
    names = [name for name in hits.column_names if name not in ALIGNMENT]
    return hits.select([*names, *ALIGNMENT])


def with_expression(
    targets: pa.Table, state: SequenceArrays, counts: Mapping[str, NDArray[np.int64]]
) -> pa.Table:
    """The pairs (``targets_table``) with ``expression.expression_columns``, where there is any."""
    if "mirna_ranks" not in state:
        return targets
    n_mirnas = len(state["mirna_offsets"]) - 1
    i, j = codes(targets["mirna"]), rows_by_length(state)[codes(targets["transcript"]) - n_mirnas]
    canonical = targets["n_canonical_sites"].to_numpy() > 0
    for name, values in expression_columns(i, j, canonical, state, counts).items():
        targets = targets.append_column(name, values)
    return targets


def _parquet(schema: pa.Schema, path: Path) -> pq.ParquetWriter:
    writer = pq.ParquetWriter(path, schema, compression="zstd", store_schema=False)
    # As Arrow stores its own schema, but with plain text for dictionaries and large text.
    texts = {f.name for f in schema if not pa.types.is_primitive(f.type)}
    plain = [f.with_type(pa.string()) if f.name in texts else f for f in schema]
    described = with_metadata(pa.schema(plain), __package__, "hits.parquet")
    writer.add_key_value_metadata({"ARROW:schema": b64encode(described.serialize())})
    return writer


def _genome_warnings(to_genome: TranscriptToGenome, annotation: str) -> list[Message]:
    others = to_genome.other_lengths
    reasons = {
        "are not in it": to_genome.n_missing,
        "have several places in it": to_genome.n_ambiguous,
        "have the length neither of the spliced transcript nor of its 3' UTR": len(others),
    }
    if not any(reasons.values()):
        return []
    shown = [f"{name} has {own:,} letters, there {there:,}" for name, own, there in others]
    examples = f" ({_shown(shown)})" if shown else ""
    listed = ", ".join(f"{n:,} {reason}" for reason, n in reasons.items() if n)
    n = sum(reasons.values())
    numbers = {"n": n, "n_other_length": len(others), "reasons": listed + examples}
    return [message("not_in_genome", annotation=annotation, **numbers)]


def _shown(texts: Sequence[str], limit: int = 3) -> str:
    return "; ".join([*texts[:limit], *["..."] * (len(texts) > limit)])
