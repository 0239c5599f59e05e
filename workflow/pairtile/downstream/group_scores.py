"""Scores of all pairs of genes within a group of samples, a tile at a time, on CPU or GPU.

Each group's genes are made ready once for all tiles: unit vectors of ranks or values, whose
products are correlations, or B-spline weights. ``block_scores`` gives scores that can be compared
between groups whatever their size: Fisher's z, or what has the same scale for mutual information.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np

from pairtile.arrays import Float64Array, Int32Array
from pairtile.gpu.device import Device, DeviceArray
from pairtile.splines.scorer import BsplineScorer, SplineSettings
from pairtile.splines.values import scaled
from pairtile.statistics.ranks import average_ranks

MIN_SAMPLES = 8
"""Samples of a group that a pair must have for a test."""

MAX_CORRELATION = 1.0 - 1e-6
"""Beyond it Fisher's z of a float32 has no digits."""

LN_2 = float(np.log(2.0))
_CHANCE_GENES, _CHANCE = 200, 0x6368616E


class Layout(NamedTuple):
    """Samples of two groups. ``codes``: int32 (samples,), 0 or 1. ``batch``: int32 (samples,), all
    0 where none is known. ``given_up``: degrees of freedom that went with removed effects."""

    codes: Int32Array
    batch: Int32Array
    given_up: int = 0

    def free(self, group: int) -> float:
        """Degrees of freedom of Fisher's z beside the missing samples of a pair."""
        own = self.batch[self.codes == group]
        share = self.given_up * own.size / self.codes.size
        return own.size - 3.0 - (np.unique(own).size - 1) - share


def within_groups(values: Float64Array, layout: Layout, by_rank: bool) -> Float64Array:
    """Values of each gene centred in each group, and there in each batch, with the same spread in
    both groups; by rank, as quantiles from -0.5 to 0.5. float64 (genes, samples), NaN where
    missing. Neither means nor variances of the groups are left to tell them apart. Where the
    lowest value is that of several samples, as of zeros, it is the same in both groups."""
    out = np.full(values.shape, np.nan)
    lowest, tied = np.zeros((2, len(values), 1)), np.zeros((len(values), 1), dtype=bool)
    for group in (0, 1):
        own = layout.codes == group
        part = np.ascontiguousarray(values[:, own])
        seen = ~np.isnan(part)
        batch = layout.batch[own]
        cells = np.unique(batch)
        if by_rank and cells.size == 1:
            cells = cells[:0]
        for cell in cells:
            here = batch == cell
            n = np.maximum(seen[:, here].sum(axis=1, keepdims=True), 1)
            part[:, here] -= np.nansum(part[:, here], axis=1, keepdims=True) / n
            # What is left varies less in a batch of few: samples are to have the same variance.
            part[:, here] *= np.sqrt(n / np.maximum(n - 1.0, 1.0))
        n = np.maximum(seen.sum(axis=1, keepdims=True), 1)
        if by_rank:
            average_ranks(part, part)
            part = (part - 0.5) / n - 0.5
            lowest[group] = np.where(seen, part, 0.5).min(axis=1, keepdims=True)
            tied |= (part == lowest[group]).sum(axis=1, keepdims=True) > 1
        else:
            spread = np.sqrt(np.nansum(part**2, axis=1, keepdims=True) / n)
            part = np.divide(part, spread, out=np.zeros_like(part), where=spread > 1e-12)
            part[~seen] = np.nan
        out[:, own] = part
    if by_rank:
        for group in (0, 1):
            out[:, layout.codes == group] -= np.where(tied, lowest[group], 0.0)
    return out


@dataclass(frozen=True)
class Group:
    """Genes of one group, ready for tiles. ``rows``: of the scorer; ``observed``: float32 (genes,
    samples) on the device, None where nothing is missing; ``free``: of ``Layout``; ``chance``: mean
    score of unrelated genes (of mutual information)."""

    rows: DeviceArray
    observed: DeviceArray
    n: int
    free: float
    chance: float = 0.0


