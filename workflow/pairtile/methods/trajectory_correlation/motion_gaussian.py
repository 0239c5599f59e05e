"""Linear (Gaussian) mutual information and dynamical cross-correlation of blocks of variables.

Both are one matrix product for each block: of whitened variables, or of displacements of length 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from pairtile.gpu.device import Device
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.kernels.gaussian import gaussian_mutual_information
from pairtile.methods.trajectory_correlation.motion_blocks import (
    PreparedBlocks,
    coordinates,
    mirrored,
    shifted,
)

KERNELS = Path(__file__).parent / "kernels"

SMALLEST_PIVOT = 2.0**-52
"""What is left of the variance of a coordinate that the other variable explains to within rounding:
no coordinate tells more than 18 nats."""

SINGULAR = 1e-12
"""Directions with less than this part of a variable's largest variance are taken as still."""


class GaussianPairs:
    """1/2 (ln det C_i + ln det C_j - ln det C_ij): mutual information of normal variables."""

    def __init__(
        self, series: NDArray[np.floating], settings: MotionEstimatorConfig, device: Device
    ) -> None:
        self.settings = settings
        self.device = device
        self.d, self.frames = series.shape[1:]
        self._series = series
        self._prepared = PreparedBlocks(self._prepare, device)
        self._bias = finite_sample_bias(self.d, self.frames)
        if device.backend == "cuda":
            from pairtile.gpu import compiling as cuda

            module = cuda.load(KERNELS / "gaussian.cu", {"DIM": self.d})
            self._kernel = module.get_function("gaussian_mutual_information")

    def block(self, rows: slice, columns: slice, shift: int) -> NDArray[np.float64]:
        """Nats, float64 (rows, columns); the column variables taken ``shift`` frames later."""
        x, rank_x = self._prepared.get(rows)
        y, rank_y = self._prepared.get(columns)
        y = shifted(self.device.xp, y, shift)
        correlation = x.reshape(-1, self.frames) @ y.reshape(-1, self.frames).T
        mi_nats = self.device.xp.empty((len(x), len(y)))
        if self.device.backend == "cpu":
            gaussian_mutual_information(correlation, self.d, SMALLEST_PIVOT, mi_nats)
        else:
            self._kernel(
                (-(-len(y) // 128), len(x)),
                (128,),
                (
                    correlation,
                    np.int32(len(x)),
                    np.int32(len(y)),
                    np.float64(SMALLEST_PIVOT),
                    mi_nats,
                ),
            )
        nats = np.asarray(self.device.to_host(mi_nats))
        if self.settings.corrected:
            nats = nats - self._bias[np.ix_(rank_x, rank_y)]
        return mirrored(nats) if shift == 0 and rows == columns else nats

    def _prepare(self, block: slice) -> tuple[Any, NDArray[np.int64]]:
        """Whitened variables, divided by sqrt(frames), so that products are covariances."""
        xp = self.device.xp
        moves = coordinates(
            self._series, block, self.device, single=self.settings.single, centred=True
        )
        covariance = self.device.to_host(moves @ moves.transpose(0, 2, 1)) / self.frames
        variance, axes = np.linalg.eigh(covariance)
        moving = variance > SINGULAR * variance[:, -1:]
        scale = np.zeros_like(variance)
        scale[moving] = 1.0 / np.sqrt(variance[moving] * self.frames)
        # Still directions become rows of 0, which tell nothing and are not counted.
        whitening = scale[:, :, None] * axes.transpose(0, 2, 1)
        return xp.ascontiguousarray(xp.asarray(whitening) @ moves), moving.sum(axis=1)


class DccPairs:
    """<dr_i . dr_j> / sqrt(<dr_i^2> <dr_j^2>)."""

    def __init__(
        self, series: NDArray[np.floating], settings: MotionEstimatorConfig, device: Device
    ) -> None:
        self.settings = settings
        self.device = device
        self._series = series
        self._prepared = PreparedBlocks(self._prepare, device)

    def block(self, rows: slice, columns: slice, shift: int) -> NDArray[np.float64]:
        """Correlations, float64 (rows, columns); columns taken ``shift`` frames later."""
        (x,) = self._prepared.get(rows)
        (y,) = self._prepared.get(columns)
        y = shifted(self.device.xp, y, shift)
        product = x.reshape(len(x), -1) @ y.reshape(len(y), -1).T
        correlation = np.asarray(self.device.to_host(product))
        return mirrored(correlation) if shift == 0 and rows == columns else correlation

    def _prepare(self, block: slice) -> tuple[Any]:
        xp = self.device.xp
        moves = coordinates(
            self._series, block, self.device, single=self.settings.single, centred=True
        )
        length = xp.sqrt((moves * moves).sum(axis=(1, 2), keepdims=True))
        return (moves / xp.where(length > 0.0, length, 1.0),)


def finite_sample_bias(d: int, n_frames: int) -> NDArray[np.float64]:
    """Mean of the Gaussian MI of independent variables: float64 (d + 1, d + 1), nats, by ranks.

    The scatter matrix of n frames about their mean is Wishart distributed with n - 1 degrees of
    freedom, so that E ln det S = ln det C + sum_(i=1..d) psi((n - i) / 2) + a constant times d; the
    bias of I is the same for any C. Needs ``n_frames`` > 2 d.
    """
    terms = 0.5 * digamma((n_frames - np.arange(1.0, 2 * d + 1)) / 2.0)
    entropy = np.concatenate([[0.0], np.cumsum(terms)])
    rank = np.arange(d + 1)
    return np.asarray(
        entropy[rank][:, None] + entropy[rank][None, :] - entropy[rank[:, None] + rank[None, :]]
    )
