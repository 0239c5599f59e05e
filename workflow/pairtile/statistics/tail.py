"""p-values beyond what draws can count, from the tail that is fitted to the largest of them."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.arrays import Float64Array

MIN_COUNTED = 10
"""Where fewer draws are as large, a p-value comes from the fitted tail."""

TAIL_DRAWS = 250
"""To so many of the largest draws the tail is fitted (Knijnenburg et al. 2009)."""


def tail_p_values(
    observed: Float64Array,
    as_large: NDArray[np.number],
    number: int,
    largest: Float64Array,
    weight: Float64Array | None = None,
) -> Float64Array:
    """Chance that a draw is as large as observed, so that it can be small where draws are few.

    Counted, with one added, where ``MIN_COUNTED`` draws are as large; beyond, by a generalised
    Pareto tail (Knijnenburg et al. 2009, Bioinformatics 25:i161) of shape 0 or more, an exponential
    one at least: no larger than where counting ends, nor a thousandth of what counting reaches.

    Parameters
    ----------
    observed, as_large : float64, numbers (n,)
        And how many draws are as large.
    number : int
        Of all draws.
    largest : float64
        The largest draws, descending: ``TAIL_DRAWS`` + 1, where there are so many.
    weight : float64, optional
        Of each of these, 1 on average.
    """
    p: Float64Array = np.minimum((1.0 + as_large) / (1.0 + number), 1.0)
    top = min(TAIL_DRAWS, number // 4, largest.size - 1)
    if top < MIN_COUNTED:
        return p
    weight = np.ones(top) if weight is None else weight
    few, excess = observed > largest[MIN_COUNTED - 1], largest[:top] - largest[top]
    if few.any() and excess.any():
        shape, _, scale = scipy.stats.genpareto.fit(excess, floc=0.0)
        shape, scale = (shape, scale) if shape > 0.0 else (0.0, excess.mean())
        beyond = scipy.stats.genpareto.sf(observed[few] - largest[top], shape, 0, scale)
        most = (1.0 + weight[:MIN_COUNTED].sum()) / (1.0 + number)
        p[few] = np.clip(beyond * weight[:top].sum() / number, 1e-3 / (1.0 + number), most)
    return p
