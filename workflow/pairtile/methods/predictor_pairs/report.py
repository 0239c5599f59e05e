"""Report of the search for predictor sets: what it warns of, and the numbers of its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pairtile.declare.messages import messages_of
from pairtile.downstream.members import members_section
from pairtile.methods.predictor_pairs.charts import FIGURES
from pairtile.methods.predictor_pairs.network import LEVEL, SET_NAMES, weak_warnings
from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.methods.predictor_pairs.report_sections import levels_section, sets_section
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import ANSWER_ROWS, Answer, MethodReport, MethodText
from pairtile.view.evidence import Samples, State, evidence_section, table_samples

if TYPE_CHECKING:
    import pandas as pd

    from pairtile.declare.messages import Message
    from pairtile.methods.predictor_pairs.report_results import PredictorResults
    from pairtile.report.results import Results

message = messages_of(__package__)

SAMPLES_EACH = 5
"""Fewer samples than this for each combination of levels, and chance makes good sets."""

N_NAMED = 3


def warnings(results: Results) -> list[Message]:
    """Warnings that the settings and tables themselves give rise to."""
    found = results.cached(predictor_results)
    if found.sets.empty:
        return []
    said = [*_few_samples(results, found)]
    if found.tested:
        said += _of_p_values(results, found)
    else:
        before = {one["code"] for one in results.summary.get("messages") or []}
        if "too_few_courses" not in before:
            said.append(message("no_p_values", word=found.word))
    if "search" in found.sets and (found.sets["search"] == "sffs").any():
        said.append(message("triples_grown"))
    return said


def _few_samples(results: Results, found: PredictorResults) -> Iterator[Message]:
    levels = int((results.parameters.get("quantize") or {}).get("levels") or 2)
    samples, cells = results.counts.get("transitions"), int(levels ** len(found.members))
    if samples and samples < SAMPLES_EACH * cells:
        numbers = {"samples": samples, "cells": cells, "each": samples / cells}
        yield message("few_samples_for_levels", word=found.word, least=SAMPLES_EACH, **numbers)


def _of_p_values(results: Results, found: PredictorResults) -> Iterator[Message]:
    best = found.best
    if found.draws is not None and not _is_pooled(results):
        least, tested = 1.0 / (1.0 + found.draws), int(best["p_value"].notna().sum())
        if least >= LEVEL / 2 and best["q_value"].min() > LEVEL:
            numbers = {"draws": found.draws, "least": least, "targets": tested}
            yield message("coarse_p_values", level=LEVEL, **numbers)
    if results.parameters.get("keep") == "best":
        yield from weak_warnings(best[best["kept"]])


def _is_pooled(results: Results) -> bool:
    return (results.parameters.get("null") or {}).get("permutations", "auto") == "auto"


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of the best set of each target, of ties, chance and IMP."""
    found = results.cached(predictor_results)
    estimator = results.parameters.get("estimator") or {}
    best, size = found.best, int(estimator.get("cardinality", 2))
    joint = best.iloc[:0]
    if len(found.members) > 1:
        joint = best[~found.tied & (best["imp_bits"] > 0.5 * best["mi_bits"])]
    most = joint.sort_values(["imp_bits", "target"], ascending=[False, True]).head(N_NAMED)
    return {
        "word": SET_NAMES[size],
        "size": size,
        "grown": estimator.get("search") == "sffs",
        "null": (results.parameters.get("null") or {}).get("kind", "permutation"),
        "level": LEVEL,
        "draws": results.counts.get("null_draws") if _is_pooled(results) else found.draws,
        "pooled": _is_pooled(results),
        "sets_kept": int(found.sets["kept"].sum()),
        "searched": results.counts.get("targets_searched", len(best)),
        "best": len(best),
        "tied": int(found.tied.sum()),
        "full": int((best["mi_bits"] >= best["target_entropy_bits"] - 1e-9).sum()),
        "share": float((best["mi_bits"] / best["target_entropy_bits"]).median()),
        "tested": int(best["p_value"].notna().sum()),
        "small_p": int((best["p_value"] <= LEVEL).sum()),
        "small_q": int((best["q_value"] <= LEVEL).sum()),
        "joint": len(joint),
        "most_joint": [
            (row["target"], row["imp_bits"], [row[member] for member in found.members])
            for row in most.to_dict("records")
        ],
    }


TEXT = MethodText(
    title="Predictor sets by mean conditional entropy",
    package=__package__,
    score="mean conditional entropy",
    # What a set tells says little of its weaker predictor: edges go by what each of them adds.
    strength=("gain_bits",),
    ties=("rank", "mce_bits"),
    numbers=numbers,
    warnings=warnings,
    empty=message("no_predictor_sets"),
)


def best_explained(results: Results) -> tuple[str, pd.DataFrame]:
    """The targets that their best set tells most of, surest first."""
    found = results.cached(predictor_results)
    best = found.best
    unsure = best["p_value"].fillna(1.0) if found.tested else 0.0
    left = best["mce_bits"] / best["target_entropy_bits"]
    order = best.assign(unsure=unsure, left=left).sort_values(["unsure", "left", "target"])
    columns = ["target", *found.members, "mce_bits", "target_entropy_bits"]
    shown = order.head(ANSWER_ROWS)[[*columns, *(["q_value"] if found.tested else [])]]
    return "The genes best explained, with their predictors", shown


def samples(results: Results, state: State) -> Samples:
    """What levels were made from: of predictors and of their targets, transition by transition."""
    source, target = np.atleast_2d(state["source_samples"])[0], state["target_samples"]
    values, sources = state["values"][:, target], None
    if not np.array_equal(source, target):
        sources = state["values"][:, source]
    shown = table_samples(results, state, values, "Values before they were levels", sources)
    several = len(np.unique(state["series"])) > 1 or sources is not None
    return replace(shown, series=state["series"][target] if several else None)


REPORT = MethodReport(
    text=TEXT,
    answer=Answer(best_explained, "predictors.tsv"),
    figures={**COMMON_FIGURES, **FIGURES},
    sections=(
        evidence_section(samples),
        levels_section,
        sets_section,
        members_section,
    ),
)
