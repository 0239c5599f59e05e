"""Tables of miRNA hits: one row for each hit, and one for each pair of miRNA and transcript.

The text of tables is written by Arrow's own kernels: fast enough for millions of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.columns import arrow_schema, declared_columns
from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.conservation import CANONICAL as CANONICAL_CLASSES
from pairtile.methods.mirna_targets.kernels.hit_sites import (
    SEED_CLASSES,
    HitSites,
    HitSpans,
    hit_sites,
)
from pairtile.methods.mirna_targets.kernels.pair_scores import PAIR_BINS, PAIR_STEP, SCORE_STEP
from pairtile.methods.mirna_targets.null import CLASS_ROWS, class_table
from pairtile.methods.mirna_targets.prepare import MIRNA
from pairtile.methods.mirna_targets.scoring import (
    Texts,
    pair_starts,
    reverse_cumsum,
    state_sequences,
)
from pairtile.methods.mirna_targets.search import ALIGNMENT, ROWS
from pairtile.methods.mirna_targets.seed_sites import SeedSites, context_columns, context_scores
from pairtile.runtime.threads import in_threads

N = TypeVar("N", bound=np.number)

CANONICAL = SEED_CLASSES[CANONICAL_CLASSES]
"""Seed classes that by themselves mostly suffice for repression (Bartel 2009)."""


def hits_table(
    rows: pa.Table,
    items: pd.DataFrame,
    state: SequenceArrays,
    *,
    energies: bool = True,
) -> pa.Table:
    """Describe hits for people.

    Positions count from 1 and include both ends; those of the transcript from its 5' end.

    Columns are those of ``hits.parquet`` in ``columns.toml``.

    Seed class (Bartel 2009, Cell 136:215; Friedman et al. 2009, Genome Res. 19:92; as TargetScan
    has them): A-U and G-C pairs without a gap, where the alignment puts the miRNA's 5' end, at
    miRNA positions 2-8 with an A of the transcript opposite position 1 (8mer), 2-8 (7mer-m8), 2-7
    with that A (7mer-A1), 2-7 (6mer), 3-8 (offset 6mer).

    Local AU content (after Grimson et al. 2007, Mol. Cell 27:91, fig. 3B): of the 30 letters on
    either side of the seed match (positions 2-8 where there is none), each counts 1/d, d letters
    from the match; the score is the sum over A and U divided by that over all. The A opposite
    position 1 of an 8mer or 7mer-A1 belongs to the site: it does not count, and the letters behind
    it count 1/2, 1/3, ... Places off the transcript, and letters other than A C G U T, are left
    out of both sums.

    rows : merged hits (``ROWS``), all or a part of them. items, state : as
    ``prepare_sequences`` makes them. energies : whether they were computed. A row for each of
    ``rows``, in their order.
    """
    given = {name: rows[name].to_numpy() for name in ROWS.names if name not in ALIGNMENT}
    i, j, query_end = given["i"], given["j"], given["query_end"] - 1
    n_mirnas = int(((items["kind"] == MIRNA) & items["kept"]).sum())
    lengths = items["length"].to_numpy(np.int32)
    sites, _ = _sites(rows, query_end, i, rows_by_length(state)[j - n_mirnas], state)
    begin, end = sites.site_begin, sites.site_end
    middle = (begin.astype(np.float64) + end - 1) / 2
    names = pa.array(items["name"], pa.string())
    columns: dict[str, NDArray[np.generic] | pa.Array] = given | {
        "mirna": pa.DictionaryArray.from_arrays(i, names),
        "transcript": pa.DictionaryArray.from_arrays(j, names),
        "rank": given["rank"] + 1,
        "query_end": query_end,
        "site_begin": begin,
        "site_end": end,
        "identity_percent": given["identity_percent"].round(2),
        "similarity_percent": given["similarity_percent"].round(2),
        "seed_class": pa.DictionaryArray.from_arrays(sites.seed_class, list(SEED_CLASSES)),
        "seed_begin": pa.array(sites.match_begin, mask=sites.match_begin == 0),
        "seed_end": pa.array(sites.match_end, mask=sites.match_begin == 0),
        "local_au": pa.array(sites.local_au.round(4), from_pandas=True),
        "relative_position": (middle / lengths[j]).round(4),
        "transcript_length": lengths[j],
        **{name: large_text(rows, name) for name in ALIGNMENT},
    }
    if not energies:
        columns["energy_kcal_mol"] = pa.nulls(len(rows), pa.float32())
    return pa.table({name: columns[name] for name in HITS if name in columns})


HITS = [name for some in declared_columns(__package__, "hits.parquet") for name in some.names]
"""All columns of hits that there may be, in their order."""


def whole_pairs(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Merged hits, sorted by ``i`` and ``j``, cut anew: no pair is in two tables. At least one."""
    kept: pa.Table | None = None
    for table in tables:
        rows = table if kept is None else pa.concat_tables([kept, table])
        i, j = rows["i"].to_numpy(), rows["j"].to_numpy()
        other = np.flatnonzero((i != i[-1:]) | (j != j[-1:])) if len(rows) else np.empty(0, int)
        begin = int(other[-1]) + 1 if other.size else 0
        if begin:
            yield rows[:begin]
        kept = rows[begin:]
    if kept is not None:
        yield kept


