"""Scores that set a pair's MI against the other pairs of its two genes: ``clr`` and ``target_z``.

Both are made from three sums for each gene and role (count, sum, sum of squares of MI), so they
need one pass over the pairs, in any number of pieces, and never the whole matrix. ``clr(s -> t)`` =
sqrt(max(0, z_s)^2 + max(0, z_t)^2), where z_s is the z-score of MI(s, t) among all targets of the
source s, and z_t among all candidate sources of the target t (Faith et al. 2007, PLoS Biology
5:e8, equation of the joint likelihood); ``target_z`` is z_t alone. Standard deviations are of the
population; a gene without spread gives z = 0. Without a regulator list ``clr`` is symmetric; with
one the matrix is rectangular, regulators x genes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import DeviceArray, Float64Array, Int64Array
from pairtile.errors import InputError

FIXED_POINT_ONE = float(1 << 36)
"""One bit (or one bit squared) in units of the integer sums."""

ROLES = ("source", "target")
KINDS = ("count", "sum", "squares")


Moments = Callable[[str], tuple[Float64Array, Float64Array]]
"""Gives mean and standard deviation of each gene's scores in a role: ``mean_sd`` of some sums."""


def mean_sd(sums: Mapping[str, Int64Array], role: str) -> tuple[Float64Array, Float64Array]:
    """Mean and population standard deviation of each gene's scores; 0 where there are none.

    sums : int64 (genes,) by ``ROLE_KIND``, ``target_*`` over the candidate sources of that gene,
    ``source_*`` over its targets.
    """
    count = np.maximum(sums[f"{role}_count"], 1).astype(np.float64)
    mean = sums[f"{role}_sum"] / FIXED_POINT_ONE / count
    variance = sums[f"{role}_squares"] / FIXED_POINT_ONE / count - mean * mean
    # Fixed point and subtraction leave about 1e-11; a smaller variance is none.
    return mean, np.sqrt(np.where(variance > 1e-10, variance, 0.0))


class SourceTarget:
    """Pairs source -> target, and what their mutual information is held against.

    bits : float64, mutual information, on the device; NaN has no score. source, target : gene
    numbers, on the host. They broadcast to the shape of ``bits``: one number for each pair of a
    list; (rows, 1) and (1, columns), or the other way round, for a tile. xp : ``numpy`` or
    ``cupy``, where ``bits`` lives.

    Examples
    --------
    >>> moments = lambda role: (np.array([2.0, 2.5, 1.5]), np.array([1.0, 0.5, 0.5]))
    >>> first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> bits, entropies = np.array([3.0, 1.0, 2.0]), np.ones(3)
    >>> SourceTarget(bits, first, second, np, moments, None, entropies).z_target
    array([ 1., -1.,  1.])
    """

    def __init__(
        self,
        bits: DeviceArray,
        source: NDArray[np.integer],
        target: NDArray[np.integer],
        xp: ModuleType,
        moments: Moments,
        combine: Callable[[SourceTarget], DeviceArray] | None,
        entropy_bits: Float64Array,
    ) -> None:
        self.bits, self.source, self.target, self.xp = bits, source, target, xp
        self._moments, self._combine, self._entropy = moments, combine, entropy_bits

    @property
    def entropies(self) -> list[DeviceArray]:
        """Marginal entropy of the source and of the target, in bits.

        Raises InputError where ``scores`` are given in place of a table.
        """
        if np.isnan(self._entropy).any():
            raise InputError(
                "scores: found a table of scores; expected `expression` under this `score`, which "
                "needs the entropies of genes"
            )
        return [self.xp.asarray(self._entropy[genes]) for genes in (self.source, self.target)]

    @property
    def z_source(self) -> DeviceArray:
        """z-score of the mutual information among the pairs of the source; 0 without spread."""
        return self._z("source", self.source)

    @property
    def z_target(self) -> DeviceArray:
        """z-score among all candidate sources of the target; 0 without spread."""
        return self._z("target", self.target)

    def combined(self) -> DeviceArray:
        """``CombinedScore``, of which the first pass has the sums."""
        assert self._combine is not None  # the first pass made it
        return self._combine(self)

    def _z(self, role: str, genes: NDArray[np.integer]) -> DeviceArray:
        mean, sd = self._moments(role)
        # An infinite divisor gives z = 0 where there is no spread, and leaves NaN as NaN.
        divisor = np.where(sd > 0, sd, np.inf)
        return (self.bits - self.xp.asarray(mean[genes])) / self.xp.asarray(divisor[genes])
