"""What to beware of when reading predictor sets: few samples, slow series, sets kept by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.report.formats import count, counted, number, percent

if TYPE_CHECKING:
    from pairtile.methods.predictor_pairs.report_results import PredictorResults
    from pairtile.report.results import Results

SAMPLES_EACH = 5
"""Fewer samples than this for each combination of levels, and chance makes good sets."""

PERSISTENT = 0.1
"""Levels persist when they stay so much more often than by chance (0: as by chance, 1: always)."""

SMALL_P = 0.05


def cautions(results: Results) -> list[str]:
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
