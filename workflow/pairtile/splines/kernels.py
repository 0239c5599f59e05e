"""Mutual information of all pairs of a tile on the CPU: twin of mutual_information.cu.

The joint table of a pair is W_x^T W_y. A sample of gene x has weight in ``order`` adjacent bins
only, so the samples of x are grouped by interval once, and each group adds to ``order`` rows of
the joint tables of a whole block of genes y at a time. That needs bins / order times fewer
operations than the dense product, and its inner loop runs over contiguous memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded

ROW_GROUP = 8
"""Genes x that use a chunk of weights while it is there."""

BLOCK = 64
"""Genes y whose joint tables are computed together: long inner loops."""

SAMPLE_CHUNK = 512
"""Samples taken together: their weights in one block of genes y stay in a core's caches."""


class RowSamples(NamedTuple):
    """The samples of genes x, by chunk of samples and within it by interval.

    samples int32 (genes, samples), start int32 (genes, chunks, intervals + 1): where each interval
    begins; weights (genes, samples, order). Missing samples stand behind their chunk's last
    interval, where no interval reaches them.
    """

    samples: NDArray[np.int32]
    start: NDArray[np.int32]
    weights: NDArray[np.floating]


class Marginals(NamedTuple):
    """Sum of m ln m over the marginal m of each gene x and of each gene y; empty if some gene
    misses a sample."""

    rows: NDArray[np.float64]
    columns: NDArray[np.float64]


_UNKNOWN = Marginals(np.empty(0), np.empty(0))

# Vector code needs reassociation, not the assumption that NaN and infinity cannot occur.
_FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(fastmath=_FAST, error_model="numpy")
def _x_log_x(values, out):  # type: ignore[no-untyped-def]
    """x ln x for each value >= 0, relative error below 1e-14; vectorised by the compiler.

    ln x = e ln 2 + 2 atanh(s), s = (m - 1)/(m + 1), m in [sqrt(1/2), sqrt(2)): |s| < 0.1716, so
    the series of atanh to s^17 leaves less than 1e-15.
    """
    for q in range(values.shape[0]):
        x = np.float64(values[q])
        x = x if x > 1e-300 else 1e-300
        bits = np.float64(x).view(np.int64)
        exponent = (bits - 0x3FE6A09E667F3BCD) >> 52
        m = np.int64(bits - (exponent << 52)).view(np.float64)
        s = (m - 1.0) / (m + 1.0)
        s2 = s * s
        series = 2.0 / 19.0
        series = series * s2 + 2.0 / 17.0
        series = series * s2 + 2.0 / 15.0
        series = series * s2 + 2.0 / 13.0
        series = series * s2 + 2.0 / 11.0
        series = series * s2 + 2.0 / 9.0
        series = series * s2 + 2.0 / 7.0
        series = series * s2 + 2.0 / 5.0
        series = series * s2 + 2.0 / 3.0
        series = series * s2 + 2.0
        out[q] = x * (exponent * 0.6931471805599453 + s * series)


@njit(fastmath=_FAST, error_model="numpy")
def _add_one_row(samples, weights, bin_of, begin, end, block, row):  # type: ignore[no-untyped-def]
    """Add the samples of one interval to one row of the joint tables, four at a time."""
    width = row.shape[0]
    s = begin
    while s + 4 <= end:
        y0 = block[samples[s]]
        y1 = block[samples[s + 1]]
        y2 = block[samples[s + 2]]
        y3 = block[samples[s + 3]]
        w0 = weights[s, bin_of]
        w1 = weights[s + 1, bin_of]
        w2 = weights[s + 2, bin_of]
        w3 = weights[s + 3, bin_of]
        for q in range(width):
            row[q] += w0 * y0[q] + w1 * y1[q] + w2 * y2[q] + w3 * y3[q]
        s += 4
    while s < end:
        y0 = block[samples[s]]
        w0 = weights[s, bin_of]
        for q in range(width):
            row[q] += w0 * y0[q]
        s += 1


