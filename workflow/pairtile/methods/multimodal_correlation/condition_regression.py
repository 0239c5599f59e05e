"""How well the expression of a mode's two genes tells a quantitative or ordinal condition."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pairtile.methods.multimodal_correlation.kernels.mode_statistics import unexplained_shares
from pairtile.methods.multimodal_correlation.mode_samples import ModeSamples

COLLINEAR = 1e-9
"""A regressor whose part apart from the ones before it is smaller than this share of its own size
says nothing of its own."""


@dataclass(frozen=True)
class Regression:
    """Fits of M modes.

    n : int32 (M,), samples of the mode with a value.
    p_value : float64 (M,), of the F-test of the whole model; NaN where it is undefined.
    r_squared : float64 (M,), share of the condition's variance that is explained; NaN likewise.
    counts : modes by outcome: ``tests``, ``too_few_samples`` (no degree of freedom left),
        ``condition_is_constant``, ``genes_are_constant``; and ``collinear``, those of the tests
        with fewer than three regressors that say something of their own.
    """

    n: NDArray[np.int32]
    p_value: NDArray[np.float64]
    r_squared: NDArray[np.float64]
    counts: dict[str, int] = field(default_factory=dict)


def regression(modes: ModeSamples, numbers: NDArray[np.float64]) -> Regression:
    """Ordinary least squares y ~ g_i + g_j + g_i g_j over the samples of each mode.

    Parameters
    ----------
    modes : ModeSamples
        M modes of genes i and j.
    numbers : float64 [shape: (S,)]
        The condition y; NaN where a sample has none: it is left out.

    Notes
    -----
    The model is that of KINC 3 (its ``cond-test``). F = (R^2 / k) / ((1 - R^2) / (n - k - 1)) with
    k = 3, or fewer where regressors are collinear (their rank counts, as in statsmodels). R^2 and F
    stay the same when genes are shifted and scaled, so both are standardised in the mode first: a
    product of uncentred factors is nearly collinear with them, which costs digits.
    """
    n, rank = np.zeros(len(modes), np.int32), np.zeros(len(modes), np.int32)
    left = unexplained_shares(
        modes.i.astype(np.int64),
        modes.j.astype(np.int64),
        np.ascontiguousarray(modes.members),
        np.ascontiguousarray(modes.values),
        np.asarray(numbers, dtype=np.float64),
        COLLINEAR,
        n,
        rank,
    )
    free = n - rank - 1
    few, flat, still = free < 1, np.isnan(left), rank == 0
    tested = ~(few | flat | still)
    p, r_squared = np.full(len(modes), np.nan), np.full(len(modes), np.nan)
    r_squared[tested] = 1.0 - left[tested]
    # The upper tail of F as that of a beta distribution: exact where R^2 is close to 1.
    p[tested] = special.betainc(free[tested] / 2.0, rank[tested] / 2.0, left[tested])
    counts = {
        "tests": int(tested.sum()),
        "too_few_samples": int(few.sum()),
        "condition_is_constant": int((flat & ~few).sum()),
        "genes_are_constant": int((still & ~flat & ~few).sum()),
        "collinear": int((tested & (rank < 3)).sum()),
    }
    return Regression(n, p, r_squared, counts)
