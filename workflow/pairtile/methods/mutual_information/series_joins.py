"""What circular shifts of several short series take from the agreement of unrelated genes.

A shift joins the end of a series to its start, where no gene is smooth: two shifted genes agree
less than two unrelated ones, the more so the shorter the series beside their memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.null_design import NullDesign
from pairtile.splines.bspline import bspline_weights, dense_weights
from pairtile.splines.scorer import SplineSettings
from pairtile.statistics.dependence import evenly_spaced


def loss_by_joins(
    z: NDArray[np.float64],
    varied: NDArray[np.bool_],
    classes: NDArray[np.int8],
    design: NullDesign,
    settings: SplineSettings,
) -> NDArray[np.float64]:
    """Mean of n_samples * MI of unrelated genes over that of shifted ones, by their classes:
    float64 (classes, classes), 1 or more.

    To second order 2 ln2 n^2 MI of two genes is the sum of k_x(t, t') k_y(t, t') over all pairs of
    samples, with k(t, t') = sum over bins of w_a(t) w_a(t') / p_a - 1 (the chi-square statistic of
    their joint table; w weights of B-splines, p their means). Of independent genes its mean is the
    sum of products of means; of shifted ones, k is that between the samples where t and t' come
    from. Within series the mean of k goes by the lag; between series shifts do not change it.

    Parameters
    ----------
    z : float64 (genes, samples), scaled values, NaN where missing. varied, classes : (genes,).
    """
    number = int(classes.max(initial=0)) + 1
    # More samples of a series are not looked at.
    members = [np.flatnonzero(design.groups == g)[:2000] for g in np.flatnonzero(design.shifted)]
    kernels = np.stack(
        [
            _kernel(z, np.flatnonzero(varied & (classes == c)), members, settings)
            for c in range(number)
        ]
    )
    unshifted, missed = np.zeros((number, number)), np.zeros((number, number))
    total = np.zeros(number)
    for here in members:
        n, quarter = here.size, here.size // 4
        # As rows of two sides lie apart: ``permuted_rows``.
        apart = np.arange(n // 2 - quarter, n // 2 + quarter + 1)
        share = 1.0 + quarter - np.abs(apart - n // 2)
        lag = np.arange(1, n)
        # Of the pairs so far apart, those that a shift parts: they come from n - lag apart.
        parted = np.minimum(np.minimum(apart, n - apart)[:, None], np.minimum(lag, n - lag))
        parted = share @ parted / share.sum()
        far, lost = kernels[:, 1:n], kernels[:, 1:n] - kernels[:, 1:n][:, ::-1]
        unshifted += n * np.outer(kernels[:, 0], kernels[:, 0]) + 2 * (far * (n - lag)) @ far.T
        missed += 2 * (far * parted) @ lost.T
        total += n * kernels[:, 0] + 2 * far @ (n - lag)
    sizes = np.array([here.size for here in members])
    # All rows of k sum to 0.
    between = np.outer(total, total) / max(1, sizes.sum() ** 2 - (sizes**2).sum())
    whole = np.maximum(unshifted + between, 1e-300)
    # Either gene may be the one that is shifted.
    return np.maximum(1.0 / (1.0 - np.minimum(0.5 * (missed + missed.T) / whole, 0.5)), 1.0)


def _kernel(
    z: NDArray[np.float64],
    genes: NDArray[np.int64],
    members: list[NDArray[np.int64]],
    settings: SplineSettings,
) -> NDArray[np.float64]:
    """Mean of k over genes by the lag within series; 0 from the first lag on where it is none."""
    longest = max(here.size for here in members)
    sums, pairs = np.zeros(longest), np.zeros(longest)
    z = z[genes[evenly_spaced(genes.size, 50)]]
    first, weights = bspline_weights(z, settings.bins, settings.order, settings.knots)
    dense, observed = dense_weights(first, weights, settings.bins), (first >= 0)[..., None]
    p = dense.sum(axis=1, keepdims=True) / np.maximum(observed.sum(axis=1, keepdims=True), 1)
    rows = (dense - p * observed) / np.sqrt(np.where(p > 0.0, p, 1.0))
    for here in members:
        size = 2 * here.size
        power = (np.abs(np.fft.rfft(rows[:, here], size, axis=1)) ** 2).sum(axis=(0, 2))
        sums[: here.size] += np.fft.irfft(power, size)[: here.size]
        pairs[: here.size] += len(z) * (here.size - np.arange(here.size))
    found = sums / np.maximum(pairs, 1.0)
    return np.where(np.minimum.accumulate(found) > 0.0, found, 0.0)
