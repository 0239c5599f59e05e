"""How many bins for how many samples? ``make quality`` writes the answer.

Share of simulated related pairs with a p-value of at most 0.001, for a straight relation (Pearson
correlation 0.5) and a parabola (of the dependent gene's variance, half is noise).
"""

from __future__ import annotations

import numpy as np
from pairtile import mutual_information, permutation_null

from benchmarks.machine import write

PAIRS = 400
SAMPLES = (25, 50, 100, 200, 400)
ESTIMATORS = ((4, 3), (5, 4), (6, 4), (8, 4), (10, 3), (20, 3))
"""Bins and order."""
P_VALUE = 0.001


def related_pairs(n_samples: int, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays (pairs, samples); row by row related."""
    random = np.random.default_rng(1)
    x, noise = random.normal(size=(2, PAIRS, n_samples))
    if shape == "straight":
        return x, 0.5 * x + np.sqrt(0.75) * noise
    return x, np.sqrt(0.5) * ((x**2 - 1) / np.sqrt(2) + noise)


def share_found(n_samples: int, shape: str, bins: int, order: int) -> float:
    """Share of the pairs that are told from chance."""
    x, y = related_pairs(n_samples, shape)
    # Ranks without ties have one null, whatever the genes.
    how = {"bins": bins, "order": order, "transform": "rank"}
    null = permutation_null(x[:100], permutations=100_000, **how)
    mi = mutual_information(x, other=y, backend="cpu", **how).diagonal()
    return float((null.p_value(mi) <= P_VALUE).mean())


def main() -> None:
    found = {
        shape: {
            f"{n} samples": {
                f"{bins} bins, order {order}": share_found(n, shape, bins, order)
                for bins, order in ESTIMATORS
            }
            for n in SAMPLES
        }
        for shape in ("straight", "parabola")
    }
    print(write("bins", "cpu", {"pairs": PAIRS, "p_value": P_VALUE, "share_found": found}))


if __name__ == "__main__":
    main()
