"""Signs of edges: mutual information has none, rank correlation has.

An edge's ``spearman`` is Spearman's rho over the samples in which both genes are observed. Its
``mode`` says what mutual information sees: a rank correlation explains what two normal variables of
that correlation would share; where that is less than half of an edge's mutual information (above
what unrelated genes reach), the relation is ``non-monotonic``, else ``activation`` or
``repression`` by the sign.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.splines.values import scale_rows

MONOTONIC_SHARE = 0.5
"""Share of the mutual information that rank correlation must explain."""

BLOCK_VALUES = 1 << 24


def spearman(
    z: NDArray[np.float64], i: NDArray[np.integer], j: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Spearman's rho of pairs of rows, ties with average ranks: float64 (pairs,).

    z : float64 (genes, samples), NaN where missing. NaN for a pair of which one does not change
    over the shared samples.
    """
    genes, at = np.unique(np.concatenate([i, j]), return_inverse=True)
    values = np.ascontiguousarray(z[genes])
    i, j = at[: i.size], at[i.size :]
    missing = np.isnan(values)
    complete = not missing.any()
    if complete and genes.size:
        values = _standardised(values)
    rho = np.empty(i.size)
    size = max(1, BLOCK_VALUES // max(1, z.shape[1]))
    for begin in range(0, i.size, size):
        a, b = i[begin : begin + size], j[begin : begin + size]
        left, right = values[a], values[b]
        if not complete:
            alone = missing[a] != missing[b]
            left, right = (_standardised(np.where(alone, np.nan, x)) for x in (left, right))
        rho[begin : begin + size] = np.einsum("ij,ij->i", left, right)
    return rho


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of each row with mean 0 and length 1, 0 where unknown; NaN for constant rows."""
    ranks = np.empty_like(values)
    scale_rows(values, True, 1.0, ranks)
    known = ~np.isnan(ranks)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    moves = np.where(known, ranks - np.nansum(ranks, axis=1, keepdims=True) / n, 0.0)
    length = np.sqrt((moves**2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(moves, length, out=np.full_like(moves, np.nan), where=length > 0.0))


def modes(
    rho: NDArray[np.float64], mi_bits: NDArray[np.floating], null_bits: NDArray[np.float64]
) -> NDArray[np.object_]:
    """``activation``, ``repression`` or ``non-monotonic``; None where rho is not known.

    null_bits : what unrelated genes of the pair's classes share on average.
    """
    r = 2.0 * np.sin(np.pi * np.clip(np.nan_to_num(rho), -1.0, 1.0) / 6.0)  # Pearson 1907
    explained = -0.5 * np.log2(np.maximum(1.0 - r * r, 1e-12))
    monotonic = explained >= MONOTONIC_SHARE * (mi_bits - null_bits)
    names = np.where(rho < 0.0, "repression", "activation").astype(object)
    names[~monotonic] = "non-monotonic"
    names[np.isnan(rho)] = None
    return names


def with_signs(
    edges: pd.DataFrame, z: NDArray[np.float64], null_bits: NDArray[np.float64]
) -> pd.DataFrame:
    """The edges (``source`` and ``target``: rows of ``z``) with ``spearman`` and ``mode`` after
    their scores."""
    i, j = edges["source"].to_numpy(), edges["target"].to_numpy()
    rho = spearman(z, i, j)
    after = ("support", "p_value_extrapolated", "p_method")
    place = next(k for k, name in enumerate(edges.columns) if name in after)
    signed = edges.copy()
    signed.insert(place, "spearman", rho)
    signed.insert(place + 1, "mode", modes(rho, edges["mi_bits"].to_numpy(), null_bits))
    return signed
