"""Scores of genes one sample later (``lag``), in time courses.

PYTHONPATH=workflow python -m benchmarks.validity multimodal_lags [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.validity.claims import commanded
from benchmarks.validity.multimodal_scores import courses

COMMAND = "python -m benchmarks.validity multimodal_lags"


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return commanded(courses(10 if quick else 60), COMMAND)
