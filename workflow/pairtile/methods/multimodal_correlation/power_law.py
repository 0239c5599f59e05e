"""The threshold of the correlation by the power law: the most edges with a scale-free network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import linregress

from pairtile.methods.multimodal_correlation.thresholds import RankedPairs, Threshold, walk

_BINS = 10
_LEAST_BINS = 4  # occupied ones; a line through fewer points fits whatever they are


class ScaleFreeFit(NamedTuple):
    """``fit``: R^2 of the line, negative where it rises; ``slope``; ``bins``: occupied ones."""

    fit: float
    slope: float
    bins: int


def scale_free_fit(degrees: ArrayLike) -> ScaleFreeFit:
    """How well a straight line fits the degrees' distribution on logarithmic axes.

    Zhang and Horvath 2005, Stat Appl Genet Mol Biol 4:17: degrees in 10 bins of equal width
    between the least and the greatest; log10 of the share of genes in a bin on log10 of their mean
    degree. The fit is R^2 (the square of the correlation), with the opposite sign of the slope: 1
    is a perfect power law. Bins without genes are left out (WGCNA counts them as a share of 1e-9).

    Parameters
    ----------
    degrees : array-like, shape (genes,)
        All above 0.

    Returns
    -------
    ScaleFreeFit
        ``fit`` and ``slope`` are NaN with fewer than 4 occupied bins.
    """
    degree = np.asarray(degrees, dtype=np.int64)
    if not degree.size or degree.min() == degree.max():
        return ScaleFreeFit(np.nan, np.nan, min(1, degree.size))
    low, high = int(degree.min()), int(degree.max())
    place = np.minimum((degree - low) * _BINS // (high - low), _BINS - 1)
    genes = np.bincount(place, minlength=_BINS)
    occupied = genes > 0
    n_bins = int(occupied.sum())
    if n_bins < _LEAST_BINS:
        return ScaleFreeFit(np.nan, np.nan, n_bins)
    mean_degree = np.bincount(place, weights=degree, minlength=_BINS)[occupied] / genes[occupied]
    share = np.log10(genes[occupied] / degree.size)
    if np.ptp(share) == 0:
        return ScaleFreeFit(0.0, 0.0, n_bins)
    line = linregress(np.log10(mean_degree), share)
    return ScaleFreeFit(float(-np.sign(line.slope) * line.rvalue**2), float(line.slope), n_bins)


def power_law_threshold(
    i: ArrayLike,
    j: ArrayLike,
    r: ArrayLike,
    n_genes: int,
    *,
    start: float = 0.99,
    step: float = 0.01,
    stop: float | None = None,
    fit: float = 0.8,
    min_genes: int = 50,
) -> Threshold:
    """The lowest threshold at which the network is scale-free enough.

    Parameters
    ----------
    i, j, r : array-like, shape (modes,)
        Gene numbers and correlation of each mode; of several of a pair the one of largest ``|r|``
        counts. Correlations are taken in single precision.
    n_genes : int
        Genes are numbered 0 .. n_genes - 1.
    start, step : float
        Of the walk down.
    stop : float or None
        Where it ends; None, or below it: the smallest ``|r|`` there is.
    fit : float
        Least signed R^2 (``scale_free_fit``), above 0, at most 1. A correlation of the log-log
        line of -0.9 is a fit of 0.81.
    min_genes : int
        Networks of fewer genes are not judged.

    Returns
    -------
    Threshold
        ``curve``: ``threshold``, ``genes`` (with an edge), ``edges``, ``mean_degree``,
        ``max_degree``, ``fit`` and ``slope`` (NaN where not judged).

    Raises
    ------
    ValueError
        For settings or arrays that make no sense (``thresholds.RankedPairs.of``).
    """
    if not 0 < fit <= 1:
        raise ValueError(f"fit: found {fit}; expected above 0, at most 1")
    pairs = RankedPairs.of(i, j, r, n_genes)
    lowest = float(pairs.size[-1]) if pairs.size.size else start
    degree = np.zeros(n_genes, dtype=np.int64)
    done = 0
    rows = []
    for threshold in walk(start, step, stop, lowest):
        count = pairs.count(threshold)
        for ends in (pairs.i[done:count], pairs.j[done:count]):
            degree += np.bincount(ends, minlength=n_genes)
        done = count
        rows.append(_row(threshold, count, degree[degree > 0], min_genes))
    columns = ["threshold", "genes", "edges", "mean_degree", "max_degree", "fit", "slope"]
    curve = pd.DataFrame(rows, columns=columns)
    good = curve[curve["fit"] >= fit]
    found = float(good["threshold"].iloc[-1]) if len(good) else None
    return Threshold(found, curve, _words(curve, found, fit, min_genes))


def _row(
    threshold: float, edges: int, degree: NDArray[np.int64], min_genes: int
) -> tuple[float, int, int, float, int, float, float]:
    judged = scale_free_fit(degree) if degree.size >= max(min_genes, 1) else None
    mean = float(degree.mean()) if degree.size else 0.0
    most = int(degree.max()) if degree.size else 0
    line = (judged.fit, judged.slope) if judged else (np.nan, np.nan)
    return (threshold, degree.size, edges, mean, most, *line)


def _words(curve: pd.DataFrame, found: float | None, fit: float, min_genes: int) -> str:
    other = "take threshold: {method: rmt} or {method: score, score: x}"
    if curve.empty:
        return (
            "no threshold found: the weakest pair is above the start of the walk. Keep weaker "
            f"pairs (a lower estimator.min_correlation), or {other}"
        )
    if found is not None:
        row = curve[curve["threshold"] == found].iloc[0]
        return (
            f"threshold {found:.6g}: the lowest with a power-law fit of at least {fit:g} "
            f"({row['fit']:.3f}, {int(row['genes']):,} genes, {int(row['edges']):,} edges)"
        )
    none = (
        f"no threshold found between {curve['threshold'].iloc[0]:.6g} and "
        f"{curve['threshold'].iloc[-1]:.6g}"
    )
    if curve["fit"].isna().all():
        return (
            f"{none}: nowhere are there {min_genes} genes, of at least {_LEAST_BINS} different "
            "ranges of degree. Keep weaker pairs (a lower estimator.min_correlation), lower "
            f"min_genes, or {other}"
        )
    best = curve.loc[curve["fit"] == curve["fit"].max()].iloc[-1]
    return (
        f"{none}: the best power-law fit is {best['fit']:.3f}, at {best['threshold']:.6g}; {fit:g} "
        f"is asked for. Ask for less (fit), keep weaker pairs (a lower estimator.min_correlation), "
        f"or {other}"
    )
