"""Screens: lower bounds of the score of one set for many targets, cheap enough for every set.

The entropy of three classes is at least 2 (1 - p0^2 - p1^2 - p2^2) + 6.79 p0 p1 p2 bits, equal at
the corners, at the middle of the sides and (6.7939... = 27 (log2 3 - 4/3)) at the centre; without
the third class it is 4 p (1 - p). For a cell with n samples, u and v of them at target levels 1 and
2, s = u + v, weight w (1, or 1 + alpha / n with no_obs), that is

    w n H >= s (A - B s) + u v (C - D s),
    A = 4 w, B = 4 w / n, D = 6.79 w / n^2, C = B + n D.

Summed over the cells it bounds S MCE from below, or (S + alpha M) MCE with no_obs, where cells not
observed add their known part; a cell that poor_obs gives a constant adds that.

Four classes have one more term; their entropy is at least

    2 (1 - sum_y p_y^2) + 6.79 sum_{y<y'<y''} p_y p_y' p_y'' + 19.29 p_0 p_1 p_2 p_3 bits,

equal at the centre of every face (19.2962... = 256 (2 - 3/2 - 6.7939... 4/64)). With missing levels
a cell's size differs from target to target, and the screen is the score itself in float32.

Pairs of two or three levels with nothing missing have a screen with all cells in one pass over the
lanes, from counts that most cells share; other sets go cell by cell over all lanes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.methods.predictor_pairs.kernels.lanes import SCREEN, count_lanes
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_OBS, POOR_OBS

CENTRE = 6.793
CENTRE_OF_FOUR = 19.29

COUNTS, TOTAL, ENTROPIES, SUMS, SAMPLES, OBSERVED, OF_TARGET = range(7)
"""Rows of the screen's work space, with a number for each lane; the last for each level."""


class PairCounts(NamedTuple):
    """Samples of predictors and targets at levels from 1, float32 (rows, lanes).

    both: of first predictor, second and target (rows in the order of their levels). of_first,
    of_second: of a predictor and the target. rest: of the target, with the first predictor at
    level 0. of_first and rest have rows for each first predictor of a block.
    """

    both: NDArray[np.float32]
    of_first: NDArray[np.float32]
    rest: NDArray[np.float32]
    of_second: NDArray[np.float32]


def bound_coefficients(n_samples: int, penalty: int, alpha: float) -> NDArray[np.float32]:
    """A, B, C and D of a cell of n samples: float32 (n_samples + 1, 4), row n.

    Zero for empty cells and for those that poor_obs gives a constant.
    """
    coefficients = np.zeros((n_samples + 1, 4))
    n = np.arange(1, n_samples + 1, dtype=np.float64)
    weight = (n + alpha) / n if penalty == NO_OBS else np.ones(n_samples)
    if penalty == POOR_OBS:
        weight[:1] = 0.0
    coefficients[1:, 0] = 4.0 * weight
    coefficients[1:, 1] = 4.0 * weight / n
    coefficients[1:, 2] = (4.0 + CENTRE) * weight / n
    coefficients[1:, 3] = CENTRE * weight / n**2
    return coefficients.astype(np.float32)


@njit(nogil=True, error_model="numpy")
def fixed_parts(sizes, scoring):  # type: ignore[no-untyped-def]
    """What cells of these sizes add for any target: a factor of H(Y), and bits (float32)."""
    n_empty = 0
    n_alone = 0
    for x in range(sizes.shape[0]):
        n_empty += sizes[x] == 0
        n_alone += sizes[x] == 1
    return (
        np.float32(scoring.alpha * n_empty if scoring.penalty == NO_OBS else 0.0),
        np.float32(scoring.poor * n_alone if scoring.penalty == POOR_OBS else 0.0),
    )


@njit(nogil=True, inline="always")
def binary_counts(both, of_first, rest, of_second, here, t):  # type: ignore[no-untyped-def]
    """Samples at target level 1 in the cells of a pair of two levels, in lexicographic order."""
    u11 = both[0, t]
    u01 = of_second[0, t] - u11
    return rest[here, t] - u01, u01, of_first[here, t] - u11, u11


@njit(nogil=True, inline="always")
def ternary_counts(both, of_first, rest, of_second, here, t, level):  # type: ignore[no-untyped-def]
    """The same for three levels, at target level 1 (``level`` 0) or 2 (1)."""
    n11, n12, n21, n22 = both[level, t], both[2 + level, t], both[4 + level, t], both[6 + level, t]
    n01 = of_second[level, t] - n11 - n21
    n02 = of_second[2 + level, t] - n12 - n22
    n00 = rest[2 * here + level, t] - n01 - n02
    n10 = of_first[4 * here + level, t] - n11 - n12
    n20 = of_first[4 * here + 2 + level, t] - n21 - n22
    return n00, n01, n02, n10, n11, n12, n20, n21, n22


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_binary(  # type: ignore[no-untyped-def]
    counts, here, sizes, coefficients, fixed, lanes
):
    """Mark in ``lanes.hits`` the targets whose bound is within the limit; returns how many.

    counts: ``PairCounts``, of_first and rest in the rows of first predictor ``here``; sizes int64
    (M,): of the pair's cells; coefficients: ``bound_coefficients``; fixed: ``fixed_parts``
    """
    both, of_first, rest, of_second = counts
    unseen, bits = fixed
    entropies, limits, hits = lanes.entropies_32, lanes.limits, lanes.hits
    a00, b00 = coefficients[sizes[0], 0], coefficients[sizes[0], 1]
    a01, b01 = coefficients[sizes[1], 0], coefficients[sizes[1], 1]
    a10, b10 = coefficients[sizes[2], 0], coefficients[sizes[2], 1]
    a11, b11 = coefficients[sizes[3], 0], coefficients[sizes[3], 1]
    n_hits = 0
    for t in range(limits.shape[0]):
        u00, u01, u10, u11 = binary_counts(both, of_first, rest, of_second, here, t)
        bound = unseen * entropies[t] + bits
        bound += u00 * (a00 - b00 * u00)
        bound += u01 * (a01 - b01 * u01)
        bound += u10 * (a10 - b10 * u10)
        bound += u11 * (a11 - b11 * u11)
        hit = bound <= limits[t]
        hits[t] = hit
        n_hits += hit
    return n_hits


