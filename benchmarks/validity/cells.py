"""Counts of cells whose depths differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma, norm

Floats = NDArray[np.float64]


def cells(
    draw: np.random.Generator,
    samples: int,
    mean: float = 2.0,
    *,
    genes: int = 80,
    spread: float = 0.8,
    pairs: int = 0,
) -> Floats:
    """Counts of so many on average in cells whose depths have that standard deviation of the log.

    Rates are gamma (coefficient of variation 0.58), levels of genes lognormal (0.7). Genes are
    unrelated, but for the first two, the second two and so on of so many ``pairs``: their rates go
    together by a normal copula with correlation 0.6.
    """
    scores = draw.standard_normal((genes, samples))
    first, second = scores[0 : 2 * pairs : 2], scores[1 : 2 * pairs : 2]
    second[:] = 0.6 * first + 0.8 * second
    rates = draw.lognormal(0, 0.7, (genes, 1)) * gamma.ppf(norm.cdf(scores), 3, scale=1 / 3)
    depths = draw.lognormal(0, spread, samples)
    return draw.poisson(mean * rates / rates.mean() * depths / depths.mean()).astype(float)


def one_large_gene(draw: np.random.Generator, samples: int) -> Floats:
    """A gene with half of all counts (standard deviation of its log 0.6) among those of cells."""
    counts = cells(draw, samples)
    level = counts.mean(axis=1).sum() * draw.lognormal(0, 0.6, samples)
    counts[0] = draw.poisson(level * counts.sum(axis=0) / counts.sum(axis=0).mean())
    return counts
