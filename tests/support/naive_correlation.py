"""Plain correlation of pairs, slowly and in the open: what the fast ways are tested against."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.stats import rankdata


def tukey_outliers(values):
    """Beyond 1.5 interquartile ranges; quartiles are single values of the sorted ones."""
    ordered = np.sort(values)
    quartile_1, quartile_3 = ordered[len(values) // 4], ordered[3 * len(values) // 4]
    reach = 1.5 * (quartile_3 - quartile_1)
    return (values < quartile_1 - reach) | (values > quartile_3 + reach)


def usable_samples(values, estimator):
    """Observed, and between the least and the largest expression."""
    usable = np.isfinite(values)
    if estimator.min_expression is not None:
        usable &= values >= estimator.min_expression
    if estimator.max_expression is not None:
        usable &= values <= estimator.max_expression
    return usable


def members_and_outliers(x, y, estimator):
    """bool masks of a pair's samples: those of its mode, and those taken away as outliers."""
    members = usable_samples(x, estimator) & usable_samples(y, estimator)
    outliers = np.zeros_like(members)
    at = np.flatnonzero(members)
    if estimator.outliers_before and len(at):
        outliers[at] = tukey_outliers(x[at]) | tukey_outliers(y[at])
    return members & ~outliers, outliers


def correlation(x, y, kind):
    """Pearson's r, or Spearman's, in exact arithmetic up to the last step; NaN if constant."""
    if kind == "spearman":
        x, y = rankdata(x), rankdata(y)
    x, y = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in y]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    xx = sum((v - mean_x) ** 2 for v in x)
    yy = sum((v - mean_y) ** 2 for v in y)
    if xx == 0 or yy == 0:
        return math.nan
    xy = sum((v - mean_x) * (w - mean_y) for v, w in zip(x, y, strict=True))
    # r^2 is a fraction; its root is taken where no digit can be lost.
    size = math.sqrt(xy * xy / (xx * yy))
    return math.copysign(size, xy)


def plain_mode(x, y, estimator):
    """A pair's only mode: r, members, outliers; r None for too few samples, NaN if undefined."""
    members, outliers = members_and_outliers(x, y, estimator)
    if members.sum() < max(estimator.min_samples, 2):
        return None, members, outliers
    return correlation(x[members], y[members], estimator.correlation), members, outliers


def sample_string(x, y, members, outliers):
    """KINC's: 1 in the mode, 7 an outlier, 9 missing in either gene, 6 out of range."""
    missing = ~(np.isfinite(x) & np.isfinite(y))
    letters = np.where(members, "1", np.where(outliers, "7", np.where(missing, "9", "6")))
    return "".join(letters)


def float32_sums(x, y):
    """Pearson's r as KINC computes it: sums of raw values in float32, sample after sample."""
    n, sx, sy, xx, yy, xy = np.zeros(6, dtype=np.float32)
    for a, b in zip(x.astype(np.float32), y.astype(np.float32), strict=True):
        n, sx, sy = n + np.float32(1), sx + a, sy + b
        xx, yy, xy = xx + a * a, yy + b * b, xy + a * b
    return (n * xy - sx * sy) / np.sqrt((n * xx - sx * sx) * (n * yy - sy * sy))
