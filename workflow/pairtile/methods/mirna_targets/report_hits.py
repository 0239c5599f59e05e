"""The strongest hits of miRNAs in the report: what is read of them, cards, table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.errors import StoreError
from pairtile.methods.mirna_targets.hits_bed_gff3 import COLOURS
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.search import ALIGNMENT
from pairtile.methods.mirna_targets.tables import CANONICAL, CONSERVATION
from pairtile.report.formats import count, counted, listed, number, plain
from pairtile.report.method_report import CaptionedFigure, MethodText, PageSection
from pairtile.report.packed_columns import pack_column, to_digits
from pairtile.report.results import Results

# --- what the report takes from hits.parquet and targets.tsv: read in parts -----------------------


MAX_HITS = 20_000
"""So many hits are in the page, the strongest: about a megabyte or two of it."""

GENES = "n_transcripts"
"""The column that a network of genes has, and one of transcripts has not."""

POSITION_BINS = 40
"""Parts of equal length into which transcripts are divided."""

_WORDS = ("mirna", "transcript", "gene", "symbol", "best_seed_class", "positions")
_WHOLE = ("n_hits", "n_canonical_sites", "transcript_length")
_DECIMAL = (
    "total_score",
    "max_score",
    "total_energy_kcal_mol",
    "min_energy_kcal_mol",
    "max_local_au",
    "total_context_score",
    *(f"max_{name}" for name in CONSERVATION),
    *("correlation", "correlation_p_value", "correlation_q_value"),
)
# Said beforehand: what Arrow sees first of a column may all be missing.
_TYPES = {
    **dict.fromkeys(_WORDS, pa.string()),
    **dict.fromkeys(_WHOLE, pa.int64()),
    **dict.fromkeys(_DECIMAL, pa.float64()),
}

_BLOCK_BYTES = 1 << 24
"""Of the text of targets.tsv that is read at a time."""


@dataclass(frozen=True)
class HitsOverview:
    """All hits in numbers, and the strongest as they are.

    ``n``: hits. ``seed_classes``: how many of each class, the most effective first. ``positions``:
    hits by their relative position on the transcript, int64 (2, POSITION_BINS): those with a
    canonical seed site, and the others. ``strongest``: rows of hits.parquet, highest score first,
    then lowest energy, then as in the file.
    """

    n: int
    seed_classes: dict[str, int]
    positions: NDArray[np.int64]
    strongest: pd.DataFrame

    @property
    def canonical(self) -> int:
        """Hits with a canonical seed site: 8mer, 7mer-m8 or 7mer-A1."""
        return sum(self.seed_classes[name] for name in CANONICAL)


@dataclass(frozen=True)
class TargetsOverview:
    """All pairs with hits in numbers.

    ``n``: pairs; ``canonical``: those with a canonical seed site. ``mirnas``, ``transcripts``:
    their names (index) and pairs of each (columns ``pairs``, ``canonical``), most pairs first,
    ties by name; only those with a pair.
    """

    n: int
    canonical: int
    mirnas: pd.DataFrame
    transcripts: pd.DataFrame


def read_hits(path: Path, limit: int = MAX_HITS) -> HitsOverview:
    """Read hits.parquet in one pass for the numbers and one for the ``limit`` strongest rows.

    Raises StoreError for a file that is not what its name says.
    """
    classes = np.zeros(len(SEED_CLASSES), dtype=np.int64)
    positions = np.zeros((2, POSITION_BINS), dtype=np.int64)
    canonical = pa.array(CANONICAL)
    # Score, energy and row of the strongest hits so far.
    best = np.empty((3, 0))
    n = 0
    with _stated(path), pq.ParquetFile(path) as file:
        columns = ["score", "energy_kcal_mol", "seed_class", "relative_position"]
        for batch in file.iter_batches(1_000_000, columns=columns):
            kinds = batch["seed_class"]
            found = pc.index_in(kinds, pa.array(SEED_CLASSES)).to_numpy(zero_copy_only=False)
            classes += np.bincount(found.astype(np.int64), minlength=classes.size)
            other = ~np.asarray(pc.is_in(kinds, canonical))
            place = np.floor(_floats(batch["relative_position"]) * POSITION_BINS)
            place = np.clip(place, 0, POSITION_BINS - 1).astype(np.int64)
            cells = np.bincount(other * POSITION_BINS + place, minlength=positions.size)
            positions += cells.reshape(positions.shape)
            best = _strongest_so_far(best, batch, n, limit)
            n += len(batch)
        strongest = _taken(file, best[2].astype(np.int64))
    counts = dict(zip(reversed(SEED_CLASSES), classes[::-1].tolist(), strict=True))
    return HitsOverview(n, counts, positions, strongest)


def read_targets(path: Path, items: pd.DataFrame) -> TargetsOverview:
    """Read targets.tsv, whose names are those of ``items``.

    Raises StoreError for a file that is not what its name says.
    """
    mirnas, transcripts = _names(items, "mirna"), _names(items, "transcript")
    rows = np.zeros((2, len(mirnas)), dtype=np.int64)
    columns = np.zeros((2, len(transcripts)), dtype=np.int64)
    for batch in _target_batches(path, ("mirna", "transcript", "n_canonical_sites")):
        canonical = _floats(batch["n_canonical_sites"]) > 0
        for counts, name, among in ((rows, "mirna", mirnas), (columns, "transcript", transcripts)):
            item = _item_rows(path, batch[name], among)
            counts[0] += np.bincount(item, minlength=len(among))
            counts[1] += np.bincount(item[canonical], minlength=len(among))
    return TargetsOverview(
        n=int(rows[0].sum()),
        canonical=int(rows[1].sum()),
        mirnas=_most(mirnas, rows),
        transcripts=_most(transcripts, columns),
    )


def target_rows(path: Path, pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows of targets.tsv for ``pairs`` (columns ``source``, ``target``), in their order."""
    mirnas = pa.array(pairs["source"].unique().tolist(), pa.string())
    transcripts = pa.array(pairs["target"].unique().tolist(), pa.string())
    wanted = _keys(pa.array(pairs["source"], pa.string()), mirnas) * max(len(transcripts), 1)
    wanted += _keys(pa.array(pairs["target"], pa.string()), transcripts)
    parts = []
    for batch in _target_batches(path, None):
        i, j = _keys(batch["mirna"], mirnas), _keys(batch["transcript"], transcripts)
        key = np.where((i < 0) | (j < 0), -1, i * len(transcripts) + j)
        rows = np.flatnonzero(np.isin(key, wanted))
        if rows.size:
            part = batch.take(pa.array(rows)).to_pandas()
            parts.append(part.set_index(pd.Index(key[rows])))
    if not parts:
        return pd.DataFrame(columns=["mirna", "transcript"], index=range(len(pairs)))
    return pd.concat(parts).reindex(wanted).reset_index(drop=True)


