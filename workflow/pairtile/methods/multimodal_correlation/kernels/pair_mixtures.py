"""All the modes of pairs of genes: the mixture of each pair, and the correlation of each mode.

The CPU twin of ``pair_mixtures.cu``; both give the same bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_em import (
    COVARIANCE,
    MEAN_X,
    MEAN_Y,
    THETA_COLUMNS,
    VARIANCE_X,
    VARIANCE_Y,
    WEIGHT,
    label_samples,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_fit import LN2, choose_mixture
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_layout import (
    CONSTANT,
    COUNTS,
    DEGENERATE,
    FAILED,
    HISTOGRAM_BINS,
    MAX_CLUSTERS,
    Found,
    Genes,
    Rules,
    make_work,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_modes import (
    centre,
    standardised_correlation,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_samples import (
    compact,
    take_samples,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_start import pair_seed
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_vectors import LANES
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_write import write_modes

__all__ = [
    "COUNTS",
    "HISTOGRAM_BINS",
    "MAX_CLUSTERS",
    "Found",
    "Genes",
    "Rules",
    "modes_of_pairs",
]


@njit(cache=True, nogil=True, error_model="numpy")
def modes_of_pairs(genes, rules, rows, columns, found, counts, histogram_k, histogram_r):  # type: ignore[no-untyped-def]
    """Write the kept modes of pairs one after another; returns how many.

    genes: ``Genes``; rules: ``Rules``; rows, columns: int64 (pairs,), gene numbers
    found: ``Found``, with room for K_max modes of each pair
    counts: int64 (11,) as ``COUNTS``, histogram_k: int64 (6,), histogram_r: int64 (200,), added to
    """
    work = make_work(genes.values.shape[1])
    n_found = 0
    for pair in range(rows.shape[0]):
        n_found = _modes_of_pair(
            genes,
            rules,
            pair,
            rows[pair],
            columns[pair],
            work,
            found,
            n_found,
            counts,
            histogram_k,
            histogram_r,
        )
    return n_found


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _modes_of_pair(  # type: ignore[no-untyped-def]
    genes, rules, pair, row, column, work, found, n_found, counts, histogram_k, histogram_r
):
    swapped = column > row if rules.kinc else genes.keys[column] < genes.keys[row]
    gene_x, gene_y = (column, row) if swapped else (row, column)
    problem = take_samples(genes, rules, gene_x, gene_y, work)
    if problem >= 0:
        counts[problem] += 1
        histogram_k[0] += 1
        return n_found
    n = compact(genes, gene_x, gene_y, work)
    k, bits, value, frame, problem = _mixture(genes, rules, gene_x, gene_y, n, work, counts)
    if problem >= 0:
        counts[problem] += 1
    histogram_k[k] += 1
    if k == 0:
        return n_found
    return write_modes(
        genes, rules, gene_x, gene_y, n, k, bits, value, frame, swapped, pair, work, found,
        n_found, counts, histogram_r
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def _mixture(genes, rules, gene_x, gene_y, n, work, counts):  # type: ignore[no-untyped-def]
    """K, log-likelihood, criterion, the frame (centre and scale of both axes), and a problem or -1.

    Sets the elements' labels, the components' parameters and their order.
    """
    nan = np.float32(np.nan)
    plain = (0.0, 1.0, 0.0, 1.0)
    work.order[0] = 0
    if not rules.mixture:
        work.best[WEIGHT] = np.float32(1.0)
        return 1, nan, nan, plain, -1
    vectors = (n + LANES - 1) // LANES
    frame = plain
    if rules.kinc:
        for i in range(n):
            work.x[i] = np.float32(work.raw_x[i])
            work.y[i] = np.float32(work.raw_y[i])
    else:
        work.centred_x[:n] = work.raw_x[:n]
        work.centred_y[:n] = work.raw_y[:n]
        mean_x, variance_x = centre(work.centred_x, n, work.lanes)
        mean_y, variance_y = centre(work.centred_y, n, work.lanes)
        if not (variance_x > 0.0 and variance_y > 0.0):
            return 0, nan, nan, plain, CONSTANT
        frame = (mean_x, np.sqrt(variance_x), mean_y, np.sqrt(variance_y))
        inverse_x, inverse_y = 1.0 / frame[1], 1.0 / frame[3]
        r = standardised_correlation(
            work.centred_x, work.centred_y, n, inverse_x, inverse_y, work.lanes
        )
        if 1.0 - r * r < rules.degenerate:
            work.best[WEIGHT] = np.float32(1.0)
            work.best[MEAN_X] = np.float32(0.0)
            work.best[MEAN_Y] = np.float32(0.0)
            work.best[VARIANCE_X] = np.float32(1.0)
            work.best[VARIANCE_Y] = np.float32(1.0)
            work.best[COVARIANCE] = np.float32(min(max(r, -1.0), 1.0))
            return 1, nan, nan, frame, DEGENERATE
        for i in range(n):
            work.x[i] = np.float32(work.centred_x[i] * inverse_x)
            work.y[i] = np.float32(work.centred_y[i] * inverse_y)
    for i in range(vectors * LANES):
        work.live[i] = np.float32(i < n)
        if i >= n:
            work.x[i] = np.float32(0.0)
            work.y[i] = np.float32(0.0)
    constants = (rules.least, rules.ridge, rules.prior_n, rules.tolerance, rules.prior_scatter)
    stream = pair_seed(rules.seed, genes.keys[gene_x], genes.keys[gene_y])
    k, bits, value = choose_mixture(
        work.x, work.y, work.live, vectors, n, rules.k_min, rules.k_max, rules.criterion,
        genes.log_n[n], stream, rules.restarts, rules.short_steps, rules.limit, constants,
        rules.kinc, work.element_label, work.trial, work.theta, work.best, work.arrays, work.sums,
        counts
    )  # fmt: skip
    if k == 0:
        return 0, nan, nan, plain, FAILED
    label_samples(work.x, work.y, n, k, work.best, work.element_label)
    _order_components(work.best, k, rules.kinc, work.order)
    return k, np.float32(np.float64(bits) * LN2), np.float32(value), frame, -1


@njit(cache=True, nogil=True)
def _order_components(theta, n_components, as_they_are, order):  # type: ignore[no-untyped-def]
    """Component numbers by falling weight, unless as they are."""
    for k in range(n_components):
        place = k
        weight = theta[k * THETA_COLUMNS + WEIGHT]
        if not as_they_are:
            while place > 0 and theta[order[place - 1] * THETA_COLUMNS + WEIGHT] < weight:
                order[place] = order[place - 1]
                place -= 1
        order[place] = k
