"""How long motions are remembered, so how many frames are independent, and which motions drift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.engine.large_table import row_blocks
from pairtile.methods.trajectory_correlation.estimators import SINGULAR
from pairtile.statistics.correction import known_q_values

BLOCK_VALUES = 1 << 22
"""Values that are transformed at a time."""


def correlation_time(series: NDArray[np.floating], *, cyclic: bool = False) -> NDArray[np.float64]:
    """Integrated correlation time of each variable in frames: float64 (variables,).

    tau = 1/2 + sum of the normalised autocorrelation <dr(t) . dr(t + lag)> / <dr^2> over the lags
    1 .. M, with the first M >= 5 tau(M), so that noise does not add up. 0.5 for white noise, about
    T where the autocorrelation falls as exp(-lag / T), and half the number of frames for a variable
    that does not move.

    series : (variables, d, frames), NaN where missing: a lag is then the mean over the frames that
    are there. cyclic : angles in radians, taken as points on a circle.
    """
    n, found = series.shape[2], np.empty(len(series))
    for some, values in _blocks(series, cyclic):
        missing = np.isnan(values)
        if missing.any():
            values = np.where(missing, np.nanmean(values, axis=2, keepdims=True), values)
        covariance = _lagged_products(values - values.mean(axis=2, keepdims=True))
        if missing.any():
            known = np.maximum(_lagged_products((~missing).astype(np.float64)).round(), 1.0)
            covariance *= values.shape[1] * (n - np.arange(n)) / known
        still = (values == values[:, :, :1]).all(axis=(1, 2)) | (covariance[:, 0] <= 0.0)
        covariance[still, 0] = 1.0
        tau = 0.5 + np.cumsum(covariance / covariance[:, :1], axis=1) - 1.0
        # The autocorrelation is summed up to five correlation times (Sokal 1997, section 3).
        enough = np.arange(n) >= 5.0 * tau
        enough[:, -1] = True
        chosen = tau[np.arange(len(tau)), enough.argmax(axis=1)]
        # Series that swing to and fro give a mean more precisely than white noise: not counted on.
        found[some] = np.where(still, n / 2.0, np.clip(chosen, 0.5, n / 2.0))
    return found


def _blocks(
    series: NDArray[np.floating], cyclic: bool
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Some variables at a time in double precision; angles as points on a circle."""
    for some in row_blocks(series.shape, BLOCK_VALUES // 2):
        values = np.asarray(series[some], dtype=np.float64)
        if cyclic:
            values = np.concatenate([np.cos(values), np.sin(values)], axis=1)
        yield some, values


def effective_frames(tau: NDArray[np.float64], n_frames: int) -> NDArray[np.float64]:
    """Independent frames that give a mean as precisely: n / (2 tau), 1 to n."""
    return np.clip(n_frames / (2.0 * np.asarray(tau, dtype=np.float64)), 1.0, float(n_frames))


def theiler_window(tau: NDArray[np.float64], n_frames: int) -> int:
    """Window in frames for ``theiler: auto``: all frames nearer in time than 2 tau are excluded.

    tau is the median over the variables, because two series look alike in time only as long as the
    faster one does. 0 for white noise; at most an eighth of the frames (``largest_window``), so
    that at least three quarters stay.
    """
    return min(wanted_window(tau), largest_window(n_frames))


def wanted_window(tau: NDArray[np.float64]) -> int:
    """``theiler_window`` without its cap."""
    return max(round(2.0 * float(np.median(tau)) - 1.0), 0)


def largest_window(n_frames: int) -> int:
    """The cap of ``theiler_window``."""
    return n_frames // 8


def _lagged_products(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over frames and coordinates of values(t) values(t + lag): (variables, lags)."""
    n = values.shape[2]
    power = np.abs(np.fft.rfft(values, 2 * n, axis=2)) ** 2
    return np.asarray(np.fft.irfft(power, 2 * n, axis=2)[:, :, :n].sum(axis=1))


# --- drift ----------------------------------------------------------------------------------------

# Whether a variable lies elsewhere in the second half of a run than in the first. A drift looks
# like correlation: all that goes from one place to another in the same run goes together.
# Surrogates do not show it, for a shifted drift is as slow but breaks in the middle.


def half_shifts(
    series: NDArray[np.floating], *, cyclic: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far the mean of each variable moves from the first half to the second, and its p-value.

    Hotelling's T-squared for two samples (Anderson 2003, section 5.3.4) of half / (2 tau)
    independent frames each. The correlation time tau is that within the halves, or a drift would
    hide itself. Taking away the mean of a half takes its variance, 4 tau / n, from each lag, and
    tau sums up to 5 tau lags: so tau = t / (1 - 20 t / n) of the t that is found in n frames.

    Parameters
    ----------
    series : shape (variables, d, frames)
        Of one replica.
    cyclic : bool
        Angles in radians, taken as points on a circle.

    Returns
    -------
    shift, p_value
        float64 (variables,). shift: length of the difference of the means, in units of the root
        mean square fluctuation within the halves. NaN for variables that do not move, and p where
        there are too few effective frames to test.
    """
    n = series.shape[2] // 2 * 2
    shift, p_value = np.full(len(series), np.nan), np.full(len(series), np.nan)
    for some, values in _blocks(series[:, :, :n], cyclic):
        halves = values.reshape(*values.shape[:2], 2, n // 2)
        known = ~np.isnan(halves)
        means = np.nansum(halves, axis=3) / np.maximum(known.sum(axis=3), 1)
        inside = np.nan_to_num(halves - means[..., None]).reshape(values.shape)
        share = known.mean(axis=(1, 2, 3))
        found = correlation_time(inside)
        with np.errstate(divide="ignore"):
            tau = np.where(20.0 * found < n, found / (1.0 - 20.0 * found / n), np.inf)
        for k in range(len(values)):
            moved = means[k, :, 1] - means[k, :, 0]
            at = some.start + k
            shift[at], p_value[at] = _test(moved, inside[k], share[k] * n / (4.0 * tau[k]))
    return shift, p_value


def least_p_values(
    shifts: NDArray[np.float64], p_values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each variable the least p-value of its replicas, times their number (Bonferroni), and the
    shift of that replica.

    shifts, p_values : float64 (replicas, variables), NaN where not tested. Returns two float64
    (variables,); where no replica is tested, p is NaN and the shift is the first's.
    """
    tested = np.isfinite(p_values)
    at = np.where(tested, p_values, np.inf).argmin(axis=0), np.arange(p_values.shape[1])
    return np.minimum(p_values[at] * np.maximum(tested.sum(axis=0), 1), 1.0), shifts[at]


def drifting(p_values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which variables drift, at a false discovery rate of 0.05 (Benjamini and Hochberg).

    p_values : float64 (variables,), NaN where not tested. Returns bool (variables,).
    """
    return known_q_values(p_values) <= 0.05


def _test(
    moved: NDArray[np.float64], inside: NDArray[np.float64], each: float
) -> tuple[float, float]:
    """moved : (d,), difference of the means. inside : (d, frames), about them. each : independent
    frames of a half."""
    variance, axes = np.linalg.eigh(inside @ inside.T / inside.shape[1])
    if not variance[-1] > 0.0:
        return np.nan, np.nan
    moving = variance > SINGULAR * variance[-1]
    shift = float(np.linalg.norm(moved) / np.sqrt(variance.sum()))
    d, freedom = int(moving.sum()), 2.0 * each - 2.0
    if freedom < d + 1.0:
        return shift, np.nan
    t_squared = 0.5 * each * float(((axes.T @ moved)[moving] ** 2 / variance[moving]).sum())
    statistic = t_squared * freedom / (2.0 * each) * (freedom - d + 1.0) / (freedom * d)
    return shift, float(scipy.special.fdtrc(d, freedom - d + 1.0, statistic))
