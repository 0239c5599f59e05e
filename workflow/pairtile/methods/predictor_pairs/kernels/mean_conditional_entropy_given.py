"""Scores and entropies of given predictor sets."""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.cpu.bit_planes import popcount
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    entropy_of_samples,
    mean_conditional_entropy,
)


@njit(cache=True, nogil=True)
def count_cells(predictors, sets, row, targets, target, counts):  # type: ignore[no-untyped-def]
    """Fill counts (M, q) of a row of sets with one target; returns the samples counted.

    predictors: uint32 (n_predictors, q, words); targets: uint32 (n_targets, q, words)
    """
    n_cells, n_levels = counts.shape
    total = 0
    for x in range(n_cells):
        for y in range(n_levels):
            n = 0
            for w in range(targets.shape[2]):
                word = targets[target, y, w]
                rest = x
                for i in range(sets.shape[1] - 1, -1, -1):
                    word &= predictors[sets[row, i], rest % n_levels, w]
                    rest //= n_levels
                n += popcount(word)
            counts[x, y] = n
            total += n
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def set_scores(  # type: ignore[no-untyped-def]
    predictors, targets, target_rows, sets, log_table, penalty, alpha, poor, min_samples, scores
):
    """MCE in bits of row i's set for target ``target_rows[i]`` into scores float64 (n,).

    NaN where fewer than ``min_samples`` samples have all levels present.
    """
    n_levels = predictors.shape[1]
    for row in range(sets.shape[0]):
        counts = np.empty((n_levels ** sets.shape[1], n_levels), np.int64)
        n = count_cells(predictors, sets, row, targets, target_rows[row], counts)
        scores[row] = np.nan
        if n >= min_samples:
            of_target = np.empty(n_levels, np.int64)
            scores[row] = mean_conditional_entropy(
                counts, log_table, penalty, alpha, poor, of_target
            )


@njit(cache=True, nogil=True, error_model="numpy")
def set_entropies(  # type: ignore[no-untyped-def]
    predictors, targets, target_rows, sets, log_table, of_target, of_set, of_subset, n_samples
):
    """Unpenalised entropies in bits of each row's target alone, given the set, given a subset.

    of_subset is the least over the subsets that lack one predictor. All three use the samples in
    which the target and the whole set are present; 0 where there are none.
    """
    n_levels = predictors.shape[1]
    c = sets.shape[1]
    for row in range(sets.shape[0]):
        counts = np.empty((n_levels**c, n_levels), np.int64)
        n = count_cells(predictors, sets, row, targets, target_rows[row], counts)
        n_samples[row] = n
        of_target[row] = of_set[row] = of_subset[row] = 0.0
        if n == 0:
            continue
        scale = 1.0 / n
        alone = np.zeros(n_levels, np.int64)
        for x in range(counts.shape[0]):
            for y in range(n_levels):
                alone[y] += counts[x, y]
        of_target[row] = scale * entropy_of_samples(log_table, alone, n)
        of_set[row] = scale * _conditional(counts, log_table)
        least = np.inf
        for left_out in range(c):
            stride = n_levels ** (c - 1 - left_out)
            merged = np.zeros((n_levels ** (c - 1), n_levels), np.int64)
            for x in range(counts.shape[0]):
                cell = x // (stride * n_levels) * stride + x % stride
                for y in range(n_levels):
                    merged[cell, y] += counts[x, y]
            least = min(least, scale * _conditional(merged, log_table))
        of_subset[row] = least


@njit(cache=True, nogil=True, error_model="numpy")
def _conditional(counts, log_table):  # type: ignore[no-untyped-def]
    """n H(Y|X) of a table of counts in bits."""
    total = 0.0
    for x in range(counts.shape[0]):
        n = 0
        for y in range(counts.shape[1]):
            n += counts[x, y]
        total += entropy_of_samples(log_table, counts[x], n)
    return max(total, 0.0)
