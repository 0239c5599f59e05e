"""The figures of modes, conditions, modules and thresholds.

Each function takes arrays or tables and returns a matplotlib Figure, in a notebook as well as in
the report. Names of genes are drawn as they are: no character in them is taken as mathematics.
``FIGURES`` makes those of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike, NDArray

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.modes import PairModes
from pairtile.methods.multimodal_correlation.report_numbers import mixture, threshold_method
from pairtile.methods.multimodal_correlation.report_results import (
    MAX_CONDITIONS,
    ModeResults,
    Pair,
    condition_pairs,
    drawn_conditions,
    label_counts,
    mode_results,
    split_pairs,
    strongest_pairs,
)
from pairtile.methods.multimodal_correlation.thresholds import RANDOM, SEPARATE
from pairtile.report.charts import (
    COLOURS,
    DIVERGING,
    add_legend,
    bars,
    color_bar,
    heat_map,
    histogram,
    lines,
    scatter,
)
from pairtile.report.formats import count, number, shortened
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.network_figures import degree_distribution
from pairtile.report.results import Results
from pairtile.report.style import GREY, GROUP_COLOURS, figure_of_panels
from pairtile.report.text import page_text

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
    return bars(
        names, {"": heights}, shares=True, xlabel="modes of a pair", ylabel="number of pairs"
    )


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
    groups = {"modes": heights}
    if stored_from > 0 and bins.size == heights.size + 1:
        stored = np.abs((bins[1:] + bins[:-1]) / 2) >= stored_from
        groups = {"modes, stored": heights * stored, "modes, counted only": heights * ~stored}
    limit = None if threshold is None else (-threshold, threshold)
    return histogram(
        bins, groups, vlines={f"threshold ±{number(threshold, 4)}": limit},
        xlim=(-1.0, 1.0), yscale="log", xlabel="correlation", ylabel="number of modes",
    )  # fmt: skip


def pair_scatter(
    pairs: Sequence[PairModes],
    *,
    columns: int = 3,
    ellipses: bool = True,
    samples: Sequence[str] = (),
) -> Figure:
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
    samples : sequence of str, optional
        Names, which the page shows of the point under the pointer.

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
    figure, axes = figure_of_panels(len(pairs), min(columns, len(pairs)))
    for pair, panel in zip(pairs, axes, strict=True):
        draw_modes(panel, pair, ellipses, samples)
    return figure


def draw_modes(ax: Axes, pair: PairModes, ellipses: bool, samples: Sequence[str] = ()) -> None:
    """One panel of ``pair_scatter``."""
    shown = pair.observed & ~pair.outliers
    texts = [
        f"{f'{k}: ' if pair.cluster.size > 1 else ''}r = {r:.2f} ({count(n)})".replace("-", "−")
        for k, r, n in zip(pair.cluster, pair.correlation, pair.n_samples, strict=True)
    ]
    scatter(
        pair.x[shown], pair.y[shown], dict(zip(texts, pair.members[:, shown], strict=True)),
        ax=ax, xlabel=shortened(pair.names[0]), ylabel=shortened(pair.names[1]),
        hover=_samples_of(samples, shown),
    )  # fmt: skip
    crosses = pair.observed & pair.outliers
    ax.scatter(pair.x[crosses], pair.y[crosses], s=8, color=GREY, marker="x", linewidths=0.6)
    for k in range(len(texts) if ellipses else 0):
        if np.isfinite(pair.covariances[k]).all():
            ax.add_patch(_ellipse(pair.means[k], pair.covariances[k], COLOURS[k % len(COLOURS)]))


def _samples_of(
    samples: Sequence[str], shown: NDArray[np.bool_]
) -> dict[str, Sequence[str]] | None:
    return {"sample": [samples[k] for k in np.flatnonzero(shown).tolist()]} if samples else None


def _ellipse(mean: NDArray[np.float64], covariance: NDArray[np.float64], colour: str) -> Ellipse:
    variances, directions = np.linalg.eigh(covariance)
    width, height = 2.0 * WITHIN * np.sqrt(np.maximum(variances[::-1], 0.0))
    angle = float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))
    return Ellipse(
        (float(mean[0]), float(mean[1])), float(width), float(height), angle=angle, fill=False,
        edgecolor=colour, linewidth=0.9, alpha=0.9,
    )  # fmt: skip


# --- conditions ---

MAX_LABELS = 24


def condition_scatter(
    pairs: Sequence[PairModes],
    condition: Condition,
    *,
    modes: bool = True,
    samples: Sequence[str] = (),
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
    samples : sequence of str, optional
        As in ``pair_scatter``.

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
    rows = 2 if modes else 1
    figure, axes = figure_of_panels(rows * len(pairs), len(pairs))
    above, below = axes[: -len(pairs)], axes[-len(pairs) :]
    for pair, panel in zip(pairs if modes else [], above, strict=True):
        draw_modes(panel, pair, True, samples)
    numbers = None if condition.kind == "categorical" else condition.numbers
    limits = None if numbers is None else (float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    for pair, panel in zip(pairs, below, strict=True):
        here = pair.observed
        groups = dict(label_groups(condition)) if numbers is None else {}
        unknown = here & ~condition.known
        if groups and unknown.any():
            groups["not known"] = unknown
        scatter(
            pair.x[here], pair.y[here],
            {name: samples[here] for name, samples in groups.items()} or None,
            values=None if numbers is None else numbers[here], limits=limits,
            faint=~pair.members[:, here].any(axis=0), ax=panel, legend=False,
            hover=_samples_of(samples, here),
            xlabel=shortened(pair.names[0]), ylabel=shortened(pair.names[1]),
        )  # fmt: skip
    if limits is None:
        add_legend(below[0], "outside lower center", shortened(condition.name))
    else:
        ticks = dict(enumerate(condition.labels, start=1))
        color_bar(below, limits, shortened(condition.name), location="bottom", ticks=ticks)
    for upper, lower in zip(above, below, strict=False):
        lower.set(xlim=upper.get_xlim(), ylim=upper.get_ylim())
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
        " ".join(filter(None, (str(row.condition), str(row.label)))) for row in table.itertuples()
    ]
    signs = {f"{sign} correlation": table[sign] for sign in ("positive", "negative")}
    return bars(names, signs, orientation="horizontal", xlabel="edges")


def label_groups(condition: Condition) -> list[tuple[str, NDArray[np.bool_]]]:
    """Labels with their samples, in the order of the condition; where there are more labels than
    colours, the rarest are one group, ``other labels``."""
    sizes = np.array([(condition.codes == k).sum() for k in range(len(condition.labels))])
    shown = np.arange(sizes.size)
    if sizes.size > len(GROUP_COLOURS):
        shown = np.sort(np.argsort(-sizes, kind="stable")[: len(GROUP_COLOURS)])
    groups = [(condition.labels[k], condition.codes == k) for k in shown]
    rest = condition.known & ~np.isin(condition.codes, shown)
    if rest.any():
        groups.append((f"other labels ({sizes.size - shown.size})", rest))
    return groups


# --- modules ---

MAX_GENES = 1000
"""More genes are more than a figure of this size can show."""

MAX_BARS = 40
MIN_NAMED = 0.03
"""Part of the axis that a module needs to have its number written beside it."""


def module_heat_map(matrix: ArrayLike, modules: ArrayLike, genes: Sequence[str] = ()) -> Figure:
    """The network as a matrix, genes ordered by module, each module framed.

    Parameters
    ----------
    matrix : float array, shape (n, n)
        Correlation of each pair of genes in the network; 0 or NaN where there is no edge.
    modules : int array, shape (n,)
        Module of each gene, ascending.
    genes : sequence of str, optional
        Their names, which the page shows of the pair under the pointer.

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
    starts = np.flatnonzero(np.diff(module, prepend=-1)).tolist()
    blocks = list(zip(starts, [*starts[1:], module.size], strict=True))
    named = {
        (start + end - 1) / 2: str(module[start])
        for start, end in blocks
        if end - start >= MIN_NAMED * module.size
    }
    return heat_map(
        np.where(values == 0.0, np.nan, values), "correlation of the edge", cmap=DIVERGING,
        hover={"gene": genes, "and": genes} if genes else None, items=True, blocks=blocks,
        rows=named, columns=named, size=(6.4, 5.6), xlabel="genes by module",
        ylabel="genes by module",
    )  # fmt: skip