def targets_table(hits: pa.Table) -> pa.Table:
    """Sum up the hits of each pair; sorted as they are. The alignments are not needed.

    Columns are those of ``targets.tsv`` in ``columns.toml``.
    """
    ends = pair_starts(codes(hits["mirna"]), codes(hits["transcript"]))
    first = ends[:-1]
    score = hits["score"].to_numpy()
    positions = hits["reference_begin"].combine_chunks().cast(pa.string())
    seed_class = codes(hits["seed_class"]).astype(np.int8)
    canonical = seed_class >= CANONICAL_CLASSES.start
    energy = hits["energy_kcal_mol"].to_numpy().astype(np.float64)
    table = pa.table(
        {
            **{name: hits[name].take(pa.array(first)) for name in ("mirna", "transcript")},
            "n_hits": np.diff(ends).astype(np.int32),
            "n_canonical_sites": _per_pair(np.add, canonical.astype(np.int32), first),
            "best_seed_class": pa.DictionaryArray.from_arrays(
                _per_pair(np.maximum, seed_class, first), list(SEED_CLASSES)
            ),
            "total_score": _per_pair(np.add, score, first),
            "max_score": _per_pair(np.maximum, score, first),
            "total_energy_kcal_mol": _missing(_per_pair(np.add, energy, first).round(2)),
            "min_energy_kcal_mol": _missing(_per_pair(np.minimum, energy, first).round(2)),
            "max_local_au": _missing(_per_pair(np.fmax, hits["local_au"].to_numpy(), first)),
            "transcript_length": hits["transcript_length"].to_numpy()[first],
            "positions": joined_texts(positions, ends, " "),
        }
    )
    if "context_score" in hits.column_names:
        score = hits["context_score"].to_numpy()
        total = _per_pair(np.add, np.nan_to_num(score), first).round(4)
        some = _per_pair(np.maximum, np.isfinite(score).astype(np.int8), first) > 0
        table = table.append_column("total_context_score", _missing(np.where(some, total, np.nan)))
    # Pairs have the greatest value of their hits.
    for name in ("species_kept", "branch_length_kept", "conservation_rate"):
        if name in hits.column_names:
            values = hits[name].cast(pa.float64()).to_numpy()
            table = table.append_column(f"max_{name}", _missing(_per_pair(np.fmax, values, first)))
    return table


def ranked_targets(targets: pa.Table, pairs: pd.DataFrame, items: pd.DataFrame) -> pa.Table:
    """The targets with the columns of ``pairs``, in its order, a row for each of its rows.

    targets : ``targets_table``, of pairs with a hit. pairs : ``ranked_pairs`` of the estimator; of
    those without a hit numbers of hits are 0, and scores missing.
    """
    keys = pd.MultiIndex.from_arrays([codes(targets[name]) for name in ("mirna", "transcript")])
    pair = [pairs[name].to_numpy(np.int32) for name in ("source", "target")]
    rows = keys.get_indexer(pd.MultiIndex.from_arrays(pair))
    best = np.append(codes(targets["best_seed_class"]), 0)[rows].astype(np.int8)
    for number, name in enumerate(SEED_CLASSES):
        there = np.asarray(pairs.get(f"sites_{name.replace('-', '_')}", 0)) > 0
        best = np.maximum(best, there * np.int8(number))
    targets = targets.take(pa.array(rows, mask=rows < 0))
    names = pa.array(items["name"], pa.string())
    columns = {name: targets[name] for name in targets.column_names} | {
        "mirna": pa.DictionaryArray.from_arrays(pair[0], names),
        "transcript": pa.DictionaryArray.from_arrays(pair[1], names),
        "best_seed_class": pa.DictionaryArray.from_arrays(best, list(SEED_CLASSES)),
        "transcript_length": items["length"].to_numpy(np.int32)[pair[1]],
        **{name: pc.fill_null(targets[name], 0) for name in ("n_hits", "n_canonical_sites")},
    }
    for name in pairs.columns.intersection(TARGETS).difference(list(columns)):
        values = pairs[name].to_numpy()
        if values.dtype.kind == "f" and name != "correlation":
            values = rounded(values)
        columns[name] = pa.array(values, from_pandas=True)
    return pa.table({name: columns[name] for name in TARGETS if name in columns})


