"""Whether p-values of ``predictor_pairs`` hold on slow courses, and drifts are warned of.

PYTHONPATH=workflow python -m benchmarks.validity predictor_pairs [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import predictor_pairs

from benchmarks.validity.claims import claim, mean_at_most, of_share

COMMAND = "python -m benchmarks.validity predictor_pairs"
GENES, SAMPLES = 40, 100
LEVEL, BAR = 0.05, 0.07


def levels(draw: np.random.Generator, stays: float) -> pd.DataFrame:
    """Unrelated binary genes that keep their level at a step with this chance."""
    changes = draw.random((GENES, SAMPLES)) >= stays
    return named((np.cumsum(changes, axis=1) + draw.integers(2, size=(GENES, 1))) % 2)


def drifting(draw: np.random.Generator) -> pd.DataFrame:
    """Unrelated genes that rise or fall all along."""
    drift = np.linspace(-2, 2, SAMPLES) * draw.choice([-1, 1], size=(GENES, 1))
    return named((draw.standard_normal((GENES, SAMPLES)) + drift > 0).astype(int))


def named(values: NDArray[np.int64]) -> pd.DataFrame:
    return pd.DataFrame(values, index=[f"g{k}" for k in range(len(values))])


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer tables."""
    n_tables = 2 if quick else 10
    rows = []
    for stays in (0.5, 0.7, 0.85, 0.95):
        shares = []
        for seed in range(n_tables):
            table = levels(np.random.default_rng([seed, int(100 * stays)]), stays)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = predictor_pairs(levels=table, top=1, seed=seed, backend="cpu")
            best = found.drop_duplicates("target")
            shares.append(float((best["p_value"] <= LEVEL).mean()))
        rows.append(
            mean_at_most(
                f"unrelated binary genes, level kept with chance {stays}",
                "targets with p ≤ 0.05",
                shares,
                LEVEL,
                BAR,
                COMMAND,
            )
        )
    warned = 0
    for seed in range(n_tables):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            predictor_pairs(
                levels=drifting(np.random.default_rng(seed)), top=1, seed=seed, backend="cpu"
            )
        warned += any("drift along their series" in str(w.message) for w in caught)
    rows.append(
        claim(
            "unrelated genes that drift",
            "tables that are warned of",
            warned / n_tables,
            of_share(warned, n_tables),
            nominal=1.0,
            bar="1",
            passed=warned == n_tables,
            command=COMMAND,
        )
    )
    return rows
