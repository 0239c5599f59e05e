"""Significance by circular shifts: surrogates keep each series' own memory, and lose the pair's.

Frames that are shuffled lose their correlation in time, and any two slow variables then look
significant. Shifting one of the two series in time, around its end, keeps both as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

AWAY = 3.0
"""Correlation times that a shift should at least be away from none."""


def surrogate_shifts(n_frames: int, number: int, tau: float, seed: int) -> NDArray[np.int64]:
    """Different shifts in frames, ascending: int64 (number,).

    Each is at least 3 ``tau`` from no shift, in either direction, or a quarter of the frames where
    the series is too short for that. The frames between are cut into ``number`` equal parts and one
    shift is drawn from each, because shifts that are close together give nearly the same surrogate.

    Raises ``ValueError`` where there are fewer different shifts than ``number``.
    """
    away = max(1, min(int(np.ceil(AWAY * tau)), n_frames // 4))
    available = n_frames - 2 * away + 1
    if number < 1 or available < number:
        raise ValueError(
            f"surrogates: found {number} for {n_frames} frames; expected 1 to {max(0, available)} "
            f"different shifts at least {away} frames from none"
        )
    edges = away + (np.arange(number + 1, dtype=np.int64) * available) // number
    return np.random.default_rng(seed).integers(edges[:-1], edges[1:])


class SurrogateMoments:
    """Mean, standard deviation and exceedances of the surrogates of a block, added one by one."""

    def __init__(self, observed: NDArray[np.float64]) -> None:
        """``observed``: the values that surrogates are held against, any shape."""
        self.observed = observed
        self.number = 0
        self.mean = np.zeros_like(observed)
        self.n_as_large = np.zeros(observed.shape, dtype=np.int32)
        self._squares = np.zeros_like(observed)

    def add(self, surrogate: NDArray[np.float64]) -> None:
        """Take in the values under one more shift."""
        self.number += 1
        difference = surrogate - self.mean
        self.mean += difference / self.number
        self._squares += difference * (surrogate - self.mean)
        self.n_as_large += surrogate >= self.observed

    @property
    def standard_deviation(self) -> NDArray[np.float64]:
        """Of the surrogates, with n - 1; 0 for a single one."""
        return np.asarray(np.sqrt(self._squares / max(1, self.number - 1)))

    def p_value(self) -> NDArray[np.float64]:
        """See :func:`p_value`."""
        return p_value(self.observed, self.mean, self.standard_deviation, self.number)

    def p_value_by_rank(self) -> NDArray[np.float64]:
        """(1 + surrogates as large) / (1 + surrogates): no assumption, but never below that."""
        p = (1.0 + self.n_as_large) / (1.0 + self.number)
        return np.where(np.isnan(self.observed), np.nan, p)


def p_value(
    observed: NDArray[np.float64],
    null_mean: NDArray[np.float64],
    null_standard_deviation: NDArray[np.float64],
    number: int,
) -> NDArray[np.float64]:
    """Chance that one more surrogate is as large as ``observed``, one-sided.

    Student's t with ``number`` - 1 degrees of freedom for the next draw of a normal population of
    which ``number`` are known. Unlike ranks it resolves small chances with 20 surrogates; far out
    it rests on the assumption that surrogates are normal. 0.5 where all surrogates and the value
    are one; NaN where ``observed`` is. Needs at least two surrogates (``ValueError``).
    """
    if number < 2:
        raise ValueError(f"surrogates: found {number}; expected 2 or more for a p-value")
    spread = null_standard_deviation * np.sqrt(1.0 + 1.0 / number)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (observed - null_mean) / spread
    t = np.where(np.isnan(t) & ~np.isnan(observed), 0.0, t)
    return np.asarray(stdtr(number - 1, -t))
