"""Normalisation of samples against each other, the logarithm, and genes of unit variance.

Values are (genes, samples), float64, NaN where missing. What normalises counts measures the whole
table first and is then applied to some genes at a time.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.engine.large_table import releasing, row_blocks
from pairtile.engine.state import release
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.io.sparse_rows import SparseRows, columns_of
from pairtile.preprocess.statistics import RawCounts, blocks_of, row_statistics
from pairtile.runtime.threads import in_threads
from pairtile.statistics.ranks import average_ranks

GROUP_SIZE = 50
"""Samples whose totals are taken for the same: fewer make the ranks of a group too even for a
permutation null (p <= 0.05 in 7.5 % of unrelated pairs at 25, in 6 % at 50), more leave the total
in."""

MIN_DISPERSION = 1e-4
"""Of counts that vary no more than Poisson's: a coefficient of variation of 1 %."""

_TIES = (0, 0x74696573)
"""Key of the random order of ties ("ties")."""


def factors_to_total(
    totals: NDArray[np.float64], expression: Expression, total: float
) -> NDArray[np.float64]:
    """By what each sample is to be multiplied for a sum of ``total`` over its observed genes.

    totals : float64 (samples,), the sums as they are. Raises InputError naming samples whose sum is
    zero, or that hold no observed value.
    """
    empty = np.flatnonzero(totals <= 0)
    if empty.size:
        names = ", ".join(repr(expression.samples[k]) for k in empty[:5])
        raise InputError.at(
            expression.source,
            f"{empty.size} sample(s): {names}",
            "a sum of zero",
            "a positive sum in every sample, to which it can be scaled: leave these out of the "
            "table, or set preprocess.normalize: none",
        )
    return np.asarray(total / totals)


