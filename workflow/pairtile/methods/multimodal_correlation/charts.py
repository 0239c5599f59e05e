"""The figures of modes, conditions, modules and thresholds.

``FIGURES`` are those of the page, each one function of the results, whose caption in ``text.md.j2``
says what it shows; ``pair_scatter`` draws any pairs, in a notebook as well.
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
from pairtile.methods.multimodal_correlation.report_results import (
    MAX_CONDITIONS,
    ModeResults,
    Pair,
    condition_pairs,
    drawn_conditions,
    label_counts,
    mixture,
    mode_results,
    settings,
    split_pairs,
    strongest_pairs,
    threshold_method,
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
from pairtile.report.figures import (
    cleaning,
    degree_lines,
    hidden_factors,
    precision_recall,
    sample_components,
    sample_sizes,
)
from pairtile.report.formats import count, number, shortened
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.report.style import GREY, GROUP_COLOURS, figure_of_panels

# --- modes ----------------------------------------------------------------------------------------


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
        _draw_modes(panel, pair, ellipses, samples)
    return figure


def _draw_modes(ax: Axes, pair: PairModes, ellipses: bool, samples: Sequence[str]) -> None:
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
            mean = pair.means[k]
            variances, directions = np.linalg.eigh(pair.covariances[k])
            # 95 % of a normal cloud in the plane lie within 2.4477 standard deviations.
            width, height = 2.0 * 2.4477 * np.sqrt(np.maximum(variances[::-1], 0.0))
            ax.add_patch(
                Ellipse(
                    (float(mean[0]), float(mean[1])),
                    float(width),
                    float(height),
                    angle=float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))),
                    fill=False,
                    edgecolor=COLOURS[k % len(COLOURS)],
                    linewidth=0.9,
                    alpha=0.9,
                )
            )


def _samples_of(
    samples: Sequence[str], shown: NDArray[np.bool_]
) -> dict[str, Sequence[str]] | None:
    return {"sample": [samples[k] for k in np.flatnonzero(shown).tolist()]} if samples else None


def _pairs(
    results: Results, choose: Callable[[ModeResults], list[Pair]], split: bool = False
) -> Drawn:
    """Some pairs, sample by sample; ``split``: of several modes, which mixtures alone give."""
    found = results.cached(mode_results)
    needed(mixture(results) or not split)
    panels = needed(found.pair_modes(choose(found)))
    drawn = [(*pair, list(modes.correlation)) for pair, modes in panels.items()]
    figure = pair_scatter([*panels.values()], ellipses=mixture(results), samples=found.samples)
    return Drawn(figure, {"drawn": drawn})


def _mode_numbers(results: Results) -> Drawn:
    heights = results.cached(mode_results).arrays.get("pairs_by_modes", np.zeros(1, np.int64))
    needed(heights.any() and mixture(results))
    heights = heights[: max(2, int(np.flatnonzero(heights).max()) + 1)]
    names = ["none", *map(str, range(1, len(heights)))]
    return Drawn(
        bars(names, {"": heights}, shares=True, xlabel="modes of a pair", ylabel="number of pairs")
    )


def _correlations(results: Results) -> Drawn:
    """Correlations of all modes, with the threshold on both sides; modes that were counted only,
    as they are smaller than what is stored, are paler."""
    found = results.cached(mode_results)
    needed({"edges", "counts"} <= found.arrays.keys() and found.arrays["counts"].any())
    bins, counts = (np.asarray(found.arrays[name], float) for name in ("edges", "counts"))
    limit = found.threshold
    least = max(float(settings(results, "estimator").get("min_correlation") or 0.0), 0.0)
    groups = {"modes": counts}
    if least:
        stored = np.abs((bins[1:] + bins[:-1]) / 2) >= least
        groups = {"modes, stored": counts * stored, "modes, counted only": counts * ~stored}
    figure = histogram(
        bins, groups, xlim=(-1.0, 1.0), yscale="log", xlabel="correlation",
        vlines={f"threshold ±{number(limit, 4)}": None if limit is None else (-limit, limit)},
        ylabel="number of modes",
    )  # fmt: skip
    return Drawn(figure, {"modes": int(counts.sum()), "least": least})


def _degrees(results: Results) -> Drawn:
    """By pairs: the edges of all modes of a pair are one."""
    found = results.cached(mode_results)
    needed(found.network)
    return Drawn(degree_lines(found.partners, found.partners.head(0)))


# --- conditions -----------------------------------------------------------------------------------

MAX_LABELS = 24


def _condition_pairs(results: Results, place: int) -> Drawn:
    found = results.cached(mode_results)
    condition = needed(next(iter(drawn_conditions(found)[place:]), None))
    panels = needed(found.pair_modes(condition_pairs(found, condition)))
    figure = condition_scatter([*panels.values()], condition, mixture(results), found.samples)
    edges = int((found.networks["condition"] == condition.name).sum())
    return Drawn(
        figure, {"name": condition.name, "edges": edges, "drawn": list(panels)}, "condition_pairs"
    )


def condition_scatter(
    pairs: Sequence[PairModes], condition: Condition, modes: bool, names: Sequence[str] = ()
) -> Figure:
    """A column for each pair, and without ``modes`` the lower row alone: labels (the most frequent
    in colours of their own) or numbers. Samples in none of the modes are smaller and paler."""
    figure, axes = figure_of_panels((1 + modes) * len(pairs), len(pairs))
    above, below = axes[: -len(pairs)], axes[-len(pairs) :]
    for pair, panel in zip(pairs if modes else [], above, strict=True):
        _draw_modes(panel, pair, True, names)
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
            hover=_samples_of(names, here),
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


def _condition_edges(results: Results) -> Drawn:
    found = results.cached(mode_results)
    needed(found.networks)
    table = label_counts(found)
    if len(table) > MAX_LABELS:
        table = table.loc[table["edges"].nlargest(MAX_LABELS, keep="first").index.sort_values()]
    names = table["condition"].str.cat(table["label"], sep=" ").str.strip()
    signs = {f"{sign} correlation": table[sign] for sign in ("positive", "negative")}
    return Drawn(bars(names.tolist(), signs, orientation="horizontal", xlabel="edges"))


def label_groups(condition: Condition) -> list[tuple[str, NDArray[np.bool_]]]:
    """Labels with their samples, in the order of the condition; where there are more labels than
    colours, the rarest are one group, ``other labels``."""
    sizes = np.array([(condition.codes == k).sum() for k in range(len(condition.labels))])
    shown = np.sort(np.argsort(-sizes, kind="stable")[: len(GROUP_COLOURS)])
    groups = [(condition.labels[k], condition.codes == k) for k in shown]
    rest = condition.known & ~np.isin(condition.codes, shown)
    if rest.any():
        groups.append((f"other labels ({sizes.size - shown.size})", rest))
    return groups


# --- modules --------------------------------------------------------------------------------------

MAX_GENES = 1000
"""More genes are more than a figure of this size can show."""


def _modules(results: Results) -> Drawn:
    found = results.cached(mode_results)
    needed(found.modules)
    if found.modules["gene"].duplicated().any():
        sizes = found.modules["module"].value_counts().sort_index().head(40)
        names = [str(k + 1) for k in range(sizes.size)]
        return Drawn(bars(names, {"": sizes}, xlabel="module", ylabel="genes"), {}, "module_sizes")
    genes, module = found.modules["gene"].head(MAX_GENES), found.modules["module"].head(MAX_GENES)
    place = {name: k for k, name in enumerate(genes)}
    edges = found.pairs[found.pairs["source"].isin(place) & found.pairs["target"].isin(place)]
    a, b = (edges[end].map(place).to_numpy(dtype=np.int64) for end in ("source", "target"))
    matrix = np.full((len(genes), len(genes)), np.nan)
    matrix[a, b] = matrix[b, a] = edges["correlation"]
    starts = np.flatnonzero(np.diff(module, prepend=-1)).tolist()
    blocks = list(zip(starts, [*starts[1:], module.size], strict=True))
    ticks = {
        (start + end - 1) / 2: str(module.iloc[start])
        for start, end in blocks
        # A smaller part of the axis has no room for the module's number.
        if end - start >= 0.03 * module.size
    }
    figure = heat_map(
        matrix, "correlation of the edge", cmap=DIVERGING, items=True, blocks=blocks,
        hover={"gene": genes.tolist(), "and": genes.tolist()}, rows=ticks, columns=ticks,
        size=(6.4, 5.6), xlabel="genes by module", ylabel="genes by module",
    )  # fmt: skip
    return Drawn(figure, {"shown": len(genes), "genes": len(found.modules)})


# --- thresholds -----------------------------------------------------------------------------------


def _threshold(results: Results) -> Drawn:
    found = results.cached(mode_results)
    curve, limit = needed(found.table("curve")), found.threshold
    if threshold_method(results) == "fdr":
        limit = None
    shown = {"found": None if limit is None else round(limit, 4)}
    if "chi_square" in curve:
        chi_square = curve["chi_square"].to_numpy(dtype=np.float64)
        top = np.nanmax(chi_square, initial=RANDOM) if np.isfinite(chi_square).any() else RANDOM
        levels = {
            f"{SEPARATE:g}: separate modules below": SEPARATE,
            f"{RANDOM:g}: tied together by noise above": RANDOM,
        }
        ylim = (0.0, 1.08 * min(top, 5.0 * RANDOM))
        measure = "chi-square", chi_square, levels, ylim, "chi-square of the spacings"
        numbers = {**shown, "separate": SEPARATE, "random": RANDOM}
        return Drawn(_walk(curve, limit, *measure), numbers, "rmt_curve")
    fit = curve["fit"].to_numpy(dtype=np.float64)
    low = np.nanmin(fit, initial=0.0) if np.isfinite(fit).any() else 0.0
    least = float(settings(results, "threshold").get("fit") or 0.8)
    levels = {f"{least:g}: scale-free from here on": least}
    measure = "fit", fit, levels, (1.1 * low, 1.05), "R² of the power law (signed)"
    return Drawn(_walk(curve, limit, *measure), shown, "power_law_curve")


def _walk(
    curve: pd.DataFrame,
    found: float | None,
    name: str,
    values: ArrayLike,
    levels: Mapping[str, float],
    ylim: tuple[float, float],
    ylabel: str,
) -> Figure:
    """A measure over the threshold, and the genes below it; from high to low, as the walk goes."""
    t, genes = curve["threshold"].to_numpy(dtype=np.float64), curve["genes"]
    figure, (above, below) = figure_of_panels(2, 1, width=6.4, height=2.5)
    margin = max(0.02 * float(np.ptp(t)), 0.001)
    xlim = (t.max() + margin, t.min() - margin)
    lines(
        {name: (t, values)}, marker="o", ax=above, xlim=xlim, ylim=ylim, ylabel=ylabel,
        vlines={f"threshold {number(found, 4)}": found}, hlines=levels,
    )  # fmt: skip
    lines(
        {"": (t, genes)}, marker="o", ax=below, xlim=xlim, vlines={"": found},
        ylim=(0.0, None), xlabel="threshold of the correlation", ylabel="genes with an edge",
    )  # fmt: skip
    return figure


def _spacings(results: Results) -> Drawn:
    table = needed(results.cached(mode_results).table("spacings"))
    parts = list(table.groupby("threshold"))[::-1]
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
    return Drawn(figure)


FIGURES: Mapping[str, FigureMaker] = {
    "strongest_pairs": partial(_pairs, choose=strongest_pairs),
    "split_pairs": partial(_pairs, choose=split_pairs, split=True),
    **{
        f"condition_pairs_{place + 1}": partial(_condition_pairs, place=place)
        for place in range(MAX_CONDITIONS)
    },
    "condition_edges": _condition_edges,
    "modules": _modules,
    "modes": _mode_numbers,
    "score_distribution": _correlations,
    "threshold": _threshold,
    "degree_distribution": _degrees,
    "spacings": _spacings,
    "precision_recall": precision_recall,
    "cleaning": cleaning,
    "samples": sample_sizes,
    "components": sample_components,
    "hidden_factors": hidden_factors,
}
