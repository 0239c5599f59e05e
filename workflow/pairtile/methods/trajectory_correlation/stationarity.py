"""Whether a variable lies elsewhere in the second half of a run than in the first.

A drift looks like correlation: all that goes from one place to another in the same run goes
together. Surrogates do not show it, for a shifted drift is as slow but breaks in the middle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from pairtile.methods.trajectory_correlation.correlation_times import (
    BLOCK_VALUES,
    correlation_time,
)
from pairtile.methods.trajectory_correlation.estimators import SINGULAR
from pairtile.statistics.correction import benjamini_hochberg

LEVEL = 0.05
"""False discovery rate at which variables are said to drift."""


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
    size = max(1, BLOCK_VALUES // (2 * n * series.shape[1]))
    for begin in range(0, len(series), size):
        values = np.asarray(series[begin : begin + size, :, :n], dtype=np.float64)
        if cyclic:
            values = np.concatenate([np.cos(values), np.sin(values)], axis=1)
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
            shift[begin + k], p_value[begin + k] = _test(
                moved, inside[k], share[k] * n / (4.0 * tau[k])
            )
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
    row = np.where(tested, p_values, np.inf).argmin(axis=0)
    at = row, np.arange(p_values.shape[1])
    return np.minimum(p_values[at] * np.maximum(tested.sum(axis=0), 1), 1.0), shifts[at]


def drifting(p_values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which variables drift, at a false discovery rate of ``LEVEL`` (Benjamini and Hochberg).

    p_values : float64 (variables,), NaN where not tested. Returns bool (variables,).
    """
    tested = np.isfinite(p_values)
    result = np.zeros(p_values.size, dtype=bool)
    result[tested] = benjamini_hochberg(p_values[tested]) <= LEVEL
    return result


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
    return shift, float(f_distribution.sf(statistic, d, freedom - d + 1.0))
