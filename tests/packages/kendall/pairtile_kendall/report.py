"""What the page shows of Kendall's tau."""

import numpy as np
from pairtile.report.charts import histogram
from pairtile.report.figures import COMMON_FIGURES
from pairtile.report.method_report import Drawn, MethodReport, MethodText
from pairtile.report.results import Results


def tau_of_edges(results: Results) -> Drawn:
    """Tau of the network's edges."""
    counts, edges = np.histogram(results.network["tau"], bins=20, range=(-1, 1))
    return Drawn(histogram(edges, {"": counts}, xlabel="tau"))


REPORT = MethodReport(
    MethodText("Kendall's tau", __package__, score="tau", strength=("tau",)),
    {**COMMON_FIGURES, "tau_of_edges": tau_of_edges},
)
