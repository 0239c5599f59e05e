"""Report: the paragraph for the methods section of a paper, and what it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.report_hits import GENES, hits_of
from pairtile.report.formats import count, counted, listed, percent, plain
from pairtile.report.method_report import Reference
from pairtile.report.methods_parts import Part, evaluation_part, paragraph, section, versions
from pairtile.report.references import read_references

if TYPE_CHECKING:
    from pairtile.report.results import Results

papers = read_references(__package__)


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
