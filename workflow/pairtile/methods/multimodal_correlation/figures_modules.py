"""Figures of the modules of a correlation network.

Each function takes arrays and returns a matplotlib Figure, in a notebook as well as in the report.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from pairtile.report.formats import count
from pairtile.report.style import BLUE, INK, SKY, new_figure, styled

MAX_GENES = 1000
"""More genes are more than a figure of this size can show."""

MAX_BARS = 40
LEAST_NAMED = 0.03
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
                 if e - s >= LEAST_NAMED * module.size]  # fmt: skip
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