def module_sizes(sizes: ArrayLike) -> Figure:
    """How many genes each module has, the largest first.

    sizes : int array, shape (modules,), in the order of the modules' numbers from 1 on.

    Examples
    --------
    >>> figure = module_sizes([120, 45, 3])
    """
    heights = np.asarray(sizes, dtype=np.int64)[:MAX_BARS]
    names = [str(k + 1) for k in range(heights.size)]
    return bars(names, {"": heights}, xlabel="module", ylabel="genes")


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
    chi = np.asarray(chi_square, dtype=np.float64)
    top = np.nanmax(chi, initial=RANDOM) if np.isfinite(chi).any() else RANDOM
    return _walk(
        threshold, genes, found, ("chi-square", chi),
        {
            f"{SEPARATE:g}: separate modules below": SEPARATE,
            f"{RANDOM:g}: tied together by noise above": RANDOM,
        },
        (0.0, 1.08 * min(top, 5.0 * RANDOM)), "chi-square of the spacings",
    )  # fmt: skip


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
    r_squared = np.asarray(fit, dtype=np.float64)
    low = np.nanmin(r_squared, initial=0.0) if np.isfinite(r_squared).any() else 0.0
    return _walk(
        threshold, genes, found, ("fit", r_squared),
        {f"{least_fit:g}: scale-free from here on": least_fit},
        (1.1 * low, 1.05), "R² of the power law (signed)",
    )  # fmt: skip


