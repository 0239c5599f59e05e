"""Results of an analysis as its figures read them, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pairtile.report.make_figures import figures_of
from pairtile.report.method_report import made_of
from pairtile.report.results import Results


def made_up_results(
    method: str = "mutual_information",
    *,
    items: pd.DataFrame | None = None,
    network: pd.DataFrame | None = None,
    scores: dict[str, np.ndarray] | None = None,
    evaluation: dict[str, Any] | None = None,
    state: Mapping[str, np.ndarray] | None = None,
    read: Mapping[Callable[[Results], Any], Any] | None = None,
    **parameters: object,
) -> Results:
    """``read``: what a method would read from files: the function that reads it -> what it gives;
    ``parameters``: those of the analysis."""
    summary = {"method": method, "parameters": parameters}
    items = pd.DataFrame({"name": [], "kept": [], "reason": []}) if items is None else items
    network = pd.DataFrame({"source": [], "target": []}) if network is None else network
    nowhere = Path("in memory")
    found = Results(nowhere, items, network, summary, evaluation, scores, read=dict(read or {}))
    found.state = dict(state or {})
    return found


def drawn(name: str, results: Results) -> Figure:
    """A figure of these results."""
    return figures_of(results)[name](results).figure


def allows(name: str, results: Results) -> bool:
    """Whether the results allow a figure."""
    return made_of(results, figures_of(results)[name]) is not None
