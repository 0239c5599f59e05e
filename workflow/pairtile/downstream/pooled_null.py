"""p-values from a pool of permuted statistics that many pairs share, in bounded memory.

Each permutation of the samples gives a statistic of every pair. They are counted in fine bins, by
strata within which pairs have about the same null distribution. The pooled p-value of a pair is
the share of its stratum's pool that is as large, so that a few permutations of very many pairs
reach very small p (Storey and Tibshirani 2003, PNAS 100:9440). Beyond the largest of the pool the
tail goes on exponentially, with the mean excess of the largest ones (the generalised Pareto tail of
Knijnenburg et al. 2009, Bioinformatics 25:i161, of shape 0, which is heavier than a normal one).
"""

from __future__ import annotations

import numpy as np

from pairtile.arrays import Float64Array, Int64Array

PER_UNIT, N_BINS = 128, 4096
"""Bins of a statistic for each unit, and in all; the last one is open."""

MIN_POOL = 3000
"""Statistics that strata need for a distribution of their own."""


def pooled_p_values(pool: Int64Array | Float64Array) -> Float64Array:
    """Upper-tail p at the lower edge of each bin.

    pool : (classes, levels, N_BINS), permuted statistics by two properties of their pairs. Levels,
    and classes in them, are ``joined``. Returns float64 of the same shape, 1 without any pool.
    """
    p = np.ones(pool.shape)
    of_level = joined(pool.sum(axis=(0, 2)))
    for level in range(of_level.max() + 1):
        of_class = joined(pool[:, of_level == level].sum(axis=(1, 2)))
        for kind in range(of_class.max() + 1):
            some = np.ix_(of_class == kind, of_level == level)
            p[some] = _upper_tail(pool[some].sum(axis=(0, 1)))
    return p


def joined(totals: Int64Array | Float64Array) -> Int64Array:
    """The group of each stratum, from 0: neighbours are joined from the last on, until a group has
    ``MIN_POOL``. Pairs of a group are judged by its pool alone, so that p holds on average."""
    found, group, held = np.zeros(totals.size, np.int64), 0, 0.0
    for k in range(totals.size - 1, -1, -1):
        found[k], held = group, held + totals[k]
        if held >= MIN_POOL and totals[:k].sum() >= MIN_POOL:
            group, held = group + 1, 0.0
    return group - found


def _upper_tail(counts: Int64Array | Float64Array) -> Float64Array:
    exceed = counts[::-1].cumsum()[::-1]
    p = (exceed + 1.0) / (exceed[0] + 1.0)
    # The largest hundred say how the tail goes on.
    begin = int((exceed >= 100).sum()) - 1
    if begin >= 0:
        beyond = np.arange(N_BINS - begin)
        mean_excess = ((beyond + 0.5) * counts[begin:]).sum() / exceed[begin]
        p[begin:] = p[begin] * np.exp(-beyond / mean_excess)
    return p


def histogram_q_values(observed: Int64Array, p: Float64Array) -> Float64Array:
    """Benjamini and Hochberg's q of each bin, from how many tests fell into it; both arrays have
    the same shape. NaN for an empty bin."""
    q = np.full(p.size, np.nan)
    filled = np.flatnonzero(observed)
    order = filled[np.argsort(p.ravel()[filled], kind="stable")]
    ascending, counts = p.ravel()[order], observed.ravel()[order].cumsum()
    if order.size:
        last = np.searchsorted(ascending, ascending, side="right") - 1
        scaled = ascending * counts[-1] / counts[last]
        q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q.reshape(p.shape)
