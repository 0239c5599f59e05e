"""Correlated motion of blocks of variables, on the CPU or on the GPU: arrays in, arrays out.

A *variable* is what is paired: a position (d = 3), a scalar such as a distance (d = 1) or an angle
(d = 1, cyclic). All functions work on one replica; several are estimated one by one and never
joined end to end. ``MotionPairs`` is what others use; it holds one of the estimators below: nearest
neighbours (KSG), Gaussian, DCC or B-splines. Each makes blocks of variables ready once and keeps
them while there is room.
"""

from __future__ import annotations

from functools import cached_property
from pkgutil import resolve_name

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from pairtile.arrays import BoolArray
from pairtile.engine.large_table import releasing
from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import Device, DeviceArray
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.kernels.cyclic_bspline import (
    cyclic_weights,
    mutual_information_from_joint,
)
from pairtile.methods.trajectory_correlation.kernels.gaussian import (
    gaussian_mutual_information,
    gaussian_of_cells,
    products_of_cells,
)
from pairtile.methods.trajectory_correlation.kinds import SORTED_FROM
from pairtile.methods.trajectory_correlation.neighbour_pairs import (
    KsgPairs,
    KsgScalarPairs,
)
from pairtile.methods.trajectory_correlation.pair_blocks import (
    KERNELS,
    Block,
    PairBlocks,
    Shift,
    Variables,
    launch,
    numbers_of,
    shifted,
)
from pairtile.splines.scorer import SAMPLE_PADDING, BsplineScorer, SplineSettings, Weights
from pairtile.splines.values import scaled


class MotionPairs:
    """Scores blocks of variables of one replica against each other."""

    def __init__(
        self, series: NDArray[np.floating], settings: MotionEstimatorConfig, device: Device
    ):
        """
        Parameters
        ----------
        series : float64 or float32, shape (variables, d, frames)
            Positions or values, finite; may be memory-mapped. Angles in radians. NaN, a missing
            value, only for ``kind: bspline``.
        """
        # Only these settings let missing values come so far; others need not read all series.
        self.has_missing = settings.facts.allows_missing and any(
            np.isnan(values).any() for values in releasing(series, series)
        )
        self.series = series
        self.settings = settings
        self.device = device
        self.n_frames = series.shape[2]
        self._blocks = self._estimator(settings)

    def block(
        self,
        rows: Variables,
        columns: Variables,
        shift: Shift = 0,
        wanted: BoolArray | None = None,
    ) -> DeviceArray:
        """Mutual information in nats of row with column variables; with ``kind: dcc``, the DCC.

        shift : the column variables are taken ``shift`` frames later, around the end of the series:
        what a circular-shift surrogate is; or in the order ``shift``, int64 (frames,): a
        permutation of models. wanted : bool (rows, columns), cells that are looked at; others may
        hold anything. None: all. Returns float64 (rows, columns), on the device. A variable
        with itself, unshifted, is NaN, but 1 for the DCC. KSG values may be negative.
        """
        # None for no shift at all.
        moved = shift if np.ndim(shift) else int(shift) % self.n_frames or None
        values = self._blocks.block(rows, columns, moved, wanted)
        if moved is None and not self.settings.facts.signed:
            itself = numbers_of(rows)[:, None] == numbers_of(columns)
            values[self.device.xp.asarray(itself)] = np.nan
        return values

    def dcc_block(
        self, rows: Variables, columns: Variables, wanted: BoolArray | None = None
    ) -> DeviceArray:
        """Dynamical cross-correlation <dr_i . dr_j> / sqrt(<dr_i^2> <dr_j^2>), as ``block``.

        0 for a variable that does not move.
        """
        return self._dcc.block(rows, columns, None, wanted)

    @cached_property
    def _dcc(self) -> PairBlocks:
        return self._estimator(self.settings.model_copy(update={"kind": "dcc"}))

    def frames_block(self, rows: Variables, columns: Variables) -> NDArray[np.int64]:
        """Frames in which both variables have all coordinates: int64 (rows, columns)."""
        if not self.has_missing:
            shape = (len(numbers_of(rows)), len(numbers_of(columns)))
            return np.full(shape, self.n_frames, dtype=np.int64)
        x, y = ((~np.isnan(self.series[block])).all(axis=1) for block in (rows, columns))
        return np.asarray(x.astype(np.float64) @ y.T.astype(np.float64)).astype(np.int64)

    def _estimator(self, settings: MotionEstimatorConfig) -> PairBlocks:
        made: type[PairBlocks] = resolve_name(f"{__package__}.{settings.facts.estimator}")
        _, d, frames = self.series.shape
        if made is KsgPairs and d == 1 and frames >= SORTED_FROM[self.device.backend]:
            made = KsgScalarPairs
        return made(self.series, settings, self.device, self.has_missing)


