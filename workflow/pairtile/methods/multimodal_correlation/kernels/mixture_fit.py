"""Mixtures of 1 to 5 Gaussians in the plane for one pair: fit each number of components, choose
one. float32; the CUDA kernel does the same operations in the same order.

Each number K has several starts by greedy k-means++ (Arthur & Vassilvitskii 2007). Each start gets
a few steps of expectation maximisation, then the best goes on alone to its end (Biernacki, Celeux &
Govaert 2003). AIC, BIC or ICL (Biernacki, Celeux & Govaert 2000) chooses K.

Samples are spread over 32 lanes, sample i in lane i % 32. A sum over samples is the lanes' sums,
added pairwise (lane l to lane l xor 16, 8, 4, 2, 1), so that every machine rounds alike. Logarithms
are to base 2. A random number depends on the seed, the pair's keys, K, the restart and the draw
alone, never on the order of work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairtile.arrays import Float32Array, Int32Array
from pairtile.cpu.njit import njit, subroutine
from pairtile.cpu.vectors import LANES, load, maximum, splat, store
from pairtile.methods.multimodal_correlation.kernels.vectors import (
    exp2,
    fma,
    lane_sum,
    log2,
    sum_16_rows,
)

WEIGHT, MEAN_X, MEAN_Y, VARIANCE_X, VARIANCE_Y, COVARIANCE = range(6)
"""Columns of a component's row of ``theta``: its parameters ..."""
SCALE_X, SLOPE, SCALE_Y, CONSTANT = range(6, 10)
"""... and what its log density is made from: constant - u^2 - v^2, u = dx * scale_x,
v = (dy - slope * dx) * scale_y."""
THETA_COLUMNS = 10

N_STATISTICS = 6
"""Sums kept of each component: g, g dx, g dy, g dx dx, g dx dy, g dy dy."""
SUM_ROWS = 32
"""Rows of lane sums: 6 of each component, then those of the largest log density and of log2 of the
sum of densities over it."""

AIC, BIC, ICL = range(3)
FAILED, CONVERGED, UNFINISHED = range(3)

FITS, FITS_FAILED, FITS_UNFINISHED, EM_STEPS = range(7, 11)
"""Places in the counts of a tile (the others are in ``pair_mixtures``)."""

HALF_LOG2_E_ROOT = np.float32(0.84932180)
LOG2_TWO_PI = np.float32(2.6514961)
HALF, ONE, ZERO = np.float32(0.5), np.float32(1.0), np.float32(0.0)
LN2 = 0.6931471805599453
LN2_SINGLE = np.float32(0.69314718)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
TO_UNIT = np.float32(2.0**-24)
MAX_RESTARTS = 1024
CANDIDATES = 2
"""Samples drawn for each centre but the first; the one that leaves less squared distance stays."""

KINC_TOLERANCE = np.float32(1e-8)
KINC_DRAWS = np.array([16838, 5758, 10113, 17515, 31051], dtype=np.int64)
"""What C's example generator gives for seed 1, which KINC begins every fit with."""


class Samples(NamedTuple):
    """The n samples of a fit. x, y: float32 (n_vectors * 32,), 0 beyond the samples; live: 1 for a
    sample, 0 beyond."""

    x: Float32Array
    y: Float32Array
    live: Float32Array
    n_vectors: int
    n: int


class Prior(NamedTuple):
    """What keeps components from shrinking to a point, float32; see ``mixtures``."""

    least: np.float32
    ridge: np.float32
    samples: np.float32
    scatter: np.float32


class FitWork(NamedTuple):
    """Scratch of one thread. density, highest, rows: float32 of 5 * vectors * 32, vectors * 32 and
    32 * 32; sums: float32 (32,), 6 of each component, then at 6 K and 6 K + 1 the two parts of the
    log-likelihood in bits, of which the second is the entropy of the classification; labels: int32,
    the component of each sample; trial, theta, best: float32 (5 * 10,), parameters."""

    density: Float32Array
    highest: Float32Array
    rows: Float32Array
    sums: Float32Array
    labels: Int32Array
    trial: Float32Array
    theta: Float32Array
    best: Float32Array


# --- choice of the number of components -----------------------------------------------------------


