"""Scores of a tile of gene pairs or of a list of them, and what a tile adds to the analysis' sums.

All sums are integers, so that they are the same however pairs are cut into tiles and chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import DeviceArray
from pairtile.engine.chunk_file import Summaries
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.context_scores import FIXED_POINT_ONE, KINDS, ROLES
from pairtile.splines.scorer import BsplineScorer

HISTOGRAM_BINS = 2048
"""Bins of the score histogram, from 0 to log2(bins) bits."""


@dataclass(frozen=True)
class ScoredTile:
    """Scores of a rectangle of gene pairs; arrays of shape (rows, columns) live on the device.

    rows, columns : item numbers, on the host. n_samples : samples observed in both genes, None
    where nothing is missing. wanted : which cells are pairs, each unordered pair once (None: all).
    scored : which of them have enough samples (None: all). statistic : n_samples * bits.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    bits: DeviceArray
    n_samples: DeviceArray | None
    wanted: DeviceArray | None
    scored: DeviceArray | None
    statistic: DeviceArray

    def select(self, values: DeviceArray) -> DeviceArray:
        """The scored cells of an array of the tile's shape, as a vector."""
        return values.ravel() if self.scored is None else values[self.scored]


def wanted_pairs(
    xp: ModuleType,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    on_diagonal: bool,
    is_regulator: NDArray[np.bool_] | None,
) -> DeviceArray | None:
    """Which cells of a tile are pairs, each unordered pair once: bool (rows, columns), None: all.

    ``rows`` and ``columns`` are item numbers, ``xp`` is numpy or cupy. ``is_regulator``: of every
    item, where only pairs with a regulator count and rows are regulators.
    """
    if on_diagonal:
        return xp.asarray(columns)[None, :] > xp.asarray(rows)[:, None]
    if is_regulator is None:
        return None
    # Two regulators meet twice in the rectangle; they count where i < j.
    both = xp.asarray(is_regulator[columns])[None, :]
    r, c = xp.asarray(rows)[:, None], xp.asarray(columns)[None, :]
    return (r != c) & (~both | (r < c))


def moment_sums(
    tile: ScoredTile, genes: int, is_regulator: NDArray[np.bool_] | None, device: Device
) -> Summaries:
    """Count, sum and sum of squares of each gene's scores, as source and as target."""
    xp, to_host = device.xp, device.to_host
    bits = tile.bits if tile.scored is None else xp.where(tile.scored, tile.bits, 0)
    exact = bits.astype(xp.float64)
    values = {
        "sum": xp.rint(exact * FIXED_POINT_ONE).astype(xp.int64),
        "squares": xp.rint(exact * exact * FIXED_POINT_ONE).astype(xp.int64),
        "count": xp.ones(exact.shape, dtype=xp.int64)
        if tile.scored is None
        else tile.scored.astype(xp.int64),
    }
    total = {f"{role}_{kind}": np.zeros(genes, dtype=np.int64) for role in ROLES for kind in KINDS}
    for name, value in values.items():
        source, target = total[f"source_{name}"], total[f"target_{name}"]
        by_row, by_column = to_host(value.sum(axis=1)), to_host(value.sum(axis=0))
        source[tile.rows] += by_row
        target[tile.columns] += by_column
        # The other direction, column gene as source, where it may be one.
        if is_regulator is not None:
            both = is_regulator[tile.columns]
            by_row = to_host((value * xp.asarray(both)[None, :]).sum(axis=1))
            by_column = both * by_column
        source[tile.columns] += by_column
        target[tile.rows] += by_row
    return total


def histogram_sums(tile: ScoredTile, top_bits: float, device: Device) -> Summaries:
    """Numbers of pairs, and the histogram of scores: ``HISTOGRAM_BINS`` bins over 0 .. top_bits."""
    xp = device.xp
    scaled = tile.select(tile.bits) * (HISTOGRAM_BINS / top_bits)
    bins = xp.minimum(scaled, HISTOGRAM_BINS - 1).astype(xp.int32)
    counts = device.to_host(xp.bincount(bins, minlength=HISTOGRAM_BINS)).astype(np.int64)
    return pair_counts(tile) | {"histogram": counts}


def pair_counts(tile: ScoredTile) -> Summaries:
    """Numbers of pairs, and of those with enough samples."""
    pairs, scored = (
        tile.bits.size if which is None else int(which.sum())
        for which in (tile.wanted, tile.scored)
    )
    return {"pairs": np.array([pairs]), "pairs_scored": np.array([scored])}


def score_listed(
    scorer: BsplineScorer, z: NDArray[np.float64], i: NDArray[np.integer], j: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Scores in bits of the pairs (i, j), and the samples observed in both.

    z : float64 (variables, samples), scaled, NaN where missing. i, j : integers (pairs,). Returns
    float64 and int32, both (pairs,).
    """
    bits = np.empty(i.size)
    n_samples = np.full(i.size, z.shape[1], dtype=np.int32)
    to_host = scorer.device.to_host
    # First variables that are scored together, with all partners that any of them has.
    block = i // 64
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
