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

from pairtile.statistics.shrinkage import DeviceArray


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
    constant = ~(rows[0].any(axis=1) & rows[1].any(axis=1))
    r = (rows[0] * rows[1]).sum(axis=1)
    return xp.where(constant, np.nan, xp.clip(r, -1.0, 1.0))


def _median(values: DeviceArray, count: DeviceArray, xp: ModuleType) -> DeviceArray:
    """Of the numbers of each row; of none, NaN."""
    ascending = xp.sort(values, axis=-1)  # NaN last
    last = values.shape[-1] - 1
    low, high = xp.clip((count - 1) // 2, 0, last), xp.clip(count // 2, 0, last)
    middle = [xp.take_along_axis(ascending, at[..., None], axis=-1)[..., 0] for at in (low, high)]
    return 0.5 * (middle[0] + middle[1])
