"""Whether samples depend on each other: order, near copies, and groups that stand apart.

Tests that permute samples take them for independent. What is measured here says where they are
not, from the values alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial, wraps
from hashlib import blake2b
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
import scipy

from pairtile.arrays import BoolArray, Float64Array, Int32Array, Int64Array
from pairtile.engine.large_table import map_rows, row_blocks
from pairtile.engine.state import copy_rows
from pairtile.runtime.threads import in_threads, one_blas_thread
from pairtile.statistics.ranks import average_ranks

R = TypeVar("R")
Others = ParamSpec("Others")

MAX_GENES = 1000
MAX_SAMPLES = 2000
"""More are not looked at: evenly spaced genes, the first samples."""

MAX_REMEMBERED, MAX_RESULTS = 1 << 26, 8
"""Bytes of a table of which results are remembered, and how many of each function."""

_SAMPLES = 250
"""Samples that are compared with all others together."""


def remembered(
    measure: Callable[Concatenate[Float64Array, Others], R],
) -> Callable[Concatenate[Float64Array, Others], R]:
    """A function of a table (rows, columns), as a decorator: a table that is given again, as by
    several calls of the library in one process, is not measured again.

    A table is known by a digest of its values, which may have been changed in place, and of all
    other arguments. For results that are far smaller than the table.
    """
    results: dict[bytes, R] = {}

    @wraps(measure)
    def found_or_measured(values: Float64Array, *others: Others.args, **named: Others.kwargs) -> R:
        if values.nbytes > MAX_REMEMBERED:
            return measure(values, *others, **named)
        # Sums depend on the order of the values in memory.
        stated = json.dumps(
            (values.shape, values.strides, values.dtype.str, others, named),
            default=lambda array: (array.dtype.str, array.shape, array.tobytes().hex()),
        )
        blocks = row_blocks(values.shape, 1 << 17)
        parts = in_threads(lambda rows: blake2b(values[rows].tobytes()).digest(), blocks)
        key = blake2b(stated.encode() + b"".join(parts)).digest()
        found = results.get(key)
        if found is None:
            found = results[key] = measure(values, *others, **named)
            if len(results) > MAX_RESULTS:
                results.pop(next(iter(results)), None)
        return deepcopy(found)

    return found_or_measured


@dataclass(frozen=True)
class Dependence:
    """How the samples of a table depend on each other.

    autocorrelation : float64 (genes,), lag 1, in the order of the table within each series; 0 for
        a constant gene.
    mean : of it over genes. chance : the largest mean of 999 random orders of the samples
        (all genes alike, so that their correlations stay): a larger one has p = 1 / 1,000.
    near_copies : samples with a few others far closer to them than all the rest, differences
        between batches or ``groups`` taken off.
    groups : sizes of the groups into which the first components split the samples, ascending; none
        where they do not.
    n_samples : how many were looked at.
    factors, factor_share : hidden factors that are strong enough to relate genes, and what share
        of the variance they hold. of_genes : whether genes that drive others may make them.
    alike : of unrelated pairs of genes the share with p <= 0.05, where samples seem to be alike;
        else 0.
    unknown : of all pairs, where genes are too few to tell.
    """

    autocorrelation: Float64Array
    mean: float
    chance: float
    near_copies: int
    groups: tuple[int, ...]
    n_samples: int
    factors: int = 0
    factor_share: float = 0.0
    of_genes: bool = False
    alike: float = 0.0
    unknown: float = 0.0

    @property
    def ordered(self) -> bool:
        """Whether neighbours are more alike than in any random order."""
        return self.mean > self.chance


def measure_dependence(
    values: Float64Array,
    series: Int32Array | None = None,
    removed: Float64Array | None = None,
    seed: int = 1,
) -> Dependence:
    """Measure how samples depend on each other.

    Parameters
    ----------
    values
        float64 (genes, samples), NaN where missing.
    series
        int32 (samples,): neighbours are neighbours within a series; None: one series.
    removed
        float64 (samples, dimensions), an orthonormal basis of what is known of samples: what they
        share beside it is looked for. None: nothing is known.
    seed
        Of the random orders.
    """
    n_samples = min(values.shape[1], MAX_SAMPLES)
    series = np.zeros(n_samples, dtype=np.int32) if series is None else series[:n_samples]
    autocorrelation = lag_one(values[:, :n_samples], series)
    chosen = evenly_spaced(len(values), MAX_GENES)
    # Of ranks, so that no sample's few extreme values decide.
    ranks = np.array(copy_rows(values[:, :n_samples], chosen), np.float64, order="C")
    average_ranks(ranks, ranks)
    gram = _similarity(ranks)
    step = np.flatnonzero(series[1:] == series[:-1])
    mean = float(_means_of_neighbours(gram, step, np.arange(n_samples)[None])[0])
    random = np.random.default_rng([seed, 0x6F72646572])
    # 27 times 37 orders: some are drawn while others are measured.
    orders = (np.array([random.permutation(n_samples) for _ in range(37)]) for _ in range(27))
    means = in_threads(partial(_means_of_neighbours, gram, step), orders)
    chance = float(np.max(list(means)))
    if removed is not None and removed.size:
        gram = _without(gram, np.linalg.qr(removed[:n_samples])[0])
    groups = groups_of(gram)
    varied = int((ranks != ranks[:, :1]).any(axis=1).sum())
    member = (groups[:, None] == np.arange(groups.max() + 1)).astype(np.float64)
    within = _without(gram, member / np.sqrt(member.sum(axis=0)))
    near_copies = sum(map(bool, near_copies_of(within, varied)))
    return Dependence(
        autocorrelation,
        mean,
        chance,
        near_copies,
        tuple(sorted(np.bincount(groups).tolist())) if groups.any() else (),
        n_samples,
    )


def evenly_spaced(n: int, most: int) -> Int64Array:
    """At most ``most`` of the numbers 0 to n - 1, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


