"""Frames are not independent samples: correlation times, effective and duplicate frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SOKAL_FACTOR = 5.0
"""The autocorrelation is summed up to this many correlation times (Sokal 1997, section 3)."""

BLOCK_VALUES = 1 << 22
"""Values that are transformed at a time."""

NEAR = 1e-5
"""Frames are nearly duplicates below this part of the mean distance between two frames."""


def correlation_time(series: NDArray[np.floating], *, cyclic: bool = False) -> NDArray[np.float64]:
    """Integrated correlation time of each variable in frames: float64 (variables,).

    tau = 1/2 + sum of the normalised autocorrelation <dr(t) . dr(t + lag)> / <dr^2> over the lags
    1 .. M, with the first M >= 5 tau(M), so that noise does not add up. 0.5 for white noise, about
    T where the autocorrelation falls as exp(-lag / T), and half the number of frames for a variable
    that does not move.

    series : (variables, d, frames). cyclic : angles in radians, taken as points on a circle.
    """
    n = series.shape[2]
    tau = np.empty(series.shape[0])
    size = max(1, BLOCK_VALUES // (2 * n * series.shape[1]))
    for begin in range(0, series.shape[0], size):
        values = np.asarray(series[begin : begin + size], dtype=np.float64)
        if cyclic:
            values = np.concatenate([np.cos(values), np.sin(values)], axis=1)
        tau[begin : begin + size] = _integrated(values)
    return tau


def effective_frames(tau: NDArray[np.float64], n_frames: int) -> NDArray[np.float64]:
    """Independent frames that tell as much about a mean: n / (2 tau), 1 to n."""
    return np.clip(n_frames / (2.0 * np.asarray(tau, dtype=np.float64)), 1.0, float(n_frames))


def theiler_window(tau: NDArray[np.float64], n_frames: int) -> int:
    """Window in frames for ``theiler: auto``: all frames nearer in time than 2 tau are excluded.

    tau is the median over the variables, because two series look alike in time only as long as the
    faster one does. 0 for white noise; at most an eighth of the frames, so that at least three
    quarters stay.
    """
    window = round(2.0 * float(np.median(tau)) - 1.0)
    return min(max(window, 0), n_frames // 8)


@dataclass(frozen=True)
class DuplicateFrames:
    """Frames that repeat an earlier one, and which: int64 vectors, in ascending order."""

    exact: NDArray[np.int64]
    exact_of: NDArray[np.int64]
    near: NDArray[np.int64]
    near_of: NDArray[np.int64]


def duplicate_frames(series: NDArray[np.floating], near: float = NEAR) -> DuplicateFrames:
    """Frames that are equal, or nearly, to an earlier one in all variables at once.

    They make nearest-neighbour distances vanish: a few of them lift the KSG mutual information from
    0.03 to 10 nats. ``near`` is a part of the root mean square distance between two frames. A frame
    counts as exact or as near, not as both. Of a series in which nothing moves, all frames after
    the first are exact duplicates.

    Frames are sorted by their place on a random line: nearly equal frames lie nearly side by side
    there, so that only neighbours need to be compared. series : (variables, d, frames).
    """
    n = series.shape[2]
    place = np.zeros(n)
    variance = 0.0
    random = np.random.default_rng(0)
    size = max(1, BLOCK_VALUES // (n * series.shape[1]))
    for begin in range(0, series.shape[0], size):
        values = np.asarray(series[begin : begin + size], dtype=np.float64).reshape(-1, n)
        moves = values - values[:, :1]
        # Sums along the frames' own axis treat equal frames equally, to the last bit.
        for direction, row in zip(random.normal(size=len(moves)), moves, strict=True):
            place += direction * row
        variance += float(moves.var(axis=1).sum())
    limit = near * np.sqrt(2.0 * variance)
    # Eight standard deviations of how far frames at the limit lie apart on the line.
    reach = 8.0 * limit
    order = np.argsort(place, kind="stable")
    found: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for at, first in enumerate(order):
        for second in order[at + 1 :]:
            if place[second] - place[first] > reach:
                break
            earlier, later = sorted((int(first), int(second)))
            distance = _distance(series, earlier, later)
            if distance <= limit:
                repeated = found[0 if distance == 0.0 else 1]
                repeated[later] = min(earlier, repeated.get(later, earlier))
                if distance == 0.0:
                    break  # the next one compares itself with what follows
    exact, nearly = found
    exact = {later: _first_of(exact, later) for later in exact}
    nearly = {later: earlier for later, earlier in nearly.items() if later not in exact}
    return DuplicateFrames(*_vectors(exact), *_vectors(nearly))


def _integrated(values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = values.shape[2]
    moves = values - values.mean(axis=2, keepdims=True)
    power = np.abs(np.fft.rfft(moves, 2 * n, axis=2)) ** 2
    covariance = np.fft.irfft(power, 2 * n, axis=2)[:, :, :n].sum(axis=1)
    still = (values == values[:, :, :1]).all(axis=(1, 2)) | (covariance[:, 0] <= 0.0)
    covariance[still, 0] = 1.0
    tau = 0.5 + np.cumsum(covariance / covariance[:, :1], axis=1) - 1.0
    enough = np.arange(n) >= SOKAL_FACTOR * tau
    enough[:, -1] = True
    chosen = tau[np.arange(len(tau)), enough.argmax(axis=1)]
    # Series that swing to and fro tell more about a mean than white noise; we do not count on it.
    return np.where(still, n / 2.0, np.clip(chosen, 0.5, n / 2.0))


def _distance(series: NDArray[np.floating], first: int, second: int) -> float:
    difference = np.asarray(series[:, :, first], dtype=np.float64) - series[:, :, second]
    return float(np.sqrt((difference * difference).sum()))


def _first_of(earlier: dict[int, int], frame: int) -> int:
    while frame in earlier:
        frame = earlier[frame]
    return frame


def _vectors(found: dict[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    later = np.array(sorted(found), dtype=np.int64)
    return later, np.array([found[int(frame)] for frame in later], dtype=np.int64)