def _walk(
    threshold: ArrayLike,
    genes: ArrayLike,
    found: float | None,
    curve: tuple[str, ArrayLike],
    levels: Mapping[str, float],
    ylim: tuple[float, float],
    ylabel: str,
) -> Figure:
    """A curve over the threshold, and the genes below it; from high to low, as the walk goes."""
    t = np.asarray(threshold, dtype=np.float64)
    figure, (above, below) = figure_of_panels(2, 1, width=6.4, height=2.5)
    margin = max(0.02 * float(np.ptp(t)), 0.001) if t.size else 0.001
    xlim = (t.max(initial=0.0) + margin, t.min(initial=1.0) - margin)
    lines(
        {curve[0]: (t, curve[1])}, marker="o", ax=above, xlim=xlim, ylim=ylim, ylabel=ylabel,
        vlines={f"threshold {number(found, 4)}": found}, hlines=levels,
    )  # fmt: skip
    lines(
        {"": (t, genes)}, marker="o", ax=below, xlim=xlim, vlines={"": found},
        ylim=(0.0, None), xlabel="threshold of the correlation", ylabel="genes with an edge",
    )  # fmt: skip
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
    figure, axes = figure_of_panels(len(parts), len(parts), width=3.2, height=3.4)
    laws = {"separate modules (Poisson)": "poisson", "noise (Wigner)": "wigner"}
    for (threshold, part), panel in zip(parts, axes, strict=True):
        middle = part["spacing"].to_numpy()
        half = float(np.diff(middle).mean()) / 2
        histogram(
            np.append(middle - half, middle[-1] + half), {"seen": part["density"]},
            null={law: part[column] for law, column in laws.items()}, ax=panel, legend=False,
            title=f"threshold {threshold:.6g}", xlim=(0.0, 3.0), xlabel="spacing (mean: 1)",
            ylabel="density" if panel is axes[0] else "",
        )  # fmt: skip
    add_legend(axes[0], "outside upper center")
    return figure


# --- on the page: which can be made, and the numbers of their captions ---


def _modes(results: Results) -> FigureWithText | None:
    heights = results.cached(mode_results).arrays.get("pairs_by_modes")
    if heights is None or not heights.sum() or not mixture(results):
        return None
    return page_text(results).figure("modes", mode_number_distribution(heights))


