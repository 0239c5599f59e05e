"""The figures of one analysis: which can be made, and the captions beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pairtile.engine.state import MANIFEST, open_state
from pairtile.report import network_figures, sample_figures
from pairtile.report.formats import count, counted, largest_hub, listed, number
from pairtile.report.method_report import CaptionedFigure, FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.sections.network import drawn
from pairtile.report.style import save_figures
from pairtile.statistics.dependence import MOST_GENES, MOST_SAMPLES


def make_figures(results: Results, folder: Path, processes: int = 1) -> list[CaptionedFigure]:
    """Write ``folder/NAME.svg`` and ``.png`` for each figure that the results allow.

    Files of figures that an earlier run could make and this one cannot are removed. ``processes``
    may write figures at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    makers = results.method_report.figures or COMMON_FIGURES
    for name in {*COMMON_FIGURES, *makers}:
        for suffix in (".svg", ".png"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
    made = {name: figure for name, maker in makers.items() if (figure := maker(results))}

    def lay_out_network() -> None:
        if not results.network.empty:
            results.cached(drawn)

    figures = {name: figure for name, (figure, *_) in made.items()}
    svgs = save_figures(figures, folder, processes, lay_out_network)
    return [
        CaptionedFigure(name, title, caption, alternative, svg)
        for (name, (_, title, caption, alternative)), svg in zip(made.items(), svgs, strict=True)
    ]


def score_distribution(results: Results) -> FigureWithText | None:
    scores, text = results.scores, results.text
    if scores is None or "edges" not in scores or "counts" not in scores:
        return None
    threshold = float(scores.get("threshold", float("nan")))
    figure = network_figures.score_distribution(
        scores["edges"],
        scores["counts"],
        scores.get("null_counts"),
        threshold,
        label=text.score_axis,
    )
    total = int(scores["counts"].sum())
    caption = f"{text.score.capitalize()} of {counted(total, 'scored pair')}; logarithmic y axis."
    if "null_counts" in scores and scores["null_counts"].sum():
        caption += (
            " The null is that of unrelated genes, scaled to the same number of pairs: where it "
            "lies below the bars, there are more pairs than chance gives."
        )
    limit = ""
    if threshold == threshold:
        limit = f" The threshold is at {number(threshold)} {text.score_unit}".rstrip() + "."
    return FigureWithText(
        figure, "Scores, null and threshold", caption, f"Histogram. {caption}{limit}"
    )


def degree_distribution(results: Results) -> FigureWithText | None:
    if results.network.empty:
        return None
    text = results.text
    figure = network_figures.degree_distribution(results.network, results.regulators)
    caption = f"How many {text.items} have at least k edges"
    caption += " and how many regulators at least k targets" if results.regulators else ""
    caption += "; both axes logarithmic. A straight line means a few hubs and many leaves."
    alternative = f"Line chart. {caption}{largest_hub(results.degree.to_dict(), 'edge')}"
    return FigureWithText(figure, "Degrees", caption, alternative)


def precision_recall(results: Results) -> FigureWithText | None:
    evaluation = results.evaluation or {}
    curve = evaluation.get("curve") or {}
    if not curve.get("recall") or not curve.get("precision"):
        return None
    network = evaluation.get("network") or {}
    point = None
    if network.get("precision") is not None and network.get("recall") is not None:
        point = (float(network["recall"]), float(network["precision"]))
    figure = network_figures.precision_recall(
        curve["recall"],
        curve["precision"],
        aupr=evaluation.get("aupr"),
        random_aupr=evaluation.get("random_aupr"),
        network=point,
    )
    rule = f", by the rule of {evaluation['rule']}" if evaluation.get("rule") else ""
    caption = f"The ranking of {results.text.ranking} against the gold standard{rule}."
    if evaluation.get("n_gold_edges"):
        caption = caption[:-1] + f" ({counted(evaluation['n_gold_edges'], 'edge')})."
    area = (
        f" AUPR {number(evaluation.get('aupr'))}, random {number(evaluation.get('random_aupr'))}."
    )
    return FigureWithText(figure, "Precision and recall", caption, f"Line chart. {caption}{area}")


def cleaning(results: Results) -> FigureWithText | None:
    items, text = results.items, results.text
    if "n_observed" not in items or items.empty:
        return None
    observed = items["n_observed"].to_numpy()
    if results.dropped.empty and observed.min() == observed.max():
        return None
    preprocess = results.parameters.get("preprocess") or {}
    figure = network_figures.cleaning_overview(
        observed, items["kept"].to_numpy(), min_samples=preprocess.get("min_samples")
    )
    caption = (
        f"In how many samples each of {counted(len(items), text.item, text.items)} has a value; "
        f"{count(len(results.dropped))} left out."
    )
    return FigureWithText(figure, "Observed samples", caption, f"Histogram. {caption}")


def sample_sizes(results: Results) -> FigureWithText | None:
    quality = results.cached(_sample_quality)
    if not quality:
        return None
    size, names = quality["quality_size"], quality["quality_samples"]
    counted_values = bool(quality["quality_counted"])
    what = "total" if counted_values else "median"
    figure = sample_figures.sample_sizes(
        size,
        quality["quality_zeros"],
        quality["quality_missing"],
        label="total count" if counted_values else "median value",
        logarithmic=counted_values and bool((size > 0).all()),
    )
    caption = f"Each sample’s {what} as it was read"
    caption += (
        ", and which share of its values is zero or missing." if len(figure.axes) > 1 else "."
    )
    if not counted_values:
        caption += f" The median is that of {MOST_GENES:,} genes at most."
    order = np.argsort(size, kind="stable")[:3].tolist()
    least = listed([f"{names[k]} ({number(size[k])})" for k in order])
    middle = number(float(np.nanmedian(size)))
    caption += f" Lowest: {least}; the middle sample has {middle}."
    return FigureWithText(figure, "Samples as read", caption, f"Dot plot. {caption}")


def sample_components(results: Results) -> FigureWithText | None:
    quality = results.cached(_sample_quality)
    if not quality or not quality["component_shares"].any():
        return None
    shown, group = quality["component_samples"], quality["quality_group"]
    names, labels = quality["quality_samples"], quality["quality_labels"].tolist()
    coloured = len(labels) > 1
    figure = sample_figures.sample_components(
        quality["component_scores"],
        quality["component_shares"],
        group[shown] if coloured else None,
        labels if coloured else (),
        names[shown].tolist(),
    )
    stated = results.parameters.get("samples") or {}
    caption = "Principal components of the samples, from the values as they were scored"
    caption += f", coloured by {stated.get('batch') or stated.get('series')}." if coloured else "."
    caption += (
        f" Each gene has variance 1; at most {MOST_GENES:,} genes and {MOST_SAMPLES:,} samples, "
        "evenly spaced, are looked at. Groups that stand apart, or single samples that do, may be "
        "batches or failed measurements: they make genes agree that have nothing else in common."
    )
    return FigureWithText(figure, "Samples by likeness", caption, f"Scatter plot. {caption}")


def _sample_quality(results: Results) -> dict[str, np.ndarray]:
    """What the state knows of the samples; empty where it is gone or knows nothing."""
    if not (results.folder / "state" / MANIFEST).is_file():
        return {}
    state = open_state(results.folder / "state")
    prefixes = ("quality_", "component_")
    return {name: np.asarray(values) for name, values in state.items() if name.startswith(prefixes)}


COMMON_FIGURES: Mapping[str, FigureMaker] = {
    "score_distribution": score_distribution,
    "degree_distribution": degree_distribution,
    "precision_recall": precision_recall,
    "cleaning": cleaning,
    "samples": sample_sizes,
    "components": sample_components,
}
"""The figures of a method that names none of its own."""
