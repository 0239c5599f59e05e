"""The modes of a pair once its samples have labels: correlation, parameters, masks of samples."""

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
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_layout import (
    BELOW,
    HISTOGRAM_BINS,
    SMALL,
    UNDEFINED,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_modes import (
    doubled_ranks,
    moments,
    pearson,
    pearson_as_kinc,
    spearman,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_samples import (
    is_constant,
    remove_outliers,
    sort_members,
)


@njit(cache=True, nogil=True, error_model="numpy")
def write_modes(  # type: ignore[no-untyped-def]
    genes, rules, gene_x, gene_y, n, n_components, bits, value, frame, swapped, pair, work, found,
    n_found, counts, histogram_r
):  # fmt: skip
    """Write the kept modes from place ``n_found`` on; returns how many are written then.

    Of the work, ``element_label``, ``best`` (parameters) and ``order`` (of components) are set.
    """
    for i in range(n):
        work.label[work.sample[i]] = work.element_label[i]
    sort_members(genes, gene_x, gene_y, work)
    if rules.outliers_after and n_components > 1:
        removed = 0
        for k in range(n_components):
            removed += remove_outliers(genes, rules, gene_x, gene_y, k, work)
        if removed:
            sort_members(genes, gene_x, gene_y, work)
            for i in range(n):
                work.element_label[i] = work.label[work.sample[i]]
    kept = 0
    for place in range(n_components):
        k = work.order[place]
        size = work.sizes[k]
        if size < max(rules.min_samples, 2):
            counts[SMALL] += 1
            continue
        r = np.nan
        if not is_constant(genes, gene_x, gene_y, k, work):
            r = _correlation(genes, rules, gene_x, gene_y, n, k, work)
        if not np.isfinite(r):
            counts[UNDEFINED] += 1
        else:
            histogram_r[min(HISTOGRAM_BINS - 1, np.int64(np.floor((r + 1.0) * 100.0)))] += 1
            if rules.min_correlation <= abs(r) <= rules.max_correlation:
                work.correlations[kept] = r
                work.order[kept] = k
                kept += 1
            else:
                counts[BELOW] += 1
    for place in range(kept):
        k, at = work.order[place], n_found + place
        found.pair[at] = pair
        found.cluster[at] = place + 1
        found.n_clusters[at] = kept
        found.n_samples[at] = work.sizes[k]
        found.n_modes[at] = n_components
        found.n_usable[at] = n
        found.correlation[at] = work.correlations[place]
        found.log_likelihood[at] = bits
        found.criterion[at] = value
        _write_parameters(genes, rules, gene_x, gene_y, n, k, frame, swapped, work, found, at)
        _write_masks(k, work, found.samples[at], found.outliers[at])
    return n_found + kept


@njit(cache=True, nogil=True, error_model="numpy")
def _correlation(genes, rules, gene_x, gene_y, n, k, work):  # type: ignore[no-untyped-def]
    if not rules.spearman and rules.kinc:
        return pearson_as_kinc(work.raw_x, work.raw_y, work.element_label, n, k)
    if not rules.spearman:
        return pearson(work.raw_x, work.raw_y, work.element_label, n, k, work.lanes)
    size = work.sizes[k]
    doubled_ranks(genes.codes[gene_x], work.members_x[k], size, work.ranks_x)
    doubled_ranks(genes.codes[gene_y], work.members_y[k], size, work.ranks_y)
    return spearman(work.members_x[k], size, work.ranks_x, work.ranks_y)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _write_parameters(genes, rules, gene_x, gene_y, n, k, frame, swapped, work, found, at):  # type: ignore[no-untyped-def]
    """weight, mean_row, mean_column, variance_row, variance_column, covariance, as given in."""
    row = k * THETA_COLUMNS
    theta = work.best
    centre_x, scale_x, centre_y, scale_y = frame
    mean_x, mean_y = np.float64(theta[row + MEAN_X]), np.float64(theta[row + MEAN_Y])
    variance_x = np.float64(theta[row + VARIANCE_X])
    variance_y = np.float64(theta[row + VARIANCE_Y])
    covariance = np.float64(theta[row + COVARIANCE])
    if not rules.mixture:
        size, mean_x, mean_y, xx, yy, xy = moments(
            work.raw_x, work.raw_y, work.element_label, n, 0, work.lanes
        )
        variance_x, variance_y, covariance = xx / size, yy / size, xy / size
    unit_x, unit_y = genes.unit[gene_x], genes.unit[gene_y]
    mean_x = (centre_x + scale_x * mean_x) * unit_x
    mean_y = (centre_y + scale_y * mean_y) * unit_y
    variance_x = ((scale_x * scale_x) * variance_x) * (unit_x * unit_x)
    variance_y = ((scale_y * scale_y) * variance_y) * (unit_y * unit_y)
    found.parameters[0, at] = theta[row + WEIGHT]
    found.parameters[1, at] = mean_y if swapped else mean_x
    found.parameters[2, at] = mean_x if swapped else mean_y
    found.parameters[3, at] = variance_y if swapped else variance_x
    found.parameters[4, at] = variance_x if swapped else variance_y
    found.parameters[5, at] = ((scale_x * scale_y) * covariance) * (unit_x * unit_y)


@njit(cache=True, nogil=True)
def _write_masks(k, work, samples, outliers):  # type: ignore[no-untyped-def]
    """Bit masks over all samples, sample 0 in the highest bit of byte 0."""
    samples[:] = 0
    outliers[:] = 0
    for sample in range(work.label.shape[0]):
        bit = np.uint8(128 >> (sample & 7))
        if work.label[sample] == k:
            samples[sample >> 3] |= bit
        if work.any_out[sample]:
            outliers[sample >> 3] |= bit
