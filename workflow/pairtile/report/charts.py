"""The charts that figures are made of: data, labels and options in, a matplotlib Figure out.

``histogram``, ``bars``, ``lines``, ``scatter``, ``embedding`` and ``heat_map`` each draw one chart,
in a figure of its own or in a panel (``style.figure_of_panels``) that is given as ``ax``. All take
``Options``. A mapping of data has the texts of the legend as keys; "" stands for none. Texts are
drawn as they are: no character in them is taken as mathematics.

Examples
--------
>>> figure = histogram([0, 1, 2], {"pairs": [8, 3]}, vlines={"threshold": 1.5}, xlabel="score")
>>> from pairtile.report.style import figure_of_panels
>>> figure, (left, right) = figure_of_panels(2, 2)
>>> figure = bars(["a", "b"], {"edges": [3, 5]}, ax=left)
>>> figure = lines({"curve": ([0, 1, 2], [0.1, 0.4, 0.9])}, ax=right)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Literal, TypedDict, Unpack

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from pairtile.declare.maps import label_image
from pairtile.declare.vega_lite import label_marks
from pairtile.report.formats import count, percent, shortened
from pairtile.report.style import (
    BLUE,
    GREEN,
    GREY,
    GROUP_COLOURS,
    INK,
    MAX_VECTOR_POINTS,
    ORANGE,
    PALE,
    SKY,
    figure_of_panels,
    styled,
)
from pairtile.statistics.block_means import block_means

FILLS = (SKY, PALE, ORANGE)
"""Colours of bars, in the order of their groups."""

COLOURS = (*GROUP_COLOURS, INK, GREY)
"""Colours of curves and groups of points, in their order; then they come again."""

SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"
"""Colour maps that colour-blind readers can read; the second has white in its middle."""

NOTHING = "#f3f5f7"
"""The colour of cells without a value."""

MAX_PIXELS, MAX_CELLS = 500, 700
"""Larger matrices are drawn, and told under the pointer, as means of blocks: pages stay small."""

MAX_BINS, MAX_BAR_LABELS = 100, 20
MAX_NAME, MAX_LEGEND_TEXT = 40, 48

Ticks = Mapping[int, str] | Mapping[float, str]
"""Places along an axis, and what to write there."""


class Options(TypedDict, total=False):
    """What every chart takes by keyword, in the words of matplotlib where it has one."""

    ax: Axes  # the panel to draw in; none: a figure of its own
    size: tuple[float, float]  # of a figure of its own, inches
    title: str
    xlabel: str
    ylabel: str
    xscale: Literal["linear", "log", "symlog"]
    yscale: Literal["linear", "log", "symlog"]
    xlim: tuple[float | None, float | None]
    ylim: tuple[float | None, float | None]
    vlines: Mapping[str, float | Sequence[float] | None]  # such as thresholds; None, NaN: no line
    hlines: Mapping[str, float | Sequence[float] | None]
    named: Sequence[tuple[str, float, float]]  # points to name, first those that matter most
    n_named: int  # so many at most: names that would touch another are left out
    legend: bool


@contextmanager
def chart(**options: Unpack[Options]) -> Iterator[Axes]:
    """The axes to draw a chart on; labels, scales, limits, lines, names and legend follow."""
    with styled():
        width, height = options.get("size", (6.4, 4.0))
        ax = options.get("ax") or figure_of_panels(width=width, height=height)[1][0]
        yield ax
        for draw, marks, colours in (
            (ax.axvline, options.get("vlines", {}), (INK,)),
            (ax.axhline, options.get("hlines", {}), (GREEN, ORANGE)),
        ):
            for n, (label, places) in enumerate(marks.items()):
                for k, place in enumerate(_known(places)):
                    draw(
                        place, color=colours[n % len(colours)] if label else GREY, linewidth=1.0,
                        linestyle=(0, (5, 3)) if label else "-", label="" if k else label,
                    )  # fmt: skip
        keys = ("xscale", "yscale", "xlim", "ylim", "title", "xlabel", "ylabel")
        given = dict(options)
        ax.set(**{key: given[key] for key in keys if key in given})
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            text.set_parse_math(False)
        for axis in (ax.xaxis, ax.yaxis):
            if axis.get_scale() == "log":  # ticks at 1, 10, 100; those between them too, if few
                low, high = axis.get_view_interval()
                subs = (1.0,) if high / low > 200 else (1.0, 2.0, 5.0)
                axis.set_major_locator(LogLocator(subs=subs))
                axis.set_major_formatter(
                    FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
                )
                axis.set_minor_formatter(NullFormatter())
        _name_points(ax, options.get("named", ()), options.get("n_named", 3))
        if options.get("legend", True):
            add_legend(ax, "" if "ax" in options else "outside upper center")


def figure_of(ax: Axes) -> Figure:
    """The figure that axes are in."""
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    return figure


def histogram(
    edges: ArrayLike,
    counts: Mapping[str, ArrayLike],
    *,
    null: Mapping[str, ArrayLike] | None = None,
    **options: Unpack[Options],
) -> Figure:
    """Counts (or shares) in bins, and what chance gives as lines over them.

    Parameters
    ----------
    edges : array, shape (B + 1,)
        Bin edges, ascending; more than ``MAX_BINS`` bins are joined. Without ``xlim``, empty bins
        at both ends are cut off, and so are ``vlines`` that lie farther outside than half of what
        is left.
    counts : mapping to arrays, shape (B,)
        Groups, stacked.
    null : mapping to arrays, shape (B,), optional
        Drawn as they are: scale them to the counts before. None where all are 0.

    Raises
    ------
    ValueError
        When the lengths do not fit together.
    """
    bins = np.asarray(edges, dtype=np.float64)
    groups = {name: np.asarray(values, np.float64) for name, values in counts.items()}
    chance = {name: np.asarray(values, np.float64) for name, values in (null or {}).items()}
    for name, values in {**groups, **chance}.items():
        if bins.size != values.size + 1:
            raise ValueError(
                f"{name}: found {bins.size} edges and {values.size} counts; "
                "expected one edge more than counts"
            )
    filled = np.flatnonzero(sum([*groups.values(), *chance.values()]))
    first, last = 0, bins.size - 1
    if filled.size and "xlim" not in options:
        first, last = int(filled[0]), int(filled[-1]) + 1
    starts = np.arange(first, last, max(1, -(-(last - first) // MAX_BINS)))
    bins = np.append(bins[starts], bins[last])
    if "xlim" not in options:
        reach = np.ptp(bins) / 2
        marks = {
            label: [x for x in _known(places) if bins[0] - reach <= x <= bins[-1] + reach]
            for label, places in options.get("vlines", {}).items()
        }
        shown = [bins[0], bins[-1], *(x for places in marks.values() for x in places)]
        margin = 0.04 * reach
        options |= {"xlim": (min(shown) - margin, max(shown) + margin), "vlines": marks}
    groups, chance = (
        {name: np.add.reduceat(values[:last], starts) for name, values in part.items()}
        for part in (groups, chance)
    )
    top = max(
        values.max(initial=0.0) for values in (np.sum([*groups.values()], axis=0), *chance.values())
    )
    with chart(**options) as ax:
        base = np.zeros(bins.size - 1)
        for k, (name, values) in enumerate(groups.items()):
            ax.stairs(
                base + values, bins, baseline=base, fill=True, label=name, color=FILLS[k],
                alpha=0.85,
            )  # fmt: skip
            base = base + values
        ax.stairs(base, bins, color=BLUE, linewidth=0.7)
        for k, (name, values) in enumerate(chance.items()):
            if values.any():
                ax.stairs(
                    values, bins, color=(ORANGE, GREEN)[k % 2], linewidth=1.4, label=name,
                    baseline=None,
                )  # fmt: skip
        if options.get("yscale") == "log":
            ax.set_ylim(0.5, 3 * max(3.0, top))
        else:
            ax.set_ylim(bottom=0.0)
            _count_whole(ax.yaxis, *groups.values())
    return figure_of(ax)


def p_value_histogram(
    counts: ArrayLike, level: Mapping[str, float | None], *, label: str, xlabel: str
) -> Figure:
    """How many have which p-value, and how many would were there nothing to find.

    Parameters
    ----------
    counts : array, shape (B,)
        In B equal bins from 0 to 1.
    level : mapping of str to float
        Drawn as a line.
    label : str
        What is counted.
    xlabel : str
        What the p-values are of.
    """
    heights = np.asarray(counts, dtype=np.float64)
    chance = heights.sum() / max(heights.size, 1)
    return histogram(
        np.linspace(0.0, 1.0, heights.size + 1), {label: heights},
        null={f"by chance: {count(chance)} in each bar": np.full(heights.size, chance)},
        vlines=level, xlim=(0.0, 1.0), xlabel=xlabel, ylabel=f"number of {label}",
    )  # fmt: skip


def bars(
    names: Sequence[str],
    heights: Mapping[str, ArrayLike],
    *,
    orientation: Literal["vertical", "horizontal"] = "vertical",
    shares: bool = False,
    **options: Unpack[Options],
) -> Figure:
    """A bar for each name, with its number; horizontal ones from top to bottom.

    Parameters
    ----------
    names : sequence of str
    heights : mapping to arrays, shape (names,)
        Groups, stacked.
    orientation : {"vertical", "horizontal"}
    shares : bool
        Adds to each number its share of all.
    """
    groups = {name: np.asarray(values, np.float64) for name, values in heights.items()}
    totals, places = np.sum([*groups.values()], axis=0), np.arange(len(names))
    across = orientation == "horizontal"
    if across:
        options.setdefault("size", (6.4, 1.6 + 0.3 * len(names)))
    with chart(**options) as ax:
        base = np.zeros(len(names))
        for k, (name, values) in enumerate(groups.items()):
            draw = ax.barh if across else ax.bar
            drawn = draw(
                places, values, 0.75, base, color=FILLS[k], edgecolor=GREY, linewidth=0.4,
                label=name,
            )  # fmt: skip
            base = base + values
        if len(names) <= MAX_BAR_LABELS or across:
            end = " ({})" if across else "\n{}"
            whole = max(float(totals.sum()), 1.0)
            texts = [count(n) + (end.format(percent(n / whole)) if shares else "") for n in totals]
            ax.bar_label(drawn, texts, padding=2)
        every = 1 if len(names) <= MAX_BAR_LABELS or across else 5
        _name_ticks(ax, "y" if across else "x", {k: names[k] for k in range(0, len(names), every)})
        if across:
            ax.set_ylim(len(names) - 0.4, -0.6)
        room = 0.25 if shares else 0.14
        ax.margins(x=room if across else None, y=None if across else room)
        ax.grid(visible=False, axis="y" if across else "x")
        _count_whole(ax.xaxis if across else ax.yaxis, totals)
    return figure_of(ax)


def lines(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    bands: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    marker: str = "",
    linestyle: str = "-",
    highlight: str | None = None,
    **options: Unpack[Options],
) -> Figure:
    """Curves; one of a single point is a diamond.

    Parameters
    ----------
    curves : mapping to (x, y), arrays, shape (n,)
        Broken where y is NaN.
    bands : mapping to (low, high), arrays, shape (n,), optional
        Intervals of curves, by their names.
    marker, linestyle : str
        Of all curves, as in matplotlib; ``linestyle=""`` leaves points alone.
    highlight : str, optional
        The curve that is drawn thick and above the others.
    """
    with chart(**options) as ax:
        for k, (name, (given_x, given_y)) in enumerate(curves.items()):
            x, y = np.asarray(given_x, np.float64), np.asarray(given_y, np.float64)
            colour = COLOURS[k % len(COLOURS)]
            ax.plot(
                x, y, marker="D" if x.size == 1 else marker, linestyle=linestyle, color=colour,
                linewidth=1.7 if name == highlight else 1.0, markersize=5 if x.size == 1 else 2.5,
                zorder=3 if name == highlight or x.size == 1 else 2, label=name,
                rasterized=bool(marker) and x.size > MAX_VECTOR_POINTS,
            )  # fmt: skip
            if bands and name in bands:
                low, high = (np.asarray(end, np.float64) for end in bands[name])
                ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        _count_whole(ax.xaxis, *(x for x, _ in curves.values()))
    return figure_of(ax)


def scatter(
    x: ArrayLike,
    y: ArrayLike,
    groups: Mapping[str, ArrayLike] | None = None,
    *,
    values: ArrayLike | None = None,
    limits: tuple[float, float] | None = None,
    faint: ArrayLike | None = None,
    s: float = 11.0,
    diagonal: str | None = None,
    hover: Mapping[str, Sequence[str]] | None = None,
    items: Sequence[Sequence[str]] = (),
    **options: Unpack[Options],
) -> Figure:
    """Points, coloured by group or by number.

    Parameters
    ----------
    x, y : arrays, shape (n,)
    groups : mapping to arrays of bool, shape (n,), optional
        Each has a colour and a marker, from the seventh on grey dots; points in none are small and
        grey. None: all points are one group.
    values : array, shape (n,), optional
        Colours in place of groups, from ``limits`` (see ``color_bar``); NaN: small and grey.
    faint : array of bool, shape (n,), optional
        Points drawn smaller and paler.
    s : float
        Size of a point, as in matplotlib.
    diagonal : str, optional
        Draws the line of equal x and y, and names it.
    hover, items : mapping and sequence, optional
        What each point is, in the page (``pairtile.declare.vega_lite.label_marks``).
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    pale = np.zeros(x.size, bool) if faint is None else np.asarray(faint, bool)
    if groups is None:
        groups = {"": np.ones(x.size, bool) if values is None else np.isfinite(values)}
    masks = {name: np.asarray(mask, bool) for name, mask in groups.items()}
    shades = None
    if values is not None:
        numbers = np.ma.masked_invalid(np.asarray(values, np.float64))
        shades = colormaps[SEQUENTIAL](Normalize(*(limits or (None, None)))(numbers))
    rest = ~np.any([*masks.values(), np.zeros(x.size, bool)], axis=0)
    parts = [("", rest, GREY, "o")] if rest.any() else []
    styles = chain(zip(GROUP_COLOURS, "os^DvP", strict=True), repeat((GREY, "o")))
    parts += [
        (name, mask, *style) for (name, mask), style in zip(masks.items(), styles, strict=False)
    ]
    with chart(**options) as ax:
        for name, mask, colour, marker in parts:
            for chosen, scale, alpha in ((mask & pale, 0.4, 0.4), (mask & ~pale, 1.0, 0.75)):
                if scale == 1.0 or chosen.any():
                    points = ax.scatter(
                        x[chosen], y[chosen], s=scale * s, marker=marker, alpha=alpha,
                        c=[colour] if shades is None or mask is rest else shades[chosen],
                        linewidths=0.0, rasterized=x.size > MAX_VECTOR_POINTS,
                        label=name if scale == 1.0 else "",
                    )  # fmt: skip
                    if hover:
                        here = np.flatnonzero(chosen).tolist()
                        texts = {what: [all_[k] for k in here] for what, all_ in hover.items()}
                        label_marks(points, texts, [items[k] for k in here] if items else ())
        if diagonal is not None:
            ends = [min(np.nanmin(z, initial=0.0) for z in (x, y)),
                    max(np.nanmax(z, initial=0.0) for z in (x, y))]  # fmt: skip
            ax.plot(ends, ends, color=GREY, linestyle=(0, (5, 3)), linewidth=0.9, label=diagonal)
    return figure_of(ax)


