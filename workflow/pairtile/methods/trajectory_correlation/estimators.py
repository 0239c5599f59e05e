"""Correlated motion of blocks of variables, on the CPU or on the GPU: arrays in, arrays out.

A *variable* is what is paired: a position (d = 3), a scalar such as a distance (d = 1) or an angle
(d = 1, cyclic). All functions work on one replica; several are estimated one by one and never
joined end to end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device

KINDS = ("ksg", "gaussian", "dcc", "bspline", "dihedral")
NORMS = ("euclidean", "max")
SCALES = ("raw", "std")
TRANSFORMS = ("rank", "none")

MAX_NEIGHBOURS = 64
"""The kernels look at the two smallest distances in each of 32 lanes first."""

MAX_COORDINATES = 16


def _one_of(key: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        expected = ", ".join(str(choice) for choice in allowed)
        raise ValueError(f"{key}: found {value!r}; expected one of {expected}")


@dataclass(frozen=True)
class MotionSettings:
    """How two variables are compared.

    kind
        ``ksg`` (nearest neighbours, Kraskov et al. 2004), ``gaussian`` (linear mutual information),
        ``dcc`` (dynamical cross-correlation, not a mutual information), ``bspline`` (clamped
        B-splines; of more than one coordinate, the sum over all pairs of coordinates) or
        ``dihedral`` (cyclic B-splines of angles in radians).
    neighbours, variant, norm, scale, theiler
        KSG: k; estimator 1 or 2 (equations 8 and 9); ``euclidean`` or ``max`` among the coordinates
        of a variable (between two variables it is always the larger); ``raw`` or ``std``
        (coordinates divided by their population standard deviation); frames no further than
        ``theiler`` in time are no neighbours (0: off).
    corrected
        Gaussian: subtract the exact bias of finitely many independent frames.
    bins, order, transform
        B-splines; ``rank`` or ``none`` says what ``bspline`` bins.
    single
        Round coordinates to float32 first, as some programs do.
    """

    kind: str = "ksg"
    neighbours: int = 6
    variant: int = 1
    norm: str = "euclidean"
    scale: str = "raw"
    theiler: int = 0
    corrected: bool = False
    bins: int = 10
    order: int = 3
    transform: str = "rank"
    single: bool = False

    def __post_init__(self) -> None:
        """Refuse what no kernel can do; raises ``ValueError``."""
        _one_of("kind", self.kind, KINDS)
        _one_of("norm", self.norm, NORMS)
        _one_of("scale", self.scale, SCALES)
        _one_of("transform", self.transform, TRANSFORMS)
        _one_of("variant", self.variant, (1, 2))
        if not 1 <= self.neighbours <= MAX_NEIGHBOURS:
            raise ValueError(f"neighbours: found {self.neighbours}; expected 1 to {MAX_NEIGHBOURS}")
        if self.theiler < 0:
            raise ValueError(f"theiler: found {self.theiler}; expected 0 or more frames")
        if not 1 <= self.order <= self.bins:
            raise ValueError(
                f"bins, order: found {self.bins}, {self.order}; expected bins >= order >= 1"
            )


PRESETS = {
    "mdigest": MotionSettings(neighbours=5, norm="max"),
    "normi": MotionSettings(neighbours=5, norm="max", scale="std"),
    "dynetan": MotionSettings(neighbours=7, variant=2, norm="max", scale="std"),
    "netsci": MotionSettings(variant=2, norm="max", single=True),
}
"""What other programs compute; none of them has a Theiler window."""


class MotionPairs:
    """Scores blocks of variables of one replica against each other."""

    def __init__(self, series: NDArray[np.floating], settings: MotionSettings, device: Device):
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
            self._dcc = self._estimator(replace(self.settings, kind="dcc"))
        dcc: NDArray[np.float64] = self._dcc.block(rows, columns, shift % self.n_frames)
        return dcc

    def _estimator(self, settings: MotionSettings) -> Any:
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


def _check(series: NDArray[np.floating], settings: MotionSettings) -> None:
    if series.ndim != 3:
        raise ValueError(
            f"series: found shape {series.shape}; expected (variables, coordinates, frames)"
        )
    variables, d, frames = series.shape
    if not 1 <= d <= MAX_COORDINATES:
        raise ValueError(f"series: found {d} coordinates; expected 1 to {MAX_COORDINATES}")
    if settings.kind == "dihedral" and d != 1:
        raise ValueError(f"series: found {d} coordinates; expected 1 for angles")
    needed = {
        # Even the frame with the fewest others outside its window must have k of them.
        "ksg": settings.neighbours + 2 * settings.theiler + 1,
        "gaussian": 2 * d + 2,
    }.get(settings.kind, 2)
    if frames < needed:
        raise ValueError(
            f"series: found {frames} frames; expected at least {needed} for kind "
            f"{settings.kind}" + (f" with theiler {settings.theiler}" if settings.theiler else "")
        )
    for variable in range(variables):
        if not np.isfinite(series[variable]).all():
            axis, frame = np.argwhere(~np.isfinite(series[variable]))[0]
            raise ValueError(
                f"series: variable {variable}, coordinate {axis}, frame {frame}: found "
                f"{series[variable, axis, frame]}; expected a finite number"
            )
