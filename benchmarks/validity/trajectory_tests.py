"""Tests of motions: p-values, replicas, communities, drifts, ensembles, states.

PYTHONPATH=workflow python -m benchmarks.validity trajectory_tests [--quick]
"""

from __future__ import annotations

from functools import partial

from benchmarks.validity.claims import Part, of_command
from benchmarks.validity.trajectory_correlation import (
    CASES,
    COMPARED,
    LENGTHS,
    communities,
    drifts,
    ensembles,
    p_values,
    states,
    unlike_replicas,
)

COMMAND = "python -m benchmarks.validity trajectory_tests"


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer draws."""
    groups = 16 if quick else 60
    claims: list[Part] = [
        *(partial(p_values, groups, number) for number in range(len(CASES))),
        *(partial(unlike_replicas, groups, lengths) for lengths in LENGTHS),
        partial(communities, 10 if quick else 40),
        partial(drifts, 4 if quick else 20),
        partial(ensembles, 10 if quick else 40),
        *(partial(states, 6 if quick else 20, *compared) for compared in COMPARED),
    ]
    return of_command(claims, COMMAND)
