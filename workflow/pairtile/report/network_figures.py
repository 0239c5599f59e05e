"""Figures of a network and of how it came about.

Each function takes arrays or tables and returns a matplotlib Figure, in a notebook as well as in
the report. Names of genes are drawn as they are: no character in them is taken as mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from pairtile.report.formats import counted, number, shortened
from pairtile.report.style import BLUE, GREY, INK, ORANGE, SKY, new_figure, styled

__all__ = ["cleaning_overview", "degree_distribution", "precision_recall", "score_distribution"]


MAX_BARS = 100
# Of the degree distribution: about its axes' height, and room for a line of text, in points.
HEIGHT_POINTS, NAME_POINTS = 220.0, 12.0


def score_distribution(
    edges: ArrayLike,
    counts: ArrayLike,
    null_counts: ArrayLike | None = None,
    threshold: float | None = None,
    *,
    label: str = "mutual information (bits)",
) -> Figure:
    """Distribution of the scores of all pairs, the null's and the threshold; log y.

    Parameters
    ----------
    edges : array, shape (B + 1,)
        Bin edges, ascending, in the unit of the score.
    counts : array, shape (B,)
        Pairs in each bin.
    null_counts : array, shape (B,), optional
        Null scores in each bin. Drawn scaled to the number of pairs: what would be expected were
        no pair related.
    threshold : float, optional
        Score from which pairs were kept; NaN or None draws no line.
    label : str
        Name and unit of the score.

    Raises
    ------
    ValueError
        When the lengths do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> edges = np.linspace(0, 1, 51)
    >>> pairs, null = random.beta(2, 9, 5000), random.beta(2, 12, 5000)
    >>> counts, null_counts = np.histogram(pairs, edges)[0], np.histogram(null, edges)[0]
    >>> figure = score_distribution(edges, counts, null_counts, threshold=0.5)
    """
    edges, counts = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    null = np.zeros_like(counts) if null_counts is None else np.asarray(null_counts, np.float64)
    if len(edges) != len(counts) + 1 or len(null) != len(counts):
        raise ValueError(
            f"found {len(edges)} edges, {len(counts)} counts and {len(null)} null counts; "
            "expected one edge more than counts"
        )
    pairs = counts.sum()
    edges, counts, null = _occupied(edges, counts, null)
    with styled():
        figure, axes = new_figure()
        axes.stairs(counts, edges, fill=True, color=SKY, alpha=0.75, label="scored pairs")
        axes.stairs(counts, edges, color=BLUE, linewidth=1.0)
        scaled = null * (pairs / null.sum() if pairs and null.sum() else 1.0)
        if scaled.any():
            axes.stairs(scaled, edges, color=ORANGE, linewidth=2.0, label="null, scaled to them")
        if threshold is not None and np.isfinite(threshold):
            axes.axvline(
                threshold, color=INK, linestyle=(0, (5, 3)), linewidth=1.6,
                label=f"threshold {number(threshold)}",
            )  # fmt: skip
        axes.set_ylim(bottom=0.5, top=3 * max(3.0, counts.max(initial=0), scaled.max(initial=0)))
        axes.set_yscale("log")
        axes.set_xlim(edges[0], edges[-1])
        axes.set(xlabel=label, ylabel="number of pairs")
        axes.legend(loc="upper right")
    return figure


def degree_distribution(
    network: pd.DataFrame, regulators: Collection[str] = (), *, n_labels: int = 3
) -> Figure:
    """How many genes have at least k edges, and how many regulators at least k targets; log-log.

    Parameters
    ----------
    network : DataFrame
        Columns ``source`` and ``target``, one row for each edge.
    regulators : collection of str
        Adds the curve of the out-degree of those sources that are among them.
    n_labels : int
        How many of the largest hubs are named, at most.

    Examples
    --------
    >>> network = pd.DataFrame({"source": ["a", "a", "b"], "target": ["b", "c", "c"]})
    >>> figure = degree_distribution(network, regulators=["a", "b"])
    """
    sources, targets = network["source"].value_counts(), network["target"].value_counts()
    degree = sources.add(targets, fill_value=0)
    out = sources[sources.index.isin(set(regulators))]
    with styled():
        figure, axes = new_figure()
        if len(degree):
            _at_least(axes, degree, "o-", BLUE, "edges of a gene")
        if len(out):
            _at_least(axes, out, "s-", ORANGE, "targets of a regulator")
        _name_hubs(axes, out if len(out) else degree, n_labels)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(left=0.85)
        axes.set_ylim(bottom=0.75)
        _count_along(axes.xaxis, degree.max() if len(degree) else 1)
        _count_along(axes.yaxis, len(degree))
        axes.set(xlabel="k", ylabel="number with at least k")
        if len(degree):
            axes.legend(loc="upper right")
    return figure


def precision_recall(
    recall: ArrayLike,
    precision: ArrayLike,
    *,
    aupr: float | None = None,
    random_aupr: float | None = None,
    network: tuple[float, float] | None = None,
) -> Figure:
    """Precision against recall of the ranking, the level of a random one and the network's point.

    Parameters
    ----------
    recall, precision : array, shape (n,)
        Points of the curve, shares of one.
    aupr, random_aupr : float, optional
        Area under the curve and that of a random ranking (drawn as a level).
    network : (float, float), optional
        Recall and precision of the network that was kept.

    Examples
    --------
    >>> figure = precision_recall([0, 0.2, 1], [1, 0.6, 0.1], aupr=0.4, random_aupr=0.1)
    """
    area = "" if aupr is None else f" (AUPR {number(aupr)})"
    with styled():
        figure, axes = new_figure()
        axes.plot(np.asarray(recall), np.asarray(precision), color=BLUE, label=f"ranking{area}")
        if random_aupr is not None:
            axes.axhline(
                random_aupr, color=GREY, linestyle=(0, (5, 3)), linewidth=1.6,
                label=f"random ({number(random_aupr)})",
            )  # fmt: skip
        if network is not None:
            axes.plot(
                [network[0]], [network[1]], "D", color=ORANGE, markersize=8,
                markeredgecolor="white",
                label=f"the network (precision {number(network[1])}, recall {number(network[0])})",
            )  # fmt: skip
        axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1.01), ylim=(0, 1.02))
        # Beside the axes: whether a ranking is good or bad, its curve needs another corner.
        figure.legend(loc="outside upper center", ncols=2)
    return figure


def cleaning_overview(
    n_observed: ArrayLike, kept: ArrayLike, *, min_samples: int | None = None
) -> Figure:
    """In how many samples each gene was observed, kept and left-out genes apart.

    Parameters
    ----------
    n_observed : array of int, shape (G,)
        Samples with a value, for each gene of the input.
    kept : array of bool, shape (G,)
        Whether the gene was kept.
    min_samples : int, optional
        The least number of samples asked for, drawn as a line.

    Examples
    --------
    >>> figure = cleaning_overview([90, 88, 12], [True, True, False], min_samples=20)
    """
    observed, kept = np.asarray(n_observed), np.asarray(kept, dtype=bool)
    low, high = int(observed.min(initial=0)), int(observed.max(initial=1))
    width = max(1, -(-(high - low + 1) // 40))
    bins = np.arange(low, high + width + 1, width) - 0.5
    groups = [observed[kept], observed[~kept]]
    names = [f"{len(groups[0]):,} kept", f"{len(groups[1]):,} left out"]
    with styled():
        figure, axes = new_figure()
        axes.hist(groups, bins=list(bins), stacked=True, color=[SKY, ORANGE], label=names)
        if min_samples:
            axes.axvline(
                min_samples - 0.5, color=INK, linestyle=(0, (5, 3)), linewidth=1.6,
                label=f"at least {counted(min_samples, 'sample')}",
            )  # fmt: skip
        axes.set_yscale("symlog", linthresh=1)
        axes.set(xlabel="samples with a value", ylabel="number of genes")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="best")
    return figure


def _occupied(edges: np.ndarray, *histograms: np.ndarray) -> list[np.ndarray]:
    """Cut empty bins off both ends and join the rest to at most MAX_BARS."""
    filled = np.flatnonzero(sum(h for h in histograms))
    first, last = (filled[0], filled[-1] + 1) if len(filled) else (0, len(edges) - 1)
    step = max(1, -(-int(last - first) // MAX_BARS))
    starts = np.arange(first, last, step)
    joined = [np.add.reduceat(h[:last], starts) for h in histograms]
    return [np.append(edges[starts], edges[last]), *joined]


def _at_least(axes: Axes, degree: pd.Series, marker: str, colour: str, label: str) -> None:
    values, numbers = np.unique(degree.to_numpy(dtype=np.int64), return_counts=True)
    at_least = numbers[::-1].cumsum()[::-1]
    axes.plot(values, at_least, marker, color=colour, markersize=4, linewidth=1.2, label=label)


def _count_along(axis: Axis, largest: float) -> None:
    """Ticks of a logarithmic axis of counts, written out: 1, 10, 100; between them if few."""
    axis.set_major_locator(LogLocator(subs=(1.0,) if largest >= 100 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else ""))
    axis.set_minor_formatter(NullFormatter())


def _name_hubs(axes: Axes, degree: pd.Series, n_labels: int) -> None:
    """Name the largest hubs, left of their point: below the falling curve nothing is drawn.

    A name that would touch the one below is left out.
    """
    points_a_decade = HEIGHT_POINTS / max(0.3, math.log10(len(degree) + 1))
    below = 0.0
    table = pd.DataFrame({"name": degree.index.astype(str), "k": degree.to_numpy(dtype=np.int64)})
    table = table.sort_values(["k", "name"], ascending=[False, True]).head(n_labels)
    for k in table["k"].unique().tolist():
        group = table[table["k"] == k]
        place = int((degree >= k).sum())
        height = points_a_decade * math.log10(place)
        if place > n_labels or (below and height - below < NAME_POINTS):
            continue
        below = height or 1e-9
        names = [shortened(name) for name in group["name"]]
        axes.annotate(
            ", ".join(names), (k, place), xytext=(-7, -1), textcoords="offset points",
            ha="right", va="center", fontsize=9, parse_math=False,
        )  # fmt: skip
