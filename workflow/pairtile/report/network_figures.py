"""Figures of a network and of how it came about.

Each function takes arrays or tables and returns a matplotlib Figure, in a notebook as well as in
the report. Names of genes are drawn as they are: no character in them is taken as mathematics.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from pairtile.report.charts import histogram, lines
from pairtile.report.formats import counted, number, shortened

__all__ = ["cleaning_overview", "degree_distribution", "precision_recall", "score_distribution"]


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
    scored = np.asarray(counts, dtype=np.float64)
    null = np.zeros_like(scored) if null_counts is None else np.asarray(null_counts, np.float64)
    scaled = null * (scored.sum() / null.sum() if scored.any() and null.any() else 1.0)
    return histogram(
        edges, {"scored pairs": scored}, null={"null, scaled to them": scaled}, yscale="log",
        vlines={f"threshold {number(threshold)}": threshold}, xlabel=label,
        ylabel="number of pairs",
    )  # fmt: skip


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
    curves = {"edges of a gene": degree, "targets of a regulator": out}
    hubs = (out if len(out) else degree).astype(int)
    named = [
        (", ".join(map(shortened, sorted(map(str, group.index)))), k, int((hubs >= k).sum()))
        for k, group in hubs.groupby(hubs, sort=True)
    ]
    return lines(
        {name: _at_least(values) for name, values in curves.items() if len(values)},
        marker="o", xscale="log", yscale="log", xlim=(0.85, None), ylim=(0.75, None), xlabel="k",
        ylabel="number with at least k",
        named=[hub for hub in reversed(named) if hub[2] <= n_labels], n_named=n_labels,
    )  # fmt: skip


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
    curves: dict[str, tuple[ArrayLike, ArrayLike]] = {
        "ranking" + ("" if aupr is None else f" (AUPR {number(aupr)})"): (recall, precision)
    }
    if network is not None:
        name = f"the network (precision {number(network[1])}, recall {number(network[0])})"
        curves[name] = ([network[0]], [network[1]])
    return lines(
        curves, hlines={f"random ({number(random_aupr)})": random_aupr}, xlim=(0.0, 1.01),
        ylim=(0.0, 1.02), xlabel="recall", ylabel="precision",
    )  # fmt: skip


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
    edges = np.arange(low, high + width + 1, width) - 0.5
    counts = {
        f"{part.sum():,} {name}": np.histogram(observed[part], edges)[0]
        for name, part in (("kept", kept), ("left out", ~kept))
    }
    least = {f"at least {counted(min_samples, 'sample')}": min_samples - 0.5} if min_samples else {}
    return histogram(
        edges, counts, vlines=least, yscale="symlog", xlim=(edges[0], edges[-1]),
        xlabel="samples with a value", ylabel="number of genes",
    )  # fmt: skip


def _at_least(degree: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Each degree that there is, and how many have at least it."""
    values, numbers = np.unique(degree.to_numpy(dtype=np.int64), return_counts=True)
    return values, numbers[::-1].cumsum()[::-1]
