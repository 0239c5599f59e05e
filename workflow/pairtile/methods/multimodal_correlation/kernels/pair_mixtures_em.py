"""One step of expectation maximisation of a mixture of K Gaussians in two dimensions, float32.

Samples are dealt to 32 lanes; sums over them are the lanes' sums, added pairwise (lane l to lane
l xor 16, 8, 4, 2, 1). Logarithms are to base 2. The CUDA kernel does the same operations in the
same order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_vectors import (
    LANES,
    exp2,
    fma,
    load,
    log2,
    maximum,
    splat,
    store,
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

HALF_LOG2_E_ROOT = np.float32(0.84932180)
LOG2_TWO_PI = np.float32(2.6514961)
HALF, ONE, ZERO = np.float32(0.5), np.float32(1.0), np.float32(0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def e_step(x, y, live, n_vectors, n_components, theta, density, highest, rows, sums):  # type: ignore[no-untyped-def]
    """Responsibilities by log-sum-exp, and all the sums over samples that the M step needs.

    x, y: float32 (vectors * 32,), 0 beyond the samples; live: 1 for a sample, 0 beyond
    theta: float32 (K * 10,)
    density, highest, rows: float32 scratch of K * vectors * 32, vectors * 32 and 32 * 32
    sums: float32 (32,): 6 sums of each component, then at 6 K and 6 K + 1 the two parts of the
    log-likelihood in bits; the second is the entropy of the classification in bits.
    """
    length = n_vectors * LANES
    for k in range(n_components):
        row = k * THETA_COLUMNS
        mean_x, mean_y = splat(theta[row + MEAN_X]), splat(theta[row + MEAN_Y])
        scale_x, scale_y = splat(theta[row + SCALE_X]), splat(theta[row + SCALE_Y])
        slope, constant = splat(-theta[row + SLOPE]), splat(theta[row + CONSTANT])
        for v in range(0, length, LANES):
            dx = load(x, v) - mean_x
            u = dx * scale_x
            w = fma(slope, dx, load(y, v) - mean_y) * scale_y
            d = fma(-w, w, fma(-u, u, constant))
            store(density, k * length + v, d)
            store(highest, v, d if k == 0 else maximum(load(highest, v), d))
    total_highest, total_log = splat(ZERO), splat(ZERO)
    for v in range(0, length, LANES):
        top = load(highest, v)
        weight = load(live, v)
        total = splat(ZERO)
        for k in range(n_components):
            e = exp2(load(density, k * length + v) - top)
            store(density, k * length + v, e)
            total = total + e
        total_highest = fma(top, weight, total_highest)
        total_log = fma(log2(total), weight, total_log)
        store(highest, v, weight / total)
    for k in range(n_components):
        row = k * THETA_COLUMNS
        mean_x, mean_y = splat(theta[row + MEAN_X]), splat(theta[row + MEAN_Y])
        n, a, b = splat(ZERO), splat(ZERO), splat(ZERO)
        xx, xy, yy = splat(ZERO), splat(ZERO), splat(ZERO)
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
    sum_16_rows(rows, 0, sums, 0)
    if last + 2 > SUM_ROWS // 2:
        sum_16_rows(rows, SUM_ROWS // 2 * LANES, sums, SUM_ROWS // 2)


@njit(cache=True, nogil=True, error_model="numpy")
def m_step(sums, n_components, n, least, prior_scatter, prior_n, ridge, theta):  # type: ignore[no-untyped-def]
    """New parameters from the sums of ``e_step``; False where the run fails.

    It fails where a component has fewer than ``least`` samples' worth of responsibility, or a
    covariance that is not positive definite.
    """
    for k in range(n_components):
        row, place = k * THETA_COLUMNS, k * N_STATISTICS
        n_k, a, b = sums[place], sums[place + 1], sums[place + 2]
        if not (n_k >= least and n_k > ZERO):
            return False
        inverse = ONE / n_k
        shift_x, shift_y = a * inverse, b * inverse
        theta[row + MEAN_X] = theta[row + MEAN_X] + shift_x
        theta[row + MEAN_Y] = theta[row + MEAN_Y] + shift_y
        q = ONE / (n_k + prior_n)
        theta[row + VARIANCE_X] = fma(fma(-a, shift_x, sums[place + 3]) + prior_scatter, q, ridge)
        theta[row + COVARIANCE] = fma(-a, shift_y, sums[place + 4]) * q
        theta[row + VARIANCE_Y] = fma(fma(-b, shift_y, sums[place + 5]) + prior_scatter, q, ridge)
        theta[row + WEIGHT] = n_k / n
    return derive(theta, n_components)


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def label_samples(x, y, n, n_components, theta, labels):  # type: ignore[no-untyped-def]
    """The component of largest density for each of n samples, the first of equals."""
    for i in range(n):
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
