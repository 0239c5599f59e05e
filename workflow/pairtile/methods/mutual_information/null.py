"""Null distribution: how large a score is when two genes have nothing to do with each other.

Draws: both genes of a pair have their samples permuted independently (within batches where these
are stated, shifted along in time courses: ``null_design``), and the pair is scored like any other.
A permuted genes against b permuted genes give a x b draws; two draws that share a gene are
independent given that gene's values, so the empirical distribution is as sharp as with a x b
separate draws. Permutations are keyed on (seed, class, number), never on order or thread.

The test statistic is n_samples * MI, whose null distribution hardly depends on the number of
samples observed in both genes (asymptotically 2 ln2 n MI is chi-square, Kullback 1959).

Genes whose marginal entropies (raw values with outliers, many ties), numbers of observed samples or
autocorrelations differ widely have different nulls: they are put in classes, and each pair of
classes gets a null of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import BoolArray, DeviceArray, Float32Array, Float64Array, Int64Array
from pairtile.engine.chunk_file import Arrays
from pairtile.engine.tiles import TILE_EDGE
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.kernels.exchange import Exchange
from pairtile.methods.mutual_information.kernels.permuted_rows import Resampling, permuted_rows
from pairtile.methods.mutual_information.series_joins import loss_by_joins
from pairtile.preprocess.null_design import NullDesign
from pairtile.runtime.record import Progress
from pairtile.runtime.threads import one_blas_thread
from pairtile.splines.scorer import BsplineScorer
from pairtile.splines.values import scaled
from pairtile.statistics.sample_effects import orthonormal

if TYPE_CHECKING:
    import pandas as pd

RESOLVED = 10
"""Exceedances needed for an empirical p-value; below, the tail is extrapolated."""

TAIL_SHARE = 0.01
"""Share of the null to which the log-linear tail is fitted."""


def permutations_needed(permutations: int | str, keep: KeepGenePairs, n_pairs: int) -> int:
    """Draws for each null: as asked, or by what ``keep`` must resolve (at least 10/p)."""
    if permutations != "auto":
        return int(permutations)
    return int(min(1e8, max(1e5, np.ceil(keep.draws(RESOLVED, n_pairs)))))


def drawn_bytes(draws: int, samples: int, nulls: int, of_value: int) -> int:
    """Host memory that a null takes while it is drawn: permuted rows and columns, ``of_value``
    bytes for each value of the columns' weights, and the statistics of ``nulls`` pairs of gene
    classes."""
    side = math.isqrt(draws) + 1
    # Of each draw 12 bytes: the statistic itself, joined with the others, and sorted.
    return (16 + of_value) * samples * side + (12 + 4 * (nulls - 1)) * draws


class Tail(NamedTuple):
    """Where a null is extrapolated: log p goes on linearly beyond ``anchor``."""

    anchor: float
    log_p: float
    """At the anchor."""
    slope: float
    """Negative."""


@dataclass(frozen=True)
class Null:
    """Null distributions of the statistic n_samples * MI (bits).

    statistic : one ascending float32 array for each unordered pair of classes, in the order of
        ``class_pairs``.
    class_of : int8 (genes,).
    resolved : exceedances needed for an empirical p-value.
    """

    statistic: list[Float32Array]
    class_of: NDArray[np.int8]
    resolved: int = RESOLVED
    _tails: dict[int, Tail] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def n_classes(self) -> int:
        """Number of gene classes."""
        return round((np.sqrt(8 * len(self.statistic) + 1) - 1) / 2)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """For storage: the inverse of ``from_arrays``."""
        return {
            "class_of": self.class_of,
            "resolved": np.array(self.resolved),
            "lengths": np.array([s.size for s in self.statistic], dtype=np.int64),
            "statistic": self.statistic[0]
            if len(self.statistic) == 1  # 40 MB and more, of every bootstrap
            else np.concatenate(self.statistic),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Null:
        """From what ``arrays`` gave."""
        statistic = np.split(arrays["statistic"], np.cumsum(arrays["lengths"])[:-1])
        # Results made before have no number of draws that resolve p.
        return cls(statistic, arrays["class_of"], int(arrays.get("resolved", RESOLVED)))

    def p_value(
        self, statistic: Float64Array, row_class: NDArray[np.int8], column_class: NDArray[np.int8]
    ) -> tuple[Float64Array, BoolArray]:
        """p-values and which of them are extrapolated.

        p = (1 + #{null >= x}) / (1 + N) where at least ``resolved`` draws reach x. Beyond, log p
        goes on linearly in x with the slope of the top 1% of the null.
        """
        if len(self.statistic) == 1:
            return self._p_value(0, statistic)
        p = np.ones(statistic.shape)
        extrapolated = np.zeros(statistic.shape, dtype=bool)
        which = class_pair_number(row_class, column_class, self.n_classes)
        for number in range(len(self.statistic)):
            here = which == number
            if here.any():
                p[here], extrapolated[here] = self._p_value(number, statistic[here])
        return p, extrapolated

    def expected(self, edges: pd.DataFrame) -> Float64Array:
        """Mean statistic of unrelated genes of the same classes as the ends of each edge; 0 where
        none was drawn."""
        means = np.array([float(draws.mean()) if draws.size else 0.0 for draws in self.statistic])
        row_class, column_class = (self.class_of[edges[end]] for end in ("source", "target"))
        return np.asarray(means[class_pair_number(row_class, column_class, self.n_classes)])

    def thresholds(self, p: float) -> Float64Array:
        """Smallest statistic with p-value <= ``p``, float64 (classes, classes)."""
        n = self.n_classes
        result = np.empty((n, n))
        for number, (a, b) in enumerate(class_pairs(n)):
            result[a, b] = result[b, a] = self._threshold(number, p)
        return result

    def _tail(self, number: int) -> Tail:
        """The tail of one class pair's null, fitted when it is first asked for."""
        if number not in self._tails:
            self._tails[number] = _fit_tail(self.statistic[number], self.resolved)
        return self._tails[number]

    def _p_value(self, number: int, x: Float64Array) -> tuple[Float64Array, BoolArray]:
        null = self.statistic[number]
        n = null.size
        wanted = x.astype(np.float32)
        # Only what is reached is searched: of pairs that stand out it is a short part of the null,
        # which stays in the processor's cache.
        first = int(np.searchsorted(null, np.fmin.reduce(wanted, axis=None, initial=np.inf)))
        reach = n - first - np.searchsorted(null[first:], wanted, side="left")
        p = np.asarray((1.0 + reach) / (1.0 + n), dtype=np.float64)
        beyond = reach < self.resolved
        if beyond.any():
            tail = self._tail(number)
            distance = np.maximum(x[beyond] - tail.anchor, 0.0)
            with np.errstate(invalid="ignore"):
                line = np.where(distance > 0.0, tail.slope * distance, 0.0)
            p[beyond] = np.maximum(np.exp(tail.log_p + line), np.finfo(np.float64).tiny)
        return p, beyond

    def _threshold(self, number: int, p: float) -> float:
        null = self.statistic[number]
        n = null.size
        allowed = int(np.floor(p * (1.0 + n) - 1.0 + 1e-9))  # exceedances that still give p
        if p >= 1.0:
            return 0.0
        if n == 0:  # no two genes of these classes share enough samples: nothing is resolved
            return float("inf")
        if allowed >= self.resolved:
            # x must lie above the (allowed + 1)-th largest draw.
            return float(np.nextafter(null[n - allowed - 1], np.float32(np.inf)))
        tail = self._tail(number)
        if np.log(p) >= tail.log_p:
            return float(np.nextafter(np.float32(tail.anchor), np.float32(np.inf)))
        return tail.anchor + (np.log(p) - tail.log_p) / tail.slope


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Unordered pairs of classes, in the order in which nulls are kept."""
    return [(a, b) for a in range(n_classes) for b in range(a, n_classes)]


def class_pair_number(
    a: DeviceArray, b: DeviceArray, n_classes: int, xp: ModuleType = np
) -> DeviceArray:
    """Place in ``class_pairs`` of each pair of classes; ``xp`` is numpy or cupy."""
    low = xp.minimum(a, b).astype(xp.int64)
    high = xp.maximum(a, b).astype(xp.int64)
    return low * n_classes - low * (low - 1) // 2 + (high - low)


def _fit_tail(null: Float32Array, resolved: int) -> Tail:
    """From the top 1% of the null, ascending."""
    n = null.size
    if n == 0:
        return Tail(0.0, 0.0, 0.0)  # p = 1
    k = min(n, max(resolved, int(n * TAIL_SHARE)))
    top = null[n - k :].astype(np.float64)
    log_p = np.log((1.0 + np.arange(k, 0, -1)) / (1.0 + n))
    resolved = min(resolved, n)
    log_anchor = float(np.log((1.0 + resolved) / (1.0 + n)))
    spread = top - top.mean()
    square = float(spread @ spread)
    slope = float(spread @ log_p / square) if square > 0.0 else -np.inf
    return Tail(float(null[n - resolved]), log_anchor, slope)


class NullGenes(NamedTuple):
    """The genes that a null draws from.

    z : float64 (genes, samples), scaled values, NaN where missing. varied : bool (genes,); constant
    genes are not drawn. classes : int8 (genes,), those that share a null. paired : the pairs of
    classes whose genes are paired. transform : ``rank`` or ``none``, what ``z`` was made by.
    """

    z: Float64Array
    varied: BoolArray
    classes: NDArray[np.int8]
    paired: list[tuple[int, int]]
    transform: str


def draw_null(
    scorer: BsplineScorer,
    genes: NullGenes,
    design: NullDesign,
    *,
    draws: int,
    seed: int,
    min_samples: int,
    resampling: Resampling | None = None,
    removed: Float64Array | None = None,
    inflation: float = 1.0,
    alike: Float64Array | None = None,
) -> dict[str, NDArray[np.generic]]:
    """At least ``draws`` null statistics (n_samples * MI) for each pair of classes of genes that is
    paired, none for others; where courses change places, as many as there are different ones.

    Parameters
    ----------
    design
        Which samples are exchanged. Where that keeps something of the gene, its course or its
        means of batches, a gene is not paired with itself.
    min_samples
        Draws with fewer samples observed in both genes are void.
    resampling
        Of a bootstrap: what it did to the samples of ``z``. Applied after permuting, so that
        repeated samples raise the null as they raise the scores.
    removed
        Float64 (samples, columns): effects that are off the values, and are taken off what is
        permuted, too. Without that, permuted genes have more degrees of freedom than the values.
    inflation
        By which every statistic is multiplied where that cannot be done: right for the straight
        part of a relation, too much for the rest of it.
    alike
        Float64 (samples, samples): what is permuted is multiplied by it, so that samples are as
        alike as those of ``z`` (``root_of_alike``).

    Returns
    -------
    The arrays of a ``Null``.
    """
    z, varied, classes, paired, transform = genes
    side = int(np.ceil(np.sqrt(draws)))
    exchange = Exchange.within(design)

    def permuted(of_class: int, which: int, number: int) -> DrawnRows:
        pool = np.flatnonzero(varied & (classes == of_class))
        if pool.size == 0:  # constant genes only: every MI is 0
            samples = z.shape[1] if resampling is None else resampling.samples.size
            return DrawnRows(np.zeros((1, samples)), None)
        key, counter = [seed, 1], [0, 0, which, number]
        random = np.random.Generator(np.random.Philox(key=key, counter=counter))
        drawn = random.choice(pool, size=side)
        if design.courses is not None:
            # Courses have few places to go: what is drawn again only repeats what was drawn.
            most = pool.size * int((exchange.sizes // np.maximum(exchange.step, 1) // 4 + 1).max())
            drawn = np.resize(random.permutation(pool), min(side, most))
        rows = permuted_rows(z, drawn, seed, which, number, exchange, resampling)
        if alike is not None:
            rows = np.where(np.isnan(rows), np.nan, _filled(rows) @ alike)
        if removed is not None:
            rows = _without(rows, removed)
        if alike is not None or removed is not None:
            rows = scaled(rows, scorer.settings, transform)
        return DrawnRows(rows, drawn if design.kind != "permutation" and pool.size > 1 else None)

    pairs_of_classes = class_pairs(int(classes.max(initial=0)) + 1)
    progress = Progress(side**2 * len(paired), "null draws")
    statistics = [
        _statistics(scorer, permuted(a, 0, number), permuted(b, 1, number), min_samples, progress)
        if (a, b) in paired
        else np.empty(0, dtype=np.float32)
        for number, (a, b) in enumerate(pairs_of_classes)
    ]
    if inflation != 1.0:
        statistics = [drawn * np.float32(inflation) for drawn in statistics]
    if design.courses is None and np.count_nonzero(design.shifted) > 1:
        scale = loss_by_joins(z, varied, classes, design, scorer.settings)
        statistics = [
            drawn * np.float32(scale[pair])
            for drawn, pair in zip(statistics, pairs_of_classes, strict=True)
        ]
    shifts = design.courses is None and design.shifted.any()
    # Shifts by nearly as much give nearly the same score, and a course has few that differ. With 10
    # exceedances, 8 % of tables of unrelated genes in one course of 100 samples had an edge at fdr
    # 0.05, with 100 4.5 % (autocorrelation 0.8, 200 tables).
    of_shifts = min(100, max(RESOLVED, int(TAIL_SHARE * draws)))
    return Null(statistics, classes, of_shifts if shifts else RESOLVED).arrays()


@one_blas_thread()
def _without(rows: Float64Array, removed: Float64Array) -> Float64Array:
    """Rows (draws, samples) less what ``removed`` and a constant explain; NaN stays."""
    basis = orthonormal(removed)
    missing = np.isnan(rows)
    filled = _filled(rows)
    # A missing value counts as what is fitted to it, which a few rounds settle.
    for _ in range(10 if missing.any() else 1):
        fitted = filled.mean(axis=1, keepdims=True) + (filled @ basis) @ basis.T
        filled = np.where(missing, fitted, rows)
    return np.asarray(rows - fitted)


def _filled(rows: Float64Array) -> Float64Array:
    """Rows with their means where a value is missing."""
    return np.where(np.isnan(rows), np.nanmean(rows, axis=1, keepdims=True), rows)


class DrawnRows(NamedTuple):
    """Rows of one side of a null: float64 (draws, samples; of CuPy where a GPU made them), and the
    gene of each where a gene must not meet itself."""

    values: DeviceArray
    genes: Int64Array | None


def _statistics(
    scorer: BsplineScorer, rows: DrawnRows, columns: DrawnRows, min_samples: int, progress: Progress
) -> Float32Array:
    """Statistics of every row with every column, ascending."""
    device = scorer.device
    n_rows, n_columns, n_all = len(rows.values), len(columns.values), rows.values.shape[1]
    # Sorting needs the draws three times; where the GPU has no room, the host does it.
    drawn_bytes = np.dtype(np.float32).itemsize * n_rows * n_columns
    there = device.backend == "cpu" or 3 * drawn_bytes < 0.25 * device.free_bytes()
    xp = device.xp if there else np
    blocks = [slice(c, c + TILE_EDGE) for c in range(0, n_columns, TILE_EDGE)]
    column_weights = [scorer.weights(columns.values[block]) for block in blocks]
    parts = []
    for r in range(0, n_rows, TILE_EDGE):
        here = slice(r, r + TILE_EDGE)
        row_weights = scorer.weights(rows.values[here])
        for weights, block in zip(column_weights, blocks, strict=True):
            bits, n_samples = scorer.scores(row_weights, weights)
            found = bits * (n_all if n_samples is None else n_samples)
            counted = None if n_samples is None else n_samples >= min_samples
            if rows.genes is not None and columns.genes is not None:
                other = device.xp.asarray(rows.genes[here, None] != columns.genes[None, block])
                counted = other if counted is None else counted & other
            found = (found.ravel() if counted is None else found[counted]).astype(np.float32)
            parts.append(found if there else device.to_host(found))
            progress.advance(bits.size)
    return np.asarray(device.to_host(xp.sort(xp.concatenate(parts))))
