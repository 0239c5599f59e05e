"""Figures of correlated motion: maps of all pairs, and profiles along the chain.

Each function takes arrays and returns a matplotlib Figure, in a notebook as well as in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS as COMMUNITY_COLOURS
from pairtile.report.formats import count
from pairtile.report.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    SKY,
    YELLOW,
    new_figure,
    styled,
)

__all__ = [
    "ResidueMarks",
    "correlation_against_distance",
    "correlation_map",
    "frames_figure",
    "null_against_value",
    "p_value_histogram",
    "residue_profiles",
    "two_profiles",
]


SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"
"""Colour maps that colour-blind readers can read; the second has white in its middle."""

MAX_PIXELS = 500
"""Larger maps are drawn as means of blocks: a page of a thousand residues stays small."""

P_BINS = 20
_NOTHING = "#f4f5f7"  # of pairs without a value
_FRAME: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none"}


def correlation_map(
    matrix: ArrayLike,
    marks: ResidueMarks,
    shown_above: ArrayLike | None = None,
    *,
    label: str = "generalized correlation",
    diverging: bool = False,
    limit: float | None = None,
) -> Figure:
    """A symmetric matrix of all pairs as a heat map, domains and secondary structure beside it.

    Parameters
    ----------
    matrix : array, shape (n, n)
        NaN where there is no value (the diagonal).
    marks : ResidueMarks
        Of the n variables.
    shown_above : array of bool, shape (n, n), optional
        Above the diagonal only these pairs are drawn, such as the significant ones.
    label : str
        What the colours mean.
    diverging : bool
        Whether 0 is the middle (a correlation with a sign, a difference); else the least colour.
    limit : float, optional
        Value of the strongest colour. None: 1, or for ``diverging`` the largest size in the matrix.

    Raises
    ------
    ValueError
        When the matrix is not square or the marks are of another number of variables.

    Examples
    --------
    >>> matrix = np.array([[np.nan, 0.8, 0.2], [0.8, np.nan, 0.4], [0.2, 0.4, np.nan]])
    >>> figure = correlation_map(matrix, ResidueMarks(("A1", "A2", "A3")))
    """
    values = _shown(matrix, shown_above, len(marks))
    n = len(values)
    if limit is None:
        largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
        limit = (largest or 1.0) if diverging else 1.0
    with styled():
        figure, axes = new_figure(7.0, 6.2)
        axes.grid(visible=False)
        drawn = axes.imshow(
            reduced(values),
            cmap=colormaps[DIVERGING if diverging else SEQUENTIAL].with_extremes(bad=_NOTHING),
            norm=Normalize(-limit if diverging else 0.0, limit),
            # One pixel for each value in the SVG, scaled by whoever shows it.
            interpolation="none", origin="lower", extent=(-0.5, n - 0.5, -0.5, n - 0.5),
        )  # fmt: skip
        for border in marks.chain_borders():
            for line in (axes.axvline, axes.axhline):
                line(border - 0.5, color="white", linewidth=2.4)
                line(border - 0.5, color=INK, linewidth=0.9)
        sides: tuple[Side, Side] = ("x", "y")
        for side in sides:
            marks.set_ticks(axes, side)
            marks.draw_strips(axes, side)
        axes.set(xlabel=marks.label(), ylabel=marks.label())
        figure.colorbar(drawn, ax=axes, label=label, fraction=0.046, pad=0.02)
        # Strips count as part of the axes' width, and push the label to the very edge.
        figure.get_layout_engine().set(w_pad=0.3)  # type: ignore[union-attr,call-arg]
        _legend(figure, marks)
    return figure


def _shown(matrix: ArrayLike, shown_above: ArrayLike | None, n_marks: int) -> NDArray[np.float64]:
    """The values of the map, NaN where nothing is drawn."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (n_marks, n_marks):
        raise ValueError(
            f"found a matrix of shape {values.shape} and marks of {n_marks} variables; "
            "expected a square matrix and marks of as many variables"
        )
    if shown_above is None:
        return values
    # Rows run upwards: what lies above the diagonal has the larger row.
    hidden = np.tril(~np.asarray(shown_above, dtype=bool), -1)
    return np.where(hidden, np.nan, values)


