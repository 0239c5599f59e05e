"""Spacings of neighbouring eigenvalues, and how far they are from those of chance levels.

Luo et al. 2007, BMC Bioinformatics 8:299: eigenvalues of a network of separate modules lie
independently, with spacings s of density exp(-s) (Poisson); those of a network that noise ties
together repel each other, with density (pi s / 2) exp(-pi s^2 / 4) (Wigner).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import Akima1DInterpolator

BINS = 60
LONGEST = 3.0
"""Spacings are counted in ``BINS`` bins from 0 to ``LONGEST`` mean spacings."""

_PACES = range(10, 41)
_LEAST_KNOTS = 5
_SAME = 1e-6  # eigenvalues closer than this count as one


def distinct(eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Eigenvalues that lie more than 1e-6 above the one before; ``eigenvalues`` rising."""
    if not eigenvalues.size:
        return eigenvalues
    return eigenvalues[np.concatenate([[True], np.diff(eigenvalues) > _SAME])]


def unfolded_spacings(eigenvalues: NDArray[np.float64], pace: int) -> NDArray[np.float64]:
    """Spacings of eigenvalues on a scale on which they have the mean spacing 1.

    The scale is the share of eigenvalues below, smoothed: an Akima spline (Akima 1970) through
    every ``pace``-th eigenvalue and the last.

    Parameters
    ----------
    eigenvalues : float64 array, shape (n,)
        Distinct, rising; n at least 5 times ``pace``.
    pace : int
        The knots are (eigenvalue[k pace], (k pace + 1) / n), the last of them (largest, 1).

    Returns
    -------
    float64 array, shape (n - 1,). Overshoots of the spline can make some negative.
    """
    n = eigenvalues.size
    at = np.arange(n // pace) * pace
    knots, share = eigenvalues[at], (at + 1) / n
    knots[-1], share[-1] = eigenvalues[-1], 1.0
    unfolded = Akima1DInterpolator(knots, share)(eigenvalues)
    unfolded[0], unfolded[-1] = 0.0, 1.0
    spacings: NDArray[np.float64] = np.diff(unfolded) * n
    return spacings


def chi_square(eigenvalues: NDArray[np.float64]) -> float:
    """Chi-square of the spacings against exp(-s), mean over the paces 10 to 40.

    Paces that leave fewer than 5 knots are left out. ``eigenvalues``: distinct, rising, at least
    50. The expected count of bin k (width w) is n (exp(-k w) - exp(-(k + 1) w)).
    """
    n = eigenvalues.size
    edges = np.linspace(0.0, LONGEST, BINS + 1)
    expected = n * (np.exp(-edges[:-1]) - np.exp(-edges[1:]))
    tests = [((seen - expected) ** 2 / expected).sum() for seen in _counts(eigenvalues)]
    return float(np.mean(tests))


def spacing_density(eigenvalues: NDArray[np.float64]) -> pd.DataFrame:
    """The distribution of spacings, for a figure: a row for each of the 60 bins.

    Columns: ``spacing`` (middle of the bin, in mean spacings), ``density`` (mean over the paces),
    ``poisson`` and ``wigner`` (mean density of the two laws in the bin).
    """
    edges = np.linspace(0.0, LONGEST, BINS + 1)
    width = LONGEST / BINS
    counts = np.mean(list(_counts(eigenvalues)), axis=0)
    return pd.DataFrame(
        {
            "spacing": (edges[:-1] + edges[1:]) / 2,
            "density": counts / ((eigenvalues.size - 1) * width),
            "poisson": -np.diff(np.exp(-edges)) / width,
            "wigner": -np.diff(np.exp(-np.pi * edges**2 / 4)) / width,
        }
    )


def _counts(eigenvalues: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
    """Spacings in each bin, for each pace."""
    for pace in _PACES:
        if eigenvalues.size // pace < _LEAST_KNOTS:
            return
        spacings = unfolded_spacings(eigenvalues, pace)
        inside = spacings[(spacings >= 0) & (spacings < LONGEST)]
        places = np.minimum((inside / (LONGEST / BINS)).astype(np.int64), BINS - 1)
        yield np.bincount(places, minlength=BINS)
