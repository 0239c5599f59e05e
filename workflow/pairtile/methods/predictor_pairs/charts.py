"""Figures of predictor sets and of what chance makes of them.

Each function takes arrays and returns a matplotlib Figure, in a notebook as well as in the report.
``FIGURES`` makes those of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.report.charts import bars, chart, figure_of, histogram, p_value_histogram, scatter
from pairtile.report.formats import count, counted
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.sample_figures import drawn_series, time_courses
from pairtile.report.style import BLUE, GREEN, GREY, ORANGE, PALE, SKY, YELLOW
from pairtile.report.text import page_text

__all__ = [
    "best_set_distribution",
    "imp_against_mi",
    "level_table",
    "p_value_distribution",
    "tie_distribution",
]


LEVEL_COLOURS = {2: (BLUE, ORANGE), 3: (BLUE, GREEN, ORANGE), 4: (BLUE, SKY, YELLOW, ORANGE)}
"""Colours of levels, low to high, by how many there are."""

P_BINS = 20
MAX_COURSES = 6


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
    targets = np.asarray(counts, dtype=np.float64)
    shuffled = np.zeros_like(targets) if null_counts is None else np.asarray(null_counts, float)
    return histogram(
        edges, {"targets": targets / max(targets.sum(), 1.0)},
        null={"shuffled targets": shuffled / max(shuffled.sum(), 1.0)},
        xlabel="mean conditional entropy of the best set (bits)", ylabel="share of targets",
    )  # fmt: skip


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
    # A bar holds its upper border: p-values of few shuffles lie on borders.
    heights = np.bincount(
        np.clip(np.ceil(p * P_BINS - 1e-9).astype(int) - 1, 0, P_BINS - 1), minlength=P_BINS
    )
    return p_value_histogram(
        heights, {f"p = {level:g} ({counted(int((p <= level).sum()), 'target')} at most)": level},
        label="targets", xlabel="p-value of the best set",
    )  # fmt: skip


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
    return bars(
        names, {"": heights}, xlabel="sets that score as the best one, itself included",
        ylabel="number of targets",
    )  # fmt: skip


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
    alone = np.flatnonzero(~tied & (imp > 0.0)).tolist() if len(names) == mi.size else []
    alone.sort(key=lambda k: (-imp[k], names[k]))
    return scatter(
        mi, imp,
        {
            f"the only best set ({count((~tied).sum())})": ~tied,
            f"one of several that score the same ({count(tied.sum())})": tied,
        },
        diagonal="IMP = MI: only the whole set tells",
        hover={"gene": names} if len(names) else None, items=[[name] for name in names],
        named=[(names[k], mi[k], imp[k]) for k in alone], n_named=n_labels,
        xlabel="mutual information of set and target (bits)", ylabel="IMP (bits)",
    )  # fmt: skip


def level_table(counts: ArrayLike, predictors: Sequence[str], target: str) -> Figure:
    """The target's level for each combination of its predictors' levels, as a heat map.

    The last predictor's levels stand side by side, those of the others below each other. A cell
    has the colour of the target's most frequent level, the paler the less often it is; and the
    number of samples at each level, lowest first. Cells that no sample falls into are hatched.

    Parameters
    ----------
    counts : array of int, shape (q, ..., q)
        As ``pairtile.methods.predictor_pairs.rules.level_counts`` returns them.
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
    lower, last = ", ".join(predictors[:-1]), predictors[-1]
    with chart(
        size=(1.6 + 1.1 * q, 1.3 + 0.55 * len(lines)), xlim=(-0.5, q - 0.5),
        ylim=(len(lines) - 0.5, -0.5), title=f"level of {target}", xlabel=f"level of {last}",
        ylabel=f"level of {lower}" if lower else "",
    ) as axes:  # fmt: skip
        for y, x in np.ndindex(len(lines), q):
            cell = rows[y, x]
            colour, strength = cell_colour(cell)
            empty = not cell.sum()
            axes.add_patch(
                Rectangle(
                    (x - 0.5, y - 0.5), 1, 1, facecolor="white" if empty else (colour, strength),
                    edgecolor=GREY, linewidth=0.6, hatch="///" if empty else None,
                )
            )  # fmt: skip
            if not empty:
                axes.text(x, y, "  ".join(map(str, cell)), ha="center", va="center")
        axes.set_xticks(range(q), [str(level) for level in range(q)])
        axes.set_yticks(range(len(lines)), [" ".join(map(str, line)) for line in lines])
        axes.grid(visible=False)
    return figure_of(axes)


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


# --- on the page: which can be made, and the numbers of their captions ---


def _best_sets(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not {"edges", "counts"} <= scores.keys() or not scores["counts"].sum():
        return None
    null = scores.get("null_counts")
    return page_text(results).figure(
        "best_sets",
        best_set_distribution(scores["edges"], scores["counts"], null),
        targets=round(scores["counts"].sum()),
        shuffled=0 if null is None else round(null.sum()),
    )


def _p_values(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    if not found.tested:
        return None
    figure = p_value_distribution(found.best["p_value"].dropna())
    return page_text(results).figure("p_values", figure)


def _ties(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    if found.best.empty:
        return None
    return page_text(results).figure("ties", tie_distribution(found.best["n_ties"]))


def _imp(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    if found.best.empty or len(found.members) < 2:
        return None
    best = found.best
    figure = imp_against_mi(best["mi_bits"], best["imp_bits"], found.tied, best["target"].tolist())
    return page_text(results).figure("imp", figure, largest=float(best["imp_bits"].max()))


def _time_courses(results: Results) -> FigureWithText | None:
    found = results.cached(predictor_results)
    stated = results.parameters.get("samples") or {}
    in_time = results.parameters.get("lag") or stated.get("series") or stated.get("time")
    series = None if found.levels is None else found.levels.state.get("series")
    if found.levels is None or series is None or not in_time:
        return None
    sets = found.clearest(MAX_COURSES)
    if sets.empty:
        return None
    panels = [
        found.levels.courses([str(row[key]) for key in ("target", *found.members)])
        for row in sets.to_dict("records")
    ]
    label = "level, scaled" if results.parameters.get("levels") else "value, scaled"
    return page_text(results).figure(
        "time_courses",
        time_courses(panels, series, label=label),
        panels=[list(panel) for panel in panels],
        shown=sum(here.size for here in drawn_series(series)),
        samples=series.size,
    )


FIGURES: Mapping[str, FigureMaker] = {
    "score_distribution": _best_sets,
    "p_values": _p_values,
    "ties": _ties,
    "joint_prediction": _imp,
    "time_courses": _time_courses,
}
