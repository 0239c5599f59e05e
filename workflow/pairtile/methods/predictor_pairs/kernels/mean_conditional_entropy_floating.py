"""Floating search: predictor pairs of one target grown into sets of three."""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.cpu.bit_planes import popcount
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_KEY,
    key_of,
    mean_conditional_entropy,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_best import finish, offer
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_given import count_cells


@njit(cache=True, nogil=True)
def _was_visited(visited, n_visited, a, b):  # type: ignore[no-untyped-def]
    visits = 0
    for i in range(n_visited):
        visits += visited[i, 0] == a and visited[i, 1] == b
    return visits > 0


@njit(cache=True, nogil=True)
def _mark_offered(visited, n_visited, a, b, is_offered):  # type: ignore[no-untyped-def]
    """Flag each third predictor that makes a visited pair with a or b: the set was offered then."""
    for third in range(is_offered.shape[0]):
        is_offered[third] = False
    for i in range(n_visited):
        first, second = visited[i, 0], visited[i, 1]
        if first in (a, b):
            is_offered[second] = True
        if second in (a, b):
            is_offered[first] = True


@njit(cache=True, nogil=True)
def _fill_cells(predictors, a, b, targets, target, cells):  # type: ignore[no-untyped-def]
    """Bit planes (q * q, q, words) of every cell of a pair with every level of the target."""
    n_levels = predictors.shape[1]
    for x in range(n_levels * n_levels):
        for y in range(n_levels):
            for w in range(targets.shape[2]):
                word = predictors[a, x // n_levels, w] & predictors[b, x % n_levels, w]
                cells[x, y, w] = word & targets[target, y, w]


@njit(cache=True, nogil=True)
def _count_with_third(cells, predictors, third, position, counts):  # type: ignore[no-untyped-def]
    """Fill counts (q^3, q) of a pair's cells with a third predictor; returns the samples counted.

    position: of the third predictor in the ascending set, 0 to 2; cells are in the set's order
    """
    n_levels = predictors.shape[1]
    stride = n_levels ** (2 - position)
    total = 0
    for x in range(cells.shape[0]):
        for z in range(n_levels):
            cell = x // stride * stride * n_levels + z * stride + x % stride
            for y in range(n_levels):
                n = 0
                for w in range(cells.shape[2]):
                    n += popcount(cells[x, y, w] & predictors[third, z, w])
                counts[cell, y] = n
                total += n
    return total


@njit(cache=True, nogil=True)
def _grow(a, b, third, candidate):  # type: ignore[no-untyped-def]
    """Set candidate to the ascending set of a < b and a third; returns the third's position."""
    position = (third > a) + (third > b)
    candidate[0] = a if position > 0 else third
    candidate[1] = third if position == 1 else (b if position > 1 else a)
    candidate[2] = third if position == 2 else b
    return position


@njit(cache=True, nogil=True, error_model="numpy")
def _key_of_pair(  # type: ignore[no-untyped-def]
    predictors,
    pair,
    targets,
    target,
    log_table,
    penalty,
    alpha,
    poor,
    min_samples,
    counts,
    of_target,
):
    if count_cells(predictors, pair, 0, targets, target, counts) < min_samples:
        return NO_KEY
    return key_of(mean_conditional_entropy(counts, log_table, penalty, alpha, poor, of_target))


@njit(cache=True, nogil=True, error_model="numpy")
def floating_search(  # type: ignore[no-untyped-def]
    predictors,
    targets,
    target,
    exclude,
    seeds,
    log_table,
    penalty,
    alpha,
    poor,
    min_samples,
    keys,
    sets,
    scores,
    ties,
    filled,
):
    """Sequential floating forward search from pairs to sets of three, for one target.

    predictors  uint32 (n_predictors, q, words): bit planes
    targets     uint32 (n_targets, q, words), of which row ``target`` is searched
    exclude     predictor left out, -1 for none
    seeds       int32 (n, 2): pairs, ascending, in the order in which they are tried
    keys, sets, scores, ties  (n_targets, top[, 3]), filled  int64 (n_targets,): the lists

    From each seed: add the third predictor of least (key, number); drop the predictor whose loss
    leaves the pair of least (key, predictors); while that pair is better than the pair the set
    came from, go on from it. A pair is grown once, and every set scored is offered once.
    """
    n_predictors, n_levels, words = predictors.shape
    of_target = np.empty(n_levels, np.int64)
    counts = np.empty((n_levels**3, n_levels), np.int64)
    pair_counts = np.empty((n_levels**2, n_levels), np.int64)
    cells = np.empty((n_levels**2, n_levels, words), np.uint32)
    is_offered = np.empty(n_predictors, np.bool_)
    candidate = np.empty(3, np.int32)
    grown = np.empty(3, np.int32)
    pair = np.empty((1, 2), np.int32)
    visited = np.empty((2 * seeds.shape[0] + 8, 2), np.int32)
    n_visited = 0
    for seed in range(seeds.shape[0]):
        a, b = np.int64(seeds[seed, 0]), np.int64(seeds[seed, 1])
        if exclude in (a, b):
            continue
        pair[0, 0], pair[0, 1] = a, b
        least_pair = _key_of_pair(
            predictors,
            pair,
            targets,
            target,
            log_table,
            penalty,
            alpha,
            poor,
            min_samples,
            pair_counts,
            of_target,
        )
        while not _was_visited(visited, n_visited, a, b):
            _mark_offered(visited, n_visited, a, b, is_offered)
            _fill_cells(predictors, a, b, targets, target, cells)
            least = NO_KEY
            for third in range(n_predictors):
                if third in (a, b, exclude):
                    continue
                position = _grow(a, b, third, candidate)
                if _count_with_third(cells, predictors, third, position, counts) < min_samples:
                    continue
                mce = mean_conditional_entropy(counts, log_table, penalty, alpha, poor, of_target)
                key = key_of(mce)
                if key < least:
                    least = key
                    _grow(a, b, third, grown)
                if not is_offered[third]:
                    offer(target, keys, sets, scores, ties, filled, key, candidate, mce)
            if n_visited == visited.shape[0]:
                longer = np.empty((2 * n_visited, 2), np.int32)
                for i in range(n_visited):
                    longer[i, 0], longer[i, 1] = visited[i, 0], visited[i, 1]
                visited = longer
            visited[n_visited, 0], visited[n_visited, 1] = a, b
            n_visited += 1
            if least == NO_KEY:
                break
            for left_out in (2, 1, 0):  # the smaller sets in lexicographic order
                pair[0, 0] = grown[0] if left_out != 0 else grown[1]
                pair[0, 1] = grown[2] if left_out != 2 else grown[1]
                key = _key_of_pair(
                    predictors,
                    pair,
                    targets,
                    target,
                    log_table,
                    penalty,
                    alpha,
                    poor,
                    min_samples,
                    pair_counts,
                    of_target,
                )
                if key < least_pair:
                    least_pair = key
                    a, b = np.int64(pair[0, 0]), np.int64(pair[0, 1])
    finish(target, keys, ties, filled)
