"""Counts as normal scores of what depth and chance leave of them: one model for bulk and cells.

A gene's counts are taken for negative binomial draws whose mean is the gene's own times the depth
of the sample. A count becomes the normal score of its place in that distribution: as counts are
discrete, of a random place between the next lower count and itself (randomised quantile residuals;
Dunn & Smyth 1996, Journal of Computational and Graphical Statistics 5:236). So every value has the
same distribution at any depth, and unrelated genes have nothing in common. Scaled counts have: a
count of 1 in samples of unlike depths becomes as many different values, the same for every gene.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.engine.large_table import count, releasing, row_blocks
from pairtile.io.expression import Expression
from pairtile.io.sparse_rows import Entries, Values, entries_of, entry_blocks, stored_values
from pairtile.preprocess.normalize import MIN_DISPERSION
from pairtile.runtime.threads import in_threads
from pairtile.statistics.counting_noise import name_keys

MAX_SUMMED = 64
"""Largest count up to which probabilities are summed one by one; for larger ones, and far in the
tails, the incomplete beta function is called."""

LEFT = 2.0
"""More than any probability."""

MAX_ROUNDS, DEPTH_TOLERANCE = 10, 0.01


class CountResiduals:
    """The residuals of a table of counts.

    Depths and dispersions are estimated in turns, until no depth changes by more than 1 %. Depth is
    a weighted total, by the weights 1 / (1 + dispersion * mean) of the negative binomial's
    quasi-likelihood: a gene that varies much says little of depth, however large its counts. Mean
    and dispersion (by moments) come from the gene's own row, and random numbers are keyed on the
    names of gene and sample: a value does not depend on what else is computed, or in which order.
    Fractions are rounded; a constant gene becomes 0.

    The depth that residuals are about is drawn from what the counts leave open of it, a gamma
    distribution with the weighted total for its shape. About the estimate itself, to which every
    gene has contributed, residuals of unrelated genes of a small panel would be negatively related
    (by 1 / genes: at 1,000 samples of 60 genes, p <= 0.05 in 6.4 % of pairs).

    expression : counts, of which every sample has a positive sum.

    Attributes
    ----------
    depths : float64 (samples,)
        By what the genes' means are multiplied there, as drawn.
    """

    def __init__(self, expression: Expression) -> None:
        self._genes, values = expression.genes, expression.values
        self._sample_keys = name_keys(expression.samples)
        self._complete = not count(np.isnan, stored_values(values))
        self._of_genes = np.full((3, len(self._genes)), np.nan)  # means, weights, dispersions
        self._sums = np.zeros((2, values.shape[1]))  # weighted totals, and what is expected of them
        depths = self._update(values)
        for _ in range(MAX_ROUNDS):
            before, depths = depths, self._update(values)
            if np.abs(depths / before - 1.0).max() <= DEPTH_TOLERANCE:
                break
        totals, expected = self._sums
        places = np.array([_uniform(key) for key in self._sample_keys])
        self.depths = scipy.special.gammaincinv(totals, places) / expected
        self._update(values)  # genes by the last depths

    def _update(self, values: Values) -> NDArray[np.float64]:
        """Measure the genes by the depths at hand, then the depths by the genes."""
        whole = np.vstack([self._sums, self._sums[0] ** 2])
        given = self._sums, whole.sum(axis=1)

        def measure(rows: slice) -> NDArray[np.float64]:
            return _measure(*self._entries(values, rows), *given, self._of_genes[:, rows])

        held = stored_values(values).size if self._complete else values.shape[0] * values.shape[1]
        blocks = row_blocks((values.shape[0], held // values.shape[0]))  # of what is worked on
        measured = releasing(in_threads(measure, blocks), values)
        self._of_genes = np.concatenate(list(measured), axis=1)
        totals, expected = self._sums = np.zeros(self._sums.shape)
        for rows, entries in entry_blocks(values):
            _add(*entries, self._of_genes[:, rows], expected, totals)
        expected += np.cumsum(self._of_genes[0] * self._of_genes[1])[-1]  # means, weights
        return np.asarray(totals / expected)

    def _entries(self, values: Values, rows: slice) -> Entries:
        """Counts other than zero; in a table where some are missing, so that less is expected of
        some samples, all counts."""
        given = (values, rows) if self._complete else (values[rows], slice(None))
        counts, samples, starts = entries_of(*given)
        counts = np.round(counts)
        there = (counts != 0.0) | (not self._complete)
        if there.all():  # a selection would keep other threads waiting
            return counts, samples, starts
        return counts[there], samples[there], np.append(0, there.cumsum())[starts]

    def __call__(self, counts: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The residuals of some genes: ``counts`` (rows, samples), ``rows`` their numbers."""
        keys = name_keys([self._genes[row] for row in rows]), self._sample_keys
        means, _, dispersions = self._of_genes[:, rows]
        tails = np.empty(counts.shape)
        constant = _find_tails(counts, means, dispersions, self.depths, keys, tails)
        gene, sample = np.nonzero(tails > 1.0)
        if gene.size:
            left, size = tails[gene, sample] - LEFT, 1.0 / dispersions[gene]
            beta = size, left, size / (size + means[gene] * self.depths[sample])
            lower, upper = scipy.special.betainc(*beta), scipy.special.betaincc(*beta)
            tails[gene, sample] = np.where(lower < upper, lower, -upper)
        scores = np.abs(tails)
        least = np.finfo(float).tiny  # the score of probability zero would be infinite
        scipy.special.ndtri(np.clip(scores, least, 0.5, out=scores), out=scores)
        np.copysign(scores, np.negative(tails, out=tails), out=scores)
        scores[constant] = np.where(np.isnan(counts[constant]), np.nan, 0.0)
        return scores


