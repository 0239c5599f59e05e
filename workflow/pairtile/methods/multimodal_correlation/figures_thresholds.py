"""Figures of how the threshold of a correlation network was found.

Each function takes the columns of ``threshold.tsv`` and returns a matplotlib Figure, in a notebook
as well as in the report.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.multimodal_correlation.random_matrix import RANDOM, SEPARATE
from pairtile.report.formats import plain
from pairtile.report.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    SKY,
    figure_of_panels,
    new_figure,
    styled,
)


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
        R² of the line through the logarithms (negative where it rises, NaN where not judged), and
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
