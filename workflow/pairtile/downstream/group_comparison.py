"""Differential co-expression: is a pair of genes correlated differently in two groups of samples?

Every pair is scored in both groups, by ranks or values that were centred and scaled within the
group, so that neither differential expression nor unequal variances count. The statistic of a pair
is the difference of Fisher's z over the standard error that it has for normal genes. What it is by
chance is found by permuting the labels of samples: permuted statistics of all pairs are pooled, by
how strongly a pair is correlated in both groups together, and by how irregular the distributions
of its genes are (``downstream.pooled_null``). Pairs that differ much are left out of the pool: the
mixture of a pair's two groups is no sample of what it would be without the difference (Xie, Pan
and Khodursky 2005, Bioinformatics 21:4280); as many of them count as chance explains. What is
tied in a group, as zeros are, is as much tied in a permuted one.

Pairs are scored in tiles, as they are and then permuted, and once more for the tables. No array of
all pairs is held. What the first passes count is kept in chunks, each of which restarts on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
import scipy

from pairtile.arrays import (
    BoolArray,
    Float32Array,
    Float64Array,
    Int32Array,
    Int64Array,
    IntegerArray,
)
from pairtile.downstream.group_scores import (
    MIN_SAMPLES,
    SCORERS,
    Group,
    Layout,
    within_groups,
)
from pairtile.downstream.pooled_null import (
    N_BINS,
    PER_UNIT,
    histogram_q_values,
    joined,
    pooled_p_values,
)
from pairtile.gpu.device import Device, DeviceArray
from pairtile.runtime.files import kept_arrays, work_folder
from pairtile.runtime.threads import in_threads
from pairtile.statistics.exchangeable import Exchangeable

P = TypeVar("P")
R = TypeVar("R")
Scores = tuple[tuple[DeviceArray, DeviceArray], tuple[DeviceArray, DeviceArray]]

Q_VALUE = 0.05
"""Up to which a difference is given a class, counted for hubs and clustered to modules."""

POOL, MIN_DRAWS, MAX_DRAWS = 6_000_000, 30, 1000
"""Permuted statistics wanted of all pairs; permutations, at least and at most."""

INFORMATION_COST = 4
"""Of a pair's mutual information, beside its correlation: so many permutations fewer."""

CHUNK, BLOCK = 1_000_000_000, 2_000_000
"""Permuted statistics that are kept together when a run is ended, and that are counted at once."""

DIFFERS = 3.0
"""Statistic from which a pair is left out of the pool: of 1 in 400 by chance."""

HUB_LIMITS = np.arange(3.0, 7.1, 0.5)
"""Statistics from which a gene's pairs are counted, observed and permuted."""

LEVEL_ERRORS = (2.0, 3.0, 4.0, 5.0, 6.0)
LEVEL_Z = (0.5, 1.0, 1.5)
LEVELS = 1 + len(LEVEL_ERRORS) + len(LEVEL_Z)
"""Edges of the strata by the mean of Fisher's z in both groups: in its standard errors, then on its
own scale, which are at least as far."""

LOWEST_SHARE = 0.3
"""Of the false discoveries that may be, which pairs of the lowest group of levels have; the other
groups share the rest evenly."""

TILES = {"cpu": 256, "cuda": 8192}
"""Genes of either side of a tile; on the CPU so few that its arrays stay in the cache."""

CLASSES = ("", "gained", "lost", "reversed", "stronger", "weaker")
"""Of pairs whose correlation differs between groups; the first, of those of which it does not."""


class PairBlock(NamedTuple):
    """Rows and columns of the ordered genes."""

    rows: slice
    columns: slice


