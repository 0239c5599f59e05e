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

from pairtile.arrays import BoolArray, DeviceArray, Float64Array, Int64Array

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


def directed_scores(
    score: str,
    mi: DeviceArray,
    i: NDArray[np.integer],
    j: NDArray[np.integer],
    moments: Moments,
    is_regulator: BoolArray | None = None,
    xp: ModuleType = np,
) -> tuple[DeviceArray, DeviceArray]:
    """The score of i -> j and of j -> i of each pair.

    Parameters
    ----------
    score : {"clr", "target_z"}
    mi
        Mutual information in bits, real; NaN has no score.
    i, j
        The two genes of each pair; with regulators, ``i`` is one. They broadcast to the shape of
        ``mi``: one number for each pair of a list, (rows, 1) and (1, columns) for a tile.
    moments
        Of all pairs.
    is_regulator : bool, shape (genes,), optional
        Who may be a source. Without it, everybody.
    xp
        ``numpy`` or ``cupy``, where ``mi`` lives; the other arrays are on the host.

    Returns
    -------
    forward, backward : float64, shape of ``mi``; ``backward`` is NaN where j may not be a source.

    Examples
    --------
    >>> i, j, mi = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3.0, 1.0, 2.0])
    >>> moments = lambda role: (np.array([2.0, 2.5, 1.5]), np.array([1.0, 0.5, 0.5]))
    >>> directed_scores("clr", mi, i, j, moments)[0].round(3)
    array([1.414, 0.   , 1.   ])
    >>> directed_scores("target_z", mi, i, j, moments)
    (array([ 1., -1.,  1.]), array([ 1., -1., -1.]))
    """
    bits = mi.astype(xp.float64)

    def z(role: str, genes: NDArray[np.integer]) -> DeviceArray:
        mean, sd = moments(role)
        # An infinite divisor gives z = 0 where there is no spread, and leaves NaN as NaN.
        divisor = np.where(sd > 0, sd, np.inf)
        return (bits - xp.asarray(mean[genes])) / xp.asarray(divisor[genes])

    def directed(source: NDArray[np.integer], target: NDArray[np.integer]) -> DeviceArray:
        if score == "target_z":
            return z("target", target)
        return xp.hypot(xp.maximum(0.0, z("source", source)), xp.maximum(0.0, z("target", target)))

    backward = directed(j, i)
    if is_regulator is not None:
        backward = xp.where(xp.asarray(is_regulator[j]), backward, xp.nan)
    return directed(i, j), backward
