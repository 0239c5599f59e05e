"""Pearson's and Spearman's correlation of all pairs, without mixtures (``clustering: none``).

One mode for each pair: its samples observed in both genes and in range, without outliers. Pairs of
genes that have every sample are one matrix product. Pearson's r of other pairs comes from products
of values, squares and masks, wherever each gene's samples are known beforehand. What is left is
done pair by pair: Spearman's r over samples that change with the pair, outliers that do, and sums
in which too many digits cancelled. All of it is in float64; Spearman's r is the quotient of exact
whole numbers, the same on CPU and GPU to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.kernels.plain_correlation_blocks import (
    ABOVE,
    BELOW,
    CONSTANT,
    COUNTS,
    DEGENERATE,
    KEPT,
    R_BINS,
    TO_DO,
    TOO_FEW,
)
from pairtile.methods.multimodal_correlation.pair_mixtures import MixtureSettings, Modes
from pairtile.methods.multimodal_correlation.plain_correlation_cpu import CpuBlocks, Limits
from pairtile.methods.multimodal_correlation.plain_correlation_cuda import CudaBlocks
from pairtile.methods.multimodal_correlation.plain_correlation_genes import Genes

NEARLY_ONE = 1.0 - 1e-12
"""Pearson's |r| from here on is taken as 1: rounding leaves copies of a gene a few 1e-16 off."""

TRUST = 1e-4
"""Variances under this part of the mean square about a gene's centre are computed again in two
passes; what is left has lost four digits of sixteen."""

LEAST_SAMPLES = 2
"""Fewer have no correlation."""

K_BINS = 6
"""No mode, or one to five."""

MOST_ROWS = 1 << 15
"""Rows of a strip: what the second dimension of a CUDA grid holds."""


