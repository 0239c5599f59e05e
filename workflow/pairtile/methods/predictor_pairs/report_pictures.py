"""The figures of a search for predictor sets, and the words beside them."""

from __future__ import annotations

from collections.abc import Mapping

from pairtile.methods.predictor_pairs import figures
from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.report.formats import count, counted, number
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results


def _best_sets(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not {"edges", "counts"} <= scores.keys() or not scores["counts"].sum():
        return None
    null = scores.get("null_counts")
    figure = figures.best_set_distribution(scores["edges"], scores["counts"], null)
    caption = (
        f"Mean conditional entropy of the best set of {counted(scores['counts'].sum(), 'target')}: "
        "the further left, the better the target's level is told."
    )
    if null is not None and null.sum():
        caption += (
            f" The line: the best set of {counted(null.sum(), 'shuffled target')}, found by the "
            "same search. Where the two lie over each other, chance alone does as well; a p-value "
            "compares a target only with those that have its own numbers of samples at each level."
        )
    return FigureWithText(figure, "Best sets and chance", caption, f"Histogram. {caption}")


def _p_values(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    if found is None or not found.tested:
        return None
    p = found.best["p_value"].dropna()
    figure = figures.p_value_distribution(p)
    caption = (
        f"p-values of the best sets of {counted(len(p), 'target')}. Were there nothing to find, "
        "the bars would be about as high as the line."
    )
    small = counted(int((p <= 0.05).sum()), "target")
    return FigureWithText(
        figure, "p-values", caption, f"Histogram. {caption} {small} with p ≤ 0.05."
    )


def _ties(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    if found is None or found.best.empty:
        return None
    tied = int(found.tied.sum())
    figure = figures.tie_distribution(found.best["n_ties"])
    caption = (
        f"How many {found.word}s score exactly as the best one of a target does. Of "
        f"{counted(len(found.best), 'target')}, {count(len(found.best) - tied)} have one best "
        f"{found.word} (blue); for the others (orange) the one that is named is arbitrary."
    )
    return FigureWithText(figure, "Ties", caption, f"Bar chart. {caption}")


def _imp(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    if found is None or found.best.empty or len(found.members) < 2:
        return None
    best = found.best
    figure = figures.imp_against_mi(
        best["mi_bits"], best["imp_bits"], found.tied, best["target"].tolist()
    )
    caption = (
        f"Intrinsically multivariate prediction (IMP): what the whole {found.word} tells beyond "
        "its best part. Near the dashed line no part tells anything alone, as with an exclusive "
        "or; near zero, part of the set would do."
    )
    largest = number(float(best["imp_bits"].max()))
    return FigureWithText(
        figure, "Joint prediction", caption, f"Scatter plot. {caption} Largest: {largest} bits."
    )


FIGURES: Mapping[str, FigureMaker] = {
    "score_distribution": _best_sets,
    "p_values": _p_values,
    "ties": _ties,
    "joint_prediction": _imp,
}
