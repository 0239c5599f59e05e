"""Figures of the modes of pairs of genes.

Each function takes arrays or tables and returns a matplotlib Figure, in a notebook as well as in
the report. Names of genes are drawn as they are: no character in them is taken as mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.multimodal_correlation.pair_modes import PairModes
from pairtile.report.formats import count, percent, plain
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

MODE_STYLES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "D"), (YELLOW, "v"))
"""Colour and marker of the modes of a pair, told apart without colour as well."""

MANY_POINTS = 500
"""With more samples points are an image in the SVG: it stays small."""

MAX_NAME = 24
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


def shortened(name: str, limit: int = MAX_NAME) -> str:
    """A name that has room in a figure."""
    return name if len(name) <= limit else name[: limit - 1] + "…"
