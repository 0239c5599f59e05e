"""Normalisation of samples against each other, and of genes to unit variance.

All functions take values (genes, samples), float64, NaN where missing, and return a new array of
that shape with the same values missing.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.preprocess.statistics import row_statistics

_SHOWN = 5
GROUP_SIZE = 50
"""Samples whose totals are taken for the same: fewer make the ranks of a group too even for a
permutation null (p <= 0.05 in 7.5 % of unrelated pairs at 25, in 6 % at 50), more leave the total
in."""


def scale_to_total(values: np.ndarray, expression: Expression, total: float) -> np.ndarray:
    """Scale each sample to a sum of ``total`` over its observed genes.

    Raises InputError naming samples whose sum is zero, or that hold no observed value.
    """
    totals = np.nansum(values, axis=0)
    empty = np.flatnonzero(totals <= 0)
    if empty.size:
        names = ", ".join(repr(expression.samples[k]) for k in empty[:_SHOWN])
        raise InputError.at(
            expression.source,
            f"{empty.size} sample(s): {names}",
            "a sum of zero",
            "a positive sum in every sample under preprocess.normalize: cpm or cp10k",
        )
    return values * (total / totals)


def depth_ranks(values: np.ndarray) -> np.ndarray:
    """Rank each gene among samples of about the same total; normal scores of the ranks.

    Samples are put in groups of about 50 by their totals. Within a group the total says next to
    nothing of a value, and with ties in random order every gene has the same distribution in each
    group: what is left of the total is nothing, also where most counts are zero. Scaled counts keep
    it: a count of 1 in samples of unlike totals becomes as many different values, the same for
    every gene. A constant gene becomes 0. The order of ties depends on the shape of the table
    alone. A nonparametric form of randomised quantile residuals (Dunn & Smyth 1996).
    """
    totals = np.nansum(values, axis=0)
    order = np.argsort(totals, kind="stable")
    groups = np.array_split(order, max(1, order.size // GROUP_SIZE))
    random = np.random.Generator(np.random.Philox(key=[0, 0x74696573]))  # "ties"
    out = np.empty(values.shape)
    for group in groups:
        counts = values[:, group]
        shuffled = random.random(counts.shape).argsort(axis=1)
        by_count = np.take_along_axis(counts, shuffled, axis=1).argsort(axis=1, kind="stable")
        n_seen = (~np.isnan(counts)).sum(axis=1, keepdims=True)  # what is missing comes last
        place = np.arange(group.size) + 0.5
        scores = ndtri(np.where(place < n_seen, place / np.maximum(n_seen, 1), np.nan))
        ranked = np.empty(counts.shape)
        np.put_along_axis(ranked, np.take_along_axis(shuffled, by_count, axis=1), scores, axis=1)
        out[:, group] = ranked
    constant = row_statistics(values).constant
    out[constant] = np.where(np.isnan(values[constant]), np.nan, 0.0)
    return out


def median_ratio_factors(values: np.ndarray, expression: Expression) -> tuple[np.ndarray, int]:
    """Size factors, shape (samples,), and the number of genes that they rest on.

    Median over genes of the ratio to the gene's geometric mean (Anders & Huber 2010, Genome
    Biology 11:R106, equation 5), over the genes that are observed and positive in every sample.
    Raises InputError if there is no such gene.
    """
    # A NaN is not above zero, so genes with missing values are left out too.
    complete = (values > 0).all(axis=1)
    n_genes = int(complete.sum())
    if not n_genes:
        raise InputError.at(
            expression.source,
            "",
            "no gene that is positive in every sample",
            "at least one under preprocess.normalize: median_ratio (cpm needs none)",
        )
    logs = np.log(values[complete])
    logs -= logs.mean(axis=1, keepdims=True)
    return np.exp(np.median(logs, axis=0)), n_genes


def quantile_normalize(values: np.ndarray) -> np.ndarray:
    """Give every sample the same distribution: the mean of the samples' quantile functions.

    Bolstad et al. 2003 (Bioinformatics 19:185). A sample with missing values takes part with the
    quantile function of what it has, read at as many evenly spaced points as there are genes;
    tied values get the quantile at their average rank.
    """
    n_genes = len(values)
    points = np.linspace(0.0, 1.0, n_genes)
    columns = np.ascontiguousarray(values.T)
    total = np.zeros(n_genes)
    n_used = 0
    for column in columns:
        seen = np.sort(column[~np.isnan(column)])
        if seen.size:
            total += seen if seen.size == n_genes else np.interp(points, _grid(seen.size), seen)
            n_used += 1
    target = total / max(n_used, 1)
    for column in columns:
        _map_to_target(column, points, target)
    return np.ascontiguousarray(columns.T)


def zscore(values: np.ndarray) -> np.ndarray:
    """Give each gene mean 0 and population standard deviation 1; a constant gene becomes 0."""
    statistics = row_statistics(values)
    # A spread too small to square counts as none.
    scale = np.where(statistics.sd > 0, statistics.sd, 1.0)
    # The mean of a constant gene may differ from it in the last place; its own value does not.
    centre = np.where(statistics.constant, _first_observed(values), statistics.mean)
    return (values - centre[:, None]) / scale[:, None]


def _grid(n: int) -> np.ndarray:
    return np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.5])


def _map_to_target(column: np.ndarray, points: np.ndarray, target: np.ndarray) -> None:
    """Replace one sample's values, in place, by the target's quantiles at their ranks."""
    order = column.argsort()  # NaN last
    n = column.size - int(np.isnan(column).sum())
    if not n:
        return
    order = order[:n]
    seen = column[order]
    starts = np.flatnonzero(np.concatenate([[True], seen[1:] != seen[:-1]]))
    if n == column.size and starts.size == n:
        column[order] = target
        return
    lengths = np.diff(np.append(starts, n))
    # The average rank of each run of tied values, counted from 0, as a share of the last rank.
    position = (starts + (lengths - 1) / 2) / (n - 1) if n > 1 else np.array([0.5])
    column[order] = np.repeat(np.interp(position, points, target), lengths)


def _first_observed(values: np.ndarray) -> np.ndarray:
    first = (~np.isnan(values)).argmax(axis=1)
    return np.asarray(values[np.arange(len(values)), first])
