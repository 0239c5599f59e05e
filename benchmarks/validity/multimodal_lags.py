"""Scores of genes one sample later (``lag``), in time courses.

PYTHONPATH=workflow python -m benchmarks.validity multimodal_lags [--quick]
"""

from __future__ import annotations

from functools import partial

from benchmarks.validity.claims import Part, of_command
from benchmarks.validity.multimodal_scores import COURSES, courses

COMMAND = "python -m benchmarks.validity multimodal_lags"


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer draws."""
    tables = 10 if quick else 60
    return of_command([partial(courses, tables, *made) for made in COURSES], COMMAND)
