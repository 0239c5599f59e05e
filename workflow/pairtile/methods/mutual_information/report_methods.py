"""The methods paragraph of a mutual information network, from the parameters as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairtile.report.formats import count, counted, number, plain
from pairtile.report.method_report import Reference
from pairtile.report.methods_parts import Part, evaluation_part, paragraph, preparation, section
from pairtile.report.references import read_references

if TYPE_CHECKING:
    from pairtile.report.results import Results

papers = read_references(__package__)


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        preparation(results),
        _estimator(results),
        _significance(results),
        _score(results),
        _keep(results),
        _dpi(results),
        _bootstraps(results),
        evaluation_part(results),
    ]
    return paragraph(parts)


def _estimator(results: Results) -> Part:
    settings, counts = section(results, "estimator"), results.counts
    version = results.summary.get("pairtile_version", "")
    which = "between every pair of genes"
    if results.regulators:
        which = f"between each of {counted(len(results.regulators), 'regulator')} and every gene"
    over = f" over {counted(counts['samples'], 'sample')}" if "samples" in counts else ""
    sentence = (
        f"Mutual information {which} was estimated{over} with pairtile {version}".rstrip()
        + " by the B-spline method (Daub et al. 2004)"
    )
    if "bins" in settings and "order" in settings:
        sentence += f" with {settings['bins']} bins and splines of order {settings['order']}"
    if settings.get("knots"):
        sentence += f" ({settings['knots']} knots)"
    if settings.get("transform") == "rank":
        sentence += ", applied to the ranks of each gene's values"
    sentence += "."
    if counts.get("values_missing_in_input") or counts.get("zeros_to_missing"):
        sentence += (
            " For each pair, the samples in which both genes were observed were used, and the "
            "marginal entropies were taken from the same samples."
        )
    return sentence, [papers.DAUB_2004]


def _significance(results: Results) -> Part:
    if "p_value" not in results.network:
        return "", []
    threshold = results.summary.get("threshold") or {}
    drawn = threshold.get("permutations") or section(results, "null").get("permutations")
    n = count(drawn) if isinstance(drawn, int | float) and drawn else ""
    sentence = (
        f"Significance was judged against a null of {n} mutual informations".replace("  ", " ")
        + " between genes of which one had its samples permuted: p = (1 + b) / (1 + N), with b the "
        "number of the N null values that reach the observed one (Phipson and Smyth 2010)."
    )
    methods = set(results.network.get("p_method", ())) | {threshold.get("p_method")}
    if "extrapolated" in methods:
        sentence += (
            " p-values below what the permutations resolve were extrapolated, log p being taken as "
            "linear in mutual information over the top 1% of the null."
        )
    sentence += (
        " q-values control the false discovery rate over all scored pairs"
        " (Benjamini and Hochberg 1995)."
    )
    return sentence, [papers.PHIPSON_SMYTH_2010, papers.BENJAMINI_HOCHBERG_1995]


def _score(results: Results) -> Part:
    score = results.parameters.get("score")
    if score == "clr":
        return (
            "Pairs were scored by the context likelihood of relatedness (Faith et al. 2007): the "
            "z-score of their mutual information within the values of either gene, negative ones "
            "set to zero, combined as the root of the sum of squares."
        ), [papers.FAITH_2007]
    if score == "target_z":
        return (
            "Each directed pair was scored by the z-score of its mutual information among all "
            "candidate sources of its target."
        ), []
    return "", []


def _keep(results: Results) -> Part:
    keep = results.parameters.get("keep")
    bits = (results.summary.get("threshold") or {}).get("mi_bits")
    at_least = f" (mutual information of at least {number(bits)} bits)" if bits is not None else ""
    if keep == "all":
        return "All scored pairs were kept.", []
    if not isinstance(keep, dict):
        return "", []
    if keep.get("p_value") is not None:
        return f"Pairs with p ≤ {plain(keep['p_value'])}{at_least} were kept.", []
    if keep.get("fdr") is not None:
        return f"Pairs with q ≤ {plain(keep['fdr'])}{at_least} were kept.", []
    if keep.get("score") is not None:
        return f"Pairs with a score of at least {plain(keep['score'])} were kept.", []
    if keep.get("top_edges") is not None:
        return f"The {count(keep['top_edges'])} highest-scoring pairs were kept.", []
    return "", []


def _dpi(results: Results) -> Part:
    dpi = results.parameters.get("dpi")
    if not isinstance(dpi, dict) or not dpi:
        return "", []
    rule, tolerance = dpi.get("rule", "relative"), dpi.get("tolerance", 0.0)
    unit = " bits" if rule == "additive" else ""
    sentence = (
        "Indirect edges were removed by the data processing inequality (Margolin et al. 2006; "
        f"{rule} rule, tolerance {plain(tolerance)}{unit})"
    )
    removed = results.counts.get("pairs_removed_by_dpi")
    before = results.counts.get("pairs_before_dpi")
    if removed is not None and before is not None:
        sentence += f", which took {count(removed)} of {counted(before, 'pair')}"
    if results.regulators:
        sentence += "; an edge with a regulator was not removed through a gene that is none"
    return sentence + ".", [papers.MARGOLIN_2006]


def _bootstraps(results: Results) -> Part:
    settings = section(results, "bootstraps")
    n = settings.get("number")
    if not n:
        return "", []
    drawn = "drawn with replacement"
    if settings.get("resample") == "subsample":
        drawn = f"drawn without replacement (fraction {plain(settings['fraction'])})"
    correction = {"bh": "Benjamini-Hochberg"}.get(settings.get("correction", ""), "Bonferroni")
    return (
        f"The network is the consensus of {counted(n, 'bootstrap network')}, each from samples "
        f"{drawn}, with a threshold from its own null (after Lachmann et al. 2016); an edge's "
        "support is the number of networks that hold it, and its p- and q-value are those of that "
        f"support against a Poisson with the mean support of all pairs ({correction} correction, "
        f"at most {plain(settings['alpha'])})."
    ), [papers.LACHMANN_2016]
