"""Figures of pairs of genes against the conditions of their samples.

Each function takes arrays or tables and returns a matplotlib Figure, in a notebook as well as in
the report. Names are drawn as they are: no character in them is taken as mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.figures_modes import (
    MANY_POINTS,
    draw_modes,
    name_axes,
    shortened,
)
from pairtile.methods.multimodal_correlation.pair_modes import PairModes
from pairtile.report.formats import count
from pairtile.report.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    figure_of_panels,
    new_figure,
    styled,
)

LABEL_COLOURS = (BLUE, ORANGE, GREEN, YELLOW, PINK, SKY)
LABEL_MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of the most frequent labels; the others share one."""

MAX_BARS = 24


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
    if len(table) > MAX_BARS:
        size = table["positive"] + table["negative"]
        table = table.loc[size.nlargest(MAX_BARS, keep="first").index.sort_values()]
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