@njit(nogil=True, error_model="numpy")
def _moments(counts, samples, sums, whole, mean, weight):  # type: ignore[no-untyped-def]
    """Mean and dispersion of one gene, by the depths that ``sums`` give.

    The dispersion is that about depths without the gene itself, whose ``mean`` and ``weight`` in
    the sums are given: else a gene that makes up most of the totals would vary with depth alone.
    Samples without an entry count 0, and as much is expected of each: from the sums over all
    samples (``whole``), of totals, expectations and squared totals, theirs follow.
    """
    n_seen, total, depths, other_depths = 0, 0.0, 0.0, 0.0
    n_rest, rest, rest_squares = sums.shape[1] - counts.size, whole[0], whole[2]
    for k in range(counts.size):
        count, (depth, expected) = counts[k], sums[:, samples[k]]
        rest -= depth
        rest_squares -= depth**2
        if not np.isnan(count):
            n_seen += 1
            total += count
            depths += depth / expected
            other_depths += (depth - weight * count) / (expected - weight * mean)
    others = sums[1, 0] - weight * mean
    if n_rest > 0:
        n_seen += n_rest
        depths += rest / sums[1, 0]
        other_depths += rest / others
    if total == 0.0 or n_seen < 2:
        return 0.0, MIN_DISPERSION
    above, squares, scale = 0.0, 0.0, total / other_depths
    for k in range(counts.size):
        count, (depth, expected) = counts[k], sums[:, samples[k]]
        if not np.isnan(count):
            gene_mean = (depth - weight * count) / (expected - weight * mean) * scale
            above += (count - gene_mean) ** 2 * n_seen / (n_seen - 1) - gene_mean
            squares += gene_mean**2
    if n_rest > 0:
        rest_squares *= (scale / others) ** 2
        above += rest_squares * n_seen / (n_seen - 1) - rest * scale / others
        squares += rest_squares
    dispersion = above / squares
    # Not a number where no other gene has any count.
    return total / depths, dispersion if dispersion > MIN_DISPERSION else MIN_DISPERSION


@njit(nogil=True, error_model="numpy")
def _measure(counts, samples, starts, sums, whole, before):  # type: ignore[no-untyped-def]
    """Means, weights and dispersions of genes, (3, genes), by the depths that ``sums`` give.

    At first, where those ``before`` are NaN, every dispersion is 1: weights fall with the mean.
    """
    found = np.empty(before.shape)
    for gene in range(starts.size - 1):
        own = counts[starts[gene] : starts[gene + 1]]
        mean, weight = before[:2, gene]
        if np.isnan(mean):
            observed = sums.shape[1] - np.isnan(own).sum()
            mean, dispersion = np.nansum(own) / max(observed, 1), 1.0
        else:
            places = samples[starts[gene] : starts[gene + 1]]
            mean, dispersion = _moments(own, places, sums, whole, mean, weight)
        found[:, gene] = mean, 1.0 / (1.0 + dispersion * mean), dispersion
    return found


@threaded(entries=512)
def _add(first, last, counts, samples, starts, of_genes, expected, totals):  # type: ignore[no-untyped-def]
    """Add to the ``totals`` of samples the weighted counts of genes and, where these are missing,
    take from what is ``expected`` of samples, gene after gene: they are the same for any blocks and
    threads. A gene's entries are in the order of samples."""
    for gene in range(starts.size - 1):
        mean, weight = of_genes[:2, gene]
        own = slice(starts[gene], starts[gene + 1])
        begin, end = np.searchsorted(samples[own], np.array([first, last]))
        for k in range(own.start + begin, own.start + end):
            count = np.rint(counts[k])
            if np.isnan(count):
                expected[samples[k]] -= weight * mean
            else:
                totals[samples[k]] += weight * count


@njit(nogil=True, error_model="numpy")
def _find_tails(counts, means, dispersions, depths, keys, tails):  # type: ignore[no-untyped-def]
    """The tail probability of each count's random place: the lower one, or less the upper one.

    counts, tails (genes, samples). Where the incomplete beta function is to be called, its second
    argument and ``LEFT`` are put into ``tails``. Returns whether each gene is constant.
    """
    constant = np.empty(counts.shape[0], dtype=np.bool_)
    for gene in range(counts.shape[0]):
        size, low, high = 1.0 / dispersions[gene], np.inf, -np.inf
        for k in range(counts.shape[1]):
            if np.isnan(counts[gene, k]):
                tails[gene, k] = np.nan
                continue
            low, high = min(low, counts[gene, k]), max(high, counts[gene, k])
            count = np.rint(counts[gene, k])
            place = _uniform(keys[0][gene] ^ keys[1][k])
            odds = dispersions[gene] * means[gene] * depths[k]
            chance = np.exp(-size * np.log(1.0 + odds))
            if count <= MAX_SUMMED and chance > 1e-290:
                lower = 0.0
                for below in range(int(count)):
                    lower += chance
                    chance *= (size + below) / (below + 1.0) * odds / (1.0 + odds)
                lower += place * chance
                # A smaller upper tail is not taken from 1 less a sum.
                if 1.0 - lower > 1e-9:
                    tails[gene, k] = lower if lower < 0.5 else lower - 1.0
                    continue
            # I(size, y) is the chance of less than y, I(size, y + 1) that of y or less.
            tails[gene, k] = LEFT + count + place
        constant[gene] = low == high
    return constant


@njit(nogil=True)
def _uniform(key):  # type: ignore[no-untyped-def]
    """Of a uint64, a number between 0 and 1 (finaliser of SplitMix64; Steele et al. 2014)."""
    key ^= key >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(27)
    key *= np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    return ((key >> np.uint64(11)) + 0.5) * 2.0**-53