class Correlations:
    """Spearman's or Pearson's correlation.

    Ranks are those of each gene among its own samples of the group: with missing values,
    Spearman's is the correlation of these ranks over the samples that both genes have.
    ``rank_variance`` of Fisher's z: (1 + this r^2) / (n - 3) (Bonett and Wright 2000, Psychometrika
    65:23).
    """

    def __init__(self, by_rank: bool, device: Device) -> None:
        self.by_rank, self.device = by_rank, device
        self.rank_variance = 0.5 if by_rank else 0.0

    def of_group(self, values: Float64Array, layout: Layout, group: int) -> Group:
        """Values as ``within_groups`` gives them."""
        part = values[:, layout.codes == group]
        seen = ~np.isnan(part)
        n = np.maximum(seen.sum(axis=1, keepdims=True), 1)
        part = np.where(seen, part - np.nansum(part, axis=1, keepdims=True) / n, 0.0)
        length = np.sqrt((part**2).sum(axis=1, keepdims=True))
        np.divide(part, length, out=part, where=length > 1e-9)
        xp = self.device.xp
        observed = None if seen.all() else xp.asarray(seen.astype(np.float32))
        return Group(
            xp.asarray(part.astype(np.float32)), observed, part.shape[1], layout.free(group)
        )

    def block_scores(
        self, group: Group, rows: slice, columns: slice
    ) -> tuple[DeviceArray, DeviceArray]:
        """Fisher's z, float32 (rows, columns), and its degrees of freedom: a number, or an array
        where values are missing, NaN where a pair has fewer than ``MIN_SAMPLES``."""
        xp = self.device.xp
        x, y = group.rows[rows], group.rows[columns]
        r = x @ y.T
        n: DeviceArray = group.n
        if group.observed is not None:
            seen_x, seen_y = group.observed[rows], group.observed[columns]
            n = xp.maximum(seen_x @ seen_y.T, 2.0)  # so few are not tested
            sum_x, sum_y = x @ seen_y.T, seen_x @ y.T
            spread_x = n * ((x * x) @ seen_y.T) - sum_x**2
            spread_y = n * (seen_x @ (y * y).T) - sum_y**2
            r = (n * r - sum_x * sum_y) / xp.sqrt(xp.maximum(spread_x * spread_y, 1e-20))
        # Ranks of few samples agree fully by chance: half a step of Spearman's is left.
        step = 6.0 / (group.n**3 - group.n) if self.by_rank else 0.0
        largest = min(MAX_CORRELATION, 1.0 - step)
        xp.clip(r, -largest, largest, out=r)
        z = xp.arctanh(r)
        z -= r / (2.0 * (n - 1.0))  # its bias (Fisher 1921)
        if group.observed is None:
            return z, group.free if self.by_rank else group.free / _inflation(xp, x, y, r, group.n)
        return z, xp.where(n >= MIN_SAMPLES, group.free - (group.n - n), np.float32(np.nan))

    def scores(self, z: DeviceArray, group: Group, free: DeviceArray) -> DeviceArray:
        """As the table has them: correlations, or bits."""
        n = group.n if group.observed is None else free - group.free + group.n
        r = np.tanh(z)
        for _ in range(4):  # its bias was taken off
            r = np.tanh(z + r / (2.0 * (n - 1.0)))
        return r


def _inflation(
    xp: ModuleType, x: DeviceArray, y: DeviceArray, r: DeviceArray, n: int
) -> DeviceArray:
    """How much more Fisher's z of Pearson's correlation varies than that of normal genes, at least
    1: from fourth moments, whatever the distribution (Steiger and Hakstian 1982, Br J Math Stat
    Psychol 35:208). x, y : unit vectors."""
    x2, y2 = x * x, y * y
    kurtosis = n * ((x2 * x2).sum(axis=1)[:, None] + (y2 * y2).sum(axis=1)[None])
    mixed = n * ((x2 * x) @ y.T + x @ (y2 * y).T)
    r2 = r * r
    variance = n * (x2 @ y2.T) * (1.0 + r2 / 2.0) + r2 * kurtosis / 4.0 - r * mixed
    return xp.clip(variance / (1.0 - r2) ** 2, 1.0, n)


class Informations:
    """Mutual information of ranks by B-splines, on the scale of Fisher's z.

    Of two normal genes the information is -log(1 - r^2) / 2, which gives z back. What unrelated
    genes have by chance is taken off first: it is larger in a smaller group.
    """

    by_rank, rank_variance = True, 0.5

    def __init__(self, device: Device) -> None:
        self.device = device
        self.settings = SplineSettings(6, 4, "clamped", "float64")
        self.scorer = BsplineScorer(self.settings, device)

    def of_group(self, values: Float64Array, layout: Layout, group: int) -> Group:
        part = scaled(np.ascontiguousarray(values[:, layout.codes == group]), self.settings, "rank")
        some = part[:: max(1, len(part) // _CHANCE_GENES)]
        random = np.random.default_rng(_CHANCE)
        left, right = (self.scorer.weights(random.permuted(some, axis=1)) for _ in range(2))
        chance = float(self.scorer.scores(left, right)[0].mean()) * LN_2
        observed = True if np.isnan(part).any() else None
        return Group(part, observed, part.shape[1], layout.free(group), chance)

    def block_scores(
        self, group: Group, rows: slice, columns: slice
    ) -> tuple[DeviceArray, DeviceArray]:
        xp = self.device.xp
        x, y = (self.scorer.weights(group.rows[part]) for part in (rows, columns))
        bits, n = self.scorer.scores(x, y)
        z = xp.arctanh(xp.sqrt(1.0 - xp.exp(-2.0 * xp.maximum(bits * LN_2 - group.chance, 0.0))))
        z = xp.minimum(z, np.arctanh(MAX_CORRELATION)).astype(np.float32)
        if n is None:
            return z, group.free
        return z, xp.where(n >= MIN_SAMPLES, group.free - (group.n - n), np.nan)

    def scores(self, z: DeviceArray, group: Group, free: DeviceArray) -> DeviceArray:
        r = np.tanh(np.asarray(z, dtype=np.float64))
        nats = -0.5 * np.log1p(-(r**2)) + group.chance
        return nats / LN_2


SCORERS: dict[str, Callable[[Device], Correlations | Informations]] = {
    "spearman": lambda device: Correlations(True, device),
    "pearson": lambda device: Correlations(False, device),
    "mi": Informations,
}
