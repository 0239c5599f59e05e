"""Figures of the samples of a table: their totals, what they lack, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike

from pairtile.report.formats import percent, shortened
from pairtile.report.style import (
    BLUE,
    GREEN,
    GREY,
    GROUP_COLOURS,
    MANY_POINTS,
    ORANGE,
    PINK,
    SKY,
    figure_of_panels,
    new_figure,
    styled,
)

__all__ = ["sample_components", "sample_sizes", "time_courses"]

MAX_STEPS = 120
"""Samples along one axis; more would be a blur."""


def sample_sizes(
    sizes: ArrayLike,
    zeros: ArrayLike,
    missing: ArrayLike,
    *,
    label: str = "total",
    logarithmic: bool = False,
) -> Figure:
    """Of each sample, in the order given: its total or median, and what it lacks.

    Parameters
    ----------
    sizes : array, shape (S,)
        Total or median of each sample.
    zeros, missing : array, shape (S,)
        Shares of its values that are zero, and that are missing; one that is 0 everywhere is not
        drawn.
    label : str
        What ``sizes`` are.
    logarithmic : bool
        Whether ``sizes`` are drawn so; those of 0 are then not seen.

    Examples
    --------
    >>> figure = sample_sizes([9e6, 8e6, 2e5], [0.2, 0.2, 0.7], [0, 0, 0], logarithmic=True)
    """
    size = np.asarray(sizes, dtype=np.float64)
    shares = [
        (np.asarray(values, dtype=np.float64), name, colour)
        for values, name, colour in ((zeros, "zero", SKY), (missing, "missing", ORANGE))
    ]
    shares = [each for each in shares if each[0].any()]
    place = np.arange(1, size.size + 1)
    with styled():
        figure, panels = figure_of_panels(1 + bool(shares), 1, width=6.4, height=2.4)
        many = size.size > MANY_POINTS
        points: dict[str, Any] = {"markersize": 2 if many else 4, "rasterized": many}
        panels[0].plot(place, size, "o", color=BLUE, **points)
        panels[0].set_ylabel(label)
        if logarithmic:
            panels[0].set_yscale("log")
        for values, name, colour in shares:
            panels[1].plot(place, values, "o", color=colour, label=name, **points)
        if shares:
            panels[1].set_ylabel("share of genes")
            panels[1].set_ylim(-0.03, 1.03)
            panels[1].yaxis.set_major_formatter(PercentFormatter(1.0))
            # Above the axes: points may be anywhere.
            panels[1].legend(loc="lower right", bbox_to_anchor=(1.0, 0.97), ncols=2)
        for panel in panels:
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            panel.margins(x=0.02)
        panels[-1].set_xlabel("sample")
    return figure


def sample_components(
    scores: ArrayLike,
    shares: ArrayLike,
    groups: ArrayLike | None = None,
    labels: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    n_labels: int = 3,
) -> Figure:
    """Samples on the first two principal components, one colour for each group.

    Parameters
    ----------
    scores : array, shape (S, 2)
        Place of each sample on the two components.
    shares : array, shape (2,)
        Share of the variance that each component holds.
    groups : array of int, shape (S,), optional
        Group of each sample, from 0; of more groups than there are colours the smallest are grey.
    labels : sequence of str
        Names of the groups.
    names : sequence of str, optional
        Names of the samples: up to ``n_labels`` that lie farthest from the middle are named.

    Examples
    --------
    >>> scores = [[-2.0, 0.1], [-1.9, -0.2], [3.9, 0.1]]
    >>> figure = sample_components(scores, [0.8, 0.1], [0, 0, 1], ["first run", "second run"])
    """
    place = np.asarray(scores, dtype=np.float64)
    group = np.zeros(len(place), dtype=np.int64) if groups is None else np.asarray(groups)
    with styled():
        figure, axes = new_figure(6.4, 4.6)
        coloured = np.argsort(-np.bincount(group), kind="stable")[: len(GROUP_COLOURS)]
        parts = [
            (group == number, shortened(labels[number]) if labels else "", GROUP_COLOURS[k])
            for k, number in enumerate(np.sort(coloured).tolist())
        ]
        if (rest := ~np.isin(group, coloured)).any():
            parts.insert(0, (rest, f"{len(labels) - len(coloured)} others", GREY))
        for here, name, colour in parts:
            axes.scatter(
                place[here, 0], place[here, 1], s=22, color=colour, alpha=0.75, linewidths=0,
                label=name, rasterized=len(place) > MANY_POINTS,
            )  # fmt: skip
        for k in _outermost(place, n_labels) if names else []:
            axes.annotate(
                shortened(names[k]), place[k], xytext=(0, 5), textcoords="offset points",
                ha="center", fontsize=9, parse_math=False,
            )  # fmt: skip
        axes.margins(0.12)
        held = [percent(share) for share in np.asarray(shares).tolist()]
        axes.set(
            xlabel=f"component 1 ({held[0]} of variance)",
            ylabel=f"component 2 ({held[1]} of variance)",
        )
        if labels:
            legend = figure.legend(loc="outside upper center", ncols=min(4, len(parts)))
            for text in legend.get_texts():
                text.set_parse_math(False)
    return figure


def time_courses(
    panels: Sequence[Mapping[str, ArrayLike]],
    series: ArrayLike | None = None,
    *,
    label: str = "value",
) -> Figure:
    """Values of a few genes along time, a panel for each set of genes, series after series.

    Parameters
    ----------
    panels : sequence of mappings
        Name of a gene -> its values, shape (S,), NaN where missing; the first gene of each panel is
        drawn thick.
    series : array of int, shape (S,), optional
        Time series of each sample, those of one in the order of time; None: all are one. Series
        are drawn as long as they fit into ``MAX_STEPS`` samples, of the first one its beginning.
    label : str
        What the values are.

    Raises
    ------
    ValueError
        Without a panel.

    Examples
    --------
    >>> target, predictor = [0.1, 0.2, 0.9, 0.8, 0.1], [0.1, 0.9, 0.8, 0.2, 0.1]
    >>> figure = time_courses([{"target": target, "predictor": predictor}])
    """
    n_samples = len(np.asarray(next(iter(panels[0].values())))) if panels else 0
    number = np.zeros(n_samples, dtype=np.int64) if series is None else np.asarray(series)
    drawn = drawn_series(number)
    with styled():
        figure, axes = figure_of_panels(len(panels), min(2, len(panels)), width=4.8, height=2.7)
        for panel, courses in zip(axes, panels, strict=True):
            for k, (name, values) in enumerate(courses.items()):
                begin = 1
                for here in drawn:
                    panel.plot(
                        np.arange(begin, begin + here.size), np.asarray(values)[here], "o-",
                        color=(ORANGE, BLUE, GREEN, PINK)[k % 4], linewidth=2.4 if k == 0 else 1.3,
                        markersize=3, label=shortened(name, 20) if begin == 1 else None,
                        zorder=3 if k == 0 else 2,
                    )  # fmt: skip
                    begin += here.size + 1
            panel.set_xlabel("time step" if len(drawn) == 1 else "time steps, series after series")
            panel.set_ylabel(label)
            if len(drawn) > 1:
                panel.set_xticks([])
            else:
                panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            legend = panel.legend(
                loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=9, borderaxespad=0.2
            )
            for text in legend.get_texts():
                text.set_parse_math(False)
    return figure


def drawn_series(series: np.ndarray) -> list[np.ndarray]:
    """The samples of each series that ``time_courses`` draws, in the order of the series."""
    members = [np.flatnonzero(series == number) for number in np.unique(series)]
    fitting = np.cumsum([here.size for here in members]) <= MAX_STEPS
    return [here for here, fits in zip(members, fitting, strict=True) if fits] or [
        members[0][:MAX_STEPS]
    ]


def _outermost(place: np.ndarray, most: int) -> list[int]:
    """The points farthest from the middle one, no two of them close to each other."""
    distance = np.linalg.norm(place - np.median(place, axis=0), axis=1)
    width = np.ptp(place, axis=0)
    chosen: list[int] = []
    for k in np.argsort(-distance, kind="stable")[: 10 * most].tolist():
        apart = [np.abs(place[k] - place[other]) > (0.25, 0.06) * width for other in chosen]
        if len(chosen) < most and all(each.any() for each in apart):
            chosen.append(k)
    return chosen
