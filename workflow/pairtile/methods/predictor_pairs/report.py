"""Report: text of the search for predictor sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.predictor_pairs.network import SET_NAMES
from pairtile.methods.predictor_pairs.report_results import WORDS, predictor_results
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
from pairtile.report.sections.members import members_section

if TYPE_CHECKING:
    from pairtile.methods.predictor_pairs.report_results import PredictorResults
    from pairtile.report.results import Results

papers = read_references(__package__)

WARNINGS, FINDINGS, METHODS = (WORDS[part] for part in ("warnings", "findings", "methods"))


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
    return WARNINGS["few_samples"].format(
        samples=counted(samples, "transition"),
        cells=cells,
        word=found.word,
        each=each,
        least=SAMPLES_EACH,
    )


def _slow_series(results: Results, found: PredictorResults) -> str:
    if not results.parameters.get("lag") or not found.tested or _null(results) != "permutation":
        return ""
    if any("circular_shift" in text for text in results.summary.get("warnings") or []):
        return ""  # said by the step that made the null
    advice = WARNINGS["shift_instead"]
    if found.levels is None:
        return WARNINGS["memory"].format(advice=advice)
    stays, chance = found.levels.persistence(list(found.best["target"]))
    if not stays > chance + PERSISTENT * (1.0 - chance):
        return ""
    return WARNINGS["measured_memory"].format(
        stays=percent(stays), chance=percent(chance), advice=advice
    )


def _coarse_p_values(results: Results, found: PredictorResults) -> str:
    if not found.tested:
        said = any("no p-values" in text for text in results.summary.get("warnings") or [])
        return "" if said else WARNINGS["no_p_values"].format(word=found.word)
    if found.draws is None:
        return ""
    least, tested = 1.0 / (1.0 + found.draws), int(found.best["p_value"].notna().sum())
    if least < SMALL_P / 2 or found.best["q_value"].min() <= SMALL_P:
        return ""
    kind = "shift" if _null(results) == "circular_shift" else "permutation"
    return WARNINGS["coarse_p_values"].format(
        draws=counted(found.draws, kind),
        least=number(least),
        targets=counted(tested, "target"),
        level=SMALL_P,
    )


def _kept_by_rank(results: Results, found: PredictorResults) -> str:
    if results.parameters.get("keep") != "best" or not found.tested:
        return ""
    best = found.best[found.best["kept"]]
    weak = int((best["p_value"] > SMALL_P).sum())
    if not weak:
        return ""
    return WARNINGS["kept_by_rank"].format(
        word=found.word, weak=count(weak), targets=counted(len(best), "target"), level=SMALL_P
    )


def _sffs(results: Results, found: PredictorResults) -> str:
    if "search" not in found.sets or not (found.sets["search"] == "sffs").any():
        return ""
    return WARNINGS["sffs"]


def _null(results: Results) -> str:
    section: Any = results.parameters.get("null")
    return str(section.get("kind", "permutation")) if isinstance(section, dict) else "permutation"


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
    how = WORDS["quantize"].get(str(rule), "")
    if isinstance(how, dict):
        how = how.get(str(q), "")
    if rule == "thresholds":
        borders = [number(x) for x in settings.get("thresholds") or ()]
        how = f"with borders at {listed(borders)}"
    return METHODS["levels"].format(levels=q, rule=how).rstrip() + ".", []


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
    sentence = METHODS["search"].format(
        targets=of_each,
        sets=which,
        candidates=genes,
        itself=itself,
        were="were" if grown else "was",
        versions=versions(results),
    )
    if grown:
        sentence += METHODS["sffs"]
        cited.append(papers.PUDIL_1994)
    elif _size(results) == 2:
        sentence += METHODS["exhaustive"]
        cited.append(papers.BORELLI_2013)
    sentence += f", {_samples(results)}."
    if counts.get("levels_missing"):
        sentence += METHODS["missing"].format(word=_word(results))
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
    settings = {"alpha": 1.0, "beta": 0.8} | section(results, "estimator")
    if settings.get("penalty") not in ("no_obs", "poor_obs"):
        return "", []
    return METHODS[settings["penalty"]].format_map(settings), [papers.LOPES_2008]


def _ties(results: Results) -> Part:
    return METHODS["ties"].format(word=_word(results)), []


def _joint(results: Results) -> Part:
    if _size(results) < 2:
        return "", []
    return METHODS["joint"].format(word=_word(results)), [papers.MARTINS_2008]


def _significance(results: Results) -> Part:
    found = results.cached(predictor_results)
    if found is None or not found.tested:
        return "", []
    n = f"{count(found.draws)} " if found.draws else ""
    shuffled = n + METHODS[_null(results)]
    sentence = METHODS["significance"].format(shuffled=shuffled, word=_word(results))
    return sentence, [papers.PHIPSON_SMYTH_2010, papers.BENJAMINI_HOCHBERG_1995]


def _keep(results: Results) -> Part:
    keep, word = results.parameters.get("keep"), _word(results)
    of = "each of its predictors" if _size(results) > 1 else "it"
    edges = f"makes the network, with an edge from {of} to the target."
    if keep == "best":
        return f"The best {word} of each target {edges}", []
    if not isinstance(keep, dict) or not keep:
        return "", []
    key, value = next(iter(keep.items()))
    if key == "best_fdr":
        return f"The best {word} of each target, where q ≤ {number(value)}, {edges}", []
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
    text = FINDINGS["full"].format(
        word=word, full=count(full), targets=counted(len(best), "target")
    )
    if 2 * full < len(best):
        text += FINDINGS["half"].format(word=word, share=percent(share))
    sentences = [text + "."]
    if found.tested:
        tested = int(best["p_value"].notna().sum())
        sentences.append(
            FINDINGS["chance"].format(
                small_p=count((best["p_value"] <= LEVEL).sum()),
                targets=counted(tested, "target"),
                level=LEVEL,
                expected=count(LEVEL * tested),
                small_q=count((best["q_value"] <= LEVEL).sum()),
            )
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
            targets = counted(len(joint), "target")
            sentences.append(
                FINDINGS["joint"].format(targets=targets, word=word, named=listed(named))
            )
    return sentences


TEXT = MethodText(
    title="Predictor sets by mean conditional entropy",
    package=__package__,
    score="mean conditional entropy",
    score_axis="mean conditional entropy (bits)",
    score_unit="bits",
    ranking="the edges of all reported sets",
    # What a set tells says little of its weaker predictor: edges go by what each of them adds.
    strength=("gain_bits",),
    ties=("rank", "mce_bits"),
    directed_columns=("mce_bits",),
    counts=WORDS["counts"],
    headline=headline,
    key_numbers=key_numbers,
    findings=findings,
    warnings=warnings,
    empty=WORDS["empty"],
    methods=methods_paragraph,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**COMMON_FIGURES, **FIGURES},
    sections=(
        levels_section,
        sets_section,
        members_section,
    ),
)
