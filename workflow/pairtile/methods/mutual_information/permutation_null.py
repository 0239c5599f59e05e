"""Draws of the permutation null: permuted genes, scored like any others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.tiles import TILE_EDGE
from pairtile.methods.mutual_information.kernels.permuted_rows import Resampling, permuted_rows
from pairtile.methods.mutual_information.significance import Null, class_pairs, entropy_classes
from pairtile.splines.scorer import BsplineScorer


def permutation_null(
    scorer: BsplineScorer,
    z: NDArray[np.float64],
    entropy_bits: NDArray[np.float64],
    *,
    draws: int,
    seed: int,
    min_samples: int,
    resampling: Resampling | None = None,
) -> dict[str, NDArray[Any]]:
    """At least ``draws`` null statistics (n_samples * MI) for each pair of entropy classes.

    Parameters
    ----------
    z : float64, shape (genes, samples)
        Scaled values, NaN where missing.
    entropy_bits : float64, shape (genes,)
        Marginal entropies, which make the classes. Constant genes (0) are not drawn.
    min_samples
        Draws with fewer samples observed in both genes are void.
    resampling
        Of a bootstrap: what it did to the samples of ``z``. Applied after permuting, so that
        repeated samples raise the null as they raise the scores.

    Returns
    -------
    The arrays of a ``Null``.
    """
    classes = entropy_classes(entropy_bits)
    side = int(np.ceil(np.sqrt(draws)))
    varied = entropy_bits > 0.0

    def permuted(of_class: int, which: int, number: int) -> NDArray[np.float64]:
        pool = np.flatnonzero(varied & (classes == of_class))
        if pool.size == 0:  # constant genes only: every MI is 0
            samples = z.shape[1] if resampling is None else resampling.samples.size
            return np.zeros((1, samples))
        key, counter = [seed, 1], [0, 0, which, number]
        random = np.random.Generator(np.random.Philox(key=key, counter=counter))
        genes = random.choice(pool, size=side)
        return permuted_rows(z, genes, seed, which, number, resampling)

    statistics = [
        _statistics(scorer, permuted(a, 0, number), permuted(b, 1, number), min_samples)
        for number, (a, b) in enumerate(class_pairs(int(classes.max(initial=0)) + 1))
    ]
    return Null(statistics, classes).arrays()


def _statistics(
    scorer: BsplineScorer,
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    min_samples: int,
) -> NDArray[np.float32]:
    """Statistics of every row with every column, ascending."""
    device = scorer.device
    # Sorting needs the draws three times; where the GPU has no room, the host does it.
    drawn_bytes = np.dtype(np.float32).itemsize * len(rows) * len(columns)
    there = device.backend == "cpu" or 3 * drawn_bytes < 0.25 * device.free_bytes()
    xp = device.xp if there else np
    column_weights = [
        scorer.weights(columns[c : c + TILE_EDGE]) for c in range(0, len(columns), TILE_EDGE)
    ]
    parts = []
    for r in range(0, len(rows), TILE_EDGE):
        row_weights = scorer.weights(rows[r : r + TILE_EDGE])
        for weights in column_weights:
            bits, n_samples = scorer.scores(row_weights, weights)
            if n_samples is None:
                found = (bits * rows.shape[1]).ravel()
            else:
                found = (bits * n_samples)[n_samples >= min_samples]
            found = found.astype(np.float32)
            parts.append(found if there else device.to_host(found))
    return np.asarray(device.to_host(xp.sort(xp.concatenate(parts))))
