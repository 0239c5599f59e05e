"""Figures of correlated motion: maps of all pairs, and profiles along the chain.

``FIGURES`` are those of the page, each one function of the results, whose caption in ``text.md.j2``
says what it shows; ``correlation_map`` draws any matrix, in a notebook as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy
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
from pairtile.methods.trajectory_correlation.residue_marks import SIDES, ResidueMarks
from pairtile.report.charts import (
    DIVERGING,
    SEQUENTIAL,
    color_bar,
    embedding,
    heat_map,
    lines,
    p_value_histogram,
    scatter,
)
from pairtile.report.figures import score_distribution
from pairtile.report.formats import count
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.report.style import INK, figure_of_panels, styled

# --- maps of all pairs ----------------------------------------------------------------------------


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
    values, n = np.asarray(matrix, dtype=np.float64), len(marks)
    if values.shape != (n, n):
        raise ValueError(
            f"found a matrix of shape {values.shape} and marks of {n} variables; expected a square "
            "matrix and marks of as many variables"
        )
    if shown_above is not None:
        # Rows run upwards: what lies above the diagonal has the larger row.
        hidden = np.tril(~np.asarray(shown_above, dtype=bool), -1)
        values = np.where(hidden, np.nan, values)
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
        for side in SIDES:
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


def _correlation(results: Results) -> Drawn:
    found = results.cached(motion_results)
    matrix = needed(found.matrix(score_of(results)))
    shown, limit = _above(results, found)
    figure = correlation_map(
        matrix, found.marks, shown, label=score_name(results),
        diverging=kind_of(results).signed, limit=colour_limit(matrix, found.matrix("dcc")),
    )  # fmt: skip
    median = float(np.nanmedian(matrix[np.triu_indices(len(matrix), 1)]))
    return Drawn(figure, {"n": len(matrix), "above": limit, "median": median})


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


def _dcc(results: Results) -> Drawn:
    found = results.cached(motion_results)
    needed(not kind_of(results).signed)
    matrix = needed(found.matrix("dcc"))
    figure = correlation_map(
        matrix, found.marks, label="dynamical cross-correlation", diverging=True,
        limit=colour_limit(matrix, found.matrix(score_of(results))),
    )  # fmt: skip
    return Drawn(figure, {"n": len(matrix)})


def _residue_sums(results: Results) -> Drawn:
    found = results.cached(motion_results)
    matrix = centred = found.matrix("mi_centred_residue_sum")
    if matrix is None:
        matrix = needed(found.matrix("mi_residue_sum"))
    kept = results.items[results.items["kept"].astype(bool)]
    marks = ResidueMarks.of_table(found.residues[~kept["residue"].duplicated().to_numpy()])
    figure = correlation_map(matrix, marks, label="summed mutual information (nats)", items=False)
    return Drawn(figure, {"n": len(matrix), "centred": centred is not None})


def _difference(results: Results) -> Drawn:
    found = results.cached(motion_results)
    needed(results.parameters.get("compare"))
    matrix = needed(difference_of(results, found))
    needed(len(matrix) == len(found.marks))
    q = found.matrix(f"{kind_of(results).value}_q_value", "difference.npz")
    figure = correlation_map(
        matrix, found.marks, None if q is None else q <= LEVEL, label="difference of correlation",
        diverging=True,
    )  # fmt: skip
    return Drawn(figure, {"n": len(matrix), "tested": q is not None})


# --- frames and residues --------------------------------------------------------------------------


def _frames(results: Results) -> Drawn:
    found = results.cached(motion_results)
    frames, shares = needed(results.table("frames.tsv")), found.matrix("component_shares")
    known = shares is not None and bool(np.isfinite(shares).all())
    panels_of = 1 + (known and bool(frames["pc1"].notna().any()))
    timed = bool(frames["time_ps"].notna().all())
    # Lines and clouds of more than 12,000 frames show some of them, evenly taken.
    drawn = frames.iloc[:: -(-len(frames) // 12_000)]
    x = drawn["time_ps"] / 1000.0 if timed else drawn["frame"]
    several = frames["replica"].nunique() > 1
    replicas = {
        f"replica {replica}" if several else "": (drawn["replica"] == replica).to_numpy()
        for replica in drawn["replica"].unique()
    }
    figure, panels = figure_of_panels(panels_of, panels_of, width=6.0, height=4.4)
    lines(
        {name: (x[own], drawn["rmsd"][own]) for name, own in replicas.items()}, ax=panels[0],
        xlabel="time (ns)" if timed else "frame", ylabel="RMSD from the first (Å)",
        ylim=(0.0, None),
    )  # fmt: skip
    if shares is not None and panels_of > 1:
        where = {"frame": drawn["frame"].astype(str).tolist()}
        if several:
            where["replica"] = drawn["replica"].astype(str).tolist()
        embedding(
            drawn[["pc1", "pc2"]], shares, replicas, unit="Å", s=3.0, hover=where, ax=panels[1],
            legend=False,
        )  # fmt: skip
    return Drawn(figure, {"components": known})


def _residues(results: Results) -> Drawn:
    found = results.cached(motion_results)
    table, marks = found.residues, found.marks
    needed(len(table) > 1)
    profiles: dict[str, ArrayLike] = {}
    if "sd" in table:
        in_space = results.parameters.get("variables") == "positions"
        profiles["RMSF (Å)" if in_space else "standard\ndeviation"] = table["sd"]
    profiles["correlation\ntime (frames)"] = table["correlation_time"]
    if "mean_correlation" in table:
        profiles["mean\ncorrelation"] = table["mean_correlation"].abs()
    if len(results.network) > 0 and table["betweenness"].notna().any():
        profiles["betweenness"] = table["betweenness"]
    rows = len(profiles)
    figure, panels = figure_of_panels(rows, 1, width=12.0, height=1.6 + 1.1 / rows)
    for axes, (label, values) in zip(panels, profiles.items(), strict=True):
        x, y = marks.course(values)
        last = axes is panels[-1]
        lines(
            {"": (x, y)}, bands={"": (np.zeros_like(y), y)}, ax=axes, ylim=(0.0, None),
            xlim=(-0.5, len(marks) - 0.5), ylabel=label, xlabel=marks.label() if last else "",
        )  # fmt: skip
        marks.draw_borders(axes)
        marks.set_ticks(axes, "x")
        axes.tick_params(labelbottom=last)
    method = next(iter(claimed_communities(results, found)), "")
    members = found.members(method).tolist() if method else []
    with styled():
        marks.draw_strips(panels[0], "x", members, width=0.11)
        marks.add_legend(figure)
    named = METHOD_NAMES.get(method, method) if any(members) else ""
    return Drawn(figure, {"profiles": list(profiles), "method": named})


def _fluctuations(results: Results) -> Drawn:
    found, name = results.cached(motion_results), results.parameters.get("compare")
    table, marks = results.table("difference_residues.tsv"), found.marks
    needed(name and len(table) > 1)
    rows = found.residues["name"].map(dict(zip(table["name"], table.index, strict=True)))
    table = table.reindex(rows.to_numpy())
    label = "RMSF (Å)" if results.parameters.get("variables") == "positions" else "deviation"
    curves = {"here": marks.course(table["sd"]), str(name): marks.course(table["sd_other"])}
    where = np.flatnonzero(table["q_value"] <= LEVEL)
    figure, [axes] = figure_of_panels(width=12.0, height=3.6)
    lines(
        curves, ax=axes, ylim=(0.0, None), xlim=(-0.5, len(marks) - 0.5), xlabel=marks.label(),
        ylabel=label,
    )  # fmt: skip
    axes.bar(where, 0.03, 1.0, color=INK, transform=axes.get_xaxis_transform())
    marks.draw_borders(axes)
    marks.set_ticks(axes, "x")
    return Drawn(figure, {"marked": where.size if table["q_value"].notna().any() else None})


# --- pairs, and what chance makes of them ---------------------------------------------------------


def _distance(results: Results) -> Drawn:
    found = results.cached(motion_results)
    matrix, places = needed(found.matrix(score_of(results))), needed(found.places)
    i, j = np.triu_indices(len(matrix), 1)
    x, y = np.linalg.norm(places[i] - places[j], axis=1), matrix[i, j]
    known = np.isfinite(x) & (x > 1e-3)  # angles of one residue lie at one place
    needed(known.sum() > 1)
    drawn = known & np.isfinite(y)
    x, y = x[drawn], y[drawn].astype(np.float64)
    _, [axes] = figure_of_panels(width=6.4, height=4.0)
    if x.size:
        cells = axes.hexbin(
            x, y, gridsize=60, bins="log", mincnt=1, cmap="Greys", linewidths=0, rasterized=True
        )
        color_bar([axes], cells, "pairs")
    figure = lines(
        {"median": _medians(x, y)} if x.size else {}, marker="o", ax=axes, highlight="median",
        xlabel="distance of mean positions (Å)", ylabel=score_name(results),
        xlim=(0.0, 1.02 * float(x.max(initial=1.0))),
    )  # fmt: skip
    return Drawn(figure, {"pairs": int(known.sum())})


def _medians(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found = scipy.stats.binned_statistic(x, y, "median", bins=20, range=(0.0, float(x.max())))
    filled = np.bincount(found.binnumber, minlength=21)[1:21] >= min(10, max(1, x.size // 40))
    middles = (found.bin_edges[:-1] + found.bin_edges[1:]) / 2
    return middles[filled], np.asarray(found.statistic[filled], dtype=np.float64)


MAX_PAIRS = 30_000
"""Of a scatter plot; of more pairs some are drawn, evenly taken."""


def _surrogates(results: Results) -> Drawn:
    found = results.cached(motion_results)
    needed(not kind_of(results).signed)
    means, information = (needed(found.matrix(name)) for name in ("null_mean", "mi_nats"))
    i, j = np.triu_indices(len(information), 1)
    every = -(-i.size // MAX_PAIRS)
    i, j = i[::every], j[::every]
    null, value = (matrix[i, j].astype(np.float64) for matrix in (means, information))
    p, names = found.matrix("p_value"), found.marks.names
    small = np.zeros(i.size, bool) if p is None else p[i, j] <= LEVEL
    groups = {f"{'pairs' if p is None else 'other pairs'} ({count((~small).sum())})": ~small}
    if small.any():
        groups[f"p ≤ {LEVEL:g} ({count(small.sum())})"] = small
    pairs = [(names[a], names[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    low = float(min(np.nanmin(null, initial=0.0), np.nanmin(value, initial=0.0)))
    figure = scatter(
        null, value, groups, s=4.0, hover={"pair": [" and ".join(pair) for pair in pairs]},
        items=pairs, diagonal="value = surrogates' mean",
        xlim=(low, 1.03 * np.nanmax(null, initial=1e-3)),
        xlabel="mean of the time-shifted surrogates (nats)", ylabel="mutual information (nats)",
    )  # fmt: skip
    return Drawn(figure, {"every": every})


def _p_values(results: Results) -> Drawn:
    counts = needed(needed(results.scores).get("p_value_counts"))
    needed(counts.any())
    keep = results.parameters.get("keep")
    level = keep.get("p_value") if isinstance(keep, dict) else None
    figure = p_value_histogram(
        counts, {} if level is None else {f"p = {level:g}": level}, label="pairs",
        xlabel="p-value against time-shifted surrogates",
    )  # fmt: skip
    return Drawn(figure, {"pairs": int(np.sum(counts))})


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
