"""Slow float64 references: the definitions, written down as directly as possible."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pairtile.methods.mutual_information.kernels.exchange import Exchange
from scipy.interpolate import BSpline


def naive_weights(
    values: NDArray[np.float64], bins: int, order: int, uniform: bool = False
) -> NDArray[np.float64]:
    """Weights (samples, bins) of one gene by scipy's design matrix; zero rows where missing."""
    intervals = bins - order + 1
    knots = np.arange(bins + order, dtype=float) - (order - 1)
    if not uniform:
        knots = np.clip(knots, 0, intervals)
    observed = ~np.isnan(values)
    low, high = values[observed].min(), values[observed].max()
    width = high - low if high > low else 1.0
    z = np.minimum((values[observed] - low) / width, 1.0) * intervals
    weights = np.zeros((values.size, bins))
    if order == 1:  # half-open boxes, the last one closed
        box = np.minimum(np.floor(z).astype(int), bins - 1)
        weights[np.flatnonzero(observed), box] = 1.0
        return weights
    weights[observed] = BSpline.design_matrix(z, knots, order - 1).toarray()
    return weights


def entropy_bits(p: NDArray[np.float64]) -> float:
    """Shannon entropy of a table of probabilities."""
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum())


def naive_mi(wx: NDArray[np.float64], wy: NDArray[np.float64]) -> float:
    """MI in bits of two weight tables; marginals are those of the joint table."""
    joint = wx.T @ wy
    if joint.sum() == 0:
        return 0.0
    joint = joint / joint.sum()
    return max(
        0.0,
        entropy_bits(joint.sum(axis=0)) + entropy_bits(joint.sum(axis=1)) - entropy_bits(joint),
    )


def naive_mi_matrix(
    values: NDArray[np.float64], bins: int, order: int, uniform: bool = False
) -> NDArray[np.float64]:
    """MI of all pairs, pair by pair; the diagonal is 0."""
    weights = [naive_weights(gene, bins, order, uniform) for gene in values]
    n = len(weights)
    mi = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            mi[i, j] = mi[j, i] = naive_mi(weights[i], weights[j])
    return mi


class NaiveMoments(NamedTuple):
    """Mean and spread of each gene's MI with its targets, and with its candidate sources."""

    source: tuple[NDArray[np.float64], NDArray[np.float64]]
    target: tuple[NDArray[np.float64], NDArray[np.float64]]

    def __call__(self, role: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As ``mean_sd`` of their sums."""
        return self.source if role == "source" else self.target


def naive_moments(
    i: ArrayLike,
    j: ArrayLike,
    mi: ArrayLike,
    n_genes: int,
    is_regulator: NDArray[np.bool_] | None = None,
) -> NaiveMoments:
    """Of pairs, each once, with a regulator in ``i``; both directions where both are allowed."""
    pairs = pd.DataFrame({"source": i, "target": j, "mi": mi})
    back = pairs if is_regulator is None else pairs[is_regulator[pairs["target"]]]
    both = pd.concat([pairs, back.rename(columns={"source": "target", "target": "source"})])

    def of(role: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = both.groupby(role)["mi"].agg(["mean", lambda mi: mi.std(ddof=0)])
        mean, sd = found.reindex(range(n_genes)).fillna(0.0).to_numpy().T
        return mean, np.where(sd > 1e-6 * np.hypot(mean, sd), sd, 0.0)

    return NaiveMoments(of("source"), of("target"))


def naive_permuted_rows(
    values: NDArray[np.float64],
    genes: NDArray[np.int64],
    seed: int,
    side: int,
    pair_class: int,
    exchange: Exchange,
) -> NDArray[np.float64]:
    """What ``permuted_rows`` gives, from the random orders that NumPy draws."""
    key = [np.uint64(seed), np.uint64(0x6E756C6C)]
    rows = values[genes]
    for draw, (gene, row) in enumerate(zip(genes, rows, strict=True)):
        bits = np.random.Philox(key=key, counter=[0, draw, side, pair_class])
        order = np.random.Generator(bits).permutation(np.arange(values.shape[1]))
        for group, step in enumerate(exchange.step):
            members = exchange.by_group[exchange.group[exchange.by_group] == group]
            if step:
                n = members.size // step
                shift = order[exchange.start[group]] % (n // 4 + 1) + (n // 2) * side
                row[members] = np.roll(values[gene, members], -shift * step)
            else:  # missing ones stay in their places
                observed = members[~np.isnan(values[gene, members])]
                row[observed] = values[gene, order[np.isin(order, observed)]]
    return rows


def naive_dpi(
    i: Any, j: Any, mi: Any, n_genes: int, tolerance: float, rule: str, is_regulator: Any = None
) -> np.ndarray:
    """The definition, written out: every edge, every third gene. O(E n)."""
    real = mi.dtype.type
    weight = {}
    for a, b, value in zip(i, j, mi, strict=True):
        weight[a, b] = weight[b, a] = value
    keep = np.ones(len(mi), dtype=bool)
    for edge, (a, b) in enumerate(zip(i, j, strict=True)):
        for c in range(n_genes):
            if (a, c) not in weight or (b, c) not in weight:
                continue
            if is_regulator is not None:
                protected = (is_regulator[a] or is_regulator[b]) and not is_regulator[c]
                if protected:
                    continue
            weaker_side = min(weight[a, c], weight[b, c])
            if rule == "relative":
                if tolerance < 1 and mi[edge] < real(1 - tolerance) * weaker_side:
                    keep[edge] = False
            elif weaker_side - mi[edge] > real(tolerance):
                keep[edge] = False
    return keep
