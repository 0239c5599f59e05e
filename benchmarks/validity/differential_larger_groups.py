"""Differential co-expression of groups of 40 and 60 samples in which nothing differs.

PYTHONPATH=workflow python -m benchmarks.validity differential_larger_groups [--quick]
"""

from __future__ import annotations

from typing import Any

from benchmarks.validity.claims import commanded
from benchmarks.validity.differential_coexpression import nothing_differs, warned_of

COMMAND = "python -m benchmarks.validity differential_larger_groups"


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer draws."""
    return commanded(nothing_differs(quick, 40) + warned_of(quick), COMMAND)
