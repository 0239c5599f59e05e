"""Expression values made ready for B-splines: ranked, scaled, and how much they tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from pairtile.estimators.base import Section
from pairtile.estimators.bspline_scorer import SplineSettings
from pairtile.kernels.bspline import bspline_weights, dense_weights
from pairtile.tiles import TILE_EDGE


def scaled(
    values: NDArray[np.float64], settings: SplineSettings, transform: str
) -> NDArray[np.float64]:
    """Each gene's values, or their average ranks, scaled to [0, bins - order + 1].

    values : float64 (genes, samples), NaN where missing. A constant gene becomes all 0, so that
    all its weight lies on the same bins and its mutual information with everything is 0.
    """
    z = np.array(values, dtype=np.float64, order="C")
    if transform == "rank":
        missing = np.isnan(z)
        for gene in range(z.shape[0]):  # rankdata's own nan handling is slower than the loop
            if missing[gene].any():
                z[gene, ~missing[gene]] = rankdata(z[gene, ~missing[gene]])
            else:
                z[gene] = rankdata(z[gene])
    elif transform != "none":
        raise ValueError(f"transform: found {transform!r}; expected 'rank' or 'none'")
    with np.errstate(invalid="ignore"):
        low = np.nanmin(z, axis=1, keepdims=True)
        width = np.nanmax(z, axis=1, keepdims=True) - low
        z -= low
        z /= np.where(width > 0.0, width, 1.0)
    # Rounding may leave a maximum just above one.
    return np.minimum(z, 1.0) * settings.intervals


def marginal_entropies(z: NDArray[np.float64], settings: SplineSettings) -> NDArray[np.float64]:
    """Entropy in bits of each gene's own bins: float64 (genes,); 0 for a constant gene."""
    entropies = np.empty(z.shape[0])
    for begin in range(0, z.shape[0], TILE_EDGE):
        block = z[begin : begin + TILE_EDGE]
        weights = bspline_weights(block, settings.bins, settings.order, settings.knots)
        p = dense_weights(*weights, settings.bins).sum(axis=1)
        p /= np.maximum(p.sum(axis=1, keepdims=True), 1.0)
        logs = np.log2(p, out=np.zeros_like(p), where=p > 0.0)
        entropies[begin : begin + TILE_EDGE] = np.maximum(0.0, -(p * logs).sum(axis=1))
    # A constant gene lies on one point: uniform knots spread that over bins, yet it tells nothing.
    entropies[~(z > 0.0).any(axis=1)] = 0.0
    return entropies


def spline_settings(section: Section, precision: str) -> SplineSettings:
    """The estimator's part of a configuration section."""
    e = section["estimator"]
    return SplineSettings(e["bins"], e["order"], e["knots"], precision)
