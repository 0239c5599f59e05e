"""The figures of a multimodal network, and their captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from pairtile.methods.multimodal_correlation import figures as drawing
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
from pairtile.methods.multimodal_correlation.report_text import (
    as_set,
    mixture,
    threshold_method,
)
from pairtile.methods.multimodal_correlation.thresholds import RANDOM, SEPARATE
from pairtile.report import figures
from pairtile.report.formats import count, counted, largest_hub, number, percent
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results

FAINT = (
    "Ellipses: where the mixture has 95 % of a mode. Grey: samples in none of the modes kept; "
    "crosses: outliers that were left out."
)


def _modes(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    heights = None if found is None else found.arrays.get("pairs_by_modes")
    if heights is None or not heights.sum() or not mixture(results):
        return None
    figure = drawing.mode_number_distribution(heights)
    several, fitted = int(heights[2:].sum()), int(heights[1:].sum())
    caption = (
        f"Modes of {counted(int(heights.sum()), 'pair')} of genes, as the criterion chose them. "
        "None: too few samples in common, or a constant gene."
    )
    share = f" {percent(several / fitted)} of the others have two or more." if fitted else ""
    return FigureWithText(
        figure, "Modes of a pair", caption + share, f"Bar chart. {caption}{share}"
    )


def _correlations(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found is None or not {"edges", "counts"} <= found.arrays.keys():
        return None
    counts = found.arrays["counts"]
    if not counts.sum():
        return None
    least = float((results.parameters.get("estimator") or {}).get("min_correlation") or 0.0)
    figure = drawing.correlation_distribution(
        found.arrays["edges"], counts, found.threshold, stored_from=least
    )
    caption = (
        f"Correlations of {counted(int(counts.sum()), 'mode')} with enough samples; logarithmic y "
        "axis."
    )
    if least > 0:
        caption += f" Those below {least:g} in size were counted and not stored."
    limit = f" The threshold is at ±{as_set(found.threshold)}." if found.threshold else ""
    return FigureWithText(
        figure, "Correlations and threshold", caption, f"Histogram. {caption}{limit}"
    )


def _threshold(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    curve = None if found is None else found.table("curve")
    if found is None or curve is None or curve.empty:
        return None
    limit = None if threshold_method(results) == "fdr" else found.threshold
    shown = f"at {as_set(limit)}" if limit is not None else "nowhere"
    if "chi_square" in curve:
        figure = drawing.rmt_curve(curve["threshold"], curve["chi_square"], curve["genes"], limit)
        caption = (
            "How the threshold was sought, from left to right: chi-square of the spacings of the "
            "network's eigenvalues against those of separate modules. The threshold is the last "
            f"step below {SEPARATE:g} before noise ties the network together (from {RANDOM:g} on)."
        )
        if threshold_method(results) == "fdr":
            caption += " It does not hold here: the network is by false discovery rate."
        title = "Threshold by random matrix theory"
    else:
        settings = results.parameters.get("threshold") or {}
        figure = drawing.power_law_curve(
            curve["threshold"], curve["fit"], curve["genes"], limit,
            least_fit=float(settings.get("fit") or 0.8),
        )  # fmt: skip
        caption = (
            "How the threshold was sought, from left to right: how well the numbers of neighbours "
            "follow a power law. The threshold is the last step at which they do well enough."
        )
        title = "Threshold by power law"
    return FigureWithText(
        figure, title, caption, f"Line chart. {caption} Threshold found: {shown}."
    )


def _spacings(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    table = None if found is None else found.table("spacings")
    if table is None or table.empty:
        return None
    figure = drawing.spacing_distribution(table)
    caption = (
        "Spacings of neighbouring eigenvalues at single thresholds. Near the green curve the "
        "network falls into modules; near the dashed one noise ties it together."
    )
    return FigureWithText(figure, "Spacings of eigenvalues", caption, f"Histograms. {caption}")


def _strongest(results: Results) -> FigureWithText | None:
    return _scatter(results, strongest_pairs, "Strongest edges", "")


def _split(results: Results) -> FigureWithText | None:
    if not mixture(results):
        return None
    first = "The strongest further ones"
    found = results.cached(mode_results)
    if found is not None and len(found.network) and (found.pairs["signs"] > 1).any():
        first += ", those with edges of both signs first"
    return _scatter(results, split_pairs, "Pairs with several modes", f"{first}. ")


def _scatter(
    results: Results, choose: Callable[[ModeResults], list[Pair]], title: str, first: str
) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found is None or found.network.empty:
        return None
    chosen = choose(found)
    drawn = found.pair_modes(chosen)
    if not drawn:
        return None
    figure = drawing.pair_scatter(
        [drawn[pair] for pair in chosen if pair in drawn], ellipses=mixture(results)
    )
    caption = f"{first}Each point is a sample, at the values of the two genes (after preparation)"
    caption += "; colour and shape: its mode" if mixture(results) else ""
    caption += ". Above: correlation and number of samples."
    shown = "; ".join(
        f"{a} and {b}: r = {', '.join(number(r, 2) for r in drawn[a, b].correlation)}"
        for a, b in chosen
        if (a, b) in drawn
    )
    caption += f" {FAINT}" if mixture(results) else " Crosses: outliers that were left out."
    return FigureWithText(figure, title, caption, f"Scatter plots. {caption} {shown}.")


def _condition_pairs(results: Results, place: int) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found is None or found.network.empty:
        return None
    conditions = drawn_conditions(found)
    if place >= len(conditions):
        return None
    condition = conditions[place]
    chosen = condition_pairs(found, condition)
    drawn = found.pair_modes(chosen)
    if not drawn:
        return None
    figure = drawing.condition_scatter(
        [drawn[pair] for pair in chosen if pair in drawn], condition, modes=mixture(results)
    )
    rows = f"above by mode, below by {condition.name}" if mixture(results) else "the samples"
    edges = int((found.networks["condition"] == condition.name).sum())
    if edges:
        caption = (
            f"Of {counted(edges, 'edge')} that {'goes' if edges == 1 else 'go'} with "
            f"{condition.name}, the clearest: {rows}."
        )
    else:
        caption = f"No edge goes with a condition; the strongest edges by {condition.name}: {rows}."
    caption += " Samples in none of the modes kept are small and pale."
    names = "; ".join(f"{a} and {b}" for a, b in chosen if (a, b) in drawn)
    return FigureWithText(
        figure, condition.name, caption, f"Scatter plots. {caption} Pairs: {names}."
    )


def _condition_edges(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found is None or found.networks.empty:
        return None
    counts = label_counts(found)
    figure = drawing.condition_edges(counts)
    caption = "Edges in the network of each condition, by the sign of their correlation."
    return FigureWithText(figure, "Edges by condition", caption, f"Bar chart. {caption}")


def _modules(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found is None or found.modules.empty:
        return None
    if found.modules["gene"].duplicated().any():
        sizes = found.modules["module"].value_counts().sort_index()
        caption = f"Genes in each of {counted(len(sizes), 'module')}; a gene can be in several."
        figure = drawing.module_sizes(sizes)
        return FigureWithText(figure, "Modules", caption, f"Bar chart. {caption}")
    shown = found.modules.head(drawing.MAX_GENES)
    place = {name: k for k, name in enumerate(shown["gene"])}
    edges = found.pairs
    edges = edges[edges["source"].isin(place) & edges["target"].isin(place)]
    a, b = (edges[end].map(place).to_numpy(dtype=np.int64) for end in ("source", "target"))
    matrix = np.zeros((len(shown), len(shown)))
    matrix[a, b] = matrix[b, a] = edges["correlation"]
    figure = drawing.module_heat_map(matrix, shown["module"])
    modules = counted(found.modules["module"].nunique(), "module")
    caption = (
        f"Edges among {counted(len(shown), 'gene')}"
        f"{'' if len(shown) == len(found.modules) else f' of {count(len(found.modules))}'}, "
        f"ordered by module ({modules}, the largest first). Red: positive correlation, blue: "
        "negative; of several modes of a pair the strongest."
    )
    return FigureWithText(figure, "Modules", caption, f"Heat map. {caption}")


def _degrees(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found is None or found.network.empty:
        return None
    figure = figures.degree_distribution(found.pairs)
    caption = (
        "How many genes have edges with at least k others; both axes logarithmic. A straight line "
        "means a few hubs and many leaves."
    )
    shown = largest_hub(found.partners.to_dict(), "partner")
    return FigureWithText(figure, "Degrees", caption, f"Line chart. {caption}{shown}")


FIGURES: Mapping[str, FigureMaker] = {
    "strongest_pairs": _strongest,
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