TARGETS = [name for some in declared_columns(__package__, "targets.tsv") for name in some.names]
"""All columns of targets that there may be, in their order."""


def named_targets(targets: pa.Table, items: pd.DataFrame) -> pa.Table:
    """The targets with ``gene`` and ``symbol`` of their transcripts behind the names, where the
    items have them."""
    for name in ("symbol", "gene"):
        if name in items:
            words = items[name].iloc[codes(targets["transcript"])]
            targets = targets.add_column(2, name, pa.array(words.tolist(), pa.string()))
    return targets


PLACE = ("mirna", "transcript", "seed_class", "seed_end")
"""What says which seed match is that of a hit."""


def seed_sites_table(
    sites: SeedSites, items: pd.DataFrame, state: SequenceArrays, hits: pd.DataFrame
) -> pa.Table:
    """All seed matches, by miRNA, transcript and place, and which of them are hits.

    Columns are those of ``seed_sites.tsv`` in ``columns.toml``. hits : of ``hits.parquet``.
    """
    mirnas, transcripts = state_sequences(state)
    names = items["name"].to_numpy()
    rows = np.asarray(state["transcript_order"])[sites.j]
    begin, end = sites.spans()
    table = pd.DataFrame(
        {
            "mirna": names[sites.i],
            "transcript": names[rows + len(mirnas)],
            "seed_class": np.array(SEED_CLASSES)[sites.seed_class],
            "seed_begin": begin,
            "seed_end": end,
            "context_score": context_scores(sites, mirnas, transcripts).round(4),
        }
    )
    ranks = hits[[*PLACE, "rank"]].rename(columns={"rank": "hit_rank"})
    table = table.iloc[np.lexsort((begin, rows, sites.i))].merge(ranks, "left", on=list(PLACE))
    table["hit_rank"] = table["hit_rank"].astype("Int32")
    return pa.Table.from_pandas(table, preserve_index=False)


ALL_MIRNAS = "all"
"""Stands for all miRNAs together in the tables of signal and background."""


def signal_table(
    sums: Mapping[str, NDArray[np.int64]], mirnas: Iterable[str], least_score: float
) -> pa.Table:
    """How many sites there are and how many chance gives, by seed class and alignment score.

    Columns are those of ``signal.tsv`` in ``columns.toml``.

    sums : of the merge (``null.NullCounts``). mirnas : their names. The last three are missing in
    rows of single miRNAs but for canonical sites.
    """
    shuffles = len(sums["null_site_counts"])
    observed = reverse_cumsum(sums["site_counts"]).T
    steps = np.arange(max(int(observed.any(axis=1).sum()), 1))
    drawn = reverse_cumsum(sums["null_site_counts"]).transpose(0, 2, 1)
    together = class_table(observed[steps], drawn[:, steps])
    each = class_table(sums["mirna_sites"], sums["null_mirna_sites"][None] / shuffles)
    canonical = class_table(
        _as_class(sums["mirna_sites"][:, CANONICAL_CLASSES].sum(axis=1)),
        _as_class(sums["null_mirna_canonical"].T),
    )
    for name in ("ratio_low", "ratio_high", "p_value"):
        each[name] = np.full_like(each[name], np.nan)
        each[name][:, CLASS_ROWS.index("canonical")] = canonical[name][:, -1]
    names = [*[ALL_MIRNAS] * len(steps), *map(str, mirnas)]
    least = np.full(len(names), float(least_score))
    least[steps] += steps * SCORE_STEP
    numbers = {
        "min_score": np.repeat(least, len(CLASS_ROWS)),
        **{name: np.concatenate([together[name], each[name]]).ravel() for name in each},
    }
    columns = {
        "mirna": np.repeat(np.array(names, dtype=object), len(CLASS_ROWS)),
        "seed_class": CLASS_ROWS * len(names),
        **{name: _missing(rounded(values)) for name, values in numbers.items()},
    }
    return pa.table({name: columns[name] for name in SIGNAL.names}, schema=SIGNAL)


