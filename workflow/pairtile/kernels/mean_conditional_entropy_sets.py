"""Search over all sets of 1 to 3 predictors, any number of levels, with or without missing ones.

Every cell is counted from the bit planes, a vector of targets at a time. The screen is the score
itself in float32, with a vectorised logarithm.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.kernels.bit_planes import popcount
from pairtile.kernels.mean_conditional_entropy import (
    NO_OBS,
    POOR_OBS,
    mean_conditional_entropy,
)
from pairtile.kernels.mean_conditional_entropy_best import finish
from pairtile.kernels.mean_conditional_entropy_lanes import (
    LANES,
    SCREEN,
    collect_hits,
    count_in_cells,
    count_lanes,
    lane_planes,
    offer_scored,
    start_limits,
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


@njit(cache=True, nogil=True, inline="always")
def _n_log_n(n):  # type: ignore[no-untyped-def]
    """n log2(n) of a whole float32 number, 0 at 0; relative error below 1e-6.

    log2 n = e + (2 / ln 2) atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)):
    |s| < 0.1716, so the series of atanh to s^7 leaves less than 1e-7.
    """
    bits = np.int32(np.float32(max(n, np.float32(1.0))).view(np.int32))
    exponent = (bits - np.int32(0x3F3504F3)) >> np.int32(23)
    m = np.int32(bits - (exponent << np.int32(23))).view(np.float32)
    s = (m - np.float32(1.0)) / (m + np.float32(1.0))
    s2 = s * s
    series = np.float32(0.41219858) * s2 + np.float32(0.57707802)
    series = series * s2 + np.float32(0.96179669)
    series = series * s2 + np.float32(2.88539008)
    return n * (np.float32(exponent) + s * series)


COUNTS, TOTAL, ENTROPIES, SUMS, SAMPLES, OBSERVED, OF_TARGET = range(7)
"""Rows of the screen's work space, with a number for each lane; the last for each level."""


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _subtract_level(work, row):  # type: ignore[no-untyped-def]
    """Add the counts of one target level to a cell's total, and subtract their n log n."""
    for t in range(work.shape[1]):
        n = work[row, t]
        work[TOTAL, t] += n
        work[ENTROPIES, t] -= _n_log_n(n)


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _add_cell(alpha, poor, work):  # type: ignore[no-untyped-def]
    """Add a cell to the score's sum in each lane, and make its total ready for the next cell.

    poor: what ``poor_obs`` gives a cell seen once, negative without that penalty
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    for t in range(work.shape[1]):
        n = work[TOTAL, t]
        h = work[ENTROPIES, t] + _n_log_n(n)
        h = poor if (poor >= zero and n == one) else h
        work[SUMS, t] += h * (one + alpha / max(n, one))
        work[SAMPLES, t] += n
        work[OBSERVED, t] += min(n, one)
        work[TOTAL, t] = zero
        work[ENTROPIES, t] = zero


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _add_not_observed(n_cells, alpha, work):  # type: ignore[no-untyped-def]
    """Add the part of cells not observed, which have the target's entropy (no_obs)."""
    for y in range(OF_TARGET, work.shape[0]):
        _subtract_level(work, y)
    one = np.float32(1.0)
    for t in range(work.shape[1]):
        h = work[ENTROPIES, t] + _n_log_n(work[TOTAL, t])
        missed = alpha * (np.float32(n_cells) - work[OBSERVED, t])
        work[SUMS, t] += missed * h / max(work[SAMPLES, t], one)


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _screen(  # type: ignore[no-untyped-def]
    cells, sizes, planes, penalty, alpha, poor, min_samples, limits, work, hits
):
    """Mark in hits uint8 (lanes,) the targets whose score is within the limit; returns how many.

    limits: float32 (lanes,), bits of MCE; work: float32 (6 + q, lanes)
    """
    n_cells, n_levels = cells.shape[1], planes.shape[0]
    work[:] = np.float32(0.0)
    weight = np.float32(alpha if penalty == NO_OBS else 0.0)
    alone = np.float32(poor if penalty == POOR_OBS else -1.0)
    for x in range(n_cells):
        if sizes[x] == 0:
            continue
        for y in range(n_levels):
            count_lanes(cells, 0, x, planes, y, work, COUNTS)
            if penalty == NO_OBS:
                for t in range(limits.shape[0]):
                    work[OF_TARGET + y, t] += work[COUNTS, t]
            _subtract_level(work, COUNTS)
        _add_cell(weight, alone, work)
    if penalty == NO_OBS:
        _add_not_observed(n_cells, weight, work)
    n_hits = 0
    added = weight * np.float32(n_cells)
    least = np.float32(min_samples)
    for t in range(limits.shape[0]):
        n = work[SAMPLES, t]
        hit = (work[SUMS, t] <= limits[t] * (n + added)) & (n >= least)
        hits[t] = hit
        n_hits += hit
    return n_hits


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
    limits = start_limits(worst, lanes, n_cells, 1.0)
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
        n_hits = _screen(
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
                1.0,
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
