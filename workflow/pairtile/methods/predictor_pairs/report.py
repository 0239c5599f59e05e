"""Report: text of the search for predictor sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.predictor_pairs.network import SET_NAMES
from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.methods.predictor_pairs.report_sections import FIGURES, levels_section, sets_section
from pairtile.report.formats import count, counted, listed, number, percent
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import MethodReport, MethodText, Reference
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
    from pairtile.methods.predictor_pairs.report_results import PredictorResults
    from pairtile.report.results import Results

papers = read_references(__package__)


SAMPLES_EACH = 5
"""Fewer samples than this for each combination of levels, and chance makes good sets."""

PERSISTENT = 0.1
"""Levels persist when they stay so much more often than by chance (0: as by chance, 1: always)."""

SMALL_P = 0.05


def warnings(results: Results) -> list[str]:
    """Warnings that the settings and tables themselves give rise to."""
    found = results.cached(predictor_results)
    if found is None or found.sets.empty:
        return []
    parts = [_few_samples, _slow_series, _coarse_p_values, _kept_by_rank, _sffs]
    return [text for part in parts if (text := part(results, found))]


def combinations(results: Results, found: PredictorResults) -> int:
    """How many combinations of levels a set of predictors has."""
    levels = int((results.parameters.get("quantize") or {}).get("levels") or 2)
    return int(levels ** len(found.members))


def _few_samples(results: Results, found: PredictorResults) -> str:
    samples, cells = results.counts.get("transitions"), combinations(results, found)
    if not samples or samples >= SAMPLES_EACH * cells:
        return ""
    each = number(samples / cells, 2)
    return (
        f"Few samples: {counted(samples, 'transition')} for the {cells} combinations of levels of "
        f"a {found.word}, about {each} for each (fewer than {SAMPLES_EACH}). Then many sets look "
        "good by chance; read the p-values before the entropies. Fewer levels or smaller sets "
        "need fewer samples."
    )


def _slow_series(results: Results, found: PredictorResults) -> str:
    if not results.parameters.get("lag") or not found.tested or _null(results) != "permutation":
        return ""
    if any("circular_shift" in text for text in results.summary.get("warnings") or []):
        return ""  # said by the step that made the null
    advice = (
        "Shuffling destroys this memory, so these p-values are too small; null: {kind: "
        "circular_shift} keeps it."
    )
    if found.levels is None:
        return f"In a time series a gene often keeps its level from one step to the next. {advice}"
    stays, chance = found.levels.persistence(list(found.best["target"]))
    if not stays > chance + PERSISTENT * (1.0 - chance):
        return ""
    return (
        f"The targets keep their level from one step to the next in {percent(stays)} of cases, "
        f"where independent samples would in {percent(chance)}. {advice}"
    )


def _coarse_p_values(results: Results, found: PredictorResults) -> str:
    if not found.tested:
        return (
            "There are no p-values (null.permutations: 0): the search finds a best "
            f"{found.word} for every target, whether or not anything acts on it."
        )
    if found.draws is None:
        return ""
    least, tested = 1.0 / (1.0 + found.draws), int(found.best["p_value"].notna().sum())
    if least < SMALL_P / 2 or found.best["q_value"].min() <= SMALL_P:
        return ""
    kind = "shift" if _null(results) == "circular_shift" else "permutation"
    return (
        f"With {counted(found.draws, kind)} of a target no p-value can be below {number(least)}, "
        f"and after correction for {counted(tested, 'target')} no q-value reaches {SMALL_P:g}. "
        "Large q-values here mean that the test cannot tell, not that there is nothing."
    )


def _kept_by_rank(results: Results, found: PredictorResults) -> str:
    if results.parameters.get("keep") != "best" or not found.tested:
        return ""
    best = found.best[found.best["kept"]]
    weak = int((best["p_value"] > SMALL_P).sum())
    if not weak:
        return ""
    return (
        f"The setting keep: best takes the best {found.word} of every target into the network, "
        f"also where chance does as well: {count(weak)} of {counted(len(best), 'target')} have p > "
        f"{SMALL_P:g}. keep: {{fdr: 0.05}} leaves them out."
    )


def _sffs(results: Results, found: PredictorResults) -> str:
    if "search" not in found.sets or not (found.sets["search"] == "sffs").any():
        return ""
    return (
        "Triples were grown from the best pairs by sequential floating forward selection, not all "
        "tried: a better triple may have been missed, and the number of equal sets is a lower "
        "limit."
    )


def _null(results: Results) -> str:
    section: Any = results.parameters.get("null")
    return str(section.get("kind", "permutation")) if isinstance(section, dict) else "permutation"


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
    return SET_NAMES[_size(results)]


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


LEVEL = 0.05
"""p- and q-values at most this are counted at the top of the page."""

N_NAMED = 3


def headline(results: Results) -> str:
    """``120 edges: predictors of 60 of 60 targets, one best pair for 57``."""
    found = results.cached(predictor_results)
    if found is None or results.network.empty:
        return "No edges: no set of predictors passed the threshold"
    explained = count(results.network["target"].nunique())
    searched = counted(results.counts.get("targets_searched", len(found.best)), "target")
    alone = f"one best {found.word} for {count(len(found.best) - found.tied.sum())}"
    edges = counted(len(results.network), "edge")
    return f"{edges}: predictors of {explained} of {searched}, {alone}"


def key_numbers(results: Results) -> list[tuple[str, str, str]]:
    """Edges, targets with predictors, targets that chance does not explain, and ties."""
    found = results.cached(predictor_results)
    if found is None:
        return [(count(len(results.network)), "edges", "")]
    best, explained = found.best, results.network["target"].nunique()
    sets = f"from {counted(int(found.sets['kept'].sum()), found.word)}"
    searched = results.counts.get("targets_searched", len(best))
    tiles = [
        (count(len(results.network)), "edges", sets),
        (count(explained), "targets with predictors", f"of {count(searched)} searched"),
    ]
    if found.tested:
        small_q = f"q ≤ {LEVEL:g}: {count((best['q_value'] <= LEVEL).sum())}"
        small_p = count((best["p_value"] <= LEVEL).sum())
        tiles.append((small_p, f"targets with p ≤ {LEVEL:g}", small_q))
    tied = int(found.tied.sum())
    alone = count(len(best) - tied)
    tiles.append((alone, f"targets with one best {found.word}", f"tied: {count(tied)}"))
    return tiles


def findings(results: Results) -> list[str]:
    """Sentences on what the best sets tell, on chance, and on what only whole sets tell."""
    found = results.cached(predictor_results)
    if found is None or found.best.empty:
        return []
    best, word = found.best, found.word
    full = int((best["mi_bits"] >= best["target_entropy_bits"] - 1e-9).sum())
    share = float((best["mi_bits"] / best["target_entropy_bits"]).median())
    text = (
        f"The best {word} tells the target's level in every sample for {count(full)} of "
        f"{counted(len(best), 'target')}"
    )
    if 2 * full < len(best):
        text += f"; half of the best {word}s tell {percent(share)} or more of the target's entropy"
    sentences = [text + "."]
    if found.tested:
        tested = int(best["p_value"].notna().sum())
        sentences.append(
            f"{count((best['p_value'] <= LEVEL).sum())} of {counted(tested, 'target')} with "
            f"p ≤ {LEVEL:g}, where chance alone would give about {count(LEVEL * tested)}; "
            f"{count((best['q_value'] <= LEVEL).sum())} with q ≤ {LEVEL:g}."
        )
    if len(found.members) > 1:
        joint = best[~found.tied & (best["imp_bits"] > 0.5 * best["mi_bits"])]
        if len(joint):
            largest = joint.sort_values(["imp_bits", "target"], ascending=[False, True])
            named = [
                f"{row['target']} ({number(row['imp_bits'])} bits, from "
                f"{listed([row[m] for m in found.members])})"
                for row in largest.head(N_NAMED).to_dict("records")
            ]
            sentences.append(
                f"For {counted(len(joint), 'target')} without ties more than half of what is told "
                f"comes from the {word} as a whole, not from a part of it (IMP); most of all for "
                f"{listed(named)}."
            )
    return sentences


TEXT = MethodText(
    title="Predictor sets by mean conditional entropy",
    score="mean conditional entropy",
    score_axis="mean conditional entropy (bits)",
    score_unit="bits",
    ranking="the edges of all reported sets",
    # What a set tells says little of its weaker predictor: edges go by what each of them adds.
    strength=("gain_bits",),
    ties=("rank", "mce_bits"),
    directed_columns=("mce_bits",),
    columns={
        "rank": "rank",
        "mi_bits": "MI (bits)",
        "mce_bits": "MCE (bits)",
        "target_entropy_bits": "H(Y) (bits)",
        "gain_bits": "gain (bits)",
        "gain_1": "gain 1 (bits)",
        "gain_2": "gain 2 (bits)",
        "gain_3": "gain 3 (bits)",
        "imp_bits": "IMP (bits)",
        "n_ties": "equal sets",
        "n_sets": "sets with it",
        "n_samples": "samples",
        "p_value": "p-value",
        "q_value": "q-value",
        "kept": "in network",
        "predictor_1": "predictor 1",
        "predictor_2": "predictor 2",
        "predictor_3": "predictor 3",
    },
    counts={
        "genes_read": "genes read",
        "genes_kept": "genes kept",
        "genes_dropped_too_few_samples": "genes left out: too few observed samples",
        "genes_dropped_constant": "genes left out: constant",
        "genes_constant": "constant genes kept",
        "samples": "samples",
        "series": "time series",
        "transitions": "transitions (samples with their predictors' samples)",
        "values_missing_in_input": "missing values in the input",
        "zeros_to_missing": "zeros read as missing",
        "values_missing": "missing values after cleaning",
        "regulators_listed": "candidate predictors listed",
        "regulators_used": "candidate predictors",
        "targets_listed": "targets listed",
        "targets_used": "targets",
        "levels": "levels",
        "levels_missing": "missing levels",
        "genes_at_one_level": "genes with the same level in all samples",
        "null_draws": "shuffled targets, each searched like a target",
        "tiles": "tiles of the search",
        "chunks": "chunks of tiles",
        "pairs_stored": "sets stored, those of shuffled targets included",
        "targets_searched": "targets with a best set",
        "targets_constant": "targets with one level only (every set tells it)",
        "targets_with_tied_best": "targets whose best set is one of several equals",
        "sets_reported": "sets reported (predictors.tsv)",
        "sets_kept": "sets kept for the network",
        "edges": "edges in the network",
        "predictor_rows": "rows of predictors.tsv",
        "hyperedges": "rows of hyperedges.tsv (sets of the network)",
    },
    files={
        "predictors.tsv": "every reported set of predictors, best first for each target",
        "hyperedges.tsv": "the sets that make the network's edges",
    },
    headline=headline,
    key_numbers=key_numbers,
    findings=findings,
    warnings=warnings,
    empty=(
        "The network is empty: no set of predictors passed the keep rule. A larger p_value or fdr, "
        "or keep: best, shows what there is; more samples or fewer candidate predictors (under "
        "regulators) make it easier to tell from chance."
    ),
    methods=methods_paragraph,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**COMMON_FIGURES, **FIGURES},
    sections=(
        levels_section,
        sets_section,
    ),
)