@njit(nogil=True, inline="always")
def _cell(u, v, a, b, c, d):  # type: ignore[no-untyped-def]
    s = u + v
    return s * (a - b * s) + u * v * (c - d * s)


@njit(nogil=True, inline="always")
def _four(table, row):  # type: ignore[no-untyped-def]
    return table[row, 0], table[row, 1], table[row, 2], table[row, 3]


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_ternary(  # type: ignore[no-untyped-def]
    counts, here, sizes, coefficients, fixed, lanes
):
    """As ``screen_binary`` for three levels; u counts samples at target level 1, v at level 2."""
    both, of_first, rest, of_second = counts
    unseen, bits = fixed
    entropies, limits, hits = lanes.entropies_32, lanes.limits, lanes.hits
    a00, b00, c00, d00 = _four(coefficients, sizes[0])
    a01, b01, c01, d01 = _four(coefficients, sizes[1])
    a02, b02, c02, d02 = _four(coefficients, sizes[2])
    a10, b10, c10, d10 = _four(coefficients, sizes[3])
    a11, b11, c11, d11 = _four(coefficients, sizes[4])
    a12, b12, c12, d12 = _four(coefficients, sizes[5])
    a20, b20, c20, d20 = _four(coefficients, sizes[6])
    a21, b21, c21, d21 = _four(coefficients, sizes[7])
    a22, b22, c22, d22 = _four(coefficients, sizes[8])
    n_hits = 0
    for t in range(limits.shape[0]):
        u00, u01, u02, u10, u11, u12, u20, u21, u22 = ternary_counts(
            both, of_first, rest, of_second, here, t, 0
        )
        v00, v01, v02, v10, v11, v12, v20, v21, v22 = ternary_counts(
            both, of_first, rest, of_second, here, t, 1
        )
        bound = unseen * entropies[t] + bits
        bound += _cell(u00, v00, a00, b00, c00, d00)
        bound += _cell(u01, v01, a01, b01, c01, d01)
        bound += _cell(u02, v02, a02, b02, c02, d02)
        bound += _cell(u10, v10, a10, b10, c10, d10)
        bound += _cell(u11, v11, a11, b11, c11, d11)
        bound += _cell(u12, v12, a12, b12, c12, d12)
        bound += _cell(u20, v20, a20, b20, c20, d20)
        bound += _cell(u21, v21, a21, b21, c21, d21)
        bound += _cell(u22, v22, a22, b22, c22, d22)
        hit = bound <= limits[t]
        hits[t] = hit
        n_hits += hit
    return n_hits


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
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


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_complete(  # type: ignore[no-untyped-def]
    cells, sizes, coefficients, fixed, lanes, work
):
    """As ``screen_binary`` for sets of any number of levels and predictors.

    cells uint32 (1, M, words): bit planes of the set's cells; work: float32 scratch (4 or more,
    lanes)
    """
    planes, entropies, limits, hits = lanes.planes, lanes.entropies_32, lanes.limits, lanes.hits
    unseen, bits = fixed
    n_cells, n_levels = cells.shape[1], planes.shape[0]
    for t in range(limits.shape[0]):
        work[SUMS, t] = unseen * entropies[t] + bits
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


@njit(nogil=True, inline="always")
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


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
def _subtract_level(work, row):  # type: ignore[no-untyped-def]
    """Add the counts of one target level to a cell's total, and subtract their n log n."""
    for t in range(work.shape[1]):
        n = work[row, t]
        work[TOTAL, t] += n
        work[ENTROPIES, t] -= n_log_n(n)


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
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


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
def _add_not_observed(n_cells, alpha, work):  # type: ignore[no-untyped-def]
    """Add the part of cells not observed, which have the target's entropy (no_obs)."""
    for y in range(OF_TARGET, work.shape[0]):
        _subtract_level(work, y)
    one = np.float32(1.0)
    for t in range(work.shape[1]):
        h = work[ENTROPIES, t] + n_log_n(work[TOTAL, t])
        missed = alpha * (np.float32(n_cells) - work[OBSERVED, t])
        work[SUMS, t] += missed * h / max(work[SAMPLES, t], one)


@njit(nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_missing(cells, sizes, scoring, lanes, work):  # type: ignore[no-untyped-def]
    """As ``screen_complete`` where levels may be missing, by the score itself in float32.

    work: float32 scratch (6 + q, lanes)
    """
    planes, limits, hits = lanes.planes, lanes.limits, lanes.hits
    penalty = scoring.penalty
    n_cells, n_levels = cells.shape[1], planes.shape[0]
    work[:] = np.float32(0.0)
    weight = np.float32(scoring.alpha if penalty == NO_OBS else 0.0)
    alone = np.float32(scoring.poor if penalty == POOR_OBS else -1.0)
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
    least = np.float32(scoring.min_samples)
    for t in range(limits.shape[0]):
        n = work[SAMPLES, t]
        hit = (work[SUMS, t] <= limits[t] * (n + added)) & (n >= least)
        hits[t] = hit
        n_hits += hit
    return n_hits