def _strongest_so_far(
    best: NDArray[Any], batch: pa.RecordBatch, first: int, limit: int
) -> NDArray[np.float64]:
    """The strongest of ``best`` and a batch whose rows count from ``first``."""
    score, energy = _floats(batch["score"]), np.nan_to_num(_floats(batch["energy_kcal_mol"]))
    least = best[0].min() if best.shape[1] == limit else -np.inf
    if len(score) > limit:
        least = max(least, np.partition(score, len(score) - limit)[len(score) - limit])
    rows = np.flatnonzero(score >= least)
    joined = np.concatenate([best, [score[rows], energy[rows], rows + float(first)]], axis=1)
    return joined[:, np.lexsort((joined[2], joined[1], -joined[0]))[:limit]]


def _taken(file: pq.ParquetFile, rows: NDArray[np.int64]) -> pd.DataFrame:
    """Rows of a file in the order given, a group of rows in memory at a time."""
    parts, first = [file.schema_arrow.empty_table()], 0
    for group in range(file.num_row_groups):
        n = file.metadata.row_group(group).num_rows
        inside = rows[(rows >= first) & (rows < first + n)]
        if inside.size:
            parts.append(file.read_row_group(group).take(pa.array(np.sort(inside) - first)))
        first += n
    table = pa.concat_tables(parts).to_pandas()
    return table.set_index(np.sort(rows)).loc[rows].reset_index(drop=True)


def _target_batches(path: Path, columns: tuple[str, ...] | None) -> Iterator[pa.RecordBatch]:
    convert = pv.ConvertOptions(column_types=_TYPES, include_columns=columns or ())
    with _stated(path):
        read = pv.ReadOptions(block_size=_BLOCK_BYTES)
        parse = pv.ParseOptions(delimiter="\t")
        yield from pv.open_csv(path, read, parse, convert)


