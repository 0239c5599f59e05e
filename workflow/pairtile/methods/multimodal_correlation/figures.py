"""The figures of modes, conditions, modules and thresholds.

Each function takes arrays or tables and returns a matplotlib Figure, in a notebook as well as in
the report. Names of genes are drawn as they are: no character in them is taken as mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.modes import PairModes
from pairtile.methods.multimodal_correlation.thresholds import RANDOM, SEPARATE
from pairtile.report.formats import count, percent, plain, shortened
from pairtile.report.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PINK,
    SKY,
    YELLOW,
    figure_of_panels,
    new_figure,
    styled,
)

__all__ = [
    "condition_edges",
    "condition_scatter",
    "correlation_distribution",
    "mode_number_distribution",
    "module_heat_map",
    "module_sizes",
    "pair_scatter",
    "power_law_curve",
    "rmt_curve",
    "spacing_distribution",
]


# --- modes ---

MODE_STYLES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "D"), (YELLOW, "v"))
"""Colour and marker of the modes of a pair, distinct without colour as well."""

MANY_POINTS = 500
"""With more samples points are an image in the SVG: it stays small."""

WITHIN = 2.4477
"""Standard deviations within which 95 % of a normal cloud in the plane lie."""


def mode_number_distribution(pairs_by_modes: ArrayLike) -> Figure:
    """How many pairs of genes have no mode, one, two, and so on.

    pairs_by_modes : int array, shape (K + 1,), pairs by the number of modes chosen, 0 first.

    Examples
    --------
    >>> figure = mode_number_distribution([3, 120, 40, 2])
    """
    heights = np.asarray(pairs_by_modes, dtype=np.int64)
    heights = heights[: max(2, int(np.flatnonzero(heights).max(initial=0)) + 1)]
    names = ["none", *(str(k) for k in range(1, len(heights)))]
    colours = [PALE, SKY, *[BLUE] * (len(heights) - 2)]
    total = max(int(heights.sum()), 1)
    with styled():
        figure, axes = new_figure()
        bars = axes.bar(names, heights, color=colours, edgecolor=INK, linewidth=0.6, width=0.75)
        axes.bar_label(bars, [f"{count(h)}\n{percent(h / total)}" for h in heights], padding=2)
        axes.margins(y=0.18)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="modes of a pair", ylabel="number of pairs")
    return figure


def correlation_distribution(
    edges: ArrayLike,
    counts: ArrayLike,
    threshold: float | None = None,
    *,
    stored_from: float = 0.0,
) -> Figure:
    """Distribution of the correlations of all modes, with the threshold on both sides; log y.

    Parameters
    ----------
    edges, counts : arrays, shape (B + 1,) and (B,)
        Bins from -1 to 1, and modes in each.
    threshold : float, optional
        Least size of an edge's correlation; None or NaN draws none.
    stored_from : float
        Modes with a smaller correlation were counted only; they are drawn paler.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> edges = np.linspace(-1, 1, 41)
    >>> counts = np.histogram(np.tanh(random.normal(0, 0.4, 3000)), edges)[0]
    >>> figure = correlation_distribution(edges, counts, threshold=0.8)
    """
    bins, heights = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if bins.size != heights.size + 1:
        raise ValueError(
            f"found {bins.size} edges and {heights.size} counts; expected one edge more"
        )
    middle = (bins[1:] + bins[:-1]) / 2
    kept = np.abs(middle) >= stored_from
    with styled():
        figure, axes = new_figure()
        if stored_from > 0:
            axes.stairs(heights, bins, fill=True, color=PALE, label="modes, counted only")
        kept_label = "modes, stored" if stored_from > 0 else "modes"
        axes.stairs(np.where(kept, heights, 0.0), bins, fill=True, color=SKY, label=kept_label)
        axes.stairs(heights, bins, color=BLUE, linewidth=1.0)
        if threshold is not None and np.isfinite(threshold):
            for sign in (-1, 1):
                axes.axvline(
                    sign * threshold, color=INK, linestyle=(0, (5, 3)), linewidth=1.6,
                    label=f"threshold ±{plain(round(threshold, 4))}" if sign > 0 else None,
                )  # fmt: skip
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.5, top=max(10.0, 2 * heights.max(initial=0)))
        axes.set(xlim=(-1.0, 1.0), xlabel="correlation", ylabel="number of modes")
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3)
    return figure


def pair_scatter(pairs: Sequence[PairModes], *, columns: int = 3, ellipses: bool = True) -> Figure:
    """Pairs of genes, one panel each: the samples of each mode, its correlation and its ellipse.

    The ellipse holds 95 % of the mode's component of the mixture. Samples of modes that were not
    kept are drawn faintly, outliers as faint crosses.

    Parameters
    ----------
    pairs : sequence of PairModes
        As ``ModeCorrelation.pair`` gives them.
    columns : int
        Panels beside each other.
    ellipses : bool
        False: none, as where no mixture was fitted.

    Raises
    ------
    ValueError
        Without a pair.

    Examples
    --------
    >>> from pairtile import multimodal_correlation
    >>> random = np.random.default_rng(1)
    >>> x = random.normal(size=60)
    >>> values = np.stack([x, x + random.normal(0, 0.3, 60)])
    >>> modes = multimodal_correlation(values, clustering="none")
    >>> figure = pair_scatter([modes.pair(0, 1)], ellipses=False)
    """
    with styled():
        columns = min(columns, len(pairs))
        figure, axes = figure_of_panels(len(pairs), columns)
        for pair, panel in zip(pairs, axes, strict=True):
            draw_modes(panel, pair, ellipses)
    return figure


def draw_modes(axes: Axes, pair: PairModes, ellipses: bool) -> None:
    """One panel of ``pair_scatter``."""
    _draw_rest(axes, pair)
    for k, member in enumerate(pair.members):
        colour, marker = MODE_STYLES[k % len(MODE_STYLES)]
        axes.scatter(
            pair.x[member], pair.y[member], s=22, color=colour, marker=marker, alpha=0.75,
            linewidths=0.0, rasterized=pair.x.size > MANY_POINTS,
            label=f"r = {pair.correlation[k]:.2f} ({count(pair.n_samples[k])})".replace("-", "−"),
        )  # fmt: skip
        if ellipses and np.isfinite(pair.covariances[k]).all():
            axes.add_patch(_ellipse(pair.means[k], pair.covariances[k], colour))
    name_axes(axes, pair)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=8.5, handletextpad=0.1,
        columnspacing=0.8, borderaxespad=0.1,
    )  # fmt: skip


def _draw_rest(axes: Axes, pair: PairModes) -> None:
    """Observed samples that are in no mode shown, faintly."""
    images = pair.x.size > MANY_POINTS
    others, outliers = pair.others, pair.outliers & pair.observed
    axes.scatter(
        pair.x[others], pair.y[others], s=10, color=GREY, alpha=0.45, linewidths=0.0,
        rasterized=images,
    )  # fmt: skip
    axes.scatter(
        pair.x[outliers], pair.y[outliers], s=16, color=GREY, marker="x", alpha=0.55,
        linewidths=0.9, rasterized=images,
    )  # fmt: skip


def _ellipse(mean: NDArray[np.float64], covariance: NDArray[np.float64], colour: str) -> Ellipse:
    variances, directions = np.linalg.eigh(covariance)
    width, height = 2.0 * WITHIN * np.sqrt(np.maximum(variances[::-1], 0.0))
    angle = float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))
    return Ellipse(
        (float(mean[0]), float(mean[1])), float(width), float(height), angle=angle, fill=False,
        edgecolor=colour, linewidth=1.3, alpha=0.9,
    )  # fmt: skip


def name_axes(axes: Axes, pair: PairModes) -> None:
    """The names of the genes, as they are."""
    axes.set_xlabel(shortened(pair.names[0]), parse_math=False)
    axes.set_ylabel(shortened(pair.names[1]), parse_math=False)


# --- conditions ---

LABEL_COLOURS = (BLUE, ORANGE, GREEN, YELLOW, PINK, SKY)
LABEL_MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of the most frequent labels; the others share one."""