def embedding(
    scores: ArrayLike,
    shares: ArrayLike,
    groups: Mapping[str, ArrayLike] | None = None,
    names: Sequence[str] = (),
    *,
    unit: str = "",
    s: float = 11.0,
    hover: Mapping[str, Sequence[str]] | None = None,
    **options: Unpack[Options],
) -> Figure:
    """Points on two principal components.

    Parameters
    ----------
    scores : array, shape (n, 2)
        Place of each point.
    shares : array, shape (2,)
        Share of the variance that each component holds.
    groups : mapping to arrays of bool, shape (n,), optional
        As in ``scatter``.
    names : sequence of str, optional
        Names of the points, samples; some of those farthest from the middle are named.
    unit : str
        Of the components.
    s, hover
        As in ``scatter``.
    """
    place = np.asarray(scores, dtype=np.float64)
    distance = np.linalg.norm(place - np.median(place, axis=0), axis=1)
    order = np.argsort(-distance, kind="stable").tolist()
    labels = [
        f"component {k + 1}{f' ({unit})' if unit else ''}, {percent(share)} of variance"
        for k, share in enumerate(np.asarray(shares, dtype=np.float64).tolist())
    ]
    options.setdefault("xlabel", labels[0])
    options.setdefault("ylabel", labels[1])
    if len(names):
        options["named"] = [(names[k], *place[k].tolist()) for k in order]
        hover = hover or {"sample": names}
    return scatter(place[:, 0], place[:, 1], groups, s=s, hover=hover, **options)


