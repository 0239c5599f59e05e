"""B-spline mutual information of some pairs, named one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.splines.scorer import BsplineScorer

BLOCK_ROWS = 64
"""First variables that are scored together, with all partners that any of them has."""


def score_listed(
    scorer: BsplineScorer, z: NDArray[np.float64], i: NDArray[Any], j: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Scores in bits of the pairs (i, j), and the samples observed in both.

    z : float64 (variables, samples), scaled, NaN where missing. i, j : integers (pairs,). Returns
    float64 and int32, both (pairs,).
    """
    bits = np.empty(i.size)
    n_samples = np.full(i.size, z.shape[1], dtype=np.int32)
    to_host = scorer.device.to_host
    block = i // BLOCK_ROWS
    for number in np.unique(block):
        here = np.flatnonzero(block == number)
        firsts, at = np.unique(i[here], return_inverse=True)
        seconds, to = np.unique(j[here], return_inverse=True)
        scored, observed = scorer.scores(
            scorer.weights(np.ascontiguousarray(z[firsts])),
            scorer.weights(np.ascontiguousarray(z[seconds])),
        )
        bits[here] = to_host(scored)[at, to]
        if observed is not None:
            n_samples[here] = to_host(observed)[at, to]
    return bits, n_samples
