"""Slow, plain references of the threshold searches: loops, whole matrices, double precision."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.interpolate import Akima1DInterpolator


def pruned_matrix(i, j, r, n_genes, threshold, rule="symmetric"):
    """The matrix of one step: signed correlations of at least the threshold, ones on the diagonal.

    ``kinc``: a gene stays for a strong pair with a gene before it; ``symmetric``: for any.
    """
    strongest = {}
    for a, b, value in zip(i, j, r, strict=True):
        pair = (min(a, b), max(a, b))
        if pair not in strongest or abs(value) > abs(strongest[pair]):
            strongest[pair] = value
    kept = set()
    for (low, high), value in strongest.items():
        if abs(np.float32(value)) >= np.float32(threshold):
            kept.add(high)
            if rule == "symmetric":
                kept.add(low)
    genes = sorted(kept)
    matrix = np.eye(len(genes))
    for (low, high), value in strongest.items():
        if low in kept and high in kept and abs(np.float32(value)) >= np.float32(threshold):
            a, b = genes.index(low), genes.index(high)
            matrix[a, b] = matrix[b, a] = np.float32(value)
    return genes, matrix


def distinct(eigenvalues, same=1e-6):
    """Eigenvalues further than ``same`` above the one before."""
    values = sorted(eigenvalues)
    return [v for k, v in enumerate(values) if k == 0 or v - values[k - 1] > same]


def chi_square(eigenvalues):
    """Mean over paces of the chi-square of 60 bins of unfolded spacings against exp(-s)."""
    n = len(eigenvalues)
    tests = []
    for pace in range(10, 41):
        if n // pace < 5:
            break
        knots = [[eigenvalues[k * pace], (k * pace + 1) / n] for k in range(n // pace)]
        knots[-1] = [eigenvalues[-1], 1.0]
        x, y = zip(*knots, strict=True)
        spline = Akima1DInterpolator(x, y)
        unfolded = [0.0, *(float(spline(v)) for v in eigenvalues[1:-1]), 1.0]
        counts = [0] * 60
        for a, b in itertools.pairwise(unfolded):
            spacing = (b - a) * n
            if 0 <= spacing < 3:
                counts[int(spacing / 0.05)] += 1
        total = 0.0
        for k, seen in enumerate(counts):
            expected = n * (math.exp(-k * 0.05) - math.exp(-(k + 1) * 0.05))
            total += (seen - expected) ** 2 / expected
        tests.append(total)
    return sum(tests) / len(tests)


def curve(i, j, r, n_genes, thresholds, rule="symmetric", least=50):
    """(threshold, genes, distinct eigenvalues, chi-square or None) for each threshold."""
    rows = []
    for threshold in thresholds:
        genes, matrix = pruned_matrix(i, j, r, n_genes, threshold, rule)
        values = distinct(np.linalg.eigvalsh(matrix)) if genes else []
        chi = chi_square(values) if len(values) >= least else None
        rows.append((threshold, len(genes), len(values), chi))
    return rows


def scale_free_fit(degrees, bins=10):
    """Signed R^2 of log10 share on log10 mean degree, over the occupied bins of equal width."""
    low, high = min(degrees), max(degrees)
    if low == high:
        return float("nan")
    groups = {}
    for degree in degrees:
        k = min(int((degree - low) * bins / (high - low)), bins - 1)
        groups.setdefault(k, []).append(degree)
    if len(groups) < 4:
        return float("nan")
    x = [math.log10(sum(g) / len(g)) for g in groups.values()]
    y = [math.log10(len(g) / len(degrees)) for g in groups.values()]
    r = np.corrcoef(x, y)[0, 1]
    return -math.copysign(r * r, r)


def modules_and_noise(genes, samples, seed, n_modules=40, least=0.5):
    """Strong pairs (i, j, r) of genes that follow one of some factors, with noise."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(n_modules, samples))
    values = random.uniform(0.5, 3, (genes, 1)) * factors[random.integers(0, n_modules, genes)]
    correlation = np.corrcoef(values + random.normal(size=(genes, samples))).astype(np.float32)
    i, j = np.triu_indices(genes, 1)
    r = correlation[i, j]
    strong = np.abs(r) >= least
    return i[strong], j[strong], r[strong]