@subroutine()
def choose_mixture(samples, log_n, stream, rules, work, counts):  # type: ignore[no-untyped-def]
    """The number of components of least criterion, its parameters in ``work.best``.

    log_n: ln of the number of samples; stream: ``pair_seed``; rules: ``Rules``
    Returns K (0 where no fit succeeded), the log-likelihood in bits and the criterion.
    """
    best_k, best_bits, best_value = 0, np.float32(0.0), 0.0
    for k in range(rules.k_min, rules.k_max + 1):
        counts[FITS] += 1
        state, bits, entropy = _fit(samples, k, stream, rules, work, counts)
        if state == FAILED:
            counts[FITS_FAILED] += 1
            continue
        if state == UNFINISHED:
            counts[FITS_UNFINISHED] += 1
        value = criterion_value(rules.criterion, k, rules.kinc, log_n, bits, entropy)
        if best_k == 0 or value < best_value:
            best_k, best_bits, best_value = k, bits, value
            for i in range(k * THETA_COLUMNS):  # slices take long to compile
                work.best[i] = work.theta[i]
    return best_k, best_bits, best_value


@subroutine()
def criterion_value(kind, k, kinc, log_n, bits, entropy_bits):  # type: ignore[no-untyped-def]
    """AIC, BIC or ICL, float64; smaller is better. log_n: ln of the number of samples."""
    parameters = np.float64(7 * k if kinc else 6 * k - 1)
    twice = 2.0 * (np.float64(bits) * LN2)
    if kind == AIC:
        return 2.0 * parameters - twice
    value = parameters * log_n - twice
    if kind == ICL:
        value = value + 2.0 * (np.float64(entropy_bits) * LN2)
    return value


@subroutine(inline="always")
def _fit(samples, k, stream, rules, work, counts):  # type: ignore[no-untyped-def]
    """Fit K components; the state, the log-likelihood and the classification's entropy in bits."""
    theta, sums = work.theta, work.sums
    prior = Prior(rules.least, rules.ridge, rules.prior_n, rules.prior_scatter / np.float32(k))
    previous = ZERO
    if rules.kinc:
        start_as_kinc(samples, k, theta)
        if not derive(theta, k):
            return FAILED, ZERO, ZERO
    elif k == 1:
        start_as_one(samples, work)
        whole = Prior(ZERO, prior.ridge, prior.samples, prior.scatter)
        if not m_step(sums, k, np.float32(samples.n), whole, theta):
            return FAILED, ZERO, ZERO
        e_step(samples, k, theta, work)
        counts[EM_STEPS] += 1
        return CONVERGED, sums[N_STATISTICS] + sums[N_STATISTICS + 1], sums[N_STATISTICS + 1]
    else:
        found, previous = _short_runs(samples, k, stream, rules, prior, work, counts)
        if not found:
            return FAILED, ZERO, ZERO
    return _iterate(samples, k, rules, prior, previous, work, counts)


@subroutine(inline="always")
def _short_runs(samples, k, stream, rules, prior, work, counts):  # type: ignore[no-untyped-def]
    """The best of several short runs, in ``theta``; whether there is one, and its likelihood."""
    sums, trial = work.sums, work.trial
    n = np.float32(samples.n)
    last = k * N_STATISTICS
    any_run, best = False, np.float32(0.0)
    for restart in range(rules.restarts):
        if not start_by_distance(samples, k, stream, restart, work):
            continue
        going = m_step(sums, k, n, prior, trial)
        bits = np.float32(0.0)
        for _step in range(rules.short_steps):
            if going:
                e_step(samples, k, trial, work)
                counts[EM_STEPS] += 1
                bits = sums[last] + sums[last + 1]
                going = m_step(sums, k, n, prior, trial)
        if going and (not any_run or bits > best):
            any_run, best = True, bits
            for i in range(k * THETA_COLUMNS):
                work.theta[i] = trial[i]
    return any_run, best


