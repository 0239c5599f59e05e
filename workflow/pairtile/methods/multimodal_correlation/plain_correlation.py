"""Correlation of all pairs, without mixtures (``clustering: none``).

One mode for each pair: its samples observed in both genes and in range, without outliers. Pairs of
genes that have every sample are one matrix product. Pearson's r of other pairs comes from products
of values, squares and masks, wherever each gene's samples are known beforehand. What is left is
done pair by pair: Spearman's r over samples that change with the pair, outliers that do, and sums
in which too many digits cancelled. All of it is in float64; Spearman's r is the quotient of exact
whole numbers, the same on CPU and GPU to the last bit.

Partial correlations (``partial_correlation.py``) are matrix products like those of genes with every
sample. So are biweight midcorrelations of these (``bicor.py``); of others medians are those of the
pair's samples, pair by pair. Kendall's tau has products of its own (``kendall.py``). None of the
three takes outliers away: two give them little weight by themselves.

With ``lag`` every gene is there twice, as source and as target, over the transitions in place of
samples: the correlation of a source with a later target is that of two genes.
"""

from __future__ import annotations

from dataclasses import replace
from pkgutil import resolve_name

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import (
    DeviceArray,
    Float32Array,
    Float64Array,
    Int32Array,
    Int64Array,
    UInt8Array,
)
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.bicor import (
    bicor_of_pairs,
    bicor_p_values,
    bicor_with_p_values,
)
from pairtile.methods.multimodal_correlation.config import (
    MixtureEstimatorConfig,
    MultimodalCorrelationConfig,
)
from pairtile.methods.multimodal_correlation.kendall import (
    concordance_by_bits,
    concordance_by_products,
    kendall_p_values,
    sums_of_ties,
)
from pairtile.methods.multimodal_correlation.kernels.plain_correlation import (
    ABOVE,
    BELOW,
    CONSTANT,
    COUNTS,
    DEGENERATE,
    KEPT,
    R_BINS,
    TO_DO,
    TOO_FEW,
    Kept,
    Limits,
    count_rows,
    describe_entries,
    finish_masked_products,
    finish_products,
    pair_correlations,
    write_rows,
)
from pairtile.methods.multimodal_correlation.mixtures import (
    FIT,
    NUMBERS,
    MixturesCpu,
    MixturesCuda,
    Modes,
    pair_mixtures,
)
from pairtile.methods.multimodal_correlation.mode_scores import ScoredModes
from pairtile.methods.multimodal_correlation.modes import within_limits
from pairtile.methods.multimodal_correlation.p_values import correlation_p_value
from pairtile.methods.multimodal_correlation.partial_correlation import PartialCorrelations
from pairtile.methods.multimodal_correlation.plain_correlation_cuda import CudaBlocks
from pairtile.methods.multimodal_correlation.plain_correlation_genes import CorrelationGenes
from pairtile.preprocess.transitions import Lagged
from pairtile.runtime.threads import in_threads

BLOCK_VALUES = 1 << 20
"""Of pairs with missing values, whose p-values are found together."""

MIN_SAMPLES = 2
"""Fewer have no correlation."""