MAX_LABELS = 24


def condition_scatter(
    pairs: Sequence[PairModes], condition: Condition, *, modes: bool = True
) -> Figure:
    """Pairs of genes side by side, above by mode, below by a condition of the samples.

    Samples that are in none of the modes shown are drawn smaller and paler below.

    Parameters
    ----------
    pairs : sequence of PairModes
        Columns of the figure.
    condition : Condition
        Labels (the most frequent in colours of their own) or numbers, in the order of the samples.
    modes : bool
        False: the lower row alone.

    Raises
    ------
    ValueError
        Without a pair.

    Examples
    --------
    >>> from pairtile import multimodal_correlation
    >>> x = np.random.default_rng(1).normal(size=60)
    >>> modes = multimodal_correlation(np.stack([x, x**3]), clustering="none")
    >>> dose = np.arange(60.0)
    >>> none = np.full(60, -1, dtype=np.int32)
    >>> condition = Condition("dose", "quantitative", (), none, dose)
    >>> figure = condition_scatter([modes.pair(0, 1)], condition, modes=False)
    """
    with styled():
        figure, axes = figure_of_panels((2 if modes else 1) * len(pairs), len(pairs))
        above, below = axes[: -len(pairs)], axes[-len(pairs) :]
        for pair, panel in zip(pairs if modes else [], above, strict=True):
            draw_modes(panel, pair, True)
        if condition.kind == "categorical":
            groups = label_groups(condition)
            for pair, panel in zip(pairs, below, strict=True):
                _draw_labels(panel, pair, groups)
            handles, names = below[0].get_legend_handles_labels()
            figure.legend(
                handles, names, loc="outside lower center", ncols=min(len(names), 4),
                title=shortened(condition.name),
            )  # fmt: skip
            _same_limits(above, below)
            return figure
        values = condition.numbers
        limits = (float(np.nanmin(values)), float(np.nanmax(values)))
        for pair, panel in zip(pairs, below, strict=True):
            drawn = _draw_numbers(panel, pair, values, limits)
        bar = figure.colorbar(drawn, ax=list(below), location="bottom", shrink=0.5, aspect=40)
        bar.set_label(shortened(condition.name), parse_math=False)
        if condition.labels:
            bar.set_ticks(range(1, len(condition.labels) + 1), labels=list(condition.labels))
        _same_limits(above, below)
    return figure


