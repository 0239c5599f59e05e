"""Modes of one pair, slowly and in float64: what the kernels of ``multimodal_correlation`` are held
against.

Written from the definitions: densities and responsibilities as in a textbook, natural logarithms,
medians of nothing, one pair at a time. Only the random numbers are those of the kernels, so that
fits begin at the same samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.methods.multimodal_correlation import mixtures as constants
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from scipy import stats
from scipy.special import logsumexp

Floats = NDArray[np.float64]
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


@dataclass
class Mixture:
    """Weights (K,), means (K, 2), covariances (K, 2, 2), natural log-likelihood and entropy."""

    weights: Floats
    means: Floats
    covariances: Floats
    log_likelihood: float = float("nan")
    entropy: float = 0.0


@dataclass
class PairModes:
    """K chosen (0: none) and why not, samples that entered, and one dict for each kept mode."""

    k: int
    n_usable: int
    problem: str
    modes: list[dict[str, Any]]
    log_likelihood: float = float("nan")
    criterion: float = float("nan")
    labels: NDArray[np.int64] | None = None


class Failed(Exception):
    """A fit has come to nothing."""


def mix64(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def pair_seed(seed: int, first: int, second: int) -> int:
    low, high = min(first, second), max(first, second)
    return mix64((mix64(mix64((seed + GOLDEN) & MASK) ^ low) + high) & MASK)


def draw(stream: int, k: int, restart: int, number: int) -> int:
    return mix64((stream + GOLDEN * (1 + number + 16 * (restart + 1024 * k))) & MASK)


def tukey(values: Floats, single: bool) -> NDArray[np.bool_]:
    """Which values lie beyond 1.5 interquartile ranges."""
    if len(values) == 0:
        return np.zeros(0, dtype=bool)
    ordered = np.sort(values)
    first, third = ordered[len(values) // 4], ordered[3 * len(values) // 4]
    if single:
        first, third = np.float32(first), np.float32(third)
        reach = np.float32(1.5) * (third - first)
        return (values < np.float64(first - reach)) | (values > np.float64(third + reach))
    reach = 1.5 * (third - first)
    return (values < first - reach) | (values > third + reach)


def log_densities(points: Floats, mixture: Mixture) -> Floats:
    """log(weight * density), (n, K)."""
    columns = []
    for w, mean, covariance in zip(
        mixture.weights, mixture.means, mixture.covariances, strict=True
    ):
        if not (np.linalg.det(covariance) > 0.0 and covariance[0, 0] > 0.0):
            raise Failed
        away = points - mean
        squared = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
        logarithm = np.log(2.0 * np.pi) + 0.5 * np.log(np.linalg.det(covariance))
        columns.append(np.log(w) - logarithm - 0.5 * squared)
    return np.stack(columns, axis=1)


def expectation(points: Floats, mixture: Mixture) -> Floats:
    """Responsibilities (n, K); sets the likelihood and the entropy of the classification."""
    logs = log_densities(points, mixture)
    total = logsumexp(logs, axis=1)
    mixture.log_likelihood = float(total.sum())
    mixture.entropy = float((total - logs.max(axis=1)).sum())
    return np.asarray(np.exp(logs - total[:, None]))


def maximisation(points: Floats, responsibilities: Floats, kinc: bool) -> Mixture:
    """Weights, means and covariances; those of the default rules are drawn towards round ones."""
    sizes = responsibilities.sum(axis=0)
    k = len(sizes)
    if (sizes <= 0.0).any() or (not kinc and (sizes < constants.MIN_SAMPLES).any()):
        raise Failed
    means = (responsibilities.T @ points) / sizes[:, None]
    covariances = np.empty((k, 2, 2))
    for j in range(k):
        away = points - means[j]
        scatter = (responsibilities[:, j, None] * away).T @ away
        if kinc:
            covariances[j] = scatter / sizes[j]
        else:
            prior = constants.PRIOR_SCATTER / k * np.eye(2)
            covariances[j] = (scatter + prior) / (sizes[j] + constants.PRIOR_SAMPLES)
            covariances[j] += constants.RIDGE * np.eye(2)
    mixture = Mixture(sizes / len(points), means, covariances)
    log_densities(points[:1], mixture)
    return mixture


def weighted_choice(distance: Floats, uniform: float) -> int:
    """A sample with probability proportional to ``distance``, in the order of the 32 lanes."""
    order = np.argsort(np.arange(len(distance)) % 32, kind="stable")
    order = order[distance[order] > 0.0]
    if len(order) == 0:
        raise Failed
    reached = np.cumsum(distance[order])
    place = int(np.searchsorted(reached, uniform * reached[-1], side="right"))
    return int(order[min(place, len(order) - 1)])


def start(points: Floats, k: int, stream: int, restart: int) -> Mixture:
    """Greedy k-means++, then the components of the samples nearest to each centre."""
    n = len(points)
    centre = (draw(stream, k, restart, 0) >> 32) * n >> 32
    distance = ((points - points[centre]) ** 2).sum(axis=1)
    label = np.zeros(n, dtype=int)
    for j in range(1, k):
        candidates = []
        for candidate in range(2):
            uniform = (draw(stream, k, restart, 2 * j + candidate) >> 40) * 2.0**-24
            chosen = weighted_choice(distance, uniform)
            to_chosen = ((points - points[chosen]) ** 2).sum(axis=1)
            candidates.append((np.minimum(distance, to_chosen).sum(), candidate, to_chosen))
        to_centre = min(candidates, key=lambda entry: entry[:2])[2]
        label[to_centre < distance] = j
        distance = np.minimum(distance, to_centre)
    return maximisation(points, np.eye(k)[label], kinc=False)


def fit(points: Floats, k: int, stream: int, restarts: int) -> Mixture:
    """The mixture of K components by the default rules."""
    if k == 1:
        mixture = maximisation(points, np.ones((len(points), 1)), kinc=False)
        expectation(points, mixture)
        return mixture
    runs = []
    for restart in range(restarts):
        try:
            mixture = start(points, k, stream, restart)
            for _ in range(constants.N_SHORT_STEPS):
                responsibilities = expectation(points, mixture)
                reached = mixture.log_likelihood
                mixture = maximisation(points, responsibilities, kinc=False)
            runs.append((-reached, restart, mixture))
        except Failed:
            continue
    if not runs:
        raise Failed
    before, _, mixture = min(runs, key=lambda entry: entry[:2])
    before = -before
    enough = constants.TOLERANCE * len(points) * np.log(2.0)
    for step in range(constants.LIMIT):
        responsibilities = expectation(points, mixture)
        if mixture.log_likelihood - before < enough or step == constants.LIMIT - 1:
            break
        before = mixture.log_likelihood
        mixture = maximisation(points, responsibilities, kinc=False)
    return mixture


def fit_as_kinc(points: Floats, k: int) -> Mixture:
    """The mixture of K components by KINC's rules, but for the rounding of float32."""
    hits = [(16838, 5758, 10113, 17515, 31051)[j] % len(points) for j in range(k)]
    mixture = Mixture(np.full(k, 1.0 / k), points[hits], np.stack([np.eye(2)] * k))
    before = -np.inf
    for step in range(constants.KINC_LIMIT):
        responsibilities = expectation(points, mixture)
        # The difference that float32 can see at this size.
        seen = abs(mixture.log_likelihood) * 2.0**-24
        if abs(mixture.log_likelihood - before) < seen or step == constants.KINC_LIMIT - 1:
            break
        before = mixture.log_likelihood
        mixture = maximisation(points, responsibilities, kinc=True)
    return mixture


