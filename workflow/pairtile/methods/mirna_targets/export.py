"""The files of miRNA hits: tables, BED12 and GFF3 in one pass, and ``miranda.txt``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.engine.estimator import Merged, Written
from pairtile.methods.mirna_targets.config import ExtraColumnsConfig
from pairtile.methods.mirna_targets.conservation import conservation_rates
from pairtile.methods.mirna_targets.conservation_tables import (
    conservation_columns,
    conservation_table,
)
from pairtile.methods.mirna_targets.expression import expression_columns, expression_table
from pairtile.methods.mirna_targets.miranda_text import TextSequences, write_miranda_text
from pairtile.methods.mirna_targets.prepare import TRANSCRIPT, header_lines
from pairtile.methods.mirna_targets.search import COLUMNS, Hits
from pairtile.methods.mirna_targets.tables import (
    ALIGNMENT,
    ROWS,
    TEXT_ROWS,
    batch_lines,
    categories,
    codes,
    context_of,
    hits_table,
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
    Annotation,
    TranscriptModel,
    TranscriptToGenome,
    read_transcript_models,
)
from pairtile.methods.mirna_targets.viennarna_columns import Accessibilities, duplex_energies
from pairtile.runtime.files import atomic_path
from pairtile.runtime.threads import in_threads

if TYPE_CHECKING:
    from pairtile.methods.mirna_targets.score import MirnaTargets


# --- all files ------------------------------------------------------------------------------------


def write_target_tables(
    opened: MirnaTargets, merged: Merged, items: pd.DataFrame, folder: Path
) -> Written:
    """Write all files of hits into ``folder``; what they hold is said by their writers."""
    config, state = opened.config, opened.state
    counts = None if config.null is False else opened.all_null_counts(merged)
    restrict = np.asarray(state["restrict"]) if "restrict" in state else None
    if restrict is not None:
        restrict = np.unique(restrict, axis=0)

    def write_text() -> None:
        with atomic_path(folder / "miranda.txt") as temporary, temporary.open("wb") as out:
            write_miranda_text(
                _merged_hits(merged, opened.n_mirnas),
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
            tests=opened.pair_tests(merged),
            null_counts=counts,
        )
        text.result()
    if counts is not None:
        names = items["name"].to_numpy()[: opened.n_mirnas]
        tables = {
            "signal.tsv": signal_table(counts, names, config.estimator.score),
            "signal_curve.tsv": signal_curve(counts, names),
        }
        if opened.conservation is not None:
            tables["conservation.tsv"] = conservation_table(counts, names, opened.conservation)
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
            text = name in ("query_alignment", "match_line", "reference_alignment")
            columns[name] = part[name].to_pylist() if text else part[name].to_numpy()
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
    state: Mapping[str, NDArray[Any]],
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
                parquet.write_table(hits)
                tsv.writelines(tsv_lines(hits))
                targets.append(targets_table(hits))
                hits_of_item += np.bincount(codes(hits["transcript"]), minlength=len(items))
                held = [*held, numbers] if hits_of_item.sum() <= PLACED_AT_ONCE else []
            if parquet is not None:
                parquet.close()
        all_targets = pa.concat_tables(targets)
        if null_counts is not None:
            all_targets = with_expression(all_targets, state, null_counts)
        if tests is not None:
            all_targets = ranked_targets(all_targets, tests)
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
        done.counts["hits_in_genome"] = in_genome
        done.warnings += _genome_warnings(models, str(annotation))
    return done


PLACED_AT_ONCE = 4_000_000
"""Hits that are sorted by their place at a time; of more, those of some sequences, made again."""

NUMBER = "number"
"""Column of hits: their row in ``hits.tsv``, from 0."""


def _groups(
    items: pd.DataFrame, hits_of_item: NDArray[np.int64], to_genome: TranscriptToGenome
) -> Iterator[NDArray[np.bool_]]:
    """Which items are on the first sequences (chromosomes, transcripts) by name, on the next ones,
    and so on: each group has at most ``PLACED_AT_ONCE`` hits, or one sequence."""
    sequence = _sequences_of_items(items["name"].tolist(), to_genome)[1]
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
    return [f"##sequence-region {_gff3_sequence(x)} 1 {length}\n".encode() for x, length in used]


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
    state: Mapping[str, NDArray[Any]],
    asked: ExtraColumnsConfig,
    rates: NDArray[np.float64] | None = None,
    accessibilities: Accessibilities | None = None,
) -> pa.Table:
    """The hits with conservation and the extras that are asked for, before the alignments.

    | column | asked for by | meaning |
    |---|---|---|
    | species_with_ortholog, ... | orthologs | ``conservation_tables.conservation_columns`` |
    | pairing_3p | context | score of pairs behind the seed (Grimson et al. 2007) |
    | end_distance | context | letters from the seed match to the nearer end of the transcript |
    | offset_6mers | context | matches to miRNA positions 3 to 8 in the transcript |
    | seed_pairing_kcal_mol | context | free energy of the seed's pairs (Garcia et al. 2011) |
    | target_site_abundance | context | canonical sites of the miRNA in all transcripts |
    | context_score | context | ``context.context_columns``; these six of 6mers and better |
    | duplex_energy_kcal_mol | duplex_energy | best duplex of the miRNA and its span (RNAduplex) |
    | accessibility | accessibility | probability that all of the aligned site is free of pairs |

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
    targets: pa.Table, state: Mapping[str, NDArray[Any]], counts: Mapping[str, NDArray[np.int64]]
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
    # Without Arrow's own schema, values of a dictionary are plain text to every reader.
    return pq.ParquetWriter(path, schema, compression="zstd", store_schema=False)


