"""The strongest hits of miRNAs in the report: what is read of them, cards, table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.declare.columns import declared_columns
from pairtile.errors import StoreError
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.hits_bed_gff3 import COLOURS
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.null import CLASS_ROWS
from pairtile.methods.mirna_targets.search import ALIGNMENT
from pairtile.methods.mirna_targets.tables import ALL_MIRNAS, CANONICAL
from pairtile.report.formats import count, format_number, join_list, pluralise
from pairtile.report.method_report import CaptionedFigure, MethodText, PageSection, Results, needed
from pairtile.report.packed_columns import pack_column, table_cells

# --- what the report takes from hits.parquet and targets.tsv: read in parts -----------------------


MAX_HITS = 20_000
"""So many hits are in the page, the strongest: about a megabyte or two of it."""

GENES = "n_transcripts"
"""The column that a network of genes has, and one of transcripts has not."""

POSITION_BINS = 40
"""Parts of equal length into which transcripts are divided."""


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


STRENGTH = ["score", "energy_kcal_mol"]


def read_hits(path: Path, limit: int = MAX_HITS) -> HitsOverview:
    """Read hits.parquet in one pass for the numbers and one for the ``limit`` strongest rows.

    Raises StoreError for a file that is not what its name says.
    """
    classes = pd.Series(0, index=SEED_CLASSES[::-1])
    positions = np.zeros((2, POSITION_BINS), dtype=np.int64)
    best, n = pd.DataFrame(columns=STRENGTH), 0
    with _stated(path), pq.ParquetFile(path, read_dictionary=["seed_class"]) as file:
        columns = [*STRENGTH, "seed_class", "relative_position"]
        for batch in file.iter_batches(1_000_000, columns=columns):
            hits = batch.to_pandas()
            hits.index += n
            n += len(hits)
            classes = classes.add(hits["seed_class"].value_counts(), fill_value=0)
            other = ~hits["seed_class"].isin(CANONICAL)
            place = np.floor(hits["relative_position"].astype(np.float64) * POSITION_BINS)
            place = place.clip(0, POSITION_BINS - 1).astype(np.int64)
            cells = other.to_numpy() * POSITION_BINS + place.to_numpy()
            positions += np.bincount(cells, minlength=positions.size).reshape(positions.shape)
            score = hits["score"].to_numpy()
            least = np.partition(score, -limit)[-limit] if len(hits) > limit else -np.inf
            some = hits.loc[score >= least, STRENGTH]  # sorting all would take most of the time
            joined = pd.concat([best, some]) if len(best) else some
            best = joined.sort_values(STRENGTH, ascending=[False, True], kind="stable").head(limit)
        strongest = ds.dataset(path).take(pa.array(best.index, pa.int64())).to_pandas()
    counts = {name: int(classes[name]) for name in SEED_CLASSES[::-1]}
    return HitsOverview(n, counts, positions, strongest)


def read_targets(path: Path) -> TargetsOverview:
    """Read targets.tsv. Raises StoreError for a file that is not what its name says."""
    found = _targets(path, columns=["mirna", "transcript", "n_canonical_sites"])
    table = found.to_pandas(strings_to_categorical=True)
    table["canonical"] = table["n_canonical_sites"] > 0

    def most(kind: str) -> pd.DataFrame:
        pairs = table.groupby(kind, observed=True)["canonical"]
        counts = pairs.agg(pairs="size", canonical="sum").reset_index(names="name")
        counts["name"] = counts["name"].astype(str)
        return counts.sort_values(["pairs", "name"], ascending=[False, True]).set_index("name")

    n_canonical = int(table["canonical"].sum())
    return TargetsOverview(len(table), n_canonical, most("mirna"), most("transcript"))


def targets_of_pairs(results: Results, pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows of targets.tsv for pairs (``source``, ``target``) with the page's names, in their
    order."""
    wanted = pairs[["source", "target"]].set_axis(["mirna", "transcript"], axis=1)
    name_of = {label: name for name, label in results.labels.items()}
    wanted["transcript"] = wanted["transcript"].map(lambda label: name_of.get(label, label))
    keys = pa.array(wanted["mirna"] + "\t" + wanted["transcript"], pa.string())
    key = pc.binary_join_element_wise(pc.field("mirna"), pc.field("transcript"), "\t")
    found = _targets(results.folder / "targets.tsv", filter=key.isin(keys))
    return wanted.merge(found.to_pandas(), how="left", on=list(wanted))


_TYPES = {"string": pa.string(), "int": pa.int64(), "double": pa.float64()}


