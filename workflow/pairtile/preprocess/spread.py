"""Samples whose values spread more than those of others.

Where the noise of samples differs, unrelated genes are far from their means in the same samples,
which mutual information counts as a relation. A sample may also stand out by what it shares with
others (a condition, a factor): that is no matter of scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.large_table import releasing, row_blocks
from pairtile.engine.state import copy_rows
from pairtile.preprocess.statistics import column_medians
from pairtile.runtime.threads import in_threads, one_blas_thread
from pairtile.statistics.dependence import MAX_GENES, evenly_spaced
from pairtile.statistics.hidden_factors import MAX_SAMPLES, MIN_GENES, normal_scores

MAX_DEVIATION = 4.5
"""Median absolute deviations up to which a value counts: three standard deviations if normal."""

RIDGE = 0.3
"""Of the variance of a gene: samples that are predicted from more samples than there are genes."""


@one_blas_thread()
def unequal_spreads(values: NDArray[np.float64]) -> bool:
    """Whether the noise of samples differs.

    The own spread of a sample is what the other samples do not predict of it (partial variance, a
    diagonal of the inverse covariance of samples): a factor that several share is no part of it.
    False for fewer than ``MIN_GENES``, whose spreads differ by chance.

    values : float64 (genes, samples), NaN where missing, comparable between samples.
    """
    genes = evenly_spaced(len(values), MAX_GENES)
    samples = evenly_spaced(values.shape[1], MAX_SAMPLES)
    if genes.size < MIN_GENES or samples.size < 3:
        return False
    rows = copy_rows(values, genes, samples)
    scored = normal_scores(rows)
    scored -= scored.mean(axis=0)
    covariance = scored.T @ scored / len(scored)
    inverse = np.linalg.inv(covariance + RIDGE * np.eye(samples.size))
    own = np.log(np.maximum(1.0 / np.diag(inverse) - RIDGE, 1e-6)) / 2.0
    # With 0.2, about twice as many unrelated pairs as should get p <= 0.05 among 100 samples.
    # Networks of samples that are equal have up to 0.07.
    if own.std() < 0.13:
        return False
    # Lognormal noise has 0.75 to 0.99; tables without have less than 0.65.
    return bool(np.corrcoef(own, np.log(sample_spreads(rows)))[0, 1] >= 0.7)


def sample_spreads(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread of each sample, float64 (samples,), of geometric mean 1.

    Standard deviation over at most ``MAX_GENES`` genes, each centred at its median and scaled by
    its median absolute deviation, spreads of samples removed (two rounds); values that lie far
    out count as if nearer. 1 where it cannot be known.
    """
    rows = copy_rows(values, evenly_spaced(len(values), MAX_GENES))
    rows = rows - column_medians(rows.T)[:, None]
    spreads = np.ones(rows.shape[1])
    for _ in range(2):
        deviation = column_medians(np.abs(rows / spreads).T)
        varied = deviation > 0.0
        if not varied.any():
            return np.ones(rows.shape[1])
        scaled = rows[varied] / deviation[varied, None]
        scaled -= column_medians(scaled)
        found = column_medians(np.abs(scaled))
        known = found > 0.0  # not NaN either
        # A standard deviation is known twice as well; what lies far out counts as if nearer.
        near = np.clip(scaled[:, known] / found[known], -MAX_DEVIATION, MAX_DEVIATION)
        found[known] *= np.sqrt(np.nanmean(near**2, axis=0))
        spreads = np.ones(rows.shape[1])
        if known.any():
            spreads[known] = found[known] / np.exp(np.log(found[known]).mean())
    return spreads


def equalise_spreads(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring every sample to the same spread about the genes' medians, in place; the spreads that
    were divided by, float64 (samples,)."""
    spreads = sample_spreads(values)

    def scale(rows: slice) -> None:
        block = values[rows]
        known = ~np.isnan(block).all(axis=1)
        centre = np.nanmedian(block[known], axis=1, keepdims=True)
        block[known] = centre + (block[known] - centre) / spreads

    list(releasing(in_threads(scale, row_blocks(values.shape)), values))
    return spreads