class GroupComparison:
    """All pairs of genes between two groups of samples: ``test`` scores them, and the other methods
    then tell what it found.

    Parameters
    ----------
    values : float64 (genes, samples)
        NaN where missing.
    codes : int32 (samples,)
        0 or 1, -1 for a sample that takes no part.
    score : {"spearman", "pearson", "mi"}
    device : Device
    exchangeable : Exchangeable, optional
        Which samples may be exchanged; batches are also taken off within each group.
    regulators : int (R,), optional
        Rows; only their pairs are tested. None: all.
    given_up : int
        Degrees of freedom that went with effects removed from the values.
    draws : int, optional
        Permutations. None: as many as ``POOL`` asks for.

    Attributes
    ----------
    p, q : float64, of each place of a statistic, after ``test``
    observed : int64
        How many statistics fell there.
    weights : float64 (levels,)
        Of p.
    hubs, by_chance : int64 (limits, genes), int32 (draws, limits, genes)
        Pairs of each gene from each of ``HUB_LIMITS``.
    """

    def __init__(
        self,
        values: Float64Array,
        codes: Int32Array,
        score: str,
        device: Device,
        *,
        exchangeable: Exchangeable | None = None,
        regulators: IntegerArray | None = None,
        given_up: int = 0,
        draws: int | None = None,
    ) -> None:
        there = np.flatnonzero(codes >= 0)
        exchangeable = (exchangeable or Exchangeable.of_state({})).of_samples(there)
        codes = np.ascontiguousarray(codes[there])
        batch = exchangeable.batch if exchangeable.batch.size else np.zeros_like(codes)
        self.layout = Layout(codes, batch, given_up)
        self.device, self.score = device, score
        self.scorer = SCORERS[score](device)
        kept = values[:, there]
        self.n_genes = len(kept)
        self.testable = _varies(kept, codes)
        order = np.flatnonzero(self.testable)
        self.n_rows = order.size
        if regulators is not None:
            chosen = np.isin(order, regulators)
            order = np.concatenate([order[chosen], order[~chosen]])
            self.n_rows = int(chosen.sum())
        self.genes = order.astype(np.int32)
        self.within = within_groups(kept[order], self.layout, self.scorer.by_rank)
        self.irregular = _irregularity(self.within, codes)
        self.shape = (2 * int(self.irregular.max(initial=0)) + 1, LEVELS, N_BINS)
        self.nowhere = int(np.prod(self.shape))
        ranks = [np.sort(self.within[:, codes == group], axis=1) for group in (0, 1)]
        tied = np.any([(np.diff(each, axis=1) == 0.0).any(axis=1) for each in ranks], axis=0)
        self.tied = np.flatnonzero(tied & self.scorer.by_rank)
        self.tied_ranks = [each[self.tied] for each in ranks]
        r, g = self.n_rows, order.size
        self.n_pairs = r * (r - 1) // 2 + r * (g - r)
        cost = INFORMATION_COST if score == "mi" else 1
        wanted = -(-POOL // max(1, self.n_pairs * cost))
        self.draws = draws or int(np.clip(wanted, MIN_DRAWS, MAX_DRAWS))
        self.permuted, self.units = exchangeable.permute(codes, self.draws)
        # Fewer samples, or series, have next to no permutations of their labels.
        self.movable = self.units >= 8 and bool((self.permuted != codes).any())
        error = 1.0 / np.sqrt(max(1.0, self.layout.free(0) + self.layout.free(1)))
        edges = np.sort([each * error for each in LEVEL_ERRORS] + list(LEVEL_Z))
        fine = (np.arange(_FINE) + 0.5) / _PER_Z
        self.levels = np.searchsorted(edges, fine).astype(np.int32)
        side = TILES[device.backend]
        self.tiles = [
            PairBlock(slice(row, min(row + side, r)), slice(column, min(column + side, g)))
            for row in range(0, r, side)
            for column in range(row, g, side)
        ]

    # --- passes over all pairs ---

    @cached_property
    def _observed(self) -> tuple[Group, Group]:
        return self._groups(self.within, self.layout)

    def _permuted(self, draw: int) -> tuple[Float64Array, Layout]:
        layout = self.layout._replace(codes=self.permuted[draw])
        within = within_groups(self.within, layout, self.scorer.by_rank)
        if self.tied.size:
            self._tie(within, layout.codes, draw)
        return within, layout

    def _tie(self, within: Float64Array, codes: Int32Array, draw: int) -> None:
        """Give tied genes the ranks of the observed groups, in the order that they have: ranks of
        two groups mixed are less often tied, and few values agree fully more easily than many."""
        random = np.random.default_rng([draw, _TIES])
        for group, ranks in enumerate(self.tied_ranks):
            own = np.flatnonzero(codes == group)
            part = within[np.ix_(self.tied, own)]
            part += 1e-9 * random.random(part.shape)  # what is tied now, in any order
            order = np.argsort(part, axis=1)
            seen = (~np.isnan(part)).sum(axis=1, keepdims=True)
            n = (~np.isnan(ranks)).sum(axis=1, keepdims=True)
            place = np.arange(own.size)
            taken = ((place + 0.5) * n / np.maximum(seen, 1)).astype(np.int64)
            found = np.take_along_axis(ranks, np.clip(taken, 0, n - 1), 1)
            found[place >= seen] = np.nan
            np.put_along_axis(part, order, found, 1)
            within[np.ix_(self.tied, own)] = part

    def _groups(self, within: Float64Array, layout: Layout) -> tuple[Group, Group]:
        first, second = (self.scorer.of_group(within, layout, group) for group in (0, 1))
        return first, second

    def _statistics(
        self, tile: PairBlock, groups: tuple[Group, Group]
    ) -> tuple[DeviceArray, DeviceArray, Scores]:
        """Of a tile: the statistic t, the stratum and bin that it falls into, ``nowhere`` where
        there is no test, and Fisher's z with its degrees of freedom in each group."""
        xp = self.device.xp
        (a, n_a), (b, n_b) = (
            self.scorer.block_scores(group, tile.rows, tile.columns) for group in groups
        )
        mean = (n_a * a + n_b * b) / (n_a + n_b)
        t = b - a
        t /= xp.sqrt(
            (1.0 + self.scorer.rank_variance * xp.tanh(mean) ** 2) * (1.0 / n_a + 1.0 / n_b)
        )
        level = xp.asarray(self.levels)[_fine(xp, mean)]
        bins = xp.minimum(xp.abs(t) * PER_UNIT, N_BINS - 1)
        kinds = xp.asarray(self.irregular * LEVELS)
        with np.errstate(invalid="ignore"):
            place = level + kinds[tile.rows, None] + kinds[tile.columns]
            place = place * N_BINS + bins.astype(np.int32)
        if groups[0].observed is not None or groups[1].observed is not None:
            place[xp.isnan(t)] = self.nowhere
        if tile.rows.start == tile.columns.start:  # on the diagonal
            rows = xp.arange(*tile.rows.indices(1 << 31)[:2])
            columns = xp.arange(*tile.columns.indices(1 << 31)[:2])
            place[columns <= rows[:, None]] = self.nowhere
        return t, place, ((a, n_a), (b, n_b))

    def _count(self, places: Sequence[DeviceArray]) -> Int64Array:
        """How many fall into each place, and of those moved beyond ``nowhere``, int64 (2, all)."""
        xp, size = self.device.xp, self.nowhere + 1
        found = xp.bincount(xp.concatenate([each.ravel() for each in places]), minlength=2 * size)
        return np.asarray(self.device.to_host(found), np.int64).reshape(2, size)[:, :-1]

    def _far(self, tile: PairBlock, t: DeviceArray, place: DeviceArray) -> Int64Array:
        """How many statistics each gene has from each of ``HUB_LIMITS``, int64 (limits, genes)."""
        xp = self.device.xp
        size = xp.abs(t)
        far = xp.flatnonzero((size >= HUB_LIMITS[0]) & (place != self.nowhere))
        limit = np.searchsorted(HUB_LIMITS, self.device.to_host(size.ravel()[far]), side="right")
        row, column = np.divmod(self.device.to_host(far), t.shape[1])
        genes = np.concatenate([row + tile.rows.start, column + tile.columns.start])
        n = self.genes.size
        counts = np.bincount(np.tile(limit - 1, 2) * n + genes, minlength=HUB_LIMITS.size * n)
        return counts.reshape(HUB_LIMITS.size, n)[::-1].cumsum(axis=0)[::-1]

    def test(self, chunks: Path | None = None) -> GroupComparison:
        """Score all pairs, permute, and find the p- and q-value of each place of a statistic.

        chunks : a folder for what is done, from which the same comparison goes on after a run that
        was ended; of another one nothing is taken. None: nothing is kept.
        """
        stated = (self.score, self.layout.given_up, self.n_rows, CHUNK, self.tiles)
        of = self.within, self.layout.codes, self.layout.batch, self.permuted
        folder = work_folder(chunks, (*stated, self.device.backend), *of)
        first = kept_arrays(folder, "observed", self._observe)
        self.observed, self.hubs = first["observed"], first["hubs"]
        far = np.split(first["far"], np.cumsum(first["far_of_tile"]))[:-1]  # none without tiles
        pool, of_differing = np.zeros((2, self.nowhere), np.int64)
        self.by_chance = np.zeros((self.draws, *self.hubs.shape), np.int32)
        step = max(1, CHUNK // max(1, self.n_pairs))
        for begin in range(0, self.draws if self.movable else 0, step):
            draws = range(begin, min(begin + step, self.draws))
            found = kept_arrays(folder, f"draws-{begin}", partial(self._permute, draws, far))
            pool += found["pool"][0]
            of_differing += found["pool"][1]
            self.by_chance[draws.start : draws.stop] = found["hubs"]
        # Of pairs left out, as large a share counts after all as chance explains.
        by_chance_far = _beyond(pool + of_differing) / max(self.draws, 1)
        share = min(1.0, by_chance_far / max(_beyond(self.observed), 1))
        counts = self.observed.reshape(self.shape)
        permuted = (pool + share * of_differing).reshape(self.shape)
        p = pooled_p_values(permuted)
        self.weights = _weights(counts, joined(permuted.sum(axis=(0, 2))))
        self.p, self.q = p.ravel(), histogram_q_values(counts, p / self.weights[:, None]).ravel()
        return self

    def _observe(self) -> dict[str, Int64Array]:
        """Counts of the statistics of all pairs, and which of each tile differ."""
        observed = np.zeros(self.nowhere, np.int64)
        hubs = np.zeros((HUB_LIMITS.size, self.genes.size), np.int64)
        far: list[Int64Array] = []

        def look(tile: PairBlock) -> tuple[Int64Array, Int64Array, Int64Array]:
            t, place, _ = self._statistics(tile, self._observed)
            xp = self.device.xp
            differs = self.device.to_host(xp.flatnonzero(xp.abs(t) >= DIFFERS))
            return self._count([place])[0], differs.astype(np.int64), self._far(tile, t, place)

        for counts, differs, of_genes in self._over(look, self.tiles):
            observed += counts
            hubs += of_genes
            far.append(differs)
        sizes = np.array([each.size for each in far], np.int64)
        whole = np.concatenate(far) if far else np.zeros(0, np.int64)
        return {"observed": observed, "hubs": hubs, "far": whole, "far_of_tile": sizes}

    def _permute(self, draws: range, far: Sequence[Int64Array]) -> dict[str, Int64Array]:
        """Counts of permuted statistics, of pairs that differ by themselves: ``far``, by tiles."""
        pool = np.zeros((2, self.nowhere), np.int64)
        hubs = np.zeros((len(draws), HUB_LIMITS.size, self.genes.size), np.int64)
        step = max(1, BLOCK // max(1, self.n_pairs))
        for begin in range(0, len(draws), step):
            block = draws[begin : begin + step]
            # Several at a time are so small that each has one thread; a large one has all.
            each_draw = in_threads if len(block) > 1 else map
            groups = [self._groups(*one) for one in each_draw(self._permuted, block)]

            def permute(
                part: tuple[PairBlock, Int64Array], groups: Sequence[tuple[Group, Group]] = groups
            ) -> tuple[Int64Array, Int64Array]:
                places, of_genes = [], []
                for each in groups:
                    t, place, _ = self._statistics(part[0], each)
                    of_genes.append(self._far(part[0], t, place))
                    place.ravel()[self.device.xp.asarray(part[1])] += self.nowhere + 1
                    places.append(place)
                return self._count(places), np.stack(of_genes)

            for counts, of_genes in self._over(permute, list(zip(self.tiles, far, strict=True))):
                pool += counts
                hubs[begin : begin + len(block)] += of_genes
        return {"pool": pool, "hubs": hubs}

    def _over(self, work: Callable[[P], R], parts: Sequence[P]) -> Iterator[R]:
        """In threads on the CPU, whose matrix products then have one each."""
        if self.device.backend != "cpu" or len(parts) == 1:
            return map(work, parts)
        return in_threads(work, parts)

    # --- what was found ---

    @property
    def n_tested(self) -> int:
        """Pairs with a test."""
        return int(self.observed.sum())

    @property
    def n_differing(self) -> int:
        """Pairs with q <= ``Q_VALUE``; q of an empty place is NaN."""
        return int(self.observed[self.q <= Q_VALUE].sum())

    def detectable_correlation(self, power: float = 0.8) -> float:
        """The least correlation in one group, against none in the other, that is found where no
        other pair differs; NaN where 0.995 is not."""
        free = [self.layout.free(group) for group in (0, 1)]
        z = np.arctanh(np.arange(0.05, 1.0, 0.005))
        # Of the two groups, the one in which it shows less.
        mean = z * min(free) / sum(free)
        t = z / np.sqrt(
            (1.0 + self.scorer.rank_variance * np.tanh(mean) ** 2) * (1.0 / free[0] + 1.0 / free[1])
        )
        level = self.levels[_fine(np, mean)]
        place = ((t - scipy.special.ndtri(power)) * PER_UNIT).astype(np.int64)
        p = self.p.reshape(self.shape)[0, level, np.clip(place, 0, N_BINS - 1)]
        allowed = Q_VALUE * self.weights[level] / max(self.n_tested, 1)
        found = np.flatnonzero((place > 0) & (p <= allowed))
        return float(np.arange(0.05, 1.0, 0.005)[found[0]]) if found.size else float("nan")

    def blocks(self, limit: float = 1.0) -> Iterator[pd.DataFrame]:
        """Pairs whose p is at most ``limit``, tile by tile.

        Columns: ``i``, ``j`` int32, rows of the table (of regulators, ``i`` is one); ``score_a``,
        ``score_b``, ``z`` float32; ``p``, ``q`` float64; ``kind`` int8, of ``CLASSES``.
        """
        xp = self.device.xp
        wanted = xp.asarray(np.append(self.p <= limit, False))

        def make(tile: PairBlock) -> pd.DataFrame:
            t, place, scores = self._statistics(tile, self._observed)
            far = xp.flatnonzero(wanted[place.ravel()])
            chosen, at = (self.device.to_host(each) for each in (far, place.ravel()[far]))

            def part(array: DeviceArray) -> Float32Array:
                if np.ndim(array) == 0:
                    return np.full(chosen.size, array, np.float32)
                return np.asarray(self.device.to_host(array.ravel()[far]))

            row, column = np.divmod(chosen, t.shape[1])
            (z_a, n_a), (z_b, n_b) = [(part(z), part(free)) for z, free in scores]
            a, b = (
                self.scorer.scores(z, group, free).astype(np.float32)
                for z, group, free in zip((z_a, z_b), self._observed, (n_a, n_b), strict=True)
            )
            # Classes by which groups have a correlation at p <= 0.05, and its signs there.
            least = -scipy.special.ndtri(0.025)
            there_a, there_b = (
                np.abs(z) * np.sqrt(free) >= least for z, free in ((z_a, n_a), (z_b, n_b))
            )
            kind = np.where(np.abs(b) > np.abs(a), 4, 5)
            kind[(np.sign(a) * np.sign(b) < 0) & (there_a == there_b)] = 3
            kind[there_b & ~there_a], kind[there_a & ~there_b] = 1, 2
            return pd.DataFrame(
                {
                    "i": self.genes[row + tile.rows.start],
                    "j": self.genes[column + tile.columns.start],
                    "score_a": a,
                    "score_b": b,
                    "z": part(t),
                    "p": self.p[at],
                    "q": self.q[at],
                    "kind": np.where(self.q[at] <= Q_VALUE, kind, 0).astype(np.int8),
                }
            )

        return self._over(make, self.tiles)


_FINE, _PER_Z = 1600, 200.0
_TIES = 0x74696573


def _fine(xp: ModuleType, z: DeviceArray) -> DeviceArray:
    """Place of Fisher's z in the table of levels; the last one of NaN."""
    with np.errstate(invalid="ignore"):
        return xp.fmin(xp.abs(z) * _PER_Z, _FINE - 1).astype(np.int32)


def _weights(observed: Int64Array, of_level: Int64Array) -> Float64Array:
    """Weight of a p-value in each level, of mean 1 over all pairs; ``of_level``: its group."""
    pairs = np.bincount(of_level, observed.sum(axis=(0, 2)))
    share = np.full(pairs.size, (1.0 - LOWEST_SHARE) / max(pairs.size - 1, 1))
    share[0] = LOWEST_SHARE
    share /= max(share[pairs > 0].sum(), 1e-12)
    return np.asarray((share * pairs.sum() / np.maximum(pairs, 1))[of_level])


def _beyond(counts: Int64Array) -> int:
    """Statistics from ``DIFFERS`` on."""
    return int(counts.reshape(-1, N_BINS)[:, int(DIFFERS * PER_UNIT) :].sum())


def _varies(values: Float64Array, codes: Int32Array) -> BoolArray:
    """Genes (genes,) with enough samples in both groups, and enough that are not all the same."""
    varies = np.ones(len(values), dtype=bool)
    for group in (0, 1):
        ordered = np.sort(values[:, codes == group], axis=1)  # missing ones last
        n = (~np.isnan(ordered)).sum(axis=1)
        varies &= n >= MIN_SAMPLES
        most, run = np.ones((2, len(ordered)), dtype=np.int64)
        for column in range(1, ordered.shape[1]):
            run = np.where(ordered[:, column] == ordered[:, column - 1], run + 1, 1)
            np.maximum(most, run, out=most)
        # Genes with fewer values besides their most common one have next to nothing in common.
        varies &= n - most >= 5
    return varies


def _irregularity(within: Float64Array, codes: Int32Array) -> Int32Array:
    """Class of each gene by its kurtosis, mean of both groups."""
    kurtosis = np.zeros(len(within))
    for group in (0, 1):
        part = within[:, codes == group]
        part = part - np.nanmean(part, axis=1, keepdims=True)
        variance = np.nanmean(part**2, axis=1)
        fourth = np.nanmean(part**4, axis=1)
        kurtosis += 0.5 * fourth / np.maximum(variance**2, 1e-30)
    # 1.8 of ranks, 3 of normal values, n / k of a count that is above 0 in k of n samples.
    return np.searchsorted((4.0, 8.0, 16.0), kurtosis).astype(np.int32)
