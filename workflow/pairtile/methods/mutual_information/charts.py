"""Figures that only mutual information has: the samples behind its strongest edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from pairtile.engine.state import open_state
from pairtile.report.charts import scatter
from pairtile.report.formats import number, shortened
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.sample_figures import drawn_series, time_courses
from pairtile.report.style import GROUP_COLOURS, figure_of_panels
from pairtile.report.text import page_text

PANELS, COURSES = 9, 6


def strongest_edges(results: Results) -> FigureWithText | None:
    """The samples of the best edges, as the scores were made from them; None without an edge."""
    if results.network.empty or not (results.folder / "state").is_dir():
        return None
    state = open_state(results.folder / "state")
    row, sources = _rows(results), state.get("z_source", state["z"])
    best = results.network.head(PANELS).to_dict("records")
    batch = state.get("sample_batch")
    groups = None
    if batch is not None:
        colour = batch % len(GROUP_COLOURS)
        groups = {str(k): colour == k for k in range(int(colour.max(initial=0)) + 1)}
    names = state.get("quality_samples", np.zeros(0, dtype=np.str_)).tolist()
    hover = {"sample": names} if len(names) == state["z"].shape[1] else None
    figure, panels = figure_of_panels(len(best), min(3, len(best)), width=3.0, height=2.9)
    for edge, panel in zip(best, panels, strict=True):
        scatter(
            sources[row[edge["source"]]], state["z"][row[edge["target"]]], groups, s=7.0,
            ax=panel, title=_label(edge), xlabel=shortened(edge["source"]),
            ylabel=shortened(edge["target"]), legend=False, hover=hover,
        )  # fmt: skip
        panel.tick_params(labelbottom=False, labelleft=False)
    return page_text(results).figure(
        "strongest_edges",
        figure,
        by_rank=bool(state["by_rank"].all()),
        batches=0 if batch is None else int(batch.max(initial=0)) + 1,
        colours=len(GROUP_COLOURS),
        pairs=[(edge["source"], edge["target"], _label(edge)) for edge in best],
    )


def _rows(results: Results) -> dict[str, int]:
    """The row of each gene in the state."""
    names = results.items.loc[results.items["kept"].astype(bool), "name"]
    return {name: place for place, name in enumerate(names)}


def _label(edge: Mapping[Hashable, float | str]) -> str:
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
    row = _rows(results)
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
