"""Edges of modes: false ones, noise, slow samples, small tables.

PYTHONPATH=workflow python -m benchmarks.validity multimodal_edges [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.validity.claims import commanded
from benchmarks.validity.multimodal_correlation import (
    false_edges,
    noise,
    slow_samples,
    small_modular_tables,
)

COMMAND = "python -m benchmarks.validity multimodal_edges"


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return commanded(
            [
                *false_edges(1 if quick else 6),
                noise(60 if quick else 400),
                *slow_samples(3 if quick else 20),
                *small_modular_tables(3 if quick else 20),
            ],
            COMMAND,
        )
