"""Planted sites of miRNAs: which pairs are found, which are false, and in what order.

PYTHONPATH=workflow python -m benchmarks.validity mirna_planted_sites [--quick]
"""

from __future__ import annotations

from typing import Any

from benchmarks.validity.claims import commanded
from benchmarks.validity.mirna_targets import orders, planted_sites

COMMAND = "python -m benchmarks.validity mirna_planted_sites"


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer draws."""
    return commanded(planted_sites(2 if quick else 8) + orders(3 if quick else 10), COMMAND)
