"""What most genes share in one group of samples and not in another.

Batches within a group, or cell types whose mixture varies in it, relate all genes there: pairs that
have nothing to do with each other are then correlated differently.
"""

from __future__ import annotations

import numpy as np

from pairtile.arrays import BoolArray, Float64Array, Int32Array
from pairtile.statistics.dependence import MAX_GENES, evenly_spaced, remembered
from pairtile.statistics.hidden_factors import (
    MAX_SAMPLES,
    MIN_GENES,
    find_hidden_factors,
    normal_scores,
)

MIN_SAMPLES = 20
"""Of a group, without which nothing is looked for."""


@remembered
def group_factors(
    values: Float64Array, groups: Int32Array, permuted: Int32Array, seed: int = 0
) -> list[tuple[int, float, int]]:
    """Groups whose samples share hidden factors that the others do not: the number of each, the
    share of the variance in it that these factors hold, and how many they are.

    Correlations of all genes must be stronger in the group, by a permutation test of the squared
    difference of the two matrices, less what chance adds to it (Li and Chen 2012, Ann Stat 40:908):
    modules that are there in both groups count for nothing. And the group's factors must be strong
    (``find_hidden_factors``): nor do most modules of its own.

    Parameters
    ----------
    values : float64 (genes, samples)
        NaN where missing.
    groups : int32 (samples,)
        From 0; -1 for a sample in none.
    permuted : int32 (draws, samples)
        ``groups``, permuted.
    seed : int
        Of ``find_hidden_factors``.
    """
    if len(values) < MIN_GENES:
        return []
    every = -(-values.shape[1] // MAX_SAMPLES)
    values = values[evenly_spaced(len(values), MAX_GENES), ::every]
    groups, permuted = groups[::every], permuted[:, ::every]
    scores = np.zeros(values.shape)
    for group in np.unique(groups[groups >= 0]):
        own = values[:, groups == group]
        own[np.isnan(own).all(axis=1)] = 0.0
        values[:, groups == group] = own
        scores[:, groups == group] = normal_scores(own)
    squared = (scores.T @ scores / len(scores)) ** 2
    np.fill_diagonal(squared, 0.0)  # a sample's own length says nothing of correlations
    draws = np.concatenate([groups[None], permuted])
    found = []
    for group in np.unique(groups[groups >= 0]):
        inside = draws == group
        outside = (draws >= 0) & ~inside
        if min(inside[0].sum(), outside[0].sum()) < MIN_SAMPLES:
            continue
        own, others, across = (
            _mean_of_pairs(squared, a, b)
            for a, b in ((inside, inside), (outside, outside), (inside, outside))
        )
        difference = own + others - 2.0 * across
        chance = (difference >= difference[0]).sum() / len(draws)
        if own[0] <= others[0] or chance > 0.01:
            continue
        factors = find_hidden_factors(values[:, groups == group], seed)
        if factors.strong:
            found.append((int(group), factors.share, len(factors.shares)))
    return found


def _mean_of_pairs(squared: Float64Array, first: BoolArray, second: BoolArray) -> Float64Array:
    """Mean over pairs of a sample in ``first`` and another in ``second``, (draws, samples)."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    pairs = a.sum(axis=1) * b.sum(axis=1) - (a * b).sum(axis=1)
    return np.asarray(((a @ squared) * b).sum(axis=1) / pairs)
