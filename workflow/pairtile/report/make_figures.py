"""The figures of one analysis: which can be made, and the captions beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name

import numpy as np

from pairtile.config.downstream import PACKAGE
from pairtile.declare.columns import explained
from pairtile.declare.maps import maps_of
from pairtile.declare.vega_lite import names_points, specification
from pairtile.engine.state import MANIFEST, open_state
from pairtile.report import network_figures, sample_figures
from pairtile.report.method_report import CaptionedFigure, FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.sections.network import lay_out_beside
from pairtile.report.style import save_figures
from pairtile.report.text import page_text
from pairtile.statistics.dependence import MAX_GENES, MAX_SAMPLES


def make_figures(results: Results, folder: Path, processes: int = 1) -> list[CaptionedFigure]:
    """Write ``folder/NAME.svg`` and ``.png`` for each figure that the results allow.

    Files of figures that an earlier run could make and this one cannot are removed. ``processes``
    may write figures at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    beside = processes > 1 and not results.network.empty
    take_layout = lay_out_beside(results) if beside else lambda: None
    makers = {
        **(results.method_report.figures or COMMON_FIGURES),
        **resolve_name(f"{PACKAGE}.page:FIGURES"),
    }
    for name in {*COMMON_FIGURES, *makers}:
        for suffix in (".svg", ".png"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
    made = {name: figure for name, maker in makers.items() if (figure := maker(results))}
    figures = {name: figure for name, (figure, *_) in made.items()}
    live = any(map(names_points, figures.values()))  # for histograms alone Vega weighs too much
    # Before figures are laid out, which forks keep to themselves: equal pages for any number.
    charts = [
        maps_of(figure) or (specification(figure) if live else None) for figure in figures.values()
    ]
    svgs = save_figures(figures, folder, processes)
    take_layout()
    return [
        CaptionedFigure(name, title, caption, alternative, svg, chart)
        for (name, (_, title, caption, alternative)), svg, chart in zip(
            made.items(), svgs, charts, strict=True
        )
    ]


def score_distribution(results: Results) -> FigureWithText | None:
    scores = results.scores or {}
    if not {"edges", "counts"} <= scores.keys():
        return None
    threshold, null = float(scores.get("threshold", float("nan"))), scores.get("null_counts")
    text = results.text
    column = (
        explained(text.package, "network.parquet", text.strength[-1]) if text.strength else None
    )
    unit = column.unit if column else ""
    figure = network_figures.score_distribution(
        scores["edges"], scores["counts"], null, threshold,
        label=f"{text.score} ({unit})" if unit else text.score,
    )  # fmt: skip
    return page_text(results).figure(
        "score_distribution",
        figure,
        pairs=int(scores["counts"].sum()),
        null=null is not None and bool(null.sum()),
        limit=None if np.isnan(threshold) else threshold,
        unit=unit,
    )


def degree_distribution(results: Results) -> FigureWithText | None:
    if results.network.empty:
        return None
    figure = network_figures.degree_distribution(results.network, results.regulators)
    return page_text(results).figure("degree_distribution", figure)


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
    return page_text(results).figure(
        "precision_recall", figure, ranking=page_text(results).text("ranking")
    )


def cleaning(results: Results) -> FigureWithText | None:
    items = results.items
    if "n_observed" not in items or items.empty:
        return None
    observed = items["n_observed"].to_numpy()
    if results.dropped.empty and observed.min() == observed.max():
        return None
    preprocess = results.parameters.get("preprocess") or {}
    figure = network_figures.cleaning_overview(
        observed, items["kept"].to_numpy(), min_samples=preprocess.get("min_samples")
    )
    return page_text(results).figure("cleaning", figure)


def sample_sizes(results: Results) -> FigureWithText | None:
    quality = results.cached(_sample_quality)
    if not quality:
        return None
    size, names = quality["quality_size"], quality["quality_samples"]
    counted_values = bool(quality["quality_counted"])
    figure = sample_figures.sample_sizes(
        size,
        quality["quality_zeros"],
        quality["quality_missing"],
        label="total count" if counted_values else "median value",
        logarithmic=counted_values and bool((size > 0).all()),
    )
    order = np.argsort(size, kind="stable")[:3].tolist()
    return page_text(results).figure(
        "samples",
        figure,
        totals=counted_values,
        shares=len(figure.axes) > 1,
        genes=MAX_GENES,
        lowest=[(names[k], size[k]) for k in order],
        median=float(np.nanmedian(size)),
    )


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
    column = stated.get("batch") or stated.get("series") if coloured else None
    return page_text(results).figure(
        "components", figure, column=column, genes=MAX_GENES, samples=MAX_SAMPLES
    )


def hidden_factors(results: Results) -> FigureWithText | None:
    quality = results.cached(_sample_quality)
    if "hidden_factors" not in quality:
        return None
    factors = quality["hidden_factors"]
    columns = quality.get("factor_columns", np.full(len(factors), "")).tolist()
    figure = sample_figures.hidden_factors(factors, columns, quality.get("factor_labels", ()))
    numbers = {"n": len(factors), "shown": len(figure.axes), "columns": sorted({*columns} - {""})}
    return page_text(results).figure("hidden_factors", figure, **numbers)


def _sample_quality(results: Results) -> dict[str, np.ndarray]:
    """What the state knows of the samples; empty where it is gone or knows nothing."""
    if not (results.folder / "state" / MANIFEST).is_file():
        return {}
    state = open_state(results.folder / "state")
    prefixes = ("quality_", "component_", "hidden_factors", "factor_")
    return {name: np.asarray(values) for name, values in state.items() if name.startswith(prefixes)}


COMMON_FIGURES: Mapping[str, FigureMaker] = {
    "score_distribution": score_distribution,
    "degree_distribution": degree_distribution,
    "precision_recall": precision_recall,
    "cleaning": cleaning,
    "samples": sample_sizes,
    "components": sample_components,
    "hidden_factors": hidden_factors,
}
"""The figures of a method that names none of its own."""
