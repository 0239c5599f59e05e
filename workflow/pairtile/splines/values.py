"""Expression values made ready for B-splines: ranked, scaled, and how much they tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.splines.bspline import bin_sums
from pairtile.splines.scaled_rows import scale_rows
from pairtile.splines.scorer import SplineSettings


def scaled(
    values: NDArray[np.float64],
    settings: SplineSettings,
    transform: str,
    overwrite: bool = False,
) -> NDArray[np.float64]:
    """Each gene's values, or their average ranks, scaled to [0, bins - order + 1].

    values : float64 (genes, samples), NaN where missing. A constant gene becomes all 0, so that
    all its weight lies on the same bins and its mutual information with everything is 0. Where the
    caller needs them no more, ``overwrite`` puts the result in their place (if C-contiguous).
    """
    if transform not in ("rank", "none"):
        raise ValueError(f"transform: found {transform!r}; expected 'rank' or 'none'")
    given = np.ascontiguousarray(values, dtype=np.float64)
    z = given if overwrite else np.empty(given.shape)
    scale_rows(given, transform == "rank", float(settings.intervals), z)
    return z


def marginal_entropies(z: NDArray[np.float64], settings: SplineSettings) -> NDArray[np.float64]:
    """Entropy in bits of each gene's own bins: float64 (genes,); 0 for a constant gene."""
    p = bin_sums(z, settings.bins, settings.order, settings.knots)
    p /= np.maximum(p.sum(axis=1, keepdims=True), 1.0)
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0.0)
    entropies = np.maximum(0.0, -(p * logs).sum(axis=1))
    # A constant gene lies on one point: uniform knots spread that over bins, yet it tells nothing.
    with np.errstate(invalid="ignore"):
        entropies[~(np.fmax.reduce(z, axis=1) > 0.0)] = 0.0
    return np.asarray(entropies)