class DepthRanks:
    """Ranks of each gene among samples of about the same total; normal scores of the ranks.

    Samples are put in groups of about 50 by their totals. Within a group the total says next to
    nothing of a value, and with ties in random order every gene has the same distribution in each
    group: what is left of the total is nothing, also where most counts are zero. Scaled counts keep
    it: a count of 1 in samples of unlike totals becomes as many different values, the same for
    every gene. A constant gene becomes 0. The order of ties depends on the shape of the table
    alone. A nonparametric form of randomised quantile residuals (Dunn & Smyth 1996).

    totals : float64 (samples,), sums over the observed genes. n_genes : of the whole table.
    """

    def __init__(self, totals: NDArray[np.float64], n_genes: int) -> None:
        order = np.argsort(totals, kind="stable")
        self._groups = np.array_split(order, max(1, order.size // GROUP_SIZE))
        self._n_genes = n_genes

    def __call__(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores of some genes: ``values`` (rows, samples), ``rows`` their ascending numbers in
        the table."""
        out = np.empty(values.shape)
        larger = sum(group.size > self._groups[-1].size for group in self._groups)
        for first, alike in ((0, self._groups[:larger]), (larger, self._groups[larger:])):
            if not alike:
                continue
            members = np.array(alike)  # groups of one size at a time
            n_seen = np.arange(members.shape[1] + 1)[:, None]
            scores = scipy.special.ndtri(
                (np.arange(members.shape[1]) + 0.5) / np.maximum(n_seen, 1)
            )
            ranked = np.full((rows.size, *members.shape), np.nan)
            draws = self._draws(rows, first, members.shape)
            _score_ranks(values[:, members], draws, scores, ranked)
            out[:, members] = ranked
        constant = row_statistics(values).constant
        out[constant] = np.where(np.isnan(values[constant]), np.nan, 0.0)
        return out

    def _draws(
        self, rows: NDArray[np.int64], first: int, shape: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Of one stream of random numbers, in the order groups, genes, samples, those of ``rows``
        in the groups from number ``first`` on: shape (rows, groups, samples of a group)."""
        n_groups, size = shape
        drawn = np.empty((rows.size, n_groups, size))
        before = self._n_genes * sum(group.size for group in self._groups[:first])
        for group in range(n_groups):
            begin = before + (self._n_genes * group + int(rows[0])) * size
            bits = np.random.Philox(key=_TIES)
            bits.advance(begin // 4)  # it makes four numbers at once
            random = np.random.Generator(bits)
            random.random(begin % 4)
            drawn[:, group] = random.random((rows[-1] - rows[0] + 1, size))[rows - rows[0]]
        return drawn


@njit(nogil=True)
def _score_ranks(counts, draws, scores, out):  # type: ignore[no-untyped-def]
    """counts, draws, out (genes, groups, samples of a group); scores (n observed, rank): those of
    each group in ``out``, ordered by count and draw. What is missing is left as it is."""
    for row in range(counts.shape[0]):
        order = np.empty(counts.shape[2], dtype=np.int64)
        for group in range(counts.shape[1]):
            count, draw = counts[row, group], draws[row, group]
            n_seen = 0
            for k in range(count.size):  # by insertion: groups are small
                if np.isnan(count[k]):
                    continue
                place = n_seen
                while place > 0:
                    before = order[place - 1]
                    if count[before] < count[k]:
                        break
                    if count[before] == count[k] and draw[before] < draw[k]:
                        break
                    order[place] = before
                    place -= 1
                order[place] = k
                n_seen += 1
            for place in range(n_seen):
                out[row, group, order[place]] = scores[n_seen, place]


def median_ratio_factors(
    expression: Expression, counted: RawCounts
) -> tuple[NDArray[np.float64], int]:
    """Size factors, shape (samples,), and the number of genes that they rest on.

    Median over genes of the ratio to the gene's geometric mean (Anders & Huber 2010, Genome
    Biology 11:R106, equation 5), over the genes that are observed and positive in every sample.
    Raises InputError if there is no such gene.
    """
    complete = np.flatnonzero(counted.n_positive == len(expression.samples))
    if not complete.size:
        raise InputError.at(
            expression.source,
            "",
            "no gene that is positive in every sample",
            "at least one under preprocess.normalize: median_ratio or vst (cpm needs none)",
        )
    values, n_samples = expression.values, len(expression.samples)

    blocks = blocks_of(complete, n_samples)
    means = np.concatenate(list(in_threads(lambda rows: np.log(values[rows]).mean(axis=1), blocks)))
    release(values)
    if isinstance(values, SparseRows):  # few genes: columns of a sparse table take long
        values, complete = values[complete], np.arange(complete.size)

    def medians(columns: NDArray[np.int64]) -> NDArray[np.float64]:
        logs = np.log(np.ascontiguousarray(values[:, columns[0] : columns[-1] + 1][complete]))
        return np.asarray(np.median(logs - means[:, None], axis=0))

    parts = in_threads(medians, blocks_of(np.arange(n_samples), complete.size))
    return np.exp(np.concatenate(list(releasing(parts, values)))), int(complete.size)


def tmm_factors(expression: Expression, counted: RawCounts) -> NDArray[np.float64]:
    """Size factors, shape (samples,), geometric mean 1: each sample's total times its trimmed mean
    of M-values (Robinson & Oshlack 2010, Genome Biology 11:R25).

    A sample is compared with the one whose upper quartile is nearest to the mean upper quartile,
    over the genes above zero in both; of these the 30 % with the largest and the smallest ratios
    are left out, then the 5 % with the largest and the smallest means. Raises InputError where a
    sample sums to zero.
    """
    values, totals = expression.values, counted.totals
    to_share = factors_to_total(totals, expression, 1.0)
    columns = blocks_of(np.arange(totals.size), values.shape[0])
    quartile = np.concatenate(
        [
            np.nanquantile(columns_of(values, some)[counted.n_positive > 0], 0.75, axis=0)
            for some in columns
        ]
    )
    quartile *= to_share
    reference = int(np.argmin(np.abs(quartile - quartile.mean())))
    of_reference = columns_of(values, np.array([reference]))[:, 0]
    logs = np.zeros(totals.size)
    for some in columns:
        for sample, counts in zip(some, columns_of(values, some).T, strict=True):
            both = (counts > 0) & (of_reference > 0)
            logs[sample] = _mean_log_ratio(
                counts[both], of_reference[both], totals[sample], totals[reference]
            )
    logs += np.log2(totals)
    return np.asarray(np.exp2(logs - logs.mean()))


def _mean_log_ratio(
    counts: NDArray[np.float64], reference: NDArray[np.float64], total: float, of_reference: float
) -> float:
    """The weighted, trimmed mean of log2 ratios of shares (equation 1 there); 0 without genes."""
    share, expected = counts / total, reference / of_reference
    ratio, level = np.log2(share / expected), np.log2(share * expected)
    if ratio.size == 0 or np.abs(ratio).max() < 1e-6:
        return 0.0
    kept = np.ones(ratio.size, dtype=bool)
    ranked = np.stack([ratio, level])
    average_ranks(ranked, ranked)
    for ranks, trimmed in zip(ranked, (0.3, 0.05), strict=True):
        lowest = int(ratio.size * trimmed) + 1
        kept &= (ranks >= lowest) & (ranks <= ratio.size + 1 - lowest)
    # The delta method's variance of a log ratio of two binomial shares.
    variance = (1.0 - share[kept]) / counts[kept] + (1.0 - expected[kept]) / reference[kept]
    return float(np.average(ratio[kept], weights=1.0 / variance)) if kept.any() else 0.0


def dispersion_trend(expression: Expression, factors: NDArray[np.float64]) -> tuple[float, float]:
    """a0 and a1 of the trend a0 + a1 / mean that the genes' dispersions follow.

    Dispersions by the method of moments from counts over their size ``factors`` (samples,); the
    trend as a generalised linear model of the gamma family with the identity link, over genes whose
    dispersion is 1e-4 to 15 times its own (Anders & Huber 2010, Genome Biology 11:R106).
    """
    means, dispersions = [], []
    n_samples = factors.size
    for rows in row_blocks(expression.values.shape):
        found = row_statistics(expression.values[rows] / factors)
        seen = (found.n_observed > 1) & (found.mean > 0)
        mean, n = found.mean[seen], found.n_observed[seen]
        variance = found.sd[seen] ** 2 * n / (n - 1)
        means.append(mean)
        dispersions.append((variance - mean * (1.0 / factors).sum() / n_samples) / mean**2)
    mean, dispersion = np.concatenate(means), np.concatenate(dispersions)
    trend = np.array([0.1, 1.0])
    for _ in range(100):
        fitted = trend[0] + trend[1] / mean
        used = (dispersion > 1e-4 * fitted) & (dispersion < 15.0 * fitted)
        terms = np.column_stack([np.ones(mean.size), 1.0 / mean])[used] / fitted[used, None]
        before = trend
        trend = np.linalg.lstsq(terms, dispersion[used] / fitted[used])[0]
        trend = np.maximum(trend, MIN_DISPERSION)
        if np.abs(np.log(trend / before)).max() < 1e-6:
            break
    return float(trend[0]), float(trend[1])


def stabilise_variance(counts: NDArray[np.float64], a0: float, a1: float) -> NDArray[np.float64]:
    """Of normalised counts, a function like log2 for large ones, whose variance does not depend on
    the mean where the dispersion is a0 + a1 / mean."""
    root = np.sqrt(a0 * counts * (1.0 + a1 + a0 * counts))
    return np.asarray(np.log2((1.0 + a1 + 2.0 * a0 * counts + 2.0 * root) / (4.0 * a0)))


def take_log2(
    values: np.ndarray, expression: Expression, pseudocount: float, rows: NDArray[np.int64]
) -> np.ndarray:
    """Replace ``values``, the genes ``rows`` of a table, by log2(values + pseudocount), in place.

    Without pseudocount, zeros become missing. Returns the number of these for each gene, int32.
    Raises InputError naming gene and sample if a value is too low for the logarithm.
    """
    too_low = (values < 0) & (values + pseudocount <= 0)
    if too_low.any():
        row, column = divmod(int(too_low.argmax()), values.shape[1])
        raise InputError.at(
            expression.source,
            f"gene {expression.genes[rows[row]]!r}, sample {expression.samples[column]!r}",
            f"{values[row, column]:.6g}, which has no logarithm",
            "no negative values under preprocess.log2: true (set it to false if the values are "
            "logarithms already, or a pseudocount larger than their depth)",
        )
    n_zeros = np.zeros(len(values), dtype=np.int32)
    if pseudocount:
        values += pseudocount
    else:
        zero = values == 0
        n_zeros[:] = zero.sum(axis=1)
        values[zero] = np.nan
    np.log2(values, out=values)
    return n_zeros


def quantile_normalize(values: np.ndarray) -> None:
    """Give every sample, in place, the same distribution: the mean of the samples' quantile
    functions.

    Bolstad et al. 2003 (Bioinformatics 19:185). A sample with missing values takes part with the
    quantile function of what it has, read at as many evenly spaced points as there are genes;
    tied values get the quantile at their average rank.
    """
    n_genes = len(values)
    points = np.linspace(0.0, 1.0, n_genes)
    blocks = row_blocks((values.shape[1], n_genes))  # of samples

    def quantiles(samples: slice) -> list[NDArray[np.float64]]:
        found = []
        for column in np.ascontiguousarray(values[:, samples].T):
            seen = np.sort(column[~np.isnan(column)])
            if seen.size:
                grid = np.linspace(0.0, 1.0, seen.size) if seen.size > 1 else [0.5]
                found.append(seen if seen.size == n_genes else np.interp(points, grid, seen))
        return found

    total = np.zeros(n_genes)
    n_used = 0
    for found in releasing(in_threads(quantiles, blocks), values):
        for of_sample in found:
            total += of_sample
        n_used += len(found)
    target = total / max(n_used, 1)

    def map_samples(samples: slice) -> None:
        columns = np.ascontiguousarray(values[:, samples].T)
        last = (~np.isnan(columns)).sum(axis=1, keepdims=True) - 1.0
        average_ranks(columns, columns)
        place = np.where(last > 0.0, (columns - 1.0) / np.maximum(last, 1.0), 0.5)
        place[np.isnan(columns)] = np.nan
        values[:, samples] = np.interp(place, points, target).T

    list(releasing(in_threads(map_samples, blocks), values))


def zscore(values: np.ndarray) -> np.ndarray:
    """Give each gene mean 0 and population standard deviation 1; a constant gene becomes 0."""
    statistics = row_statistics(values)
    # A spread too small to square counts as none.
    scale = np.where(statistics.sd > 0, statistics.sd, 1.0)
    return (values - statistics.mean[:, None]) / scale[:, None]
