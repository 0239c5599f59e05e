"""Report: text of the miRNA targets method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.mirna_targets import report_hits
from pairtile.methods.mirna_targets.report_files import FILE_COLUMNS, FILES
from pairtile.methods.mirna_targets.report_findings import GENES, findings, hit_transcripts, n_hits
from pairtile.methods.mirna_targets.report_methods import methods_paragraph, settings_of
from pairtile.methods.mirna_targets.report_pictures import FIGURES
from pairtile.methods.mirna_targets.report_tables import hits_of
from pairtile.report.formats import count, counted, number, percent, plain
from pairtile.report.make_figures import precision_recall
from pairtile.report.method_report import MethodReport, MethodText

if TYPE_CHECKING:
    import pandas as pd

    from pairtile.report.results import Results

MAX_POSITIONS = 3
PAIR_COLUMNS = (
    "n_canonical_sites",
    "best_seed_class",
    "max_local_au",
    "transcript_length",
    "positions",
)
"""What the table of pairs takes from targets.tsv."""

SUMS = ("total_score", "total_energy_kcal_mol")

MAX_ROWS_WITH_ALL = 10_000
"""Longer tables leave out positions and sums, of 50,000 pairs over a megabyte; targets.tsv has
them."""


def headline(results: Results) -> str:
    """``442 hits of 32 miRNAs on 24 transcripts``."""
    network = results.network
    if network.empty:
        return "No hits: no miRNA has a site that passes the thresholds"
    hits = counted(n_hits(results), "hit")
    mirnas = counted(network["source"].nunique(), "miRNA")
    places = counted(hit_transcripts(results), "transcript")
    if GENES in network:
        places += f" of {counted(network['target'].nunique(), 'gene')}"
    return f"{hits} of {mirnas} on {places}"


def key_numbers(results: Results) -> list[tuple[str, str, str]]:
    """Hits, pairs, miRNAs, transcripts and canonical sites: value, what it is, of how many."""
    network, counts, hits = results.network, results.counts, results.cached(hits_of)
    scanned = counts.get("pairs_scored")
    n, pairs = n_hits(results), counts.get("pairs_with_hits", len(network))
    of_scanned = f"of {count(scanned)} scanned ({percent(pairs / scanned)})" if scanned else ""
    mirnas, transcripts = network["source"].nunique(), hit_transcripts(results)
    tiles = [
        (count(n), _noun(n, "hit"), f"{number(n / pairs, 2)} a pair" if pairs else ""),
        (count(pairs), _noun(pairs, "pair") + " of miRNA and transcript", of_scanned),
        (count(mirnas), _noun(mirnas, "miRNA") + " with targets", _of(counts, "mirnas_kept")),
        (
            count(transcripts),
            _noun(transcripts, "transcript") + " hit",
            _of(counts, "transcripts_kept"),
        ),
    ]
    if hits is not None and hits.n:
        share = f"{percent(hits.canonical / hits.n)} of the hits"
        tiles.append(
            (
                count(hits.canonical),
                _noun(hits.canonical, "hit") + " with a canonical seed site",
                share,
            )
        )
    return tiles


def rules(results: Results) -> list[str]:
    """What a hit is, by the settings."""
    settings = settings_of(results)
    energy = ""
    if settings["energies"]:
        weak = ", which leaves out next to nothing" if settings["energy"] >= 0 else ""
        energy = f" and a duplex energy below {plain(settings['energy'])} kcal/mol{weak}"
    seed = f"{plain(settings['scale'])} times" if settings["scale"] != 1 else "no more than others"
    sentences = [
        f"A hit is a site with an alignment score of at least {plain(settings['score'])}{energy}, "
        "by miRanda’s rules: A-U and G-C pairs count 5, G-U pairs 1, mismatches −3, the first base "
        f"of a gap {plain(settings['gap_open'])}, further ones {plain(settings['gap_extend'])}; "
        f"miRNA positions 2 to 8, the seed, count {seed}."
    ]
    if settings["strict"]:
        sentences.append(
            "Only perfect seeds count: positions 2 to 8 paired by A-U or G-C (strict)."
        )
    return sentences


def answers(results: Results) -> list[str]:
    """How many pairs were looked at, and how many hits have a place in the genome."""
    counts, sentences = results.counts, []
    if counts.get("restrict_pairs_read") is not None:
        pairs = counted(counts.get("pairs_scored", 0), "pair")
        sentences.append(f"Only what the restrict list names was looked at: {pairs}.")
    if counts.get("hits_in_genome") is not None:
        sentences.append(
            f"{count(counts['hits_in_genome'])} of {counted(n_hits(results), 'hit')} have genome "
            "coordinates in hits.bed and hits.gff3; the others stay in those of their transcript."
        )
    return sentences


def cautions(results: Results) -> list[str]:
    """What a reader of predicted targets should know, and what these settings bring about."""
    settings = settings_of(results)
    found = []
    if not settings["energies"]:
        found.append(
            "Energies were not computed (energies: false): hits were chosen by their alignment "
            "score alone, and miranda.txt shows an energy of 0 for each."
        )
    if settings["trim"]:
        found.append(
            f"Only the first {count(settings['trim'])} letters of each transcript were searched "
            "(trim); relative positions are those on the whole transcript."
        )
    if not results.network.empty:
        found += [
            "These are predictions from sequence alone, and most predicted sites of this kind "
            "have no measurable effect: by chance, any 7 letters of a seed match once in about "
            "16,000 letters. Trust canonical seed sites, low energies and several sites on one "
            "transcript more than others, and look for conservation, for expression of both in "
            "the same cells, or for an experiment.",
            "Effective sites lie mostly in 3' UTRs. If the sequences given are whole transcripts, "
            "hits in the 5' UTR and the coding region are among these, too.",
        ]
        if settings["energies"] and _written_with_t(results):
            found.append(
                "The transcripts are written with T. T and U pair alike; but miRanda’s energies, "
                "and so these, give the bonus for especially stable hairpin loops only to "
                "letters written as U: written so, a few hits would have a slightly other energy."
            )
    return found


def edge_table(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """The strongest pairs with what targets.tsv tells of them."""
    path = results.folder / "targets.tsv"
    if not path.is_file() or table.empty or GENES in table:
        return table
    from pairtile.methods.mirna_targets.report_tables import target_rows

    rows = target_rows(path, table)
    whole = ("n_canonical_sites", "transcript_length")
    more: dict[str, Any] = {
        name: rows[name].astype("int64") if name in whole else rows[name]
        for name in PAIR_COLUMNS
        if name in rows
    }
    if "positions" in more:
        more["positions"] = more["positions"].map(_first_positions)
    table = table.assign(**{name: values.to_numpy() for name, values in more.items()})
    # Sums are of less use than what kind of site there is.
    last: tuple[str, ...] = (*SUMS, *PAIR_COLUMNS[2:])
    first = [column for column in table.columns if column not in last]
    if len(table) > MAX_ROWS_WITH_ALL:
        last = tuple(column for column in last if column not in (*SUMS, "positions"))
    return table[[*first, *(column for column in last if column in table)]]


def _first_positions(text: str) -> str:
    places = text.split()
    shown = [count(int(place)) for place in places[:MAX_POSITIONS]]
    shown += ["…"] if len(places) > MAX_POSITIONS else []
    return ";\N{NO-BREAK SPACE}".join(shown)


def _noun(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"


def _of(counts: dict[str, int], key: str) -> str:
    return f"of {count(counts[key])}" if key in counts else ""


def _written_with_t(results: Results) -> bool:
    hits = results.cached(hits_of)
    if hits is None:
        return False
    return bool(hits.strongest["reference_alignment"].str.contains("[Tt]").any())


TEXT = MethodText(
    title="miRNA targets by the rules of miRanda 3.3a",
    item="miRNA or transcript",
    items="miRNAs and transcripts",
    regulator="miRNA",
    regulators="miRNAs",
    target="transcript",
    edge="pair",
    edges="pairs",
    score="alignment score",
    score_axis="alignment score",
    ranking="all pairs with a hit, by total score,",
    strength=("score",),
    ties=("energy_kcal_mol",),
    columns={
        "score": "best score",
        "energy_kcal_mol": "lowest energy (kcal/mol)",
        "n_hits": "hits",
        "total_score": "total score",
        "total_energy_kcal_mol": "total energy (kcal/mol)",
        "n_canonical_sites": "canonical sites",
        "best_seed_class": "best seed class",
        "max_local_au": "greatest local AU",
        "transcript_length": "transcript length",
        "positions": "hits begin at",
    },
    counts={
        "mirnas_read": "miRNAs read",
        "mirnas_kept": "miRNAs searched with",
        "transcripts_read": "transcripts read",
        "transcripts_kept": "transcripts searched",
        "mirna_letters": "letters of the miRNAs",
        "transcript_letters": "letters of the transcripts searched",
        "longest_transcript": "letters of the longest of them",
        "restrict_pairs_read": "pairs in the restrict list",
        "restrict_pairs_missing": "pairs of that list whose names are not there",
        "pairs": "pairs of miRNA and transcript",
        "pairs_scored": "pairs scanned",
        "pairs_stored": "hits stored",
        "edges": "pairs with a hit (edges of the network)",
        "pairs_with_hits": "pairs with a hit (rows of targets.tsv)",
        "hits": "hits",
        "mirnas_with_targets": "miRNAs with a target",
        "transcripts_with_sites": "transcripts with a hit",
        "transcripts_in_genome": "transcripts placed in the genome",
        "hits_in_genome": "hits placed in the genome",
    },
    headline=headline,
    key_numbers=key_numbers,
    remarks=findings,
    findings=answers,
    rules=rules,
    warnings=cautions,
    empty=(
        "There is no hit. A lower score (or scale and gap penalties as they were), a higher energy "
        "threshold or strict: false would give more; check as well that miRNAs and transcripts "
        "are not exchanged, and that transcripts are the strand that is transcribed, 5' to 3'."
    ),
    edge_table=edge_table,
    files=FILES,
    file_columns=FILE_COLUMNS,
    methods=methods_paragraph,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**FIGURES, "precision_recall": precision_recall},
    sections=(report_hits.section,),
)