def _genome_warnings(to_genome: TranscriptToGenome, annotation: str) -> list[str]:
    reasons = {
        "are not in it": to_genome.n_missing,
        "have several places in it": to_genome.n_ambiguous,
        "have another length than its spliced transcripts": to_genome.n_other_length,
    }
    listed = ", ".join(f"{n} {reason}" for reason, n in reasons.items() if n)
    if not listed:
        return []
    return [f"{annotation}: transcripts left in their own coordinates: {listed}."]


# --- where hits lie -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """Intervals of hits, 0-based, end excluded, sorted by sequence, begin, end and hit.

    hit : int64 (n,), row of the hits table. sequence : int64 (n,), position in ``names``.
    names : chromosomes and transcripts. minus : bool (n,), whether on the minus strand (never on
    transcripts). in_genome : bool (n,), whether in genome coordinates. begin, end : int64 (n,),
    from the first to the last base of the hit's span. seed_begin, seed_end : int64 (n,), of its
    seed match; both its begin without one. block_offsets : int64 (n + 1,), which of block_begin,
    block_end (int64, ascending within a hit) are a hit's.
    """

    hit: NDArray[np.int64]
    sequence: NDArray[np.int64]
    names: list[str]
    minus: NDArray[np.bool_]
    in_genome: NDArray[np.bool_]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    seed_begin: NDArray[np.int64]
    seed_end: NDArray[np.int64]
    block_offsets: NDArray[np.int64]
    block_begin: NDArray[np.int64]
    block_end: NDArray[np.int64]

    def parts(self) -> Iterator[Places]:
        """The same, some at a time: text of all hits at once would be large."""
        for first in range(0, self.hit.size, TEXT_ROWS):
            some = slice(first, first + TEXT_ROWS)
            offsets = self.block_offsets[first : first + TEXT_ROWS + 1]
            blocks = slice(offsets[0], offsets[-1])
            yield Places(
                hit=self.hit[some],
                sequence=self.sequence[some],
                names=self.names,
                minus=self.minus[some],
                in_genome=self.in_genome[some],
                begin=self.begin[some],
                end=self.end[some],
                seed_begin=self.seed_begin[some],
                seed_end=self.seed_end[some],
                block_offsets=offsets - offsets[0],
                block_begin=self.block_begin[blocks],
                block_end=self.block_end[blocks],
            )


def items_to_genome(items: pd.DataFrame, annotation: Annotation) -> TranscriptToGenome:
    """The transcripts of an items table in an annotation: one model or None for each item.

    miRNAs and items that were left out have none and are not counted as missing. Lengths are those
    in the file, before ``trim``: a trimmed transcript still begins at its first base.
    """
    rows = np.flatnonzero((items["kind"] == TRANSCRIPT) & items["kept"])
    chosen = items.iloc[rows]
    names, lengths = chosen["name"].tolist(), chosen["length"].tolist()
    found = TranscriptToGenome.match(names, lengths, annotation)
    models: list[TranscriptModel | None] = [None] * len(items)
    for row, model in zip(rows.tolist(), found.models, strict=True):
        models[row] = model
    return replace(found, models=models)


def hit_places(hits: pa.Table, to_genome: TranscriptToGenome | None = None) -> Places:
    """Place each hit of a hits table (``tables.hits_table``).

    to_genome : where the transcript of each item lies (``items_to_genome``); None: all hits stay in
    transcript coordinates.
    """
    item = codes(hits["transcript"]).astype(np.int64)
    item_names = categories(hits["transcript"])
    to_genome = to_genome or TranscriptToGenome([None] * len(item_names))
    of_item = to_genome.models
    in_genome = np.array([model is not None for model in of_item], dtype=bool)[item]
    names, sequence = _sequences_of_items(item_names, to_genome)
    minus = np.array([model is not None and model.strand == "-" for model in of_item], dtype=bool)

    begin, end = _positions(hits, "reference_begin") - 1, _positions(hits, "reference_end")
    has_seed = hits["seed_begin"].is_valid().to_numpy()
    seed_begin, seed_end = (_positions(hits, f"seed_{side}") for side in ("begin", "end"))
    seed_begin = np.where(has_seed, seed_begin - 1, begin)
    seed_end = np.where(has_seed, seed_end, begin + 1)
    onto = np.flatnonzero(in_genome)
    seeds = to_genome.blocks(item[onto], seed_begin[onto] + 1, seed_end[onto])
    blocks = to_genome.blocks(item[onto], begin[onto] + 1, end[onto])
    seed_begin[onto], seed_end[onto] = _ends(seeds.span, seeds.begin, seeds.end, onto.size)

    n_blocks = np.ones(item.size, dtype=np.int64)
    n_blocks[onto] = np.bincount(blocks.span, minlength=onto.size)
    offsets = _offsets(n_blocks)
    block_begin, block_end = np.repeat(begin, n_blocks), np.repeat(end, n_blocks)
    of_genome = np.repeat(in_genome, n_blocks)
    block_begin[of_genome], block_end[of_genome] = blocks.begin, blocks.end
    begin, end = block_begin[offsets[:-1]], block_end[offsets[1:] - 1]
    seed_begin[~has_seed] = seed_end[~has_seed] = begin[~has_seed]

    order = np.lexsort((end, begin, sequence[item]))  # stable: hits of one place stay in order
    kept = n_blocks[order]
    step = np.arange(kept.sum()) - np.repeat(_offsets(kept)[:-1], kept)
    gathered = np.repeat(offsets[:-1][order], kept) + step
    return Places(
        hit=order,
        sequence=sequence[item][order],
        names=names.tolist(),
        minus=minus[item][order],
        in_genome=in_genome[order],
        begin=begin[order],
        end=end[order],
        seed_begin=seed_begin[order],
        seed_end=seed_end[order],
        block_offsets=_offsets(kept),
        block_begin=block_begin[gathered],
        block_end=block_end[gathered],
    )


def _sequences_of_items(
    names: Sequence[str], to_genome: TranscriptToGenome
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Sorted names of chromosomes and, of what is not in the genome, items; which of them each item
    lies on."""
    pairs = zip(to_genome.models, names, strict=True)
    places = [model.chromosome if model else name for model, name in pairs]
    found, sequence = np.unique(np.array(places, dtype=np.str_), return_inverse=True)
    return found, sequence.astype(np.int64)


