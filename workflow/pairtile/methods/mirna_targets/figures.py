"""Figures of miRNA hits. As in ``pairtile.report.figures``: from arrays or tables to a Figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from pairtile.report.formats import count, percent, plain, shortened
from pairtile.report.style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    SKY,
    figure_of_panels,
    new_figure,
    styled,
)

__all__ = [
    "alignment",
    "conservation_rates",
    "hit_distribution",
    "most_pairs",
    "relative_positions",
    "seed_classes",
    "signal_and_chance",
    "site_map",
    "target_map",
]


MAX_NAME = 40
CANONICAL_LABEL, OTHER_LABEL = "canonical seed site", "other"


def hit_distribution(
    edges: ArrayLike,
    counts: ArrayLike,
    threshold: float | None = None,
    *,
    label: str,
    logarithmic: bool = False,
) -> Figure:
    """Distribution of the scores or of the energies of all hits, and the threshold.

    Parameters
    ----------
    edges : array, shape (B + 1,)
        Bin edges, ascending.
    counts : array, shape (B,)
        Hits in each bin. Empty bins at both ends are cut off.
    threshold : float, optional
        Drawn as a line where it lies within half the drawn range of the hits.
    label : str
        Name and unit of the value.
    logarithmic : bool
        Whether the number of hits has a logarithmic axis.

    Raises
    ------
    ValueError
        When the lengths do not fit together.

    Examples
    --------
    >>> figure = hit_distribution([140, 150, 160, 170], [20, 9, 2], 140, label="score")
    """
    edges, counts = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if len(edges) != len(counts) + 1:
        raise ValueError(
            f"found {len(edges)} edges and {len(counts)} counts; expected one edge more than counts"
        )
    filled = np.flatnonzero(counts)
    first, last = (int(filled[0]), int(filled[-1]) + 1) if filled.size else (0, len(counts))
    edges, counts = edges[first : last + 1], counts[first:last]
    reach = (edges[-1] - edges[0]) / 2
    with styled():
        figure, axes = new_figure()
        axes.stairs(counts, edges, fill=True, color=SKY, alpha=0.75, label="hits")
        axes.stairs(counts, edges, color=BLUE, linewidth=1.0)
        if threshold is not None and edges[0] - reach <= threshold <= edges[-1] + reach:
            axes.axvline(
                threshold, color=INK, linestyle=(0, (5, 3)), linewidth=1.6,
                label=f"threshold {plain(threshold)}",
            )  # fmt: skip
        if logarithmic:
            axes.set_ylim(bottom=0.5, top=max(10.0, 2 * counts.max(initial=0)))
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel=label, ylabel="number of hits")
        axes.legend(loc="best")
    return figure


def seed_classes(counts: Mapping[str, int], canonical: Sequence[str]) -> Figure:
    """How many hits have each seed class, in the order given, best first.

    Parameters
    ----------
    counts : mapping of str to int
        Hits of each class.
    canonical : sequence of str
        The classes drawn as canonical.

    Examples
    --------
    >>> figure = seed_classes({"8mer": 12, "7mer-m8": 30, "6mer": 51}, ["8mer", "7mer-m8"])
    """
    names, values = list(counts), np.array(list(counts.values()), dtype=np.int64)
    colours = [BLUE if name in canonical else PALE for name in names]
    total = int(values.sum())
    with styled():
        figure, axes = new_figure(height=3.4)
        bars = axes.barh(names, values, color=colours, edgecolor=GREY, linewidth=0.8)
        shares = [f"{count(n)} ({percent(n / total) if total else '0%'})" for n in values.tolist()]
        axes.bar_label(bars, shares, padding=4, fontsize=9)
        axes.set_xlim(0, max(1.0, 1.25 * float(values.max(initial=0))))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(xlabel="number of hits", ylabel="seed class")
        handles = [
            matplotlib.patches.Patch(facecolor=BLUE, edgecolor=GREY, label=CANONICAL_LABEL),
            matplotlib.patches.Patch(facecolor=PALE, edgecolor=GREY, label=OTHER_LABEL),
        ]
        axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    return figure


def signal_and_chance(
    names: Sequence[str],
    ratios: ArrayLike,
    intervals: ArrayLike,
    scores: ArrayLike,
    pairs: ArrayLike,
    expected: ArrayLike,
) -> Figure:
    """What there is against what chance gives: ratios by seed class, and pairs by their score.

    Parameters
    ----------
    names : sequence of str
        Seed classes, best first.
    ratios, intervals : array, shapes (C,) and (C, 2)
        Sites over those of the shuffles, and an interval of it; a high end may be infinite.
    scores, pairs, expected : array, shape (B,)
        Pair scores, and how many pairs, of miRNAs and of shuffles, reach them.

    Examples
    --------
    >>> curve = [0, 1, 2], [90, 40, 9], [80.0, 31.0, 2.5]
    >>> figure = signal_and_chance(["8mer"], [1.4], [(1.1, 1.8)], *curve)
    """
    ratio = np.asarray(ratios, dtype=np.float64)
    low, high = np.asarray(intervals, dtype=np.float64).reshape(-1, 2).T
    far = 1.1 * float(np.max(np.where(np.isfinite(high), high, 2 * ratio), initial=1.0))
    high = np.where(np.isfinite(high), high, far)
    score, found, chance = (np.asarray(x, dtype=np.float64) for x in (scores, pairs, expected))
    with styled():
        figure, (left, right) = figure_of_panels(2, 2, width=3.6, height=3.2)
        place = np.arange(len(names))
        left.errorbar(
            ratio, place, xerr=[ratio - low, high - ratio], fmt="o", color=BLUE, capsize=3
        )
        left.axvline(1.0, color=GREY, linewidth=1.0)
        left.set_yticks(place, names)
        left.invert_yaxis()
        left.set_xlim(0, far)
        left.grid(axis="y", visible=False)
        left.set(xlabel="sites / sites of shuffles", ylabel="seed class")
        shown = score <= max(float(score[found > 0].max(initial=0.0)), 1.0)
        for values, colour, label in ((found, BLUE, "miRNAs"), (chance, ORANGE, "shuffles")):
            kept = shown & (values > 0)
            right.plot(score[kept], values[kept], color=colour, label=label)
        right.set_yscale("log")
        right.set(xlabel="pair score, at least", ylabel="number of pairs")
        right.legend()
    return figure


def conservation_rates(
    levels: ArrayLike,
    rates: Mapping[str, ArrayLike],
    intervals: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    label: str,
) -> Figure:
    """Share of the sites kept in other species that chance does not explain, by seed class.

    Parameters
    ----------
    levels : array, shape (L,)
        How well sites are kept: number of species or branch length, at least.
    rates : mapping of str to array, shape (L,)
        The share of each seed class; NaN where no site is kept so well. The first has its interval
        drawn as a band.
    intervals : mapping of str to (array, array)
        Low and high end of each share.
    label : str
        Name and unit of ``levels``.

    Examples
    --------
    >>> figure = conservation_rates(
    ...     [1, 2, 3], {"8mer": [0.1, 0.2, 0.4]}, {"8mer": ([0, 0.1, 0.2], [0.2, 0.3, 0.5])},
    ...     label="number of species",
    ... )
    """
    place = np.asarray(levels, dtype=np.float64)
    lines = (INK, BLUE, SKY, ORANGE, GREY, "#009e73")
    with styled():
        figure, axes = new_figure()
        axes.axhline(0.0, color=GREY, linewidth=1.0)
        for k, (name, rate) in enumerate(rates.items()):
            if k == 0:
                low, high = (np.asarray(end, dtype=np.float64) for end in intervals[name])
                axes.fill_between(place, low, high, color=PALE, linewidth=0)
            axes.plot(
                place, np.asarray(rate, dtype=np.float64), color=lines[k % len(lines)],
                linewidth=2.2 if k == 0 else 1.4, label=name,
            )  # fmt: skip
        known = np.concatenate([np.asarray(rate, dtype=np.float64) for rate in rates.values()])
        axes.set_ylim(max(-0.5, float(np.nanmin(known, initial=0.0)) - 0.05), 1.02)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
        axes.set(xlabel=label, ylabel="share conserved beyond chance")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def relative_positions(counts: ArrayLike) -> Figure:
    """Where on their transcripts hits lie: shares of hits with and without a canonical site.

    Parameters
    ----------
    counts : array, shape (2, B)
        Hits in B parts of equal length from the 5' to the 3' end; canonical ones, then others.

    Examples
    --------
    >>> figure = relative_positions([[9, 5, 4, 8], [20, 22, 19, 21]])
    """
    counts = np.asarray(counts, dtype=np.float64)
    edges = np.linspace(0, 1, counts.shape[1] + 1)
    styles = ((CANONICAL_LABEL, BLUE, "-"), (OTHER_LABEL, ORANGE, (0, (4, 2))))
    with styled():
        figure, axes = new_figure()
        for row, (label, colour, line) in zip(counts, styles, strict=True):
            if row.sum():
                share = 100 * row / row.sum()
                axes.stairs(
                    share, edges, color=colour, linestyle=line, linewidth=1.8, baseline=None,
                    label=f"{label} ({count(row.sum())})",
                )  # fmt: skip
        axes.axhline(
            100 / counts.shape[1], color=GREY, linewidth=1.2, linestyle=":", label="evenly spread"
        )
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, 1)
        axes.set(xlabel="position on the transcript, 5' end = 0, 3' end = 1", ylabel="% of hits")
        axes.legend(loc="best")
    return figure


def most_pairs(mirnas: pd.DataFrame, transcripts: pd.DataFrame, *, n: int = 15) -> Figure:
    """The miRNAs with most targets beside the transcripts with most miRNAs.

    Parameters
    ----------
    mirnas, transcripts : DataFrame
        Names as index, columns ``pairs`` and ``canonical`` (those of them with a canonical site),
        most pairs first.
    n : int
        How many of each, at most.

    Examples
    --------
    >>> mirnas = pd.DataFrame({"pairs": [9, 4], "canonical": [5, 1]}, index=["let-7a", "miR-1"])
    >>> transcripts = pd.DataFrame({"pairs": [2, 1], "canonical": [1, 0]}, index=["t1", "t2"])
    >>> figure = most_pairs(mirnas, transcripts)
    """
    sides = ((mirnas, "miRNAs", "target transcripts"), (transcripts, "transcripts", "miRNAs"))
    with styled():
        figure = Figure(
            figsize=(10.5, 1.1 + 0.24 * max(3, min(n, max(len(mirnas), len(transcripts))))),
            layout="constrained",
        )
        FigureCanvasAgg(figure)
        for place, (table, title, of) in enumerate(sides, start=1):
            axes = figure.add_subplot(1, 2, place)
            shown = table.head(n)
            rows = np.arange(len(shown))
            axes.barh(rows, shown["pairs"], color=PALE, edgecolor=GREY, linewidth=0.8, label="all")
            axes.barh(rows, shown["canonical"], color=BLUE, height=0.5, label=CANONICAL_LABEL)
            _name(axes, rows, shown.index.tolist(), "y")
            axes.invert_yaxis()
            axes.grid(axis="y", visible=False)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
            axes.set_title(f"{title} with the most {of}", fontsize=10.5, loc="left")
            axes.set_xlabel(f"number of {of}")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def strongest_block(pairs: pd.DataFrame, n: int = 30) -> pd.DataFrame:
    """The pairs between the ``n`` first miRNAs and the ``n`` first transcripts.

    ``pairs`` has the columns ``source`` and ``target``, strongest first: a miRNA's place is that
    of its strongest pair.
    """
    sources = pairs["source"].drop_duplicates().head(n)
    targets = pairs["target"].drop_duplicates().head(n)
    return pairs[pairs["source"].isin(sources) & pairs["target"].isin(targets)]


def target_map(
    pairs: pd.DataFrame,
    values: ArrayLike,
    canonical: ArrayLike | None = None,
    *,
    label: str,
    low_is_strong: bool = False,
) -> Figure:
    """Heat map of miRNAs (rows) and transcripts (columns); similar rows and columns lie together.

    Parameters
    ----------
    pairs : DataFrame
        Columns ``source`` and ``target``, each pair once. What is not named stays blank.
    values : array, shape (n,)
        The value of each pair: stronger is darker.
    canonical : array of bool, shape (n,), optional
        Pairs marked with a dot.
    label : str
        Name and unit of the value.
    low_is_strong : bool
        Whether lower values (energies) are the stronger ones.

    Examples
    --------
    >>> pairs = pd.DataFrame({"source": ["let-7a", "miR-1"], "target": ["t1", "t2"]})
    >>> figure = target_map(pairs, [-20.1, -15.0], label="energy (kcal/mol)", low_is_strong=True)
    """
    values = np.asarray(values, dtype=np.float64)
    rows, i = np.unique(pairs["source"].to_numpy(dtype=object), return_inverse=True)
    columns, j = np.unique(pairs["target"].to_numpy(dtype=object), return_inverse=True)
    grid = np.full((len(rows), len(columns)), np.nan)
    grid[i, j] = values
    weakest = values.max(initial=0.0) if low_is_strong else values.min(initial=np.inf)
    filled = np.where(np.isnan(grid), weakest, grid)
    row_order, column_order = _similar_together(filled), _similar_together(filled.T)
    with styled():
        size = (2.9 + 0.2 * len(columns), max(3.6, 2.3 + 0.19 * len(rows)))
        figure, axes = new_figure(*size)
        axes.set_facecolor("#f3f5f7")
        mesh = axes.pcolormesh(
            np.ma.masked_invalid(grid[row_order][:, column_order]),
            cmap="cividis" if low_is_strong else "cividis_r",
            edgecolors="white",
            linewidth=0.6,
        )
        if canonical is not None:
            marked = np.asarray(canonical, dtype=bool)
            axes.plot(
                np.argsort(column_order)[j[marked]] + 0.5, np.argsort(row_order)[i[marked]] + 0.5,
                "o", color="white", markeredgecolor=INK, markeredgewidth=0.6, markersize=4.2,
            )  # fmt: skip
        _name(axes, np.arange(len(rows)) + 0.5, rows[row_order].tolist(), "y")
        _name(axes, np.arange(len(columns)) + 0.5, columns[column_order].tolist(), "x")
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.grid(visible=False)
        axes.tick_params(length=0, labelsize=8)
        bar = figure.colorbar(mesh, ax=axes, label=label, shrink=0.75, pad=0.015)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8.5)
        if low_is_strong:
            bar.ax.invert_yaxis()
    return figure


def _similar_together(grid: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order of the rows by average-linkage clustering, neighbours as alike as can be."""
    if len(grid) < 3:
        return np.arange(len(grid))
    return np.asarray(leaves_list(linkage(grid, "average", optimal_ordering=True)), dtype=np.intp)


