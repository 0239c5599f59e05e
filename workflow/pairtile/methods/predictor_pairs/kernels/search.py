"""Exhaustive search over all sets whose first predictor is in a range, for a chunk of targets.

``search_sets`` takes sets of any number of predictors and levels, with or without missing ones, and
counts every cell of a set from the bit planes, a vector of targets at a time.

``search_pairs`` is for pairs of two or three levels with nothing missing. Of the counts of a triple
(pair and target) only those with no level 0 are new, (q-1)^3 of them; the others follow from the
pair's counts (the same for all targets) and from each predictor's counts with the target, which a
block of first predictors shares. Exact scores come by look-up: what a cell with n samples, u and v
of them at target levels 1 and 2, adds to the canonical sum is a float64 that depends on (n, u, v)
only. Few samples make few such cells, and the sum over the cells in their order is then the
canonical score, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import popcount
from pairtile.cpu.njit import njit
from pairtile.methods.predictor_pairs.kernels.lanes import (
    collect_hits,
    count_lanes,
    offer_hits,
    score_counted,
    start_lanes,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_OBS,
    POOR_OBS,
    Scoring,
    entropy_of_samples,
    finish,
)
from pairtile.methods.predictor_pairs.kernels.screens import (
    PairCounts,
    binary_counts,
    fixed_parts,
    screen_binary,
    screen_complete,
    screen_missing,
    screen_ternary,
    ternary_counts,
)

FIRST_BLOCK = 16
"""First predictors that share each second predictor's counts with the targets."""

MAX_ENTRIES = 1 << 17
"""Entries of a look-up table (1 MiB) up to which look-ups are faster than a fresh count."""


class CellTables(NamedTuple):
    """What cells of each size add to bounds and scores.

    coefficients: ``bound_coefficients``. entropies, row_of_size: ``cell_entropies``, or empty.
    """

    coefficients: NDArray[np.float32]
    entropies: NDArray[np.float64]
    row_of_size: NDArray[np.int64]


