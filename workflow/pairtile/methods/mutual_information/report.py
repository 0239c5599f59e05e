"""What the report says of a mutual information network: findings, warnings, and the paragraph on
methods, from the parameters as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from pairtile.methods.mutual_information.config import Keep, KeepRule
from pairtile.methods.mutual_information.report_figures import FIGURES
from pairtile.report.formats import count, counted, listed, number, percent, plain
from pairtile.report.method_report import MethodReport, MethodText, Reference
from pairtile.report.methods_parts import Part, evaluation_part, paragraph, preparation, section
from pairtile.report.references import read_references
from pairtile.report.sections.members import members_section

if TYPE_CHECKING:
    from pairtile.report.results import Results

papers = read_references(__package__)


_KEEP: TypeAdapter[Any] = TypeAdapter(Keep)


def findings(results: Results) -> list[str]:
    """Sentences on how pairs became edges: the threshold, the DPI, the bootstraps."""
    sentences = []
    counts = results.counts
    threshold = results.summary.get("threshold") or {}
    scored, kept = counts.get("pairs_scored"), counts.get("pairs_kept")
    rule = _in_words(keep_rule(results))
    if scored is not None and kept is not None:
        text = f"{count(kept)} of {counted(scored, 'scored pair')} were kept"
        if threshold.get("mi_bits") is not None:
            text += f": mutual information of at least {number(threshold['mi_bits'])} bits"
            text += f" ({rule})" if rule else ""
        elif rule:
            text += f" ({rule})"
        sentences.append(text + ".")
    before, removed = counts.get("pairs_before_dpi"), counts.get("pairs_removed_by_dpi")
    if results.parameters.get("dpi") and before and removed is not None:
        sentences.append(
            f"The data processing inequality removed {count(removed)} of "
            f"{counted(before, 'pair')} ({percent(removed / before)}) as better explained by "
            "a path through a third gene."
        )
    if "mode" in results.network and len(results.network):
        modes = results.network["mode"].value_counts(normalize=True)
        shares = [f"{percent(share)} are {mode}" for mode, share in modes.items()]
        sentences.append(f"Of the edges {listed(shares)}.")
    if "support" in results.network and len(results.network):
        n = (results.parameters.get("bootstraps") or {}).get("number")
        middle = float(results.network["support"].median())
        found = f"{middle:g} or more" if middle != n else "all"
        sentences.append(
            f"Half of the edges were found in {found}"
            + (f" of the {count(n)} bootstrap networks." if n else " bootstrap networks.")
        )
    return sentences


def warnings(results: Results) -> list[str]:
    """Warnings that the tables themselves give rise to."""
    found = []
    few = results.counts.get("pairs_too_few_samples")
    if few:
        found.append(
            f"{counted(few, 'pair got', 'pairs got')} no score: too few samples in which both "
            "genes were observed."
        )
    return found


def keep_rule(results: Results) -> KeepRule | None:
    """The rule by which pairs were kept; None where the results do not say."""
    asked = results.parameters.get("keep", (results.summary.get("threshold") or {}).get("keep"))
    try:
        rule: KeepRule = _KEEP.validate_python(asked)
    except ValidationError:
        return None
    return rule


def _in_words(rule: KeepRule | None) -> str:
    """A rule as it stands in brackets; "" where all pairs were kept."""
    return "" if rule is None else rule.short.format(**_numbers(rule))


def _numbers(rule: KeepRule) -> dict[str, str]:
    """The numbers of a rule by their keys."""
    return {
        key: count(value) if isinstance(value, int) else plain(value)
        for key, value in dict(rule).items()
    }


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
        _signs(results),
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
        f"Significance was tested against a null of {n} mutual informations".replace("  ", " ")
        + " between genes of which one had its samples permuted: p = (1 + b) / (1 + N), with b the "
        "number of the N null values that reach the observed one (Phipson and Smyth 2010)."
    )
    methods = set(results.network.get("p_method", ())) | {threshold.get("p_method")}
    if "extrapolated" in methods:
        sentence += (
            " Where fewer than ten null values reach the observed one, p-values were extrapolated, "
            "log p being taken as linear in mutual information over the top 1% of the null."
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
    rule = keep_rule(results)
    if rule is None:
        return "", []
    bits = (results.summary.get("threshold") or {}).get("mi_bits")
    at_least = f" (mutual information of at least {number(bits)} bits)" if bits is not None else ""
    return rule.sentence.format(**_numbers(rule), bits=at_least), []


def _signs(results: Results) -> Part:
    if "spearman" not in results.network:
        return "", []
    return (
        "The sign of an edge is that of Spearman’s rank correlation; an edge is called "
        "non-monotonic where two normal variables of that correlation would share less than half "
        "of its mutual information, the mean of the null taken off."
    ), []


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
    drawn = (
        f"The network is the consensus of {counted(n, 'bootstrap network')}, each from samples "
        f"{drawn}, with a threshold from its own null (after Lachmann et al. 2016); an edge's "
        "support is the number of networks that hold it"
    )
    most = f"at most {plain(settings['alpha'])}"
    if settings.get("correction", "fdr") == "fdr":
        return (
            f"{drawn}, and its q-value is the expected share of unrelated genes among the pairs "
            "with as much support: their supports come from as many networks of the same samples "
            "with the genes' values exchanged, held to the same bar (false discoveries counted in "
            f"permuted data; {most})."
        ), [papers.LACHMANN_2016]
    correction = "Benjamini-Hochberg" if settings["correction"] == "bh" else "Bonferroni"
    return (
        f"{drawn}, and its p- and q-value are those of that support against a Poisson with the "
        f"mean support of all pairs ({correction} correction, {most})."
    ), [papers.LACHMANN_2016]


TEXT = MethodText(
    title="B-spline mutual information",
    package=__package__,
    score="mutual information",
    score_axis="mutual information (bits)",
    score_unit="bits",
    strength=("target_z", "clr", "mi_bits"),
    directed_columns=("target_z",),
    counts={
        "genes_read": "genes read",
        "genes_kept": "genes kept",
        "genes_dropped_too_few_samples": "genes left out: too few observed samples",
        "genes_dropped_constant": "genes left out: constant",
        "genes_constant": "constant genes kept (their mutual information is 0)",
        "samples": "samples",
        "regulators_used": "regulators",
        "values_missing_in_input": "missing values in the input",
        "zeros_to_missing": "zeros read as missing",
        "pairs": "pairs",
        "pairs_scored": "pairs scored",
        "pairs_too_few_samples": "pairs without a score: too few shared samples",
        "pairs_kept": "pairs kept by the threshold",
        "pairs_before_dpi": "pairs before the data processing inequality",
        "pairs_removed_by_dpi": "pairs removed by the data processing inequality",
        "edges": "edges in the network",
    },
    findings=findings,
    warnings=warnings,
    methods=methods_paragraph,
)

REPORT = MethodReport(text=TEXT, figures=FIGURES, sections=(members_section,))