@dataclass(frozen=True)
class Components:
    """Principal components of the samples, genes scaled to variance 1.

    samples : int64 (S,), numbers of the samples looked at, ascending.
    scores : float64 (S, number), the largest of each component is positive.
    shares : float64 (number,), of the variance of the genes looked at; 0 where nothing varies.
    """

    samples: Int64Array
    scores: Float64Array
    shares: Float64Array


@one_blas_thread()
def principal_components(values: Float64Array, number: int = 2) -> Components:
    """The first components of at most ``MAX_GENES`` genes and ``MAX_SAMPLES`` samples, evenly
    spaced; missing values are taken for the gene's mean.

    values : float64 (genes, samples), NaN where missing; more samples than ``number``.
    """
    samples = evenly_spaced(values.shape[1], MAX_SAMPLES)
    gram = _similarity(copy_rows(values, evenly_spaced(len(values), MAX_GENES), samples))
    total = float(np.trace(gram))
    if total <= 0.0:
        return Components(samples, np.zeros((samples.size, number)), np.zeros(number))
    sizes, vectors = leading(gram, number)
    sizes = np.maximum(sizes, 0.0)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(number)]
    return Components(samples, vectors * np.sign(largest) * np.sqrt(sizes), sizes / total)


def lag_one(values: Float64Array, series: Int32Array) -> Float64Array:
    """Lag-1 autocorrelation of each row, within series, missing values taken for the mean."""
    step = np.flatnonzero(series[1:] == series[:-1])

    def of_block(block: Float64Array) -> Float64Array:
        rows = standardised(block.astype(np.float64))
        products = np.einsum("ij,ij->i", rows[:, step], rows[:, step + 1])
        return np.asarray(products / max(1, step.size))

    return map_rows(of_block, values, np.empty(len(values)))