def _targets(path: Path, **asked: object) -> pa.Table:
    """Columns or rows of targets.tsv, as ``Dataset.to_table`` takes them."""
    # Types are said beforehand: what Arrow sees first of a column may all be missing.
    declared = declared_columns(__package__, "targets.tsv")
    types = {name: _TYPES[some.type] for some in declared for name in some.names}
    format = ds.CsvFileFormat(
        pv.ParseOptions(delimiter="\t"),
        convert_options=pv.ConvertOptions(column_types=types),
        read_options=pv.ReadOptions(block_size=1 << 24),  # rows may be long
    )
    with _stated(path):
        return ds.dataset(path, format=format).to_table(**asked)


@contextmanager
def _stated(path: Path) -> Iterator[None]:
    """Arrow's message on a damaged file as one that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError) as error:
        found = f"an unreadable file ({error})"
        raise StoreError.at(path, "", found, "the table of an earlier step") from error


def settings_of(results: Results) -> dict[str, Any]:
    """How sites were aligned and which are hits: the section ``estimator``, complete."""
    return AlignmentConfig().model_dump() | (results.parameters.get("estimator") or {})


def hits_of(results: Results) -> HitsOverview | None:
    """What hits.parquet of an analysis holds, for ``results.cached``, with the page's names of
    transcripts; None where there is no hit."""
    path = results.folder / "hits.parquet"
    if not path.is_file():
        return None
    found = read_hits(path)
    strongest = results.labelled(found.strongest, ["transcript"])
    return replace(found, strongest=strongest) if found.n else None


def targets_of(results: Results) -> TargetsOverview | None:
    """What targets.tsv of an analysis holds, for ``results.cached``, with the page's names of
    transcripts; None where there is none."""
    path = results.folder / "targets.tsv"
    if not path.is_file():
        return None
    found = read_targets(path)
    return replace(found, transcripts=found.transcripts.rename(index=dict(results.labels)))


# --- sites against those of the shuffled miRNAs, and sites kept in other species ------------------


def has_null(results: Results) -> bool:
    """Whether there are shuffles to compare with."""
    return results.scores is not None and "null_sites" in results.scores


def conserved(results: Results) -> pd.DataFrame:
    """The rows of conservation.tsv for all miRNAs, for ``results.cached``; none without it."""
    table = results.table("conservation.tsv")
    return table[table["mirna"] == ALL_MIRNAS]


def null_row(results: Results, name: str) -> dict[str, float]:
    """Sites of a class against those of the shuffles; NaN where there is no ratio or interval."""
    assert results.scores is not None
    row = CLASS_ROWS.index(name)
    columns = ("sites", "expected", "ratio", "ratio_low", "ratio_high")
    return {column: float(results.scores[f"null_{column}"][row]) for column in columns}


# --- hits with the same alignment -----------------------------------------------------------------


SAME = ("score", "energy_kcal_mol", "mirna", *ALIGNMENT, "seed_class")
"""Columns in which hits of one site agree."""


class SharedSite(NamedTuple):
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
    table, sites = hits.strongest, list[SharedSite]()
    last = table[STRENGTH].iloc[-1:].astype(np.float64)
    shown: set[tuple[str, str]] = set()
    number = table.groupby(list(SAME), sort=False, observed=True, dropna=False).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        found = table.iloc[rows]
        pairs = set(zip(found["mirna"], found["transcript"], strict=True))
        if len(sites) == limit:
            break
        if pairs <= shown:
            continue
        shown |= pairs
        # Further hits like these may follow where the table is cut among equals.
        equal = np.array_equal(found[STRENGTH].iloc[-1:].astype(np.float64), last, equal_nan=True)
        sites.append(SharedSite(found, not (hits.n > len(table) and equal)))
    return sites


# --- alignments that the page shows without a click -----------------------------------------------


MAX_OPEN = 3
"""So many transcripts of an alignment are named in view (or one more, if that is all), ..."""

MAX_NAMED = 50
"""... and so many with those that a click unfolds; hits.tsv has all."""

SEED_BEGIN, SEED_END = 2, 8
"""Positions of the seed, from the miRNA's 5' end."""


def cards(hits: HitsOverview) -> dict[str, object]:
    """The cards and, over all of them, ``hits`` and ``transcripts``; ``complete`` as for a site."""
    # Twelve alignments are shown, each of another pair.
    sites = shared_sites(hits, 12)
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


def _card(site: SharedSite) -> dict[str, object]:
    """Heading, facts, the lines cut at the seed, and the transcripts that have the alignment."""
    hit = site.hits.iloc[0]
    query, match, reference = hit[list(ALIGNMENT)]
    begin, end = seed_columns(query)
    energy = hit["energy_kcal_mol"]
    facts = [
        f"score {format_number(hit['score'])}",
        *([f"{format_number(energy)} kcal/mol"] if pd.notna(energy) else []),
        "no seed match" if hit["seed_class"] == "none" else f"{hit['seed_class']} site",
    ]
    # Each transcript and where it has the alignment: at 12–33 and 80–101 of 1,200.
    places = []
    for name, rows in site.hits.groupby("transcript", sort=False, observed=True):
        spans = sorted(zip(rows["site_begin"], rows["site_end"], strict=True))
        where = join_list([f"{count(begin)}–{count(end)}" for begin, end in spans])
        places.append((str(name), f"at {where} of {count(rows['transcript_length'].iloc[0])}"))
    n = len(places)
    n_open = n if n <= MAX_OPEN + 1 else MAX_OPEN  # a click for one more is not worth it
    if n == 1:
        facts.append(places[0][1])
    least = "" if site.complete else "at least "
    stands_for = f"The same alignment in {least}{pluralise(n, 'transcript')}"
    stands_for += f", {count(len(site.hits))} hits" if len(site.hits) > n else ""
    return {
        "mirna": hit["mirna"],
        "transcript": places[0][0] if n == 1 else pluralise(n, "transcript"),
        "facts": " · ".join(facts),
        "stands_for": stands_for if n > 1 else "",
        "open": places[:n_open] if n > 1 else [],
        "folded": places[n_open:MAX_NAMED],
        "unnamed": max(0, n - MAX_NAMED),
        "lines": [
            (name, five, (text[:begin], text[begin:end], text[end:]), three)
            for name, five, text, three in (
                ("miRNA     ", "3'", query, "5'"),
                ("          ", "  ", match.ljust(len(query)), "  "),
                ("transcript", "5'", reference, "3'"),
            )
        ],
    }


# --- the section of the page ----------------------------------------------------------------------


FIRST_ROWS = 25
"""Rows of one page; so many are in the page as text, for readers without JavaScript."""

SHOWN = (
    *("score", "energy_kcal_mol", "duplex_energy_kcal_mol", "seed_class", "site_begin"),
    *("identity_percent", "local_au", "accessibility", "species_kept", "conservation_rate"),
    "relative_position",
)
"""Columns of hits.parquet that the table shows."""


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Alignments and table."""
    found = needed(results.cached(hits_of))
    hits = found.strongest
    if "species_kept" in hits:
        pairs = zip(hits["species_kept"], hits["species_with_ortholog"], strict=True)
        words = ["–" if pd.isna(kept) else f"{kept:.0f} of {of}" for kept, of in pairs]
        hits = hits.assign(species_kept=words)
    columns = [name for name in SHOWN if name in hits and hits[name].notna().any()]
    # The first hits as the script writes them; the cell of its button is empty.
    first = hits.head(FIRST_ROWS)
    ends = zip(first["site_begin"], first["site_end"], strict=True)
    first = first.assign(site_begin=[f"{count(begin)}–{count(end)}" for begin, end in ends])
    rows = table_cells(first[["mirna", "transcript", *columns]])
    # Seed matches that were listed, whatever their score.
    listed = results.table("seed_sites.tsv")["seed_class"].value_counts()
    return PageSection(
        id="hits",
        title="Hits of the highest scores",
        template="section_mirna_hits.html.j2",
        values={
            "shown": len(hits),
            "total": found.n,
            "sites": cards(found),
            "classes": [
                {"name": name, "kept": kept, "all": int(listed.get(name, 0))}
                | (null_row(results, name) if has_null(results) else {})
                for name, kept in found.seed_classes.items()
            ],
            "settings": settings_of(results),
            "headings": results.text.headings(columns, "hits.parquet"),
            "rows": [[mirna, transcript, "", *cells] for mirna, transcript, *cells in rows],
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


def _data(hits: pd.DataFrame, columns: list[str], text: MethodText) -> dict[str, object]:
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


def mapped_transcript(results: Results) -> str:
    """The transcript whose sites are drawn first: that of the strongest pair of the network, or, of
    genes, that of the strongest hit."""
    transcripts = needed(results.cached(hits_of)).strongest["transcript"].astype(str)
    target = str(results.network["target"].iloc[0])
    return target if (transcripts == target).any() else str(transcripts.iloc[0])


def _packed(hits: pd.DataFrame, name: str) -> dict[str, object]:
    packed = pack_column(hits[name]) | {"name": name}
    if name != "site_begin":
        return packed
    # Lengths are few different numbers, ends are many.
    return packed | {"kind": "span", "length": pack_column(hits["site_end"] - hits[name])}
