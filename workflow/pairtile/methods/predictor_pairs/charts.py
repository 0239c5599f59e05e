"""Figures of predictor sets and of what chance makes of them: each one function of the results,
whose caption in ``text.md.j2`` says what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from pairtile.methods.predictor_pairs.arrays import LevelArrays
from pairtile.methods.predictor_pairs.report_results import Levels, is_transfer, predictor_results
from pairtile.report.charts import bars, histogram, p_value_histogram, scatter
from pairtile.report.figures import COMMON_FIGURES, time_courses
from pairtile.report.formats import count, pluralise
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.report.style import BLUE, GREEN, ORANGE, PALE, SKY, YELLOW

LEVEL_COLOURS = {2: (BLUE, ORANGE), 3: (BLUE, GREEN, ORANGE), 4: (BLUE, SKY, YELLOW, ORANGE)}
"""Colours of levels, low to high, by how many there are."""

P_BINS, P_LEVEL = 20, 0.05
MAX_COURSES, N_NAMED = 6, 3


def cell_colour(cell: ArrayLike) -> tuple[str, float]:
    """Colour of the most frequent level of a cell's counts, and how strong it is drawn (0 to 1).

    0 where no level leads: nothing seen, or as many samples at two levels as at any.
    """
    counts = np.asarray(cell, dtype=np.int64)
    n, q = int(counts.sum()), len(counts)
    most = np.flatnonzero(counts == counts.max())
    if n == 0 or len(most) > 1:
        return PALE, 0.0
    sure = (counts[most[0]] / n - 1.0 / q) / (1.0 - 1.0 / q)
    return LEVEL_COLOURS[q][most[0]], float(np.clip(0.12 + 0.43 * sure, 0.0, 0.55))


def _best_sets(results: Results) -> Drawn:
    scores = needed(results.scores)
    needed({"edges", "counts"} <= scores.keys() and scores["counts"].any())
    counts = scores["counts"]
    null = scores.get("null_counts", np.zeros_like(counts))
    figure = histogram(
        scores["edges"], {"targets": counts / max(counts.sum(), 1.0)},
        null={"shuffled targets": null / max(null.sum(), 1.0)},
        xlabel="mean conditional entropy of the best set (bits)", ylabel="share of targets",
    )  # fmt: skip
    return Drawn(figure, {"targets": round(counts.sum()), "shuffled": round(null.sum())})


def _p_values(results: Results) -> Drawn:
    found = results.cached(predictor_results)
    needed(found.tested)
    p = found.best["p_value"].dropna().to_numpy(dtype=np.float64)
    # A bar holds its upper border: p-values of few shuffles lie on borders.
    bins = np.clip(np.ceil(p * P_BINS - 1e-9).astype(int) - 1, 0, P_BINS - 1)
    small = pluralise(int((p <= P_LEVEL).sum()), "target")
    return Drawn(p_value_histogram(
        np.bincount(bins, minlength=P_BINS), {f"p = {P_LEVEL:g} ({small} at most)": P_LEVEL},
        label="targets", xlabel="p-value of the best set",
    ))  # fmt: skip


def _ties(results: Results) -> Drawn:
    found = results.cached(predictor_results)
    needed(found.best)
    ties = found.best["n_ties"].to_numpy(dtype=np.int64)
    heights = np.bincount(np.floor(np.log2(np.maximum(ties, 1))).astype(int), minlength=1)
    names = ["1"] + [f"{count(2**k)}–{count(2 ** (k + 1) - 1)}" for k in range(1, len(heights))]
    return Drawn(bars(
        names, {"": heights}, xlabel="sets that score as the best one, itself included",
        ylabel="number of targets",
    ))  # fmt: skip


def _joint_prediction(results: Results) -> Drawn:
    found = results.cached(predictor_results)
    needed(len(found.best) and len(found.members) > 1)
    names, tied = found.best["target"].tolist(), found.tied.to_numpy()
    mi, imp = (found.best[name].to_numpy(np.float64) for name in ("mi_bits", "imp_bits"))
    alone = np.flatnonzero(~tied & (imp > 0.0)).tolist()
    alone.sort(key=lambda k: (-imp[k], names[k]))
    figure = scatter(
        mi, imp,
        {
            f"the only best set ({count((~tied).sum())})": ~tied,
            f"one of several that score the same ({count(tied.sum())})": tied,
        },
        diagonal="IMP = MI: only the whole set tells",
        hover={"gene": names}, items=[[name] for name in names],
        named=[(names[k], mi[k], imp[k]) for k in alone], n_named=N_NAMED,
        xlabel="mutual information of set and target (bits)", ylabel="IMP (bits)",
    )  # fmt: skip
    return Drawn(figure, {"largest": float(imp.max())})


def _time_courses(results: Results) -> Drawn:
    stated = results.parameters.get("samples") or {}
    in_time = results.parameters.get("lag") or stated.get("series") or stated.get("time")
    if is_transfer(results):
        levels = Levels(cast(LevelArrays, needed(results.state)), results.rows)
        genes, sets = ["target", "source"], results.strongest(MAX_COURSES)
    else:
        found = results.cached(predictor_results)
        levels, sets = needed(found.levels), found.clearest(MAX_COURSES)
        genes = ["target", *found.members]
    series = needed(in_time and levels.state.get("series"))
    panels = [levels.courses([*map(str, row)]) for row in needed(sets)[genes].to_numpy()]
    label = "level, scaled" if results.parameters.get("levels") else "value, scaled"
    figure, shown = time_courses(panels, series, label)
    return Drawn(figure, {"panels": [list(panel) for panel in panels], **shown})


FIGURES: Mapping[str, FigureMaker] = {
    **COMMON_FIGURES,
    "score_distribution": _best_sets,
    "p_values": _p_values,
    "ties": _ties,
    "joint_prediction": _joint_prediction,
    "time_courses": _time_courses,
}