def reduced(matrix: NDArray[np.float64], pixels: int = MAX_PIXELS) -> NDArray[np.float64]:
    """A matrix of at most ``pixels`` rows and columns: means of square blocks, NaN left out."""
    block = -(-len(matrix) // pixels)
    if block == 1:
        return matrix
    starts = np.arange(0, len(matrix), block)
    known = np.isfinite(matrix)
    sums, counts = np.where(known, matrix, 0.0), known
    for axis in (1, 0):  # the longest way through memory first
        sums, counts = (
            np.add.reduceat(part, starts, axis=axis, dtype=np.float64) for part in (sums, counts)
        )
    with np.errstate(invalid="ignore"):
        return sums / np.where(counts > 0, counts, np.nan)


def two_profiles(
    profiles: tuple[ArrayLike, ArrayLike],
    names: tuple[str, str],
    label: str,
    marks: ResidueMarks,
    marked: ArrayLike,
) -> Figure:
    """Values of each residue in two states, one over the other.

    Parameters
    ----------
    profiles : two arrays, shape (n,)
        NaN where there is no value.
    names : two of str
        Of the states.
    label : str
        What the values are, with their unit.
    marks : ResidueMarks
        Of the n variables.
    marked : array of bool, shape (n,)
        Where the two differ: bars below the lines.

    Examples
    --------
    >>> marks = ResidueMarks(("A1", "A2", "A3"))
    >>> states = ([1.2, 0.8, 2.0], [1.1, 0.9, 1.0])
    >>> figure = two_profiles(states, ("bound", "free"), "RMSF (A)", marks, [False, False, True])
    """
    n, where = len(marks), np.flatnonzero(np.asarray(marked, dtype=bool))
    with styled():
        figure = Figure(figsize=(12.0, 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for values, name, colour in zip(profiles, names, (BLUE, ORANGE), strict=True):
            y = np.asarray(values, dtype=np.float64)
            for start, end, _ in runs(marks.chains or ("",) * n):
                own = name if start == 0 else None
                axes.plot(range(start, end), y[start:end], color=colour, linewidth=1.3, label=own)
        axes.set_ylim(bottom=0.0)
        axes.bar(where, 0.03, 1.0, color=INK, transform=axes.get_xaxis_transform())
        for border in marks.chain_borders():
            axes.axvline(border - 0.5, color=INK, linewidth=0.9)
        axes.set_ylabel(label, parse_math=False)
        axes.set_xlim(-0.5, n - 0.5)
        marks.set_ticks(axes, "x")
        axes.set_xlabel(marks.label())
        figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure


MAX_POINTS = 4_000
"""Of a line or a cloud of frames; of more some are drawn, evenly taken."""

_REPLICAS = (BLUE, ORANGE, GREEN, YELLOW, INK, GREY)


def frames_figure(frames: pd.DataFrame, shares: ArrayLike) -> Figure:
    """How far each frame lies from the first, along time, and its principal components.

    Parameters
    ----------
    frames : DataFrame
        Columns ``replica``, ``frame``, ``time_ps``, ``rmsd``, ``pc1``, ``pc2`` (``frames.tsv``).
    shares : array, shape (2,)
        Of the variance, which the components explain.

    Examples
    --------
    >>> frames = pd.DataFrame({"replica": 1, "frame": [0, 1, 2], "time_ps": [0.0, 10.0, 20.0],
    ...     "rmsd": [0.0, 1.0, 1.2], "pc1": [-1.0, 0.5, 0.5], "pc2": [0.1, -0.2, 0.1]})
    >>> figure = frames_figure(frames, [0.8, 0.1])
    """
    share = np.asarray(shares, dtype=np.float64)
    known = bool(frames["pc1"].notna().any())
    timed = bool(frames["time_ps"].notna().all())
    every = -(-len(frames) // MAX_POINTS)
    with styled():
        figure = Figure(figsize=(12.0, 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, 1 + known, squeeze=False, width_ratios=(2, 1)[: 1 + known])[0]
        for number, (replica, part) in enumerate(frames.groupby("replica")):
            drawn, colour = part.iloc[::every], _REPLICAS[number % len(_REPLICAS)]
            x = drawn["time_ps"] / 1000.0 if timed else drawn["frame"]
            label = f"replica {replica}"
            panels[0].plot(x, drawn["rmsd"], color=colour, linewidth=1.1, label=label)
            if known:
                panels[1].plot(drawn["pc1"], drawn["pc2"], ".", color=colour, ms=3, alpha=0.6)
        panels[0].set(xlabel="time (ns)" if timed else "frame", ylabel="RMSD from the first (Å)")
        panels[0].set_ylim(bottom=0.0)
        if known:
            names = [f"component {k + 1} (Å), {100 * share[k]:.0f} %" for k in range(2)]
            panels[1].set(xlabel=names[0], ylabel=names[1])
        if frames["replica"].nunique() > 1:
            figure.legend(loc="outside upper right", ncols=4, frameon=False)
    return figure


def p_value_histogram(counts: ArrayLike, level: float | None = None) -> Figure:
    """How many pairs have which p-value, and how many would were nothing correlated.

    Parameters
    ----------
    counts : array, shape (B,)
        Pairs in B equal bins from 0 to 1.
    level : float, optional
        Drawn as a line.

    Examples
    --------
    >>> figure = p_value_histogram([80, 12, 9, 11, 10, 8, 12, 9, 10, 11], level=0.05)
    """
    heights = np.asarray(counts, dtype=np.float64)
    bins = np.linspace(0.0, 1.0, len(heights) + 1)
    chance = heights.sum() / max(len(heights), 1)
    with styled():
        figure, axes = new_figure()
        axes.stairs(heights, bins, fill=True, color=SKY, alpha=0.75, label="pairs")
        axes.stairs(heights, bins, color=BLUE, linewidth=1.0)
        axes.axhline(chance, color=ORANGE, label=f"by chance: {count(chance)} in each bar")
        if level is not None:
            axes.axvline(
                level, color=INK, linestyle=(0, (5, 3)), linewidth=1.6, label=f"p = {level:g}"
            )
        axes.set(xlabel="p-value against time-shifted surrogates", ylabel="number of pairs")
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(bottom=0.0)
        axes.legend(loc="upper right", **_FRAME)
    return figure


def null_against_value(
    null_mean: ArrayLike,
    mi_nats: ArrayLike,
    significant: ArrayLike | None = None,
    *,
    label: str = "significant",
) -> Figure:
    """Mutual information of each pair against what its time-shifted surrogates give.

    Parameters
    ----------
    null_mean, mi_nats : array, shape (pairs,)
        Nats.
    significant, label : array of bool, shape (pairs,), and str, optional
        Pairs drawn in another colour, and what they are called.

    Examples
    --------
    >>> figure = null_against_value([0.1, 0.12, 0.2], [0.11, 0.5, 0.7], [False, True, True])
    """
    null, value = (np.asarray(x, dtype=np.float64) for x in (null_mean, mi_nats))
    chosen = np.zeros(len(null), bool) if significant is None else np.asarray(significant, bool)
    low = float(min(np.nanmin(null, initial=0.0), np.nanmin(value, initial=0.0)))
    high = float(max(np.nanmax(null, initial=0.0), np.nanmax(value, initial=0.0)))
    room = 0.03 * max(high - low, 1e-3)
    with styled():
        figure, axes = new_figure()
        for which, colour, text in ((~chosen, GREY, "other pairs"), (chosen, BLUE, label)):
            if significant is None:
                text = "pairs"
            if which.any():
                axes.plot(
                    null[which], value[which], ".", markersize=3, alpha=0.5, color=colour,
                    # Tens of thousands of points are an image in the SVG: it stays small.
                    label=f"{text} ({count(which.sum())})", rasterized=True,
                )  # fmt: skip
        ends = (low - room, high + room)
        axes.plot(
            ends, ends, color=ORANGE, linestyle=(0, (5, 3)), linewidth=1.4,
            label="value = surrogates' mean",
        )  # fmt: skip
        axes.set(
            xlim=(ends[0], float(np.nanmax(null, initial=low)) + room), ylim=ends,
            xlabel="mean of the time-shifted surrogates (nats)",
            ylabel="mutual information (nats)",
        )  # fmt: skip
        axes.legend(loc="upper left", markerscale=3, **_FRAME)
    return figure


def residue_profiles(
    profiles: Mapping[str, ArrayLike], marks: ResidueMarks, communities: ArrayLike | None = None
) -> Figure:
    """Values of each residue along the chain, one panel for each kind.

    Parameters
    ----------
    profiles : mapping
        What the values are (with their unit) -> array, shape (n,); NaN where there is none.
    marks : ResidueMarks
        Of the n variables; domains and secondary structure stand above the first panel.
    communities : array of int, shape (n,), optional
        Drawn as a strip, numbered, 1 to 20 in colours of their own; 0 (none) stays empty.

    Examples
    --------
    >>> marks = ResidueMarks(("A1", "A2", "A3"))
    >>> figure = residue_profiles({"fluctuation (A)": [1.2, 0.8, 2.0]}, marks, [1, 1, 2])
    """
    n, rows = len(marks), len(profiles)
    with styled():
        figure = Figure(figsize=(12.0, 1.1 + 1.6 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, values) in zip(panels, profiles.items(), strict=True):
            y = np.asarray(values, dtype=np.float64)
            # A gap between chains: no line leads from one to the next.
            for start, end, _ in runs(marks.chains or ("",) * n):
                axes.plot(range(start, end), y[start:end], "-", color=BLUE, linewidth=1.3)
            axes.fill_between(range(n), 0.0, y, color=SKY, alpha=0.35, linewidth=0)
            for border in marks.chain_borders():
                axes.axvline(border - 0.5, color=INK, linewidth=0.9)
            axes.set_ylabel(label, parse_math=False)
            axes.set_xlim(-0.5, n - 0.5)
            axes.set_ylim(bottom=0.0)
        marks.set_ticks(panels[-1], "x")
        panels[-1].set_xlabel(marks.label())
        numbers = [] if communities is None else np.asarray(communities, dtype=np.int64).tolist()
        marks.draw_strips(panels[0], "x", numbers, width=0.11)
        _legend(figure, marks)
    return figure


def correlation_against_distance(
    distance: ArrayLike, correlation: ArrayLike, *, label: str = "generalized correlation"
) -> Figure:
    """How correlation falls off with the distance in space: all pairs, and the median.

    Parameters
    ----------
    distance : array, shape (pairs,)
        Between mean positions, Angstrom; pairs without one are left out.
    correlation : array, shape (pairs,)
    label : str
        What the values are.

    Examples
    --------
    >>> figure = correlation_against_distance([4.0, 8.5, 15.0, 21.0], [0.9, 0.6, 0.4, 0.2])
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (distance, correlation))
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    with styled():
        figure, axes = new_figure()
        if x.size:
            cells = axes.hexbin(
                x, y, gridsize=60, bins="log", mincnt=1, cmap="Greys", linewidths=0, rasterized=True
            )
            figure.colorbar(cells, ax=axes, label="pairs", pad=0.02)
            middles, medians = _medians(x, y)
            axes.plot(middles, medians, "o-", color=ORANGE, markersize=3.5, label="median")
            axes.set_xlim(0.0, float(x.max()) * 1.02)
            axes.legend(loc="upper right", **_FRAME)
        axes.set(xlabel="distance of mean positions (Å)", ylabel=label)
    return figure


def _medians(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Medians of y in up to 20 bins of x that hold enough pairs."""
    edges = np.linspace(0.0, float(x.max()) * (1 + 1e-9) + 1e-9, 21)
    owner = np.digitize(x, edges) - 1
    least = min(10, max(1, x.size // 40))
    filled = [k for k in range(20) if (owner == k).sum() >= least]
    middles = (edges[:-1] + edges[1:]) / 2
    return middles[filled], np.array([np.median(y[owner == k]) for k in filled])


def _legend(figure: Figure, marks: ResidueMarks) -> None:
    handles = marks.legend()
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6))


# --- marks beside the axes ------------------------------------------------------------------------


PURPLE = "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, YELLOW, PURPLE, SKY, "#882255", "#999933", "#44AA99", "#7f7f7f")
"""Of domains, in their order; then they come again."""

MAX_NAMED = 8
MAX_NAME = 18
MAX_TICKS = 8
ALL_NAMES = 24
"""Up to so many variables without residue numbers are named one by one."""

Side = Literal["x", "y"]
_HEIGHTS = {"H": (0.0, 1.0, INK), "E": (0.25, 0.5, GREY)}
_MEANS = {"H": "helix", "E": "strand"}
_WIDTH = 0.026  # of the axes


@dataclass(frozen=True)
class ResidueMarks:
    """Names and marks of the variables of a figure, in order; empty where there are none.

    ``names`` has one for each variable; the others have as many, or none.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    chains: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    secondary_structure: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: pd.DataFrame | Mapping[str, Sequence[Any] | NDArray[Any]]) -> ResidueMarks:
        """From ``items.parquet`` (kept items), ``residues.tsv``, or the arrays of ``matrices.npz``.

        Uses ``name`` or ``labels``, and ``resid``, ``chain``, ``domain`` and
        ``secondary_structure`` where they are.
        """

        def texts(key: str) -> tuple[str, ...]:
            found = tuple(str(value) for value in table[key]) if key in table else ()
            return found if any(found) else ()

        names = texts("name") or texts("labels")
        places = texts("resname")
        numbers = tuple(int(value) for value in table["resid"]) if places else ()
        return cls(names, numbers, texts("chain"), texts("domain"), texts("secondary_structure"))

    def __len__(self) -> int:
        return len(self.names)

    def ticks(self) -> tuple[list[int], list[str]]:
        """Some places and what to write there: round residue numbers, else names or numbers."""
        n = len(self)
        several = len(set(self.chains)) > 1
        if not self.numbers and n <= ALL_NAMES:
            return list(range(n)), [_short(name) for name in self.names]
        values = self.numbers or tuple(range(1, n + 1))
        step = next(s for s in _steps() if n / s <= MAX_TICKS)
        places = [k for k in range(n) if values[k] % step == 0 and _first(self.chains, values, k)]
        if len(places) < 2:
            places = list(range(0, n, max(1, n // MAX_TICKS)))
        if several:
            return places, [f"{self.chains[k]}:{values[k]}" for k in places]
        return places, [str(values[k]) for k in places]

    def chain_borders(self) -> list[int]:
        """The first variable of every chain but the first."""
        return [start for start, _, _ in runs(self.chains)][1:]

    def set_ticks(self, axes: Axes, side: Side) -> None:
        """Write the ticks on an axis whose unit is one variable, the first at 0."""
        places, labels = self.ticks()
        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_ticks(places)
        slanted = side == "x" and max(map(len, labels), default=0) > 5
        axis.set_ticklabels(
            labels, parse_math=False, rotation=45 if slanted else 0,
            ha="right" if slanted else "center" if side == "x" else "right",
        )  # fmt: skip

    def label(self) -> str:
        """What the axis counts."""
        if self.numbers:
            return "residue"
        return "" if len(self) <= ALL_NAMES else "variable"

    def draw_strips(
        self, axes: Axes, side: Side, communities: Sequence[int] = (), width: float = _WIDTH
    ) -> None:
        """Strips beside the axes, above (``x``) or at the right (``y``), from inside outwards:
        secondary structure, domains, communities (with their numbers). ``width``: of the axes."""
        place = 1.0 + width / 3
        domains = self.domain_colours
        of_community = [str(number) if number else "" for number in communities]
        for values, drawn in (
            (self.secondary_structure, _HEIGHTS),
            (self.domains, {name: (0.0, 1.0, colour) for name, colour in domains.items()}),
            (of_community, {name: (0.0, 1.0, _community_colour(name)) for name in of_community}),
        ):
            if not set(values) & (drawn.keys() - {""}):
                continue
            box = (0.0, place, 1.0, width) if side == "x" else (place, 0.0, width, 1.0)
            strip = axes.inset_axes(box)
            along, across = (strip.set_xlim, strip.set_ylim)[:: 1 if side == "x" else -1]
            along(*(axes.get_xlim() if side == "x" else axes.get_ylim()))
            across(0, 1)
            strip.set_axis_off()
            strip.add_patch(_block(-0.5, len(self), 0.45, 0.1, side, PALE))
            for start, end, value in runs(values):
                if value in drawn and value:
                    at, height, colour = drawn[value]
                    strip.add_patch(_block(start - 0.5, end - start, at, height, side, colour))
                    if values is of_community and end - start >= len(self) / 40:
                        middle = (start + end - 1) / 2
                        strip.text(
                            *((middle, 0.45) if side == "x" else (0.45, middle)), value,
                            ha="center", va="center", fontsize=7.5, color="white",
                        )  # fmt: skip
            place += width * 4 / 3

    @property
    def domain_colours(self) -> dict[str, str]:
        """Colour of each domain, in the order in which they first come."""
        names = [name for name in dict.fromkeys(self.domains) if name]
        return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}

    def legend(self) -> list[Patch]:
        """What the strips mean."""
        found = [
            Patch(color=colour, label=_short(name)) for name, colour in self.domain_colours.items()
        ][:MAX_NAMED]
        for state, (_, _, colour) in _HEIGHTS.items():
            if state in self.secondary_structure:
                found.append(Patch(color=colour, label=_MEANS[state]))
        return found


def runs(values: Sequence[str]) -> list[tuple[int, int, str]]:
    """Stretches of equal values: start, end (excluded), value."""
    starts = [k for k in range(len(values)) if k == 0 or values[k] != values[k - 1]]
    ends = [*starts[1:], len(values)][: len(starts)]
    return [(start, end, values[start]) for start, end in zip(starts, ends, strict=True)]


def _community_colour(number: str) -> str:
    """As the PyMOL and VMD scripts have it."""
    if not number:
        return PALE
    return COMMUNITY_COLOURS[(int(number) - 1) % len(COMMUNITY_COLOURS)]


def _steps() -> list[int]:
    return [factor * 10**power for power in range(8) for factor in (1, 2, 5)]


def _first(chains: Sequence[str], values: Sequence[int], k: int) -> bool:
    """Of several variables of one residue, the first."""
    return k == 0 or values[k] != values[k - 1] or (bool(chains) and chains[k] != chains[k - 1])


def _block(
    start: float, length: float, at: float, height: float, side: Side, colour: str
) -> Rectangle:
    if side == "x":
        return Rectangle((start, at), length, height, facecolor=colour, linewidth=0)
    return Rectangle((at, start), height, length, facecolor=colour, linewidth=0)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"
