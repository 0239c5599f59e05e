"""Rows permuted and resampled on the GPU: the twin of ``permuted_rows``, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pairtile.arrays import CupyArray, Float64Array, Int32Array, Int64Array
from pairtile.gpu.compiling import load
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.kernels.exchange import Exchange

SCRATCH_BYTES = 1 << 28
"""GPU memory for what the rows of one launch keep of their samples."""

THREADS = 64
"""Of a block: few, so that some thousand rows reach every multiprocessor."""


class RowsOnGpu:
    """The values of a data set on the GPU.

    values : float64 (genes, samples), NaN where missing. order : int32, their ``row_orders`` where
    picked values are ranked anew, else empty (0, 0). top : what they are scaled to.
    """

    def __init__(self, device: Device, values: Float64Array, order: Int32Array, top: float) -> None:
        xp = self._xp = device.xp
        self._values = xp.asarray(values)
        self._order = xp.asarray(order) if order.size else None
        self._top = top
        kernel = Path(__file__).with_name("permuted_rows.cu")
        self._kernel = load(kernel, {}, fused=False).get_function("permuted_rows")

    @staticmethod
    def fit(device: Device, values: Float64Array) -> bool:
        """Whether so many values, their orders and copies of them have room on the device."""
        return device.backend == "cuda" and 4 * values.nbytes < device.free_bytes()

    def resampled(self, samples: Int64Array) -> CupyArray:
        """``Resampling.rows``, as an array of CuPy."""
        none, no_group = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
        nothing = Exchange(none, none, no_group, no_group)
        return self._rows(None, len(self._values), samples, (0, 0, 0), nothing)

    def permuted(
        self,
        genes: Int64Array,
        samples: Int64Array,
        seed: int,
        side: int,
        pair_class: int,
        exchange: Exchange,
    ) -> CupyArray:
        """``permuted_rows`` of a resampling, as an array of CuPy."""
        return self._rows(genes, genes.size, samples, (seed, side, pair_class), exchange)

    def _rows(
        self,
        genes: Int64Array | None,
        number: int,
        samples: Int64Array,
        keys: tuple[int, int, int],
        exchange: Exchange,
    ) -> CupyArray:
        xp, n_samples, n_groups = self._xp, self._values.shape[1], exchange.step.size
        seed, side, pair_class = keys
        drawn = None if genes is None else xp.asarray(genes)
        chosen, by_group, start, group, step = (
            xp.asarray(array, dtype=np.int32) for array in (samples, *exchange)
        )
        # For each sample of a row: two numbers of samples and a rank.
        of_a_row = 16 * n_samples + 4 * n_groups
        rows = max(1, min(number, SCRATCH_BYTES // of_a_row))
        permuted, picked = (xp.empty((n_samples, rows), dtype=np.int32) for _ in range(2))
        place = xp.empty((n_groups, rows), dtype=np.int32)
        ranks = xp.empty((n_samples, rows))
        out = xp.empty((number, samples.size))
        for first in range(0, number, rows):
            here = min(rows, number - first)
            arguments = (
                self._values,
                np.int32(n_samples),
                np.intp(0) if drawn is None else drawn[first:],
                np.int32(here),
                np.int64(first),
                np.uint64(seed),
                np.uint64(0x6E756C6C),  # "null", as in ``permuted_rows``
                np.uint64(side),
                np.uint64(pair_class),
                by_group,
                start,
                group,
                step,
                np.int32(n_groups),
                chosen,
                np.int32(samples.size),
                np.intp(0) if self._order is None else self._order,
                np.float64(self._top),
                permuted,
                picked,
                place,
                ranks,
                out[first:],
            )
            self._kernel((-(-here // THREADS),), (THREADS,), arguments)
        return out
