"""What the report says and shows of Kendall's tau."""

from __future__ import annotations

from matplotlib.figure import Figure
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import FigureWithText, MethodReport, MethodText, Reference
from pairtile.report.results import Results

KENDALL_1938 = Reference(
    cited="Kendall 1938",
    citation="Kendall MG. A new measure of rank correlation. Biometrika 1938; 30: 81-93.",
    doi="10.1093/biomet/30.1-2.81",
)


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph for a paper, and what it cites."""
    least = results.parameters["min_tau"]
    text = (
        f"Pairs with Kendall's tau of at least {least}, of either sign (Kendall 1938), were kept."
    )
    return text, [KENDALL_1938]


def tau_of_edges(results: Results) -> FigureWithText | None:
    """Tau of the network's edges."""
    if results.network.empty:
        return None
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.hist(results.network["tau"])
    axes.set_xlabel("tau")
    return FigureWithText(figure, "Edges", "Tau of the edges.", "Histogram of tau.")


REPORT = MethodReport(
    text=MethodText(
        title="Kendall's tau",
        package=__package__,
        score="Kendall's tau",
        score_axis="tau",
        strength=("tau",),
        signed=True,
        methods=methods_paragraph,
    ),
    figures={**COMMON_FIGURES, "tau_of_edges": tau_of_edges},
)
