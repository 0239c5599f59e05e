"""Report: text of the miRNA targets method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from pairtile.methods.mirna_targets import report_hits
from pairtile.methods.mirna_targets.report_figures import FIGURES
from pairtile.methods.mirna_targets.report_hits import (
    GENES,
    hits_of,
    shared_sites,
    targets_of,
    targets_of_pairs,
)
from pairtile.methods.mirna_targets.report_methods import methods_paragraph, settings_of
from pairtile.methods.mirna_targets.report_signal import (
    chance_numbers,
    conservation_findings,
    expression_findings,
    has_null,
    signal_findings,
)
from pairtile.report.formats import count, counted, largest, listed, number, percent, plain
from pairtile.report.make_figures import precision_recall
from pairtile.report.method_report import MethodReport, MethodText
from pairtile.report.references import read_references

if TYPE_CHECKING:
    from pairtile.report.results import Results

papers = read_references(__package__)


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
    """Hits, those of chance, pairs, miRNAs, transcripts and canonical sites: value, what it is, of
    how many."""
    network, counts, hits = results.network, results.counts, results.cached(hits_of)
    scanned = counts.get("pairs_scored")
    n, pairs = n_hits(results), counts.get("pairs_with_hits", len(network))
    of_scanned = f"of {count(scanned)} scanned ({percent(pairs / scanned)})" if scanned else ""
    mirnas, transcripts = network["source"].nunique(), hit_transcripts(results)
    tiles = [
        (count(n), _noun(n, "hit"), f"{number(n / pairs, 2)} a pair" if pairs else ""),
        *chance_numbers(results),
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


def findings(results: Results) -> list[str]:
    """How many pairs were looked at, and how many hits have a place in the genome."""
    counts, sentences = results.counts, []
    if counts.get("restrict_pairs_read") is not None:
        pairs = counted(counts.get("pairs_scored", 0), "pair")
        sentences.append(f"Only what the restrict list names was looked at: {pairs}.")
    if counts.get("hits_in_genome") is not None:
        placed, utrs = counts.get("transcripts_in_genome", 0), counts.get("utrs_in_genome", 0)
        sentences.append(
            f"{count(counts['hits_in_genome'])} of {counted(n_hits(results), 'hit')} have genome "
            "coordinates in hits.bed and hits.gff3; the others stay in those of their transcript. "
            f"By their lengths, {counted(placed - utrs, 'sequence')} are whole transcripts and "
            f"{count(utrs)} are 3' UTRs."
        )
    return sentences


def warnings(results: Results) -> list[str]:
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
            "16,000 letters. Trust canonical seed sites and several sites on one transcript more "
            "than others, and look for conservation, for expression of both in the same cells, or "
            "for an experiment.",
            "Effective sites lie mostly in 3' UTRs. If the sequences given are whole transcripts, "
            "hits in the 5' UTR and the coding region are among these, too.",
        ]
        if not has_null(results):
            found.append(
                "How many of these hits chance gives was not asked for; null: {shuffles: 100} "
                "compares them with those of shuffled miRNAs."
            )
        if settings["energies"] and _written_with_t(results):
            found.append(
                "The transcripts are written with T. T and U pair alike; but miRanda’s energies, "
                "and so these, give the bonus for especially stable hairpin loops only to "
                "letters written as U: written so, a few hits would have a slightly other energy."
            )
    return found


def edge_table(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """The strongest pairs with their columns of targets.tsv."""
    path = results.folder / "targets.tsv"
    if not path.is_file() or table.empty or GENES in table:
        return table
    rows = targets_of_pairs(results, table)
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


# --- remarks on what was found --------------------------------------------------------------------


N_NAMED = 3


def remarks(results: Results) -> list[str]:
    """What chance gives, then strongest hits, largest hubs, seed classes, and what was left out or
    has no hit."""
    return [
        *signal_findings(results),
        *conservation_findings(results),
        *expression_findings(results),
        *([] if has_null(results) else _strongest_hits(results)),
        *_hubs(results),
        *_seeds(results),
        *_left_out(results),
    ]


def hit_transcripts(results: Results) -> int:
    """Transcripts with a hit, whether or not edges point to their genes."""
    found = results.counts.get("transcripts_with_sites")
    return int(results.network["target"].nunique() if found is None else found)


def n_hits(results: Results) -> int:
    """Hits of all pairs."""
    if "hits" in results.counts:
        return results.counts["hits"]
    return int(results.network["n_hits"].sum()) if "n_hits" in results.network else 0


def _strongest_hits(results: Results) -> list[str]:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return []
    sites = []
    for site in shared_sites(hits, N_NAMED):
        hit, transcripts = site.hits.iloc[0], site.transcripts
        parts = [f"score {plain(hit['score'])}"]
        if pd.notna(hit["energy_kcal_mol"]):
            parts += [f"{plain(round(hit['energy_kcal_mol'], 1))} kcal/mol"]
        parts += [hit["seed_class"] if hit["seed_class"] != "none" else "no seed site"]
        least = "" if site.complete else "at least "
        more = f"{least}{counted(len(transcripts) - 1, 'transcript')} more"
        place = f"{transcripts[0]} and {more}" if len(transcripts) > 1 else transcripts[0]
        sites.append(f"{hit['mirna']} on {place} ({', '.join(parts)})")
    return [f"Strongest by score: {listed(sites)}."]


def _hubs(results: Results) -> list[str]:
    targets = results.cached(targets_of)
    if targets is None or targets.n < 2:
        return []
    sentences = []
    for table, of, noun in (
        (targets.mirnas, "Most targets", "transcript"),
        (targets.transcripts, "Hit by most miRNAs", "miRNA"),
    ):
        named = largest(table["pairs"].to_dict(), noun, N_NAMED)
        if named:
            sentences.append(f"{of}: {named}.")
    several = int((results.network["n_hits"] > 1).sum()) if "n_hits" in results.network else 0
    if several:
        sentences.append(f"{counted(several, 'pair')} {_has(several)} more than one hit.")
    return sentences


def _seeds(results: Results) -> list[str]:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return []
    classes = hits.seed_classes
    kinds = [
        f"{count(classes[name])} {name}" for name in ("8mer", "7mer-m8", "7mer-A1") if classes[name]
    ]
    text = (
        f"{count(hits.canonical)} of {counted(hits.n, 'hit')} ({percent(hits.canonical / hits.n)})"
    )
    text += f" {_has(hits.canonical)} a canonical seed site"
    text += f" ({listed(kinds)})" if kinds else ""
    targets = results.cached(targets_of)
    if targets is not None and hits.canonical:
        text += f", in {count(targets.canonical)} of {counted(targets.n, 'pair')}"
    if classes["none"]:
        text += f"; {count(classes['none'])} {_has(classes['none'])} no seed match of any class"
    return [f"{text}."]


def _has(n: int) -> str:
    return "has" if n == 1 else "have"


def _left_out(results: Results) -> list[str]:
    sentences = []
    items, network = results.items, results.network
    dropped = results.dropped
    if len(dropped):
        kinds = {"mirna": "miRNA", "transcript": "transcript"}
        numbers = {word: int((dropped["kind"] == kind).sum()) for kind, word in kinds.items()}
        parts = [counted(n, word) for word, n in numbers.items() if n]
        where = "the records and their faults are listed below"
        sentences.append(f"{listed(parts)} left out as unusable: {where}.")
    if len(network) and "kind" in items:
        kept = items[items["kept"].astype(bool)]["kind"]
        alone = {
            "miRNA": int((kept == "mirna").sum()) - network["source"].nunique(),
            "transcript": int((kept == "transcript").sum()) - hit_transcripts(results),
        }
        parts = [counted(n, word) for word, n in alone.items() if n > 0]
        if parts:
            sentences.append(f"{listed(parts)} without a hit.")
    return sentences


TEXT = MethodText(
    title="miRNA targets by the rules of miRanda 3.3a",
    package=__package__,
    item="miRNA or transcript",
    items="miRNAs and transcripts",
    regulator="miRNA",
    regulators="miRNAs",
    target="transcript",
    edge="pair",
    edges="pairs",
    score="alignment score",
    score_axis="alignment score",
    ranking="all pairs with a hit, by total score (with a null, by p),",
    strength=("neg_log10_p", "score"),
    ties=("energy_kcal_mol",),
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
        "edges_q_below_0.05": "pairs with q of at most 0.05",
        "edges": "pairs with a hit (edges of the network)",
        "pairs_with_hits": "pairs with a hit (rows of targets.tsv)",
        "hits": "hits",
        "mirnas_with_targets": "miRNAs with a target",
        "transcripts_with_sites": "transcripts with a hit",
        "ortholog_species": "species of the orthologs",
        "ortholog_records": "orthologs",
        "ortholog_records_unknown": "records of other transcripts, left out",
        "transcripts_with_orthologs": "transcripts with an ortholog",
        "expression_samples": "samples with expression",
        "mirnas_with_expression": "miRNAs with expression",
        "transcripts_with_expression": "transcripts with expression",
        "transcripts_in_genome": "transcripts placed in the genome",
        "utrs_in_genome": "those of them placed as 3' UTRs",
        "hits_in_genome": "hits placed in the genome",
    },
    headline=headline,
    key_numbers=key_numbers,
    remarks=remarks,
    findings=findings,
    rules=rules,
    warnings=warnings,
    empty=(
        "There is no hit. A lower score (or scale and gap penalties as they were), a higher energy "
        "threshold or strict: false would give more; check as well that miRNAs and transcripts "
        "are not exchanged, and that transcripts are the strand that is transcribed, 5' to 3'."
    ),
    edge_table=edge_table,
    methods=methods_paragraph,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**FIGURES, "precision_recall": precision_recall},
    sections=(report_hits.section,),
)