def heat_map(
    matrix: ArrayLike,
    label: str,
    *,
    cmap: str = SEQUENTIAL,
    limits: tuple[float, float] | None = None,
    rows: Ticks | None = None,
    columns: Ticks | None = None,
    blocks: Sequence[tuple[int, int]] = (),
    dots: ArrayLike | None = None,
    origin: Literal["upper", "lower"] = "upper",
    aspect: Literal["equal", "auto"] = "equal",
    hover: Mapping[str, Sequence[str]] | None = None,
    items: bool = False,
    **options: Unpack[Options],
) -> Figure:
    """A matrix in colours, with their bar.

    Parameters
    ----------
    matrix : array, shape (n, m)
        NaN: no value. One of over ``MAX_PIXELS`` rows is drawn as means of square blocks.
    label : str
        What the colours mean.
    cmap : str
        Colour map, such as ``SEQUENTIAL`` or ``DIVERGING``.
    limits : (float, float), optional
        Values of the first and of the last colour. None: the least and the largest; for
        ``DIVERGING`` as far on both sides of 0.
    rows, columns : mapping of place to str, optional
        What to write beside places along y and x; the first row and column are at 0.
    blocks : sequence of (int, int)
        Stretches along the diagonal, start and end (excluded), that get a frame.
    dots : array of bool, shape (n, m), optional
        Cells that get a dot.
    origin : {"upper", "lower"}
        Where the first row is.
    aspect : {"equal", "auto"}
        Whether cells are squares.
    hover, items : mapping and bool, optional
        What rows and columns are, in the page (``pairtile.declare.maps.label_image``).
    """
    values = np.asarray(matrix, dtype=np.float64)
    n, m = values.shape
    ends = (-0.5, n - 0.5) if origin == "lower" else (n - 0.5, -0.5)
    if limits is None and cmap == DIVERGING:
        largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        limits = (-largest, largest)
    with chart(**options) as ax:
        ax.grid(visible=False)
        image = ax.imshow(
            block_means(values, MAX_PIXELS), cmap=colormaps[cmap].with_extremes(bad=NOTHING),
            norm=Normalize(*(limits or (None, None))), origin=origin, interpolation="none",
            extent=(-0.5, m - 0.5, *ends), aspect=aspect,
        )  # fmt: skip
        if hover:
            label_image(image, block_means(values, MAX_CELLS), hover, items)
        for start, end in blocks:
            frame = (start - 0.5, start - 0.5), end - start, end - start
            ax.add_patch(Rectangle(*frame, fill=False, edgecolor=INK, linewidth=0.5))
        if dots is not None:
            i, j = np.nonzero(np.asarray(dots))
            ax.plot(j, i, "o", color="white", markeredgecolor=INK, markersize=2.9, mew=0.4)
        _name_ticks(ax, "x", columns or {})
        _name_ticks(ax, "y", rows or {})
        color_bar([ax], image, label)
    return figure_of(ax)


