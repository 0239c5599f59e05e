"""``score: combined`` straight from its definition, one pair or one matrix after the other."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata


def naive_standardised(values, by_rank=False):
    """Rows of mean 0 and variance 1 over what is observed; 0 elsewhere."""
    values = np.asarray(values)
    rows = np.zeros(values.shape)
    for gene, row in enumerate(values):
        known = ~np.isnan(row)
        seen = row[known]
        if by_rank and seen.size:
            seen = ndtri((rankdata(seen) - 0.5) / seen.size)
        if seen.size and np.ptp(seen) > 0:
            rows[gene, known] = seen - seen.mean()
            rows[gene] /= np.sqrt((rows[gene] ** 2).mean())
    return rows


def naive_shrinkage(rows):
    """Schäfer and Strimmer's intensity, the sums over all pairs of rows taken one by one."""
    n = rows.shape[1]
    variance = squares = 0.0
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if i != j:
                products = a * b
                squares += products.mean() ** 2
                variance += n / (n - 1) ** 3 * ((products - products.mean()) ** 2).sum()
    if squares <= 1e-12 * len(rows):
        return 1.0
    return min(1.0, max(1e-3, variance / squares))


def shrunken(rows, lam):
    """Correlations of standardised rows, those of two different rows times 1 - lam."""
    correlations = (1 - lam) * rows @ rows.T / rows.shape[1]
    np.fill_diagonal(correlations, 1.0)
    return correlations


def naive_partial_correlations(values, regulators, by_rank=False):
    """sqrt(linear^2 + square^2) of each regulator with each gene, NaN with itself."""
    x = naive_standardised(values, by_rank)
    n, p = x.shape[1], len(regulators)
    own = x[regulators]
    squares = naive_standardised(own**2)
    slopes = (squares * own).sum(axis=1, keepdims=True) / n
    squares = naive_standardised(squares - slopes * own)
    lam, lam_squares = naive_shrinkage(own), naive_shrinkage(squares)
    found = np.full((p, len(values)), np.nan)
    for target, row in enumerate(x):
        others = np.flatnonzero(np.asarray(regulators) != target)
        joined = np.vstack([own[others], row])
        linear = partial_with_last(joined, lam)
        weights = np.linalg.solve(shrunken(own[others], lam), (1 - lam) * own[others] @ row / n)
        left = naive_standardised([row - weights @ own[others]])
        square = partial_with_last(np.vstack([squares, left]), lam_squares)[others]
        found[others, target] = np.hypot(linear, square)
    return found


def partial_with_last(rows, lam):
    """Partial correlation of each row but the last with the last, given the others."""
    precision = np.linalg.inv(shrunken(rows, lam))
    spread = np.sqrt(np.diag(precision))
    return (-precision / np.outer(spread, spread))[-1, :-1]


def naive_combined(mi, partial, weight, better=False, other=0.0):
    """The score of each source (row) with each target, from all MI and partial correlations; NaN
    where MI is. better: each term is that of the better direction. other: of the z-score of MI in
    the other direction, what is added before ranks are taken."""
    score = np.zeros(mi.shape)
    partial = np.where(np.isnan(mi), np.nan, partial)
    for values, times, share in ((mi, 1.0, other), (partial, weight, 0.0)):
        z = np.full(values.shape, np.nan)
        for target in range(values.shape[1]):
            column = values[:, target]
            sd = np.nanstd(column) if (~np.isnan(column)).any() else 0.0
            z[:, target] = (column - np.nanmean(column)) / sd if sd > 1e-5 else 0.0 * column
        if share:
            z = np.maximum(z, z.T) + share * np.minimum(z, z.T)
        known = ~np.isnan(z)
        ranks = rankdata(np.round(z[known], 8)) - 0.5
        term = np.full(values.shape, np.nan)
        term[known] = times * -np.log(1 - ranks / known.sum())
        score += np.fmax(term, term.T) if better else term
    return score


def naive_given_components(values, loadings, by_rank=False):
    """Mutual information of normal variables as close as a parabola in one gene (row) is to another
    (column), of what is left of both beside components with these loadings; NaN with itself."""
    x = naive_standardised(values, by_rank)
    components = np.linalg.lstsq(loadings, x, rcond=None)[0].T
    rest = x - (components @ np.linalg.lstsq(components, x.T, rcond=None)[0]).T
    rest[np.isnan(values)] = np.nan
    rest[(np.nan_to_num(rest) ** 2).mean(axis=1) < 1e-9] = 0.0
    rest = naive_standardised(rest)
    found = np.full((len(x), len(x)), np.nan)
    for source, row in enumerate(rest):
        parabola = np.stack([np.ones(row.size), row, row**2], axis=1)
        for target, other in enumerate(rest):
            if source != target:
                fit = parabola @ np.linalg.lstsq(parabola, other, rcond=None)[0]
                found[source, target] = (fit**2).mean()
    return -0.5 * np.log2(1 - np.minimum(found, 1 - 1e-9))
