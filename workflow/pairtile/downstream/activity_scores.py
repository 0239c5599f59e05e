"""Activity of regulators in samples: scores of the expression of their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy

from pairtile.arrays import Float64Array
from pairtile.engine.large_table import row_blocks
from pairtile.statistics.ranks import average_ranks

_BLOCK_VALUES = 1 << 22
"""Values of the table that are dense at a time."""

_EPSILON = 2.2e-16  # decoupler's, so that |r| = 1 has a finite t

Table = Any
"""float64 (genes, samples), NaN where missing; or any of scipy's sparse kinds, of that shape."""

is_sparse: Callable[[Table], bool] = scipy.sparse.issparse  # its own type narrows too far


class Regulons(NamedTuple):
    """Signed, weighted targets. ``weights`` float64 csr (regulators, genes): sign and size of the
    relation, VIPER's mode of regulation, -1 to 1. ``likelihood``, of the same shape: how sure a
    target is, above 0 to 1."""

    names: list[str]
    weights: scipy.sparse.csr_array
    likelihood: scipy.sparse.csr_array


class Scale(NamedTuple):
    """Mean and standard deviation of each gene over the samples, float64 (genes,); genes that do
    not change have 1."""

    mean: Float64Array
    sd: Float64Array


def gene_scale(values: Table) -> Scale:
    """Of float64 (genes, samples), NaN where missing, or a scipy sparse table."""
    n_genes, n_samples = values.shape
    mean, squares, free = np.zeros(n_genes), np.zeros(n_genes), np.empty(n_genes)
    rows_of = scipy.sparse.csr_array(values) if is_sparse(values) else values
    for rows in row_blocks(values.shape, _BLOCK_VALUES):
        if is_sparse(values):
            block = rows_of[rows].astype(np.float64)
            mean[rows] = block.sum(axis=1) / n_samples
            stored = np.diff(block.indptr)
            block.data = (block.data - np.repeat(mean[rows], stored)) ** 2
            squares[rows] = block.sum(axis=1) + (n_samples - stored) * mean[rows] ** 2
            free[rows] = n_samples - 1
            continue
        block = np.array(rows_of[rows], dtype=np.float64)
        known = ~np.isnan(block)
        n_known = known.sum(axis=1)
        block[~known] = 0.0
        mean[rows] = block.sum(axis=1) / np.maximum(n_known, 1)
        block -= np.where(known, mean[rows, None], 0.0)
        squares[rows] = np.einsum("ij,ij->i", block, block)
        free[rows] = n_known - 1
    sd = np.sqrt(squares / np.maximum(free, 1))
    return Scale(mean, np.where(sd > 1e-12 * np.abs(mean), sd, 1.0))


def univariate_linear_model(
    values: Table, regulons: Regulons, scale: Scale | None = None
) -> Float64Array:
    """t of the slope, over the genes of one sample, of expression on a regulator's weights.

    Genes that are no target have weight 0 (Badia-i-Mompel et al. 2022, Bioinform Adv 2:vbac016;
    decoupler's ``ulm``). Genes missing in a sample are left out there.

    Parameters
    ----------
    values : float64 (genes, samples), NaN where missing, or a scipy sparse table
        Read by blocks of samples; a sparse one is never dense.
    regulons : Regulons
    scale : Scale, optional
        Genes are centred and scaled by it, also those of a sparse table.

    Returns
    -------
    float64 (regulators, samples); NaN for a sample or regulator of equal values.
    """
    weights = regulons.weights
    squared = weights.multiply(weights).tocsr()
    totals = (
        np.asarray(weights.sum(axis=1), dtype=np.float64)[:, None],
        np.asarray(squared.sum(axis=1), dtype=np.float64)[:, None],
    )
    result = np.empty((weights.shape[0], values.shape[1]))
    if is_sparse(values):
        # A scaled value is a stored one by the inverse of the standard deviation, less an offset of
        # its gene: sums over the genes need the stored values alone.
        n_genes = values.shape[0]
        inverse = np.ones(n_genes) if scale is None else 1 / scale.sd
        offset = np.zeros(n_genes) if scale is None else scale.mean / scale.sd
        scaled_weights = (weights @ scipy.sparse.diags_array(inverse)).tocsr()
        columns: Table = scipy.sparse.csc_array(values)
        for begin, end in _sample_blocks(*values.shape):
            block = columns[:, begin:end].astype(np.float64)
            sum_y = inverse @ block - offset.sum()
            sum_yy = inverse**2 @ block.power(2) - 2 * ((inverse * offset) @ block)
            sum_xy = (scaled_weights @ block).toarray() - (weights @ offset)[:, None]
            of_y = sum_y, sum_yy + offset @ offset, sum_xy
            result[:, begin:end] = _slope_t(float(n_genes), *totals, *of_y)
        return result
    for begin, end in _sample_blocks(*values.shape):
        block = _dense(values, begin, end, scale)
        known = ~np.isnan(block)
        n_known = known.sum(axis=0).astype(np.float64)
        block[~known] = 0.0
        block -= np.where(known, block.sum(axis=0) / np.maximum(n_known, 1), 0.0)
        sum_x, sum_xx = totals
        if not known.all():
            observed = known.astype(np.float64)
            sum_x, sum_xx = weights @ observed, squared @ observed
        sums = block.sum(axis=0), np.einsum("ij,ij->j", block, block)
        result[:, begin:end] = _slope_t(n_known, sum_x, sum_xx, *sums, weights @ block)
    return result