def _name(axes: Axes, places: NDArray[Any], names: list[str], along: str) -> None:
    """Names at an axis, no character taken as mathematics."""
    short = [shortened(name, MAX_NAME) for name in names]
    if along == "x":
        axes.set_xticks(places, short, rotation=90, parse_math=False)
    else:
        axes.set_yticks(places, short, fontsize=9, parse_math=False)


# --- one transcript -------------------------------------------------------------------------------


MAX_LABELS = 10
MIN_ACCESSIBILITY = 1e-6
"""Where the logarithmic axis of accessibility begins; a site of 20 letters is seldom open."""


def site_map(hits: pd.DataFrame, colours: Mapping[str, str]) -> Figure:
    """The sites of one transcript along it, as high as their score.

    Parameters
    ----------
    hits : DataFrame
        Rows of ``hits.tsv`` of one transcript: ``mirna``, ``site_begin``, ``site_end``, ``score``,
        ``seed_class``, ``transcript_length``. Where there is ``conservation_rate``, sites are
        filled as far; where there is ``accessibility``, bars below the line show it.
    colours : mapping of str to str
        Of each seed class, best first, ``RED,GREEN,BLUE`` from 0 to 255.

    Examples
    --------
    >>> hits = pd.DataFrame({
    ...     "mirna": ["let-7a", "miR-1"], "site_begin": [20, 310], "site_end": [40, 330],
    ...     "score": [160, 145], "seed_class": ["8mer", "none"], "transcript_length": 400,
    ... })
    >>> figure = site_map(hits, {"8mer": "213,94,0", "none": "127,127,127"})
    """
    shades: dict[str, tuple[float, float, float]] = {}
    for name, text in colours.items():
        red, green, blue = (int(x) / 255 for x in text.split(","))
        shades[name] = (red, green, blue)
    length = int(hits["transcript_length"].iloc[0])
    low = float(hits["score"].min()) - 5
    open_sites = "accessibility" in hits
    with styled():
        if open_sites:
            figure, (axes, below) = figure_of_panels(2, 1, width=9.0, height=2.2)
        else:
            figure, axes = new_figure(9.0, 3.0)
        named: list[float] = []
        ordered = hits.sort_values("score", ascending=False, kind="stable")
        for hit in ordered.to_dict("records"):
            middle = (hit["site_begin"] + hit["site_end"]) / 2
            shade = shades[str(hit["seed_class"])]
            rate = hit.get("conservation_rate", 1.0)
            alpha = 0.1 + 0.9 * (0.0 if pd.isna(rate) else float(rate))
            axes.vlines(middle, low, hit["score"], color=shade, linewidth=1.2)
            axes.plot(
                middle, hit["score"], "o", markersize=6, markeredgecolor=shade,
                markerfacecolor=(*shade, alpha),
            )  # fmt: skip
            if open_sites:
                open_share = max(float(hit["accessibility"]), MIN_ACCESSIBILITY)
                below.vlines(middle, MIN_ACCESSIBILITY, open_share, color=shade, linewidth=5)
            apart = all(abs(middle - other) > length / 12 for other in named)
            if len(named) < MAX_LABELS and apart:
                named.append(middle)
                axes.annotate(
                    str(hit["mirna"]), (middle, hit["score"]), xytext=(0, 6), ha="center",
                    textcoords="offset points", fontsize=8, parse_math=False,
                )  # fmt: skip
        there = set(hits["seed_class"].astype(str))
        axes.legend(
            handles=[
                matplotlib.patches.Patch(facecolor=shade, label=name)
                for name, shade in shades.items()
                if name in there
            ],
            loc="upper left", bbox_to_anchor=(1.0, 1.0),
        )  # fmt: skip
        axes.set(xlim=(1, max(length, 2)), ylim=(low, float(hits["score"].max()) + 4))
        axes.set_ylabel("alignment score")
        axes.grid(axis="x", visible=False)
        if open_sites:
            below.set_yscale("log")
            below.set(xlim=(1, max(length, 2)), ylim=(MIN_ACCESSIBILITY, 1), ylabel="accessibility")
            below.grid(axis="x", visible=False)
        (below if open_sites else axes).set_xlabel("position on the transcript (letters)")
    return figure


