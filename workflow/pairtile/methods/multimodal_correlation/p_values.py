"""p-values of correlations, and correlations of p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special


def correlation_p_value(
    correlation: NDArray[np.floating], n_samples: NDArray[np.integer] | NDArray[np.floating]
) -> NDArray[np.float64]:
    """Two-sided p-value of correlations, shape (n,), by Student's t with n_samples - 2 degrees of
    freedom; 0 where \\|r\\| is 1, NaN for fewer than three samples."""
    r = np.abs(correlation.astype(np.float64))
    freedom = n_samples.astype(np.float64) - 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        p = special.betainc(freedom / 2.0, 0.5, 1.0 - r * r)
    return np.where(freedom > 0, p, np.nan)


def standard_correlation(
    p_value: NDArray[np.float64], n_samples: NDArray[np.integer]
) -> NDArray[np.float64]:
    """The size of correlation whose ``likelihood_ratio`` is that of a normal deviate with this
    two-sided p-value: scores whose spread between unrelated genes depends on the genes (Kendall's
    tau on their ties, bicor on their skewness) are compared by it."""
    z = special.ndtri(0.5 * np.maximum(p_value, np.finfo(np.float64).tiny))
    return np.asarray(np.sqrt(-np.expm1(-z * z / np.maximum(n_samples - 2.0, 1.0))))