def condition_edges(counts: pd.DataFrame) -> Figure:
    """How many edges go with each label of each condition, by the sign of their correlation.

    counts : columns ``condition``, ``label``, ``positive``, ``negative``; a bar for each row, the
    longest first where there are too many.

    Examples
    --------
    >>> counts = pd.DataFrame({"condition": "Tissue", "label": ["leaf", "root"]})
    >>> counts = counts.assign(positive=[30, 4], negative=[2, 9])
    >>> figure = condition_edges(counts)
    """
    table = counts.reset_index(drop=True)
    if len(table) > MAX_LABELS:
        size = table["positive"] + table["negative"]
        table = table.loc[size.nlargest(MAX_LABELS, keep="first").index.sort_values()]
    names = [
        shortened(" ".join(filter(None, (str(row.condition), str(row.label)))), 40)
        for row in table.itertuples()
    ]
    places = np.arange(len(names))
    with styled():
        figure, axes = new_figure(6.4, 1.6 + 0.3 * len(names))
        axes.barh(places, table["positive"], color=SKY, label="positive correlation")
        bars = axes.barh(
            places, table["negative"], left=table["positive"], color=ORANGE, hatch="///",
            edgecolor="white", linewidth=0.0, label="negative correlation",
        )  # fmt: skip
        totals = table["positive"] + table["negative"]
        axes.bar_label(bars, [count(n) for n in totals], padding=3)
        axes.set_yticks(places, names, parse_math=False)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.margins(x=0.12)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="edges")
        figure.legend(loc="outside upper center", ncols=2)
    return figure


