"""Exhaustive search over pairs of binary or ternary predictors with nothing missing.

Of the counts of a triple only those with no level 0 are new, (q-1)^3 of them. The others follow
from the pair's counts (the same for all targets) and from each predictor's counts with the target,
which a block of first predictors shares.
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
    count_lanes,
    entropy_of_target,
    lane_planes,
    offer_scored,
    start_limits,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_screens import (
    fixed_parts,
    screen_binary,
    screen_ternary,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_tables import scores_of_hits

FIRST_BLOCK = 16
"""First predictors that share each second predictor's counts with the targets."""


@njit(cache=True, nogil=True)
def _fill_cells_of_pair(planes, first, second, cells, sizes):  # type: ignore[no-untyped-def]
    """Bit planes uint32 (q, q, words) and sizes int64 (q * q,) of the cells of two predictors."""
    n_levels, words = planes.shape[1:]
    for x1 in range(n_levels):
        for x2 in range(n_levels):
            n = 0
            for w in range(words):
                word = planes[first, x1, w] & planes[second, x2, w]
                cells[x1, x2, w] = word
                n += popcount(word)
            sizes[x1 * n_levels + x2] = n


@njit(cache=True, nogil=True, error_model="numpy")
def search_pairs(  # type: ignore[no-untyped-def]
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
    cell_table,
    row_of_size,
    worst,
    keys,
    sets,
    scores,
    ties,
    filled,
):
    """Offer every pair whose first predictor is in a range to the list of every target.

    predictors  uint32 (n_predictors, q, words): bit planes, q = 2 or 3, nothing missing
    targets     uint32 (n_targets, q, words), some hundred at most
    exclude     int32 (n_targets,): predictor left out, -1 for none
    coefficients  ``bound_coefficients`` of these settings
    cell_table, row_of_size  ``cell_entropies`` of these settings, or empty
    worst       int64 (n_targets,): largest key wanted, updated
    keys, sets, scores, ties  (n_targets, top[, 2]), filled  int64 (n_targets,): the lists
    """
    n_predictors, n_levels, words = predictors.shape
    n_targets = targets.shape[0]
    n_cells = n_levels * n_levels
    upper = n_levels - 1  # levels from 1
    n_samples = log_table.shape[0] - 1
    lanes = (n_targets + LANES - 1) // LANES * LANES
    planes = lane_planes(targets, lanes)
    limit_scale = n_samples + alpha * n_cells if penalty == NO_OBS else np.float64(n_samples)
    limits = start_limits(worst, lanes, n_cells, limit_scale)
    entropies = np.zeros(lanes, np.float64)
    entropies_32 = np.zeros(lanes, np.float32)
    for t in range(n_targets):
        entropies[t] = entropy_of_target(targets, t, log_table)
        entropies_32[t] = entropies[t]

    of_first = np.empty((FIRST_BLOCK * upper * upper, lanes), np.float32)
    rest = np.empty((FIRST_BLOCK * upper, lanes), np.float32)
    of_second = np.empty((upper * upper, lanes), np.float32)
    both = np.empty((upper * upper * upper, lanes), np.float32)
    hits = np.zeros(lanes, np.uint8)
    indices = np.empty(lanes + 8, np.int64)
    scores_of = np.empty(lanes, np.float64)
    cells = np.empty((n_levels, n_levels, words), np.uint32)
    sizes = np.empty(n_cells, np.int64)
    candidate = np.empty(2, np.int32)
    counts = np.empty((n_cells, n_levels), np.int64)
    counts_of_target = np.empty(n_levels, np.int64)

    for block in range(first_begin, first_end, FIRST_BLOCK):
        block_end = min(block + FIRST_BLOCK, first_end)
        for first in range(block, block_end):
            here = first - block
            for y in range(upper):
                count_lanes(predictors, first, 0, planes, y + 1, rest, here * upper + y)
                for x in range(upper):
                    row = here * upper * upper + x * upper + y
                    count_lanes(predictors, first, x + 1, planes, y + 1, of_first, row)
        for second in range(block + 1, n_predictors):
            for x in range(upper):
                for y in range(upper):
                    count_lanes(predictors, second, x + 1, planes, y + 1, of_second, x * upper + y)
            for first in range(block, min(block_end, second)):
                here = first - block
                _fill_cells_of_pair(predictors, first, second, cells, sizes)
                unseen, fixed = fixed_parts(sizes, penalty, alpha, poor)
                row = 0
                for x1 in range(1, n_levels):
                    for x2 in range(1, n_levels):
                        for y in range(1, n_levels):
                            count_lanes(cells, x1, x2, planes, y, both, row)
                            row += 1
                if n_levels == 2:
                    n_hits = screen_binary(
                        both,
                        of_first,
                        rest,
                        here,
                        of_second,
                        sizes,
                        coefficients,
                        unseen,
                        fixed,
                        entropies_32,
                        limits,
                        hits,
                    )
                else:
                    n_hits = screen_ternary(
                        both,
                        of_first,
                        rest,
                        here,
                        of_second,
                        sizes,
                        coefficients,
                        unseen,
                        fixed,
                        entropies_32,
                        limits,
                        hits,
                    )
                if n_hits == 0:
                    continue
                collect_hits(hits, indices)
                candidate[0] = first
                candidate[1] = second
                if cell_table.shape[0] > 0:
                    scores_of_hits(
                        indices,
                        n_hits,
                        both,
                        of_first,
                        rest,
                        here,
                        of_second,
                        entropies,
                        sizes,
                        cell_table,
                        row_of_size,
                        alpha if penalty == NO_OBS else 0.0,
                        limit_scale,
                        scores_of,
                    )
                else:
                    for i in range(n_hits):
                        count_in_cells(cells, targets, indices[i], counts)
                        scores_of[i] = mean_conditional_entropy(
                            counts, log_table, penalty, alpha, poor, counts_of_target
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
    for t in range(n_targets):
        finish(t, keys, ties, filled)
