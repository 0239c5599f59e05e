"""Screens for sets of any number of levels and predictors, a cell at a time over many targets.

With nothing missing a cell's bound is that of ``mean_conditional_entropy_screens``, with one more
term for four classes, whose entropy is at least

    2 (1 - sum_y p_y^2) + 6.79 sum_{y<y'<y''} p_y p_y' p_y'' + 19.29 p_0 p_1 p_2 p_3 bits,

equal at the centre of every face (19.2962... = 256 (2 - 3/2 - 6.7939... 4/64)). With missing levels
a cell's size differs from target to target, and the screen is the score itself in float32.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_OBS, POOR_OBS
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_lanes import (
    SCREEN,
    count_lanes,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_screens import CENTRE

CENTRE_OF_FOUR = 19.29

COUNTS, TOTAL, ENTROPIES, SUMS, SAMPLES, OBSERVED, OF_TARGET = range(7)
"""Rows of the screen's work space, with a number for each lane; the last for each level."""


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _add_bound(n_levels, n, coefficients, work):  # type: ignore[no-untyped-def]
    """Add to each lane the bound of a cell of n samples, its counts from level 1 in rows 0 to 2."""
    a, b, c, d = coefficients[n, 0], coefficients[n, 1], coefficients[n, 2], coefficients[n, 3]
    if n_levels == 2:
        for t in range(work.shape[1]):
            u = work[0, t]
            work[SUMS, t] += u * (a - b * u)
    elif n_levels == 3:
        for t in range(work.shape[1]):
            u, v = work[0, t], work[1, t]
            s = u + v
            work[SUMS, t] += s * (a - b * s) + u * v * (c - d * s)
    else:
        size = np.float32(n)
        half = np.float32(0.5)
        first, second = half * a * size, half * b
        fourth = d * np.float32(CENTRE_OF_FOUR / CENTRE) / size
        for t in range(work.shape[1]):
            u, v, z = work[0, t], work[1, t], work[2, t]
            o = size - u - v - z
            uv = u * v
            zo = z * o
            squares = u * u + v * v + z * z + o * o
            triples = uv * (z + o) + zo * (u + v)
            work[SUMS, t] += first - second * squares + d * triples + fourth * (uv * zo)


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_complete(  # type: ignore[no-untyped-def]
    cells, sizes, planes, coefficients, unseen, fixed, entropies, limits, work, hits
):
    """Mark in hits uint8 (lanes,) the targets whose bound is within the limit; returns how many.

    cells, sizes         uint32 (1, M, words), int64 (M,): bit planes and sizes of the set's cells
    planes               uint32 (q, words, lanes): of the targets
    coefficients         ``bound_coefficients``; unseen, fixed  ``fixed_parts``
    entropies, limits    float32 (lanes,): H(Y) of the targets, and their limits
    work                 float32 (4 or more, lanes): scratch
    """
    n_cells, n_levels = cells.shape[1], planes.shape[0]
    for t in range(limits.shape[0]):
        work[SUMS, t] = unseen * entropies[t] + fixed
    for x in range(n_cells):
        if sizes[x] < 2:
            continue  # nothing, or a sample alone: no entropy, or the constant
        for y in range(1, n_levels):
            count_lanes(cells, 0, x, planes, y, work, y - 1)
        _add_bound(n_levels, sizes[x], coefficients, work)
    n_hits = 0
    for t in range(limits.shape[0]):
        hit = work[SUMS, t] <= limits[t]
        hits[t] = hit
        n_hits += hit
    return n_hits


@njit(cache=True, nogil=True, inline="always")
def n_log_n(n):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _subtract_level(work, row):  # type: ignore[no-untyped-def]
    """Add the counts of one target level to a cell's total, and subtract their n log n."""
    for t in range(work.shape[1]):
        n = work[row, t]
        work[TOTAL, t] += n
        work[ENTROPIES, t] -= n_log_n(n)


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def _add_cell(alpha, poor, work):  # type: ignore[no-untyped-def]
    """Add a cell to the score's sum in each lane, and make its total ready for the next cell.

    poor: what ``poor_obs`` gives a cell seen once, negative without that penalty
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    for t in range(work.shape[1]):
        n = work[TOTAL, t]
        h = work[ENTROPIES, t] + n_log_n(n)
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
        h = work[ENTROPIES, t] + n_log_n(work[TOTAL, t])
        missed = alpha * (np.float32(n_cells) - work[OBSERVED, t])
        work[SUMS, t] += missed * h / max(work[SAMPLES, t], one)


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_missing(  # type: ignore[no-untyped-def]
    cells, sizes, planes, penalty, alpha, poor, min_samples, limits, work, hits
):
    """As ``screen_complete`` where levels may be missing, by the score itself in float32.

    planes: uint32 (q, words, lanes); limits: bits of MCE; work: float32 (6 + q, lanes)
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
