"""Speed of what looks at all pairs beside the network: differences between groups, topological
overlap with its modules, and more scores.

``python -m benchmarks downstream`` writes ``benchmarks/results/downstream.<machine>.json``. Values
to values: from a table in memory to the table of results.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pairtile
import pandas as pd

GENES = {"cpu": 2000, "cuda": 20_000}
SAMPLES, MODULES, SIZE = 200, 20, 50
AS_IT_IS = {"log2": False}


def table(genes: int) -> pd.DataFrame:
    """Normal genes, some of them in modules."""
    draw = np.random.default_rng(1)
    values = draw.standard_normal((genes, SAMPLES))
    shared = np.repeat(draw.standard_normal((MODULES, SAMPLES)), SIZE, axis=0)
    values[: MODULES * SIZE] += 1.2 * shared
    names = [f"g{k}" for k in range(genes)], [f"s{k}" for k in range(SAMPLES)]
    return pd.DataFrame(values, *names)


def run(backend: str) -> dict[str, Any]:
    """Seconds of each, after a small one of its kind."""
    values, labels = table(GENES[backend]), ["a", "b"] * (SAMPLES // 2)
    where = {"backend": backend, "preprocess": AS_IT_IS}

    def correlated(score: str, some: pd.DataFrame) -> object:
        least = 0.08 if score == "partial" else 0.5
        how = {"clustering": "none", "correlation": score, "min_correlation": least}
        return pairtile.multimodal_correlation(some, **how, **where)

    work: dict[str, Callable[[pd.DataFrame], object]] = {
        f"differential, {score}": lambda some, score=score: pairtile.differential(
            some, labels, score=score, **where
        )
        for score in ("spearman", "pearson", "mi")
    }
    work["wgcna"] = lambda some: pairtile.find_modules(
        some, method="wgcna", power=6, max_p=None, backend=backend
    )
    for score in ("bicor", "kendall", "partial"):
        work[score] = lambda some, score=score: correlated(score, some)
    seconds = {}
    for name, of in work.items():
        of(values.iloc[:400])
        begin = time.perf_counter()
        of(values)
        seconds[name] = round(time.perf_counter() - begin, 2)
    return {"genes": len(values), "samples": SAMPLES, "seconds": seconds}