def label_groups(condition: Condition) -> list[tuple[str, NDArray[np.bool_]]]:
    """Labels with their samples, in the order of the condition; where there are more labels than
    colours, the rarest are one group, ``other labels``."""
    sizes = np.array([(condition.codes == k).sum() for k in range(len(condition.labels))])
    shown = np.arange(sizes.size)
    if sizes.size > len(LABEL_COLOURS):
        shown = np.sort(np.argsort(-sizes, kind="stable")[: len(LABEL_COLOURS)])
    groups = [(condition.labels[k], condition.codes == k) for k in shown]
    rest = condition.known & ~np.isin(condition.codes, shown)
    if rest.any():
        groups.append((f"other labels ({sizes.size - shown.size})", rest))
    return groups


def _draw_labels(
    axes: Axes, pair: PairModes, groups: Sequence[tuple[str, NDArray[np.bool_]]]
) -> None:
    inside = pair.members.any(axis=0)
    unknown = pair.observed & ~np.any([samples for _, samples in groups], axis=0)
    drawn = [*groups, *([("not known", unknown)] if unknown.any() else [])]
    for k, (label, samples) in enumerate(drawn):
        colour = LABEL_COLOURS[k] if k < len(LABEL_COLOURS) else GREY
        marker = LABEL_MARKERS[k] if k < len(LABEL_MARKERS) else "."
        for chosen, size, strength in ((~inside, 9, 0.35), (inside, 22, 0.85)):
            here = samples & chosen & pair.observed
            axes.scatter(
                pair.x[here], pair.y[here], s=size, color=colour, marker=marker, alpha=strength,
                linewidths=0.0, rasterized=pair.x.size > MANY_POINTS,
                label=shortened(label) if strength > 0.5 else None,
            )  # fmt: skip
    name_axes(axes, pair)


def _draw_numbers(
    axes: Axes, pair: PairModes, values: NDArray[np.float64], limits: tuple[float, float]
) -> PathCollection:
    inside, known = pair.members.any(axis=0), np.isfinite(values)
    unknown = pair.observed & ~known
    axes.scatter(pair.x[unknown], pair.y[unknown], s=12, color=GREY, marker="x", alpha=0.5)
    for chosen, size, strength in ((~inside, 9, 0.45), (inside, 24, 1.0)):
        here = chosen & pair.observed & known
        drawn = axes.scatter(
            pair.x[here], pair.y[here], s=size, c=values[here], cmap="cividis", vmin=limits[0],
            vmax=limits[1], alpha=strength, edgecolors=GREY, linewidths=0.4,
            rasterized=pair.x.size > MANY_POINTS,
        )  # fmt: skip
    name_axes(axes, pair)
    return drawn


def _same_limits(above: Sequence[Axes], below: Sequence[Axes]) -> None:
    for upper, lower in zip(above, below, strict=False):
        lower.set(xlim=upper.get_xlim(), ylim=upper.get_ylim())


# --- modules ---

MAX_GENES = 1000
"""More genes are more than a figure of this size can show."""

MAX_BARS = 40
MIN_NAMED = 0.03
"""Part of the axis that a module needs to have its number written beside it."""


def module_heat_map(matrix: ArrayLike, modules: ArrayLike) -> Figure:
    """The network as a matrix, genes ordered by module, each module framed.

    Parameters
    ----------
    matrix : float array, shape (n, n)
        Correlation of each pair of genes in the network; 0 or NaN where there is no edge.
    modules : int array, shape (n,)
        Module of each gene, ascending.

    Raises
    ------
    ValueError
        When shapes do not fit, or modules are not in order.

    Examples
    --------
    >>> matrix = np.array([[0, 0.9, 0], [0.9, 0, -0.7], [0, -0.7, 0]])
    >>> figure = module_heat_map(matrix, [1, 1, 2])
    """
    values, module = np.asarray(matrix, dtype=np.float64), np.asarray(modules, dtype=np.int64)
    if values.shape != (module.size, module.size):
        raise ValueError(f"matrix has shape {values.shape}; expected {(module.size, module.size)}")
    if (np.diff(module) < 0).any():
        raise ValueError("modules: found them out of order; expected them ascending")
    shown = np.where(values == 0.0, np.nan, values)
    with styled():
        figure, axes = new_figure(6.4, 5.6)
        drawn = axes.imshow(
            shown, cmap="RdBu_r", vmin=-1.0, vmax=1.0, interpolation="nearest", aspect="equal"
        )
        starts = np.flatnonzero(np.diff(module, prepend=-1))
        ends = np.append(starts[1:], module.size)
        for start, end in zip(starts, ends, strict=True):
            size = end - start
            corner = (start - 0.5, start - 0.5)
            axes.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=INK, linewidth=0.7))
        named = [(s + e - 1) / 2 for s, e in zip(starts, ends, strict=True)
                 if e - s >= MIN_NAMED * module.size]  # fmt: skip
        names = [str(module[round(place)]) for place in named]
        axes.set_xticks(named, names)
        axes.set_yticks(named, names)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.set(xlabel="genes by module", ylabel="genes by module")
        bar = figure.colorbar(drawn, ax=axes, shrink=0.8, aspect=30)
        bar.set_label("correlation of the edge")
    return figure


