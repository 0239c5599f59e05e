"""Correction of p-values for many tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pairtile.arrays import Float64Array


def benjamini_hochberg(p: ArrayLike, n_tests: int | None = None) -> Float64Array:
    """Benjamini-Hochberg q-values: the false discovery rate at which each test is accepted.

    q of the k-th smallest of n p-values is the least p_(l) * n / l over all l >= k, at most 1.

    Parameters
    ----------
    p : real [array-like, shape: (M,)]
        p-values, in any order. They may be a part of all: then those left out must be no smaller
        than any of these.
    n_tests : int, optional
        How many tests there were in all, at least M. Without it, M.

    Returns
    -------
    float64 [shape: (M,)]
        q-values, in the order of ``p``. For a part of the tests, every q up to the largest p in
        it is exact, since the tests left out cannot lower it; a larger one is an upper bound. So
        "q <= rate" is always decided rightly if the part holds every p <= rate.

    Raises
    ------
    ValueError
        For p-values outside 0 to 1 or NaN, or ``n_tests`` below their number.

    Notes
    -----
    Source: Benjamini & Hochberg 1995, J. R. Stat. Soc. B 57:289. For a complete set,
    ``scipy.stats.false_discovery_control`` gives the same.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.02, 0.5], n_tests=10)
    array([0.1, 0.1, 1. ])
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"p has shape {values.shape}; expected a vector")
    if not ((values >= 0) & (values <= 1)).all():  # also catches NaN
        wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))[0]
        raise ValueError(f"p[{wrong}] is {values[wrong]}; expected 0 to 1")
    n = len(values) if n_tests is None else n_tests
    if n < len(values):
        raise ValueError(f"n_tests is {n}, but there are {len(values)} p-values")
    ascending = np.argsort(values, kind="stable")
    scaled = values[ascending] * n / np.arange(1, len(values) + 1)
    q = np.empty_like(values)
    q[ascending] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def known_q_values(p: ArrayLike) -> Float64Array:
    """Benjamini-Hochberg q-values of the p-values that are known; NaN, which is no test, stays NaN.

    float64, in the shape of ``p``. Raises as ``benjamini_hochberg``.

    >>> known_q_values([0.01, np.nan, 0.2])
    array([0.02,  nan, 0.2 ])
    """
    values = np.array(p, dtype=np.float64)
    known = ~np.isnan(values)
    values[known] = benjamini_hochberg(values[known])
    return values


def bonferroni(p: ArrayLike, n_tests: int | None = None) -> Float64Array:
    """Bonferroni-corrected p-values: p * n_tests, at most 1.

    >>> bonferroni([0.01, 0.2], n_tests=10)
    array([0.1, 1. ])
    """
    values = np.asarray(p, dtype=np.float64)
    return np.minimum(values * (len(values) if n_tests is None else n_tests), 1.0)
