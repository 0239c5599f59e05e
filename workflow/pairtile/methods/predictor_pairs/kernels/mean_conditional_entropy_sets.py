"""Search over all sets of 1 to 3 predictors, any number of levels, with or without missing ones.

Every cell is counted from the bit planes, a vector of targets at a time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.cpu.bit_planes import popcount
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_OBS,
    mean_conditional_entropy,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_best import finish
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_lanes import (
    LANES,
    collect_hits,
    count_in_cells,
    entropy_of_target,
    lane_planes,
    offer_scored,
    start_limits,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_screens import fixed_parts
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_set_screens import (
    screen_complete,
    screen_missing,
)


@njit(cache=True, nogil=True)
def first_set(candidate, first, n_predictors):  # type: ignore[no-untyped-def]
    """Set ``candidate`` to the first set that begins with ``first``; whether there is one."""
    for i in range(candidate.shape[0]):
        candidate[i] = first + i
    return candidate[-1] < n_predictors


@njit(cache=True, nogil=True)
def next_set(candidate, n_predictors, end):  # type: ignore[no-untyped-def]
    """Step to the next set in lexicographic order whose first predictor is below ``end``."""
    c = candidate.shape[0]
    for i in range(c - 1, -1, -1):
        if candidate[i] < n_predictors - (c - i):
            candidate[i] += 1
            for j in range(i + 1, c):
                candidate[j] = candidate[j - 1] + 1
            return candidate[0] < end
    return False


@njit(cache=True, nogil=True)
def fill_cells(planes, candidate, cells, sizes):  # type: ignore[no-untyped-def]
    """Bit planes uint32 (1, M, words) and sizes int64 (M,) of the cells of one set.

    planes: uint32 (n_predictors, q, words); cells in lexicographic order of the levels
    """
    n_levels = planes.shape[1]
    for x in range(cells.shape[1]):
        n = 0
        for w in range(cells.shape[2]):
            word = np.uint32(0xFFFFFFFF)
            rest = x
            for i in range(candidate.shape[0] - 1, -1, -1):
                word &= planes[candidate[i], rest % n_levels, w]
                rest //= n_levels
            cells[0, x, w] = word
            n += popcount(word)
        sizes[x] = n


@njit(cache=True, nogil=True, error_model="numpy")
def search_sets(  # type: ignore[no-untyped-def]
    predictors,
    targets,
    exclude,
    first_begin,
    first_end,
    log_table,
    penalty,
    alpha,
    poor,
    coefficients,
    complete,
    min_samples,
    worst,
    keys,
    sets,
    scores,
    ties,
    filled,
):
    """Offer every set whose first predictor is in a range to the list of every target.

    predictors   uint32 (n_predictors, q, words): bit planes
    targets      uint32 (n_targets, q, words), some hundred at most
    exclude      int32 (n_targets,): predictor left out, -1 for none
    coefficients  ``bound_coefficients`` of these settings
    complete     whether nothing is missing
    min_samples  sets with fewer samples are not offered
    worst        int64 (n_targets,): largest key wanted, updated
    keys, sets, scores, ties  (n_targets, top[, c]), filled  int64 (n_targets,): the lists
    """
    n_predictors, n_levels, words = predictors.shape
    n_targets = targets.shape[0]
    c = sets.shape[2]
    n_cells = n_levels**c
    lanes = (n_targets + LANES - 1) // LANES * LANES
    planes = lane_planes(targets, lanes)
    limit_scale = 1.0
    entropies = np.zeros(lanes, np.float32)
    if complete:
        n_samples = log_table.shape[0] - 1
        limit_scale = n_samples + alpha * n_cells if penalty == NO_OBS else np.float64(n_samples)
        for t in range(n_targets):
            entropies[t] = entropy_of_target(targets, t, log_table)
    limits = start_limits(worst, lanes, n_cells, limit_scale)
    work = np.empty((6 + n_levels, lanes), np.float32)
    hits = np.zeros(lanes, np.uint8)
    cells = np.empty((1, n_cells, words), np.uint32)
    sizes = np.empty(n_cells, np.int64)
    indices = np.empty(lanes + 8, np.int64)
    scores_of = np.empty(lanes, np.float64)
    candidate = np.empty(c, np.int32)
    counts = np.empty((n_cells, n_levels), np.int64)
    of_target = np.empty(n_levels, np.int64)

    going = first_begin < first_end and first_set(candidate, first_begin, n_predictors)
    while going:
        fill_cells(predictors, candidate, cells, sizes)
        if complete:
            unseen, fixed = fixed_parts(sizes, penalty, alpha, poor)
            n_hits = screen_complete(
                cells, sizes, planes, coefficients, unseen, fixed, entropies, limits, work, hits
            )
        else:
            n_hits = screen_missing(
                cells, sizes, planes, penalty, alpha, poor, min_samples, limits, work, hits
            )
        if n_hits > 0:
            collect_hits(hits, indices)
            for i in range(n_hits):
                count_in_cells(cells, targets, indices[i], counts)
                scores_of[i] = mean_conditional_entropy(
                    counts, log_table, penalty, alpha, poor, of_target
                )
            offer_scored(
                indices,
                n_hits,
                scores_of,
                candidate,
                exclude,
                n_cells,
                limits,
                limit_scale,
                worst,
                keys,
                sets,
                scores,
                ties,
                filled,
            )
        going = next_set(candidate, n_predictors, first_end)
    for t in range(n_targets):
        finish(t, keys, ties, filled)
