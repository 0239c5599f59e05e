"""What samples share and nobody states: whether it is said, and what is left when it is taken off.

PYTHONPATH=workflow python -m benchmarks.validity unstated_samples [--quick]
"""

from __future__ import annotations

from typing import Any

from benchmarks.validity.mutual_information import makers
from benchmarks.validity.unstated import factors_removed, shares_and_spreads, unstated


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer tables."""
    n_tables = 3 if quick else 12
    return [
        *unstated(makers(), n_tables),
        *factors_removed(quick),
        *shares_and_spreads(n_tables),
    ]