def _correlations(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if not {"edges", "counts"} <= found.arrays.keys() or not found.arrays["counts"].sum():
        return None
    counts = found.arrays["counts"]
    least = float((results.parameters.get("estimator") or {}).get("min_correlation") or 0.0)
    figure = correlation_distribution(
        found.arrays["edges"], counts, found.threshold, stored_from=least
    )
    return page_text(results).figure(
        "correlations", figure, modes=int(counts.sum()), least=max(least, 0.0)
    )


def _threshold(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    curve = found.table("curve")
    if curve.empty:
        return None
    limit = None if threshold_method(results) == "fdr" else found.threshold
    shown = None if limit is None else round(limit, 4)
    if "chi_square" in curve:
        figure = rmt_curve(curve["threshold"], curve["chi_square"], curve["genes"], limit)
        return page_text(results).figure(
            "rmt_curve", figure, found=shown, separate=SEPARATE, random=RANDOM
        )
    least_fit = float((results.parameters.get("threshold") or {}).get("fit") or 0.8)
    figure = power_law_curve(
        curve["threshold"], curve["fit"], curve["genes"], limit, least_fit=least_fit
    )
    return page_text(results).figure("power_law_curve", figure, found=shown)


def _spacings(results: Results) -> FigureWithText | None:
    table = results.cached(mode_results).table("spacings")
    if table.empty:
        return None
    return page_text(results).figure("spacings", spacing_distribution(table))


def _scatter(
    results: Results, name: str, choose: Callable[[ModeResults], list[Pair]]
) -> FigureWithText | None:
    found = results.cached(mode_results)
    panels = found.pair_modes(choose(found))
    if not panels:
        return None
    return page_text(results).figure(
        name,
        pair_scatter(list(panels.values()), ellipses=mixture(results), samples=found.samples),
        drawn=[(*pair, list(modes.correlation)) for pair, modes in panels.items()],
    )


def _split(results: Results) -> FigureWithText | None:
    return _scatter(results, "split_pairs", split_pairs) if mixture(results) else None


def _condition_pairs(results: Results, place: int) -> FigureWithText | None:
    found = results.cached(mode_results)
    conditions = drawn_conditions(found)
    if place >= len(conditions):
        return None
    condition = conditions[place]
    panels = found.pair_modes(condition_pairs(found, condition))
    if not panels:
        return None
    return page_text(results).figure(
        "condition_pairs",
        condition_scatter(
            list(panels.values()), condition, modes=mixture(results), samples=found.samples
        ),
        name=condition.name,
        edges=int((found.networks["condition"] == condition.name).sum()),
        drawn=list(panels),
    )


def _condition_edges(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.networks.empty:
        return None
    figure = condition_edges(label_counts(found))
    return page_text(results).figure("condition_edges", figure)


def _modules(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.modules.empty:
        return None
    if found.modules["gene"].duplicated().any():
        sizes = found.modules["module"].value_counts().sort_index()
        return page_text(results).figure("module_sizes", module_sizes(sizes))
    shown = found.modules.head(MAX_GENES)
    place = {name: k for k, name in enumerate(shown["gene"])}
    edges = found.pairs
    edges = edges[edges["source"].isin(place) & edges["target"].isin(place)]
    a, b = (edges[end].map(place).to_numpy(dtype=np.int64) for end in ("source", "target"))
    matrix = np.zeros((len(shown), len(shown)))
    matrix[a, b] = matrix[b, a] = edges["correlation"]
    figure = module_heat_map(matrix, shown["module"], shown["gene"].tolist())
    return page_text(results).figure("modules", figure, shown=len(shown), genes=len(found.modules))


def _degrees(results: Results) -> FigureWithText | None:
    found = results.cached(mode_results)
    if found.network.empty:
        return None
    return page_text(results).figure("degrees", degree_distribution(found.pairs))


FIGURES: Mapping[str, FigureMaker] = {
    "strongest_pairs": partial(_scatter, name="strongest_pairs", choose=strongest_pairs),
    "split_pairs": _split,
    **{
        f"condition_pairs_{place + 1}": partial(_condition_pairs, place=place)
        for place in range(MAX_CONDITIONS)
    },
    "condition_edges": _condition_edges,
    "modules": _modules,
    "modes": _modes,
    "score_distribution": _correlations,
    "threshold": _threshold,
    "degree_distribution": _degrees,
    "spacings": _spacings,
}
