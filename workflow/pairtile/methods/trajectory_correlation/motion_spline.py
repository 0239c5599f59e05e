"""B-spline mutual information of scalar time series (clamped), and of angles (cyclic)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.kernels.cyclic_bspline import (
    cyclic_weights,
    mutual_information_from_joint,
)
from pairtile.methods.trajectory_correlation.motion_blocks import mirrored
from pairtile.splines.scorer import SAMPLE_PADDING, BsplineScorer, SplineSettings, Weights
from pairtile.splines.values import scaled

NATS_PER_BIT = float(np.log(2.0))

JOINT_BYTES = 16 << 20
"""Joint tables of angles that are made at a time on the CPU: what its caches hold."""

KEPT_BLOCKS = 4
"""Weights of the last few blocks are kept."""


class SplinePairs:
    """Mutual information from joint tables of B-spline weights (Daub et al. 2004)."""

    def __init__(
        self, series: NDArray[np.floating], settings: MotionEstimatorConfig, device: Device
    ) -> None:
        self.settings = settings
        self.device = device
        self.d = series.shape[1]
        self._series = series
        self._spline = SplineSettings(settings.n_bins, settings.order, "clamped", "float64")
        self._scorer = BsplineScorer(self._spline, device, complete=True)
        self._last: dict[tuple[int, int, int], Any] = {}

    def block(self, rows: slice, columns: slice, shift: int) -> NDArray[np.float64]:
        """Nats, float64 (rows, columns); the column variables taken ``shift`` frames later.

        Of d > 1 coordinates, the sum over the d x d pairs of coordinates, as the first GPU programs
        computed it; it misses what coordinates tell together.
        """
        x = self._weights(rows, 0)
        y = self._weights(columns, shift)
        if self.settings.kind == "dihedral" and self.device.backend == "cpu":
            nats = self._from_dense(x, y)
        else:
            bits, _ = self._scorer.scores(x, y)
            nats = np.asarray(self.device.to_host(bits), dtype=np.float64) * NATS_PER_BIT
        n_rows, n_columns = rows.stop - rows.start, columns.stop - columns.start
        nats = nats.reshape(n_rows, self.d, n_columns, self.d).sum(axis=(1, 3))
        return mirrored(nats) if shift == 0 and rows == columns else nats

    def _weights(self, block: slice, shift: int) -> Any:
        """Weights of a block, the last few kept: neighbouring tiles share rows."""
        key = (block.start, block.stop, shift)
        if key not in self._last:
            while len(self._last) >= KEPT_BLOCKS:
                del self._last[next(iter(self._last))]
            self._last[key] = self._make(block, shift)
        return self._last[key]

    def _make(self, block: slice, shift: int) -> Any:
        s = self.settings
        values = np.asarray(self._series[block], dtype=np.float32 if s.single else np.float64)
        flat = values.reshape(-1, values.shape[2]).astype(np.float64)
        flat = np.roll(flat, -shift, axis=1)
        if s.kind == "bspline":
            return self._scorer.weights(scaled(flat, self._spline, s.transform))
        dense = cyclic_weights(flat, s.n_bins, s.order)
        if self.device.backend == "cpu":
            return dense
        xp = self.device.xp
        padded = -(-flat.shape[1] // SAMPLE_PADDING) * SAMPLE_PADDING
        weights = xp.zeros((len(flat) * s.n_bins, padded))
        weights[:, : flat.shape[1]] = xp.asarray(dense.reshape(len(flat) * s.n_bins, -1))
        return Weights(len(flat), None, weights, weights)

    def _from_dense(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        bins = self.settings.n_bins
        nats = np.empty((len(x), len(y)))
        columns = y.reshape(len(y) * bins, -1).T
        size = max(1, JOINT_BYTES // (bins * bins * 8 * max(1, len(y))))
        for begin in range(0, len(x), size):
            part = x[begin : begin + size]
            joint = part.reshape(len(part) * bins, -1) @ columns
            mutual_information_from_joint(joint, bins, nats[begin : begin + size])
        return nats
