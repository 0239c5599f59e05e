"""Weighted co-expression networks as WGCNA makes them: soft power, topological overlap, a tree.

Adjacency and topological overlap are those of Zhang and Horvath 2005 (Stat Appl Genet Mol Biol
4:17), computed exactly in tiles. What grows with the square of the genes is one array, the
distances of all pairs (upper triangle by rows, as ``scipy.spatial.distance.pdist`` lays them out):
in float64 up to ``MAX_FLOAT64_GENES``, in float32 above, which is 5 GB for 50,000 genes. Beside it
``HELD_VALUES`` adjacencies are held, on the CPU or the GPU. The tree needs the array of distances
once more, as it is overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Literal

import numpy as np
import pandas as pd

from pairtile.arrays import Float64Array, FloatingArray
from pairtile.cpu.njit import njit
from pairtile.gpu.device import Device, DeviceArray
from pairtile.runtime.record import Progress

NetworkType = Literal["unsigned", "signed", "signed_hybrid"]

POWERS = (*range(1, 11), *range(12, 21, 2))
"""That are tried, as pickSoftThreshold does."""

MAX_FLOAT64_GENES = 2_048
"""Genes above which adjacencies and distances are float32: half of the time and memory, and the
same modules (benchmarks/bench_wgcna.py)."""

HELD_VALUES, BLOCK_VALUES = 3 << 26, 1 << 22
"""Adjacencies that are held, and those that are computed at once: few enough that their memory is
used again."""

N_BINS = 10
"""Of connectivities, for the scale-free fit."""


@dataclass(frozen=True)
class Adjacency:
    """Adjacency of genes: |r|^power, ((1 + r) / 2)^power, or r^power where r > 0 (signed_hybrid).

    values : float64 (genes, samples), NaN where missing: correlations are over the samples that
        both genes have, and 0 where these are fewer than three or a gene is constant in them.
    power : above 0. device : where it is computed.
    """

    values: Float64Array
    network_type: NetworkType
    device: Device

    @property
    def dtype(self) -> type[np.floating]:
        return np.float64 if len(self.values) <= MAX_FLOAT64_GENES else np.float32

    def blocks(self, rows: slice) -> list[slice]:
        """Of these rows: the same on every machine, so that results are."""
        step = max(64, BLOCK_VALUES // max(len(self.values), 1))
        starts = range(rows.start, rows.stop, step)
        return [slice(start, min(start + step, rows.stop)) for start in starts]

    @cached_property
    def _genes(self) -> tuple[DeviceArray, DeviceArray]:
        """Centred values, 0 where missing, scaled to length 1 where none is; which are there."""
        xp = self.device.xp
        values = xp.asarray(self.values)
        there = ~xp.isnan(values)
        n = xp.maximum(there.sum(axis=1, keepdims=True), 1)
        x = xp.where(there, values, 0.0)
        x = xp.where(there, x - x.sum(axis=1, keepdims=True) / n, 0.0)
        length = xp.sqrt((x * x).sum(axis=1, keepdims=True))
        x = xp.divide(x, xp.where(length > 0, length, 1.0)).astype(self.dtype)
        return x, None if bool(there.all()) else there.astype(self.dtype)

    def correlations(self, rows: slice) -> DeviceArray:
        """r of these genes with all, (rows, genes), an array of the device."""
        xp = self.device.xp
        x, there = self._genes
        if there is None:
            return x[rows] @ x.T
        n = xp.maximum(there[rows] @ there.T, 1.0)
        sum_i, sum_j = x[rows] @ there.T, there[rows] @ x.T
        products = x[rows] @ x.T - sum_i * sum_j / n
        square_i = (x[rows] * x[rows]) @ there.T - sum_i * sum_i / n
        square_j = there[rows] @ (x * x).T - sum_j * sum_j / n
        spread = xp.sqrt(xp.maximum(square_i, 0) * xp.maximum(square_j, 0))
        enough = (n >= 3) & (spread > 1e-12)
        return xp.where(enough, products / xp.where(enough, spread, 1), 0).astype(self.dtype)

    def similarities(self, rows: slice) -> DeviceArray:
        """What is raised to the power, (rows, genes), 0 of genes with themselves; with the sign of
        r in an unsigned network."""
        xp = self.device.xp
        r = xp.clip(self.correlations(rows), -1.0, 1.0)
        if self.network_type == "signed":
            r += 1.0
            r *= 0.5
        elif self.network_type == "signed_hybrid":
            xp.maximum(r, 0.0, out=r)
        own = xp.arange(rows.start, rows.stop)
        r[own - rows.start, own] = 0.0
        return r

    def rows(self, rows: slice, power: float) -> DeviceArray:
        """Adjacency of these genes with all, 0 with themselves, (rows, genes)."""
        xp = self.device.xp
        similarity = self.similarities(rows)
        found = _power(xp, xp.abs(similarity), power)
        if self.network_type == "unsigned":
            found = xp.copysign(found, similarity)
        return found

    def held(self, rows: slice, power: float) -> DeviceArray:
        """The same of many genes, made a block at a time."""
        shape = rows.stop - rows.start, len(self.values)
        found = self.device.xp.empty(shape, dtype=self.dtype)
        for block in self.blocks(rows):
            found[block.start - rows.start : block.stop - rows.start] = self.rows(block, power)
        return found


def _power(xp: ModuleType, base: DeviceArray, power: float) -> DeviceArray:
    """Of numbers from 0 to 1; whole powers by squaring, which is ten times as fast."""
    if power != int(power):
        return xp.power(base, power)
    found, left = None, int(power)
    while left:
        if left & 1:
            found = base.copy() if found is None else xp.multiply(found, base, out=found)
        left >>= 1
        if left:
            base = base * base
    return found


def soft_power(adjacency: Adjacency) -> tuple[float, bool, pd.DataFrame]:
    """The lowest power whose network is scale-free (R squared over 0.85); whether there is
    one, else it is the usual power for so many samples (WGCNA's FAQ); and one row a power that was
    tried: ``power``, ``r_squared`` and ``slope`` of the scale-free fit, ``mean_connectivity``."""
    device, xp = adjacency.device, adjacency.device.xp
    # Summed adjacency of each gene with all others at each power.
    connectivity = np.empty((len(POWERS), len(adjacency.values)))
    for block in adjacency.blocks(slice(0, len(adjacency.values))):
        base = xp.abs(adjacency.similarities(block))
        raised, reached = base.copy(), 1
        for row, power in enumerate(POWERS):
            for _ in range(power - reached):
                raised *= base
            reached = power
            connectivity[row, block] = device.to_host(raised.sum(axis=1, dtype=np.float64))
    rows = [
        (power, *scale_free_fit(k), float(k.mean()))
        for power, k in zip(POWERS, connectivity, strict=True)
    ]
    fits = pd.DataFrame(rows, columns=["power", "r_squared", "slope", "mean_connectivity"])
    good = fits["power"][fits["r_squared"] > 0.85]
    if len(good):
        return float(good.iloc[0]), True, fits
    n = adjacency.values.shape[1]
    # By the number of samples below which a power is usual.
    usual = next((power for most, power in {20: 9, 30: 8, 40: 7}.items() if n < most), 6)
    return float(usual * (1 + (adjacency.network_type == "signed"))), False, fits


def scale_free_fit(k: Float64Array) -> tuple[float, float]:
    """R squared and slope of log10 p(k) on log10 k over bins of equal width.

    k : connectivities, (genes,). As scaleFreeFitIndex: k of a bin is the mean of those in it, the
    middle of an empty one, whose p is 0; 1e-9 is added to p. (0, 0) where all k are equal.
    """
    low, high = float(k.min()), float(k.max())
    if not high > low:
        return 0.0, 0.0
    edges = np.linspace(low, high, N_BINS + 1)
    bins = np.clip(np.searchsorted(edges, k, side="left") - 1, 0, N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    means = np.bincount(bins, weights=k, minlength=N_BINS) / np.maximum(counts, 1)
    middle = (edges[1:] + edges[:-1]) / 2
    x = np.log10(np.where((counts > 0) & (means != 0), means, middle))
    y = np.log10(counts / k.size + 1e-9)
    x, y = x - x.mean(), y - y.mean()
    slope = (x @ y) / (x @ x)
    return float(slope * (x @ y) / (y @ y)) if y.any() else 0.0, float(slope)


def overlap_distances(adjacency: Adjacency, power: float) -> FloatingArray:
    """1 - topological overlap of all pairs, condensed, (genes * (genes - 1) / 2,).

    TOM_ij = |a_ij + sum_u a_iu a_uj| / (min(k_i, k_j) + 1 - |a_ij|), where a has the sign of r in
    an unsigned network (TOMType "signed", as in blockwiseModules).
    """
    device, xp = adjacency.device, adjacency.device.xp
    n = len(adjacency.values)
    out: FloatingArray = np.empty(n * (n - 1) // 2, dtype=adjacency.dtype)
    whole = adjacency.held(slice(0, n), power) if n * n <= HELD_VALUES else None
    k = xp.empty(n, dtype=adjacency.dtype)
    for block in adjacency.blocks(slice(0, n)):
        own = adjacency.rows(block, power) if whole is None else whole[block]
        k[block] = xp.abs(own).sum(axis=1)
    step = max(1, min(n, HELD_VALUES // max(n, 1)))
    progress = Progress(n * n / 2, "pairs of genes")
    for first in range(0, n, step):
        last = min(first + step, n)
        own = adjacency.held(slice(first, last), power) if whole is None else whole
        blocks = *adjacency.blocks(slice(first, last)), *adjacency.blocks(slice(last, n))
        for columns in blocks:
            if columns.stop <= last:
                other = own[columns.start - first : columns.stop - first]
            else:
                other = adjacency.rows(columns, power)
            rows = slice(first, min(last, columns.stop))  # none of those below the diagonal
            part = own[: rows.stop - first]
            tile, direct = part @ other.T, part[:, columns]
            tile += direct
            xp.abs(tile, out=tile)
            tile /= xp.minimum(k[rows, None], k[None, columns]) + 1.0 - xp.abs(direct)
            xp.subtract(1.0, tile, out=tile)
            _store(device.to_host(tile), first, columns.start, n, out)
            progress.advance(tile.size)
    return out


@njit(nogil=True)
def _store(tile, first_row, first_column, n, out):  # type: ignore[no-untyped-def]
    """Write a tile to its place among the condensed distances."""
    for row in range(tile.shape[0]):
        i = first_row + row
        start = i * (2 * n - i - 1) // 2 - i - 1
        for column in range(max(0, i + 1 - first_column), tile.shape[1]):
            out[start + first_column + column] = tile[row, column]


def average_linkage(distances: FloatingArray, n: int) -> Float64Array:
    """The tree of average linkage, as ``scipy.cluster.hierarchy.linkage`` gives it: (n - 1, 4).

    distances : condensed, float32 or float64. **They are overwritten**: no second copy is made,
    and none in float64 (scipy makes both). By the nearest-neighbour chain (Murtagh 1985).
    """
    merges, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    _nearest_neighbour_chain(distances, n, merges, heights)
    order = np.argsort(heights, kind="stable")
    tree = np.empty((n - 1, 4))
    _label(merges[order], heights[order], n, tree)
    return tree


@njit(nogil=True)
def place_of(x, y, n):  # type: ignore[no-untyped-def]
    """Where the distance of two of n genes stands among the condensed ones."""
    i, j = min(x, y), max(x, y)
    return i * (2 * n - i - 1) // 2 + j - i - 1


@njit(nogil=True)
def _nearest_neighbour_chain(d, n, merges, heights):  # type: ignore[no-untyped-def]
    size = np.ones(n, dtype=np.int64)
    following = np.arange(1, n + 1)  # clusters that are left, linked in order
    before = np.arange(-1, n - 1)
    start, length = 0, 0
    chain = np.empty(n, dtype=np.int64)
    for merge in range(n - 1):
        if length == 0:
            chain[0], length = start, 1
        while True:
            x = chain[length - 1]
            last = chain[length - 2] if length > 1 else -1
            y, nearest = last, d[place_of(x, last, n)] if length > 1 else np.inf
            other = start
            while other < n:
                if other != x and d[place_of(other, x, n)] < nearest:
                    y, nearest = other, d[place_of(other, x, n)]
                other = following[other]
            if length > 1 and y == last:
                break
            chain[length] = y
            length += 1
        length -= 2
        x, y = min(x, y), max(x, y)
        merges[merge], heights[merge] = (x, y), nearest
        # y takes the place of both.
        if x == start:
            start = following[x]
        else:
            following[before[x]] = following[x]
        if following[x] < n:
            before[following[x]] = before[x]
        total = size[x] + size[y]
        share_x, share_y = size[x] / total, size[y] / total
        size[y] = total
        other = start
        while other < n:
            if other != y:
                to_x, to_y = place_of(other, x, n), place_of(other, y, n)
                d[to_y] = share_x * d[to_x] + share_y * d[to_y]
            other = following[other]


@njit(nogil=True)
def _label(merges, heights, n, tree):  # type: ignore[no-untyped-def]
    """Clusters are numbered from n on in the order of their heights."""
    cluster = np.arange(n)
    size = np.ones(2 * n - 1)
    for row in range(n - 1):
        x, y = cluster[merges[row, 0]], cluster[merges[row, 1]]
        cluster[merges[row, 1]] = n + row
        size[n + row] = size[x] + size[y]
        tree[row, 0] = min(x, y)
        tree[row, 1] = max(x, y)
        tree[row, 2] = heights[row]
        tree[row, 3] = size[n + row]
