"""Which normalisation for counts? False edges among unrelated genes: ``make quality``.

Counts are Poisson draws: a gene's level times a sample's total, which is lognormal with a standard
deviation of log 1.5 among samples.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pairtile
import pandas as pd
from numpy.typing import NDArray

from benchmarks.machine import write

SAMPLES = 1500
SPREAD = 1.5
LEVELS = (0.5, 2.0, 20.0, 100.0)
"""Counts of a gene in a sample, on average."""
NORMALIZE = ("none", "cp10k", "depth_ranks", "nb_residuals")


def counted(levels: NDArray[np.float64], mean: float, seed: int) -> pd.DataFrame:
    """Counts (genes x samples) of relative levels of that shape; ``mean`` on average."""
    random = np.random.default_rng(seed)
    totals = random.lognormal(0.0, np.log(SPREAD), levels.shape[1])
    expected = levels / levels.mean() * totals / totals.mean() * mean
    names = [f"g{number}" for number in range(len(levels))]
    return pd.DataFrame(random.poisson(expected), index=names)


def false_edges(mean: float) -> dict[str, Any]:
    """Pairs of 200 unrelated genes that are edges at a false discovery rate of 1 %."""
    random = np.random.default_rng(7)
    genes = random.lognormal(0.0, 0.5, (200, 1)) * random.lognormal(0.0, 0.3, (200, SAMPLES))
    table = counted(genes, mean, seed=8)
    found: dict[str, Any] = {"zeros": float((table == 0).to_numpy().mean()), "pairs": 199 * 100}
    for normalize in NORMALIZE:
        network = pairtile.infer_network(
            table, keep={"fdr": 0.01}, dpi=False, preprocess={"normalize": normalize}
        )
        found[normalize] = len(network)
    return found


def main() -> None:
    """Write them."""
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {"samples": SAMPLES, "spread": SPREAD}
    results["false_edges"] = {str(mean): false_edges(mean) for mean in LEVELS}
    print(results, write("counts", "cpu", results))


if __name__ == "__main__":
    main()
