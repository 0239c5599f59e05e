"""Figures that only mutual information has: the samples behind its strongest edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from pairtile.report.charts import scatter
from pairtile.report.figures import COMMON_FIGURES, time_courses
from pairtile.report.formats import number, shortened
from pairtile.report.method_report import Drawn, FigureMaker, Results, needed
from pairtile.report.style import GROUP_COLOURS, figure_of_panels

PANELS, COURSES = 9, 6


def strongest_edges(results: Results) -> Drawn:
    """The samples of the best edges, as the scores were made from them."""
    state, row = results.state, results.rows
    needed(len(results.network) and state and "scores" not in state)
    sources, batch = state.get("z_source", state["z"]), state.get("sample_batch")
    best = results.network.head(PANELS).to_dict("records")
    groups = None
    if batch is not None:
        colour = batch % len(GROUP_COLOURS)
        groups = {str(k): colour == k for k in range(int(colour.max(initial=0)) + 1)}
    names = state["quality_samples"].tolist() if "quality_samples" in state else []
    figure, panels = figure_of_panels(len(best), min(3, len(best)), width=3.0, height=2.9)
    for edge, panel in zip(best, panels, strict=True):
        scatter(
            sources[row[edge["source"]]], state["z"][row[edge["target"]]], groups, s=7.0,
            ax=panel, title=_label(edge), xlabel=shortened(edge["source"]),
            ylabel=shortened(edge["target"]), legend=False,
            hover={"sample": names} if len(names) == state["z"].shape[1] else None,
        )  # fmt: skip
        panel.tick_params(labelbottom=False, labelleft=False)
    return Drawn(
        figure,
        {
            "by_rank": bool(state["by_rank"].all()),
            "batches": 0 if batch is None else int(batch.max(initial=0)) + 1,
            "colours": len(GROUP_COLOURS),
            "pairs": [(edge["source"], edge["target"], _label(edge)) for edge in best],
        },
    )


def _label(edge: Mapping[Hashable, float | str]) -> str:
    text = f"{number(edge['mi_bits'])} bits"
    rho = edge.get("spearman")
    return text if rho is None else f"{text}, ρ = {number(rho, 2)}".replace("-", "−")


def strongest_in_time(results: Results) -> Drawn:
    """Both genes of the best edges along time."""
    state, row = results.state, results.rows
    needed(len(results.network) and "sample_series" in state)
    both_ways = results.strongest(2 * COURSES)[["target", "source"]].to_numpy().tolist()
    ends = list({frozenset(pair): pair for pair in reversed(both_ways)}.values())[::-1][:COURSES]
    figure, shown = time_courses(
        [{name: state["z"][row[name]] for name in pair} for pair in ends],
        state["sample_series"],
        "rank, scaled" if state["by_rank"].all() else "value, scaled",
    )
    return Drawn(figure, {"pairs": ends, **shown})


FIGURES: Mapping[str, FigureMaker] = {
    **COMMON_FIGURES,
    "strongest_edges": strongest_edges,
    "time_courses": strongest_in_time,
}
