"""Figures of predictor sets and of what chance makes of them.

Each function takes arrays and returns a matplotlib Figure, in a notebook as well as in the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from pairtile.report.formats import count, counted, shortened
from pairtile.report.style import (
    BLUE,
    GREY,
    INK,
    LEVEL_COLOURS,
    ORANGE,
    PALE,
    SKY,
    new_figure,
    styled,
)

__all__ = [
    "best_set_distribution",
    "imp_against_mi",
    "level_table",
    "p_value_distribution",
    "tie_distribution",
]


MAX_BARS = 40
P_BINS = 20
MANY_POINTS = 2000


def best_set_distribution(
    edges: ArrayLike, counts: ArrayLike, null_counts: ArrayLike | None = None
) -> Figure:
    """How well the best sets do: shares of targets, and of shuffled targets, over their least MCE.

    Parameters
    ----------
    edges : array, shape (B + 1,)
        Bin edges, ascending, bits.
    counts : array, shape (B,)
        Targets whose best set has a mean conditional entropy in the bin.
    null_counts : array, shape (B,), optional
        The same of shuffled targets, each searched like a target.

    Raises
    ------
    ValueError
        When the lengths do not fit together.

    Examples
    --------
    >>> figure = best_set_distribution([0, 0.25, 0.5, 0.75, 1], [9, 5, 2, 1], [0, 1, 4, 12])
    """
    edges, counts = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    null = np.zeros_like(counts) if null_counts is None else np.asarray(null_counts, np.float64)
    if len(edges) != len(counts) + 1 or len(null) != len(counts):
        raise ValueError(
            f"found {len(edges)} edges, {len(counts)} counts and {len(null)} null counts; "
            "expected one edge more than counts"
        )
    starts = np.arange(0, len(counts), -(-len(counts) // MAX_BARS))
    bins = np.append(edges[starts], edges[-1])
    counts, null = (np.add.reduceat(h, starts) for h in (counts, null))
    with styled():
        figure, axes = new_figure()
        share = counts / max(counts.sum(), 1.0)
        axes.stairs(share, bins, fill=True, color=SKY, alpha=0.75, label="targets")
        axes.stairs(share, bins, color=BLUE, linewidth=1.0)
        if null.sum() > 0:
            axes.stairs(null / null.sum(), bins, color=ORANGE, label="shuffled targets")
        axes.set(
            xlabel="mean conditional entropy of the best set (bits)", ylabel="share of targets"
        )
        axes.set_xlim(bins[0], bins[-1])
        axes.set_ylim(bottom=0.0)
        axes.legend(loc="best")
    return figure


def p_value_distribution(p_values: ArrayLike, level: float = 0.05) -> Figure:
    """How many targets have which p-value, and how many would were there nothing to find.

    Parameters
    ----------
    p_values : array, shape (n_targets,)
        p-value of each target's best set; NaN is left out.
    level : float
        Drawn as a line.

    Examples
    --------
    >>> figure = p_value_distribution([0.005, 0.01, 0.2, 0.6, 0.9])
    """
    p = np.asarray(p_values, dtype=np.float64)
    p = p[~np.isnan(p)]
    bins = np.linspace(0.0, 1.0, P_BINS + 1)
    # A bar holds its upper border: p-values of few shuffles lie on borders.
    heights = np.bincount(
        np.clip(np.ceil(p * P_BINS - 1e-9).astype(int) - 1, 0, P_BINS - 1), minlength=P_BINS
    )
    with styled():
        figure, axes = new_figure()
        axes.stairs(heights, bins, fill=True, color=SKY, label="targets")
        axes.vlines(bins[1:-1], 0, np.minimum(heights[1:], heights[:-1]), color=BLUE, linewidth=0.8)
        axes.stairs(heights, bins, color=BLUE, linewidth=1.0)
        axes.axhline(
            p.size / P_BINS, color=ORANGE, label=f"by chance: {count(p.size / P_BINS)} in each bar"
        )
        axes.axvline(
            level, color=INK, linestyle=(0, (5, 3)), linewidth=1.6,
            label=f"p = {level:g} ({counted(int((p <= level).sum()), 'target')} at most)",
        )  # fmt: skip
        axes.set(xlabel="p-value of the best set", ylabel="number of targets", xlim=(0.0, 1.0))
        axes.set_ylim(bottom=0.0)
        axes.legend(loc="upper right")
    return figure


def tie_distribution(n_ties: ArrayLike) -> Figure:
    """For how many targets the best set is alone, one of 2 to 3, one of 4 to 7, and so on.

    Parameters
    ----------
    n_ties : array of int, shape (n_targets,)
        Sets that score as the best one of the target does, that one included.

    Examples
    --------
    >>> figure = tie_distribution([1, 1, 2, 5, 1])
    """
    ties = np.asarray(n_ties, dtype=np.int64)
    power = np.floor(np.log2(np.maximum(ties, 1))).astype(int)
    heights = np.bincount(power, minlength=1)
    names = ["1"] + [f"{count(2**k)}–{count(2 ** (k + 1) - 1)}" for k in range(1, len(heights))]
    colours = [BLUE] + [ORANGE] * (len(heights) - 1)
    with styled():
        figure, axes = new_figure()
        bars = axes.bar(range(len(heights)), heights, color=colours, width=0.8)
        axes.bar_label(bars, labels=[count(h) if h else "" for h in heights], padding=2)
        axes.set_xticks(range(len(heights)), names, rotation=45 if len(heights) > 5 else 0)
        axes.margins(y=0.12)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="sets that score as the best one, itself included")
        axes.set_ylabel("number of targets")
    return figure


def imp_against_mi(
    mi_bits: ArrayLike,
    imp_bits: ArrayLike,
    tied: ArrayLike,
    names: Sequence[str] = (),
    *,
    n_labels: int = 3,
) -> Figure:
    """What the whole set adds beyond its best part, against all that it tells of its target.

    Parameters
    ----------
    mi_bits, imp_bits : array, shape (n_targets,)
        Mutual information of the best set and the target, and its intrinsically multivariate
        prediction, bits.
    tied : array of bool, shape (n_targets,)
        Whether other sets score as the best one does.
    names : sequence of str, optional
        Names of the targets; up to ``n_labels`` with the largest ``imp_bits`` without ties are
        named, as far as names have room.

    Examples
    --------
    >>> mi, imp, tied = [0.9, 0.5, 0.3], [0.4, 0.1, 0.0], [False, False, True]
    >>> figure = imp_against_mi(mi, imp, tied, ["a", "b", "c"])
    """
    mi, imp = np.asarray(mi_bits, dtype=np.float64), np.asarray(imp_bits, dtype=np.float64)
    tied = np.asarray(tied, dtype=bool)
    top = max(float(mi.max(initial=0.0)), 1e-3) * 1.05
    with styled():
        figure, axes = new_figure()
        axes.plot(
            [0, top], [0, top], color=GREY, linestyle=(0, (5, 3)), linewidth=1.2,
            label="IMP = MI: only the whole set tells",
        )  # fmt: skip
        for chosen, marker, face, edge, label in (
            (tied, "s", "none", ORANGE, "one of several that score the same"),
            (~tied, "o", BLUE, "white", "the only best set"),
        ):
            axes.scatter(
                mi[chosen], imp[chosen], s=30, marker=marker, facecolors=face, edgecolors=edge,
                linewidths=0.8, label=f"{label} ({count(chosen.sum())})",
                # Thousands of points are an image in the SVG: it stays small.
                rasterized=mi.size > MANY_POINTS,
            )  # fmt: skip
        named = len(names) == mi.size
        alone = np.flatnonzero(~tied & (imp > 0.0)).tolist() if named else []
        labelled: list[int] = []
        for k in sorted(alone, key=lambda k: (-imp[k], names[k])):
            if len(labelled) == n_labels:
                break
            # Names stand left of their point, one line apart.
            if any(abs(imp[k] - imp[other]) < 0.05 * top for other in labelled):
                continue
            labelled.append(k)
            axes.annotate(
                shortened(names[k]),
                (mi[k], imp[k]), xytext=(-7, 0), textcoords="offset points", ha="right",
                va="center", fontsize=9, parse_math=False,
            )  # fmt: skip
        axes.set(xlim=(0.0, top), ylim=(-0.02 * top, top))
        axes.set(xlabel="mutual information of set and target (bits)", ylabel="IMP (bits)")
        axes.legend(loc="upper left")
    return figure


def level_table(counts: ArrayLike, predictors: Sequence[str], target: str) -> Figure:
    """The target's level for each combination of its predictors' levels, as a heat map.

    The last predictor's levels stand side by side, those of the others below each other. A cell
    has the colour of the target's most frequent level, the paler the less often it is; and the
    number of samples at each level, lowest first. Cells that no sample falls into are hatched.

    Parameters
    ----------
    counts : array of int, shape (q, ..., q)
        As ``pairtile.methods.predictor_pairs.report_results.level_counts`` returns them.
    predictors : sequence of str
        Their names, one for each axis of ``counts`` but the last.
    target : str

    Raises
    ------
    ValueError
        When there are not as many names as axes.

    Examples
    --------
    >>> counts = np.array([[[9, 0], [1, 8]], [[0, 7], [10, 0]]])  # XOR of two predictors
    >>> figure = level_table(counts, ["a", "b"], "target")
    """
    cells = np.asarray(counts, dtype=np.int64)
    if cells.ndim != len(predictors) + 1 or cells.ndim < 2:
        raise ValueError(
            f"counts has {cells.ndim} axes for {len(predictors)} predictors; expected one axis "
            "for each and one for the target"
        )
    q = cells.shape[-1]
    lines = list(product(range(q), repeat=cells.ndim - 2))
    rows = cells.reshape(len(lines), q, q)
    with styled():
        figure, axes = new_figure(1.6 + 1.1 * q, 1.3 + 0.55 * len(lines))
        for (y, x), cell in (((y, x), rows[y, x]) for y in range(len(lines)) for x in range(q)):
            colour, strength = cell_colour(cell)
            empty = not cell.sum()
            axes.add_patch(
                Rectangle(
                    (x - 0.5, y - 0.5), 1, 1, facecolor="white" if empty else (colour, strength),
                    edgecolor=GREY, linewidth=0.8, hatch="///" if empty else None,
                )
            )  # fmt: skip
            if not empty:
                axes.text(x, y, "  ".join(map(str, cell)), ha="center", va="center", fontsize=9.5)
        axes.set(xlim=(-0.5, q - 0.5), ylim=(len(lines) - 0.5, -0.5))
        axes.set_xticks(range(q), [str(level) for level in range(q)])
        axes.set_yticks(range(len(lines)), [" ".join(map(str, line)) for line in lines])
        axes.grid(visible=False)
        axes.set_xlabel(f"level of {predictors[-1]}", parse_math=False)
        if len(predictors) > 1:
            axes.set_ylabel(f"level of {', '.join(predictors[:-1])}", parse_math=False)
        axes.set_title(f"level of {target}", fontsize=10.5, parse_math=False)
    return figure


def cell_colour(cell: ArrayLike) -> tuple[str, float]:
    """Colour of the most frequent level of a cell's counts, and how strong it is drawn (0 to 1).

    0 where no level leads: nothing seen, or as many samples at two levels as at any.
    """
    counts = np.asarray(cell, dtype=np.int64)
    n, q = int(counts.sum()), len(counts)
    most = np.flatnonzero(counts == counts.max())
    if n == 0 or len(most) > 1:
        return PALE, 0.0
    sure = (counts[most[0]] / n - 1.0 / q) / (1.0 - 1.0 / q)
    return LEVEL_COLOURS[q][most[0]], float(np.clip(0.12 + 0.43 * sure, 0.0, 0.55))