def trending_share(values: Float64Array, series: Int32Array) -> float:
    """Share of rows that drift along their series: whose correlation with the place in the series
    is larger than in 95 % of all circular shifts. Of rows without drift, however slow, 5 % are.

    values : float64 (rows, samples), NaN where missing. series : int32 (samples,), samples of one
    in the order of time. 0 where no series has 8 samples.
    """
    lengths = np.bincount(series)
    longest = int(lengths.max(initial=0))
    if longest < 8:
        return 0.0
    chosen = evenly_spaced(len(values), MAX_GENES)
    members = [np.flatnonzero(series == k) for k in np.flatnonzero(lengths)]
    shifts = np.unique(np.linspace(0, longest, min(longest, 200), endpoint=False, dtype=int))

    def in_part(part: Int64Array) -> BoolArray:
        rows = standardised(copy_rows(values, part))
        # NumPy's selections would keep other threads waiting, ``take`` does not.
        rows = rows.take(np.flatnonzero(rows.any(axis=1)), axis=0)
        found = np.zeros((len(rows), shifts.size))
        for here in members:
            # Moved by s, each place is s less, and that of the first s samples n more.
            n, own, shift = here.size, rows.take(here, axis=1), shifts % here.size
            place = np.arange(n) - (n - 1) / 2
            before = np.pad(own.cumsum(axis=1), ((0, 0), (1, 0)))
            found += own @ place[:, None] - before[:, [-1]] * shift + n * before[:, shift]
        found = np.abs(found)
        return found[:, 0] >= np.quantile(found, 0.95, axis=1) if len(found) else np.empty(0, bool)

    # Some million values at a time.
    parts = np.array_split(chosen, 1 + chosen.size * series.size // (1 << 22))
    drifting = np.concatenate([np.empty(0, bool), *in_threads(in_part, parts)])
    return float(drifting.mean()) if drifting.size else 0.0


def standardised(values: Float64Array) -> Float64Array:
    """Rows of mean 0 and variance 1 over observed samples; 0 where missing or constant."""
    missing = np.isnan(values)
    n = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    rows = np.where(missing, 0.0, values)
    rows -= rows.sum(axis=1, keepdims=True) / n
    rows[missing] = 0.0
    sd = np.sqrt((rows**2).sum(axis=1, keepdims=True) / n)
    np.divide(rows, sd, out=rows, where=sd > 0.0)
    rows[~(sd > 0.0)[:, 0]] = 0.0
    return rows


def _similarity(values: Float64Array) -> Float64Array:
    """Products of samples, mean over genes: (samples, samples)."""
    rows = standardised(values)
    return np.asarray(rows.T @ rows / max(1, len(rows)))


def _means_of_neighbours(gram: Float64Array, step: Int64Array, orders: Int64Array) -> Float64Array:
    """Of each order of the samples, (orders, samples)."""
    if not step.size:
        return np.zeros(len(orders))
    return np.asarray(gram[orders[:, step], orders[:, step + 1]].mean(axis=1))


def near_copies_of(
    gram: Float64Array,
    n_genes: int,
    correlation_at_least: float = 0.5,
    by_chance: float = 0.05,
) -> list[list[int]]:
    """Of each sample the nearest few (at most 10, or a quarter) where these stand apart from all
    others by a gap in correlation: technical replicates do, samples of one tissue among many
    hardly. And they are closer than the nearest of n - 1 samples of ``n_genes`` independent genes
    is but by chance (``by_chance``: with few genes, many samples are close to some other)."""
    n = len(gram)
    most = min(10, n // 4)
    if most < 1 or n_genes < 3:
        return [[] for _ in range(n)]
    freedom = n_genes - 1
    t = -scipy.special.stdtrit(freedom, by_chance / (n - 1))
    least = max(correlation_at_least, t / np.sqrt(freedom + t * t))
    size = np.sqrt(np.maximum(np.diag(gram), 1e-300))

    def near(begin: int) -> list[list[int]]:
        rows = np.arange(begin, min(begin + _SAMPLES, n))
        correlation = gram[rows] / np.outer(size[rows], size)
        correlation[rows - begin, rows] = -2.0
        order = np.argsort(-correlation, axis=1, kind="stable")[:, : most + 1]
        nearest = np.take_along_axis(correlation, order, axis=1)
        stands_apart = (nearest[:, :-1] >= least) & (nearest[:, :-1] - nearest[:, 1:] >= 0.25)
        number = np.where(stands_apart.any(axis=1), 1 + stands_apart.argmax(axis=1), 0)
        return [row[:k].tolist() for row, k in zip(order, number, strict=True)]

    return [found for part in in_threads(near, range(0, n, _SAMPLES)) for found in part]


def _without(gram: Float64Array, basis: Float64Array) -> Float64Array:
    """Products of samples after what an orthonormal basis spans is taken off every gene."""
    rest = gram - basis @ (basis.T @ gram)
    return np.asarray(rest - (rest @ basis) @ basis.T)


def groups_of(gram: Float64Array) -> Int64Array:
    """The group of each sample, from 0, where two to five groups are nearly all of the first
    components of products of samples, one less than there are groups; all 0 where no number of
    groups is.

    Groups by Ward's method; the number of groups with the largest share between them.
    """
    n = len(gram)
    total = float(np.trace(gram))
    # The share of the variance between two groups of normal values is 0.64, of uniform ones 0.75,
    # and less of more groups on as many components but one.
    found, most = np.zeros(n, dtype=np.int64), 0.85
    if n < 8 or total <= 0.0:
        return found
    sizes, vectors = leading(gram, min(4, n - 1))  # of five groups at most
    scores = vectors * np.sqrt(np.maximum(sizes, 0.0))
    scores -= scores.mean(axis=0)
    for number in range(2, scores.shape[1] + 2):
        part = scores[:, : number - 1]
        variance = float((part**2).sum())
        # Components that hold less of all variance do not count: of few samples, nearly that of
        # unrelated genes.
        if variance < max(0.1, 2 * (number - 1) / n) * total:
            continue
        group = (
            scipy.cluster.hierarchy.fcluster(scipy.cluster.hierarchy.ward(part), number, "maxclust")
            - 1
        )
        count = np.bincount(group)
        if count.min() < max(3, 0.05 * n):
            continue
        means = np.stack([np.bincount(group, column) for column in part.T]) / count
        between = float((count * means**2).sum()) / variance
        if between >= most:
            found, most = group.astype(np.int64), between
    return found


def leading(gram: Float64Array, number: int) -> tuple[Float64Array, Float64Array]:
    """The largest eigenvalues, falling, and their vectors as columns."""
    # A few components of thousands are asked for. A start of ones would be none: rows sum to 0.
    sizes, vectors = scipy.sparse.linalg.eigsh(
        gram, k=number, v0=np.random.default_rng(0).normal(size=len(gram))
    )
    return sizes[::-1], vectors[:, ::-1]