@subroutine(inline="always")
def _iterate(samples, k, rules, prior, previous, work, counts):  # type: ignore[no-untyped-def]
    """Alternate E and M steps until the likelihood has settled; the state and its two parts.

    ``theta`` is left as the last E step saw it.
    """
    theta, sums = work.theta, work.sums
    n = np.float32(samples.n)
    enough = rules.tolerance * n
    last = k * N_STATISTICS
    for step in range(rules.limit):
        e_step(samples, k, theta, work)
        counts[EM_STEPS] += 1
        bits = sums[last] + sums[last + 1]
        gain = bits - previous
        settled = gain < enough
        if rules.kinc:
            settled = step > 0 and abs(gain) * LN2_SINGLE < KINC_TOLERANCE
        if settled:
            return CONVERGED, bits, sums[last + 1]
        if step < rules.limit - 1:
            previous = bits
            if not m_step(sums, k, n, prior, theta):
                return FAILED, bits, sums[last + 1]
    return UNFINISHED, bits, sums[last + 1]


# --- one step of expectation maximisation ---------------------------------------------------------


@subroutine()
def e_step(samples, n_components, theta, work):  # type: ignore[no-untyped-def]
    """Responsibilities by log-sum-exp, and all the sums over samples that the M step needs.

    theta: float32 (K * 10,); of ``work``, density, highest and rows are scratch, sums is the result
    """
    x, y, density, highest, rows = samples.x, samples.y, work.density, work.highest, work.rows
    length = samples.n_vectors * LANES
    for k in range(n_components):
        row = k * THETA_COLUMNS
        mean_x, mean_y = splat(x, theta[row + MEAN_X]), splat(x, theta[row + MEAN_Y])
        scale_x, scale_y = splat(x, theta[row + SCALE_X]), splat(x, theta[row + SCALE_Y])
        slope, constant = splat(x, -theta[row + SLOPE]), splat(x, theta[row + CONSTANT])
        for v in range(0, length, LANES):
            dx = load(x, v) - mean_x
            u = dx * scale_x
            w = fma(slope, dx, load(y, v) - mean_y) * scale_y
            d = fma(-w, w, fma(-u, u, constant))
            store(density, k * length + v, d)
            store(highest, v, d if k == 0 else maximum(load(highest, v), d))
    total_highest, total_log = splat(x, ZERO), splat(x, ZERO)
    for v in range(0, length, LANES):
        top = load(highest, v)
        weight = load(samples.live, v)
        total = splat(x, ZERO)
        for k in range(n_components):
            e = exp2(load(density, k * length + v) - top)
            store(density, k * length + v, e)
            total = total + e
        total_highest = fma(top, weight, total_highest)
        total_log = fma(log2(total), weight, total_log)
        store(highest, v, weight / total)
    for k in range(n_components):
        row = k * THETA_COLUMNS
        mean_x, mean_y = splat(x, theta[row + MEAN_X]), splat(x, theta[row + MEAN_Y])
        n, a, b = splat(x, ZERO), splat(x, ZERO), splat(x, ZERO)
        xx, xy, yy = splat(x, ZERO), splat(x, ZERO), splat(x, ZERO)
        for v in range(0, length, LANES):
            g = load(density, k * length + v) * load(highest, v)
            dx, dy = load(x, v) - mean_x, load(y, v) - mean_y
            gx, gy = g * dx, g * dy
            n, a, b = n + g, a + gx, b + gy
            xx, xy, yy = fma(gx, dx, xx), fma(gx, dy, xy), fma(gy, dy, yy)
        place = k * N_STATISTICS * LANES
        store(rows, place, n)
        store(rows, place + LANES, a)
        store(rows, place + 2 * LANES, b)
        store(rows, place + 3 * LANES, xx)
        store(rows, place + 4 * LANES, xy)
        store(rows, place + 5 * LANES, yy)
    last = n_components * N_STATISTICS
    store(rows, last * LANES, total_highest)
    store(rows, (last + 1) * LANES, total_log)
    _sum_rows(rows, work.sums, last + 2)


