"""Given predictor sets: their entropies, and pairs grown into sets of three.

Here a set has its one target, so that nothing is shared between targets: each cell's samples are
counted from the bit planes, and scored as everywhere. The floating search tries every third
predictor with a pair; the pair's cells with the target's levels are then made once, and a third
predictor costs an AND and a population count for each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import popcount
from pairtile.cpu.njit import njit
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_KEY,
    entropy_of_samples,
    finish,
    key_of,
    mean_conditional_entropy,
    offer,
)


class SetEntropies(NamedTuple):
    """Unpenalised entropies in bits of each set's target: H(Y), H(Y | set), float64 (n,), and
    H(Y | subset without each of its predictors), float64 (n, c); and int64 (n,): how many samples
    were used, those in which the target and the whole set are present, the same for all of them."""

    of_target: NDArray[np.float64]
    of_set: NDArray[np.float64]
    of_subset: NDArray[np.float64]
    n_samples: NDArray[np.int64]


@njit(nogil=True)
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


@njit(nogil=True, error_model="numpy")
def set_entropies(  # type: ignore[no-untyped-def]
    predictors, targets, target_rows, sets, log_table, entropies
):
    """Fill ``entropies``, a ``SetEntropies``; 0 bits where there are no samples."""
    of_target, of_set, of_subset, n_samples = entropies
    n_levels = predictors.shape[1]
    c = sets.shape[1]
    for row in range(sets.shape[0]):
        counts = np.empty((n_levels**c, n_levels), np.int64)
        n = count_cells(predictors, sets, row, targets, target_rows[row], counts)
        n_samples[row] = n
        of_target[row] = of_set[row] = 0.0
        of_subset[row, :] = 0.0
        if n == 0:
            continue
        scale = 1.0 / n
        alone = np.zeros(n_levels, np.int64)
        for x in range(counts.shape[0]):
            for y in range(n_levels):
                alone[y] += counts[x, y]
        of_target[row] = scale * entropy_of_samples(log_table, alone, n)
        of_set[row] = scale * _conditional(counts, log_table)
        for left_out in range(c):
            stride = n_levels ** (c - 1 - left_out)
            merged = np.zeros((n_levels ** (c - 1), n_levels), np.int64)
            for x in range(counts.shape[0]):
                cell = x // (stride * n_levels) * stride + x % stride
                for y in range(n_levels):
                    merged[cell, y] += counts[x, y]
            of_subset[row, left_out] = scale * _conditional(merged, log_table)


@njit(nogil=True, error_model="numpy")
def _conditional(counts, log_table):  # type: ignore[no-untyped-def]
    """n H(Y|X) of a table of counts in bits."""
    total = 0.0
    for x in range(counts.shape[0]):
        n = 0
        for y in range(counts.shape[1]):
            n += counts[x, y]
        total += entropy_of_samples(log_table, counts[x], n)
    return max(total, 0.0)


@njit(nogil=True)
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


@njit(nogil=True, error_model="numpy")
def _key_of_pair(predictors, pair, targets, target, scoring, counts, of_target):  # type: ignore[no-untyped-def]
    """Key of a pair int32 (1, 2), NO_KEY where it is not admissible."""
    if count_cells(predictors, pair, 0, targets, target, counts) < scoring.min_samples:
        return NO_KEY
    return key_of(mean_conditional_entropy(counts, scoring, of_target))


@njit(nogil=True, error_model="numpy")
def floating_search(  # type: ignore[no-untyped-def]
    predictors, targets, target, exclude, lags, seeds, scoring, lists
):
    """Sequential floating forward search from pairs to sets of three, for one target.

    predictors  uint32 (n_predictors, q, words): bit planes
    targets     uint32 (n_targets, q, words), of which row ``target`` is searched
    exclude     predictor left out, -1 for none; of ``lags`` neighbours the number of the group
    seeds       int32 (n, 2): pairs, ascending, in the order in which they are tried
    scoring, lists  ``Scoring``, ``BestLists`` of all targets

    From each seed: add the third predictor of least (key, number); drop the predictor whose loss
    leaves the pair of least (key, predictors); while that pair is better than the pair the set
    came from, go on from it. A pair is grown once, and every set scored is offered once.
    """
    n_predictors, n_levels, words = predictors.shape
    n_cells = n_levels**2
    cells = np.empty((n_cells, n_levels, words), np.uint32)  # of the pair and the target
    counts = np.empty((n_levels**3, n_levels), np.int64)
    pair_counts = np.empty((n_cells, n_levels), np.int64)
    of_target = np.empty(n_levels, np.int64)
    is_offered = np.empty(n_predictors, np.bool_)
    candidate, grown = np.empty(3, np.int32), np.empty(3, np.int32)
    pair = np.empty((1, 2), np.int32)
    visited = {(np.int64(-1), np.int64(-1))}
    visited.clear()
    for seed in range(seeds.shape[0]):
        a, b = np.int64(seeds[seed, 0]), np.int64(seeds[seed, 1])
        if exclude in (a // lags, b // lags):
            continue
        pair[0, 0], pair[0, 1] = a, b
        least_pair = _key_of_pair(
            predictors, pair, targets, target, scoring, pair_counts, of_target
        )
        while (a, b) not in visited:
            # A third that makes a visited pair with a or b: the set was offered then.
            is_offered[:] = False
            for first, second in visited:
                if first in (a, b):
                    is_offered[second] = True
                if second in (a, b):
                    is_offered[first] = True
            for x in range(n_cells):
                for y in range(n_levels):
                    for w in range(words):
                        word = predictors[a, x // n_levels, w] & predictors[b, x % n_levels, w]
                        cells[x, y, w] = word & targets[target, y, w]
            least = NO_KEY
            for third in range(n_predictors):
                if third in (a, b) or third // lags == exclude:
                    continue
                # The ascending set of a < b and the third, and the third's place in it.
                position = (third > a) + (third > b)
                candidate[0] = a if position > 0 else third
                candidate[1] = third if position == 1 else (b if position > 1 else a)
                candidate[2] = third if position == 2 else b
                n = _count_with_third(cells, predictors, third, position, counts)
                if n < scoring.min_samples:
                    continue
                mce = mean_conditional_entropy(counts, scoring, of_target)
                key = key_of(mce)
                if key < least:
                    least = key
                    grown[:] = candidate
                if not is_offered[third]:
                    offer(target, lists, key, candidate, mce)
            visited.add((a, b))
            if least == NO_KEY:
                break
            for left_out in (2, 1, 0):  # the smaller sets in lexicographic order
                pair[0, 0] = grown[0] if left_out != 0 else grown[1]
                pair[0, 1] = grown[2] if left_out != 2 else grown[1]
                key = _key_of_pair(
                    predictors, pair, targets, target, scoring, pair_counts, of_target
                )
                if key < least_pair:
                    least_pair = key
                    a, b = np.int64(pair[0, 0]), np.int64(pair[0, 1])
    finish(target, lists)