def _slope_t(
    n: float | Float64Array,
    sum_x: Float64Array,
    sum_xx: Float64Array,
    sum_y: Float64Array,
    sum_yy: Float64Array,
    sum_xy: Float64Array,
) -> Float64Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        var_x, var_y = sum_xx - sum_x**2 / n, sum_yy - sum_y**2 / n
        r = (sum_xy - sum_x * sum_y / n) / np.sqrt(
            np.where(var_x > 0, var_x, np.nan) * np.where(var_y > 0, var_y, np.nan)
        )
        return np.asarray(r * np.sqrt((n - 2) / ((1 - r + _EPSILON) * (1 + r + _EPSILON))))


def viper(values: Table, regulons: Regulons, scale: Scale | None = None) -> Float64Array:
    """Normalised enrichment scores of VIPER's aREA (Alvarez et al. 2016, Nat Genet 48:838).

    Expression of a sample is ranked over the genes and made normal; the score of a regulator is
    the mean over its targets, weighted by likelihood, of rank by mode of regulation, and where the
    mode is unsure (|mode| < 1) of distance from the middle, times the root of the summed squared
    likelihoods. As decoupler's ``viper`` without its correction of shared targets. Genes that are
    missing in a sample are not ranked there and add 0.

    Parameters and result as for ``univariate_linear_model``; a sparse table is dense by blocks.
    """
    top = regulons.likelihood.max(axis=1).toarray().ravel()
    share = scipy.sparse.diags_array(1 / np.where(top > 0, top, 1.0)) @ regulons.likelihood
    total = share.sum(axis=1)
    size = np.sqrt(share.multiply(share).sum(axis=1))
    share = (scipy.sparse.diags_array(1 / np.where(total > 0, total, 1.0)) @ share).tocsr()
    signed = share.multiply(regulons.weights).tocsr()
    unsure = (share - share.multiply(abs(regulons.weights))).tocsr()
    columns = scipy.sparse.csc_array(values) if is_sparse(values) else values
    result = np.empty((signed.shape[0], values.shape[1]))
    for begin, end in _sample_blocks(*values.shape):
        block = np.ascontiguousarray(_dense(columns, begin, end, scale).T)
        average_ranks(block, block)
        n = np.maximum((~np.isnan(block)).sum(axis=1, keepdims=True), 1)
        block /= n + 1
        # The largest distance from the middle is (n - 1) / (n + 1), of the first and last rank.
        outside = np.nan_to_num(scipy.special.ndtri(np.abs(block - 0.5) * 2 + 1 / (n + 1)))
        along = signed @ np.nan_to_num(scipy.special.ndtri(block)).T
        tails = unsure @ outside.T
        score = (np.abs(along) + np.maximum(tails, 0.0)) * np.sign(along)
        result[:, begin:end] = score * size[:, None]
    return result


def _sample_blocks(n_genes: int, n_samples: int) -> list[tuple[int, int]]:
    blocks = row_blocks((n_samples, n_genes), _BLOCK_VALUES)
    return [(block.start, block.stop) for block in blocks]


def _dense(values: Table, begin: int, end: int, scale: Scale | None) -> Float64Array:
    """A new array of some samples, scaled."""
    part = values[:, begin:end]
    block = part.toarray() if is_sparse(part) else np.array(part)
    block = block.astype(np.float64, copy=False)
    if scale is not None:
        block -= scale.mean[:, None]
        block /= scale.sd[:, None]
    return np.asarray(block)
