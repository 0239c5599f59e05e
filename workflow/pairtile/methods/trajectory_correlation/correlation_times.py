"""How long motions are remembered, and so how many frames are independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SOKAL_FACTOR = 5.0
"""The autocorrelation is summed up to this many correlation times (Sokal 1997, section 3)."""

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
    n = series.shape[2]
    tau = np.empty(series.shape[0])
    size = max(1, BLOCK_VALUES // (2 * n * series.shape[1]))
    for begin in range(0, series.shape[0], size):
        values = np.asarray(series[begin : begin + size], dtype=np.float64)
        if cyclic:
            values = np.concatenate([np.cos(values), np.sin(values)], axis=1)
        tau[begin : begin + size] = _integrated(values)
    return tau


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


def _integrated(values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = values.shape[2]
    missing = np.isnan(values)
    if missing.any():
        values = np.where(missing, np.nanmean(values, axis=2, keepdims=True), values)
    moves = values - values.mean(axis=2, keepdims=True)
    covariance = _lagged_products(moves)
    if missing.any():
        known = np.maximum(_lagged_products((~missing).astype(np.float64)).round(), 1.0)
        covariance *= values.shape[1] * (n - np.arange(n)) / known
    still = (values == values[:, :, :1]).all(axis=(1, 2)) | (covariance[:, 0] <= 0.0)
    covariance[still, 0] = 1.0
    tau = 0.5 + np.cumsum(covariance / covariance[:, :1], axis=1) - 1.0
    enough = np.arange(n) >= SOKAL_FACTOR * tau
    enough[:, -1] = True
    chosen = tau[np.arange(len(tau)), enough.argmax(axis=1)]
    # Series that swing to and fro give a mean more precisely than white noise: not counted on.
    return np.where(still, n / 2.0, np.clip(chosen, 0.5, n / 2.0))


def _lagged_products(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over frames and coordinates of values(t) values(t + lag): (variables, lags)."""
    n = values.shape[2]
    power = np.abs(np.fft.rfft(values, 2 * n, axis=2)) ** 2
    return np.asarray(np.fft.irfft(power, 2 * n, axis=2)[:, :, :n].sum(axis=1))