@contextmanager
def _stated(path: Path) -> Iterator[None]:
    """Arrow's message on a damaged file as one that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError) as error:
        found = f"an unreadable file ({error})"
        raise StoreError.at(path, "", found, "the table of an earlier step") from error


def _names(items: pd.DataFrame, kind: str) -> pa.Array:
    chosen = items[(items["kind"] == kind) & items["kept"].astype(bool)]
    return pa.array(chosen["name"].tolist(), pa.string())


def _keys(names: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    """Place of each name, -1 where it is not among them."""
    places = pc.fill_null(pc.index_in(names, among), -1)
    return np.asarray(places).astype(np.int64)


def _item_rows(path: Path, names: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    places = _keys(names, among)
    if (places < 0).any():
        name = names[int(np.argmin(places))].as_py()
        raise StoreError.at(path, f"name {name!r}", "no such item", "the names of items.parquet")
    return places


def _most(names: pa.Array, counts: NDArray[np.int64]) -> pd.DataFrame:
    table = pd.DataFrame({"name": names.to_pylist(), "pairs": counts[0], "canonical": counts[1]})
    table = table[table["pairs"] > 0].sort_values(["pairs", "name"], ascending=[False, True])
    return table.set_index("name")


def _floats(values: pa.Array) -> NDArray[np.float64]:
    return values.to_numpy(zero_copy_only=False).astype(np.float64)


def hits_of(results: Results) -> HitsOverview | None:
    """What hits.parquet of an analysis holds, for ``results.cached``, with the page's names of
    transcripts; None where there is none."""
    path = results.folder / "hits.parquet"
    if not path.is_file():
        return None
    found = read_hits(path)
    return replace(found, strongest=results.labelled(found.strongest, ["transcript"]))


def targets_of(results: Results) -> TargetsOverview | None:
    """What targets.tsv of an analysis holds, for ``results.cached``, with the page's names of
    transcripts; None where there is none."""
    path = results.folder / "targets.tsv"
    if not path.is_file():
        return None
    found = read_targets(path, results.items.assign(name=results.items["identifier"]))
    return replace(found, transcripts=found.transcripts.rename(index=dict(results.labels)))


def targets_of_pairs(results: Results, pairs: pd.DataFrame) -> pd.DataFrame:
    """``target_rows`` of pairs with the page's names."""
    names = {label: name for name, label in results.labels.items()}
    pairs = pairs.assign(target=pairs["target"].map(lambda label: names.get(label, label)))
    return target_rows(results.folder / "targets.tsv", pairs)


# --- hits with the same alignment -----------------------------------------------------------------


SAME = ("score", "energy_kcal_mol", "mirna", *ALIGNMENT, "seed_class")
"""Columns in which hits of one site agree."""


@dataclass(frozen=True)
class SharedSite:
    """The hits of one miRNA with one alignment.

    ``hits``: their rows of ``HitsOverview.strongest``, strongest first. ``complete``: whether no
    further hit has this alignment; unknown, and so False, where the strongest hits end among
    equals.
    """

    hits: pd.DataFrame
    complete: bool

    @property
    def transcripts(self) -> list[str]:
        """Names of the transcripts, each once, in the order of the hits."""
        return list(dict.fromkeys(self.hits["transcript"].astype(str)))


def shared_sites(hits: HitsOverview, limit: int) -> list[SharedSite]:
    """The ``limit`` strongest alignments, each once, with all hits that have it.

    An alignment is passed over where stronger ones have shown all its pairs of miRNA and
    transcript already.
    """
    return list(islice(_sites(hits), limit))


def _sites(hits: HitsOverview) -> Iterator[SharedSite]:
    table = hits.strongest
    site = table.groupby(list(SAME), sort=False, observed=True, dropna=False).ngroup().to_numpy()
    cut = hits.n > len(table)
    shown: set[tuple[str, str]] = set()
    for rows in _rows_of_each(site):
        found = table.iloc[rows]
        pairs = set(zip(found["mirna"], found["transcript"], strict=True))
        if pairs <= shown:
            continue
        shown |= pairs
        yield SharedSite(found, not (cut and _equal(table, rows[-1], len(table) - 1)))


def _rows_of_each(site: NDArray[np.integer[Any]]) -> list[NDArray[np.intp]]:
    """Rows with each number of ``site``, in the order of their first row."""
    order = np.argsort(site, kind="stable")
    ends = np.flatnonzero(np.diff(site[order])) + 1
    return sorted(np.split(order, ends), key=lambda rows: int(rows[0])) if site.size else []


