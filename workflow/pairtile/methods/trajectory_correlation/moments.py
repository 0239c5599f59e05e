"""Means and spreads of time series that pass by a block of frames at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Moments:
    """Of one replica: mean and sum of squared deviations, by block (Chan et al. 1979), so that no
    digits are lost however far from the origin values lie."""

    def __init__(self, n_variables: int, dimensions: int) -> None:
        self.n = 0
        self.mean = np.zeros((n_variables, dimensions))
        self.squares = np.zeros((n_variables, dimensions))
        self.low = np.full((n_variables, dimensions), np.inf)
        self.high = np.full((n_variables, dimensions), -np.inf)

    def add(self, block: Floats) -> None:
        """``block``: (frames, variables, dimensions)."""
        n, mean = len(block), block.mean(axis=0)
        shift, total = mean - self.mean, self.n + n
        self.squares += ((block - mean) ** 2).sum(axis=0) + shift**2 * (self.n * n / total)
        self.mean += shift * (n / total)
        self.n = total
        np.minimum(self.low, block.min(axis=0), out=self.low)
        np.maximum(self.high, block.max(axis=0), out=self.high)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Whether a variable has the same value in all frames, (variables,)."""
        result: NDArray[np.bool_] = (self.low == self.high).all(axis=1)
        return result


class CyclicMoments(Moments):
    """Of angles in radians: the direction of the mean, and the angular deviation
    sqrt(2 (1 - R)) about it, with R the length of the mean vector (Batschelet 1981)."""

    def __init__(self, n_variables: int, dimensions: int) -> None:
        super().__init__(n_variables, dimensions)
        self._vectors = np.zeros((n_variables, dimensions), dtype=np.complex128)

    def add(self, block: Floats) -> None:
        self.n += len(block)
        self._vectors += np.exp(1j * block).sum(axis=0)
        self.mean = np.angle(self._vectors)
        self.squares = 2.0 * np.maximum(self.n - np.abs(self._vectors), 0.0)
        np.minimum(self.low, block.min(axis=0), out=self.low)
        np.maximum(self.high, block.max(axis=0), out=self.high)


def pooled(replicas: list[Moments], cyclic: bool) -> tuple[Floats, Floats]:
    """Over all replicas: mean (variables, dimensions), and the root mean square deviation of each
    replica about its own mean, over all dimensions, (variables,)."""
    n = np.array([part.n for part in replicas], dtype=float)
    means = np.stack([part.mean for part in replicas])
    if cyclic:
        mean = np.angle((np.exp(1j * means) * n[:, None, None]).sum(axis=0))
    else:
        mean = (means * n[:, None, None]).sum(axis=0) / n.sum()
    spread = np.sqrt(sum(part.squares for part in replicas).sum(axis=1) / n.sum())  # type: ignore[union-attr]
    return mean, spread