def module_sizes(sizes: ArrayLike) -> Figure:
    """How many genes each module has, the largest first.

    sizes : int array, shape (modules,), in the order of the modules' numbers from 1 on.

    Examples
    --------
    >>> figure = module_sizes([120, 45, 3])
    """
    heights = np.asarray(sizes, dtype=np.int64)[:MAX_BARS]
    names = [str(k + 1) for k in range(heights.size)]
    with styled():
        figure, axes = new_figure()
        bars = axes.bar(names, heights, color=SKY, edgecolor=BLUE, linewidth=0.8)
        if heights.size <= 20:
            axes.bar_label(bars, [count(height) for height in heights], padding=2)
        else:
            axes.set_xticks(range(0, heights.size, 5), names[::5])
        axes.margins(y=0.12)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="module", ylabel="genes")
    return figure


# --- thresholds ---


def rmt_curve(
    threshold: ArrayLike, chi_square: ArrayLike, genes: ArrayLike, found: float | None = None
) -> Figure:
    """The walk to the threshold by random matrix theory: chi-square and genes at each step.

    Parameters
    ----------
    threshold, chi_square, genes : arrays, shape (steps,)
        Chi-square of the eigenvalues' spacings against those of separate modules (NaN where there
        are too few eigenvalues), and genes in the matrix.
    found : float, optional
        The threshold that was chosen; None or NaN draws none.

    Examples
    --------
    >>> t = np.linspace(0.95, 0.8, 16)
    >>> figure = rmt_curve(t, 60 + 900 * (0.95 - t), 100 + 4000 * (0.95 - t), found=0.85)
    """
    t, chi = np.asarray(threshold, dtype=np.float64), np.asarray(chi_square, dtype=np.float64)
    with styled():
        figure, axes = new_figure()
        many = _genes_behind(axes, t, np.asarray(genes, dtype=np.float64))
        axes.plot(t, chi, "o-", color=BLUE, markersize=3, linewidth=1.2, label="chi-square")
        for level, colour, words in (
            (SEPARATE, GREEN, f"{SEPARATE:g}: separate modules below"),
            (RANDOM, ORANGE, f"{RANDOM:g}: tied together by noise above"),
        ):
            axes.axhline(level, color=colour, linestyle=(0, (6, 2)), linewidth=1.5, label=words)
        _mark(axes, found)
        axes.set(ylabel="chi-square of the spacings")
        top = np.nanmax(chi, initial=RANDOM) if np.isfinite(chi).any() else RANDOM
        axes.set_ylim(0.0, 1.08 * min(top, 5.0 * RANDOM))
        _finish(figure, axes, many, t)
    return figure