def _positions(hits: pa.Table, name: str) -> NDArray[np.int64]:
    return pc.fill_null(hits[name], 0).to_numpy().astype(np.int64)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _ends(
    span: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin of the first and end of the last block of each span."""
    offsets = _offsets(np.bincount(span, minlength=n).astype(np.int64))
    return begin[offsets[:-1]], end[offsets[1:] - 1]


# --- BED12 ----------------------------------------------------------------------------------------


COLOURS = {
    "8mer": "213,94,0",
    "7mer-m8": "230,159,0",
    "7mer-A1": "204,121,167",
    "6mer": "0,158,115",
    "offset 6mer": "86,180,233",
    "none": "127,127,127",
}
"""Colour of each seed class (Okabe and Ito's, distinct for colour-blind people)."""

_MAX_SCORE = 1000
# Programs take lines that begin so for comments and settings, however the word goes on.
_NOT_A_LINE = ("#", "track", "browser")


def bed_lines(hits: pa.Table, places: Places) -> Iterator[bytes]:
    """One line a hit, sorted by sequence and begin, without a header.

    On a chromosome the name is ``miRNA:transcript``, on a transcript ``miRNA``. Score: the
    alignment score, at most 1000. The thick part is the seed match (none of class ``none``:
    both its ends are the begin); blocks are exons. Colours stand for seed classes (``COLOURS``). A
    sequence name that programs would take for a comment or a setting has its first character as
    ``%..``.
    """
    return _lines(partial(_bed_lines, hits), places)


def _lines(made: Callable[[Places], pa.Table], places: Places) -> Iterator[bytes]:
    """The text of tables of places, by all threads."""
    return in_threads(
        lambda part: b"".join(map(batch_lines, made(part).to_batches())), places.parts()
    )


def _bed_lines(hits: pa.Table, places: Places) -> pa.Table:
    seed_class = codes(hits["seed_class"])[places.hit]
    colours = pa.array([COLOURS[name] for name in categories(hits["seed_class"])], pa.string())
    score = np.minimum(np.rint(hits["score"].to_numpy()[places.hit]), _MAX_SCORE).astype(np.int32)
    sizes = places.block_end - places.block_begin
    starts = places.block_begin - np.repeat(places.begin, np.diff(places.block_offsets))
    sequences = pa.array([_bed_sequence(name) for name in places.names], pa.string())
    return pa.table(
        {
            "chrom": sequences.take(pa.array(places.sequence)),
            "chromStart": places.begin,
            "chromEnd": places.end,
            "name": _bed_names(hits, places),
            "score": score,
            "strand": pc.if_else(pa.array(places.minus), "-", "+"),
            "thickStart": places.seed_begin,
            "thickEnd": places.seed_end,
            "itemRgb": colours.take(pa.array(seed_class)),
            "blockCount": np.diff(places.block_offsets),
            "blockSizes": _listed(places.block_offsets, sizes),
            "blockStarts": _listed(places.block_offsets, starts),
        }
    )


def _bed_sequence(name: str) -> str:
    if name.startswith(_NOT_A_LINE):
        return f"%{ord(name[0]):02X}{name[1:]}"
    return name


def _bed_names(hits: pa.Table, places: Places) -> pa.Array:
    rows = pa.array(places.hit)
    mirna = hits["mirna"].take(rows).cast(pa.string())
    both = pc.binary_join_element_wise(mirna, hits["transcript"].take(rows).cast(pa.string()), ":")
    return pc.if_else(pa.array(places.in_genome), both, mirna)


def _listed(offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> pa.Array:
    """Each hit's numbers with a comma after every one, as BED wants them."""
    texts = pa.array(numbers).cast(pa.string())
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
    return pc.binary_join_element_wise(pc.binary_join(lists, ","), "", ",")


# --- GFF3 -----------------------------------------------------------------------------------------


TYPE = "miRNA_target_site"  # SO:0000934
SOURCE = "pairtile"

_SEQUENCE_SAFE = ".:^*$@!+?|"  # beside letters, digits, _ and -, which quote leaves as they are
_ATTRIBUTE_UNSAFE = re.compile("[\x00-\x1f\x7f%;=&,]")


def gff3_lines(hits: pa.Table, places: Places) -> Iterator[bytes]:
    """One line for each exon of a hit, sorted by sequence and begin, without a header.

    A hit over an exon border has several lines of the same ``ID`` (a discontinuous feature).
    ``ID=hitN`` is row N of ``hits.tsv``. Attributes: ``Name`` and ``mirna``, ``transcript``,
    ``transcript_begin`` and ``transcript_end`` (from 1, both included), ``seed_class``, and
    ``energy_kcal_mol`` where there is one. The score is the alignment score. Characters that GFF3
    keeps for itself are written ``%..``. In ``hits.gff3``, transcripts whose coordinates are used
    have a ``##sequence-region`` line.
    """
    safe = {name: _escaped(hits[name]) for name in ("mirna", "transcript")}
    return _lines(partial(_gff3_lines, hits, safe), places)


def _gff3_lines(hits: pa.Table, safe: Mapping[str, pa.Array], places: Places) -> pa.Table:
    hit = np.repeat(places.hit, np.diff(places.block_offsets))
    rows = pa.array(hit)
    of_place = np.repeat(np.arange(places.hit.size), np.diff(places.block_offsets))
    names = pa.array([_gff3_sequence(name) for name in places.names], pa.string())
    return pa.table(
        {
            "seqid": names.take(pa.array(places.sequence[of_place])),
            "source": pa.repeat(SOURCE, len(hit)),
            "type": pa.repeat(TYPE, len(hit)),
            "start": places.block_begin + 1,
            "end": places.block_end,
            "score": hits["score"].take(rows),
            "strand": pc.if_else(pa.array(places.minus[of_place]), "-", "+"),
            "phase": pa.repeat(".", len(hit)),
            "attributes": _attributes(hits, safe, hit),
        }
    )


def _attributes(hits: pa.Table, safe: Mapping[str, pa.Array], hit: np.ndarray) -> pa.Array:
    rows = pa.array(hit)

    def text(column: str) -> pa.Array:
        return hits[column].take(rows).cast(pa.string())

    mirna, transcript = (safe[name].take(rows) for name in ("mirna", "transcript"))
    mirna, transcript = mirna.cast(pa.string()), transcript.cast(pa.string())
    pairs = {
        "ID": pc.binary_join_element_wise(
            "hit", pc.add(hits[NUMBER].take(rows), 1).cast(pa.string()), ""
        ),
        "Name": mirna,
        "mirna": mirna,
        "transcript": transcript,
        "transcript_begin": text("reference_begin"),
        "transcript_end": text("reference_end"),
        "seed_class": text("seed_class"),
    }
    parts = [pc.binary_join_element_wise(key, value, "=") for key, value in pairs.items()]
    attributes = pc.binary_join_element_wise(*parts, ";")
    energy = text("energy_kcal_mol")
    with_energy = pc.binary_join_element_wise(attributes, energy, ";energy_kcal_mol=")
    return pc.if_else(pc.is_valid(energy), with_energy, attributes)


def _gff3_sequence(name: str) -> str:
    return quote(name, safe=_SEQUENCE_SAFE)


def _escaped(column: pa.ChunkedArray) -> pa.Array:
    """The words of a dictionary column, written as attributes may be; each once in memory."""
    safe = [
        _ATTRIBUTE_UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", word)
        for word in categories(column)
    ]
    return pa.DictionaryArray.from_arrays(pa.array(codes(column), pa.int32()), safe)
