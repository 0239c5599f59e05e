"""The power of a correlation test: which correlations have samples enough to be believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


def correlation_power(
    correlation: ArrayLike, n_samples: ArrayLike, alpha: float = 0.001
) -> NDArray[np.float64]:
    """Power of the two-sided test of correlation 0, if the true correlation is the one observed.

    The test rejects where |r| > r_c, with t_c the upper alpha / 2 point of Student's t with n - 2
    degrees of freedom and r_c = t_c / sqrt(t_c^2 + n - 2). Under a true correlation rho, Fisher's z
    of r is about normal with mean atanh(rho) + rho / (2 (n - 1)) and variance 1 / (n - 3), so

        power = Phi((z - z_c) sqrt(n - 3)) + Phi((-z - z_c) sqrt(n - 3)),   z_c = atanh(r_c).

    Parameters
    ----------
    correlation : real [array-like, shape: (M,)]
        Correlations, -1 to 1; only their size counts.
    n_samples : int [array-like, shape: (M,)]
        Samples of each.
    alpha : float
        Significance level, above 0 and below 1.

    Returns
    -------
    float64 [shape: (M,)]
        0 to 1. NaN for fewer than 4 samples (Fisher's z has no variance) and NaN correlations.

    Raises
    ------
    ValueError
        For ``alpha`` outside 0 to 1 or a correlation outside -1 to 1.

    Notes
    -----
    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 3 and
    p. 546, with the correction of z for the bias of r on the true side only, as in ``pwr.r.test``
    of the R package pwr. statsmodels and scipy have no such function.

    Examples
    --------
    >>> correlation_power([0.3], [50], alpha=0.05).round(7)
    array([0.5715558])
    """
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is {alpha}; expected above 0 and below 1")
    r = np.abs(np.asarray(correlation, dtype=np.float64))
    if (r > 1.0).any():
        raise ValueError(f"a correlation is {r[r > 1.0].flat[0]} in size; expected -1 to 1")
    n = np.asarray(n_samples, dtype=np.float64)
    n = np.where(n >= 4, n, np.nan)
    limit = stats.t.isf(alpha / 2.0, n - 2.0)
    critical = np.arctanh(limit / np.sqrt(limit**2 + n - 2.0))
    with np.errstate(divide="ignore"):  # atanh(1) is infinite: power 1
        z = np.arctanh(r) + r / (2.0 * (n - 1.0))
    spread = np.sqrt(n - 3.0)
    upper, lower = stats.norm.cdf((z - critical) * spread), stats.norm.cdf((-z - critical) * spread)
    return np.asarray(upper + lower, dtype=np.float64)


def power_filter(
    correlation: ArrayLike, n_samples: ArrayLike, alpha: float = 0.001, power: float = 0.8
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Power of each correlation, and which are kept: those with ``power`` or more. NaN is not.

    Raises ValueError as ``correlation_power``, and for ``power`` outside 0 to 1.
    """
    if not 0.0 <= power <= 1.0:
        raise ValueError(f"power is {power}; expected 0 to 1")
    reached = correlation_power(correlation, n_samples, alpha)
    return reached, reached >= power
