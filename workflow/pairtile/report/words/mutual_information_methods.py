"""The methods paragraph of a mutual information network, from the parameters as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.report.formats import count, counted, number
from pairtile.report.words import references as papers
from pairtile.report.words.base import Reference

if TYPE_CHECKING:
    from pairtile.report.results import Results

# A sentence, and the papers that it cites.
Part = tuple[str, list[Reference]]


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        _preparation(results),
        _estimator(results),
        _significance(results),
        _score(results),
        _keep(results),
        _dpi(results),
        _bootstraps(results),
        _evaluation(results),
    ]
    sentences = [sentence for sentence, _ in parts if sentence]
    cited = dict.fromkeys(paper for _, listed in parts for paper in listed)
    return " ".join(sentences), list(cited)


def _preparation(results: Results) -> Part:
    settings, counts = _section(results, "preprocess"), results.counts
    cited: list[Reference] = []
    steps = []
    if settings.get("log2") is True:
        pseudocount = settings.get("pseudocount") or 0
        after = f" after adding {number(pseudocount)}" if pseudocount else ""
        zeros = "" if pseudocount else " (zeros taken as missing)"
        steps.append(f"log2-transformed{after}{zeros}")
    normalize = settings.get("normalize")
    if normalize == "quantile":
        steps.append("quantile-normalised (Bolstad et al. 2003)")
        cited.append(papers.BOLSTAD_2003)
    elif normalize == "median_ratio":
        steps.append("scaled by median-of-ratios size factors (Anders and Huber 2010)")
        cited.append(papers.ANDERS_HUBER_2010)
    elif normalize == "cpm":
        steps.append("scaled to counts per million")
    elif normalize == "zscore":
        steps.append("standardised gene by gene")
    sentence = f"Expression values were {' and '.join(steps)}. " if steps else ""
    read, kept = counts.get("genes_read"), counts.get("genes_kept")
    if read is not None and kept is not None and read != kept:
        reasons = []
        if counts.get("genes_dropped_too_few_samples"):
            least = settings.get("min_samples")
            reasons.append(
                f"observed in fewer than {least} samples" if least else "rarely observed"
            )
        if counts.get("genes_dropped_constant"):
            reasons.append("constant")
        sentence += f"Of {counted(read, 'gene')}, {count(read - kept)} were left out"
        sentence += f" ({' or '.join(reasons)})." if reasons else "."
    return sentence.strip(), cited


def _estimator(results: Results) -> Part:
    settings, counts = _section(results, "estimator"), results.counts
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
    drawn = threshold.get("permutations") or _section(results, "null").get("permutations")
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
        return f"Pairs with p ≤ {number(keep['p_value'])}{at_least} were kept.", []
    if keep.get("fdr") is not None:
        return f"Pairs with q ≤ {number(keep['fdr'])}{at_least} were kept.", []
    if keep.get("score") is not None:
        return f"Pairs with a score of at least {number(keep['score'])} were kept.", []
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
        f"{rule} rule, tolerance {number(tolerance)}{unit})"
    )
    removed = results.counts.get("pairs_removed_by_dpi")
    before = results.counts.get("pairs_before_dpi")
    if removed is not None and before is not None:
        sentence += f", which took {count(removed)} of {counted(before, 'pair')}"
    if results.regulators:
        sentence += "; an edge with a regulator was not removed through a gene that is none"
    return sentence + ".", [papers.MARGOLIN_2006]


def _bootstraps(results: Results) -> Part:
    settings = _section(results, "bootstraps")
    n = settings.get("number")
    if not n:
        return "", []
    drawn = "drawn with replacement"
    if settings.get("resample") == "subsample":
        drawn = f"drawn without replacement (fraction {number(settings.get('fraction'))})"
    correction = {"bh": "Benjamini-Hochberg"}.get(settings.get("correction", ""), "Bonferroni")
    return (
        f"The network is the consensus of {counted(n, 'bootstrap network')}, each from samples "
        f"{drawn}, with a threshold from its own null (after Lachmann et al. 2016); an edge's "
        "support is the number of networks that hold it, and its p- and q-value are those of that "
        f"support against a Poisson with the mean support of all pairs ({correction} correction, "
        f"at most {number(settings.get('alpha'))})."
    ), [papers.LACHMANN_2016]


def _evaluation(results: Results) -> Part:
    evaluation = results.evaluation
    if not evaluation or evaluation.get("aupr") is None:
        return "", []
    return (
        f"Against the {counted(evaluation.get('n_gold_edges', 0), 'edge')} of the gold standard "
        f"the ranking reached an area under the precision-recall curve of "
        f"{number(evaluation['aupr'])} (random: {number(evaluation.get('random_aupr'))}; rule of "
        "the DREAM5 challenge, Marbach et al. 2012)."
    ), [papers.MARBACH_2012]


def _section(results: Results, key: str) -> dict[str, Any]:
    section = results.parameters.get(key)
    return section if isinstance(section, dict) else {}