# --- one hit, letter by letter --------------------------------------------------------------------


SEED = (2, 8)
"""Positions of the miRNA, from its 5' end, that make its seed region."""


def alignment(hit: Mapping[str, Any] | Any) -> Figure:
    """The alignment of one hit: the miRNA (3' to 5') above its site (5' to 3'), seed region shaded.

    Parameters
    ----------
    hit : mapping, Series or row of ``DataFrame.itertuples``
        A row of the table that ``mirna_targets`` returns: ``query_alignment``, ``match_line`` and
        ``reference_alignment``; with ``mirna``, ``transcript``, ``score`` and
        ``energy_kcal_mol``, where they are, in the title.

    Raises
    ------
    ValueError
        When a line is missing, or the three are of different lengths.

    Examples
    --------
    >>> figure = alignment({
    ...     "query_alignment": "uugAUAUGUUGGAUGAUGGAGu", "match_line": "   |:|: ||:|| |||||| ",
    ...     "reference_alignment": "aauUGUG-AAUCU-CUACCUCa", "mirna": "let-7a",
    ... })
    Traceback (most recent call last):
    ValueError: found lines of 22, 21 and 22 characters; expected three of the same length
    >>> figure = alignment({
    ...     "query_alignment": "uugAUAUGUUGGAUGAUGGAGu", "match_line": "   |:|:  ||:|| |||||| ",
    ...     "reference_alignment": "aauUGUG-AAUCU-CUACCUCa", "mirna": "let-7a",
    ... })
    """
    given = hit._asdict() if hasattr(hit, "_asdict") else hit
    names = ("query_alignment", "match_line", "reference_alignment")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"hit: found no {', '.join(missing)}; expected a row of mirna_targets")
    query, match, reference = (str(given[name]) for name in names)
    if not len(query) == len(match) == len(reference):
        raise ValueError(
            f"found lines of {len(query)}, {len(match)} and {len(reference)} characters; expected "
            "three of the same length"
        )
    begin, end = _seed_columns(query)
    with styled():
        figure, axes = new_figure(max(4.0, 0.2 * len(query) + 2.4), 1.7)
        axes.axvspan(begin - 0.5, end - 0.5, color=PALE, zorder=0)
        for row, (text, left, right) in enumerate(
            ((query, "miRNA 3'", "5'"), (match, "", ""), (reference, "site 5'", "3'"))
        ):
            y = -row
            axes.text(-1.0, y, left, ha="right", va="center", color=GREY)
            axes.text(len(text), y, right, ha="left", va="center", color=GREY)
            for column, letter in enumerate(text):
                axes.text(
                    column, y, letter, ha="center", va="center", family="DejaVu Sans Mono",
                    fontsize=12, color=BLUE if row == 1 else INK, parse_math=False,
                )  # fmt: skip
        axes.set(xlim=(-6.0, len(query) + 1.5), ylim=(-2.6, 0.6))
        axes.set_axis_off()
        axes.set_title(_title(given), fontsize=10.5, loc="left", parse_math=False)
    return figure


def _seed_columns(query: str) -> tuple[int, int]:
    """Columns of the seed region; the miRNA's 5' end is at the right, gaps are not counted."""
    position, columns = 0, []
    for column in range(len(query) - 1, -1, -1):
        if query[column] not in "- ":
            position += 1
            if SEED[0] <= position <= SEED[1]:
                columns.append(column)
    return (min(columns), max(columns) + 1) if columns else (0, 0)


def _title(given: Mapping[str, Any] | Any) -> str:
    names = [str(given[key]) for key in ("mirna", "transcript") if key in given]
    numbers = [f"score {float(given['score']):g}"] if "score" in given else []
    if "energy_kcal_mol" in given:
        numbers.append(f"{float(given['energy_kcal_mol']):.2f} kcal/mol".replace("-", "−"))
    return ": ".join(filter(None, (" on ".join(names), ", ".join(numbers))))