def power_law_curve(
    threshold: ArrayLike,
    fit: ArrayLike,
    genes: ArrayLike,
    found: float | None = None,
    *,
    least_fit: float = 0.8,
) -> Figure:
    """The walk to the threshold by the power law: fit and genes at each step.

    Parameters
    ----------
    threshold, fit, genes : arrays, shape (steps,)
        R² of the line through the logarithms (negative where it rises, NaN where not fitted), and
        genes with an edge.
    found : float, optional
        The threshold that was chosen; None or NaN draws none.
    least_fit : float
        R² from which a network counts as scale-free.

    Examples
    --------
    >>> t = np.linspace(0.95, 0.5, 10)
    >>> figure = power_law_curve(t, 0.95 - 0.5 * (0.95 - t), 100 + 2000 * (0.95 - t), found=0.7)
    """
    t, r_squared = np.asarray(threshold, dtype=np.float64), np.asarray(fit, dtype=np.float64)
    with styled():
        figure, axes = new_figure()
        many = _genes_behind(axes, t, np.asarray(genes, dtype=np.float64))
        axes.plot(t, r_squared, "o-", color=BLUE, markersize=3, linewidth=1.2, label="fit")
        axes.axhline(
            least_fit, color=GREEN, linestyle=(0, (6, 2)), linewidth=1.5,
            label=f"{least_fit:g}: scale-free from here on",
        )  # fmt: skip
        _mark(axes, found)
        axes.set(ylabel="R² of the power law (signed)")
        low = np.nanmin(r_squared, initial=0.0) if np.isfinite(r_squared).any() else 0.0
        axes.set_ylim(1.1 * low, 1.05)
        _finish(figure, axes, many, t)
    return figure


def spacing_distribution(spacings: pd.DataFrame) -> Figure:
    """Spacings of eigenvalues at some thresholds, with the laws of separate modules and of noise.

    spacings : columns ``threshold``, ``spacing``, ``density``, ``poisson``, ``wigner``; a panel for
    each threshold, the highest first, as in the walk.

    Raises ValueError for an empty table.

    Examples
    --------
    >>> s = np.linspace(0.05, 2.95, 30)
    >>> laws = {"poisson": np.exp(-s), "wigner": np.pi / 2 * s * np.exp(-np.pi / 4 * s**2)}
    >>> spacings = pd.DataFrame({"threshold": 0.83, "spacing": s, "density": np.exp(-s), **laws})
    >>> figure = spacing_distribution(spacings)
    """
    parts = list(spacings.groupby("threshold"))[::-1]
    with styled():
        figure, axes = figure_of_panels(len(parts), len(parts), width=3.2, height=3.4)
        for (threshold, part), panel in zip(parts, axes, strict=True):
            width = float(np.diff(part["spacing"]).mean())
            panel.bar(part["spacing"], part["density"], width=width, color=SKY, label="seen")
            for law, colour, style, words in (
                ("poisson", GREEN, "-", "separate modules (Poisson)"),
                ("wigner", ORANGE, (0, (5, 2)), "noise (Wigner)"),
            ):
                panel.plot(
                    part["spacing"], part[law], color=colour, linestyle=style, linewidth=1.8,
                    label=words,
                )  # fmt: skip
            panel.set_title(f"threshold {threshold:.6g}", fontsize=10)
            panel.set(xlabel="spacing (mean: 1)", xlim=(0.0, 3.0))
        axes[0].set(ylabel="density")
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3)
    return figure


def _genes_behind(axes: Axes, t: NDArray[np.float64], genes: NDArray[np.float64]) -> Axes:
    """The number of genes on an axis of its own, right."""
    many = axes.twinx()
    many.plot(t, genes, color=GREY, linewidth=1.2, linestyle=":", label="genes (right)")
    many.set(ylabel="genes with an edge", ylim=(0.0, 1.08 * max(genes.max(initial=0.0), 1.0)))
    many.grid(visible=False)
    many.spines["right"].set_visible(True)
    return many


def _mark(axes: Axes, found: float | None) -> None:
    if found is not None and np.isfinite(found):
        axes.axvline(
            found, color=INK, linestyle=(0, (5, 3)), linewidth=1.6,
            label=f"threshold {plain(round(found, 4))}",
        )  # fmt: skip


def _finish(figure: Figure, axes: Axes, many: Axes, t: NDArray[np.float64]) -> None:
    """The walk goes from high to low, as one reads; one legend for both axes."""
    if t.size:
        margin = max(0.02 * float(np.ptp(t)), 0.001)
        axes.set_xlim(t.max() + margin, t.min() - margin)
    axes.set(xlabel="threshold of the correlation")
    handles, names = axes.get_legend_handles_labels()
    more, also = many.get_legend_handles_labels()
    figure.legend(
        [*handles, *more], [*names, *also], loc="outside upper center", ncols=2, fontsize=8.5
    )
