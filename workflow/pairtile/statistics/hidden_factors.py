"""What most genes share and nobody states: components of a table that are spread over its genes.

A factor behind the samples (their quality, a mixture of cell types, unstated batches) relates genes
that have nothing to do with each other. It is told from a module of genes by its breadth: rotated
to simple structure (varimax, Kaiser 1958, Psychometrika 23:187; promax, Hendrickson and White
1964, Br J Stat Psychol 17:65), a component of a module loads on the module alone, also where
several modules explain equally much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import scipy

from pairtile.arrays import BoolArray, Float64Array, Int64Array, IntegerArray
from pairtile.engine.large_table import map_rows
from pairtile.runtime.threads import in_background, in_threads, one_blas_thread
from pairtile.statistics.dependence import evenly_spaced, standardised
from pairtile.statistics.ranks import average_ranks
from pairtile.statistics.sample_effects import MIN_DEGREES, Left, orthonormal

PERMUTATIONS = 10

MIN_STRENGTH = 1.2
"""From this ratio on, factors make false edges; without any, it is at most 1.17 in 900 tables."""

MIN_GAIN = 0.1
"""Least excess of the mean squared correlation over that of unrelated genes, in units of it, that
factors which matter make: with 0.1 more, 6 % of unrelated pairs have p <= 0.05."""

# Least correlation of how strongly a factor holds a gene and its neighbours, from which genes may
# make it (0.2 to 0.5 in networks of hubs, 0 on average where samples do): of the strongest, and of
# all on average, since of many factors of samples the strongest may be a hub's. And with its
# neighbours of a tenth of the genes, beside the factors (0.6 to 0.8 there, below 0.2 of unrelated
# genes in 500 samples, of which an error of the factors is left).
MIN_ALIKE, MIN_MEAN_ALIKE, MIN_NEIGHBOUR = 0.15, 0.2, 0.5

MAX_SAMPLES = 1000
"""Enough to warn of factors."""

# Standard errors within which correlations are taken for those of unrelated genes.
CENTRE = 1.5

# Of the pairs with p <= 0.05, the share that the width of the centre accounts for: samples that are
# alike widen the correlations of every gene as a whole (0.9 to 2), modules and networks have tails
# (0.3 to 0.9), and few genes a centre that is wide by chance (2.6 and more).
MIN_SHAPE, MAX_SHAPE = 0.9, 2.3

# Genes whose correlations are looked at; samples among which their shape is: of more, hardly any
# correlation is left near 0; genes of a group at least, and groups at most.
MAX_SPREAD_GENES, SHAPE_SAMPLES, GENES_OF_A_GROUP, MAX_GROUPS = 300, 100, 8, 12

MIN_GENES = 50
"""Of fewer, a module of a few genes is spread over a fifth of them."""

PROMAX_POWER, VARIMAX_STEPS = 4, 200
"""Of promax, as its authors propose; and rotations that it tries, at most."""


class Spread(NamedTuple):
    """How far correlations of genes spread.

    width : variance of the correlations of unrelated genes, over that by chance. chance : the
    largest of exchanged tables. unrelated : share of unrelated pairs with p <= 0.05. passing : of
    all. shape : pairs with p <= 0.05 that there are if all genes are unrelated, over ``passing``.
    """

    width: float
    chance: float
    unrelated: float
    passing: float
    shape: float

    @property
    def wide(self) -> bool:
        """Whether samples that are alike, and no network, make it."""
        # With 1.15 times the variance by chance, 6.8 % of unrelated pairs have p <= 0.05.
        return self.width > max(self.chance, 1.15) and MIN_SHAPE <= self.shape <= MAX_SHAPE


@dataclass(frozen=True)
class HiddenFactors:
    """Components that are spread over the genes.

    scores : float64 (factors, samples), of mean 0 and variance 1, strongest first; correlated.
    weights : float64 (samples, factors): normal scores of genes times these are their loadings,
        given all components that were found, narrow ones too.
    loadings : float64 (genes, factors), these loadings.
    shares : float64 (factors,), share of the variance of the genes looked at that each holds; they
        overlap. share : what goes with all of them.
    strength : sum over genes and samples of the squares that the strongest holds, over the largest
        that a component of unrelated genes holds; 0 without factors.
    gain : excess of the mean squared correlation of genes that goes with them, over that of
        unrelated genes.
    broad : whether one of them loads on enough genes to be none of a module.
    spread : of the correlations of all genes.
    made_by : by "genes" where genes that go together beside the factors are held alike by them:
        effects of a gene spread along its network; by "samples" where they are not; "" where no
        genes go together beside them.
    """

    scores: Float64Array
    weights: Float64Array
    loadings: Float64Array
    shares: Float64Array
    share: float
    strength: float
    gain: float
    broad: bool
    spread: Spread
    made_by: Literal["genes", "samples", ""]

    @property
    def strong(self) -> bool:
        """Whether the factors are strong enough to relate genes by themselves."""
        return min(self.strength / MIN_STRENGTH, self.gain / MIN_GAIN) >= 1 and self.broad


class Decomposed(NamedTuple):
    """Normal scores of genes, and their decomposition.

    scored : float64 (genes, samples), less what is ``removed``, an orthonormal basis, float64
    (samples, dimensions), of what is off the values already; None: nothing is.
    svd : waits for another thread to end with left vectors, singular values and right vectors.
    """

    scored: Float64Array
    removed: Float64Array | None
    svd: Callable[[], tuple[Float64Array, Float64Array, Float64Array]]

    @classmethod
    def of_values(cls, values: Float64Array, removed: Float64Array | None = None) -> Decomposed:
        """values : float64 (genes, samples), NaN where missing."""
        scored = _without(normal_scores(values), removed)
        return cls(
            scored, removed, in_background(partial(np.linalg.svd, scored, full_matrices=False))
        )


@dataclass(frozen=True)
class Exchange:
    """What may be exchanged where genes are unrelated.

    groups : int (samples,): values are permuted within each group. shifted : bool (groups,): of
    these, they are shifted along instead, the end coming back in at the start.
    """

    groups: IntegerArray
    shifted: BoolArray

    def orders(self, rows: int, random: np.random.Generator) -> Int64Array:
        """An order of the samples for each of so many rows, (rows, samples)."""
        found = np.empty((rows, self.groups.size), dtype=np.int64)
        for group, shifted in enumerate(self.shifted):
            here = np.flatnonzero(self.groups == group)
            if shifted:
                begins = random.integers(here.size, size=(rows, 1))
                found[:, here] = here[(np.arange(here.size) + begins) % here.size]
            else:
                found[:, here] = random.permuted(np.tile(here, (rows, 1)), axis=1)
        return found

    def exchanged(self, rows: Float64Array, random: np.random.Generator) -> Float64Array:
        """Each row (rows, samples) exchanged by itself."""
        return np.take_along_axis(rows, self.orders(len(rows), random), axis=1)


@one_blas_thread()
def find_hidden_factors(
    values: Float64Array | Decomposed,
    seed: int = 0,
    number: int | None = None,
    exchange: Exchange | None = None,
    of_controls: bool = False,
) -> HiddenFactors:
    """Components of a table above those of unrelated genes and spread over its genes.

    Parameters
    ----------
    values : float64 (genes, samples)
        NaN where missing. Of many genes a thousand are enough. Or these, decomposed.
    seed : int
    number : int, optional
        How many of the first components are taken, whatever their breadth, at most half as many as
        samples and fewer than genes; None: the broad ones of
        those above the exchanged tables' (parallel analysis, Buja and Eyuboglu 1992, Multivar
        Behav Res 27:509), of at most 50; none in fewer than ``MIN_GENES``.
    exchange : Exchange, optional
        None: all samples may be permuted.
    of_controls : bool
        Whether the genes have nothing in common but factors (negative controls; Gagnon-Bartsch and
        Speed 2012, Biostatistics 13:539): then breadth and number of genes do not matter.
    """
    table = values if isinstance(values, Decomposed) else Decomposed.of_values(values)
    scored, removed, (_, singular, right) = table.scored, table.removed, table.svd()
    n_samples = scored.shape[1]
    exchange = exchange or Exchange(np.zeros(n_samples, np.int32), np.zeros(1, bool))
    random = np.random.default_rng(seed)
    chance = _largest_by_chance(
        scored, exchange, random, np.inf if number is not None else singular[0], removed
    )
    rank = int((singular > 1e-9 * singular[0]).sum())
    # The weakest of more relate few genes by themselves, of which something must be left.
    most = max(0, min(50, n_samples // 2, rank - (not of_controls)))
    found = 0 if number is None else min(number, most)
    sought = number is None and (of_controls or len(scored) >= MIN_GENES)
    more = int((singular > chance).sum()) if sought else 0
    while found < more:
        # What the first ones take, unrelated genes must not have (Dobriban and Owen 2019, J R Stat
        # Soc B 81:163). Noise went with it, in as many dimensions: else one too many leads to many.
        found = min(more, most)
        rest = scored - (scored @ right[:found].T) @ right[:found]
        rest /= np.sqrt(np.prod([1.0 - found / size for size in scored.shape]))
        enough = np.append(singular, 0.0)[found]
        chance_of_rest = _largest_by_chance(rest, exchange, random, enough, removed)
        more = min(most, int((singular > chance_of_rest).sum()))
    spread = in_background(partial(_spread, scored, exchange, random, removed))
    components = right[:found] * np.sqrt(n_samples)
    loadings = scored @ components.T / n_samples
    if found > 1:
        loadings, components = _promax(loadings, components)
    weights = loadings**2
    total = weights.sum(axis=0)
    # Participation ratio: normal loadings on all genes have 1/3.
    broad = total**2 > 0.2 * len(scored) * (weights**2).sum(axis=0)
    # Of genes that a component does not load on, half are nearer to 0 than the quartile of chance.
    near = (np.abs(loadings) < scipy.special.ndtri(0.75) / np.sqrt(n_samples)).mean(axis=0)
    # Less the error of that share, modules of up to a third of the genes do not reach 0.4.
    breadth = (1 - 2 * near)[broad].max(initial=0.0) - 1 / np.sqrt(len(scored))
    broad |= number is not None or of_controls
    order = np.flatnonzero(broad)[np.argsort(-total[broad], kind="stable")]
    scores, inverse = components[order], np.linalg.pinv(components)[:, order]
    rest = scored - (scored @ inverse) @ scores
    before = orthonormal(np.empty((n_samples, 0)) if removed is None else removed)
    now, left = (Left.of_rows(scored, basis) for basis in (before, orthonormal(scores.T, before)))
    return HiddenFactors(
        scores=scores,
        weights=inverse,
        loadings=scored @ inverse,
        shares=total[order] / len(scored),
        share=float(1.0 - (rest**2).sum() / max((scored**2).sum(), 1.0)),
        strength=float(total[order].max(initial=0.0) * n_samples / chance**2) if chance else 0.0,
        gain=(now.excess - left.excess) * left.free if len(scores) else 0.0,
        broad=of_controls or bool(breadth > 0.4),
        spread=spread(),
        made_by=_made_by(scored, scores, rest)
        if order.size and left.excess * left.free >= MIN_GAIN
        else "",
    )


def _made_by(
    scored: Float64Array, scores: Float64Array, rest: Float64Array
) -> Literal["genes", "samples", ""]:
    """What makes the factors: genes, where the strongest factor, and all on average by what they
    hold, hold genes as they do their neighbours in ``rest`` (genes, samples), which count by the
    fourth power of their correlations."""
    held = (scored @ scores.T) ** 2
    rows = standardised(rest)
    near = (rows @ rows.T / rows.shape[1]) ** 4
    np.fill_diagonal(near, 0.0)
    ranks = normal_scores(held.T)
    around = normal_scores(ranks @ near / np.maximum(near.sum(axis=0), 1e-300))
    total = held.sum(axis=0)
    alike = (ranks * around).mean(axis=1)
    if np.quantile(near.max(axis=1), 0.9) <= MIN_NEIGHBOUR**4:
        return ""
    enough = alike[total.argmax()] > MIN_ALIKE and alike @ total > MIN_MEAN_ALIKE * total.sum()
    return "genes" if enough else "samples"


def without_factors(values: Float64Array, factors: HiddenFactors) -> Float64Array:
    """Normal scores of the genes less what the factors hold of them, float64 (genes, samples); NaN
    where ``values`` is."""
    scored = normal_scores(values)
    scored -= (scored @ factors.weights) @ factors.scores
    scored[np.isnan(values)] = np.nan
    return scored


def normal_scores(values: Float64Array) -> Float64Array:
    """Ranks of each gene as quantiles of the normal distribution (Blom 1958), of mean 0 and
    variance 1, float64 (genes, samples); 0 where missing and for constant genes."""

    def of_block(block: Float64Array) -> Float64Array:
        ranks = np.array(block, dtype=np.float64, order="C")
        average_ranks(ranks, ranks)
        observed = np.isfinite(block).sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return standardised(scipy.special.ndtri((ranks - 0.375) / (observed + 0.25)))

    # Of the thousand genes that are looked at, there is some for each of many threads.
    return map_rows(of_block, values, np.empty(values.shape), 1 << 16)


def _without(rows: Float64Array, removed: Float64Array | None) -> Float64Array:
    """Rows (genes, samples) less what ``removed`` holds of them, with variance 1."""
    if removed is None or not removed.size:
        return rows
    return standardised(rows - (rows @ removed) @ removed.T)


def _largest_by_chance(
    scored: Float64Array,
    exchange: Exchange,
    random: np.random.Generator,
    enough: float,
    removed: Float64Array | None,
) -> float:
    """The largest singular value of tables in which each gene is exchanged by itself, or the first
    that is ``enough``: the component of that size is then none."""

    def largest(seed: np.int64) -> float:
        rows = _without(exchange.exchanged(scored, np.random.default_rng(seed)), removed)
        square = rows.T @ rows if rows.shape[1] <= len(rows) else rows @ rows.T
        if np.trace(square) < 1e-9:
            return 0.0
        # Of so few rows, all eigenvalues are found sooner than the largest alone.
        if len(square) <= 300:
            return float(np.linalg.eigvalsh(square)[-1])
        # A start of ones would be none: rows sum to 0.
        start = np.random.default_rng(0).normal(size=len(square))
        return float(
            scipy.sparse.linalg.eigsh(square, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0]
        )

    found = 0.0
    for size in in_threads(largest, random.integers(2**62, size=PERMUTATIONS)):
        found = max(found, size**0.5)
        if found >= enough:
            break
    return found


def _spread(
    scored: Float64Array,
    exchange: Exchange,
    random: np.random.Generator,
    removed: Float64Array | None,
) -> Spread:
    """The empirical null of the correlations, from their centre (Efron 2004, J Am Stat Assoc
    99:96): related pairs, which lie far out, do not make it wider. Genes follow a factor unequally:
    those that correlate alike are taken together to tell how many pairs it makes significant."""
    some = scored[evenly_spaced(len(scored), MAX_SPREAD_GENES)]
    some = some[some.any(axis=1)]
    n, samples = some.shape
    free = samples - 1 - (0 if removed is None else removed.shape[1])
    if n < 3 or free < MIN_DEGREES:
        return Spread(1.0, 1.0, 0.05, 0.05, 1.0)
    wide = -scipy.special.ndtri(0.025)

    def others(rows: Float64Array) -> Float64Array:
        z = np.abs(rows @ rows.T) * (free / samples / rows.shape[1]) ** 0.5
        return np.asarray(z[~np.eye(n, dtype=bool)].reshape(n, n - 1))

    z = others(some)

    exchanged = (_without(exchange.exchanged(some, random), removed) for _ in range(PERMUTATIONS))
    by_chance = np.array([_width(others(rows)) for rows in exchanged])
    width, chance = _width(z) / by_chance.mean(), by_chance.max() / by_chance.mean()
    passing = float((z > wide).mean())
    z = others(standardised(some[:, evenly_spaced(samples, SHAPE_SAMPLES)]))
    order = np.argsort(np.median(z, axis=1))
    parts = np.array_split(order, max(1, min(MAX_GROUPS, n // GENES_OF_A_GROUP)))
    accounted = sum(part.size * _passing(_width(z[part])) for part in parts) / n
    shape = accounted / max((z > wide).mean(), 1 / z.size)
    return Spread(float(width), float(chance), _passing(width), passing, float(shape))


def _passing(width: float) -> float:
    """Share of p <= 0.05 of correlations that have so many times their variance by chance."""
    return float(2.0 * scipy.special.ndtr(scipy.special.ndtri(0.025) / width**0.5))


def _width(z: Float64Array) -> float:
    """The variance of a normal distribution about 0 whose values within ``CENTRE`` have the mean
    square that these have there."""
    squares, widths = z[z < CENTRE] ** 2, np.geomspace(0.1, 100.0, 1000)
    inside, in_all = (scipy.special.gammainc(k, CENTRE**2 / 2 / widths) for k in (1.5, 0.5))
    found = np.interp(squares.mean(), widths * inside / in_all, widths) if squares.size else 100.0
    return float(found)


def root_of_alike(scored: Float64Array, width: float) -> Float64Array:
    """The symmetric root, float64 (samples, samples), of a covariance of samples under which
    correlations of unrelated genes have ``width`` times their variance by chance.

    scored : float64 (genes, samples), rows of mean 0 and variance 1. Their covariance of samples is
    shrunken towards none: chance and related genes made it, too.
    """
    gram = scored.T @ scored / len(scored)
    np.fill_diagonal(gram, 0.0)
    least = max(float((gram**2).sum()), 1e-300)
    gram *= min(1.0, ((width - 1.0) * len(gram) / least) ** 0.5)
    sizes, vectors = np.linalg.eigh(np.eye(len(gram)) + gram)
    return np.asarray((vectors * np.sqrt(np.maximum(sizes, 0.0))) @ vectors.T)


def _promax(loadings: Float64Array, components: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Loadings and scores turned to simple structure, scores correlated with variance 1."""
    n, k = loadings.shape
    rotation, reached = np.eye(k), 0.0
    for _ in range(VARIMAX_STEPS):  # squared loadings of each component are to vary most
        turned = loadings @ rotation
        squares = turned * turned  # a power of 3 takes ten times as long
        gradient = loadings.T @ (turned * (squares - squares.sum(axis=0) / n))
        left, sizes, right = np.linalg.svd(gradient)
        rotation = left @ right
        if sizes.sum() < reached * (1 + 1e-8):
            break
        reached = float(sizes.sum())
    turned = loadings @ rotation
    target = turned * np.abs(turned) ** (PROMAX_POWER - 1)
    oblique = np.linalg.lstsq(turned, target, rcond=None)[0]
    oblique *= np.sqrt(np.diag(np.linalg.inv(oblique.T @ oblique)))
    return turned @ oblique, np.linalg.inv(rotation @ oblique) @ components