@subroutine(inline="always")
def _sum_rows(rows, sums, n_rows):  # type: ignore[no-untyped-def]
    """The sum over the lanes of each of ``n_rows`` rows."""
    sum_16_rows(rows, 0, sums, 0)
    if n_rows > SUM_ROWS // 2:
        sum_16_rows(rows, SUM_ROWS // 2 * LANES, sums, SUM_ROWS // 2)


@subroutine()
def m_step(sums, n_components, n, prior, theta):  # type: ignore[no-untyped-def]
    """New parameters from the sums of ``e_step``; False where the run fails.

    It fails where a component has fewer than ``prior.least`` samples' worth of responsibility, or a
    covariance that is not positive definite.
    """
    scatter, ridge = prior.scatter, prior.ridge
    for k in range(n_components):
        row, place = k * THETA_COLUMNS, k * N_STATISTICS
        n_k, a, b = sums[place], sums[place + 1], sums[place + 2]
        if not (n_k >= prior.least and n_k > ZERO):
            return False
        inverse = ONE / n_k
        shift_x, shift_y = a * inverse, b * inverse
        theta[row + MEAN_X] = theta[row + MEAN_X] + shift_x
        theta[row + MEAN_Y] = theta[row + MEAN_Y] + shift_y
        q = ONE / (n_k + prior.samples)
        theta[row + VARIANCE_X] = fma(fma(-a, shift_x, sums[place + 3]) + scatter, q, ridge)
        theta[row + COVARIANCE] = fma(-a, shift_y, sums[place + 4]) * q
        theta[row + VARIANCE_Y] = fma(fma(-b, shift_y, sums[place + 5]) + scatter, q, ridge)
        theta[row + WEIGHT] = n_k / n
    return derive(theta, n_components)


@subroutine()
def derive(theta, n_components):  # type: ignore[no-untyped-def]
    """What densities are made from; False where a covariance is not positive definite."""
    for k in range(n_components):
        row = k * THETA_COLUMNS
        vxx, vyy = theta[row + VARIANCE_X], theta[row + VARIANCE_Y]
        vxy = theta[row + COVARIANCE]
        determinant = vxx * vyy - vxy * vxy
        if not (determinant > ZERO and vxx > ZERO):
            return False
        theta[row + SCALE_X] = HALF_LOG2_E_ROOT / np.sqrt(vxx)
        theta[row + SLOPE] = vxy / vxx
        theta[row + SCALE_Y] = HALF_LOG2_E_ROOT / np.sqrt(determinant / vxx)
        logarithms = log2(theta[row + WEIGHT]) - LOG2_TWO_PI
        theta[row + CONSTANT] = logarithms - HALF * log2(determinant)
    return True


@subroutine()
def label_samples(samples, n_components, theta, labels):  # type: ignore[no-untyped-def]
    """The component of largest density for each sample, the first of equals."""
    x, y = samples.x, samples.y
    for i in range(samples.n):
        best = ZERO
        for k in range(n_components):
            row = k * THETA_COLUMNS
            dx = x[i] - theta[row + MEAN_X]
            dy = y[i] - theta[row + MEAN_Y]
            u = dx * theta[row + SCALE_X]
            w = fma(-theta[row + SLOPE], dx, dy) * theta[row + SCALE_Y]
            d = fma(-w, w, fma(-u, u, theta[row + CONSTANT]))
            if k == 0 or d > best:
                best = d
                labels[i] = k


# --- where fits begin -----------------------------------------------------------------------------


@njit(nogil=True)
def mix64(z):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64 (Steele et al. 2014) of a uint64."""
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return z ^ (z >> np.uint64(31))


@njit(nogil=True)
def pair_seed(seed, first, second):  # type: ignore[no-untyped-def]
    """The pair's stream of random numbers; the same for both orders of the keys."""
    low, high = min(first, second), max(first, second)
    return mix64(mix64(mix64(seed + GOLDEN) ^ low) + high)


@njit(nogil=True)
def draw(stream, n_components, restart, number):  # type: ignore[no-untyped-def]
    """uint64 for draw ``number`` (0 to 15) of a restart of the fit of K components."""
    place = np.uint64(1 + number + 16 * (restart + MAX_RESTARTS * n_components))
    return mix64(stream + GOLDEN * place)


@subroutine()
def start_by_distance(samples, n_components, stream, restart, work):  # type: ignore[no-untyped-def]
    """Centres by k-means++, and the sums of ``e_step`` as if each sample were its centre's alone.

    The means in ``trial`` are the centres then. False where there are too few distinct samples.
    """
    x, y, theta, distance = samples.x, samples.y, work.trial, work.highest
    for j in range(n_components):
        if j == 0:
            number = draw(stream, n_components, restart, 0)
            centre = np.int64(((number >> np.uint64(32)) * np.uint64(samples.n)) >> np.uint64(32))
        else:
            centre = _best_candidate(samples, n_components, stream, restart, j, work)
            if centre < 0:
                return False
        theta[j * THETA_COLUMNS + MEAN_X] = x[centre]
        theta[j * THETA_COLUMNS + MEAN_Y] = y[centre]
        for i in range(samples.n):  # samples that are nearer to the new centre are its own
            dx, dy = x[i] - x[centre], y[i] - y[centre]
            d = fma(dx, dx, dy * dy)
            if j == 0 or d < distance[i]:
                distance[i] = d
                work.labels[i] = j
    _sum_labelled(samples, n_components, theta, work)
    return True


@subroutine()
def _best_candidate(samples, n_components, stream, restart, j, work):  # type: ignore[no-untyped-def]
    """Centre j: of the samples drawn, the one that leaves least; -1 where no distance is left."""
    best, least, distance, rows = -1, ZERO, work.highest, work.rows
    for candidate in range(CANDIDATES):
        number = draw(stream, n_components, restart, CANDIDATES * j + candidate)
        uniform = np.float32(number >> np.uint64(40)) * TO_UNIT
        centre = _next_centre(distance, samples.n, uniform, rows)
        if centre < 0:
            return -1
        left = _left_over(samples.x, samples.y, samples.n, centre, distance, rows)
        if best < 0 or left < least:
            best, least = centre, left
    return best


@subroutine()
def _next_centre(distance, n, uniform, rows):  # type: ignore[no-untyped-def]
    """A sample drawn with probability proportional to its distance; -1 where all are 0.

    Samples are in the order of the lanes, and within a lane ascending. rows: scratch
    """
    totals, scan = rows[:LANES], rows[LANES : 2 * LANES]
    totals[:] = ZERO
    for i in range(n):
        totals[i % LANES] += distance[i]
    for lane in range(LANES):
        scan[lane] = totals[lane]
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


@subroutine()
def _left_over(x, y, n, centre, distance, lanes):  # type: ignore[no-untyped-def]
    """Sum of squared distances to the nearest centre, were this sample one more."""
    lanes[:LANES] = ZERO
    for i in range(n):
        dx, dy = x[i] - x[centre], y[i] - y[centre]
        d = fma(dx, dx, dy * dy)
        lanes[i % LANES] += d if d < distance[i] else distance[i]
    return lane_sum(lanes)


@subroutine()
def start_as_one(samples, work):  # type: ignore[no-untyped-def]
    """The sums of ``e_step`` for one component that has every sample."""
    work.theta[MEAN_X] = ZERO
    work.theta[MEAN_Y] = ZERO
    for i in range(samples.n):
        work.labels[i] = 0
    _sum_labelled(samples, 1, work.theta, work)


@subroutine()
def _sum_labelled(samples, n_components, theta, work):  # type: ignore[no-untyped-def]
    """The sums of ``e_step`` where each sample is its label's alone."""
    rows = work.rows
    for i in range(n_components * N_STATISTICS * LANES):
        rows[i] = ZERO
    for i in range(samples.n):
        k, lane = work.labels[i], i % LANES
        dx = samples.x[i] - theta[k * THETA_COLUMNS + MEAN_X]
        dy = samples.y[i] - theta[k * THETA_COLUMNS + MEAN_Y]
        place = k * N_STATISTICS * LANES + lane
        rows[place] += ONE
        rows[place + LANES] += dx
        rows[place + 2 * LANES] += dy
        rows[place + 3 * LANES] = fma(dx, dx, rows[place + 3 * LANES])
        rows[place + 4 * LANES] = fma(dx, dy, rows[place + 4 * LANES])
        rows[place + 5 * LANES] = fma(dy, dy, rows[place + 5 * LANES])
    _sum_rows(rows, work.sums, n_components * N_STATISTICS)


@subroutine()
def start_as_kinc(samples, n_components, theta):  # type: ignore[no-untyped-def]
    """KINC's start: equal weights, covariances of identity, the samples its generator hits."""
    for k in range(n_components):
        row = k * THETA_COLUMNS
        sample = KINC_DRAWS[k] % samples.n
        theta[row + WEIGHT] = ONE / np.float32(n_components)
        theta[row + MEAN_X] = samples.x[sample]
        theta[row + MEAN_Y] = samples.y[sample]
        theta[row + VARIANCE_X] = ONE
        theta[row + VARIANCE_Y] = ONE
        theta[row + COVARIANCE] = ZERO