def signal_curve(sums: Mapping[str, NDArray[np.int64]], mirnas: Iterable[str]) -> pa.Table:
    """How many pairs reach a pair score, and how many of the shuffles' pairs do.

    Columns are those of ``signal_curve.tsv`` in ``columns.toml``.
    """
    stride = round(0.5 / PAIR_STEP)
    steps = np.arange(stride, PAIR_BINS, stride)

    def at_least(counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return reverse_cumsum(np.vstack([counts.sum(axis=0), counts]))[:, steps]

    pairs = at_least(sums["pair_score_counts"])
    expected = at_least(sums["null_pair_score_counts"]) / len(sums["null_site_counts"])
    row, step = np.nonzero((pairs > 0) | (expected > 0))
    pairs, expected = pairs[row, step], expected[row, step]
    with np.errstate(divide="ignore"):
        ratio = np.where(expected > 0, pairs / expected, np.nan)
    return pa.table(
        {
            "mirna": pa.array([ALL_MIRNAS, *map(str, mirnas)], pa.string()).take(pa.array(row)),
            "min_pair_score": (steps[step] * PAIR_STEP).round(2),
            "pairs": pairs,
            "expected": expected.round(2),
            "ratio": _missing(rounded(ratio)),
        }
    )


SIGNAL = arrow_schema(__package__, "signal.tsv")


def _as_class(number: ArrayLike) -> NDArray[np.int64]:
    """Counts of one class as those of all classes, the others 0: (..., CLASSES)."""
    return np.asarray(number)[..., None] * np.eye(len(SEED_CLASSES), dtype=np.int64)[-1]


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To four significant digits; infinite ones as NaN."""
    digits = [float(f"{value:.4g}") for value in values.tolist()]
    return np.where(np.isfinite(values), digits, np.nan)


def codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Positions in ``categories`` of a dictionary column, one a row."""
    parts = [np.asarray(chunk.indices, dtype=np.int64) for chunk in column.chunks]
    return np.concatenate([np.empty(0, np.int64), *parts])


def categories(column: pa.ChunkedArray) -> list[str]:
    """The dictionary of a column, which all its chunks share; empty where it has no chunk."""
    return [str(word) for word in column.chunk(0).dictionary.to_pylist()] if column.chunks else []


def rows_by_length(state: SequenceArrays) -> NDArray[np.int32]:
    """Row of each transcript in the state, by its place among the kept ones in file order."""
    return np.argsort(state["transcript_order"]).astype(np.int32)


def state_rows(
    table: pa.Table, state: SequenceArrays
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in the state of the miRNAs and the transcripts of a table of hits or of pairs."""
    n_mirnas = len(state["mirna_offsets"]) - 1
    rows = rows_by_length(state)[codes(table["transcript"]) - n_mirnas]
    return codes(table["mirna"]), rows.astype(np.int64)


def _sites(
    rows: pa.Table,
    query_end: NDArray[np.int32],
    i: NDArray[np.integer],
    j: NDArray[np.integer],
    state: SequenceArrays,
) -> tuple[HitSites, HitSpans]:
    """Sites of hits of miRNAs on transcripts (rows of the state)."""
    sites = HitSites.empty(len(rows))
    spans = HitSpans(
        mirna=i.astype(np.int32),
        transcript=j.astype(np.int32),
        query_begin=rows["query_begin"].to_numpy(),
        query_end=query_end,
        reference_begin=rows["reference_begin"].to_numpy(),
        reference_end=rows["reference_end"].to_numpy(),
    )
    query = _letters(large_text(rows, "query_alignment"))
    reference = _letters(large_text(rows, "reference_alignment"))
    of_mirnas, of_transcripts = state_sequences(state)
    hit_sites(of_mirnas.texts, of_transcripts.texts, spans, query, reference, sites)
    return sites, spans


def _letters(strings: pa.Array) -> Texts:
    """All letters in one array, and where each string begins and ends."""
    _, offsets, letters = strings.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[strings.offset :][: len(strings) + 1]
    return Texts(np.frombuffer(letters or b"", dtype=np.uint8), starts)


def large_text(rows: pa.Table, name: str) -> pa.Array:
    """A column of text as one array whose offsets are int64."""
    return rows[name].cast(pa.large_string()).combine_chunks()


def _per_pair(combine: np.ufunc, values: NDArray[N], first: NDArray[np.integer]) -> NDArray[N]:
    return combine.reduceat(values, first, dtype=values.dtype)


def joined_texts(texts: pa.Array, ends: NDArray[np.int64], separator: str | bytes) -> pa.Array:
    """Runs of texts, from ends[k] up to ends[k + 1], as one text each."""
    lists = pa.LargeListArray.from_arrays(pa.array(ends), texts)
    return pc.binary_join(lists, pa.scalar(separator, texts.type))


def _missing(values: NDArray[np.float64]) -> pa.Array:
    return pa.array(values, pa.float64(), from_pandas=True)


# --- context --------------------------------------------------------------------------------------


def context_of(hits: pa.Table, state: SequenceArrays) -> dict[str, pa.Array]:
    """What is around the seed matches of the hits of a table (``hits_table``): ``context_columns``,
    and ``target_site_abundance`` of the miRNA before the score; missing but for 6mers and better.
    """
    i, j = state_rows(hits, state)
    sites, spans = _sites(hits, hits["query_end"].to_numpy(), i, j, state)
    columns: dict[str, pa.Array] = {}
    of_mirnas, of_transcripts = state_sequences(state)
    for name, values in context_columns(
        of_mirnas.texts, of_transcripts.texts, spans.mirna, spans.transcript, sites
    ).items():
        column = _missing(values.round(4))
        if name == "context_score":
            abundance = np.asarray(state["site_abundance"])[i]
            columns["target_site_abundance"] = pa.array(abundance, mask=np.isnan(values))
        whole = name in ("end_distance", "offset_6mers")
        columns[name] = column.cast(pa.int32()) if whole else column
    return columns


# --- tab-separated text ---------------------------------------------------------------------------


TEXT_ROWS = 65_536
"""Rows whose text is in memory at a time, for each thread."""
_TAB, _NOTHING, _LINE_END = (pa.scalar(text, pa.large_string()) for text in ("\t", "", "\n"))
_TO_QUOTE = re.compile('["\t\n\r]')


def write_arrow_tsv(table: pa.Table, path: Path) -> None:
    """Write a header line and one line a row, UTF-8.

    Numbers are the shortest decimals that read back to the same value; a missing one is an empty
    field. A dictionary column's word that holds a quotation mark, tab or line end is quoted in the
    way of CSV; other text must hold none of these.
    """
    with path.open("wb") as handle:
        handle.write(tsv_header(table))
        handle.writelines(tsv_lines(table))


def tsv_header(table: pa.Table) -> bytes:
    """The header line."""
    return ("\t".join(table.column_names) + "\n").encode()


def tsv_lines(table: pa.Table) -> Iterator[bytes]:
    """The rows as lines, many at a time, by all threads; see ``write_arrow_tsv``."""
    yield from in_threads(batch_lines, table.to_batches(max_chunksize=TEXT_ROWS))


def batch_lines(batch: pa.RecordBatch) -> bytes:
    """The rows of a batch as lines."""
    fields = pc.binary_join_element_wise(*[_as_text(column) for column in batch.columns], _TAB)
    lines = pc.binary_join_element_wise(fields, _NOTHING, _LINE_END)
    if not len(lines):
        return b""
    # All lines lie one behind the other in the array's own memory.
    _, offsets, letters = lines.buffers()
    last = np.frombuffer(offsets, np.int64)[len(lines)]
    return bytes(letters.slice(0, last).to_pybytes())


def quoted(word: str) -> str:
    """``word`` as a field of a table: in quotes where it needs them."""
    return '"' + word.replace('"', '""') + '"' if _TO_QUOTE.search(word) else word


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        words = pa.array([quoted(word) for word in column.dictionary.to_pylist()], pa.string())
        column = words.take(column.indices)
    return pc.fill_null(column.cast(pa.string()).cast(pa.large_string()), "")
