"""What networks of several groups of samples share, and which edges differ between the groups.

Two networks of unrelated data share some edges by chance, and more than pairs drawn at random
would: edges come in modules and at hubs, and a gene that varies much, or is measured well, is a hub
in both. So the numbers shared are held against those with one network's genes having exchanged
their names (quadratic assignment: Hubert and Schultz 1976, Br. J. Math. Stat. Psychol. 29:190) with
genes that have about as many edges in the other network. Modules and hubs stay what they are.

An edge that one network alone has need not differ between the groups: it may lie just above the
threshold in one and just below in the other. So each edge's correlation in a group is held against
the mean of the others, and labels of samples are exchanged to say how far that strays by chance.
Edges were chosen because they are strong somewhere, so that all pairs that could have been chosen
count as tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairtile.arrays import BoolArray, Float64Array, Int32Array, Int64Array, IntegerArray
from pairtile.downstream.group_scores import MIN_SAMPLES
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.exchangeable import Exchangeable
from pairtile.statistics.ranks import average_ranks

LABEL_DRAWS, MIN_DRAWS, LOOKED_UP = 1000, 99, 100_000_000
"""Networks with exchanged names, for each pair of groups; fewer of large networks, so that so many
edges are looked up."""


class GroupNetwork(NamedTuple):
    """The network of one group.

    edges : int64 (E, 2), each pair of genes once, the smaller number first. genes : bool (G,), the
    genes that this group has.
    """

    edges: Int64Array
    genes: BoolArray


class Overlap(NamedTuple):
    """Edges that two groups share, among the genes that both have: ``shared`` of those of the
    first and the second, and of those of either (``jaccard``); ``expected`` with exchanged names,
    and the p-value of as many or more."""

    edges_first: int
    edges_second: int
    shared: int
    jaccard: float
    expected: float
    p_value: float


def overlap(
    one: GroupNetwork,
    two: GroupNetwork,
    kinds: IntegerArray,
    seed: int = 0,
    draws: int | None = None,
) -> Overlap:
    """Compare two networks of the same genes.

    kinds : int (G,); genes exchange names with others of their kind (regulators, rows of the other
    table) that both groups have, and that have as many edges in the first, to a factor of two.
    """
    both = one.genes & two.genes
    size = both.size
    first, second = (n.edges[both[n.edges].all(axis=1)] for n in (one, two))
    codes = np.sort(numbered(first, size))
    random = np.random.default_rng([seed, 0x73686172])  # "shar"
    if draws is None:
        draws = int(np.clip(LOOKED_UP // max(1, len(second)), MIN_DRAWS, LABEL_DRAWS))
    shared = _number_of(second, codes, size)
    degree = np.frexp(np.bincount(first.ravel(), minlength=size))[1]  # 0, 1, 2 to 3, 4 to 7, ...
    alike = np.unique(np.stack([kinds, degree]), axis=1, return_inverse=True)[1].ravel()
    strata = [np.flatnonzero(both & (alike == number)) for number in np.unique(alike[both])]
    found = np.empty(draws)
    for draw in range(draws):
        name = np.arange(size)
        for here in strata:
            name[here] = random.permutation(here)
        found[draw] = _number_of(np.sort(name[second], axis=1), codes, size)
    p = (1.0 + (found >= shared).sum()) / (1.0 + draws)
    either = len(first) + len(second) - shared
    jaccard = shared / either if either else float("nan")
    return Overlap(len(first), len(second), shared, jaccard, float(found.mean()), float(p))


def numbered(edges: Int64Array, size: int) -> Int64Array:
    """A number for each pair of so many genes, int64 (E,)."""
    return edges[:, 0] * size + edges[:, 1]


def _number_of(edges: Int64Array, codes: Int64Array, size: int) -> int:
    """How many of some edges are among others, which are ascending codes."""
    wanted = numbered(edges, size)
    place = np.searchsorted(codes, wanted)
    return int((codes[np.minimum(place, codes.size - 1)] == wanted).sum()) if codes.size else 0


class EdgeDifferences(NamedTuple):
    """Differences of E edges between K groups.

    correlation : float64 (E, K), Spearman's within each group; NaN with too few samples.
    group : int64 (E,), the group that differs most from the mean of the others; -1 where nothing
    could be compared. difference : float64 (E,), of its Fisher's z. p_value, q_value : float64
    (E,), two-sided, corrected for the choice of the group; q over all pairs that could be edges.
    """

    correlation: Float64Array
    group: Int64Array
    difference: Float64Array
    p_value: Float64Array
    q_value: Float64Array


def edge_differences(
    values: Float64Array,
    codes: Int32Array,
    edges: Int64Array,
    exchangeable: Exchangeable,
    n_pairs: int,
) -> EdgeDifferences:
    """Which edges are correlated differently in one group than in the others.

    Every gene is ranked within each group, so that neither means nor spreads of groups count.
    Fisher's z of a group less the mean of the others, weighted by their samples - 3, over its
    standard error, (1 + r^2 / 2) / (n - 3) for each (Bonett and Wright 2000, Psychometrika 65:23),
    is held against that of all edges with labels exchanged as ``exchangeable`` allows. Beyond the
    hundred largest of these the tail goes on exponentially.

    Parameters
    ----------
    values : float64 (G, S)
        NaN where missing.
    codes : int32 (S,)
        The group of each sample, from 0.
    edges : int64 (E, 2)
        Rows of ``values``.
    n_pairs
        Pairs of genes that could have been among the edges.
    """
    groups = int(codes.max()) + 1
    ranks = np.full(values.shape, np.nan)
    for number in range(groups):
        own = codes == number
        part = np.ascontiguousarray(values[:, own])
        average_ranks(part, part)
        n = np.maximum((~np.isnan(part)).sum(axis=1, keepdims=True), 1)
        ranks[:, own] = (part - 0.5) / n - 0.5
    correlation, statistic, difference = _contrasts(ranks, codes[None, :], edges, groups)
    # Two million differences under exchanged labels, of all edges together, make the null.
    draws = int(np.clip(2_000_000 // max(1, statistic.size), 20, 400))
    permuted, _ = exchangeable.permute(codes, draws)
    size = np.abs(statistic[:, 0])
    known = ~np.isnan(size).all(axis=1)
    p = np.full(len(edges), np.nan)
    group = np.full(len(edges), -1, dtype=np.int64)
    group[known] = np.nanargmax(size[known], axis=1)
    if (permuted != codes).any() and known.any():
        null = np.abs(_contrasts(ranks, permuted, edges, groups)[1])
        null = np.sort(null[~np.isnan(null)])
        largest = np.take_along_axis(size, np.maximum(group, 0)[:, None], axis=1)[:, 0]
        choices = groups if groups > 2 else 1
        p[known] = np.minimum(choices * _upper_tail(null, largest[known]), 1.0)
    else:
        group[:] = -1
    q = np.full(len(edges), np.nan)
    q[~np.isnan(p)] = benjamini_hochberg(p[~np.isnan(p)], max(n_pairs, int((~np.isnan(p)).sum())))
    most = np.take_along_axis(difference[:, 0], np.maximum(group, 0)[:, None], axis=1)[:, 0]
    return EdgeDifferences(correlation[:, 0], group, np.where(group < 0, np.nan, most), p, q)


def _contrasts(
    ranks: Float64Array, codes: Int32Array, edges: Int64Array, groups: int
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Correlation in each group, its difference from the others over the standard error, and the
    difference: float64 (edges, D, groups) each, for D ways (D, S) to label the samples."""
    draws = len(codes)
    labels = (codes[:, :, None] == np.arange(groups)).transpose(1, 0, 2).reshape(codes.shape[1], -1)
    labels = labels.astype(np.float64)
    seen = ~np.isnan(ranks)
    filled = np.where(seen, ranks, 0.0)
    out = [np.full((len(edges), draws, groups), np.nan) for _ in range(3)]
    step = max(1, (1 << 23) // max(labels.shape))
    for begin in range(0, len(edges), step):
        i, j = edges[begin : begin + step].T
        both = (seen[i] & seen[j]).astype(np.float64)
        x, y = filled[i] * both, filled[j] * both
        n, sx, sy, sxx, syy, sxy = (
            (part @ labels).reshape(-1, draws, groups) for part in (both, x, y, x * x, y * y, x * y)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt((n * sxx - sx * sx) * (n * syy - sy * sy))
            r = np.clip((n * sxy - sx * sy) / spread, -0.999999, 0.999999)
            r[(n < MIN_SAMPLES) | ~(spread > 1e-12)] = np.nan
            weight = np.where(np.isnan(r), 0.0, n - 3.0)
            z = np.where(np.isnan(r), 0.0, np.arctanh(r) - r / (2.0 * (n - 1.0)))
            variance = np.where(np.isnan(r), 0.0, (1.0 + r * r / 2.0) * weight)
            others = weight.sum(axis=2, keepdims=True) - weight
            mean = ((weight * z).sum(axis=2, keepdims=True) - weight * z) / others
            error = (variance.sum(axis=2, keepdims=True) - variance) / others**2
            apart = np.where(np.isnan(r), np.nan, z - mean)
            error += variance / weight**2
            statistic = apart / np.sqrt(error)
        statistic[~np.isfinite(statistic)] = np.nan
        for whole, part in zip(out, (r, statistic, apart), strict=True):
            whole[begin : begin + step] = part
    return out[0], out[1], out[2]


def _upper_tail(null: Float64Array, x: Float64Array) -> Float64Array:
    """p of ``x``: the share of an ascending null that is as large, and beyond its largest an
    exponential tail with their mean excess."""
    reach = null.size - np.searchsorted(null, x, side="left")
    p = (1.0 + reach) / (1.0 + null.size)
    top = null[-100:]  # which say how the tail goes on
    excess = float((top - top[0]).mean())
    beyond = x > top[0]
    if excess > 0.0:
        p[beyond] = (1.0 + top.size) / (1.0 + null.size) * np.exp(-(x[beyond] - top[0]) / excess)
    return np.asarray(p, dtype=np.float64)