def _equal(table: pd.DataFrame, one: int, other: int) -> bool:
    """Whether two rows are equally strong: further hits like the one may follow the other."""
    values = table[["score", "energy_kcal_mol"]].to_numpy(dtype=np.float64)
    return bool(np.array_equal(values[one], values[other], equal_nan=True))


# --- alignments that the page shows without a click -----------------------------------------------


MAX_CARDS = 12
"""So many alignments are shown, each of another pair."""

MAX_OPEN = 3
"""So many transcripts of an alignment are named in view (or one more, if that is all), ..."""

MAX_NAMED = 50
"""... and so many with those that a click unfolds; hits.tsv has all."""

SEED_BEGIN, SEED_END = 2, 8
"""Positions of the seed, from the miRNA's 5' end."""

# Letters above one another: miRNA, pairs, transcript, and where the seed begins and ends in them.
Alignment = tuple[str, str, str, int, int]


def cards(hits: HitsOverview) -> dict[str, Any]:
    """The cards and, over all of them, ``hits`` and ``transcripts``; ``complete`` as for a site."""
    sites = shared_sites(hits, MAX_CARDS)
    return {
        "cards": [_card(site) for site in sites],
        "hits": sum(len(site.hits) for site in sites),
        "transcripts": len({name for site in sites for name in site.transcripts}),
        "shared": any(len(site.transcripts) > 1 for site in sites),
        "complete": all(site.complete for site in sites),
    }


def seed_columns(query: str) -> tuple[int, int]:
    """The columns of the seed, end excluded.

    ``query`` runs from the miRNA's 3' to its 5' end and holds all its letters: the seed is
    counted from the right, past gaps.
    """
    places = [k for k in range(len(query) - 1, -1, -1) if query[k] != "-"]
    if len(places) < SEED_BEGIN:
        return len(query), len(query)
    return places[min(SEED_END, len(places)) - 1], places[SEED_BEGIN - 1] + 1


def alignment_of(query: str, match: str, reference: str) -> Alignment:
    """The three lines of an alignment and the columns of the seed, end excluded."""
    return query, match.ljust(len(query)), reference, *seed_columns(query)


def _card(site: SharedSite) -> dict[str, Any]:
    """Heading, facts, the lines cut at the seed, and the transcripts that have the alignment."""
    hit = site.hits.iloc[0]
    query, match, reference, begin, end = alignment_of(
        hit["query_alignment"], hit["match_line"], hit["reference_alignment"]
    )
    energy = hit["energy_kcal_mol"]
    facts = [f"score {plain(hit['score'])}"]
    facts += [f"{plain(energy)} kcal/mol"] if pd.notna(energy) else []
    facts += ["no seed match" if hit["seed_class"] == "none" else f"{hit['seed_class']} site"]
    places = _places_of(site)
    n = len(places)
    n_open = n if n <= MAX_OPEN + 1 else MAX_OPEN  # a click for one more is not worth it
    if n == 1:
        facts.append(places[0][1])
    return {
        "mirna": hit["mirna"],
        "transcript": places[0][0] if n == 1 else counted(n, "transcript"),
        "facts": " · ".join(facts),
        "stands_for": _stands_for(site, n) if n > 1 else "",
        "open": places[:n_open] if n > 1 else [],
        "folded": places[n_open:MAX_NAMED],
        "unnamed": max(0, n - MAX_NAMED),
        "lines": [
            (name, five, (text[:begin], text[begin:end], text[end:]), three)
            for name, five, text, three in (
                ("miRNA     ", "3'", query, "5'"),
                ("          ", "  ", match, "  "),
                ("transcript", "5'", reference, "3'"),
            )
        ],
    }


def _stands_for(site: SharedSite, n_transcripts: int) -> str:
    """``The same alignment in 3 transcripts``, and the number of hits where there are more."""
    least = "" if site.complete else "at least "
    text = f"The same alignment in {least}{counted(n_transcripts, 'transcript')}"
    more = len(site.hits) > n_transcripts
    return f"{text}, {count(len(site.hits))} hits" if more else text


def _places_of(site: SharedSite) -> list[tuple[str, str]]:
    """Each transcript and where it has the alignment: ``at 12–33 and 80–101 of 1,200``."""
    places = []
    for name, rows in site.hits.groupby("transcript", sort=False, observed=True):
        spans = sorted(zip(rows["site_begin"], rows["site_end"], strict=True))
        where = listed([f"{count(begin)}–{count(end)}" for begin, end in spans])
        places.append((str(name), f"at {where} of {count(rows['transcript_length'].iloc[0])}"))
    return places