def generalized_correlation(mi_nats: DeviceArray, d: int) -> DeviceArray:
    """sqrt(1 - exp(-2 max(I, 0) / d)) (Lange & Grubmueller 2006, equation 9); NaN stays NaN.

    mi_nats : nats, any shape. d : coordinates of a variable (3 for positions).
    """
    return np.sqrt(-np.expm1(-2.0 * np.maximum(mi_nats, 0.0) / d))


# --- Gaussian, DCC --------------------------------------------------------------------------------


MIN_PIVOT = 2.0**-52
"""What is left of the variance of a coordinate that the other variable explains to within rounding:
no coordinate is worth more than 18 nats."""

SINGULAR = 1e-12
"""Directions with less than this part of a variable's largest variance are taken as still."""


class GaussianPairs(PairBlocks):
    """1/2 (ln det C_i + ln det C_j - ln det C_ij): mutual information of normal variables."""

    def _open(self) -> None:
        self._bias = finite_sample_bias(self.d, self.frames)
        if self.device.backend == "cuda":
            module = cuda.load(KERNELS / "gaussian.cu", {"DIM": self.d})
            self._kernel = module.get_function("gaussian_mutual_information")

    def _scores(self, of_x: Block, of_y: Block, symmetric: bool, wanted: BoolArray) -> DeviceArray:
        (x, rank_x), (y, rank_y) = of_x, of_y
        if self._is_sparse(wanted):
            mi_nats = self._cell_by_cell(gaussian_of_cells, x, y, wanted, MIN_PIVOT)
        else:
            correlation = x.reshape(-1, self.frames) @ y.reshape(-1, self.frames).T
            mi_nats = self.device.xp.empty((len(x), len(y)))
            if self.device.backend == "cpu":
                gaussian_mutual_information(correlation, self.d, MIN_PIVOT, mi_nats)
            else:
                grid = -(-len(y) // 128), len(x)
                given = correlation, len(x), len(y), np.float64(MIN_PIVOT), mi_nats
                launch(self._kernel, grid, 128, *given)
        if self.settings.corrected:
            mi_nats -= self.device.xp.asarray(self._bias[rank_x].take(rank_y, axis=1))
        return mi_nats

    def _prepare(self, block: Variables) -> Block:
        """Whitened variables, divided by sqrt(frames), so that products are covariances."""
        xp, moves = self.device.xp, self._coordinates(block, centred=True)
        covariance = self.device.to_host(moves @ moves.transpose(0, 2, 1)) / self.frames
        variance, axes = np.linalg.eigh(covariance)
        moving = variance > SINGULAR * variance[:, -1:]
        scale = np.zeros_like(variance)
        scale[moving] = 1.0 / np.sqrt(variance[moving] * self.frames)
        # Still directions become rows of 0, which add nothing and are not counted.
        whitening = scale[:, :, None] * axes.transpose(0, 2, 1)
        return xp.ascontiguousarray(xp.asarray(whitening) @ moves), moving.sum(axis=1)


class DccPairs(PairBlocks):
    """<dr_i . dr_j> / sqrt(<dr_i^2> <dr_j^2>); of the frames that both have."""

    def _scores(self, of_x: Block, of_y: Block, symmetric: bool, wanted: BoolArray) -> DeviceArray:
        (x,), (y,) = of_x, of_y
        if self.has_missing:
            return self._of_common_frames(x, y)
        x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
        if self._is_sparse(wanted):
            return self._cell_by_cell(products_of_cells, x, y, wanted)
        return x @ y.T

    def _prepare(self, block: Variables) -> Block:
        xp, moves = self.device.xp, self._coordinates(block, centred=True)
        length = xp.sqrt(xp.nansum(moves * moves, axis=(1, 2), keepdims=True))
        return (moves / xp.where(length > 0.0, length, 1.0),)

    def _of_common_frames(self, x: DeviceArray, y: DeviceArray) -> DeviceArray:
        """Means and variances are of the frames in which both have all coordinates."""
        xp = self.device.xp
        x_known, y_known = (1.0 - xp.isnan(v).any(axis=1) for v in (x, y))
        x, y = (xp.nan_to_num(v) * k[:, None] for v, k in ((x, x_known), (y, y_known)))
        n = xp.maximum(x_known @ y_known.T, 1.0)
        of_x = [x[:, axis] @ y_known.T for axis in range(x.shape[1])]
        of_y = [x_known @ y[:, axis].T for axis in range(x.shape[1])]
        product = x.reshape(len(x), -1) @ y.reshape(len(y), -1).T
        product -= sum(a * b for a, b in zip(of_x, of_y, strict=True)) / n
        x_squares = (x * x).sum(axis=1) @ y_known.T - sum(a * a for a in of_x) / n
        y_squares = x_known @ (y * y).sum(axis=1).T - sum(b * b for b in of_y) / n
        length = xp.sqrt(xp.maximum(x_squares * y_squares, 0.0))
        return xp.where(length > 0.0, product / xp.where(length > 0.0, length, 1.0), 0.0)


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


# --- B-splines ------------------------------------------------------------------------------------


KEPT_BLOCKS = 4
"""Weights of the last few blocks are kept."""


class SplinePairs(PairBlocks):
    """Mutual information from joint tables of B-spline weights (Daub et al. 2004).

    Of d > 1 coordinates, the sum over the d x d pairs of coordinates, as the first GPU programs
    computed it; it misses what coordinates share only jointly.
    """

    def _open(self) -> None:
        self._spline = SplineSettings(
            self.settings.n_bins, self.settings.order, "clamped", "float64"
        )
        self._scorer = BsplineScorer(self._spline, self.device, complete=not self.has_missing)
        self._last: dict[tuple[bytes, int | bytes | None], Weights | NDArray[np.float64]] = {}

    def _scores(self, of_x: Block, of_y: Block, symmetric: bool, wanted: BoolArray) -> DeviceArray:
        (x, n_rows), (y, n_columns) = of_x, of_y
        if self.settings.facts.cyclic and self.device.backend == "cpu":
            bins = self.settings.n_bins
            nats = np.empty((len(x), len(y)))
            columns = y.reshape(len(y) * bins, -1).T
            # As many joint tables as the caches of a CPU hold.
            size = max(1, (16 << 20) // (bins * bins * 8 * max(1, len(y))))
            for begin in range(0, len(x), size):
                part = x[begin : begin + size]
                joint = part.reshape(len(part) * bins, -1) @ columns
                mutual_information_from_joint(joint, bins, nats[begin : begin + size])
        else:
            bits, _ = self._scorer.scores(x, y)
            nats = bits.astype(np.float64) * float(np.log(2.0))
        return nats.reshape(n_rows, self.d, n_columns, self.d).sum(axis=(1, 3))

    def _ready(self, block: Variables, shift: Shift | None) -> Block:
        """Weights of a block and its variables, the last few kept: neighbouring tiles share
        rows."""
        numbers = numbers_of(block)
        moved = shift.tobytes() if isinstance(shift, np.ndarray) else shift
        key = (numbers.tobytes(), moved)
        if key not in self._last:
            while len(self._last) >= KEPT_BLOCKS:
                del self._last[next(iter(self._last))]
            self._last[key] = self._weights(block, shift)
        return self._last[key], len(numbers)

    def _weights(self, block: Variables, shift: Shift | None) -> Weights | NDArray[np.float64]:
        s = self.settings
        flat = shifted(np, self._prepared.get(block, self._scaled)[0], shift)
        if not s.facts.cyclic:
            return self._scorer.weights(flat)
        dense = cyclic_weights(flat, s.n_bins, s.order)
        if self.device.backend == "cpu":
            return dense
        xp = self.device.xp
        padded = -(-flat.shape[1] // SAMPLE_PADDING) * SAMPLE_PADDING
        weights = xp.zeros((len(flat) * s.n_bins, padded))
        weights[:, : flat.shape[1]] = xp.asarray(dense.reshape(len(flat) * s.n_bins, -1))
        return Weights(len(flat), None, weights, weights)

    def _scaled(self, block: Variables) -> tuple[NDArray[np.float64]]:
        """Coordinates, float64 (variables * d, frames), as splines take them, in any order of
        frames."""
        s = self.settings
        values = np.asarray(self.series[block], dtype=np.float32 if s.single else np.float64)
        flat = values.reshape(-1, values.shape[2]).astype(np.float64)
        return (flat if s.facts.cyclic else scaled(flat, self._spline, s.transform),)
