"""Figures of the samples of a table: their totals, what they lack, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike

from pairtile.report.charts import embedding, lines, scatter
from pairtile.report.style import GROUP_COLOURS, figure_of_panels

__all__ = ["hidden_factors", "sample_components", "sample_sizes", "time_courses"]

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
    place = np.arange(1, size.size + 1)
    shares = {
        name: (place, values)
        for name, values in (("zero", zeros), ("missing", missing))
        if np.any(values)
    }
    figure, panels = figure_of_panels(1 + bool(shares), 1, width=6.4, height=2.4)
    lines(
        {"": (place, size)}, marker="o", linestyle="", ax=panels[0], ylabel=label,
        yscale="log" if logarithmic else "linear", xlabel="" if shares else "sample",
    )  # fmt: skip
    if shares:
        lines(
            shares, marker="o", linestyle="", ax=panels[1], xlabel="sample",
            ylabel="share of genes", ylim=(-0.03, 1.03),
        )  # fmt: skip
        panels[1].yaxis.set_major_formatter(PercentFormatter(1.0))
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
    parts: dict[str, ArrayLike] = {}
    if groups is not None:
        group = np.asarray(groups)
        coloured = np.argsort(-np.bincount(group), kind="stable")[: len(GROUP_COLOURS)]
        parts = {labels[k] if labels else "": group == k for k in np.sort(coloured).tolist()}
        if (rest := ~np.isin(group, coloured)).any():
            parts[f"{len(labels) - len(coloured)} others"] = rest
    return embedding(scores, shares, parts or None, names, n_named=n_labels, size=(6.4, 4.6))


def hidden_factors(factors: ArrayLike, columns: Sequence[str], labels: ArrayLike = ()) -> Figure:
    """What was removed from the values, along the samples: the first four.

    Parameters
    ----------
    factors : array, shape (F, S)
    columns : sequence of str
        The annotation that each goes with, "" where with none.
    labels : array of text, shape (F, S), optional
        Its values: numbers are drawn along the axis, samples are sorted and coloured by others.

    Examples
    --------
    >>> figure = hidden_factors([[1.1, -0.2, -0.9]], ["batch"], [["a", "b", "b"]])
    """
    scores = np.asarray(factors, dtype=np.float64)
    figure, panels = figure_of_panels(min(len(scores), 4), 1, width=6.4, height=2.2)
    for k, (ax, column) in enumerate(zip(panels, columns, strict=False)):
        place, groups, xlabel = np.arange(1.0, scores.shape[1] + 1), None, "sample"
        if column:
            of_samples = pd.Series(np.asarray(labels)[k])
            numbers, names = pd.to_numeric(of_samples, errors="coerce"), of_samples.unique()
            place, xlabel = numbers.to_numpy(np.float64), column
            if names.size <= len(GROUP_COLOURS) or numbers.isna().any():
                place, xlabel = of_samples.rank(method="first").to_numpy(), f"sample, by {column}"
                groups = {name or "none": of_samples == name for name in sorted(names)}
        scatter(place, scores[k], groups, ax=ax, xlabel=xlabel, ylabel=f"factor {k + 1}")
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
    figure, axes = figure_of_panels(len(panels), min(2, len(panels)), width=4.8, height=2.7)
    for ax, courses in zip(axes, panels, strict=True):
        curves = {
            name: _one_after_another([np.asarray(values)[part] for part in drawn])
            for name, values in courses.items()
        }
        lines(
            curves, marker="o", highlight=next(iter(curves)), ax=ax, ylabel=label,
            xlabel="time step" if len(drawn) == 1 else "time steps, series after series",
        )  # fmt: skip
        if len(drawn) > 1:
            ax.set_xticks([])
    return figure


def _one_after_another(courses: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Steps from 1 on, and values, with a gap between two courses."""
    values = np.concatenate([part for course in courses for part in (course, [np.nan])])[:-1]
    return np.arange(1, values.size + 1), values


def drawn_series(series: np.ndarray) -> list[np.ndarray]:
    """The samples of each series that ``time_courses`` draws, in the order of the series."""
    members = [np.flatnonzero(series == number) for number in np.unique(series)]
    fitting = np.cumsum([here.size for here in members]) <= MAX_STEPS
    return [here for here, fits in zip(members, fitting, strict=True) if fits] or [
        members[0][:MAX_STEPS]
    ]