# --- the section of the page ----------------------------------------------------------------------


FIRST_ROWS = 25
"""Rows of one page; so many are in the page as text, for readers without JavaScript."""

SHOWN = (
    *("score", "energy_kcal_mol", "duplex_energy_kcal_mol", "seed_class", "site_begin"),
    *("identity_percent", "local_au", "accessibility", "species_kept", "conservation_rate"),
    "relative_position",
)
"""Columns of hits.parquet that the table shows."""


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Alignments and table; None where there is no hit."""
    found = results.cached(hits_of)
    if found is None or not found.n:
        return None
    hits = _with_species(found.strongest)
    columns = [name for name in SHOWN if name in hits and hits[name].notna().any()]
    return PageSection(
        id="hits",
        title="Hits of the highest scores",
        template="section_mirna_hits.html.j2",
        values={
            "shown": len(hits),
            "total": found.n,
            "sites": cards(found),
            "headings": results.text.headings(columns, "hits.parquet"),
            "rows": _first_rows(hits.head(FIRST_ROWS), columns),
            "data": _data(hits, columns, results.text)
            | {"first_map": mapped_transcript(results)},
            "conserved": "conservation_rate" in columns,
            "accessible": "accessibility" in columns,
        },
        scripts=(
            "datatables.min.js", "searchable_table.js", "packed_columns.js", "table_columns.js",
            "hits_table.js", "site_map.js",
        ),
    )  # fmt: skip


def _data(hits: pd.DataFrame, columns: list[str], text: MethodText) -> dict[str, Any]:
    """The table packed. Lines of pairs are not there: the script reads them off the letters."""
    queries = hits["query_alignment"]
    seeds = pd.DataFrame(map(seed_columns, queries), columns=["begin", "end"])
    return {
        "rows_a_page": FIRST_ROWS,
        "n": len(hits),
        "mirna": pack_column(hits["mirna"]),
        "transcript": pack_column(hits["transcript"]),
        "query": pack_column(queries),
        "reference": pack_column(hits["reference_alignment"]),
        "seed_begin": pack_column(seeds["begin"]),
        "seed_end": pack_column(seeds["end"]),
        "transcript_length": pack_column(hits["transcript_length"]),
        "columns": [_packed(hits, name) for name in columns],
        "headings": {name: text.column(name, "hits.parquet") for name in columns},
        "colours": COLOURS,
    }


def _with_species(hits: pd.DataFrame) -> pd.DataFrame:
    """The number of species that keep a site as ``3 of 5``."""
    if "species_kept" not in hits:
        return hits
    pairs = zip(hits["species_kept"], hits["species_with_ortholog"], strict=True)
    words = ["–" if pd.isna(kept) else f"{kept:.0f} of {of}" for kept, of in pairs]
    return hits.assign(species_kept=words)


def mapped_transcript(results: Results) -> str:
    """The transcript whose sites are drawn first: that of the strongest pair of the network, or, of
    genes, that of the strongest hit."""
    hits = results.cached(hits_of)
    assert hits is not None
    transcripts = hits.strongest["transcript"].astype(str)
    target = str(results.network["target"].iloc[0])
    return target if (transcripts == target).any() else str(transcripts.iloc[0])


def _packed(hits: pd.DataFrame, name: str) -> dict[str, Any]:
    packed = pack_column(hits[name]) | {"name": name}
    if name != "site_begin":
        return packed
    # Lengths are few different numbers, ends are many.
    return packed | {"kind": "span", "length": pack_column(hits["site_end"] - hits[name])}


def _first_rows(hits: pd.DataFrame, columns: list[str]) -> list[list[str]]:
    """The cells of each hit as the script writes them; that of its button is empty."""
    return [
        [str(hit["mirna"]), str(hit["transcript"]), "", *(_shown(hit, name) for name in columns)]
        for hit in hits.to_dict("records")
    ]


def _shown(hit: dict[Any, Any], name: str) -> str:
    if name == "site_begin":
        return f"{count(hit[name])}–{count(hit['site_end'])}"
    if isinstance(hit[name], str):
        return hit[name]
    return number(to_digits(hit[name]), 4, pad=True)
