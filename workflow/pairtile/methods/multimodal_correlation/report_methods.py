"""The methods paragraph of a multimodal network, from the parameters as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.multimodal_correlation.report_findings import as_set, mixture
from pairtile.methods.multimodal_correlation.report_results import mode_results
from pairtile.report.formats import count, counted, listed, plain
from pairtile.report.method_report import Reference
from pairtile.report.methods_parts import (
    Part,
    evaluation_part,
    paragraph,
    preparation,
    section,
    versions,
)
from pairtile.report.references import read_references

if TYPE_CHECKING:
    from pairtile.report.results import Results

papers = read_references(__package__)

CRITERIA: dict[str, Part] = {
    "icl": (
        "the integrated completed likelihood (Biernacki et al. 2000)",
        [papers.BIERNACKI_2000],
    ),
    "bic": ("the Bayesian information criterion (Schwarz 1978)", [papers.SCHWARZ_1978]),
    "aic": ("Akaike's information criterion (Akaike 1974)", [papers.AKAIKE_1974]),
}
COEFFICIENTS = {"spearman": "Spearman's rank correlation", "pearson": "Pearson's correlation"}


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        preparation(results),
        _samples(results),
        _mixture(results),
        _correlation(results),
        _threshold(results),
        _power(results),
        _conditions(results),
        _modules(results),
        evaluation_part(results),
    ]
    return paragraph(parts)


def _kinc(results: Results) -> bool:
    return results.parameters.get("compatibility") == "kinc"


def _samples(results: Results) -> Part:
    settings, counts = section(results, "estimator"), results.counts
    kept = counts.get("genes_kept")
    pairs = f"the {counted(counts['pairs'], 'pair')}" if counts.get("pairs") else "all pairs"
    genes = f"{counted(kept, 'gene')}" if kept else "the genes"
    samples = f" in {counted(counts['samples'], 'sample')}" if counts.get("samples") else ""
    low, high = settings.get("min_expression"), settings.get("max_expression")
    limits = [
        f"{word} {plain(limit)}"
        for word, limit in (("at least", low), ("at most", high))
        if limit is not None
    ]
    within = f" at values of {' and '.join(limits)}" if limits else ""
    sentence = (
        f"Co-expression of {pairs} of {genes}{samples} was computed with pairtile"
        f"{versions(results)}, for each pair over the samples in which both genes were observed"
        f"{within}"
    )
    if settings.get("outliers_before"):
        sentence += (
            ", without outliers (values of either gene more than 1.5 interquartile ranges beyond "
            "the quartiles)"
        )
    return f"{sentence}.", []


def _mixture(results: Results) -> Part:
    if not mixture(results):
        return "", []
    settings = section(results, "estimator")
    low, high = settings.get("min_clusters", 1), settings.get("max_clusters", 5)
    sizes = f"{low} to {high} components" if low != high else counted(low, "component")
    criterion, cited = CRITERIA.get(str(settings.get("criterion")), ("", []))
    sentence = (
        f"The samples of each pair were split into modes by Gaussian mixture models of {sizes} "
        "(Shealy et al. 2019), "
    )
    if _kinc(results):
        sentence += "fitted as KINC 3.4.2 does it"
    else:
        starts = counted(int(settings.get("restarts", 1)), "k-means++ start")
        sentence += (
            f"fitted to standardised values by expectation-maximisation from the best of {starts}"
        )
    sentence += f"; the number of components was chosen by {criterion}." if criterion else "."
    return sentence, [papers.SHEALY_2019, *cited]


def _correlation(results: Results) -> Part:
    settings = section(results, "estimator")
    coefficient = COEFFICIENTS.get(str(settings.get("correlation")), "the correlation")
    least = settings.get("min_samples")
    if not mixture(results):
        return (
            f"{coefficient[0].upper()}{coefficient[1:]} was computed for pairs with at least "
            f"{least} samples."
        ), []
    after = (
        ", outliers of the mode left out by the same rule" if settings.get("outliers_after") else ""
    )
    return (
        f"{coefficient[0].upper()}{coefficient[1:]} was computed within each mode of at least "
        f"{least} samples{after}."
    ), []


def _threshold(results: Results) -> Part:
    settings, found = section(results, "threshold"), results.cached(mode_results)
    method = settings.get("method")
    value = found.threshold if found is not None else None
    if method == "none" or (method == "score" and value is None):
        least = section(results, "estimator").get("min_correlation")
        return f"Every mode with |r| ≥ {least:g} made an edge.", []
    if method == "score" and value is not None:
        return f"Modes with |r| ≥ {as_set(value)} made the edges.", []
    if method == "rmt":
        how = "random matrix theory (Luo et al. 2007"
        how += ", with KINC's choice of genes)" if settings.get("rule") == "kinc" else ")"
        cited = [papers.LUO_2007]
    else:
        how = "the fit of a power law to the numbers of neighbours (Zhang and Horvath 2005)"
        cited = [papers.ZHANG_HORVATH_2005]
    if value is None:
        return f"A threshold was sought by {how}, and none was found.", cited
    return f"Edges are modes with |r| ≥ {as_set(value)}, a threshold found by {how}.", cited


def _power(results: Results) -> Part:
    settings = section(results, "power")
    if not settings:
        return "", []
    left_out = results.counts.get("modes_without_power", 0)
    return (
        f"Modes with less than {settings.get('power'):g} power at a significance level of "
        f"{settings.get('alpha'):g} (Cohen 1988) were left out ({count(left_out)})."
    ), [papers.COHEN_1988]


def _conditions(results: Results) -> Part:
    found = results.cached(mode_results)
    if found is None or not found.conditions:
        return "", []
    labels = [each.name for each in found.conditions if each.kind == "categorical"]
    numbers = [each.name for each in found.conditions if each.kind != "categorical"]
    tests = []
    if labels:
        tests.append(
            f"for each label of {listed(labels)} by the hypergeometric test of its samples in the "
            "mode among those of the pair"
        )
    if numbers:
        tests.append(
            f"for {listed(numbers)} by the F-test of a linear regression on the expression of both "
            "genes and their product"
        )
    limits: dict[str, Any] = section(results, "condition_networks")
    least = f" and R² ≥ {limits.get('r_squared'):g}" if numbers else ""
    of_numbers = " (R² for regressions)" if numbers and labels else ""
    return (
        f"Edges were tested {listed(tests)} (SciPy; Virtanen et al. 2020), with q-values by "
        "Benjamini and Hochberg (1995) over all edges and labels of a condition; "
        "condition-specific networks hold edges with q ≤ "
        f"{limits.get('q_value'):g}{least}{of_numbers}."
    ), [papers.VIRTANEN_2020, papers.BENJAMINI_HOCHBERG_1995]


def _modules(results: Results) -> Part:
    settings, found = section(results, "modules"), results.cached(mode_results)
    if not settings or found is None or found.modules.empty:
        return "", []
    n = counted(found.modules["module"].nunique(), "module")
    version = (results.summary.get("versions") or {}).get("igraph")
    igraph = f", igraph {version}" if version else ""
    resolution = float(settings.get("resolution", 1.0))
    at = "" if resolution == 1.0 else f", resolution {resolution:g}"
    if settings.get("method") == "link_communities":
        return (
            f"Edges fall into {n} by Leiden communities of the line graph (Evans and Lambiotte "
            f"2010; Traag et al. 2019{igraph}{at})."
        ), [papers.EVANS_LAMBIOTTE_2010, papers.TRAAG_2019]
    return (
        f"The genes of the network fall into {n} by the Leiden algorithm, edges weighted by |r| "
        f"(Traag et al. 2019{igraph}{at})."
    ), [papers.TRAAG_2019]