@njit(fastmath=_FAST, error_model="numpy")
def _add_three_rows(  # type: ignore[no-untyped-def]
    samples, weights, bin_of, begin, end, block, joint, first
):
    """As ``_add_one_row`` for rows ``first`` to ``first + 2`` of the joint tables: each weight of y
    is loaded once for all of them."""
    row_a, row_b, row_c = joint[first], joint[first + 1], joint[first + 2]
    width = row_a.shape[0]
    s = begin
    while s + 4 <= end:
        y0 = block[samples[s]]
        y1 = block[samples[s + 1]]
        y2 = block[samples[s + 2]]
        y3 = block[samples[s + 3]]
        a0, b0, c0 = weights[s, bin_of], weights[s, bin_of + 1], weights[s, bin_of + 2]
        s += 1
        a1, b1, c1 = weights[s, bin_of], weights[s, bin_of + 1], weights[s, bin_of + 2]
        s += 1
        a2, b2, c2 = weights[s, bin_of], weights[s, bin_of + 1], weights[s, bin_of + 2]
        s += 1
        a3, b3, c3 = weights[s, bin_of], weights[s, bin_of + 1], weights[s, bin_of + 2]
        s += 1
        for q in range(width):
            v0 = y0[q]
            v1 = y1[q]
            v2 = y2[q]
            v3 = y3[q]
            row_a[q] += a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
            row_b[q] += b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3
            row_c[q] += c0 * v0 + c1 * v1 + c2 * v2 + c3 * v3
    while s < end:
        y0 = block[samples[s]]
        a0, b0, c0 = weights[s, bin_of], weights[s, bin_of + 1], weights[s, bin_of + 2]
        for q in range(width):
            v0 = y0[q]
            row_a[q] += a0 * v0
            row_b[q] += b0 * v0
            row_c[q] += c0 * v0
        s += 1


@njit(fastmath=_FAST, error_model="numpy")
def _add_joint_tables(order, samples, start, weights, block, joint):  # type: ignore[no-untyped-def]
    """Add one chunk of samples to the joint tables of one gene x with a block of genes y.

    samples, weights: x's samples by chunk and interval, and their weights; start: where each
    interval of this chunk begins; block: (samples, genes y * bins); joint: (bins, genes y * bins).
    """
    in_threes = order - order % 3
    for interval in range(start.shape[0] - 1):
        begin, end = start[interval], start[interval + 1]
        for a in range(0, in_threes, 3):
            _add_three_rows(samples, weights, a, begin, end, block, joint, interval + a)
        for a in range(in_threes, order):
            _add_one_row(samples, weights, a, begin, end, block, joint[interval + a])


@njit(fastmath=_FAST, error_model="numpy")
def _scores_of_row(joint, bins, first_column, out, scratch):  # type: ignore[no-untyped-def]
    """MI in bits of one gene x with a block of genes y, from their joint tables."""
    width = joint.shape[1]
    logs, column_sums, column_logs, sums, sum_logs = scratch
    _x_log_x(joint.reshape(-1), logs)
    # Whole rows at a time: the table's rows are added up before anything is added along a row.
    column_sums[:] = 0.0
    for a in range(bins):
        for q in range(width):
            column_sums[q] += joint[a, q]
    _x_log_x(column_sums, column_logs)
    for q in range(width):
        column_logs[q] = -column_logs[q]
    for a in range(bins):
        for q in range(width):
            column_logs[q] += logs[a * width + q]
    # Of each gene y: the table's row sums, then their total.
    genes = width // bins
    for gene in range(genes):
        total = 0.0
        for a in range(bins):
            row_sum = 0.0
            for q in range(gene * bins, (gene + 1) * bins):
                row_sum += joint[a, q]
            sums[gene * (bins + 1) + a] = row_sum
            total += row_sum
        sums[gene * (bins + 1) + bins] = total
    _x_log_x(sums, sum_logs)
    for gene in range(min(genes, out.shape[0] - first_column)):
        score = 0.0
        for q in range(gene * bins, (gene + 1) * bins):
            score += column_logs[q]
        last = gene * (bins + 1) + bins
        for a in range(last - bins, last):
            score -= sum_logs[a]
        score += sum_logs[last]
        total = sums[last]
        bits = score / (total * 0.6931471805599453) if total > 0.0 else 0.0
        out[first_column + gene] = max(bits, 0.0)


