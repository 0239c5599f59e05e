"""Tests of motions: p-values, replicas, communities, drifts, ensembles, states.

PYTHONPATH=workflow python -m benchmarks.validity trajectory_tests [--quick]
"""

from __future__ import annotations

from typing import Any

from benchmarks.validity.claims import commanded
from benchmarks.validity.trajectory_correlation import (
    communities,
    drifts,
    ensembles,
    p_values,
    states,
    unlike_replicas,
)

COMMAND = "python -m benchmarks.validity trajectory_tests"


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer draws."""
    groups = 16 if quick else 60
    claims = (
        p_values(groups),
        unlike_replicas(groups),
        communities(10 if quick else 40),
        drifts(4 if quick else 20),
        ensembles(10 if quick else 40),
        states(6 if quick else 20),
    )
    return commanded([row for rows in claims for row in rows], COMMAND)
