"""The figures of any method: each one function of the results.

They return the figure and the numbers of its caption (``Drawn``), or say by ``needed`` what the
results lack. ``time_courses`` is for methods whose samples can be time courses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.columns import explained
from pairtile.method import sign_column
from pairtile.report.charts import chart, embedding, histogram, lines, scatter
from pairtile.report.formats import number, pluralise, shortened
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.report.style import (
    BLUE,
    GROUP_COLOURS,
    INK,
    ORANGE,
    PALE,
    figure_of_panels,
)
from pairtile.report.text import page_text
from pairtile.statistics.dependence import MAX_GENES, MAX_SAMPLES

# --- a network, and how it came about -------------------------------------------------------------


def score_distribution(results: Results) -> Drawn:
    """Scores of all pairs, those of the null scaled to as many, and the threshold."""
    scores, text = needed(results.scores), results.text
    needed({"edges", "counts"} <= scores.keys())
    threshold, counts = float(scores.get("threshold", np.nan)), scores["counts"]
    null = scores.get("null_counts", np.zeros_like(counts))
    column = text.strength and explained(text.package, "network.parquet", text.strength[-1])
    unit = column.unit if column else ""
    scale = counts.sum() / null.sum() if counts.any() and null.any() else 1.0
    figure = histogram(
        scores["edges"], {"scored pairs": counts}, null={"null, scaled to them": null * scale},
        yscale="log", vlines={f"threshold {number(threshold)}": threshold},
        xlabel=f"{text.score} ({unit})" if unit else text.score, ylabel="number of pairs",
    )  # fmt: skip
    limit = None if np.isnan(threshold) else threshold
    return Drawn(
        figure,
        {"pairs": int(counts.sum()), "null": bool(null.any()), "limit": limit, "unit": unit},
    )


N_NAMED = 3
"""Hubs, and samples that are unlike the others, that a figure names."""


def degree_distribution(results: Results) -> Drawn:
    """How many genes have at least k edges, and how many regulators at least k targets."""
    needed(results.network)
    targets = results.out_degree[results.out_degree.index.isin(results.regulators)]
    return Drawn(degree_lines(results.degree, targets))


def degree_lines(degree: pd.Series, targets: pd.Series) -> Figure:
    """How many items have at least so many edges, and regulators so many targets, by their names;
    the largest hubs are named."""
    curves = {"edges of a gene": degree, "targets of a regulator": targets}
    hubs = targets if len(targets) else degree
    named = [
        (", ".join(map(shortened, sorted(map(str, group.index)))), k, int((hubs >= k).sum()))
        for k, group in hubs.groupby(hubs, sort=True)
    ]
    # Of each degree that there is, how many have at least it.
    reached = {
        name: each.value_counts().sort_index(ascending=False).cumsum()[::-1]
        for name, each in curves.items()
        if len(each)
    }
    return lines(
        {name: (each.index.to_numpy(), each.to_numpy()) for name, each in reached.items()},
        marker="o", xscale="log", yscale="log", xlim=(0.85, None), ylim=(0.75, None), xlabel="k",
        ylabel="number with at least k", n_named=N_NAMED,
        named=[hub for hub in reversed(named) if hub[2] <= N_NAMED],
    )  # fmt: skip


def precision_recall(results: Results) -> Drawn:
    """The ranking against the gold standard, the level of a random one, and the network."""
    found = results.evaluation or {}
    curve, network = found.get("curve") or {}, found.get("network") or {}
    needed(curve.get("recall") and curve.get("precision"))
    aupr, chance = found.get("aupr"), found.get("random_aupr")
    name = "ranking" + ("" if aupr is None else f" (AUPR {number(aupr)})")
    curves = {name: (curve["recall"], curve["precision"])}
    precision, recall = network.get("precision"), network.get("recall")
    if precision is not None and recall is not None:
        name = f"the network (precision {number(precision)}, recall {number(recall)})"
        curves[name] = ([recall], [precision])
    figure = lines(
        curves, hlines={f"random ({number(chance)})": chance}, xlim=(0.0, 1.01), ylim=(0.0, 1.02),
        xlabel="recall", ylabel="precision",
    )  # fmt: skip
    return Drawn(figure, {"ranking": page_text(results).text("ranking")})


def cleaning(results: Results) -> Drawn:
    """In how many samples each gene was observed, kept and left-out genes apart."""
    items = needed(results.items)
    needed("n_observed" in items)
    observed, kept = items["n_observed"].to_numpy(), items["kept"].to_numpy(dtype=bool)
    needed(len(results.dropped) or observed.min() < observed.max())
    high = max(1, int(observed.max()))
    width = -(-(high + 1) // 40)
    edges = np.arange(0, high + width + 1, width) - 0.5
    counts = {
        f"{part.sum():,} {name}": np.histogram(observed[part], edges)[0]
        for name, part in (("kept", kept), ("left out", ~kept))
    }
    least = (results.parameters.get("preprocess") or {}).get("min_samples")
    figure = histogram(
        edges, counts, yscale="symlog", xlim=(edges[0], edges[-1]), ylabel="number of genes",
        vlines={f"at least {pluralise(least, 'sample')}": least - 0.5} if least else {},
        xlabel="samples with a value",
    )  # fmt: skip
    return Drawn(figure)


# --- the samples of a table -----------------------------------------------------------------------


def sample_sizes(results: Results) -> Drawn:
    """Of each sample: its total or median, and the shares of zeros and of missing values."""
    state = results.state
    needed("quality_size" in state)
    size, names = state["quality_size"], state["quality_samples"]
    of_counts, place = bool(state["quality_counted"]), np.arange(1, size.size + 1)
    lacks = (("zero", state["quality_zeros"]), ("missing", state["quality_missing"]))
    shares = {name: (place, values) for name, values in lacks if np.any(values)}
    figure, panels = figure_of_panels(1 + bool(shares), 1, width=6.4, height=2.4)
    lines(
        {"": (place, size)}, marker="o", linestyle="", ax=panels[0],
        ylabel="total count" if of_counts else "median value", xlabel="" if shares else "sample",
        yscale="log" if of_counts and (size > 0).all() else "linear",
    )  # fmt: skip
    if shares:
        lines(
            shares, marker="o", linestyle="", ax=panels[1], xlabel="sample",
            ylabel="share of genes", ylim=(-0.03, 1.03),
        )  # fmt: skip
        panels[1].yaxis.set_major_formatter(PercentFormatter(1.0))
    lowest = [(names[k], size[k]) for k in np.argsort(size, kind="stable")[:N_NAMED].tolist()]
    numbers = {"shares": bool(shares), "lowest": lowest, "median": float(np.nanmedian(size))}
    return Drawn(figure, {"totals": of_counts, "genes": MAX_GENES, **numbers})


def sample_components(results: Results) -> Drawn:
    """Samples on the first two principal components, one colour for each batch or series."""
    state = results.state
    needed("quality_size" in state and state["component_shares"].any())
    shown, labels = state["component_samples"], state["quality_labels"].tolist()
    column, groups = None, dict[str, ArrayLike]()
    if len(labels) > 1:
        stated = results.parameters.get("samples") or {}
        column = stated.get("batch") or stated.get("series")
        group = state["quality_group"][shown]
        coloured = np.argsort(-np.bincount(group), kind="stable")[: len(GROUP_COLOURS)]
        groups = {labels[k]: group == k for k in np.sort(coloured).tolist()}
        if (rest := ~np.isin(group, coloured)).any():
            groups[f"{len(labels) - len(coloured)} others"] = rest
    figure = embedding(
        state["component_scores"], state["component_shares"], groups or None,
        state["quality_samples"][shown].tolist(), n_named=N_NAMED, size=(6.4, 4.6),
    )  # fmt: skip
    return Drawn(figure, {"column": column, "genes": MAX_GENES, "samples": MAX_SAMPLES})


def hidden_factors(results: Results) -> Drawn:
    """What was removed from the values, along the samples: numbers of the annotation that a factor
    goes with are drawn along the axis, samples are sorted and coloured by others."""
    needed("hidden_factors" in results.state)
    scores = np.asarray(results.state["hidden_factors"], dtype=np.float64)
    columns = results.state.get("factor_columns", np.full(len(scores), "")).tolist()
    figure, panels = figure_of_panels(min(len(scores), 4), 1, width=6.4, height=2.2)
    for k, (ax, column) in enumerate(zip(panels, columns, strict=False)):
        place, groups, xlabel = np.arange(1.0, scores.shape[1] + 1), None, "sample"
        if column:
            labels = pd.Series(np.asarray(results.state["factor_labels"])[k])
            numbers, names = pd.to_numeric(labels, errors="coerce"), labels.unique()
            place, xlabel = numbers.to_numpy(np.float64), column
            if names.size <= len(GROUP_COLOURS) or numbers.isna().any():
                place, xlabel = labels.rank(method="first").to_numpy(), f"sample, by {column}"
                groups = {name or "none": labels == name for name in sorted(names)}
        scatter(place, scores[k], groups, ax=ax, xlabel=xlabel, ylabel=f"factor {k + 1}")
    known = sorted({*columns} - {""})
    return Drawn(figure, {"n": len(scores), "shown": len(panels), "columns": known})


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


# --- the network of one item ----------------------------------------------------------------------


def regulator(results: Results) -> Drawn:
    """The network of one item (``Results.drawn_item``): what it is joined to, the strongest first
    and clockwise from the top, and the edges among these.

    Raises ValueError for an item without an edge.
    """
    name = results.labels.get(needed(results.drawn_item), results.drawn_item)
    edges = results.strongest(len(results.network))
    own = edges[(edges[["source", "target"]] == name).any(axis=1)]
    if own.empty:
        raise ValueError(
            f"of: found {results.drawn_item!r}; expected the name of an item with an edge"
        )
    partners = own["target"].where(own["source"] == name, own["source"]).unique()[:60]
    turn = 2 * np.pi * np.arange(len(partners)) / len(partners)
    place = dict(zip(partners, zip(np.sin(turn), np.cos(turn), strict=True), strict=True))
    place[name] = (0.0, 0.0)
    shown = edges[edges["source"].isin(place) & edges["target"].isin(place)]
    sign = sign_column(shown, results.method)
    colour = np.where(shown[sign] < 0 if sign else np.zeros(len(shown), bool), ORANGE, BLUE)
    size = np.abs(shown[results.strength]) if results.strength else np.ones(len(shown))
    width = 0.4 + 1.6 * np.asarray(size / np.max(size))
    figure, (panel,) = figure_of_panels(width=6.4, height=6.4)
    with chart(ax=panel, xlim=(-1.4, 1.4), ylim=(-1.4, 1.4)) as axes:
        for k, (source, target) in enumerate(shown[["source", "target"]].to_numpy()):
            among = name not in (source, target)
            x, y = np.transpose([place[source], place[target]])
            shade = PALE if among else str(colour[k])
            axes.plot(x, y, color=shade, zorder=1 - among, linewidth=width[k])
        x, y = np.transpose([*place.values()])
        axes.scatter(x, y, s=16, color=INK, zorder=2)
        for (label, (x, y)), angle in zip(place.items(), [*np.degrees(turn), 90.0], strict=True):
            left = x < -1e-9
            axes.text(
                1.06 * x, 1.06 * y or 0.06, label, rotation=(270.0 if left else 90.0) - angle,
                ha="center" if label == name else "right" if left else "left",
                va="bottom" if label == name else "center",
                rotation_mode="anchor", parse_math=False,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.8},
            )  # fmt: skip
        axes.set_axis_off()
    figure.data = shown
    return Drawn(figure)


# --- genes along time -----------------------------------------------------------------------------

MAX_STEPS = 120
"""Samples along one axis; more would be a blur."""


def time_courses(
    panels: Sequence[Mapping[str, ArrayLike]], series: NDArray[np.integer], label: str
) -> tuple[Figure, dict[str, int]]:
    """Values of a few genes along time, a panel for each set of genes, series after series.

    Parameters
    ----------
    panels : sequence of mappings
        Name of a gene -> its values, shape (S,), NaN where missing; the first gene of each panel is
        drawn thick.
    series : array of int, shape (S,)
        Time series of each sample, those of one in the order of time. Series are drawn as long as
        they fit into ``MAX_STEPS`` samples, of the first one its beginning.
    label : str
        What the values are.

    Returns
    -------
    The figure; and how many samples it shows, of how many, for its caption.
    """
    drawn = drawn_series(series)
    gapped = np.concatenate([[*part, -1] for part in drawn])[:-1]  # a gap between two courses
    steps = np.arange(1, gapped.size + 1)
    figure, axes = figure_of_panels(len(panels), min(2, len(panels)), width=4.8, height=2.7)
    for ax, courses in zip(axes, panels, strict=True):
        curves = {
            name: (steps, np.append(np.asarray(values), np.nan)[gapped])
            for name, values in courses.items()
        }
        lines(
            curves, marker="o", highlight=next(iter(curves)), ax=ax, ylabel=label,
            xlabel="time step" if len(drawn) == 1 else "time steps, series after series",
        )  # fmt: skip
        if len(drawn) > 1:
            ax.set_xticks([])
    return figure, {"shown": sum(part.size for part in drawn), "samples": series.size}


def drawn_series(series: np.ndarray) -> list[np.ndarray]:
    """The samples of each series that ``time_courses`` draws, in the order of the series."""
    members = [np.flatnonzero(series == number) for number in np.unique(series)]
    fitting = np.cumsum([here.size for here in members]) <= MAX_STEPS
    return [here for here, fits in zip(members, fitting, strict=True) if fits] or [
        members[0][:MAX_STEPS]
    ]
