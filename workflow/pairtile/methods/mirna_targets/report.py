"""Report: text of the miRNA targets method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from pairtile.methods.mirna_targets import report_hits
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.report_figures import FIGURES
from pairtile.methods.mirna_targets.report_hits import (
    GENES,
    hits_of,
    shared_sites,
    target_rows,
    targets_of,
)
from pairtile.methods.mirna_targets.report_signal import (
    chance_numbers,
    conservation_findings,
    expression_findings,
    has_null,
    signal_findings,
)
from pairtile.report.formats import count, counted, listed, number, percent, plain
from pairtile.report.make_figures import precision_recall
from pairtile.report.method_report import MethodReport, MethodText, Reference
from pairtile.report.methods_parts import Part, evaluation_part, paragraph, section, versions
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
        sentences.append(
            f"{count(counts['hits_in_genome'])} of {counted(n_hits(results), 'hit')} have genome "
            "coordinates in hits.bed and hits.gff3; the others stay in those of their transcript."
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


# --- remarks on what was found --------------------------------------------------------------------


N_NAMED = 3


def remarks(results: Results) -> list[str]:
    """What chance gives, then strongest hits, largest hubs, seed classes, and what was left out or
    has no hit."""
    return [
        *signal_findings(results),
        *conservation_findings(results),
        *expression_findings(results),
        *_strongest_hits(results),
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
    return [f"Strongest: {listed(sites)}."]


def _hubs(results: Results) -> list[str]:
    targets = results.cached(targets_of)
    if targets is None or targets.n < 2:
        return []
    sentences = []
    for table, of, noun in (
        (targets.mirnas, "Most targets", "transcript"),
        (targets.transcripts, "Hit by most miRNAs", "miRNA"),
    ):
        named = [
            f"{name} ({counted(int(n), noun)})" for name, n in table["pairs"].head(N_NAMED).items()
        ]
        sentences.append(f"{of}: {listed(named)}.")
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


# --- methods paragraph ----------------------------------------------------------------------------


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        _search(results),
        _alignment(results),
        _energies_part(results),
        _seed_classes_part(results),
        _extras(results),
        _null_part(results),
        _conservation_part(results),
        _expression_part(results),
        _found(results),
        evaluation_part(results),
    ]
    return paragraph(parts)


def settings_of(results: Results) -> dict[str, Any]:
    """How sites were aligned and which are hits: the section ``estimator``, complete."""
    return AlignmentConfig().model_dump() | section(results, "estimator")


def _search(results: Results) -> Part:
    counts, settings = results.counts, settings_of(results)
    mirnas = counted(counts["mirnas_kept"], "miRNA") if "mirnas_kept" in counts else "miRNAs"
    transcripts = "transcripts"
    if "transcripts_kept" in counts:
        transcripts = counted(counts["transcripts_kept"], "transcript")
    if settings["trim"]:
        transcripts = f"the first {count(settings['trim'])} nucleotides of {transcripts}"
    only = ""
    if "restrict_pairs_read" in counts:
        only = f", for {counted(counts.get('pairs_scored', 0), 'chosen pair')} of them"
    return (
        f"Target sites of {mirnas} in {transcripts}{only} were predicted with "
        f"pairtile{versions(results)}, which applies the rules of miRanda 3.3a (Enright et al. "
        "2003; on GPUs: Wang et al. 2014) and gives the same hits."
    ), [papers.ENRIGHT_2003, papers.WANG_2014]


def _alignment(results: Results) -> Part:
    settings = settings_of(results)
    weighted = ""
    if settings["scale"] != 1:
        weighted = f"; at miRNA positions 2–8 all of these times {plain(settings['scale'])}"
    sentence = (
        "Each miRNA was aligned to each transcript by complementarity (A-U and G-C pairs 5, G-U "
        f"pairs 1, mismatches −3, gaps {plain(settings['gap_open'])} to open and "
        f"{plain(settings['gap_extend'])} to extend{weighted}), and all sites that share "
        "fewer than 6 nucleotides with a better one, with a score of at least "
        f"{plain(settings['score'])}"
    )
    if settings["strict"]:
        sentence += " and Watson-Crick pairs without a gap at positions 2–8"
    return f"{sentence}, were taken.", []


def _energies_part(results: Results) -> Part:
    settings = settings_of(results)
    if not settings["energies"]:
        return "Duplex energies were not computed.", []
    return (
        "The free energy of a duplex is the minimum free energy at 30 °C of miRNA and site, joined "
        "by a linker that does not pair, with the nearest-neighbour parameters of Mathews et al. "
        f"1999 as provided by the ViennaRNA package{_vienna(results)} (Lorenz et al. 2011); sites "
        f"with an energy below {plain(settings['energy'])} kcal/mol were kept."
    ), [papers.MATHEWS_1999, papers.LORENZ_2011]


def _seed_classes_part(results: Results) -> Part:
    return (
        "Sites were classified by their seed match as 8mer, 7mer-m8, 7mer-A1, 6mer or offset 6mer "
        "(Bartel 2009; Friedman et al. 2009), and the content of A and U around them was weighted "
        "by distance (after Grimson et al. 2007)."
    ), [papers.BARTEL_2009, papers.FRIEDMAN_2009, papers.GRIMSON_2007]


def _extras(results: Results) -> Part:
    extras = section(results, "extras")
    computed, cited = [], []
    context: Part = ("", [])
    if extras.get("context"):
        context = (
            "Sites with a seed match have the context++ score of Agarwal et al. 2015 without its "
            "terms for conservation, open reading frame, target abundance and accessibility.",
            [papers.AGARWAL_2015],
        )
    if extras.get("duplex_energy"):
        computed.append("their energy by RNAduplex (parameters of Mathews et al. 2004, 37 °C)")
        cited.append(papers.MATHEWS_2004)
    if extras.get("accessibility"):
        computed.append(
            "the probability that the site is unpaired by RNAplfold (Bernhart et al. 2006; window "
            "80, pairs up to 40 nucleotides apart)"
        )
        cited.append(papers.BERNHART_2006)
    if not computed:
        return context
    package = f"the ViennaRNA package{_vienna(results)} (Lorenz et al. 2011)"
    sentence = f"{context[0]} For the hits, {package} gave {listed(computed)}.".strip()
    return sentence, [*context[1], *cited, papers.LORENZ_2011]


def _null_part(results: Results) -> Part:
    null = results.parameters.get("null")
    if not null:
        return "", []
    return (
        f"Sites were compared with those of {count(null['shuffles'])} shuffles of each miRNA that "
        "keep its dinucleotides (Altschul and Erickson 1985) and whose canonical sites are to be "
        "expected in these transcripts as often as its own, by a Markov chain of second order "
        "(after Lewis et al. 2005; Friedman et al. 2009). A pair’s score is −log10 of the least "
        "Poisson probability of as many sites as strong, over its k strongest sites, k = 1, 2, …; "
        "p is the share of the pairs of the miRNA’s shuffles that score as high, q follows "
        "Benjamini and Hochberg 1995."
    ), [
        papers.ALTSCHUL_1985,
        papers.LEWIS_2005,
        papers.FRIEDMAN_2009,
        papers.BENJAMINI_HOCHBERG_1995,
    ]


def _conservation_part(results: Results) -> Part:
    if not results.parameters.get("orthologs"):
        return "", []
    n = counted(results.counts.get("ortholog_species", 0), "species", "species")
    tree = " and the branch length of the tree that joins them"
    text = (
        f"Of each site, the species (of {n}) were counted whose orthologous transcript has the "
        f"letters of the site’s seed class{tree if results.parameters.get('species_tree') else ''}."
    )
    if not results.parameters.get("null"):
        return text, []
    return (
        f"{text} Sites conserved beyond chance are those kept, less all sites times the share of "
        "the shuffles’ sites that is kept (after Friedman et al. 2009)."
    ), [papers.FRIEDMAN_2009]


def _expression_part(results: Results) -> Part:
    if not results.parameters.get("mirna_expression"):
        return "", []
    n = counted(results.counts.get("expression_samples", 0), "sample")
    return (
        f"Over {n}, Spearman’s correlation of each miRNA and each transcript with a canonical site "
        "was compared with those of the miRNA and the transcripts with a canonical site of one of "
        "its shuffles: p is the share of these that are as low."
    ), []


def _found(results: Results) -> Part:
    network, hits = results.network, results.cached(hits_of)
    if network.empty:
        return "No site was found.", []
    target = "gene" if GENES in network else "transcript"
    sentence = f"This gave {counted(len(network), 'pair')} of miRNA and {target}"
    if hits is not None and hits.n:
        sentence += (
            f" with {counted(hits.n, 'site')}, of which {count(hits.canonical)} "
            f"({percent(hits.canonical / hits.n)}) have a canonical seed match"
        )
    return f"{sentence}.", []


def _vienna(results: Results) -> str:
    known = {k.lower(): v for k, v in (results.summary.get("versions") or {}).items()}
    version = known.get("viennarna")
    return f" {version}" if version else ""


# --- files and their columns ----------------------------------------------------------------------


FILES = {
    "hits.tsv": "every hit: one row a site, with its alignment, seed class and surroundings",
    "hits.parquet": "the same with types, for Python and R",
    "targets.tsv": "every pair of miRNA and transcript with a hit: one row a pair, its hits summed",
    "hits.bed": (
        "the sites as BED12 for a genome browser, thick at the seed match; genome coordinates "
        "where an annotation was given, else those of the transcripts"
    ),
    "hits.gff3": "the same as GFF3, with scores, seed classes and energies as attributes",
    "signal.tsv": (
        "how many sites there are and how many the shuffles have, by seed class and score, of all "
        "miRNAs and of each (with a null)"
    ),
    "signal_curve.tsv": "the same of pairs, by pair score (with a null)",
    "conservation.tsv": (
        "how many sites are kept in other species and how many chance keeps, by seed class and how "
        "well they are kept (with a null and orthologs)"
    ),
    "expression.tsv": (
        "whether the targets of each miRNA go against it in expression, beside those of its "
        "shuffles (with a null and expression)"
    ),
    "miranda.txt": "the text that miRanda 3.3a prints for this input (without its banner)",
    "network.parquet": "the network: one edge a pair, strongest first",
    "items.parquet": "every record of both FASTA files, kept or left out and why",
}

ALIGNMENT_COLUMNS = {
    "query_alignment": "the miRNA, 3' to 5', aligned part in capitals",
    "match_line": "“|”: A-U or G-C pair, “:”: G-U pair",
    "reference_alignment": "the transcript, 5' to 3', aligned part in capitals",
}

HIT_COLUMNS = {
    "mirna, transcript": "names; # and a number mark a name that was there already",
    "rank": "place among the hits of the pair, from 1, in miRanda’s order",
    "score": "alignment score",
    "energy_kcal_mol": "free energy of the duplex as miRanda has it; empty without energies",
    "query_begin, query_end": "aligned part of the miRNA, from its 5' end, counted from 1",
    "reference_begin, reference_end": (
        "place on the transcript, counted from 1, with the letters opposite the miRNA’s ends"
    ),
    "site_begin, site_end": "the aligned part of it",
    "alignment_length": "columns of the alignment, gaps included",
    "identity_percent": "share of columns with an A-U or G-C pair",
    "similarity_percent": "share of columns with an A-U, G-C or G-U pair",
    "seed_class": (
        "pairs without a gap at miRNA positions 2–8 and an A opposite position 1: 8mer; 2–8: "
        "7mer-m8; 2–7 and that A: 7mer-A1; 2–7: 6mer; 3–8: offset 6mer"
    ),
    "seed_begin, seed_end": "the seed match on the transcript, with that A; empty for none",
    "local_au": "share of A and U in 30 letters on either side, near ones counting more, 0 to 1",
    "relative_position": "middle of the site on the transcript: 0 at the 5' end, 1 at the 3' end",
    "transcript_length": "letters of the transcript",
    "species_with_ortholog": "species with an ortholog of the transcript (with orthologs)",
    "species_kept": "those of them whose ortholog has the letters of the seed class",
    "branch_length_kept": "branches that join them and the reference (with a species tree)",
    "conservation_rate": (
        "share of the sites of this class, kept so well or better, that chance does not explain"
    ),
    "pairing_3p, end_distance, offset_6mers, seed_pairing_kcal_mol": (
        "of the seed match of 6mers and better: pairs behind it, letters to the nearer end, "
        "matches to positions 3 to 8 in the transcript, energy of its pairs (extras)"
    ),
    "target_site_abundance": "canonical sites of the miRNA in all transcripts together (extras)",
    "context_score": "context++ score as far as sequences give it; below 0 is repression (extras)",
    "duplex_energy_kcal_mol": "ViennaRNA’s current duplex energy, Turner 2004 at 37 °C (extras)",
    "accessibility": "probability that the whole aligned site is unpaired (extras)",
    **ALIGNMENT_COLUMNS,
}

NULL_COLUMNS = {
    "pair_score": "−log10 of the Poisson probability of so many sites so strong (with a null)",
    "p_value, q_value": "against the pairs of the miRNA’s shuffles (with a null)",
}

TARGET_COLUMNS = {
    "mirna, transcript": "names",
    **NULL_COLUMNS,
    "n_hits": "hits of the pair",
    "n_canonical_sites": "those of class 8mer, 7mer-m8 or 7mer-A1",
    "best_seed_class": "the best class among them",
    "total_score, max_score": "sum and greatest of the alignment scores",
    "total_energy_kcal_mol, min_energy_kcal_mol": "sum and lowest of the energies",
    "max_local_au": "greatest local AU content",
    "transcript_length": "letters of the transcript",
    "positions": "where each hit begins on the transcript, strongest first",
    "total_context_score": "sum of the sites’ context scores (extras)",
    "max_species_kept, max_branch_length_kept, max_conservation_rate": (
        "greatest of the sites (with orthologs)"
    ),
    "correlation": "Spearman’s, of miRNA and transcript over the samples (with expression)",
    "correlation_p_value, correlation_q_value": (
        "how low it is among the pairs of the miRNA’s shuffles; pairs with a canonical site"
    ),
}

NETWORK_COLUMNS = {
    "source, target": "miRNA and transcript",
    "score": "greatest alignment score of the pair’s hits",
    "energy_kcal_mol": "lowest energy of its hits; not there without energies",
    "n_hits": "number of its hits",
    "total_score, total_energy_kcal_mol": "sums over its hits",
    **NULL_COLUMNS,
    "neg_log10_p": "−log10 of p_value: a weight that is high where p is low (with a null)",
}

SIGNAL_COLUMNS = {
    "mirna": "name, or all",
    "seed_class": "a seed class, canonical (8mer, 7mer-m8, 7mer-A1) or all",
    "min_score": "least alignment score",
    "sites": "hits that count",
    "expected": "the same of the shuffles, on average",
    "ratio": "sites / expected",
    "ratio_low, ratio_high": "sites over the 97.5 and 2.5 % quantiles of the shuffles",
    "p_value": "share of shuffles with as many or more",
}

CONSERVATION_COLUMNS = {
    "mirna": "name, or all",
    "seed_class": "a seed class, or canonical: 8mer, 7mer-m8, 7mer-A1, each expected by itself",
    "min_species": "least number of species; with a species tree min_branch_length",
    "sites": "sites on transcripts with an ortholog",
    "kept": "S: those that so many species keep",
    "expected": "B: sites times the share of the shuffles’ sites that are kept so",
    "conservation_rate": "(S − B) / S",
    "rate_low, rate_high": "to the 97.5 and 2.5 % quantiles of the shuffles",
    "p_value": "share of shuffles of which as many or more are kept",
}

EXPRESSION_COLUMNS = {
    "mirna": "name, or all",
    "pairs": "pairs with a canonical site whose two sides have expression",
    "correlation": "mean of their correlations, in steps of 0.01",
    "expected": "the same of the shuffles, on average",
    "p_value": "share of shuffles with as low a mean",
    "q_value": "Benjamini-Hochberg over the miRNAs",
}

CURVE_COLUMNS = {
    "mirna": "name, or all",
    "min_pair_score": "least pair score",
    "pairs": "pairs that reach it",
    "expected": "the same of the shuffles, on average",
    "ratio": "pairs / expected",
}

FILE_COLUMNS = {
    "hits.tsv": HIT_COLUMNS,
    "targets.tsv": TARGET_COLUMNS,
    "signal.tsv": SIGNAL_COLUMNS,
    "signal_curve.tsv": CURVE_COLUMNS,
    "conservation.tsv": CONSERVATION_COLUMNS,
    "expression.tsv": EXPRESSION_COLUMNS,
    "network.parquet": NETWORK_COLUMNS,
}


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
    ranking="all pairs with a hit, by total score (with a null, by p),",
    strength=("neg_log10_p", "score"),
    ties=("energy_kcal_mol",),
    columns={
        "score": "best score",
        "energy_kcal_mol": "lowest energy (kcal/mol)",
        "n_hits": "hits",
        "total_score": "total score",
        "total_energy_kcal_mol": "total energy (kcal/mol)",
        "pair_score": "pair score",
        "p_value": "p",
        "q_value": "q",
        "neg_log10_p": "−log10 p",
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
    files=FILES,
    file_columns=FILE_COLUMNS,
    methods=methods_paragraph,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**FIGURES, "precision_recall": precision_recall},
    sections=(report_hits.section,),
)
