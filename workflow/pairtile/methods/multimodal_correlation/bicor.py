"""Biweight midcorrelation (Wilcox 2012, section 9.3.8), as WGCNA defines it (Langfelder and Horvath
2012, J. Stat. Softw. 46:11), with ``maxPOutliers = 1``.

With m the median of a gene and d the median of abs(x - m), u = (x - m) / (9 d), values count with
the weight w = (1 - u^2)^2, 0 where abs(u) >= 1: the correlation of two genes is the product of
their rows (x - m) w, each made of length 1. Where d is 0 the gene's row is that of Pearson's
correlation (``fallback = "individual"``). Of a pair all of it is taken over its own samples.

These rows have a mean that is not 0 where a gene is skewed, and r does not then vary about 0
between unrelated genes, but about n times the product of the means. So the p-value is that of
Pearson's correlation of the rows, by Student's t.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import DeviceArray, Float64Array
from pairtile.methods.multimodal_correlation.p_values import correlation_p_value


def bicor_rows(values: DeviceArray, xp: ModuleType) -> DeviceArray:
    """Rows of length 1 whose products are correlations, in the shape of ``values``: float64 (...,
    samples), NaN where missing. 0 where missing, and of a constant gene."""
    known = values == values
    count = known.sum(axis=-1)
    apart = values - _median(values, count, xp)[..., None]
    distance = abs(apart)
    spread = _median(distance, count, xp)[..., None]
    # Values nine median absolute deviations from the median have no weight.
    share = distance / xp.where(spread > 0.0, 9.0 * spread, np.inf)
    weighted = apart * xp.where(share < 1.0, (1.0 - share * share) ** 2, 0.0)
    apart = xp.where(known, apart, 0.0)
    mean = apart.sum(axis=-1) / xp.maximum(count, 1)
    plain = xp.where((apart != 0.0).any(axis=-1)[..., None], apart - mean[..., None], 0.0)
    rows = xp.where(spread > 0.0, weighted, plain)
    rows = xp.where(known, rows, 0.0)
    length = xp.sqrt((rows * rows).sum(axis=-1))[..., None]
    return rows / xp.where(length > 0.0, length, np.inf)


def bicor_of_pairs(x: DeviceArray, y: DeviceArray, xp: ModuleType) -> DeviceArray:
    """Of each pair over the samples that both genes have: float64 (pairs,), NaN where a gene is
    constant among these. x, y : float64 (pairs, samples), NaN where missing."""
    missing = (x != x) | (y != y)
    rows = [bicor_rows(xp.where(missing, np.nan, values), xp) for values in (x, y)]
    return _products(rows, xp)


def _products(rows: list[DeviceArray], xp: ModuleType) -> DeviceArray:
    constant = ~(rows[0].any(axis=1) & rows[1].any(axis=1))
    r = (rows[0] * rows[1]).sum(axis=1)
    return xp.where(constant, np.nan, xp.clip(r, -1.0, 1.0))


def bicor_with_p_values(x: Float64Array, y: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Of each pair the correlation, NaN where a gene is constant, and its p-value with the means of
    both rows, over the samples that both genes have: float64 (pairs,). x, y : float64 (pairs,
    samples), NaN where missing."""
    rows, missing = [], np.isnan(x) | np.isnan(y)
    for values in (np.where(missing, np.nan, x), np.where(missing, np.nan, y)):
        # By a power of two to about 1: squares of what is left must neither vanish nor overflow.
        exponent = np.frexp(np.nanmax(np.abs(values), axis=1, keepdims=True))[1]
        rows.append(bicor_rows(np.ldexp(values, -exponent), np))
    r, n = _products(rows, np), (~missing).sum(axis=1)
    return r, bicor_p_values(r, n, *(each.sum(axis=1) / np.sqrt(n) for each in rows))


def bicor_p_values(
    r: Float64Array, n_samples: NDArray[np.integer], slant_x: Float64Array, slant_y: Float64Array
) -> Float64Array:
    """Two-sided p-values, (pairs,), of rows with these means times the root of their samples."""
    left = (1.0 - slant_x**2) * (1.0 - slant_y**2)
    of_rows = np.clip((r - slant_x * slant_y) / np.sqrt(left), -1.0, 1.0)
    return correlation_p_value(of_rows, n_samples)


def _median(values: DeviceArray, count: DeviceArray, xp: ModuleType) -> DeviceArray:
    """Of the numbers of each row; of none, NaN."""
    ascending = xp.sort(values, axis=-1)  # NaN last
    last = values.shape[-1] - 1
    low, high = xp.clip((count - 1) // 2, 0, last), xp.clip(count // 2, 0, last)
    middle = [xp.take_along_axis(ascending, at[..., None], axis=-1)[..., 0] for at in (low, high)]
    return 0.5 * (middle[0] + middle[1])
