"""The figures of a multimodal network, and their captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from pairtile.methods.multimodal_correlation import figures as drawing
from pairtile.methods.multimodal_correlation.report_numbers import mixture, threshold_method
from pairtile.methods.multimodal_correlation.report_results import (
    MAX_CONDITIONS,
    ModeResults,
    Pair,
    condition_pairs,
    drawn_conditions,
    label_counts,
    mode_results,
    split_pairs,
    strongest_pairs,
)
from pairtile.methods.multimodal_correlation.thresholds import RANDOM, SEPARATE
from pairtile.report import figures
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.text import page_text


def _modes(results: Results) -> FigureWithText | None:
    heights = results.cached(mode_results).arrays.get("pairs_by_modes")
    if heights is None or not heights.sum() or not mixture(results):
        return None
    return page_text(results).figure("modes", drawing.mode_number_distribution(heights))


def _correlations(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if not {"edges", "counts"} <= found.arrays.keys() or not found.arrays["counts"].sum():
        return None
    counts = found.arrays["counts"]
    least = float((results.parameters.get("estimator") or {}).get("min_correlation") or 0.0)
    figure = drawing.correlation_distribution(
        found.arrays["edges"], counts, found.threshold, stored_from=least
    )
    return page_text(results).figure(
        "correlations", figure, modes=int(counts.sum()), least=max(least, 0.0)
    )


def _threshold(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    curve = found.table("curve")
    if curve.empty:
        return None
    limit = None if threshold_method(results) == "fdr" else found.threshold
    shown = None if limit is None else round(limit, 4)
    if "chi_square" in curve:
        figure = drawing.rmt_curve(curve["threshold"], curve["chi_square"], curve["genes"], limit)
        return page_text(results).figure(
            "rmt_curve", figure, found=shown, separate=SEPARATE, random=RANDOM
        )
    least_fit = float((results.parameters.get("threshold") or {}).get("fit") or 0.8)
    figure = drawing.power_law_curve(
        curve["threshold"], curve["fit"], curve["genes"], limit, least_fit=least_fit
    )
    return page_text(results).figure("power_law_curve", figure, found=shown)


def _spacings(results: Results) -> FigureWithText | None:
    table = results.cached(mode_results).table("spacings")
    if table.empty:
        return None
    return page_text(results).figure("spacings", drawing.spacing_distribution(table))


def _scatter(
    results: Results, name: str, choose: Callable[[ModeResults], list[Pair]]
) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.network.empty:
        return None
    chosen = choose(found)
    drawn = found.pair_modes(chosen)
    if not drawn:
        return None
    panels = {pair: drawn[pair] for pair in chosen if pair in drawn}
    return page_text(results).figure(
        name,
        drawing.pair_scatter(list(panels.values()), ellipses=mixture(results)),
        drawn=[(*pair, list(modes.correlation)) for pair, modes in panels.items()],
    )


def _split(results: Results) -> FigureWithText | None:
    return _scatter(results, "split_pairs", split_pairs) if mixture(results) else None


def _condition_pairs(results: Results, place: int) -> FigureWithText | None:
    found = results.cached(mode_results)
    conditions = drawn_conditions(found)
    if found.network.empty or place >= len(conditions):
        return None
    condition = conditions[place]
    chosen = condition_pairs(found, condition)
    drawn = found.pair_modes(chosen)
    if not drawn:
        return None
    panels = {pair: drawn[pair] for pair in chosen if pair in drawn}
    return page_text(results).figure(
        "condition_pairs",
        drawing.condition_scatter(list(panels.values()), condition, modes=mixture(results)),
        name=condition.name,
        edges=int((found.networks["condition"] == condition.name).sum()),
        drawn=list(panels),
    )


def _condition_edges(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.networks.empty:
        return None
    figure = drawing.condition_edges(label_counts(found))
    return page_text(results).figure("condition_edges", figure)


def _modules(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.modules.empty:
        return None
    if found.modules["gene"].duplicated().any():
        sizes = found.modules["module"].value_counts().sort_index()
        return page_text(results).figure("module_sizes", drawing.module_sizes(sizes))
    shown = found.modules.head(drawing.MAX_GENES)
    place = {name: k for k, name in enumerate(shown["gene"])}
    edges = found.pairs
    edges = edges[edges["source"].isin(place) & edges["target"].isin(place)]
    a, b = (edges[end].map(place).to_numpy(dtype=np.int64) for end in ("source", "target"))
    matrix = np.zeros((len(shown), len(shown)))
    matrix[a, b] = matrix[b, a] = edges["correlation"]
    figure = drawing.module_heat_map(matrix, shown["module"])
    return page_text(results).figure("modules", figure, shown=len(shown), genes=len(found.modules))


def _degrees(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.network.empty:
        return None
    return page_text(results).figure("degrees", figures.degree_distribution(found.pairs))


FIGURES: Mapping[str, FigureMaker] = {
    "strongest_pairs": partial(_scatter, name="strongest_pairs", choose=strongest_pairs),
    "split_pairs": _split,
    **{
        f"condition_pairs_{place + 1}": partial(_condition_pairs, place=place)
        for place in range(MAX_CONDITIONS)
    },
    "condition_edges": _condition_edges,
    "modules": _modules,
    "modes": _modes,
    "score_distribution": _correlations,
    "threshold": _threshold,
    "degree_distribution": _degrees,
    "spacings": _spacings,
}