class PlainCorrelation:
    """Correlations of a table's genes, tile by tile."""

    def __init__(
        self,
        values: NDArray[np.float64],
        settings: MixtureSettings,
        device: Device,
        threads: int | None = None,
    ) -> None:
        """
        values      float64 (genes, samples); what is not finite is missing
        settings    ``correlation``, ``min_samples``, ``min_correlation``, ``max_correlation``,
                    ``min_expression``, ``max_expression`` and ``outliers_before`` play a part;
                    ``compatibility: kinc`` rounds values to float32 first
        threads     of the CPU; None: all that the process may use
        """
        self.settings = settings
        self.device = device
        self._genes = Genes(values, settings, device)
        limits = Limits(
            least=max(settings.min_samples, LEAST_SAMPLES),
            lowest=settings.min_correlation,
            highest=settings.max_correlation,
            nearly=NEARLY_ONE,
            trust=TRUST,
        )
        self._blocks: CpuBlocks | CudaBlocks
        if device.backend == "cpu":
            self._blocks = CpuBlocks(self._genes, limits, threads)
        else:
            self._blocks = CudaBlocks(self._genes, limits)

    def tile(self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool) -> Modes:
        """The modes of every row gene with every column gene; ``upper``: rows are the columns, and
        only later columns are wanted.

        ``row`` and ``column`` of the result count within ``rows`` and ``columns``. Variances and
        covariances are divided by n. ``log_likelihood`` and ``criterion`` are NaN.
        """
        with self._blocks.held():
            self._genes.prepare(np.concatenate([rows, columns]))
            height = min(MOST_ROWS, max(1, self._blocks.cells // max(1, len(columns))))
            if upper:  # the first columns of a strip's last rows are computed in vain
                height = min(height, self._blocks.strip)
            found = [
                self._strip(rows, columns, upper, begin, min(len(rows), begin + height))
                for begin in range(0, len(rows), height)
            ]
        return self._modes(found)

    # --- one strip of rows ----------------------------------------------------------------------

    def _strip(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool, begin: int, end: int
    ) -> dict[str, Any]:
        first = begin if upper else 0
        x_genes, y_genes = rows[begin:end], columns[first:]
        diagonal = 0 if upper else -len(x_genes)
        x, y = self._blocks.upload(x_genes), self._blocks.upload(y_genes)
        r, n = self._products(x_genes, y_genes, x, y)
        whole = bool(self._genes.whole[x_genes].all() and self._genes.whole[y_genes].all())
        if not whole:
            self._blocks.pair_correlations(x, y, diagonal, r, n)
        kept = self._blocks.kept(diagonal, r, n)
        moments, members, outliers = self._blocks.describe(x, y, kept, whole)
        to_host = self.device.to_host
        return {
            "row": to_host(kept.row) + np.int32(begin),
            "column": to_host(kept.column) + np.int32(first),
            "correlation": to_host(kept.correlation),
            "n_samples": to_host(kept.n_samples),
            "moments": moments,
            "samples": members,
            "outliers": outliers,
            "counts": kept.counts,
            "histogram_r": kept.histogram,
        }

    def _products(
        self, x_genes: NDArray[np.int64], y_genes: NDArray[np.int64], x: Any, y: Any
    ) -> tuple[Any, Any]:
        """Correlations and samples of what matrix products can tell; TO_DO for the rest."""
        genes, xp = self._genes, self.device.xp
        r = xp.empty((len(x), len(y)))
        n = xp.zeros((len(x), len(y)), dtype=np.int32)
        pearson = self.settings.correlation == "pearson"
        whole_x, whole_y = genes.whole[x_genes], genes.whole[y_genes]
        known_x, known_y = ~genes.of_pair[x_genes], ~genes.of_pair[y_genes]
        all_whole = whole_x.all() and whole_y.all()
        if pearson and not all_whole and known_x.any() and known_y.any():
            self._masked_products(x, y, r, n)
        elif whole_x.any() and whole_y.any():
            xp.matmul(genes.rows[x], genes.rows[y].T, out=r)
            lengths = (genes.lengths[x], genes.lengths[y])
            whole = (genes.whole_on_device[x], genes.whole_on_device[y])
            self._blocks.finish_products(lengths, whole, genes.n_samples, r, n)
        else:
            r.fill(TO_DO)
        return r, n

    def _masked_products(self, x: Any, y: Any, r: Any, n: Any) -> None:
        """Sums over the samples that count in both genes: of values, squares, products, ones."""
        genes, xp = self._genes, self.device.xp
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

    # --- all strips -----------------------------------------------------------------------------

    def _modes(self, found: list[dict[str, Any]]) -> Modes:
        octets = -(-self._genes.n_samples // 8)
        counts = sum((part["counts"] for part in found), np.zeros(COUNTS, dtype=np.int64))
        histogram_r = sum((part["histogram_r"] for part in found), np.zeros(R_BINS, dtype=np.int64))
        pairs = int(counts[TOO_FEW] + counts[CONSTANT] + histogram_r.sum())
        histogram_k = np.zeros(K_BINS, dtype=np.int64)
        histogram_k[0] = counts[TOO_FEW] + counts[CONSTANT]
        histogram_k[1] = pairs - histogram_k[0]

        def joined(name: str, empty: NDArray[Any]) -> NDArray[Any]:
            parts = [part[name] for part in found]
            if len(parts) == 1:
                return np.asarray(parts[0])
            return np.concatenate(parts, axis=-1 if name == "moments" else 0) if parts else empty

        n_samples = joined("n_samples", np.empty(0, dtype=np.int32))
        moments = joined("moments", np.empty((5, 0), dtype=np.float32))
        entries = len(n_samples)
        one = np.ones(entries, dtype=np.int32)
        unknown = np.full(entries, np.nan, dtype=np.float32)
        no_masks = np.empty((0, octets), dtype=np.uint8)
        return Modes(
            row=joined("row", one[:0]),
            column=joined("column", one[:0]),
            cluster=one,
            n_clusters=one.copy(),
            n_samples=n_samples,
            n_modes=one.copy(),
            n_usable=n_samples.copy(),
            correlation=joined("correlation", unknown[:0]),
            weight=np.ones(entries, dtype=np.float32),
            mean_row=moments[0],
            mean_column=moments[1],
            variance_row=moments[2],
            variance_column=moments[3],
            covariance=moments[4],
            log_likelihood=unknown,
            criterion=unknown.copy(),
            samples=joined("samples", no_masks),
            outliers=joined("outliers", no_masks),
            counts={
                "pairs": pairs,
                "too_few_samples": int(counts[TOO_FEW]),
                "constant": int(counts[CONSTANT]),
                "degenerate": int(counts[DEGENERATE]),
                "modes_kept": int(counts[KEPT]),
                "modes_below": int(counts[BELOW]),
                "modes_above": int(counts[ABOVE]),
            },
            histogram_k=histogram_k,
            histogram_r=histogram_r,
        )