def criterion(mixture: Mixture, n: int, kind: str, kinc: bool) -> float:
    """AIC, BIC or ICL of a fit."""
    k = len(mixture.weights)
    parameters = 7 * k if kinc else 6 * k - 1
    if kind == "aic":
        return 2.0 * parameters - 2.0 * mixture.log_likelihood
    value = parameters * np.log(n) - 2.0 * mixture.log_likelihood
    return float(value + (2.0 * mixture.entropy if kind == "icl" else 0.0))


def correlation(x: Floats, y: Floats, kind: str) -> float:
    """Pearson's or Spearman's; NaN where one is constant."""
    if (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    if kind == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    # Scaled, so that neither squares nor products leave the range of float64.
    x, y = (v / np.abs(v).max() for v in (x - x.mean(), y - y.mean()))
    r = float((x @ y) / np.sqrt((x @ x) * (y @ y)))
    return min(max(r, -1.0), 1.0)


def best_mixture(
    points: Floats, config: MultimodalCorrelationConfig, stream: int
) -> tuple[Mixture | None, float]:
    """The fit of least criterion, and that criterion."""
    settings, kinc = config.estimator, config.compatibility == "kinc"
    best, least = None, float("nan")
    for k in range(settings.min_clusters, settings.max_clusters + 1):
        try:
            restarts = settings.restarts
            mixture = fit_as_kinc(points, k) if kinc else fit(points, k, stream, restarts)
        except Failed:
            continue
        value = criterion(mixture, len(points), settings.criterion, kinc)
        if best is None or value < least:
            best, least = mixture, value
    return best, least


def naive_modes(
    x: Floats,
    y: Floats,
    key_x: int,
    key_y: int,
    config: MultimodalCorrelationConfig,
    seed: int = 0,
) -> PairModes:
    """The modes of one pair; x has the smaller key (with KINC's rules: the larger number).

    x, y: float64 (samples,), NaN where missing
    """
    settings, kinc = config.estimator, config.compatibility == "kinc"
    low = -np.inf if settings.min_expression is None else settings.min_expression
    high = np.inf if settings.max_expression is None else settings.max_expression
    inside = np.isfinite(x) & np.isfinite(y)
    inside &= (x >= low) & (x <= high) & (y >= low) & (y <= high)
    usable = np.flatnonzero(inside)
    if kinc:
        x, y = (v.astype(np.float32).astype(np.float64) for v in (x, y))
    out = np.zeros(len(x), dtype=bool)
    if len(usable) < max(settings.min_samples, 1):
        return PairModes(0, len(usable), "too_few_samples", [])
    if settings.outliers_before:
        beyond = tukey(x[usable], kinc) | tukey(y[usable], kinc)
        out[usable[beyond]] = True
        usable = usable[~beyond]
        if len(usable) < max(settings.min_samples, 1):
            return PairModes(0, len(usable), "too_few_samples", [])
    a, b = x[usable], y[usable]
    n = len(usable)
    if (a == a[0]).all() or (b == b[0]).all():
        return PairModes(0, n, "constant", [])
    result = PairModes(1, n, "", [])
    labels, weights = np.zeros(n, dtype=int), np.ones(1)
    points = np.stack([a, b], axis=1)
    if not kinc:
        largest = np.abs(points).max(axis=0)
        points = points / largest
        points = (points - points.mean(axis=0)) / points.std(axis=0)
    if not kinc and 1.0 - correlation(a, b, "pearson") ** 2 < constants.DEGENERATE:
        result.problem = "degenerate"
    else:
        stream = pair_seed(seed, key_x, key_y)
        mixture, result.criterion = best_mixture(points, config, stream)
        if mixture is None:
            return PairModes(0, n, "failed", [])
        result.log_likelihood = mixture.log_likelihood
        labels = log_densities(points, mixture).argmax(axis=1)
        weights = mixture.weights
        result.k = len(weights)
    result.labels = labels.copy()
    order = np.arange(result.k) if kinc else np.argsort(-weights, kind="stable")
    if settings.outliers_after and result.k > 1:
        for k in range(result.k):
            members = np.flatnonzero(labels == k)
            beyond = tukey(a[members], kinc) | tukey(b[members], kinc)
            labels[members[beyond]] = -1
            out[usable[members[beyond]]] = True
    for k in order:
        members = usable[labels == k]
        if len(members) < max(settings.min_samples, 2):
            continue
        r = correlation(x[members], y[members], settings.correlation)
        if isfinite(r) and settings.min_correlation <= abs(r) <= settings.max_correlation:
            samples = np.zeros(len(x), dtype=bool)
            samples[members] = True
            result.modes.append({"r": r, "samples": samples, "weight": float(weights[k])})
    for mode in result.modes:
        mode["outliers"] = out
    return result
