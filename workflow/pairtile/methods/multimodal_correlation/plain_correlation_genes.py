"""Genes made ready for plain correlations: order, ties, usable samples and centred rows."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

import numpy as np

from pairtile.arrays import (
    BoolArray,
    CupyKernel,
    CupyModule,
    DeviceArray,
    Float64Array,
    Int64Array,
    UInt8Array,
)
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.config import MixtureEstimatorConfig
from pairtile.methods.multimodal_correlation.kendall import Codes
from pairtile.methods.multimodal_correlation.kernels.plain_correlation import (
    WORD,
    GeneArrays,
    tie_groups,
)
from pairtile.methods.multimodal_correlation.modes import within_limits

KERNELS = Path(__file__).parent / "kernels"


class CorrelationGenes:
    """Order, ties, usable samples and centred rows of genes; made when first asked for.

    ``whole`` marks genes with every sample usable and no outlier; ``of_pair`` those whose outliers
    depend on the other gene, because samples that it misses move the quartiles. A gene's outliers
    depend on it alone where both genes of a pair are complete. Both flags, bool (genes,), are on
    the host and true to the genes that have been prepared.

    ``rows``, float64 (genes, samples), are centred values (Pearson), centred twice-ranks (Spearman:
    whole numbers, so that their products are exact) or what ``Correlation.rows`` makes, and 0 for
    genes that are not whole; ``lengths`` are their sums of squares, 0 for constant genes. Rows
    whose products are the correlations may be given. Kendall's tau has no rows, but ``codes``.
    ``slant``, float64 (genes,): the mean of a gene's row of ``Correlation.rows``, times the root of
    its samples.
    """

    def __init__(
        self,
        values: Float64Array,
        estimator: MixtureEstimatorConfig,
        kinc: bool,
        device: Device,
        given_rows: DeviceArray | None = None,
    ) -> None:
        self.estimator = estimator
        self._given_rows = given_rows
        self.device = device
        self.n_genes, self.n_samples = values.shape
        self.words = -(-self.n_samples // WORD)
        self.whole = np.zeros(self.n_genes, dtype=bool)
        self.of_pair = np.zeros(self.n_genes, dtype=bool)
        self._ready = np.zeros(self.n_genes, dtype=bool)
        xp = device.xp
        padded = WORD * self.words
        place = np.uint16 if padded <= 1 << 16 else np.uint32
        shape = (self.n_genes, padded)
        self._ranked = ranked = estimator.facts.of_ranks or estimator.facts.by_codes
        of_values = xp.full(shape, np.nan)
        of_values[:, : self.n_samples] = xp.asarray(values)
        if kinc:
            of_values = of_values.astype(np.float32).astype(np.float64)
        on_gpu = device.backend == "cuda"
        marks = ((self.n_genes, self.words), np.uint32) if on_gpu else (shape, np.uint8)
        self.arrays = GeneArrays(
            values=of_values,
            order=xp.empty(shape, dtype=place),
            start=xp.empty(shape if ranked else (1, 1), dtype=place),
            end=xp.empty(shape if ranked else (1, 1), dtype=place),
            tied=xp.zeros(self.n_genes, dtype=np.uint8),
            usable=xp.empty(marks[0], dtype=marks[1]),
            inside=xp.empty(marks[0], dtype=marks[1]),
            of_pair=xp.zeros(self.n_genes, dtype=np.uint8),
            inverse_scale=xp.ones(self.n_genes),
        )
        self.whole_on_device = xp.zeros(self.n_genes, dtype=np.uint8)
        self._centre = xp.zeros(self.n_genes)
        wide = self.n_samples if given_rows is None else given_rows.shape[1]
        self.rows = xp.empty((self.n_genes, 0 if estimator.facts.by_codes else wide))
        self.lengths = xp.empty(self.n_genes)
        self.slant = xp.zeros(self.n_genes)
        self._tie_kernel: CupyKernel | None = None

    def prepare(self, genes: Int64Array) -> None:
        """Make ready those of the genes that are not yet."""
        wanted = np.zeros(self.n_genes, dtype=bool)
        wanted[genes] = True
        missing = np.flatnonzero(wanted & ~self._ready)
        # What is prepared at a time bounds the memory for what is between, and a CUDA grid.
        step = min(1 << 15, max(1, (1 << 23) // (WORD * self.words)))
        for begin in range(0, len(missing), step):
            self._prepare(missing[begin : begin + step])
        self._ready[missing] = True

    def masked_rows(self, genes: Int64Array) -> tuple[Float64Array, Float64Array]:
        """Centred, scaled values, 0 where not usable or outlier, and 1 where they count.

        Both float64 (genes, samples); ``genes`` are numbers on the device.
        """
        xp, arrays = self.device.xp, self.arrays
        counts = self._unpacked(arrays.inside[genes])[:, : self.n_samples].astype(bool)
        values = arrays.values[genes, : self.n_samples] - self._centre[genes, None]
        values *= arrays.inverse_scale[genes, None]
        return xp.where(counts, values, 0.0), counts.astype(np.float64)

    def known_values(self, genes: DeviceArray) -> DeviceArray:
        """Centred, scaled values, NaN where not usable: float64 (..., samples)."""
        arrays = self.arrays
        known = self._unpacked(arrays.usable[genes])[..., : self.n_samples].astype(bool)
        values = arrays.values[genes, : self.n_samples] - self._centre[genes, None]
        return self.device.xp.where(known, values * arrays.inverse_scale[genes, None], np.nan)

    def codes(self, genes: DeviceArray) -> Codes:
        """Places of values in the order of each gene's, alike for equal ones."""
        xp, arrays, here = self.device.xp, self.arrays, slice(self.n_samples)
        known = self._unpacked(arrays.usable[genes])[:, here].astype(bool)
        values = xp.where(known, arrays.start[genes][:, here].astype(np.int32), np.int32(-1))
        return Codes(values, not bool(arrays.tied[genes].any()), bool(known.all()))

    # --- one batch ------------------------------------------------------------------------------

    def _prepare(self, genes: Int64Array) -> None:
        xp, arrays, estimator = self.device.xp, self.arrays, self.estimator
        at = xp.asarray(genes)
        values = arrays.values[at]
        usable = within_limits(values, estimator.min_expression, estimator.max_expression, xp)
        counts = usable.sum(axis=1)
        complete = counts == self.n_samples
        plain = not (self._ranked or estimator.outliers_before)
        if plain and bool(complete.all()):
            inside = usable
            centre = values[:, : self.n_samples].mean(axis=1)
        else:
            inside, centre = self._in_order(at, values, usable, counts)
        arrays.usable[at], arrays.inside[at] = self._packed(usable), self._packed(inside)
        centre = xp.where(xp.isfinite(centre), centre, 0.0)
        self._centre[at] = centre
        moved = xp.where(inside, values - centre[:, None], 0.0)
        largest = xp.abs(moved).max(axis=1)
        # A gene that is constant at its centre has no scale, nor has one too small to divide by.
        scale = 1.0 / xp.where(largest > np.finfo(float).tiny, largest, 1.0)
        arrays.inverse_scale[at] = scale
        whole = inside.sum(axis=1) == self.n_samples
        self.whole_on_device[at] = whole
        of_pair = ~complete if estimator.outliers_before else xp.zeros_like(complete)
        arrays.of_pair[at] = of_pair
        self.whole[genes] = self.device.to_host(whole)
        self.of_pair[genes] = self.device.to_host(of_pair)
        self._set_rows(at, moved[:, : self.n_samples] * scale[:, None], values, whole)

    def _in_order(
        self, at: Int64Array, values: Float64Array, usable: BoolArray, counts: Int64Array
    ) -> tuple[BoolArray, Float64Array]:
        """Sort; returns the samples left when a gene's own outliers are out, and its median.

        Of no account for a gene that is not complete: its outliers are the pair's to find.
        """
        xp, arrays = self.device.xp, self.arrays
        order = xp.argsort(xp.where(usable, values, np.nan), axis=1)
        arrays.order[at] = order
        if self._ranked:
            self._set_ties(at, values, order, counts)

        def ranked(place: Int64Array) -> Float64Array:
            found = xp.take_along_axis(order, xp.minimum(place, order.shape[1] - 1)[:, None], 1)
            return xp.take_along_axis(values, found, axis=1)[:, 0]

        inside = usable
        if self.estimator.outliers_before:
            quartile_1, quartile_3 = ranked(counts // 4), ranked(3 * counts // 4)
            # Up to 1.5 interquartile ranges beyond the quartiles nothing is an outlier
            # (Tukey).
            reach = 1.5 * (quartile_3 - quartile_1)
            low, high = quartile_1 - reach, quartile_3 + reach
            within = (values >= low[:, None]) & (values <= high[:, None])
            inside = usable & within
        return inside, ranked(counts // 2)

    def _set_ties(
        self, at: Int64Array, values: Float64Array, order: Int64Array, counts: Int64Array
    ) -> None:
        xp, arrays = self.device.xp, self.arrays
        place = arrays.order.dtype
        start, end = xp.empty(order.shape, dtype=place), xp.empty(order.shape, dtype=place)
        tied = xp.zeros(len(order), dtype=np.uint8)
        counts = counts.astype(np.int32)
        if self.device.backend == "cpu":
            tie_groups(values, order.astype(place), counts, start, end, tied)
        else:
            if self._tie_kernel is None:
                self._tie_kernel = cuda_module(self.n_samples, True).get_function("tie_groups")
            self._tie_kernel(
                (-(-order.shape[1] // 256), len(order)),
                (256,),
                (
                    values,
                    order.astype(place),
                    counts,
                    np.int32(len(order)),
                    np.int32(self.words),
                    start,
                    end,
                    tied,
                ),
            )
        arrays.start[at], arrays.end[at], arrays.tied[at] = start, end, tied

    def _set_rows(
        self, at: Int64Array, scaled: Float64Array, values: Float64Array, whole: BoolArray
    ) -> None:
        xp, arrays, facts = self.device.xp, self.arrays, self.estimator.facts
        if facts.by_codes:
            return
        given = values[:, : self.n_samples]
        moves = (given != given[:, :1]).any(axis=1)
        if self._given_rows is not None:
            self.rows[at] = self._given_rows[at]
            self.lengths[at] = (whole & moves).astype(np.float64)
            return
        if facts.rows:
            known, make_rows = self.known_values(at), resolve_name(f"{__package__}.{facts.rows}")
            rows, count = make_rows(known, xp), (known == known).sum(axis=1)
            self.slant[at] = rows.sum(axis=1) / xp.sqrt(xp.maximum(count, 1))
        elif facts.of_ranks:
            twice_ranks = arrays.start[at].astype(np.int64) + arrays.end[at]
            rows = (twice_ranks[:, : self.n_samples] - self.n_samples).astype(np.float64)
        else:
            rows = scaled - scaled.mean(axis=1, keepdims=True)
        # xp.where, not a product: what is not whole may hold anything.
        rows = xp.where((whole & moves)[:, None], rows, 0.0)
        self.rows[at] = rows
        self.lengths[at] = (rows * rows).sum(axis=1)

    def _packed(self, marks: BoolArray) -> BoolArray:
        """Bit k of word w is sample 32 w + k, on the GPU; on the CPU one byte for each sample."""
        if self.device.backend == "cpu":
            return marks
        xp = self.device.xp
        return xp.packbits(marks.ravel(), bitorder="little").view(np.uint32).reshape(len(marks), -1)

    def _unpacked(self, marks: UInt8Array) -> UInt8Array:
        if self.device.backend == "cpu":
            return marks
        xp = self.device.xp
        octets = xp.ascontiguousarray(marks).view(np.uint8).ravel()
        return xp.unpackbits(octets, bitorder="little").reshape(len(marks), 32 * marks.shape[1])


def cuda_module(samples: int, spearman: bool) -> CupyModule:
    """The CUDA kernels, for tables of so many samples."""
    from pairtile.gpu import compiling

    words = -(-samples // WORD)
    fits = words * (2 * samples + 2) ** 2 < 1 << 32
    macros = {
        "INDEX": "unsigned short" if WORD * words <= 1 << 16 else "unsigned int",
        "SUM": "unsigned int" if fits else "unsigned long long",
        "SPEARMAN": int(spearman),
    }
    return compiling.load(KERNELS / "plain_correlation.cu", macros)
