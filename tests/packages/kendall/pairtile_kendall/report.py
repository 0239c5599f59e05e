"""What the report says and shows of Kendall's tau."""

from __future__ import annotations

from matplotlib.figure import Figure
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import FigureWithText, MethodReport, MethodText
from pairtile.report.results import Results
from pairtile.report.text import page_text


def tau_of_edges(results: Results) -> FigureWithText | None:
    """Tau of the network's edges."""
    if results.network.empty:
        return None
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.hist(results.network["tau"])
    axes.set_xlabel("tau")
    return page_text(results).figure("tau_of_edges", figure)


REPORT = MethodReport(
    text=MethodText(
        title="Kendall's tau",
        package=__package__,
        score="Kendall's tau",
        strength=("tau",),
        signed=True,
    ),
    figures={**COMMON_FIGURES, "tau_of_edges": tau_of_edges},
)
