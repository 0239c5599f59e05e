"""Figures that only mutual information has: the samples behind its strongest edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pairtile.engine.state import open_state
from pairtile.report.formats import number, shortened
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.sample_figures import drawn_series, time_courses
from pairtile.report.style import BLUE, GROUP_COLOURS, MANY_POINTS, figure_of_panels, styled
from pairtile.report.text import page_text

PANELS, COURSES = 9, 6


def strongest_edges(results: Results) -> FigureWithText | None:
    """The samples of the best edges, as the scores were made from them; None without an edge."""
    if results.network.empty or not (results.folder / "state").is_dir():
        return None
    state = open_state(results.folder / "state")
    names = results.items.loc[results.items["kept"].astype(bool), "name"]
    row = {name: place for place, name in enumerate(names)}
    best = results.network.head(PANELS)
    batch = state.get("sample_batch")
    panels = [
        (edge, state["z"][row[edge["source"]]], state["z"][row[edge["target"]]])
        for edge in best.to_dict("records")
    ]
    return page_text(results).figure(
        "strongest_edges",
        _edge_scatter(panels, batch),
        by_rank=bool(state["by_rank"].all()),
        batches=0 if batch is None else int(batch.max(initial=0)) + 1,
        colours=len(GROUP_COLOURS),
        pairs=[(edge["source"], edge["target"], _label(edge)) for edge, *_ in panels],
    )


def _edge_scatter(
    panels: Sequence[tuple[Mapping[Any, Any], NDArray[np.float64], NDArray[np.float64]]],
    batch: NDArray[np.int32] | None,
) -> Figure:
    """One panel for each edge, its source's values against its target's; samples of one batch
    have one colour."""
    colours: Any = BLUE
    if batch is not None:
        colours = np.array(GROUP_COLOURS)[batch % len(GROUP_COLOURS)]
    with styled():
        figure, axes = figure_of_panels(len(panels), min(3, len(panels)), width=3.0, height=2.9)
        for (edge, source, target), panel in zip(panels, axes, strict=True):
            panel.scatter(
                source, target, s=14, c=colours, alpha=0.6, linewidths=0.0,
                rasterized=source.size > MANY_POINTS,
            )  # fmt: skip
            panel.set_title(_label(edge), fontsize=9.5, loc="left")
            panel.set_xlabel(shortened(edge["source"]), parse_math=False)
            panel.set_ylabel(shortened(edge["target"]), parse_math=False)
            panel.tick_params(labelbottom=False, labelleft=False)
    return figure


def _label(edge: Mapping[Any, Any]) -> str:
    text = f"{number(edge['mi_bits'])} bits"
    rho = edge.get("spearman")
    return text if rho is None else f"{text}, ρ = {number(rho, 2)}".replace("-", "−")


def strongest_in_time(results: Results) -> FigureWithText | None:
    """Both genes of the best edges along time; None where no time course is stated."""
    if results.network.empty or not (results.folder / "state").is_dir():
        return None
    state = open_state(results.folder / "state")
    series = state.get("sample_series")
    if series is None:
        return None
    names = results.items.loc[results.items["kept"].astype(bool), "name"]
    row = {name: place for place, name in enumerate(names)}
    both_ways = results.strongest(2 * COURSES)[["target", "source"]].to_numpy().tolist()
    ends = list({frozenset(pair): pair for pair in reversed(both_ways)}.values())[::-1][:COURSES]
    panels = [{name: state["z"][row[name]] for name in pair} for pair in ends]
    scale = "rank, scaled" if state["by_rank"].all() else "value, scaled"
    return page_text(results).figure(
        "time_courses",
        time_courses(panels, series, label=scale),
        pairs=ends,
        shown=sum(here.size for here in drawn_series(series)),
        samples=series.size,
    )


FIGURES: dict[str, FigureMaker] = {
    **COMMON_FIGURES,
    "strongest_edges": strongest_edges,
    "time_courses": strongest_in_time,
}
