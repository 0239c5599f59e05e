"""How strong a mode is when two genes have nothing to do with each other, and the false discovery
rate that follows (``threshold: {method: fdr}``).

Draws: copies of genes whose samples are permuted independently, in pairs, scored by the estimator
of the analysis: outliers, mixtures and all. A pair of permuted genes may have several modes, and
each counts: searching five mixtures for a correlated part finds one more often than a single test.

The statistic is -(n - 2) / 2 ln(1 - r^2), the likelihood ratio of a correlation: the logarithm of
its tail falls about as a line, whatever n is. Modes of few samples are a selection, with larger
correlations than their number allows; so classes of n have a null each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairtile.arrays import Float64Array, Int64Array
from pairtile.engine.tiles import PairSpace
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.arrays import ModeArrays, lagged_of
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.mode_scores import ScoredModes
from pairtile.methods.multimodal_correlation.p_values import standard_correlation
from pairtile.methods.multimodal_correlation.partial_correlation import NullSpread
from pairtile.methods.multimodal_correlation.plain_correlation import (
    PlainCorrelation,
    PlainPartial,
    pair_scorer,
)
from pairtile.preprocess.null_design import inflation, null_design
from pairtile.runtime.record import Progress

RESOLVED: Final = 10
"""Exceedances needed for an empirical p-value; below, the tail is extrapolated."""

MIN_DRAWS: Final = 20_000
"""Pairs: enough for a tail, and some seconds of mixtures."""

MAX_CLASSES, MIN_OF_CLASS = 4, 2_000
"""Classes of the number of samples, and modes that each has at least."""

DRAW_EDGE: Final = 256
"""Copies along each side of a tile of draws."""


HALVES, MAX_HALVES, SPREAD_HALVES = 12, 100, 3
"""Halves of the genes whose samples are exchanged: for the tail of the null of partial correlation,
and for its spread alone, which every chunk needs."""


@dataclass(frozen=True)
class ModeNull:
    """Modes of pairs of permuted genes.

    pairs : how many pairs were drawn.
    limits : int64 (classes - 1,), ascending: class c holds the modes with up to ``limits[c]``
        samples, the last one the others.
    statistics : for each class, float64, ascending.
    sizes : float64 (modes,), their absolute correlations, ascending.
    """

    pairs: int
    limits: Int64Array
    statistics: list[Float64Array]
    sizes: Float64Array

    @classmethod
    def of_modes(
        cls,
        pairs: int,
        correlation: ArrayLike,
        n_samples: ArrayLike,
        sizes: ArrayLike | None = None,
    ) -> ModeNull:
        """From the modes of all drawn pairs: their correlations and numbers of samples (modes,);
        ``sizes``: what thresholds are of, where that is another correlation."""
        n = np.asarray(n_samples, dtype=np.int64)
        classes = max(1, min(MAX_CLASSES, n.size // MIN_OF_CLASS))
        shares = np.arange(1, classes) / classes
        limits = np.unique(np.quantile(n, shares, method="lower")) if classes > 1 else n[:0]
        limits = limits[limits < n.max(initial=0)]
        of_class = np.searchsorted(limits, n)
        s = likelihood_ratio(correlation, n)
        statistics = [np.sort(s[of_class == c]) for c in range(limits.size + 1)]
        sizes = np.sort(np.abs(np.asarray(correlation if sizes is None else sizes, np.float64)))
        return cls(pairs, limits, statistics, sizes)

    @property
    def modes(self) -> int:
        """How many modes the drawn pairs had."""
        return sum(statistic.size for statistic in self.statistics)

    def reaching(self, correlation: float) -> int:
        """How many modes have at least this absolute correlation."""
        return self.sizes.size - int(np.searchsorted(self.sizes, correlation, side="left"))

    def p_value(self, correlation: ArrayLike, n_samples: ArrayLike) -> Float64Array:
        """Share of the null modes of the class that are at least as strong, shape (modes,).

        (1 + exceedances) / (1 + modes) where at least ``RESOLVED`` exceed. Beyond, ln p goes on as
        a line with the slope of the class' top 1 %, but falls no faster than without a mixture.
        """
        n = np.asarray(n_samples, dtype=np.int64)
        s = likelihood_ratio(correlation, n)
        of_class = np.searchsorted(self.limits, n)
        p = np.ones(s.shape)
        for number, null in enumerate(self.statistics):
            here = of_class == number
            p[here] = _tail_share(null, s[here])
        return p

    def q_value(self, p: Float64Array, n_pairs: int) -> Float64Array:
        """False discovery rate at which each mode is accepted, from the p-values of all stored
        modes of ``n_pairs`` pairs.

        Null modes expected among so many pairs with a p-value as small, over the modes that have
        one (Storey and Tibshirani 2003, with all pairs null), made monotone, at most 1.
        """
        expected = max(1, self.modes) / self.pairs * n_pairs
        ascending = np.argsort(p, kind="stable")
        reached = np.searchsorted(p[ascending], p[ascending], side="right")
        rate = expected * p[ascending] / reached
        q = np.empty_like(p)
        q[ascending] = np.minimum(np.minimum.accumulate(rate[::-1])[::-1], 1.0)
        return q


def log_orders(values: Float64Array) -> Float64Array:
    """Logarithm of how many ways there are to lay a gene's values on its samples, (genes,): no
    relation with another gene has a p-value below one in so many. A gene that is above zero in one
    of n samples has n, and meets another such gene there once in n tables.

    values : float64 (genes, samples), NaN where missing.
    """
    ordered = np.sort(values, axis=1)  # missing ones last
    ways, run = np.zeros(len(values)), np.ones(len(values))
    for column in range(1, values.shape[1]):
        run = np.where(ordered[:, column] == ordered[:, column - 1], run + 1.0, 1.0)
        ways += np.where(np.isnan(ordered[:, column]), 0.0, np.log((column + 1.0) / run))
    return ways


def likelihood_ratio(correlation: ArrayLike, n_samples: ArrayLike) -> Float64Array:
    """-(n - 2) / 2 ln(1 - r^2) of correlations, in single precision as they are stored."""
    r = np.asarray(correlation, dtype=np.float32).astype(np.float64)
    left = np.maximum(1.0 - r * r, np.finfo(np.float32).eps)
    return np.asarray(-0.5 * (np.asarray(n_samples) - 2.0) * np.log(left))


def _tail_share(null: Float64Array, s: Float64Array) -> Float64Array:
    size = null.size
    reach = size - np.searchsorted(null, s, side="left")
    p = np.asarray((1.0 + reach) / (1.0 + size), dtype=np.float64)
    # The log-linear tail is fitted to the top hundredth of the class.
    top = null[size - min(size, max(RESOLVED, int(size * 0.01))) :]
    beyond = reach < RESOLVED
    if top.size < RESOLVED or not beyond.any():
        return p
    log_p = np.log((1.0 + np.arange(top.size, 0, -1)) / (1.0 + size))
    spread = top - top.mean()
    square = float(spread @ spread)
    slope = max(-1.0, float(spread @ log_p) / square) if square > 0.0 else -1.0
    line = np.log((1.0 + RESOLVED) / (1.0 + size)) + slope * np.maximum(s - top[-RESOLVED], 0.0)
    p[beyond] = np.maximum(np.exp(line[beyond]), np.finfo(np.float64).tiny)
    return p


def draws_needed(n_genes: int, fdr: float) -> int:
    """Pairs to draw so that a network of one edge a gene is resolved at this rate.

    Of G edges fdr G may be false, among G (G - 1) / 2 pairs; ten times fewer pairs than have ten
    such are enough. At least ``MIN_DRAWS`` and at most all pairs: for 1,000 genes at 0.05 a
    fifth of the work of the scores, for 10,000 genes a fiftieth.
    """
    pairs = n_genes * (n_genes - 1) // 2
    return max(MIN_DRAWS, min(pairs, int(np.ceil(RESOLVED * pairs / (fdr * n_genes)))))


def mode_null(
    config: MultimodalCorrelationConfig, state: ModeArrays, device: Device, seed: int, draws: int
) -> ModeNull:
    """The modes of at least ``draws`` pairs of permuted genes, weak ones too.

    Keyed on the seed and the names of genes alone. Copies of the same gene make no pair. Of two
    tables, pairs are of a row of the other with a gene of the first.
    """
    asked = config.with_estimator(min_correlation=0.0, max_correlation=1.0)
    facts = asked.estimator.facts
    if facts.given_all_genes:
        opened = PlainPartial(np.asarray(state["values"]), asked, device)
        return _partial_null(state, opened, seed, draws)
    genes, table, space = _drawn_pairs(state, seed, draws)
    across = space.rows if space.kind == "rectangle" else 0
    keys = np.arange(len(genes), dtype=np.uint64)
    scorer = pair_scorer(asked, table, keys, device, seed, lagged_of(state))
    parts: list[tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.integer]]] = []
    tiles = space.tiles(DRAW_EDGE, DRAW_EDGE)
    progress = Progress(sum(map(space.pairs_in, tiles)), "pairs of permuted genes")
    for tile in tiles:
        rows = np.arange(tile.row_begin, tile.row_end)
        columns = across + np.arange(tile.column_begin, tile.column_end)
        modes = scorer.tile(rows, columns, not across and tile.row_begin == tile.column_begin)
        differ = genes[rows[modes.row]] != genes[columns[modes.column]]
        standard: NDArray[np.floating] = modes.correlation
        if not facts.product_moment:
            assert isinstance(scorer, PlainCorrelation | ScoredModes)
            standard = standard_correlation(scorer.p_values(modes, rows, columns), modes.n_samples)
        parts.append((modes.correlation[differ], standard[differ], modes.n_samples[differ]))
        progress.advance(space.pairs_in(tile))
    copies = np.bincount(genes)
    of_one = (len(genes) ** 2 - int((copies**2).sum())) // 2
    pairs = space.rows * space.columns if across else of_one
    sizes, standard, n = (np.concatenate(each) for each in zip(*parts, strict=True))
    lost = np.sqrt(inflation(state, table.shape[1]))  # of a correlation's square
    sizes, standard = (np.clip(each * lost, -1.0, 1.0) for each in (sizes, standard))
    return ModeNull.of_modes(pairs, standard, n, sizes)


def partial_spread(state: ModeArrays, opened: PlainPartial, seed: int) -> NullSpread:
    """Of partial correlations of unrelated genes."""
    found = [
        np.mean(each * each) for each in _unrelated(state, opened, seed, SPREAD_HALVES, MIN_DRAWS)
    ]
    by = inflation(state, len(state["samples"]))
    return NullSpread(*(max(float(each) * by, np.finfo(np.float64).tiny) for each in found))


def _partial_null(state: ModeArrays, opened: PlainPartial, seed: int, draws: int) -> ModeNull:
    lost = np.sqrt(inflation(state, len(state["samples"])))
    of_half = len(state["keys"]) ** 2 // 4
    # Draws cost little, and values with heavy tails bend the tail.
    draws = max(draws, 200_000)
    halves = min(MAX_HALVES, max(HALVES, -(-draws // max(1, of_half))))
    r, standard = (lost * each for each in _unrelated(state, opened, seed, halves, draws))
    one = np.ones(1)
    p = partial_spread(state, opened, seed).p_values(standard, one, one)
    n = np.full(p.size, len(state["samples"]))
    return ModeNull.of_modes(p.size, standard_correlation(p, n), n, r)


def _unrelated(
    state: ModeArrays, opened: PlainPartial, seed: int, halves: int, draws: int
) -> tuple[Float64Array, Float64Array]:
    """Scores of at least ``draws`` pairs of unrelated genes, where there are as many, and
    standardised ones; half of the genes drawn ``halves`` times, samples exchanged as
    ``null_design`` allows."""
    by_name = np.argsort(np.asarray(state["keys"]), kind="stable")
    design = null_design("auto", state, len(state["samples"]))
    groups = [np.flatnonzero(design.groups == group) for group in range(design.shifted.size)]
    found = []
    for number in range(halves):
        random = _generator(seed, number)
        half = random.permutation(by_name)[: by_name.size // 2]
        order = np.arange(len(state["samples"]))
        for group, shifted in zip(groups, design.shifted, strict=True):
            order[group] = (
                np.roll(group, random.integers(group.size))
                if shifted
                else random.permutation(group)
            )
        found.append(opened.partial.unrelated(order, half, -(-draws // halves)))
    r, standard = (np.concatenate(each) for each in zip(*found, strict=True))
    return r, standard


def _drawn_pairs(
    state: ModeArrays, seed: int, draws: int
) -> tuple[Int64Array, Float64Array, PairSpace]:
    """Copies of genes, as ``permuted_genes``, that make at least ``draws`` pairs, and which: all of
    them, or (rectangle) each of the first with each of those after them."""
    n_genes = len(state["values"])
    if "columns" not in state:
        of_other_genes = 1.0 - 1.0 / max(2, n_genes)
        side = int(np.sqrt(2.0 * draws / of_other_genes)) + 2
        return *permuted_genes(state, seed, side), PairSpace("triangle", side, side)
    first, other = np.split(np.arange(n_genes), [int(state["columns"])])
    side = int(np.sqrt(draws)) + 1
    rows, of_rows = permuted_genes(state, seed, side, other)
    columns, of_columns = permuted_genes(state, seed, side, first, side + 1)
    values = np.concatenate([of_rows, of_columns])
    return np.concatenate([rows, columns]), values, PairSpace("rectangle", side, side)


def permuted_genes(
    state: ModeArrays, seed: int, number: int, among: Int64Array | None = None, stream: int = 0
) -> tuple[Int64Array, Float64Array]:
    """Copies of genes with their samples exchanged, each by itself, as ``null_design`` allows.

    Values are permuted among the samples in which the gene has one, within each batch where batches
    are stated. In time courses, stated or seen, all values of a course are moved along it by one
    random number, the end coming back in at the start, which leaves it as smooth as it is.

    among : genes to draw from; None: all. stream : of the first random draw of the seed; copy k
    takes number ``stream + k + 1``.

    Returns
    -------
    genes : int64 (number,), which gene each is of; each gene as often as any, or once more.
    values : float64 (number, samples).
    """
    values = np.asarray(state["values"])
    among = np.arange(len(values)) if among is None else among
    # The table's order must not count.
    order = among[np.argsort(np.asarray(state["keys"])[among], kind="stable")]
    random = _generator(seed, stream)
    rounds = -(-number // len(order))
    genes = np.concatenate([random.permutation(order) for _ in range(rounds)])[:number]
    design = null_design("circular_shift" if "lag" in state else "auto", state, values.shape[1])
    groups = [np.flatnonzero(design.groups == group) for group in range(design.shifted.size)]
    permuted = values[genes]
    for copy, row in enumerate(permuted):
        random = _generator(seed, stream + copy + 1)
        for group, shifted in zip(groups, design.shifted, strict=True):
            if shifted:
                row[group] = np.roll(row[group], random.integers(group.size))
                continue
            there = group[~np.isnan(row[group])]
            row[there] = row[there[random.permutation(there.size)]]
    return genes, permuted


def _generator(seed: int, number: int) -> np.random.Generator:
    key = np.array([seed % (1 << 64), 0x6E756C6C], dtype=np.uint64)  # "null": no other use's draws
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, number]))
