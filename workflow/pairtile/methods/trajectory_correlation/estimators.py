"""Correlated motion of blocks of variables, on the CPU or on the GPU: arrays in, arrays out.

A *variable* is what is paired: a position (d = 3), a scalar such as a distance (d = 1) or an angle
(d = 1, cyclic). All functions work on one replica; several are estimated one by one and never
joined end to end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig

MAX_COORDINATES = 16


class MotionPairs:
    """Scores blocks of variables of one replica against each other."""

    def __init__(
        self, series: NDArray[np.floating], settings: MotionEstimatorConfig, device: Device
    ):
        """
        Parameters
        ----------
        series : float64 or float32, shape (variables, d, frames)
            Positions or values, finite; may be memory-mapped. Angles in radians.

        Raises ``ValueError`` where the shape, the number of frames or a value does not do.
        """
        _check(series, settings)
        self.series = series
        self.settings = settings
        self.device = device
        self.n_frames = series.shape[2]
        self._blocks = self._estimator(settings)
        self._dcc: Any = None

    def block(
        self, rows: slice, columns: slice, shift: int = 0, *, upper: bool = False
    ) -> NDArray[np.float64]:
        """Mutual information in nats of row with column variables; with ``kind: dcc``, the DCC.

        rows, columns : slices with a start and a stop. shift : the column variables are taken
        ``shift`` frames later, around the end of the series: what a circular-shift surrogate is.
        upper : only cells above the diagonal of a square block are looked at; others may hold
        anything. Returns float64 (rows, columns). A variable with itself, unshifted, is NaN, but
        1 for the DCC. KSG values may be negative.
        """
        if self.settings.kind == "dcc":
            return self.dcc_block(rows, columns, shift)
        some = {"upper": True} if upper and self.settings.kind == "ksg" else {}
        mi_nats = self._blocks.block(rows, columns, shift % self.n_frames, **some)
        if shift % self.n_frames == 0:
            same = np.arange(rows.start, rows.stop)[:, None] == np.arange(
                columns.start, columns.stop
            )
            mi_nats[same] = np.nan
        result: NDArray[np.float64] = mi_nats
        return result

    def dcc_block(self, rows: slice, columns: slice, shift: int = 0) -> NDArray[np.float64]:
        """Dynamical cross-correlation <dr_i . dr_j> / sqrt(<dr_i^2> <dr_j^2>), as ``block``.

        0 for a variable that does not move.
        """
        if self._dcc is None:
            self._dcc = self._estimator(self.settings.model_copy(update={"kind": "dcc"}))
        dcc: NDArray[np.float64] = self._dcc.block(rows, columns, shift % self.n_frames)
        return dcc

    def _estimator(self, settings: MotionEstimatorConfig) -> Any:
        arguments = (self.series, settings, self.device)
        if settings.kind == "ksg":
            from pairtile.methods.trajectory_correlation.motion_ksg import KsgPairs

            return KsgPairs(*arguments)
        if settings.kind in ("bspline", "dihedral"):
            from pairtile.methods.trajectory_correlation.motion_spline import SplinePairs

            return SplinePairs(*arguments)
        from pairtile.methods.trajectory_correlation.motion_gaussian import DccPairs, GaussianPairs

        return (DccPairs if settings.kind == "dcc" else GaussianPairs)(*arguments)


def generalized_correlation(mi_nats: Any, d: int) -> NDArray[np.float64]:
    """sqrt(1 - exp(-2 max(I, 0) / d)) (Lange & Grubmueller 2006, equation 9); NaN stays NaN.

    mi_nats : nats, any shape. d : coordinates of a variable (3 for positions).
    """
    mi = np.maximum(np.asarray(mi_nats, dtype=np.float64), 0.0)
    return np.asarray(np.sqrt(-np.expm1(-2.0 * mi / d)))


def _check(series: NDArray[np.floating], settings: MotionEstimatorConfig) -> None:
    if series.ndim != 3:
        raise ValueError(
            f"series: found shape {series.shape}; expected (variables, coordinates, frames)"
        )
    variables, d, frames = series.shape
    if not 1 <= d <= MAX_COORDINATES:
        raise ValueError(f"series: found {d} coordinates; expected 1 to {MAX_COORDINATES}")
    if settings.kind == "dihedral" and d != 1:
        raise ValueError(f"series: found {d} coordinates; expected 1 for angles")
    needed, window = 2, 0
    if settings.kind == "ksg":
        # Even the frame with the fewest others outside its window must have k of them.
        window = settings.window
        needed = settings.neighbours + 2 * window + 1
    elif settings.kind == "gaussian":
        needed = 2 * d + 2
    if frames < needed:
        raise ValueError(
            f"series: found {frames} frames; expected at least {needed} for kind "
            f"{settings.kind}" + (f" with theiler {window}" if window else "")
        )
    for variable in range(variables):
        if not np.isfinite(series[variable]).all():
            axis, frame = np.argwhere(~np.isfinite(series[variable]))[0]
            raise ValueError(
                f"series: variable {variable}, coordinate {axis}, frame {frame}: found "
                f"{series[variable, axis, frame]}; expected a finite number"
            )
