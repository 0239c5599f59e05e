"""``score: combined``: how far a regulator stands out by mutual information and by partial
correlation, both among all regulators of its target.

    combined(r -> t) = -ln(1 - rank_1) - weight * ln(1 - rank_2)

rank_1 is that of ``target_z`` among all candidate edges, between 0 and 1; rank_2 that of the
z-score, made in the same way, of the partial correlation (``partial_correlation.py``). Of unrelated
genes both terms are exponential with mean 1, whatever the scales of the two: a sum of surprises
(Fisher's way to join tests). Of two listed regulators one direction at most is usually true, and
nothing tells which: ln 2 is taken off, the logarithm of a prior of one half.

Where no regulators are listed, both terms are those of the better direction of the pair, and the
weight is at most half of that: given all other genes, more is taken from a pair than its regulators
explain (with a quarter, dense networks fell .03 behind the better term, with three quarters modules
and chains: seeds 2101 and 2102 of benchmarks/bench_without_list.py). Among few genes either z-score
is uncertain. So 1 / sqrt(genes) of the z-score of the other direction is added to that of mutual
information, and as much is taken off the half (networks of 5 to 19 genes lost up to .05 without,
those of 100 and more change by .01 at most). Where samples share components
that genes do not make, mutual information ranks what follows them alike first. Then rank_1 is that
of what goes together given these components (``partial_correlation.py``), and without a list there
is no second term.

Ranks are those among the pairs of some regulators and some targets, drawn once for all: up to
``MAX_SAMPLED`` pairs, all of a small table. The first pass brings their values. So they are the
same for any number of chunks, and no pass over all pairs sorts anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.chunk_file import Summaries
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.context_scores import (
    FIXED_POINT_ONE,
    SourceTarget,
    mean_sd,
)
from pairtile.methods.mutual_information.partial_correlation import PartialCorrelation
from pairtile.methods.mutual_information.tiles import ScoredTile
from pairtile.statistics.shrinkage import DeviceArray

MAX_SAMPLED = 1 << 16
"""Pairs among which ranks are taken."""


class RankScale(NamedTuple):
    """-ln(1 - rank) of a number among others.

    values, surprise : float64, at the different numbers, rising; between them a straight line.
    slope : beyond the largest, that of an exponential tail.
    """

    values: NDArray[np.float64]
    surprise: NDArray[np.float64]
    slope: float

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.float64]) -> RankScale:
        """Among these; equal ones have their middle rank."""
        n = numbers.size
        if n == 0:
            return cls(np.zeros(1), np.zeros(1), 0.0)
        values, counts = np.unique(numbers, return_counts=True)
        below = np.cumsum(counts) - counts
        surprise = -np.log1p(-(below + 0.5 * counts) / n)
        # The tail is fitted to the top hundredth of the sampled pairs.
        first = values[np.searchsorted(below + counts, 0.99 * n)]
        excess = float((numbers[numbers > first] - first).mean()) if first < values[-1] else np.inf
        return cls(values, surprise, 1.0 / excess)

    def at(self, x: DeviceArray, xp: ModuleType) -> DeviceArray:
        """Of each of ``x``, in its shape; NaN stays."""
        beyond = xp.maximum(x - self.values[-1], 0.0)
        values, surprise = xp.asarray(self.values), xp.asarray(self.surprise)
        inside = xp.interp(x.ravel(), values, surprise).reshape(x.shape)
        return inside + self.slope * beyond


class Sampled(NamedTuple):
    """Regulators and targets whose pairs are sampled, item numbers in order."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]

    @classmethod
    def of_regulators(cls, regulators: NDArray[np.integer], genes: int) -> Sampled:
        """Of a table with so many genes; no regulators: every gene is one."""
        sources = np.asarray(regulators, dtype=np.int64)
        random = np.random.Generator(np.random.Philox(key=0x72616E6B73))  # "ranks"
        items = sources if sources.size else np.arange(genes)
        sources = random.permutation(items)[: max(int(MAX_SAMPLED**0.5), MAX_SAMPLED // genes)]
        targets = random.permutation(genes)[: MAX_SAMPLED // max(1, sources.size)]
        return cls(np.sort(sources), np.sort(targets))


def combined_sums(
    tile: ScoredTile,
    partials: Sequence[PartialCorrelation],
    is_regulator: NDArray[np.bool_] | None,
    sampled: Sampled,
    device: Device,
) -> Summaries:
    """What a tile adds to the first pass: for each target, sum and sum of squares of its partial
    correlations (the numbers are those of ``moment_sums``); and the sampled pairs, mutual
    information and partial correlations, in fixed point and one more, 0 where there is none.
    """
    xp, to_host = device.xp, device.to_host
    none: NDArray[np.int64] = np.zeros((sampled.sources.size, sampled.targets.size), dtype=np.int64)
    found = {"sampled_mi": none}
    for partial in partials:
        found[f"sampled_{partial.beside}"] = none.copy()
        for kind in ("sum", "squares"):
            found[f"{partial.beside}_{kind}"] = np.zeros(partial.place.size, dtype=np.int64)
    scored = xp.ones(tile.bits.shape, dtype=bool) if tile.scored is None else tile.scored

    def add(
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        bits: DeviceArray,
        which: DeviceArray,
    ) -> None:
        if not sources.size:
            return
        kept = {"mi": bits}
        for partial in partials:
            known = kept[partial.beside] = xp.where(which, partial.between(sources, targets), 0.0)
            for kind, values in (("sum", known), ("squares", known * known)):
                sums = xp.rint(values * FIXED_POINT_ONE).astype(xp.int64).sum(axis=0)
                found[f"{partial.beside}_{kind}"][targets] += to_host(sums)
        rows, at_row = _places(sources, sampled.sources)
        columns, at_column = _places(targets, sampled.targets)
        cells = xp.asarray(rows)[:, None], xp.asarray(columns)[None, :]
        for name, values in kept.items():
            fixed = xp.rint(values[cells].astype(xp.float64) * FIXED_POINT_ONE) + 1.0
            fixed = xp.where(which[cells], fixed, 0.0).astype(xp.int64)
            found[f"sampled_{name}"][np.ix_(at_row, at_column)] += to_host(fixed)

    add(tile.rows, tile.columns, tile.bits, scored)
    back = np.arange(tile.columns.size)
    if is_regulator is not None:
        back = back[is_regulator[tile.columns]]
    here = xp.asarray(back)
    add(tile.columns[back], tile.rows, tile.bits[:, here].T, scored[:, here].T)
    return found


def _places(
    items: NDArray[np.int64], sampled: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where sampled items stand among ``items``, and where among the sampled."""
    _, here, there = np.intersect1d(items, sampled, assume_unique=True, return_indices=True)
    return here, there


class _Term(NamedTuple):
    """-ln(1 - rank) of partial correlations.

    mean, sd : float64 (genes,), of those of each target; an infinite sd where they do not vary.
    """

    partial: PartialCorrelation
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    scale: RankScale

    def of(
        self, sources: NDArray[np.integer], targets: NDArray[np.integer], xp: ModuleType, tile: bool
    ) -> DeviceArray:
        """Of all sources with all targets (``tile``), or of a list of pairs."""
        scaled = self._scaled(sources, targets, xp, tile)
        if not self.partial.is_listed:
            scaled = xp.maximum(scaled, self._scaled(targets, sources, xp, tile).T)
        return self.partial.weight * self.scale.at(scaled, xp)

    def _scaled(
        self, sources: NDArray[np.integer], targets: NDArray[np.integer], xp: ModuleType, tile: bool
    ) -> DeviceArray:
        found = (self.partial.between if tile else self.partial.of_pairs)(sources, targets)
        return (found - xp.asarray(self.mean[targets])) / xp.asarray(self.sd[targets])


class CombinedScore:
    """The score, from the state and the sums of the first pass."""

    def __init__(
        self,
        partials: Sequence[PartialCorrelation],
        scan: Mapping[str, NDArray[np.int64]],
        sampled: Sampled,
    ) -> None:
        first, targets, known = partials[0], sampled.targets, scan["sampled_mi"] > 0
        self._is_listed = first.is_listed
        self._share_of_other = first.place.size**-0.5
        # Given components, mutual information has no say.
        self._weight_of_z = float(first.components is None)

        def z_of(
            name: str, mean: NDArray[np.float64], sd: NDArray[np.float64], genes: NDArray[np.int64]
        ) -> NDArray[np.float64]:
            values = (scan[f"sampled_{name}"] - 1) / FIXED_POINT_ONE
            return (values - mean[genes]) / sd[genes]

        mean, sd = mean_sd(scan, "target")
        self._varies = sd > 0.0  # a constant gene has nothing to do with any other
        sd = np.where(sd > 0.0, sd, np.inf)
        z = z_of("mi", mean, sd, targets)
        if not self._is_listed:
            z = self._both(z, z_of("mi", mean, sd, sampled.sources[:, None]), np)
        self._of_z = RankScale.of_numbers(z[known])
        self._prior = np.zeros(mean.size)
        if self._is_listed:
            self._prior[first.place >= 0] = np.log(0.5)
        self._terms = []
        for partial in partials:
            name = partial.beside
            mean, sd = mean_sd({**scan, f"{name}_count": scan["target_count"]}, name)
            sd = np.where(sd > 0.0, sd, np.inf)
            scale = RankScale.of_numbers(z_of(name, mean, sd, targets)[known])
            self._terms.append(_Term(partial, mean, sd, scale))

    def _both(self, one: DeviceArray, other: DeviceArray, xp: ModuleType) -> DeviceArray:
        return xp.maximum(one, other) + self._share_of_other * xp.minimum(one, other)

    def of(self, pair: SourceTarget) -> DeviceArray:
        """Of each source with its target."""
        z, xp = pair.z_target, pair.xp
        if not self._is_listed:
            z = self._both(z, pair.z_source, xp)
        source, target = (np.asarray(genes, np.int64) for genes in (pair.source, pair.target))
        if source.ndim == 1:
            return self.of_pairs(z, source, target)
        turned = source.shape[1] > 1 or target.shape[0] > 1  # targets are the rows
        score = self.of_pairs(z.T if turned else z, source.ravel(), target.ravel(), xp, tile=True)
        return score.T if turned else score

    def of_pairs(
        self,
        z: DeviceArray,
        sources: NDArray[np.integer],
        targets: NDArray[np.integer],
        xp: ModuleType = np,
        *,
        tile: bool = False,
    ) -> DeviceArray:
        """Of a list of pairs, on the host, or of all sources with all targets (``tile``), from the
        z-score of the mutual information of each."""
        score = self._weight_of_z * self._of_z.at(z, xp)  # NaN stays
        score += xp.asarray(self._prior[targets])
        for term in self._terms:
            score += term.of(sources, targets, xp, tile)
        varies = self._varies[sources]
        score *= xp.asarray(varies[:, None] if tile else varies)
        return score * xp.asarray(self._varies[targets])