def color_bar(
    axes: Sequence[Axes],
    colors: ScalarMappable | tuple[float, float],
    label: str,
    *,
    location: Literal["right", "bottom"] = "right",
    ticks: Ticks | None = None,
) -> None:
    """The bar of what is drawn in panels, or of ``SEQUENTIAL`` from one value to another."""
    if isinstance(colors, tuple):
        colors = ScalarMappable(Normalize(*colors), SEQUENTIAL)
    with styled():
        low, high = ends = colors.get_clim()
        drawn = ends if (given := colors.get_array()) is None else given
        beyond = bool(low > np.nanmin(drawn)), bool(high < np.nanmax(drawn))
        extend = {(True, False): "min", (False, True): "max", (True, True): "both"}.get(beyond)
        bar = figure_of(axes[0]).colorbar(
            colors, ax=[*axes], location=location, extend=extend, shrink=0.75, aspect=30, pad=0.02
        )
        bar.outline.set_visible(False)
        bar.set_label(label, parse_math=False)
        if ticks:
            bar.set_ticks([*ticks], labels=[*ticks.values()])


def add_legend(
    ax: Axes,
    loc: Literal["", "outside upper center", "outside lower center"] = "",
    title: str = "",
) -> None:
    """Above the axes, or where ``loc`` says; in as many columns as have room."""
    handles, texts = ax.get_legend_handles_labels()
    if not handles:
        return
    texts = [shortened(text, MAX_LEGEND_TEXT) for text in texts]
    figure = figure_of(ax)
    letters = figure.get_figwidth() * (18.0 if loc else 28.0 * ax.get_position().width)
    ncols = max(1, min(len(texts), int(letters / (max(map(len, texts)) + (6 if loc else 4)))))
    with styled():
        if loc:
            legend = figure.legend(
                handles, texts, loc=loc, ncols=ncols, title=title, markerscale=1.5
            )
        else:
            legend = ax.legend(
                handles, texts, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=ncols,
                handletextpad=0.4, columnspacing=0.8, borderaxespad=0.1,
            )  # fmt: skip
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)


