"""Differential co-expression of groups of 40 and 60 samples in which nothing differs.

PYTHONPATH=workflow python -m benchmarks.validity differential_larger_groups [--quick]
"""

from __future__ import annotations

from benchmarks.validity.claims import Part, of_command
from benchmarks.validity.differential_coexpression import nothing_differs, warned_of

COMMAND = "python -m benchmarks.validity differential_larger_groups"


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer draws."""
    return of_command([*nothing_differs(quick, 40), *warned_of(quick)], COMMAND)
