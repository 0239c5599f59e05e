"""Figures of correlated motion: maps of all pairs, and profiles along the chain.

Each function takes arrays and returns a matplotlib Figure, in a notebook as well as in the report.
``FIGURES`` makes those of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.trajectory_correlation.report_results import (
    LEVEL,
    METHOD_NAMES,
    MotionResults,
    claimed_communities,
    difference_of,
    kind_of,
    motion_results,
    score_name,
    score_of,
)
from pairtile.methods.trajectory_correlation.residue_marks import ResidueMarks, Side
from pairtile.report import charts
from pairtile.report.charts import (
    DIVERGING,
    SEQUENTIAL,
    color_bar,
    embedding,
    heat_map,
    lines,
    scatter,
)
from pairtile.report.formats import count
from pairtile.report.make_figures import score_distribution
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.style import INK, figure_of_panels, styled
from pairtile.report.text import page_text

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


def correlation_map(
    matrix: ArrayLike,
    marks: ResidueMarks,
    shown_above: ArrayLike | None = None,
    *,
    label: str = "generalized correlation",
    diverging: bool = False,
    limit: float | None = None,
    items: bool = True,
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
        Value of the strongest colour. None: ``colour_limit`` of the matrix.
    items : bool
        Whether the variables are items of the analysis, which a click in the page chooses.

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
    limit = limit or colour_limit(values)
    figure, [axes] = figure_of_panels(width=7.0, height=6.2)
    heat_map(
        values, label, cmap=DIVERGING if diverging else SEQUENTIAL, origin="lower", ax=axes,
        limits=(-limit if diverging else 0.0, limit), xlabel=marks.label(), ylabel=marks.label(),
        hover={marks.label() or "of": marks.names, "and": marks.names}, items=items,
    )  # fmt: skip
    with styled():
        for border in marks.chain_borders():
            for line in (axes.axvline, axes.axhline):
                line(border - 0.5, color="white", linewidth=1.7)
                line(border - 0.5, color=INK, linewidth=0.6)
        sides: tuple[Side, Side] = ("x", "y")
        for side in sides:
            marks.set_ticks(axes, side)
            marks.draw_strips(axes, side)
        # Strips count as part of the axes' width, and push the label to the very edge.
        figure.get_layout_engine().set(w_pad=0.12)  # type: ignore[union-attr,call-arg]
        marks.add_legend(figure)
    return figure


def colour_limit(*matrices: ArrayLike | None) -> float:
    """The strongest colour of maps that are compared: that of the top hundredth, as neighbours
    would take the scale."""
    sizes = np.concatenate([np.abs(np.ravel(m)) for m in matrices if m is not None])
    known = sizes[np.isfinite(sizes)]
    return float(np.percentile(known, 99.0)) or 1.0 if known.size else 1.0


def _shown(matrix: ArrayLike, shown_above: ArrayLike | None, n_marks: int) -> NDArray[np.float64]:
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
    figure, [axes] = figure_of_panels(width=12.0, height=3.6)
    curves = dict(zip(names, map(marks.course, profiles), strict=True))
    lines(
        curves, ax=axes, ylim=(0.0, None), xlim=(-0.5, n - 0.5), xlabel=marks.label(), ylabel=label
    )
    axes.bar(where, 0.03, 1.0, color=INK, transform=axes.get_xaxis_transform())
    marks.draw_borders(axes)
    marks.set_ticks(axes, "x")
    return figure


MAX_POINTS = 12_000
"""Of lines and clouds of frames; of more some are drawn, evenly taken."""


def frames_figure(frames: pd.DataFrame, shares: ArrayLike) -> Figure:
    """How far each frame lies from the first, along time, and its principal components.

    Parameters
    ----------
    frames : DataFrame
        Columns ``replica``, ``frame``, ``time_ps``, ``rmsd``, ``pc1``, ``pc2`` (``frames.tsv``).
    shares : array, shape (2,)
        Of the variance, which the components explain; NaN where not known: they are not drawn.

    Examples
    --------
    >>> frames = pd.DataFrame({"replica": 1, "frame": [0, 1, 2], "time_ps": [0.0, 10.0, 20.0],
    ...     "rmsd": [0.0, 1.0, 1.2], "pc1": [-1.0, 0.5, 0.5], "pc2": [0.1, -0.2, 0.1]})
    >>> figure = frames_figure(frames, [0.8, 0.1])
    """
    known = bool(frames["pc1"].notna().any() and np.isfinite(shares).all())
    timed = bool(frames["time_ps"].notna().all())
    drawn = frames.iloc[:: -(-len(frames) // MAX_POINTS)]
    x = drawn["time_ps"] / 1000.0 if timed else drawn["frame"]
    several = frames["replica"].nunique() > 1
    replicas = {
        f"replica {replica}" if several else "": (drawn["replica"] == replica).to_numpy()
        for replica in drawn["replica"].unique()
    }
    figure, panels = figure_of_panels(1 + known, 1 + known, width=6.0, height=4.4)
    lines(
        {name: (x[own], drawn["rmsd"][own]) for name, own in replicas.items()}, ax=panels[0],
        xlabel="time (ns)" if timed else "frame", ylabel="RMSD from the first (Å)",
        ylim=(0.0, None),
    )  # fmt: skip
    if known:
        where = {"frame": drawn["frame"].astype(str).tolist()}
        if several:
            where["replica"] = drawn["replica"].astype(str).tolist()
        embedding(
            drawn[["pc1", "pc2"]], shares, replicas, unit="Å", s=3.0, hover=where, ax=panels[1],
            legend=False,
        )  # fmt: skip
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
    return charts.p_value_histogram(
        counts, {} if level is None else {f"p = {level:g}": level}, label="pairs",
        xlabel="p-value against time-shifted surrogates",
    )  # fmt: skip


def null_against_value(
    null_mean: ArrayLike,
    mi_nats: ArrayLike,
    significant: ArrayLike | None = None,
    *,
    label: str = "significant",
    pairs: Sequence[Sequence[str]] = (),
) -> Figure:
    """Mutual information of each pair against what its time-shifted surrogates give.

    Parameters
    ----------
    null_mean, mi_nats : array, shape (pairs,)
        Nats.
    significant, label : array of bool, shape (pairs,), and str, optional
        Pairs drawn in another colour, and what they are called.
    pairs : sequence of pairs of str, optional
        Names of the two, which the page shows and chooses.

    Examples
    --------
    >>> figure = null_against_value([0.1, 0.12, 0.2], [0.11, 0.5, 0.7], [False, True, True])
    """
    null, value = (np.asarray(x, dtype=np.float64) for x in (null_mean, mi_nats))
    chosen = np.zeros(len(null), bool) if significant is None else np.asarray(significant, bool)
    other = "pairs" if significant is None else "other pairs"
    parts = ((other, ~chosen), (label, chosen)) if chosen.any() else ((other, ~chosen),)
    low = float(min(np.nanmin(null, initial=0.0), np.nanmin(value, initial=0.0)))
    return scatter(
        null, value, {f"{name} ({count(which.sum())})": which for name, which in parts}, s=4.0,
        hover={"pair": [" and ".join(pair) for pair in pairs]} if pairs else None, items=pairs,
        diagonal="value = surrogates' mean", xlim=(low, 1.03 * np.nanmax(null, initial=1e-3)),
        xlabel="mean of the time-shifted surrogates (nats)", ylabel="mutual information (nats)",
    )  # fmt: skip


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
    rows = len(profiles)
    figure, panels = figure_of_panels(rows, 1, width=12.0, height=1.6 + 1.1 / rows)
    for axes, (label, values) in zip(panels, profiles.items(), strict=True):
        x, y = marks.course(values)
        lines(
            {"": (x, y)}, bands={"": (np.zeros_like(y), y)}, ax=axes, ylim=(0.0, None),
            xlim=(-0.5, len(marks) - 0.5), ylabel=label,
            xlabel=marks.label() if axes is panels[-1] else "",
        )  # fmt: skip
        marks.draw_borders(axes)
        marks.set_ticks(axes, "x")
        axes.tick_params(labelbottom=axes is panels[-1])
    numbers = [] if communities is None else np.asarray(communities, dtype=np.int64).tolist()
    with styled():
        marks.draw_strips(panels[0], "x", numbers, width=0.11)
        marks.add_legend(figure)
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
    _, [axes] = figure_of_panels(width=6.4, height=4.0)
    medians = {"median": _medians(x, y)} if x.size else {}
    if x.size:
        cells = axes.hexbin(
            x, y, gridsize=60, bins="log", mincnt=1, cmap="Greys", linewidths=0, rasterized=True
        )
        color_bar([axes], cells, "pairs")
    return lines(
        medians, marker="o", ax=axes, highlight="median", xlabel="distance of mean positions (Å)",
        ylabel=label, xlim=(0.0, 1.02 * float(x.max(initial=1.0))),
    )  # fmt: skip


def _medians(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    edges = np.linspace(0.0, float(x.max()) * (1 + 1e-9) + 1e-9, 21)
    owner = np.digitize(x, edges) - 1
    least = min(10, max(1, x.size // 40))
    filled = [k for k in range(20) if (owner == k).sum() >= least]
    middles = (edges[:-1] + edges[1:]) / 2
    return middles[filled], np.array([np.median(y[owner == k]) for k in filled])


# --- on the page: which can be made, and the numbers of their captions ---


MAX_PAIRS = 30_000
"""Of a scatter plot; of more pairs some are drawn, evenly taken."""


def _correlation(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = found.matrix(score_of(results))
    if matrix is None:
        return None
    shown, limit = _above(results, found)
    figure = correlation_map(
        matrix, found.marks, shown, label=score_name(results),
        diverging=kind_of(results) == "dcc", limit=colour_limit(matrix, found.matrix("dcc")),
    )  # fmt: skip
    median = float(np.nanmedian(matrix[np.triu_indices(len(matrix), 1)]))
    return page_text(results).figure(
        "correlation", figure, n=len(matrix), above=limit, median=median
    )


def _dcc(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = None if kind_of(results) == "dcc" else found.matrix("dcc")
    if matrix is None:
        return None
    figure = correlation_map(
        matrix, found.marks, label="dynamical cross-correlation", diverging=True,
        limit=colour_limit(matrix, found.matrix(score_of(results))),
    )  # fmt: skip
    return page_text(results).figure("dcc", figure, n=len(matrix))


def _residue_sums(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = centred = found.matrix("mi_centred_residue_sum")
    if matrix is None:
        matrix = found.matrix("mi_residue_sum")
    if matrix is None:
        return None
    kept = results.items[results.items["kept"].astype(bool)]
    marks = ResidueMarks.of(found.residues[~kept["residue"].duplicated().to_numpy()])
    figure = correlation_map(matrix, marks, label="summed mutual information (nats)", items=False)
    return page_text(results).figure(
        "residue_sums", figure, n=len(matrix), centred=centred is not None
    )


def _surrogates(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    null, values = found.matrix("null_mean"), found.matrix("mi_nats")
    if kind_of(results) == "dcc" or null is None or values is None:
        return None
    i, j = np.triu_indices(len(values), 1)
    every = -(-i.size // MAX_PAIRS)
    i, j = i[::every], j[::every]
    p = found.matrix("p_value")
    small = None if p is None else p[i, j] <= LEVEL
    names = found.marks.names
    figure = null_against_value(
        null[i, j], values[i, j], small, label=f"p ≤ {LEVEL:g}",
        pairs=[(names[a], names[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)],
    )  # fmt: skip
    return page_text(results).figure("surrogates", figure, every=every)


def _p_values(results: Results) -> FigureWithText | None:
    counts = (results.scores or {}).get("p_value_counts")
    if counts is None or not np.sum(counts):
        return None
    keep = results.parameters.get("keep")
    figure = p_value_histogram(counts, keep.get("p_value") if isinstance(keep, dict) else None)
    return page_text(results).figure("p_values", figure, pairs=int(np.sum(counts)))


def _frames(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    frames, shares = found.table("frames.tsv"), found.matrix("component_shares")
    if frames is None:
        return None
    shares = np.full(2, np.nan) if shares is None else shares
    figure = frames_figure(frames, shares)
    return page_text(results).figure("frames", figure, components=bool(np.isfinite(shares).all()))


def _residues(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    table, positions = found.residues, results.parameters.get("variables") == "positions"
    if len(table) < 2:
        return None
    profiles: dict[str, ArrayLike] = {}
    if "sd" in table:
        profiles["RMSF (Å)" if positions else "standard\ndeviation"] = table["sd"]
    profiles["correlation\ntime (frames)"] = table["correlation_time"]
    if "mean_correlation" in table:
        profiles["mean\ncorrelation"] = table["mean_correlation"].abs()
    if len(results.network) > 0 and table["betweenness"].notna().any():
        profiles["betweenness"] = table["betweenness"]
    method = next(iter(claimed_communities(results, found)), None)
    members = found.members(method) if method else None
    figure = residue_profiles(profiles, found.marks, members)
    named = method is not None and members is not None and members.any()
    return page_text(results).figure(
        "residues",
        figure,
        profiles=list(profiles),
        method=METHOD_NAMES.get(method, method) if method and named else "",
    )


def _distance(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = found.matrix(score_of(results))
    if found.places is None or matrix is None:
        return None
    i, j = np.triu_indices(len(matrix), 1)
    distance = np.linalg.norm(found.places[i] - found.places[j], axis=1)
    # Angles of one residue lie at one place.
    known = np.isfinite(distance) & (distance > 1e-3)
    if known.sum() < 2:
        return None
    figure = correlation_against_distance(
        distance[known], matrix[i, j][known], label=score_name(results)
    )
    return page_text(results).figure("distance", figure, pairs=int(known.sum()))


def _above(results: Results, found: MotionResults) -> tuple[NDArray[np.bool_] | None, str]:
    """What the map shows above its diagonal, and in words: what passes the threshold of ``keep``,
    in contact or not. None without one."""
    keep = results.parameters.get("keep")
    rule, value = next(iter(keep.items())) if isinstance(keep, dict) and keep else ("", None)
    name = {"p_value": "p_value", "fdr": "q_value", "correlation": score_of(results)}.get(rule)
    if name == "q_value" and results.parameters.get("contacts"):
        name, value = "p_value", LEVEL  # q-values are of contacts alone
    matrix = found.matrix(name or "p_value")
    if matrix is None:
        return None, ""
    if rule == "correlation":
        return np.abs(matrix) >= value, f"at least {value:g}"
    limit = value if name and value is not None else LEVEL
    return matrix <= limit, f"{'q' if name == 'q_value' else 'p'} ≤ {limit:g}"


def _difference(results: Results) -> FigureWithText | None:
    found, name = results.cached(motion_results), results.parameters.get("compare")
    matrix = difference_of(results, found) if name else None
    if matrix is None or len(matrix) != len(found.marks):
        return None
    q = found.matrix("dcc_q_value" if kind_of(results) == "dcc" else "mi_q_value", "difference.npz")
    figure = correlation_map(
        matrix,
        found.marks,
        None if q is None else q <= LEVEL,
        label="difference of correlation",
        diverging=True,
    )
    return page_text(results).figure("difference", figure, n=len(matrix), tested=q is not None)


def _fluctuations(results: Results) -> FigureWithText | None:
    found, name = results.cached(motion_results), results.parameters.get("compare")
    table = found.table("difference_residues.tsv") if name else None
    if table is None or len(table) < 2:
        return None
    rows = found.residues["name"].map(dict(zip(table["name"], table.index, strict=True)))
    table = table.reindex(rows.to_numpy())
    label = "RMSF (Å)" if results.parameters.get("variables") == "positions" else "deviation"
    marked = (table["q_value"] <= LEVEL).to_numpy()
    figure = two_profiles(
        (table["sd"], table["sd_other"]), ("here", str(name)), label, found.marks, marked
    )
    tested = table["q_value"].notna().any()
    return page_text(results).figure(
        "fluctuations", figure, marked=int(marked.sum()) if tested else None
    )


FIGURES: Mapping[str, FigureMaker] = {
    "correlation": _correlation,
    "dcc": _dcc,
    "residue_sums": _residue_sums,
    "frames": _frames,
    "residues": _residues,
    "difference": _difference,
    "difference_fluctuation": _fluctuations,
    "distance": _distance,
    "score_distribution": score_distribution,
    "surrogates": _surrogates,
    "p_values": _p_values,
}
