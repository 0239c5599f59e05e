"""Scores that set a pair's MI against the other pairs of its two genes: ``clr`` and ``target_z``.

Both are made from three sums for each gene and role (count, sum, sum of squares of MI), so they
need one pass over the pairs, in any number of pieces, and never the whole matrix. ``clr`` and
``target_z`` score a list of pairs; ``better_direction`` a whole tile, on the CPU or the GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALLEST_SPREAD = 1e-6
"""Standard deviations below this fraction of the root mean square are rounding errors: zero."""


FIXED_POINT_ONE = float(1 << 36)
"""One bit (or one bit squared) in units of the integer sums."""

ROLES = ("source", "target")
KINDS = ("count", "sum", "squares")


class GeneMoments(Protocol):
    """What the scores need: mean and sd of each gene's MI, by role.

    :class:`SummedMoments` has it, and so has ``ExactMoments``.
    """

    def mean_sd(self, role: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and population sd, shape (G,) each; ``role`` is "source" or "target"."""
        ...


@dataclass(frozen=True)
class RoleMoments:
    """MI of each gene with all its partners in one role; arrays of shape (G,).

    Deviations are kept rather than squares: the difference of two large sums would lose the
    spread of values that are nearly the same. Those of separate sets of pairs add with ``+``
    (Chan, Golub and LeVeque 1979, equation 2.1).
    """

    count: NDArray[np.int64]
    mean: NDArray[np.float64]
    squared_deviations: NDArray[np.float64]

    def __add__(self, other: Self) -> RoleMoments:
        count = np.maximum(self.count + other.count, 1)
        between = (self.count * other.count) * (other.mean - self.mean) ** 2 / count
        return RoleMoments(
            self.count + other.count,
            (self.count * self.mean + other.count * other.mean) / count,
            self.squared_deviations + other.squared_deviations + between,
        )

    def mean_sd(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and population standard deviation for each gene; 0 and 0 without partners."""
        variance = self.squared_deviations / np.maximum(self.count, 1)
        is_rounding = variance <= SMALLEST_SPREAD**2 * (variance + self.mean**2)
        return self.mean, np.sqrt(np.where(is_rounding, 0.0, variance))


@dataclass(frozen=True)
class SummedMoments:
    """The sums of every gene, as target (over its candidate sources) and as source (over targets).

    A gene is never its own partner. Without a regulator list both roles hold the same sums. With
    one, genes that are no regulator are never a source: their ``as_source`` is zero.
    Those of separate sets of pairs add with ``+``.
    """

    as_target: RoleMoments
    as_source: RoleMoments

    def __add__(self, other: Self) -> SummedMoments:
        return SummedMoments(self.as_target + other.as_target, self.as_source + other.as_source)

    def mean_sd(self, role: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and population standard deviation of each gene as "source" or as "target"."""
        return {"source": self.as_source, "target": self.as_target}[role].mean_sd()


@dataclass(frozen=True)
class ExactMoments:
    """Integer sums for each gene in both roles: int64 arrays (genes,) by ``ROLE_KIND``.

    ``target_*``: over the candidate sources of that gene; ``source_*``: over its targets.
    """

    sums: dict[str, NDArray[np.int64]]

    @classmethod
    def zeros(cls, genes: int) -> ExactMoments:
        """Nothing counted yet."""
        return cls({f"{r}_{k}": np.zeros(genes, dtype=np.int64) for r in ROLES for k in KINDS})

    def add(
        self, role: str, kind: str, genes: NDArray[np.int64], values: NDArray[np.int64]
    ) -> None:
        """Add to the sums of ``genes`` (each at most once)."""
        self.sums[f"{role}_{kind}"][genes] += values

    @classmethod
    def from_summaries(cls, summaries: Mapping[str, NDArray[np.int64]]) -> ExactMoments:
        """From what ``sums`` held, after storage and merging."""
        return cls({f"{r}_{k}": np.asarray(summaries[f"{r}_{k}"]) for r in ROLES for k in KINDS})

    def mean_sd(self, role: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and population standard deviation of each gene's scores; 0 where there are none."""
        count = np.maximum(self.sums[f"{role}_count"], 1).astype(np.float64)
        mean = self.sums[f"{role}_sum"] / FIXED_POINT_ONE / count
        variance = self.sums[f"{role}_squares"] / FIXED_POINT_ONE / count - mean * mean
        # Fixed point and subtraction leave about 1e-11; a smaller variance is none.
        return mean, np.sqrt(np.where(variance > 1e-10, variance, 0.0))


def moments_from_pairs(
    i: ArrayLike,
    j: ArrayLike,
    mi: ArrayLike,
    n_genes: int,
    is_regulator: ArrayLike | None = None,
) -> SummedMoments:
    """Sum up the MI of each gene's pairs, both directions of a pair where both are allowed.

    Parameters
    ----------
    i, j : integers [array-like, shape: (P,)]
        The two genes of each pair, each unordered pair once. With regulators, ``i`` is one.
    mi : real [array-like, shape: (P,)]
        Mutual information; pairs without a score (NaN) are left out.
    n_genes : int
        Genes are numbered 0 to ``n_genes - 1``.
    is_regulator : bool [array-like, shape: (n_genes,)], optional
        Who may be a source. Without it, everybody.

    Raises
    ------
    ValueError
        If lengths differ, a gene is out of range, or some ``i`` is no regulator.
    """
    source, target, values = _check_pairs(i, j, mi, n_genes)
    both_ways = _allowed_backward(source, target, n_genes, is_regulator)
    scored = ~np.isnan(values)
    if not scored.all():
        source, target = source[scored], target[scored]
        values, both_ways = values[scored], both_ways[scored]
    forward = (_moments(target, values, n_genes), _moments(source, values, n_genes))
    backward = (
        _moments(source[both_ways], values[both_ways], n_genes),
        _moments(target[both_ways], values[both_ways], n_genes),
    )
    return SummedMoments(as_target=forward[0] + backward[0], as_source=forward[1] + backward[1])


def clr(
    i: ArrayLike,
    j: ArrayLike,
    mi: ArrayLike,
    moments: GeneMoments,
    is_regulator: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Context likelihood of relatedness: how far MI stands out for both genes of a pair.

    clr(s -> t) = sqrt(max(0, z_s)^2 + max(0, z_t)^2), where z_s is the z-score of MI(s, t) among
    all targets of the source s, and z_t among all candidate sources of the target t (population
    standard deviation; a gene without spread gives z = 0). Without a regulator list this is
    symmetric; with one the matrix is rectangular, regulators x genes.

    Parameters
    ----------
    i, j, mi, is_regulator
        As for :func:`moments_from_pairs`; any subset of the pairs.
    moments : SummedMoments or ExactMoments
        Of *all* pairs.

    Returns
    -------
    forward, backward : float64 [shape: (P,)]
        Scores of i -> j and of j -> i; ``backward`` is NaN where j may not be a source.

    Notes
    -----
    Source: Faith et al. 2007, PLoS Biology 5:e8, equation of the joint likelihood.

    Examples
    --------
    >>> i, j, mi = [0, 0, 1], [1, 2, 2], [3.0, 1.0, 2.0]
    >>> forward, backward = clr(i, j, mi, moments_from_pairs(i, j, mi, 3))
    >>> forward.round(3)
    array([1.414, 0.   , 1.   ])
    """
    of_source, of_target = moments.mean_sd("source"), moments.mean_sd("target")
    n_genes = len(of_target[0])
    source, target, values = _check_pairs(i, j, mi, n_genes)
    both_ways = _allowed_backward(source, target, n_genes, is_regulator)

    def combined(s: NDArray[Any], t: NDArray[Any]) -> NDArray[np.float64]:
        return np.hypot(
            np.maximum(0.0, _z(values, s, *of_source)),
            np.maximum(0.0, _z(values, t, *of_target)),
        )

    forward = combined(source, target)
    return forward, np.where(both_ways, combined(target, source), np.nan)


def target_z(
    i: ArrayLike,
    j: ArrayLike,
    mi: ArrayLike,
    moments: GeneMoments,
    is_regulator: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """z-score of MI(source, target) among all candidate sources of that target.

    The population standard deviation is taken, the target itself is left out, and a target
    without spread gives 0. The score is directed: i -> j is compared with the sources of j, and
    j -> i with those of i.

    Parameters and returned values are those of :func:`clr`.

    Examples
    --------
    >>> i, j, mi = [0, 0, 1], [1, 2, 2], [3.0, 1.0, 2.0]
    >>> forward, backward = target_z(i, j, mi, moments_from_pairs(i, j, mi, 3))
    >>> forward, backward
    (array([ 1., -1.,  1.]), array([ 1., -1., -1.]))
    """
    mean, sd = moments.mean_sd("target")
    source, target, values = _check_pairs(i, j, mi, len(mean))
    both_ways = _allowed_backward(source, target, len(mean), is_regulator)
    forward = _z(values, target, mean, sd)
    return forward, np.where(both_ways, _z(values, source, mean, sd), np.nan)


def _z(
    values: NDArray[np.float64],
    gene: NDArray[Any],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
) -> NDArray[np.float64]:
    # An infinite divisor gives z = 0 where there is no spread, and leaves NaN as NaN.
    divisor = np.where(sd > 0, sd, np.inf)
    return (values - mean[gene]) / divisor[gene]


def _moments(gene: NDArray[Any], values: NDArray[Any], n_genes: int) -> RoleMoments:
    count = np.bincount(gene, minlength=n_genes)
    mean = np.bincount(gene, weights=values, minlength=n_genes) / np.maximum(count, 1)
    squares = (values - mean[gene]) ** 2
    deviations = np.bincount(gene, weights=squares, minlength=n_genes)
    return RoleMoments(count, mean, deviations.astype(np.float64))


def _check_pairs(
    i: ArrayLike, j: ArrayLike, mi: ArrayLike, n_genes: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    source, target = np.asarray(i), np.asarray(j)
    values = np.asarray(mi, dtype=np.float64)
    if not source.shape == target.shape == values.shape or values.ndim != 1:
        raise ValueError(
            f"i, j and mi have shapes {source.shape}, {target.shape} and {values.shape}; "
            "expected three vectors of one length"
        )
    if len(values) == 0:
        return np.empty(0, np.int32), np.empty(0, np.int32), values
    for name, gene in (("i", source), ("j", target)):
        if gene.dtype.kind not in "iu":
            raise ValueError(f"{name} has type {gene.dtype}; expected integers")
        if gene.min() < 0 or gene.max() >= n_genes:
            raise ValueError(
                f"{name} runs from {gene.min()} to {gene.max()}; "
                f"expected genes from 0 to {n_genes - 1}"
            )
    return source, target, values


def _allowed_backward(
    source: NDArray[Any], target: NDArray[Any], n_genes: int, is_regulator: ArrayLike | None
) -> NDArray[np.bool_]:
    if is_regulator is None:
        return np.ones(len(source), dtype=bool)
    flags = np.asarray(is_regulator)
    if flags.dtype != np.bool_ or flags.shape != (n_genes,):
        raise ValueError(
            f"is_regulator has type {flags.dtype} and shape {flags.shape}; "
            f"expected bool of shape ({n_genes},)"
        )
    if not flags[source].all():
        wrong = np.flatnonzero(~flags[source])[0]
        raise ValueError(f"i[{wrong}] is gene {source[wrong]}, no regulator; expected a regulator")
    return flags[target]


def better_direction(
    score: str,
    xp: Any,
    mi: Any,
    rows: NDArray[Any],
    columns: NDArray[Any],
    moments: GeneMoments,
    is_regulator: NDArray[Any] | None,
) -> Any:
    """The larger of a pair's two directed scores: float64, shape (rows, columns).

    Parameters
    ----------
    score
        ``clr`` or ``target_z``.
    xp
        ``numpy`` or ``cupy``, where ``mi`` lives; the other arrays are on the host.
    mi : real, shape (rows, columns)
        Mutual information in bits.
    rows, columns : integers
        Gene numbers; with ``is_regulator``, rows are regulators, and a column gene that is none
        has no direction of its own.
    """
    bits = mi.astype(xp.float64)

    def z(role: str, genes: NDArray[Any], axis: int) -> Any:
        mean, sd = moments.mean_sd(role)
        at = xp.asarray(mean[genes]), xp.asarray(sd[genes])
        mean_here, sd_here = (a[:, None] if axis == 0 else a[None, :] for a in at)
        return (bits - mean_here) / xp.where(sd_here > 0, sd_here, xp.inf)

    def joint(source_z: Any, target_z: Any) -> Any:
        return xp.hypot(xp.maximum(0.0, source_z), xp.maximum(0.0, target_z))

    if score == "target_z":
        forward, backward = z("target", columns, 1), z("target", rows, 0)
    elif score == "clr":
        forward = joint(z("source", rows, 0), z("target", columns, 1))
        backward = joint(z("source", columns, 1), z("target", rows, 0))
    else:
        raise ValueError(f"score: found {score!r}; expected 'clr' or 'target_z'")
    if is_regulator is not None:
        backward = xp.where(xp.asarray(is_regulator[columns])[None, :], backward, -xp.inf)
    return xp.maximum(forward, backward)
