"""The files of miRNA hits: tables, BED12 and GFF3 in one pass, and ``miranda.txt``."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.columns import with_metadata
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.chunk_file import Arrays
from pairtile.engine.estimator import Estimator, MergedResults, TableSummary
from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.config import ExtraColumnsConfig, MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import (
    CANONICAL,
    Conservation,
    conservation_rates,
    conserved_share,
    conserved_sites,
)
from pairtile.methods.mirna_targets.expression import expression_table
from pairtile.methods.mirna_targets.hits_bed_gff3 import (
    NUMBER,
    bed_lines,
    gff3_lines,
    gff3_sequence,
    hit_places,
    items_to_genome,
    sequences_of_items,
)
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.miranda_text import TextSequences, write_miranda_text
from pairtile.methods.mirna_targets.prepare import header_lines
from pairtile.methods.mirna_targets.scoring import SequenceBatch, runs
from pairtile.methods.mirna_targets.search import ALIGNMENT, ROWS
from pairtile.methods.mirna_targets.seed_sites import SeedSites
from pairtile.methods.mirna_targets.tables import (
    ALL_MIRNAS,
    HITS,
    PLACE,
    TEXT_ROWS,
    codes,
    context_of,
    hits_table,
    named_targets,
    ranked_targets,
    rounded,
    seed_sites_table,
    signal_curve,
    signal_table,
    state_rows,
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
    merged: MergedResults,
    items: pd.DataFrame,
    folder: Path,
    pairs: pd.DataFrame,
    counts: Arrays | None,
    tables: dict[str, pa.Table],
    seed_sites: SeedSites | None,
) -> TableSummary:
    """Write all files of hits into ``folder``; what they hold is said by their writers.

    pairs, counts, seed_sites : ``ranked_pairs``, ``all_null_counts`` and ``seed_sites`` of the
    estimator; None without a null, or unless asked for. tables : ``null_tables``.
    """
    config, state = opened.config, opened.state
    # Arrow writes the text of both without Python's lock: two threads take half the time.
    with ThreadPoolExecutor(1) as beside:
        text = beside.submit(_write_text, config, merged, items, state, folder / "miranda.txt")
        done = write_hits(merged.batches, items, state, folder, config, pairs, counts)
        text.result()
    if seed_sites is not None:
        hits = pd.read_parquet(folder / "hits.parquet", columns=[*PLACE, "rank"])
        tables = tables | {"seed_sites.tsv": seed_sites_table(seed_sites, items, state, hits)}
    for name, table in tables.items():
        with atomic_path(folder / name) as temporary:
            write_arrow_tsv(table, temporary)
    return done


def null_tables(
    counts: Arrays,
    items: pd.DataFrame,
    config: MirnaTargetsConfig,
    conservation: Conservation | None,
    correlations: NDArray[np.float64],
) -> dict[str, pa.Table]:
    """The tables of what a null counted, by their files; with orthologs ``conservation.tsv``, with
    expression ``expression.tsv`` (correlations : ``sums`` of ``evidence.Evidence``)."""
    names = items["name"].to_numpy()[: len(counts["mirna_sites"])]
    tables = {
        "signal.tsv": signal_table(counts, names, config.estimator.score),
        "signal_curve.tsv": signal_curve(counts, names),
    }
    if conservation is not None:
        tables["conservation.tsv"] = conservation_table(counts, names, conservation)
    if config.mirna_expression is not None:
        tables["expression.tsv"] = expression_table(correlations, names)
    return tables


def _write_text(
    config: MirnaTargetsConfig,
    merged: MergedResults,
    items: pd.DataFrame,
    state: SequenceArrays,
    path: Path,
) -> None:
    """``miranda.txt``, the hits of which are in memory a part at a time."""
    parts = (
        batch.slice(begin, TEXT_ROWS)
        for batch in merged.batches()
        for begin in range(0, len(batch), TEXT_ROWS)
    )
    with atomic_path(path) as temporary, temporary.open("wb") as out:
        write_miranda_text(
            parts,
            _sequences(state, items, "mirna"),
            _sequences(state, items, "transcript"),
            config.estimator,
            out,
            quiet=config.miranda_text.quiet,
            keyval=config.miranda_text.keyval,
            pairs=np.unique(state["restrict"], axis=0) if "restrict" in state else None,
        )


def _sequences(state: Mapping[str, object], items: pd.DataFrame, kind: str) -> TextSequences:
    """Names as in the file: those of the items are made unique."""
    names, headers = header_lines(np.asarray(state[f"{kind}_lines"]))
    kept = items[(items["kind"] == kind) & items["kept"]]
    return TextSequences(names, headers, kept["length"].to_numpy())


# --- tables of hits -------------------------------------------------------------------------------


FILES = ("hits.tsv", "hits.parquet", "targets.tsv", "hits.bed", "hits.gff3")


def write_hits(
    batches: Callable[[], Iterable[pa.Table]],
    items: pd.DataFrame,
    state: SequenceArrays,
    folder: Path,
    config: MirnaTargetsConfig,
    pairs: pd.DataFrame,
    null_counts: Arrays | None,
) -> TableSummary:
    """Write ``FILES`` into a folder, each whole or not at all.

    batches : gives the merged hits in order (``search.ROWS``), a part at a time: alignments are
    held in memory for one part only, numbers for all. pairs : ``ranked_pairs`` of the estimator,
    whose order targets have. null_counts : what the null counted (``null.count_shapes``), for
    conservation beyond chance.

    Raises InputError for an annotation that cannot be read, ConfigError for extras without the
    package ViennaRNA.
    """
    extras = config.extras

    def described(among: NDArray[np.bool_] | None = None) -> Iterator[pa.Table]:
        """Hits of whole pairs, with their number in the file; of some transcripts (items) only."""
        first = 0
        parts = (rows.select(ROWS.names) for rows in batches())
        for rows in whole_pairs(chain([ROWS.empty_table()], parts)):
            number = np.arange(first, first + len(rows))
            first += len(rows)
            if among is not None:
                some = among[rows["j"].to_numpy()]
                rows, number = rows.filter(pa.array(some)), number[some]
            found = hits_table(rows, items, state, energies=config.estimator.energies)
            yield found.append_column(NUMBER, pa.array(number))

    sums = null_counts or {}
    rates = conservation_rates(sums) if "kept_counts" in sums else None
    accessibilities = Accessibilities(described(), state, folder) if extras.accessibility else None
    to_genome = (
        TranscriptToGenome([None] * len(items))
        if config.annotation is None
        else items_to_genome(items, read_transcript_models(config.annotation))
    )
    with ExitStack() as stack:
        path = {name: stack.enter_context(atomic_path(folder / name)) for name in FILES}
        hits_of_item = np.zeros(len(items), dtype=np.int64)
        targets: list[pa.Table] = []
        held: list[pa.Table] = []
        with path["hits.tsv"].open("wb") as tsv:
            parquet = None
            for found in described():
                numbers = found.drop_columns(list(ALIGNMENT))
                hits = with_more_columns(
                    found.drop_columns([NUMBER]), state, extras, rates, accessibilities
                )
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
        all_targets = ranked_targets(pa.concat_tables(targets), pairs, items)
        all_targets = named_targets(all_targets, items)
        beside = stack.enter_context(ThreadPoolExecutor(2))
        of_pairs = beside.submit(write_arrow_tsv, all_targets, path["targets.tsv"])
        rows_of = zip(items["name"], items["length"], hits_of_item, to_genome.models, strict=True)
        # A line for each transcript whose own coordinates are used, sorted by name.
        used = sorted((name, length) for name, length, n, model in rows_of if n and model is None)
        regions = [f"##sequence-region {gff3_sequence(name)} 1 {n}\n".encode() for name, n in used]
        sequence = sequences_of_items(items["name"].tolist(), to_genome)[1]
        number = np.bincount(sequence, hits_of_item).astype(np.int64)
        with path["hits.bed"].open("wb") as bed, path["hits.gff3"].open("wb") as gff3:
            gff3.writelines([b"##gff-version 3\n", *regions])
            in_genome = 0
            # Those of some sequences (chromosomes, transcripts) at a time, by name.
            for part in runs(number, PLACED_AT_ONCE):
                among = (part.start <= sequence) & (sequence < part.stop)
                some = pa.concat_tables(held or described(among))
                places = hit_places(some, to_genome)
                lines = beside.submit(bed.writelines, bed_lines(some, places))
                gff3.writelines(gff3_lines(some, places))
                lines.result()
                in_genome += pc.sum(places["in_genome"]).as_py() or 0
        of_pairs.result()
    counts = {"hits": int(hits_of_item.sum()), "pairs_with_hits": sum(map(len, targets))}
    if config.annotation is None:
        return TableSummary(counts)
    counts |= {
        "transcripts_in_genome": sum(model is not None for model in to_genome.models),
        "utrs_in_genome": to_genome.n_utrs,
        "hits_in_genome": in_genome,
    }
    return TableSummary(counts, _genome_warnings(to_genome, config.annotation))


PLACED_AT_ONCE = 4_000_000
"""Hits that are sorted by their place at a time; of more, those of some sequences, made again."""


def with_more_columns(
    hits: pa.Table,
    state: SequenceArrays,
    asked: ExtraColumnsConfig,
    rates: NDArray[np.float64] | None,
    accessibilities: Accessibilities | None,
) -> pa.Table:
    """The hits with conservation and the extras that are asked for, before the alignments: columns
    of ``hits.parquet`` in ``columns.toml``.

    rates : ``conservation.conservation_rates``. accessibilities : of all hits, where asked for.
    Raises ConfigError where ViennaRNA is not installed and is asked for.
    """
    columns = conservation_columns(hits, state, rates)
    if asked.context:
        columns |= context_of(hits, state)
    if asked.duplex_energy:
        columns["duplex_energy_kcal_mol"] = duplex_energies(hits, state)
    if accessibilities is not None:
        columns["accessibility"] = accessibilities.column(hits)
    for name, values in columns.items():
        hits = hits.append_column(name, values)
    return hits.select([name for name in HITS if name in hits.column_names])


def _parquet(schema: pa.Schema, path: Path) -> pq.ParquetWriter:
    writer = pq.ParquetWriter(path, schema, compression="zstd", store_schema=False)
    # As Arrow stores its own schema, but with plain text for dictionaries and large text.
    texts = {f.name for f in schema if not pa.types.is_primitive(f.type)}
    plain = [f.with_type(pa.string()) if f.name in texts else f for f in schema]
    described = with_metadata(pa.schema(plain), __package__, "hits.parquet")
    writer.add_key_value_metadata({"ARROW:schema": b64encode(described.serialize())})
    return writer


def _genome_warnings(to_genome: TranscriptToGenome, annotation: str) -> list[Message]:
    others = [
        f"{name} has {own:,} letters, there {there:,}"
        for name, own, there in to_genome.other_lengths
    ]
    reasons = {
        "are not in it": to_genome.n_missing,
        "have several places in it": to_genome.n_ambiguous,
        "have the length neither of the spliced transcript nor of its 3' UTR": len(others),
    }
    if not any(reasons.values()):
        return []
    shown = "; ".join([*others[:3], *["..."] * (len(others) > 3)])
    examples = f" ({shown})" if shown else ""
    return [
        message(
            "not_in_genome",
            annotation=annotation,
            n=sum(reasons.values()),
            n_other_length=len(others),
            reasons=", ".join(f"{n:,} {reason}" for reason, n in reasons.items() if n) + examples,
        )
    ]


# --- conservation: columns of hits, and what chance keeps -----------------------------------------


def conservation_columns(
    hits: pa.Table, state: SequenceArrays, rates: NDArray[np.float64] | None
) -> dict[str, pa.Array]:
    """Conservation of the hits of a table (``tables.hits_table``), by the columns of
    ``hits.parquet``; no columns without orthologs.

    Missing where there is no ortholog, and for sites without a seed class. rates :
    ``conservation.conservation_rates``.
    """
    if "ortholog_codes" not in state:
        return {}
    conservation = Conservation(state)
    seed_class = codes(hits["seed_class"]).astype(np.int8)
    i, j = state_rows(hits, state)
    kept = conservation.kept(SequenceBatch.of_state(state, "mirna"), i, j, seed_class)
    species = conservation.species_of(j)
    missing = (species == 0) | (seed_class == 0)
    columns = {
        "species_with_ortholog": pa.array(species),
        "species_kept": pa.array(kept.species, mask=missing),
    }
    if conservation.has_tree:
        columns["branch_length_kept"] = pa.array(kept.branch_length.round(6), mask=missing)
    if rates is not None:
        # What no other species keeps is not said to be conserved, however many sites there are.
        rate = np.where(kept.level > 0, rates[seed_class, kept.level], 0.0)
        columns["conservation_rate"] = pa.array(np.maximum(rate, 0.0).round(4), mask=missing)
    return columns


def conservation_table(
    sums: Mapping[str, NDArray[np.integer]], mirnas: Iterable[str], conservation: Conservation
) -> pa.Table:
    """How many sites other species keep, and how many chance keeps.

    Columns are those of ``conservation.tsv`` in ``columns.toml``.

    sums : ``null.count_shapes``. mirnas : their names; of single ones, canonical sites, without the
    last three columns.
    """
    rows = {SEED_CLASSES[k]: slice(k, k + 1) for k in range(len(SEED_CLASSES) - 1, 0, -1)}
    kept, shuffled = sums["kept_counts"], sums["null_kept_counts"]
    parts = []
    for name, some in {"canonical": CANONICAL, **rows}.items():
        real, expected = _summed(kept[some], shuffled[:, some].sum(axis=0))
        _, each = _summed(kept[None, some], shuffled[:, some])
        low, high = np.quantile(each, [0.025, 0.975], axis=0)
        p = (1.0 + (each >= real).sum(axis=0)) / (1.0 + len(each))
        more = conserved_share(real, high), conserved_share(real, low), p
        parts.append(_rows(ALL_MIRNAS, name, conservation, real, expected, *more))
    of_mirnas = _summed(sums["mirna_kept"][:, CANONICAL], sums["null_mirna_kept"][:, CANONICAL])
    parts += [
        _rows(mirna, "canonical", conservation, *of)
        for mirna, *of in zip(map(str, mirnas), *of_mirnas, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True)
    numbers = table.select_dtypes("number").columns
    table[numbers] = table[numbers].apply(lambda column: rounded(column.to_numpy(np.float64)))
    return pa.Table.from_pandas(table, preserve_index=False)


def _rows(
    mirna: str,
    seed_class: str,
    conservation: Conservation,
    kept: NDArray[np.float64],
    expected: NDArray[np.float64],
    low: ArrayLike = np.nan,
    high: ArrayLike = np.nan,
    p: ArrayLike = np.nan,
) -> pd.DataFrame:
    """The rows of a seed class, one for each level but the first, in which all sites are."""
    return pd.DataFrame(
        {
            "mirna": mirna,
            "seed_class": seed_class,
            conservation.measure: conservation.least(),
            "sites": kept[0],
            "kept": kept,
            "expected": expected,
            "conservation_rate": conserved_share(kept, expected),
            "rate_low": low,
            "rate_high": high,
            "p_value": p,
        }
    )[1:]


def _summed(
    observed: NDArray[np.integer], shuffled: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``conserved_sites`` of several seed classes together."""
    kept, expected = conserved_sites(observed, shuffled)
    return kept.sum(axis=-2), expected.sum(axis=-2)