@njit(fastmath=_FAST, error_model="numpy")
def _scores_of_complete_row(  # type: ignore[no-untyped-def]
    joint, bins, first_column, total, row_sum, of_columns, out, scratch
):
    """As ``_scores_of_row`` where nothing is missing, so that the marginals are known.

    row_sum, of_columns: sum of m ln m over the marginal m of gene x, and of each gene y.
    """
    width = joint.shape[1]
    logs, folded = scratch[0], scratch[1]
    _x_log_x(joint.reshape(-1), logs)
    folded[:] = 0.0
    for a in range(bins):
        for q in range(width):
            folded[q] += logs[a * width + q]
    scale = 1.0 / (total * 0.6931471805599453)
    known = total * np.log(total) - row_sum
    for gene in range(min(width // bins, out.shape[0] - first_column)):
        score = known - of_columns[first_column + gene]
        for q in range(gene * bins, (gene + 1) * bins):
            score += folded[q]
        out[first_column + gene] = max(score * scale, 0.0)


@threaded(group=ROW_GROUP, entries=1 << 6, fastmath=_FAST)
def _mutual_information(  # type: ignore[no-untyped-def]
    begin, end, bins, order, row_samples, blocks, marginals, from_column, out
):
    """Scores of every gene x with every gene y: a few genes x by one block of genes y at a
    time, so that a chunk of the block's weights serves them all while it is in the caches."""
    samples, start, weights = row_samples
    of_rows, of_columns = marginals
    complete = of_rows.shape[0] > 0
    width = blocks.shape[2]
    genes = width // bins
    joint = np.empty((min(ROW_GROUP, end - begin), bins, width), dtype=blocks.dtype)
    scratch = (
        np.empty(bins * width),
        np.empty(width),
        np.empty(width),
        np.empty(genes * (bins + 1)),
        np.empty(genes * (bins + 1)),
    )
    for first in range(begin, end, ROW_GROUP):
        last = min(first + ROW_GROUP, end)
        for b in range(blocks.shape[0]):
            if (b + 1) * genes <= from_column[first]:
                continue  # wholly below the diagonal
            joint[:] = 0.0
            for chunk in range(start.shape[1]):
                for row in range(first, last):
                    _add_joint_tables(
                        order,
                        samples[row],
                        start[row, chunk],
                        weights[row],
                        blocks[b],
                        joint[row - first],
                    )
            for row in range(first, last):
                if complete:
                    _scores_of_complete_row(
                        joint[row - first],
                        bins,
                        b * genes,
                        float(samples.shape[1]),
                        of_rows[row],
                        of_columns,
                        out[row],
                        scratch,
                    )
                else:
                    _scores_of_row(joint[row - first], bins, b * genes, out[row], scratch)


def mutual_information_tile(
    rows: RowSamples,
    blocks: NDArray[np.floating],
    n_columns: int,
    bins: int,
    order: int,
    from_column: NDArray[np.int64],
    marginals: Marginals | None = None,
) -> NDArray[np.float64]:
    """Mutual information in bits of every row gene with every column gene.

    Parameters
    ----------
    rows
        ``group_by_interval`` of the row genes.
    blocks
        ``column_blocks`` of the column genes; its type (float64 or float32) is the type in which
        joint tables are summed.
    n_columns
        Number of column genes (the last block may be padded).
    from_column : int64, shape (rows,)
        First column wanted in each row; blocks wholly before it are skipped and left 0.
    marginals
        ``marginal_sums`` of the row and of the column genes where none misses a sample. Without
        them, marginals are the row and column sums of each joint table.

    Returns
    -------
    float64, shape (rows, n_columns). Missing samples (all-zero weights) are left out pairwise.
    """
    n_rows = rows.samples.shape[0]
    out = np.zeros((n_rows, n_columns), dtype=np.float64)
    rows = rows._replace(weights=rows.weights.astype(blocks.dtype))
    _mutual_information(bins, order, rows, blocks, marginals or _UNKNOWN, from_column, out)
    return out


def group_by_interval(
    first: NDArray[np.int16], weights: NDArray[np.float64], intervals: int
) -> RowSamples:
    """Order each gene's samples by chunk of samples, and within it by interval.

    first int16 (genes, samples) and weights (genes, samples, order), as of ``bspline_weights``.
    """
    genes, n_samples = first.shape
    chunks = max(1, -(-n_samples // SAMPLE_CHUNK))
    place = np.where(first < 0, intervals, first).astype(np.int32)
    place += (np.arange(n_samples, dtype=np.int32) // SAMPLE_CHUNK) * (intervals + 1)
    samples = np.argsort(place, axis=1, kind="stable").astype(np.int32)
    slots = chunks * (intervals + 1)
    numbered = place + np.arange(genes, dtype=np.int64)[:, None] * slots
    counts = np.bincount(numbered.ravel(), minlength=genes * slots).reshape(genes, slots)
    ends = np.zeros((genes, slots + 1), dtype=np.int32)
    np.cumsum(counts, axis=1, out=ends[:, 1:])
    start = ends[:, :-1].reshape(genes, chunks, intervals + 1)
    in_order = np.take_along_axis(weights, samples[..., None], axis=1)
    return RowSamples(samples, start.copy(), in_order)


def marginal_sums(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of m ln m over the marginal m (summed weights) of each gene: float64 (genes,)."""
    marginal = dense.sum(axis=1)
    logs = np.log(marginal, out=np.zeros_like(marginal), where=marginal > 0.0)
    return np.asarray((marginal * logs).sum(axis=1))


def column_blocks(dense: NDArray[np.float64], dtype: type) -> NDArray[np.floating]:
    """Lay out dense weights (genes, samples, bins) as (blocks, samples, genes a block * bins)."""
    genes, n_samples, bins = dense.shape
    block = min(BLOCK, genes)
    n_blocks = -(-genes // block)
    padded = np.zeros((n_blocks * block, n_samples, bins), dtype=dtype)
    padded[:genes] = dense
    blocks = padded.reshape(n_blocks, block, n_samples, bins).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(blocks).reshape(n_blocks, n_samples, block * bins)
