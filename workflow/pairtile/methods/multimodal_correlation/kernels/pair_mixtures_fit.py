"""Mixtures of 1 to 5 Gaussians for one pair: fit each number of components, choose one.

Short runs from several starts, then the best of them to its end (Biernacki, Celeux & Govaert 2003);
the number of components by AIC, BIC or ICL (Biernacki, Celeux & Govaert 2000).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_em import (
    N_STATISTICS,
    THETA_COLUMNS,
    derive,
    e_step,
    m_step,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_start import (
    start_as_kinc,
    start_as_one,
    start_by_distance,
)

AIC, BIC, ICL = range(3)
FAILED, CONVERGED, UNFINISHED = range(3)
LN2 = 0.6931471805599453
LN2_SINGLE = np.float32(0.69314718)
KINC_TOLERANCE = np.float32(1e-8)

FITS, FITS_FAILED, FITS_UNFINISHED, EM_STEPS = range(7, 11)
"""Places in the counts of a tile (the others are in ``pair_mixtures``)."""


@njit(cache=True, nogil=True, error_model="numpy")
def _iterate(  # type: ignore[no-untyped-def]
    x, y, live, n_vectors, n, k, constants, kinc, limit, previous, theta, work, sums, counts
):
    """Alternate E and M steps until the likelihood has settled; the state and its two parts.

    ``theta`` is left as the last E step saw it.
    """
    least, ridge, prior_n, tolerance, prior_scatter = constants
    density, highest, rows = work
    enough = tolerance * n
    last = k * N_STATISTICS
    for step in range(limit):
        e_step(x, y, live, n_vectors, k, theta, density, highest, rows, sums)
        counts[EM_STEPS] += 1
        bits = sums[last] + sums[last + 1]
        gain = bits - previous
        settled = gain < enough
        if kinc:
            settled = step > 0 and abs(gain) * LN2_SINGLE < KINC_TOLERANCE
        if settled:
            return CONVERGED, bits, sums[last + 1]
        if step < limit - 1:
            previous = bits
            if not m_step(sums, k, n, least, prior_scatter, prior_n, ridge, theta):
                return FAILED, bits, sums[last + 1]
    return UNFINISHED, bits, sums[last + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _short_runs(  # type: ignore[no-untyped-def]
    x, y, live, n_vectors, n_samples, k, stream, restarts, steps, constants, labels, trial,
    theta, work, sums, counts
):  # fmt: skip
    """The best of several short runs, in ``theta``; whether there is one, and its likelihood."""
    least, ridge, prior_n, _tolerance, prior_scatter = constants
    density, highest, rows = work
    n = np.float32(n_samples)
    last = k * N_STATISTICS
    any_run, best = False, np.float32(0.0)
    for restart in range(restarts):
        if not start_by_distance(
            x, y, n_samples, k, stream, restart, highest, labels, trial, rows, sums
        ):
            continue
        going = m_step(sums, k, n, least, prior_scatter, prior_n, ridge, trial)
        bits = np.float32(0.0)
        for _step in range(steps):
            if going:
                e_step(x, y, live, n_vectors, k, trial, density, highest, rows, sums)
                counts[EM_STEPS] += 1
                bits = sums[last] + sums[last + 1]
                going = m_step(sums, k, n, least, prior_scatter, prior_n, ridge, trial)
        if going and (not any_run or bits > best):
            any_run, best = True, bits
            theta[: k * THETA_COLUMNS] = trial[: k * THETA_COLUMNS]
    return any_run, best


@njit(cache=True, nogil=True, error_model="numpy")
def fit(  # type: ignore[no-untyped-def]
    x, y, live, n_vectors, n_samples, k, stream, restarts, steps, limit, constants, kinc,
    labels, trial, theta, work, sums, counts
):  # fmt: skip
    """Fit K components; the state, the log-likelihood and the classification's entropy in bits."""
    least, ridge, prior_n, tolerance, prior_scatter = constants
    of_k = (least, ridge, prior_n, tolerance, prior_scatter / np.float32(k))
    density, highest, rows = work
    n = np.float32(n_samples)
    zero = np.float32(0.0)
    previous = zero
    if kinc:
        start_as_kinc(x, y, n_samples, k, theta)
        if not derive(theta, k):
            return FAILED, zero, zero
    elif k == 1:
        start_as_one(x, y, n_samples, labels, theta, rows, sums)
        if not m_step(sums, k, n, zero, of_k[4], prior_n, ridge, theta):
            return FAILED, zero, zero
        e_step(x, y, live, n_vectors, k, theta, density, highest, rows, sums)
        counts[EM_STEPS] += 1
        return CONVERGED, sums[N_STATISTICS] + sums[N_STATISTICS + 1], sums[N_STATISTICS + 1]
    else:
        found, previous = _short_runs(
            x, y, live, n_vectors, n_samples, k, stream, restarts, steps, of_k, labels, trial,
            theta, work, sums, counts
        )  # fmt: skip
        if not found:
            return FAILED, zero, zero
    return _iterate(
        x, y, live, n_vectors, n, k, of_k, kinc, limit, previous, theta, work, sums, counts
    )


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def choose_mixture(  # type: ignore[no-untyped-def]
    x, y, live, n_vectors, n_samples, k_min, k_max, kind, log_n, stream, restarts, steps, limit,
    constants, kinc, labels, trial, theta, best_theta, work, sums, counts
):  # fmt: skip
    """The number of components of least criterion, its parameters in ``best_theta``.

    Returns K (0 where no fit succeeded), the log-likelihood in bits and the criterion.
    """
    best_k, best_bits, best_value = 0, np.float32(0.0), 0.0
    for k in range(k_min, k_max + 1):
        counts[FITS] += 1
        state, bits, entropy = fit(
            x, y, live, n_vectors, n_samples, k, stream, restarts, steps, limit, constants, kinc,
            labels, trial, theta, work, sums, counts
        )  # fmt: skip
        if state == FAILED:
            counts[FITS_FAILED] += 1
            continue
        if state == UNFINISHED:
            counts[FITS_UNFINISHED] += 1
        value = criterion_value(kind, k, kinc, log_n, bits, entropy)
        if best_k == 0 or value < best_value:
            best_k, best_bits, best_value = k, bits, value
            best_theta[: k * THETA_COLUMNS] = theta[: k * THETA_COLUMNS]
    return best_k, best_bits, best_value