class PlainCorrelation:
    """Correlations of a table's genes, tile by tile."""

    def __init__(
        self,
        values: Float64Array,
        config: MultimodalCorrelationConfig,
        device: Device,
        lagged: Lagged | None = None,
        rows: DeviceArray | None = None,
    ) -> None:
        """
        values      float64 (genes, samples); what is not finite is missing
        config      of ``estimator``: ``correlation``, ``min_samples``, ``min_correlation``,
                    ``max_correlation``, ``min_expression``, ``max_expression`` and
                    ``outliers_before``; ``compatibility: kinc`` rounds values to float32 first
        lagged      the samples of sources and of targets; None: the same
        rows        whose products are the correlations, float64 (genes, k); None: of the values
        """
        self.device = device
        self.n_genes, self.n_samples = values.shape
        self.lagged = lagged
        self._first_target = 0 if lagged is None else self.n_genes
        if lagged is not None:
            values = np.concatenate([values[:, samples] for samples in lagged])
        self.facts = config.estimator.facts
        if not self.facts.product_moment:
            config = config.with_estimator(outliers_before=False)
        estimator = config.estimator
        self._genes = CorrelationGenes(
            values, estimator, config.compatibility == "kinc", device, rows
        )
        limits = Limits(
            least=max(estimator.min_samples, MIN_SAMPLES),
            lowest=float(estimator.min_correlation),
            highest=float(estimator.max_correlation),
            # Taken as 1: rounding leaves |r| of copies of a gene a few 1e-16 off.
            nearly=1.0 - 1e-12,
            # Below this part of the mean square about a gene's centre, variances have lost four
            # digits of sixteen: they are computed again in two passes.
            min_relative_variance=1e-4,
        )
        self._blocks: CpuBlocks | CudaBlocks = (
            CpuBlocks(self._genes, limits)
            if device.backend == "cpu"
            else CudaBlocks(self._genes, limits)
        )

    def tile(self, rows: Int64Array, columns: Int64Array, upper: bool) -> Modes:
        """The modes of every row gene with every column gene; ``upper``: rows are the columns, and
        only later columns are wanted.

        ``row`` and ``column`` of the result count within ``rows`` and ``columns``. Variances and
        covariances are divided by n. ``log_likelihood`` and ``criterion`` are NaN. With a lag, rows
        are sources and columns targets, no gene is paired with itself, and ``samples`` are those of
        the targets.
        """
        columns = columns + self._first_target
        self._genes.prepare(np.concatenate([rows, columns]))
        # The second dimension of a CUDA grid holds so many rows.
        height = min(1 << 15, max(1, self._blocks.cells // max(1, len(columns))))
        if upper and not self.facts.by_codes:
            # The first columns of a strip's last rows are computed and not used.
            height = min(height, self._blocks.strip)
        found = [
            self._strip(rows, columns, upper, begin, min(len(rows), begin + height))
            for begin in range(0, len(rows), height)
        ]
        return self._modes(found)

    # --- one strip of rows ----------------------------------------------------------------------

    def _strip(
        self, rows: Int64Array, columns: Int64Array, upper: bool, begin: int, end: int
    ) -> tuple[dict[str, NDArray[np.generic]], Kept]:
        first = begin if upper else 0
        x_genes, y_genes = rows[begin:end], columns[first:]
        diagonal = 0 if upper else -len(x_genes)
        x, y = self._blocks.upload(x_genes), self._blocks.upload(y_genes)
        whole = bool(self._genes.whole[x_genes].all() and self._genes.whole[y_genes].all())
        r, n = self._products(x_genes, y_genes, x, y, diagonal)
        if not (whole or self.facts.by_codes):
            self._pair_by_pair(x, y, diagonal, r, n)
        with_itself = 0
        if self.lagged is not None and not upper:
            itself = x_genes[:, None] + self.n_genes == y_genes
            n[self.device.xp.asarray(itself)] = -1
            with_itself = int(itself.sum())
        kept = self._blocks.kept(diagonal, r, n)
        kept.counts[TOO_FEW] -= with_itself
        moments, members, outliers = self._blocks.describe(x, y, kept, whole)
        to_host = self.device.to_host
        n_samples = to_host(kept.n_samples)
        one = np.ones(len(n_samples), dtype=np.int32)
        modes = {
            "row": to_host(kept.row) + np.int32(begin),
            "column": to_host(kept.column) + np.int32(first),
            **dict.fromkeys(("cluster", "n_clusters", "n_modes"), one),
            **dict.fromkeys(("n_samples", "n_usable"), n_samples),
            **dict(zip(NUMBERS[2:], moments, strict=True)),
            **dict.fromkeys(FIT, np.full(len(n_samples), np.nan, dtype=np.float32)),
            "correlation": to_host(kept.correlation),
            "weight": one.astype(np.float32),
            "samples": members,
            "outliers": outliers,
        }
        return modes, kept

    def _pair_by_pair(
        self, x: Int64Array, y: Int64Array, diagonal: int, r: Float64Array, n: Int32Array
    ) -> None:
        """What products left to do, over each pair's own samples."""
        self._blocks.pair_correlations(x, y, diagonal, r, n)

    def _products(
        self, x_genes: Int64Array, y_genes: Int64Array, x: Int64Array, y: Int64Array, diagonal: int
    ) -> tuple[Float64Array, Int32Array]:
        """Correlations and samples of what matrix products give; TO_DO for the rest."""
        genes, xp = self._genes, self.device.xp
        r = xp.empty((len(x), len(y)))
        n = xp.zeros((len(x), len(y)), dtype=np.int32)
        of_values = not (self.facts.of_ranks or self.facts.rows)
        whole_x, whole_y = genes.whole[x_genes], genes.whole[y_genes]
        known_x, known_y = ~genes.of_pair[x_genes], ~genes.of_pair[y_genes]
        if of_values and not (whole_x.all() and whole_y.all()) and known_x.any() and known_y.any():
            # Sums over the samples that count in both genes: of values, squares, products, ones.
            value_x, mask_x = genes.masked_rows(x)
            value_y, mask_y = genes.masked_rows(y)
            sums = (
                value_x @ mask_y.T,
                mask_x @ value_y.T,
                (value_x * value_x) @ mask_y.T,
                mask_x @ (value_y * value_y).T,
                mask_x @ mask_y.T,
            )
            xp.matmul(value_x, value_y.T, out=r)
            of_pair = (genes.arrays.of_pair[x], genes.arrays.of_pair[y])
            self._blocks.finish_masked_products(sums, of_pair, r, n)
        elif whole_x.any() and whole_y.any():
            xp.matmul(genes.rows[x], genes.rows[y].T, out=r)
            lengths = (genes.lengths[x], genes.lengths[y])
            whole = (genes.whole_on_device[x], genes.whole_on_device[y])
            self._blocks.finish_products(lengths, whole, genes.n_samples, r, n)
        else:
            r.fill(TO_DO)
        return r, n

    # --- all strips -----------------------------------------------------------------------------

    def _modes(self, found: list[tuple[dict[str, NDArray[np.generic]], Kept]]) -> Modes:
        counts = sum((kept.counts for _, kept in found), np.zeros(COUNTS, dtype=np.int64))
        histogram_r = sum((kept.histogram for _, kept in found), np.zeros(R_BINS, dtype=np.int64))
        without = counts[TOO_FEW] + counts[CONSTANT]
        # No mode, or one to five.
        histogram_k = np.array([without, histogram_r.sum(), 0, 0, 0, 0], dtype=np.int64)
        named = {
            "pairs": int(histogram_k.sum()),
            "too_few_samples": int(counts[TOO_FEW]),
            "constant": int(counts[CONSTANT]),
            "degenerate": int(counts[DEGENERATE]),
            "modes_kept": int(counts[KEPT]),
            "modes_below": int(counts[BELOW]),
            "modes_above": int(counts[ABOVE]),
        }
        joined = Modes.joined(
            [part for part, _ in found], self._genes.n_samples, named, histogram_k, histogram_r
        )
        if self.lagged is None:
            return joined
        samples, outliers = self._of_targets(joined.samples), self._of_targets(joined.outliers)
        return replace(joined, samples=samples, outliers=outliers)

    def _of_targets(self, masks: UInt8Array) -> UInt8Array:
        """Masks of transitions as masks of the samples of their targets."""
        assert self.lagged is not None
        bits = np.zeros((len(masks), self.n_samples), dtype=np.uint8)
        bits[:, self.lagged.target] = np.unpackbits(masks, axis=1, count=self._genes.n_samples)
        return np.packbits(bits, axis=1)

    # --- p-values -------------------------------------------------------------------------------

    def p_values(self, modes: Modes, rows: Int64Array, columns: Int64Array) -> Float64Array:
        """Two-sided p-values of no relation, float64 (entries,), of the modes of a tile."""
        return correlation_p_value(modes.correlation, modes.n_samples)


class PlainBicor(PlainCorrelation):
    """Biweight midcorrelations (``bicor.py``)."""

    def _pair_by_pair(
        self, x: Int64Array, y: Int64Array, diagonal: int, r: Float64Array, n: Int32Array
    ) -> None:
        genes, xp = self._genes, self.device.xp
        wanted = xp.arange(len(y)) > xp.arange(len(x))[:, None] + diagonal
        row, column = xp.nonzero((r == TO_DO) & wanted)
        # Values of pairs whose medians are found together.
        step = max(1, {"cpu": 1 << 17, "cuda": 1 << 24}[self.device.backend] // genes.n_samples)

        def fill(begin: int) -> None:
            at = row[begin : begin + step], column[begin : begin + step]
            first, second = genes.known_values(x[at[0]]), genes.known_values(y[at[1]])
            n[at] = ((first == first) & (second == second)).sum(axis=1)
            r[at] = bicor_of_pairs(first, second, xp)

        parts = range(0, len(row), step)
        list(in_threads(fill, parts) if self.device.backend == "cpu" else map(fill, parts))

    def p_values(self, modes: Modes, rows: Int64Array, columns: Int64Array) -> Float64Array:
        """With the means of the rows of both genes, over the samples that both have."""
        genes, xp, to_host = self._genes, self.device.xp, self.device.to_host
        x, y = rows[modes.row], (columns + self._first_target)[modes.column]
        slant, r = to_host(genes.slant), modes.correlation.astype(np.float64)
        p = bicor_p_values(r, modes.n_samples, slant[x], slant[y])
        pairs = np.flatnonzero(~(genes.whole[x] & genes.whole[y]))
        for part in np.array_split(pairs, 1 + pairs.size * genes.n_samples // BLOCK_VALUES):
            p[part] = bicor_with_p_values(
                *(to_host(genes.known_values(xp.asarray(each[part]))) for each in (x, y))
            )[1]
        return p


class PlainKendall(PlainCorrelation):
    """Kendall's tau-b (``kendall.py``)."""

    def _products(
        self, x_genes: Int64Array, y_genes: Int64Array, x: Int64Array, y: Int64Array, diagonal: int
    ) -> tuple[DeviceArray, DeviceArray]:
        genes, xp = self._genes, self.device.xp
        of_x, of_y = genes.codes(x), genes.codes(y)
        n = xp.full((len(x), len(y)), genes.n_samples, dtype=np.int32)
        if not (of_x.complete and of_y.complete):  # whole numbers, exact in single precision
            there = [(codes.values >= 0).astype(np.float32) for codes in (of_x, of_y)]
            n = (there[0] @ there[1].T).astype(np.int32)
        if genes.n_samples < MIN_SAMPLES:
            return xp.full(n.shape, np.nan), n
        total, untied_x, untied_y = (
            concordance_by_bits(of_x, of_y, diagonal)
            if self.device.backend == "cpu"
            else concordance_by_products(of_x, of_y, xp)
        )
        product = untied_x.astype(np.float64) * untied_y
        tau = total / xp.sqrt(xp.where(product > 0.0, product, np.nan))  # a constant gene has none
        return xp.clip(tau, -1.0, 1.0), n

    def p_values(self, modes: Modes, rows: Int64Array, columns: Int64Array) -> Float64Array:
        """With the ties of each pair."""
        x, y = rows[modes.row], (columns + self._first_target)[modes.column]
        n = modes.n_samples
        genes, at = np.unique(np.stack([x, y]), return_inverse=True)
        at = at.reshape(2, -1)
        codes = self.device.to_host(self._genes.codes(self.device.xp.asarray(genes)).values)
        ties = sums_of_ties(codes, codes >= 0)[:, at]
        fewer = np.flatnonzero(((codes >= 0).sum(axis=1)[at] != n).any(axis=0))
        step = max(1, (1 << 24) // self.n_samples)
        for begin in range(0, fewer.size, step):  # ties among the samples that the pair has left
            here = fewer[begin : begin + step]
            members = np.unpackbits(modes.samples[here], axis=1, count=self.n_samples).astype(bool)
            if self.lagged is not None:
                members = members[:, self.lagged.target]
            for k, gene_place in enumerate(at[:, here]):
                ties[:, k, here] = sums_of_ties(codes[gene_place], members)
        return kendall_p_values(modes.correlation, n, ties)


class PlainPartial(PlainCorrelation):
    """Partial correlations given all other genes (``partial_correlation.py``), which ``partial``
    has."""

    def __init__(
        self,
        values: Float64Array,
        config: MultimodalCorrelationConfig,
        device: Device,
        lagged: Lagged | None = None,
    ) -> None:
        values = _means_for_missing(values, config.estimator)
        config = config.with_estimator(min_expression=None, max_expression=None)
        self.partial = PartialCorrelations(values, device)
        super().__init__(values, config, device, lagged, self.partial.rows)


def _means_for_missing(values: Float64Array, estimator: MixtureEstimatorConfig) -> Float64Array:
    """Values with the gene's mean where they are missing or out of range."""
    usable = within_limits(values, estimator.min_expression, estimator.max_expression)
    if usable.all():
        return values
    total, count = np.where(usable, values, 0.0).sum(axis=1), usable.sum(axis=1)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return np.where(usable, values, mean[:, None])


def pair_scorer(
    config: MultimodalCorrelationConfig,
    values: Float64Array,
    keys: NDArray[np.uint64],
    device: Device,
    seed: int,
    lagged: Lagged | None = None,
) -> MixturesCpu | MixturesCuda | ScoredModes | PlainCorrelation:
    """The estimator of ``config.estimator`` on a table; its ``tile`` gives the modes of a tile.

    values : float64 (genes, samples), NaN where missing. keys : uint64 (genes,), which random
    starts depend on, beside the seed. lagged : see ``PlainCorrelation``.
    """
    facts = config.estimator.facts
    if config.estimator.clustering == "none":
        plain: type[PlainCorrelation] = resolve_name(f"{__package__}.{facts.all_samples}")
        return plain(values, config, device, lagged)
    if facts.product_moment:
        return pair_mixtures(values, keys, config, device, seed)
    return ScoredModes(values, keys, config, device, seed)


class CpuBlocks:
    """The numba kernels on blocks of pairs."""

    cells = 1 << 20
    """Pairs of a block: its matrices stay near the cores."""

    strip = 128
    """Rows of a block on the diagonal."""

    def __init__(self, genes: CorrelationGenes, limits: Limits) -> None:
        self.genes = genes
        self.limits = limits

    def upload(self, numbers: Int64Array) -> Int64Array:
        """Numbers of genes as the kernels take them."""
        return numbers

    def finish_products(
        self,
        lengths: tuple[Float64Array, Float64Array],
        whole: tuple[UInt8Array, UInt8Array],
        samples: int,
        r: Float64Array,
        n: Int32Array,
    ) -> None:
        """Products to correlations (see the kernel); pairs of columns' and rows' arrays."""
        finish_products(lengths, whole, samples, self.limits.nearly, r, n)

    def finish_masked_products(
        self,
        sums: tuple[Float64Array, ...],
        of_pair: tuple[UInt8Array, UInt8Array],
        r: Float64Array,
        n: Int32Array,
    ) -> None:
        """Sums over the pairs' samples to correlations (see the kernel)."""
        finish_masked_products(sums, of_pair, self.limits, r, n)

    def pair_correlations(
        self, rows: Int64Array, columns: Int64Array, diagonal: int, r: Float64Array, n: Int32Array
    ) -> None:
        """What is left to do, pair by pair."""
        arrays, of_ranks = self.genes.arrays, self.genes.estimator.facts.of_ranks
        pair_correlations(arrays, rows, columns, diagonal, self.limits, of_ranks, r, n)

    def kept(self, diagonal: int, r: Float64Array, n: Int32Array) -> Kept:
        """Choose the pairs of a block."""
        lengths = np.empty(len(r), dtype=np.int64)
        counts = np.empty((len(r), COUNTS), dtype=np.int64)
        histogram = np.empty((len(r), R_BINS), dtype=np.int64)
        count_rows(r, n, diagonal, self.limits, lengths, counts, histogram)
        totals = counts.sum(axis=0)
        entries = int(totals[KEPT])
        row, column, samples = (np.empty(entries, dtype=np.int32) for _ in range(3))
        correlation = np.empty(entries, dtype=np.float32)
        kept = Kept(row, column, correlation, samples, totals, histogram.sum(axis=0))
        write_rows(r, n, diagonal, self.limits, np.cumsum(lengths) - lengths, kept)
        return kept

    def describe(
        self, rows: Int64Array, columns: Int64Array, kept: Kept, whole: bool
    ) -> tuple[Float32Array, UInt8Array, UInt8Array]:
        """Moments (5, entries), members and outliers (entries, bytes) of the kept pairs."""
        entries, octets = len(kept.row), -(-self.genes.n_samples // 8)
        moments = np.empty((5, entries), dtype=np.float32)
        members = np.empty((entries, octets), dtype=np.uint8)
        outliers = np.empty((entries, octets), dtype=np.uint8)
        arrays, least = self.genes.arrays, self.limits.least
        describe_entries(arrays, rows, columns, kept, least, moments, members, outliers)
        return moments, members, outliers
