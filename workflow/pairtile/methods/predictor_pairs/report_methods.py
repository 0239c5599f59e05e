"""The methods paragraph of a search for predictor sets, from the parameters as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairtile.methods.predictor_pairs.network_sets import WORDS
from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.report.formats import count, counted, listed, number
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

RULES = {
    "mean_split": {
        2: "above its mean or not",
        3: "with borders at a third of the mean of its negative and of its other z-scores",
    },
    "extreme_split": {3: "with borders at a third of its lowest and of its highest z-score"},
    "quantile": "by quantiles",
    "kmeans": "by exact one-dimensional k-means",
}


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        preparation(results),
        _levels(results),
        _search(results),
        _penalty(results),
        _ties(results),
        _joint(results),
        _significance(results),
        _keep(results),
        evaluation_part(results),
    ]
    return paragraph(parts)


def _size(results: Results) -> int:
    return int(section(results, "estimator").get("cardinality", 2))


def _word(results: Results) -> str:
    return WORDS[_size(results)]


def _levels(results: Results) -> Part:
    settings = section(results, "quantize")
    if results.parameters.get("levels") is not None:
        return "", []
    q, rule = settings.get("levels"), settings.get("rule")
    how = RULES.get(str(rule), "")
    if isinstance(how, dict):
        how = how.get(q, "")
    if rule == "thresholds":
        borders = [number(x) for x in settings.get("thresholds") or ()]
        how = f"with borders at {listed(borders)}"
    return f"Each gene's values were quantised to {q} levels {how}".rstrip() + ".", []


def _search(results: Results) -> Part:
    counts, settings = results.counts, section(results, "estimator")
    grown = settings.get("search") == "sffs"
    cited = [papers.MARTINS_2006]
    which = f"every {_word(results)} of"
    if grown:
        which = "triples grown from the best pairs of"
    itself = "the target itself included" if settings.get("self") else "the target itself left out"
    targets, candidates = counts.get("targets_used"), counts.get("regulators_used")
    of_each = f"each of {counted(targets, 'target gene')}" if targets else "each target gene"
    genes = counted(candidates, "candidate gene") if candidates else "the candidate genes"
    sentence = (
        f"For {of_each}, {which} {genes} "
        f"({itself}) {'were' if grown else 'was'} scored with pairtile{versions(results)} by the "
        "mean conditional entropy of the target's level given the predictors' levels "
        "(Martins-Jr et al. 2006)"
    )
    if grown:
        sentence += ", by sequential forward floating selection (Pudil et al. 1994)"
        cited.append(papers.PUDIL_1994)
    elif _size(results) == 2:
        sentence += ", in an exhaustive search (Borelli et al. 2013)"
        cited.append(papers.BORELLI_2013)
    sentence += f", {_samples(results)}."
    if counts.get("levels_missing"):
        sentence += (
            f" For each {_word(results)}, the samples in which it and the target were observed "
            "were used."
        )
    return sentence, cited


def _samples(results: Results) -> str:
    lag, n = results.parameters.get("lag", 1), results.counts.get("transitions")
    if not lag:
        over = counted(n, "sample") if n else "all samples"
        return f"predictors and target in the same sample, over {over}"
    step = "one time step" if lag == 1 else f"{lag} time steps"
    over = counted(n, "transition") if n else "all transitions"
    series = results.counts.get("series", 1)
    of = f" of {count(series)} time series" if series > 1 else ""
    return f"predictors {step} before the target, over {over}{of}"


def _penalty(results: Results) -> Part:
    settings = section(results, "estimator")
    penalty, alpha = settings.get("penalty"), settings.get("alpha", 1.0)
    if penalty == "no_obs":
        return (
            "Combinations of levels that were not observed counted as telling nothing of the "
            f"target (penalty for non-observed instances, α = {alpha:g}; Lopes et al. 2008)."
        ), [papers.LOPES_2008]
    if penalty == "poor_obs":
        return (
            "Where a combination of levels was observed once, the target's level was taken to be "
            f"the one seen with probability {settings.get('beta', 0.8):g} (penalty for poorly "
            "observed instances; Lopes et al. 2008)."
        ), [papers.LOPES_2008]
    return "", []


def _ties(results: Results) -> Part:
    word = _word(results)
    return (
        f"Scores were compared after rounding to 1e-9 bit; among equal {word}s the first in the "
        "order of the table was reported, with their number."
    ), []


def _joint(results: Results) -> Part:
    if _size(results) < 2:
        return "", []
    return (
        f"What a {_word(results)} tells only as a whole was measured, without penalty, by "
        "intrinsically multivariate prediction (IMP; Martins-Jr et al. 2008, with entropy in place "
        "of the coefficient of determination): the least entropy of the target given a smaller "
        f"part of the {_word(results)}, less that given all of it."
    ), [papers.MARTINS_2008]


def _significance(results: Results) -> Part:
    found = results.cached(predictor_results)
    if found is None or not found.tested:
        return "", []
    n = f"{count(found.draws)} " if found.draws else ""
    if section(results, "null").get("kind") == "circular_shift":
        shuffled = f"{n}circular shifts of each target in time, within its series"
    else:
        shuffled = f"{n}random permutations for each composition of a target's levels"
    return (
        f"Significance was judged by repeating the whole search on {shuffled}: "
        f"p = (1 + b) / (1 + N), with b the number of the N shuffled targets whose best "
        f"{_word(results)} scores as well or better (Phipson and Smyth 2010); q-values control the "
        "false discovery rate over the targets (Benjamini and Hochberg 1995)."
    ), [papers.PHIPSON_SMYTH_2010, papers.BENJAMINI_HOCHBERG_1995]


def _keep(results: Results) -> Part:
    keep, word = results.parameters.get("keep"), _word(results)
    of = "each of its predictors" if _size(results) > 1 else "it"
    edges = f"makes the network, with an edge from {of} to the target."
    if keep == "best":
        return f"The best {word} of each target {edges}", []
    if not isinstance(keep, dict) or not keep:
        return "", []
    key, value = next(iter(keep.items()))
    top = section(results, "estimator").get("top", 1)
    among = f" among the {count(top)} best of a target" if top > 1 else ""
    return f"Every {word}{among} with {'q' if key == 'fdr' else 'p'} ≤ {number(value)} {edges}", []
