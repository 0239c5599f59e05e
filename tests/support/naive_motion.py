"""Correlated motion by its definitions, slowly and plainly: what the kernels are held against."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import digamma
from scipy.stats import rankdata


def naive_distances(x: Any, norm: str, theiler: int) -> np.ndarray:
    """All distances between frames of one variable (d, frames); infinite where excluded.

    Euclidean distances are left squared: no order changes, and no rounding is added.
    """
    n = x.shape[1]
    difference = np.abs(x[:, :, None] - x[:, None, :])
    if norm == "max" or len(x) == 1:
        distance = difference.max(axis=0)
    else:
        distance = np.zeros((n, n))
        for axis in range(len(x)):
            distance = distance + difference[axis] * difference[axis]
    t = np.arange(n)
    distance[np.abs(t[:, None] - t[None, :]) <= theiler] = np.inf
    return distance


def naive_ksg(
    x: Any, y: Any, k: int = 6, variant: int = 1, norm: str = "euclidean", theiler: int = 0
) -> float:
    """Kraskov et al. 2004, equations 8 and 9, one frame at a time; nats."""
    n = x.shape[1]
    of_x, of_y = (naive_distances(v, norm, theiler) for v in (x, y))
    terms = []
    for t in range(n):
        joint = np.maximum(of_x[t], of_y[t])
        bound = np.sort(joint)[k - 1]
        others = int((np.abs(np.arange(n) - t) > theiler).sum())
        if variant == 1:
            n_x, n_y = (of_x[t] < bound).sum(), (of_y[t] < bound).sum()
            term = digamma(n_x + 1) + digamma(n_y + 1)
        else:
            near = joint <= bound
            n_x = (of_x[t] <= of_x[t][near].max()).sum()
            n_y = (of_y[t] <= of_y[t][near].max()).sum()
            term = digamma(n_x) + digamma(n_y)
        terms.append(digamma(others + 1) - term)
    return float(digamma(k) - (1.0 / k if variant == 2 else 0.0) + np.mean(terms))


def naive_transfer_entropy(
    x: Any, y: Any, lag: int, k: int = 6, norm: str = "euclidean", theiler: int = 0
) -> float:
    """I(y(t + lag); x(t) | y(t)) by Frenzel and Pompe 2007, one frame at a time; nats."""
    n = x.shape[1] - lag
    source, past, future = (
        naive_distances(v, norm, theiler) for v in (x[:, :n], y[:, :n], y[:, lag:])
    )
    terms = []
    for own, before, after in zip(source, past, future, strict=True):
        bound = np.sort(np.maximum(np.maximum(own, before), after))[k - 1]
        with_source = (np.maximum(own, before) < bound).sum()
        with_future = (np.maximum(after, before) < bound).sum()
        alone = (before < bound).sum()
        terms.append(digamma(alone + 1) - digamma(with_source + 1) - digamma(with_future + 1))
    return float(digamma(k) + np.mean(terms))


def naive_gaussian(x: Any, y: Any) -> float:
    """From the determinants of the three covariance matrices; nats."""
    joint = np.cov(np.vstack([x, y]), bias=True)
    d = len(x)
    logs = [np.linalg.slogdet(m)[1] for m in (joint[:d, :d], joint[d:, d:], joint)]
    return float(0.5 * (logs[0] + logs[1] - logs[2]))


def naive_dcc(x: Any, y: Any) -> float:
    """Mean dot product of displacements over the product of their root mean squares."""
    a = x - x.mean(axis=1, keepdims=True)
    b = y - y.mean(axis=1, keepdims=True)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def naive_cyclic_mi(x: Any, y: Any, bins: int, order: int) -> float:
    """Of two angles (frames,), from a joint table filled frame by frame; nats."""
    joint = np.zeros((bins, bins))
    for a, b in zip(x, y, strict=True):
        joint += np.outer(_cyclic_basis(a, bins, order), _cyclic_basis(b, bins, order))
    p = joint / joint.sum()
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    filled = p > 0
    return float((p[filled] * np.log(p[filled] / outer[filled])).sum())


def _cyclic_basis(angle: float, bins: int, order: int) -> np.ndarray:
    """Cardinal B-splines wrapped around the circle: one bump, of width ``order``, on each bin."""
    place = (angle / (2 * np.pi) * bins) % bins
    weights = np.zeros(bins)
    for bin_ in range(bins):
        for turn in range(-order - 1, order + 2):
            weights[bin_] += _cardinal(place - bin_ + order - 1 + turn * bins, order)
    return weights


def _cardinal(u: float, order: int) -> float:
    """The cardinal B-spline on [0, order)."""
    if order == 1:
        return 1.0 if 0 <= u < 1 else 0.0
    left = u * _cardinal(u, order - 1)
    right = (order - u) * _cardinal(u - 1, order - 1)
    return (left + right) / (order - 1)


def naive_spline_mi(x: Any, y: Any, bins: int, order: int, rank: bool) -> float:
    """Of two scalars (frames,), NaN where missing, from a joint table of clamped B-splines that is
    filled frame by frame with the frames that both have (Daub et al. 2004); nats."""
    joint = np.zeros((bins, bins))
    for a, b in zip(*(_scaled(v, bins - order + 1, rank) for v in (x, y)), strict=True):
        if not np.isnan(a) and not np.isnan(b):
            joint += np.outer(_clamped_basis(a, bins, order), _clamped_basis(b, bins, order))
    p = joint / joint.sum()
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    filled = p > 0
    return float((p[filled] * np.log(p[filled] / outer[filled])).sum())


def _scaled(values: Any, top: int, rank: bool) -> np.ndarray:
    values = np.array(values, dtype=float)
    known = ~np.isnan(values)
    if rank:
        values[known] = rankdata(values[known])
    low, high = values[known].min(), values[known].max()
    return (values - low) / (high - low) * top


def _clamped_basis(z: float, bins: int, order: int) -> np.ndarray:
    """By the recursion of de Boor, from 0/0 = 0."""
    knots = np.clip(np.arange(bins + order) - order + 1.0, 0, bins - order + 1)
    last = bins - 1 if z == knots[-1] else -1
    value = np.array([float(a <= z < b) for a, b in pairwise(knots)])
    if last >= 0:
        value[last] = 1.0
    for k in range(2, order + 1):
        grown = np.zeros(len(value) - 1)
        for i in range(len(grown)):
            left, right = knots[i + k - 1] - knots[i], knots[i + k] - knots[i + 1]
            grown[i] = (z - knots[i]) / left * value[i] if left else 0.0
            grown[i] += (knots[i + k] - z) / right * value[i + 1] if right else 0.0
        value = grown
    return value[:bins]
