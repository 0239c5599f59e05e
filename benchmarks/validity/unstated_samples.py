"""What samples share and nobody states: whether it is said, and what is left when it is taken off.

PYTHONPATH=workflow python -m benchmarks.validity unstated_samples [--quick]
"""

from __future__ import annotations

from functools import partial

from benchmarks.validity.claims import Part
from benchmarks.validity.mutual_information import makers
from benchmarks.validity.unstated import (
    HIDDEN,
    SPREADS,
    factors_removed,
    shares_and_spreads,
    unstated,
)

SIZES = ((200, 100), (400, 200))
"""Genes and samples of tables from which hidden factors are removed."""


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    n_tables = 3 if quick else 12
    return [
        *(partial(unstated, name, *made, n_tables) for name, made in makers().items()),
        *(partial(factors_removed, quick, *size, kind) for size in SIZES for kind in HIDDEN),
        *(partial(shares_and_spreads, n_tables, scenario) for scenario in SPREADS),
    ]