def cell_entropies(
    n_levels: int, scoring: Scoring
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Table of what a cell adds to the canonical sum, and where each cell size begins in it.

    ``table[row_of_size[n] + u]`` for two levels, ``table[row_of_size[n] + u * (n + 1) + v]`` for
    three. Both empty where the table would be too large.
    """
    n = np.arange(len(scoring.log_table), dtype=np.int64)
    width = (n + 1) ** (n_levels - 1)
    if n_levels > 3 or width.sum() > MAX_ENTRIES:
        return np.empty(0), np.empty(0, dtype=np.int64)
    table = np.zeros(width.sum())
    row_of_size = np.cumsum(width) - width
    _fill_table(n_levels, scoring, table, row_of_size)
    return table, row_of_size


@njit(nogil=True, error_model="numpy")
def _fill_table(n_levels, scoring, table, row_of_size):  # type: ignore[no-untyped-def]
    counts = np.zeros(n_levels, np.int64)
    for n in range(1, row_of_size.shape[0]):
        for u in range(n + 1):
            for v in range(n - u + 1 if n_levels == 3 else 1):
                counts[0], counts[1] = n - u - v, u
                if n_levels == 3:
                    counts[2] = v
                h = entropy_of_samples(scoring.log_table, counts, n)
                if scoring.penalty == POOR_OBS and n == 1:
                    h = scoring.poor
                if scoring.penalty == NO_OBS:
                    h = h + (scoring.alpha * h) / n
                place = u * (n + 1) + v if n_levels == 3 else u
                table[row_of_size[n] + place] = h


@njit(nogil=True, error_model="numpy")
def score_looked_up(  # type: ignore[no-untyped-def]
    n_hits, counts, here, sizes, tables, unseen_weight, lanes
):
    """Canonical MCE in bits of one pair for its hits, from the counts that its screen used.

    counts, here, sizes: as in ``screen_binary``; unseen_weight: alpha with no_obs, else 0
    """
    both, of_first, rest, of_second = counts
    indices, scores, entropies = lanes.indices, lanes.scores, lanes.entropies
    divisor = lanes.limit_scale
    table, row_of_size = tables.entropies, tables.row_of_size
    n_cells = sizes.shape[0]
    not_observed = 0
    for x in range(n_cells):
        not_observed += sizes[x] == 0
    unseen = unseen_weight * not_observed
    for i in range(n_hits):
        t = indices[i]
        total = 0.0
        if n_cells == 4:
            u = binary_counts(both, of_first, rest, of_second, here, t)
            for x in range(4):
                total = total + table[row_of_size[sizes[x]] + np.int64(u[x])]
        else:
            u = ternary_counts(both, of_first, rest, of_second, here, t, 0)
            v = ternary_counts(both, of_first, rest, of_second, here, t, 1)
            for x in range(9):
                n = sizes[x]
                place = row_of_size[n] + np.int64(u[x]) * (n + 1) + np.int64(v[x])
                total = total + table[place]
        total = total + unseen * entropies[t]
        mce = total / divisor
        scores[i] = mce if mce > 0.0 else 0.0


@njit(nogil=True)
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


@njit(nogil=True, error_model="numpy")
def search_pairs(  # type: ignore[no-untyped-def]
    predictors, targets, first_begin, first_end, scoring, tables, lists
):
    """Offer every pair whose first predictor is in a range to the list of every target.

    predictors: uint32 (n_predictors, q, words), bit planes, q = 2 or 3, nothing missing; targets:
    ``Targets``; scoring: ``Scoring``; tables: ``CellTables``; lists: ``BestLists``
    """
    n_predictors, n_levels, words = predictors.shape
    n_cells = n_levels * n_levels
    upper = n_levels - 1  # levels from 1
    lanes = start_lanes(targets, n_cells, scoring)
    planes = lanes.planes
    n_lanes = lanes.limits.shape[0]
    pair_counts = PairCounts(
        np.empty((upper * upper * upper, n_lanes), np.float32),
        np.empty((FIRST_BLOCK * upper * upper, n_lanes), np.float32),
        np.empty((FIRST_BLOCK * upper, n_lanes), np.float32),
        np.empty((upper * upper, n_lanes), np.float32),
    )
    both, of_second = pair_counts.both, pair_counts.of_second
    cells = np.empty((n_levels, n_levels, words), np.uint32)
    sizes = np.empty(n_cells, np.int64)
    candidate = np.empty(2, np.int32)
    counts = np.empty((n_cells + 1, n_levels), np.int64)
    unseen_weight = scoring.alpha if scoring.penalty == NO_OBS else 0.0
    coefficients, hits, indices = tables.coefficients, lanes.hits, lanes.indices
    looked_up = tables.entropies.shape[0] > 0

    for block in range(first_begin, first_end, FIRST_BLOCK):
        block_end = min(block + FIRST_BLOCK, first_end)
        for first in range(block, block_end):
            here = first - block
            for y in range(upper):
                row = here * upper + y
                count_lanes(predictors, first, 0, planes, y + 1, pair_counts.rest, row)
                for x in range(upper):
                    row = (here * upper + x) * upper + y
                    count_lanes(predictors, first, x + 1, planes, y + 1, pair_counts.of_first, row)
        for second in range(block + 1, n_predictors):
            for x in range(upper):
                for y in range(upper):
                    count_lanes(predictors, second, x + 1, planes, y + 1, of_second, x * upper + y)
            for first in range(block, min(block_end, second)):
                here = first - block
                _fill_cells_of_pair(predictors, first, second, cells, sizes)
                fixed = fixed_parts(sizes, scoring)
                row = 0
                for x1 in range(1, n_levels):
                    for x2 in range(1, n_levels):
                        for y in range(1, n_levels):
                            count_lanes(cells, x1, x2, planes, y, both, row)
                            row += 1
                if n_levels == 2:
                    n_hits = screen_binary(pair_counts, here, sizes, coefficients, fixed, lanes)
                else:
                    n_hits = screen_ternary(pair_counts, here, sizes, coefficients, fixed, lanes)
                if n_hits == 0:
                    continue
                collect_hits(hits, indices)
                candidate[0] = first
                candidate[1] = second
                if looked_up:
                    score_looked_up(n_hits, pair_counts, here, sizes, tables, unseen_weight, lanes)
                else:
                    score_counted(n_hits, cells, targets, scoring, lanes, counts)
                offer_hits(n_hits, candidate, n_cells, targets, lanes, lists)
    for t in range(targets.planes.shape[0]):
        finish(t, lists)


@njit(nogil=True)
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


@njit(nogil=True)
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


@njit(nogil=True, error_model="numpy")
def search_sets(  # type: ignore[no-untyped-def]
    predictors, targets, first_begin, first_end, scoring, tables, lists
):
    """As ``search_pairs``, for sets of any number of levels and of predictors."""
    n_predictors, n_levels, words = predictors.shape
    c = lists.sets.shape[2]
    n_cells = n_levels**c
    lanes = start_lanes(targets, n_cells, scoring)
    work = np.empty((6 + n_levels, lanes.limits.shape[0]), np.float32)
    cells = np.empty((1, n_cells, words), np.uint32)
    sizes = np.empty(n_cells, np.int64)
    candidate = np.arange(first_begin, first_begin + c).astype(np.int32)
    counts = np.empty((n_cells + 1, n_levels), np.int64)
    coefficients, hits, indices = tables.coefficients, lanes.hits, lanes.indices

    going = first_begin < first_end and candidate[-1] < n_predictors
    while going:
        fill_cells(predictors, candidate, cells, sizes)
        if targets.complete:
            fixed = fixed_parts(sizes, scoring)
            n_hits = screen_complete(cells, sizes, coefficients, fixed, lanes, work)
        else:
            n_hits = screen_missing(cells, sizes, scoring, lanes, work)
        if n_hits > 0:
            collect_hits(hits, indices)
            score_counted(n_hits, cells, targets, scoring, lanes, counts)
            offer_hits(n_hits, candidate, n_cells, targets, lanes, lists)
        going = next_set(candidate, n_predictors, first_end)
    for t in range(targets.planes.shape[0]):
        finish(t, lists)
