"""Warnings of library calls: the same that a run of the workflow has."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairtile.config.models import Analysis
from pairtile.declare.messages import Message, warnings_of

if TYPE_CHECKING:
    from pairtile.report.results import Results


def tell(messages: Iterable[Message]) -> list[Message]:
    """Issue each warning among the messages once, at the place that called the library.

    Returns the messages, each once.
    """
    found = list(dict.fromkeys(messages))
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("pairtile."):
        frame, level = frame.f_back, level + 1
    for text in warnings_of(found):
        warnings.warn(text, stacklevel=level)
    return found


def warnings_of_network(
    config: Analysis,
    network: pd.DataFrame,
    counts: Mapping[str, int],
    parameters: Mapping[str, object],
    found: Sequence[Message] = (),
    scores: dict[str, np.ndarray] | None = None,
    read: Mapping[Callable[[Results], object], object] | None = None,
) -> list[Message]:
    """What settings and results give rise to, as the workflow's last step finds it.

    Parameters
    ----------
    network
        Its edges, by names; an empty one is warned of.
    counts, parameters, found
        Of all steps: what they counted, resolved and said.
    scores
        The arrays of ``Estimator.result_arrays`` that the method's warnings go by.
    read
        What the method's report would read from files: the function that reads it -> what it gives.
    """
    from pairtile.report.results import Results, warnings_of_results  # draws: slow to import

    summary = {
        "method": config.method,
        "counts": dict(counts),
        "parameters": _merged(config.resolved(), parameters),
        "warnings": warnings_of(found),
        "messages": [text.as_json() for text in found],
    }
    items = pd.DataFrame({"name": [], "kept": [], "reason": []})
    nowhere = Path("in memory")
    return warnings_of_results(
        Results(nowhere, items, network, summary, scores=scores, read=dict(read or {}))
    )


def _merged(asked: Mapping[str, object], decided: Mapping[str, object]) -> dict[str, object]:
    both = {
        key: {**section, **value}
        for key, value in decided.items()
        if isinstance(section := asked.get(key), dict) and isinstance(value, Mapping)
    }
    return {**asked, **decided, **both}
