"""Where the fits of a mixture begin: greedy k-means++ (Arthur & Vassilvitskii 2007; the better of
two candidates for each centre), random numbers by counting.

A random number depends on the seed, the pair's keys, K, the restart and the draw alone, never on
the order of work.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_em import (
    COVARIANCE,
    MEAN_X,
    MEAN_Y,
    N_STATISTICS,
    ONE,
    SUM_ROWS,
    THETA_COLUMNS,
    VARIANCE_X,
    VARIANCE_Y,
    WEIGHT,
    ZERO,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_modes import lane_sum
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_vectors import (
    LANES,
    fma,
    sum_16_rows,
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
TO_UNIT = np.float32(2.0**-24)

MAX_RESTARTS = 1024
CANDIDATES = 2
"""Samples drawn for each centre but the first; the one that leaves less squared distance stays."""

KINC_DRAWS = np.array([16838, 5758, 10113, 17515, 31051], dtype=np.int64)
"""What C's example generator gives for seed 1, which KINC begins every fit with."""


@njit(cache=True, nogil=True)
def mix64(z):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64 (Steele et al. 2014) of a uint64."""
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def pair_seed(seed, first, second):  # type: ignore[no-untyped-def]
    """The pair's stream of random numbers; the same for both orders of the keys."""
    low, high = min(first, second), max(first, second)
    return mix64(mix64(mix64(seed + GOLDEN) ^ low) + high)


@njit(cache=True, nogil=True)
def draw(stream, n_components, restart, number):  # type: ignore[no-untyped-def]
    """uint64 for draw ``number`` (0 to 15) of a restart of the fit of K components."""
    place = np.uint64(1 + number + 16 * (restart + MAX_RESTARTS * n_components))
    return mix64(stream + GOLDEN * place)


@njit(cache=True, nogil=True, error_model="numpy")
def _next_centre(distance, n, uniform):  # type: ignore[no-untyped-def]
    """A sample drawn with probability proportional to its distance; -1 where all are 0.

    Samples are in the order of the lanes, and within a lane ascending.
    """
    totals = np.zeros(LANES, np.float32)
    for i in range(n):
        totals[i % LANES] += distance[i]
    scan = totals.copy()
    for offset in (1, 2, 4, 8, 16):
        for lane in range(LANES - 1, offset - 1, -1):
            scan[lane] = scan[lane] + scan[lane - offset]
    if not scan[LANES - 1] > ZERO:
        return -1
    target = uniform * scan[LANES - 1]
    lane = -1
    for candidate in range(LANES):
        if totals[candidate] > ZERO:
            lane = candidate
            if scan[candidate] > target:
                break
    reached = scan[lane - 1] if lane > 0 else ZERO
    found = -1
    for i in range(lane, n, LANES):
        if distance[i] > ZERO:
            reached = reached + distance[i]
            found = i
            if reached > target:
                break
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _left_over(x, y, n, centre, distance):  # type: ignore[no-untyped-def]
    """Sum of squared distances to the nearest centre, were this sample one more."""
    lanes = np.zeros(LANES, np.float32)
    for i in range(n):
        dx, dy = x[i] - x[centre], y[i] - y[centre]
        d = fma(dx, dx, dy * dy)
        lanes[i % LANES] += d if d < distance[i] else distance[i]
    return lane_sum(lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def _best_candidate(x, y, n, n_components, stream, restart, j, distance):  # type: ignore[no-untyped-def]
    """Centre j: of the samples drawn, the one that leaves least; -1 where no distance is left."""
    best, least = -1, ZERO
    for candidate in range(CANDIDATES):
        number = draw(stream, n_components, restart, CANDIDATES * j + candidate)
        uniform = np.float32(number >> np.uint64(40)) * TO_UNIT
        centre = _next_centre(distance, n, uniform)
        if centre < 0:
            return -1
        left = _left_over(x, y, n, centre, distance)
        if best < 0 or left < least:
            best, least = centre, left
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _add_centre(x, y, n, centre, j, distance, label):  # type: ignore[no-untyped-def]
    """Give each sample that is nearer to the new centre to it."""
    for i in range(n):
        dx, dy = x[i] - x[centre], y[i] - y[centre]
        d = fma(dx, dx, dy * dy)
        if j == 0 or d < distance[i]:
            distance[i] = d
            label[i] = j


@njit(cache=True, nogil=True, error_model="numpy")
def start_by_distance(  # type: ignore[no-untyped-def]
    x, y, n, n_components, stream, restart, distance, label, theta, rows, sums
):
    """Centres by k-means++, and the sums of ``e_step`` as if each sample were its centre's alone.

    The means in ``theta`` are the centres then. False where there are too few distinct samples.
    """
    for j in range(n_components):
        if j == 0:
            number = draw(stream, n_components, restart, 0)
            centre = np.int64(((number >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
        else:
            centre = _best_candidate(x, y, n, n_components, stream, restart, j, distance)
            if centre < 0:
                return False
        theta[j * THETA_COLUMNS + MEAN_X] = x[centre]
        theta[j * THETA_COLUMNS + MEAN_Y] = y[centre]
        _add_centre(x, y, n, centre, j, distance, label)
    _sum_labelled(x, y, n, n_components, label, theta, rows, sums)
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def start_as_one(x, y, n, label, theta, rows, sums):  # type: ignore[no-untyped-def]
    """The sums of ``e_step`` for one component that has every sample."""
    theta[MEAN_X] = ZERO
    theta[MEAN_Y] = ZERO
    for i in range(n):
        label[i] = 0
    _sum_labelled(x, y, n, 1, label, theta, rows, sums)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_labelled(x, y, n, n_components, label, theta, rows, sums):  # type: ignore[no-untyped-def]
    for i in range(n_components * N_STATISTICS * LANES):
        rows[i] = ZERO
    for i in range(n):
        k, lane = label[i], i % LANES
        dx = x[i] - theta[k * THETA_COLUMNS + MEAN_X]
        dy = y[i] - theta[k * THETA_COLUMNS + MEAN_Y]
        place = k * N_STATISTICS * LANES + lane
        rows[place] += ONE
        rows[place + LANES] += dx
        rows[place + 2 * LANES] += dy
        rows[place + 3 * LANES] = fma(dx, dx, rows[place + 3 * LANES])
        rows[place + 4 * LANES] = fma(dx, dy, rows[place + 4 * LANES])
        rows[place + 5 * LANES] = fma(dy, dy, rows[place + 5 * LANES])
    sum_16_rows(rows, 0, sums, 0)
    if n_components * N_STATISTICS > SUM_ROWS // 2:
        sum_16_rows(rows, SUM_ROWS // 2 * LANES, sums, SUM_ROWS // 2)


@njit(cache=True, nogil=True, error_model="numpy")
def start_as_kinc(x, y, n, n_components, theta):  # type: ignore[no-untyped-def]
    """KINC's start: equal weights, covariances of identity, the samples its generator hits."""
    for k in range(n_components):
        row = k * THETA_COLUMNS
        sample = KINC_DRAWS[k] % n
        theta[row + WEIGHT] = ONE / np.float32(n_components)
        theta[row + MEAN_X] = x[sample]
        theta[row + MEAN_Y] = y[sample]
        theta[row + VARIANCE_X] = ONE
        theta[row + VARIANCE_Y] = ONE
        theta[row + COVARIANCE] = ZERO