def _known(places: float | Sequence[float] | None) -> list[float]:
    values = np.atleast_1d(np.asarray([] if places is None else places, dtype=np.float64))
    return values[np.isfinite(values)].tolist()


def _count_whole(axis: Axis, *values: ArrayLike) -> None:
    """Ticks at whole numbers alone, where all values are such."""
    if all((np.mod(part, 1.0)[np.isfinite(part)] == 0.0).all() for part in map(np.asarray, values)):
        axis.set_major_locator(MaxNLocator(integer=True, nbins="auto"))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _name_ticks(ax: Axes, side: Literal["x", "y"], names: Ticks) -> None:
    if not names:
        return
    texts = [shortened(name, MAX_NAME) for name in names.values()]
    axis = ax.xaxis if side == "x" else ax.yaxis
    turned = side == "x" and sum(map(len, texts)) > 60
    axis.set_ticks([*names], texts, parse_math=False, rotation=90 if turned else 0)
    axis.set_tick_params(length=0)


def _name_points(ax: Axes, named: Sequence[tuple[str, float, float]], most: int) -> None:
    """Names beside points, on the side where there is more room."""
    boxes: list[Bbox] = []
    ax.autoscale_view()
    for name, x, y in named[: 10 * most]:
        if len(boxes) == most:
            break
        right = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))[0] > 0.5
        text = ax.annotate(
            shortened(name, MAX_NAME), (x, y), xytext=(-5 if right else 5, -1),
            textcoords="offset points", ha="right" if right else "left", va="center",
            parse_math=False,
        )  # fmt: skip
        # No other name may touch these pixels around it.
        box = text.get_window_extent().padded(3.0)
        if any(box.overlaps(other) for other in boxes):
            text.remove()
        else:
            boxes.append(box)
