"""What is known of samples and explains the values of many genes.

Samples that are alike (of one tissue, family, hour or place) make unrelated genes agree. The mean
squared correlation of unrelated genes is 1 / f where f degrees of freedom are left, and more where
samples are alike. To take off what they share costs degrees of freedom: of several ways the best is
the one with the least excess over 1 / f, and the least 1 / f.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from pairtile.arrays import Float64Array, Int64Array, IntegerArray
from pairtile.statistics.dependence import evenly_spaced, standardised

# A column is named where it explains more than in so many permutations of the samples for each
# column that is tried: in one table of forty one is named by chance.
DRAWS = 40
# Waves of a curve and of a surface that are tested, however many are taken off.
TESTED_WAVES = (5, 8)

MIN_GAIN = 0.1
"""Least excess, in units of 1 / f, that the first term named takes off: with 0.1 more, 6 % of
unrelated pairs have p <= 0.05. Others beside it need none."""

MIN_DEGREES = 5
"""Degrees of freedom that must be left."""


class Term(NamedTuple):
    """Something known of the samples that can be taken off.

    name : as ``preprocess.regress_out`` has it. columns : float64 (samples, columns), what is taken
    off, or the coordinates of which ``smooth`` waves are.
    """

    name: str
    columns: Float64Array
    smooth: bool = False

    def for_samples(self, samples: Int64Array) -> Term:
        """Of some of the samples."""
        return self._replace(columns=self.columns[samples])

    def all_columns(self, number: int) -> Float64Array:
        """What is taken off, (samples, columns); of waves so many."""
        return waves(self.columns, number) if self.smooth else self.columns

    def design(self, rows: Float64Array, removed: Float64Array) -> Float64Array:
        """Columns to take off, (samples, columns); of waves as many as are worth it."""
        # At most a third of the degrees of freedom.
        most = max(1, int(1 / 3 * (rows.shape[1] - 1 - removed.shape[1])))
        every = self.all_columns(most)
        best, least = every.shape[1], np.inf
        for size in sorted({min(best, round(1.4**k)) for k in range(25 * self.smooth)}):
            loss = Left.of_rows(rows, orthonormal(every[:, :size], removed)).loss
            if loss < least:
                best, least = size, loss
            elif size > 2 * best + 3:
                break
        return every[:, :best]


def orthonormal(columns: Float64Array, removed: Float64Array | None = None) -> Float64Array:
    """An orthonormal basis, (samples, dimensions), of what the orthonormal ``removed`` and columns
    span beside a constant: ``removed`` itself comes first."""
    rest = columns - columns.mean(axis=0)
    size = np.linalg.norm(rest, axis=0)
    rest = rest / np.where(size > 0.0, size, 1.0)
    before = np.empty((len(rest), 0)) if removed is None else removed
    rest -= before @ (before.T @ rest)
    basis, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    return np.hstack([before, basis[:, sizes > 1e-6]])


def together(designs: Iterable[Float64Array], removed: Float64Array) -> Float64Array:
    """An orthonormal basis of ``removed`` and all designs."""
    return orthonormal(np.hstack([np.empty((len(removed), 0)), *designs]), removed)


def indicators(codes: IntegerArray) -> Float64Array:
    """Of all groups but the first, (samples, groups - 1)."""
    return (codes[:, None] == np.arange(1, codes.max(initial=0) + 1)).astype(np.float64)


def waves(coordinates: Float64Array, most: int) -> Float64Array:
    """The slowest cosines, at most so many, over one or two coordinates, (samples, waves): over the
    ranks of one, over two as they are."""
    if coordinates.shape[1] == 1:
        place = np.unique(coordinates[:, 0], return_inverse=True)[1]
        steps = int(place.max()) + 1
        orders = np.arange(1, min(most, steps - 1) + 1)
        return np.asarray(np.cos(np.pi * (place[:, None] + 0.5) / steps * orders))
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    side = int(np.sqrt(4 * most / np.pi * span.max() / span.min())) + 2
    orders = np.indices((side, side)).reshape(2, -1)[:, 1:]
    slowest = np.argsort(((orders / span[:, None]) ** 2).sum(axis=0), kind="stable")[:most]
    angle = np.pi * (coordinates - low) / span
    first, second = (np.cos(angle[:, [k]] * orders[k, slowest]) for k in (0, 1))
    return np.asarray(first * second)


class Left(NamedTuple):
    """What pairs of genes have in common after something is taken off. excess : mean squared
    correlation over that of unrelated genes, 1 / ``free``. passing : share of pairs with p <= 0.05.
    variance : share of it that is left."""

    excess: float
    free: int
    passing: float
    variance: float

    @classmethod
    def of_rows(cls, rows: Float64Array, removed: Float64Array) -> Left:
        """Of rows (genes, samples) with mean 0 and variance 1."""
        rest = rows - (rows @ removed) @ removed.T
        variance = float((rest**2).sum() / max((rows**2).sum(), 1.0))
        rest = standardised(rest[rest.any(axis=1)]) / np.sqrt(rows.shape[1])
        squares = (rest @ rest.T)[~np.tri(len(rest), dtype=bool)] ** 2
        free = rows.shape[1] - 1 - removed.shape[1]
        if not squares.size or free < MIN_DEGREES:
            return cls(np.inf, max(free, 1), 0.0, variance)
        t = scipy.special.stdtrit(free - 1, 0.975)
        passing = float((squares > t * t / (free - 1 + t * t)).mean())
        return cls(float(squares.mean()) - 1 / free, free, passing, variance)

    @property
    def loss(self) -> float:
        """What false edges (weighed twice) and lost degrees of freedom cost."""
        return 2 * self.excess + 1 / self.free


def explaining_terms(
    rows: Float64Array, terms: Sequence[Term], removed: Float64Array
) -> list[tuple[Term, Float64Array]]:
    """Terms that together explain what samples share, each with what it takes off; none is implied
    by later ones (a population by families).

    Step by step the term is taken that leaves the least, of those that hold more of the rows than
    in each permutation of the samples.

    Parameters
    ----------
    rows : float64 (genes, samples)
        Of mean 0 and variance 1.
    removed : float64 (samples, dimensions)
        An orthonormal basis of what is off already.
    """
    chosen: list[tuple[Term, Float64Array]] = []
    basis, now = removed, Left.of_rows(rows, removed)
    while len(chosen) < 6:
        rest = rows - (rows @ basis) @ basis.T
        found: list[tuple[float, int, Term, Float64Array, Left]] = []
        for term in terms:
            tested = term.all_columns(TESTED_WAVES[term.columns.shape[1] - 1] if term.smooth else 0)
            if not _explains(rest, orthonormal(tested, basis), basis, DRAWS * len(terms)):
                continue
            design = term.design(rest, basis)
            left = Left.of_rows(rows, orthonormal(design, basis))
            gain = (now.excess - left.excess) * left.free
            if left.loss < now.loss and gain >= (0.0 if chosen else MIN_GAIN):
                found.append((left.loss, len(found), term, design, left))
        if not found:
            break
        _, _, term, design, now = min(found)
        chosen.append((term, design))
        basis = orthonormal(design, basis)
    later = [together([d for _, d in chosen[k + 1 :]], removed) for k in range(len(chosen))]
    return [
        one
        for one, after in zip(chosen, later, strict=True)
        if orthonormal(one[1], after).shape[1] > after.shape[1]
    ]


def _explains(rest: Float64Array, basis: Float64Array, removed: Float64Array, draws: int) -> bool:
    """Whether ``basis``, beside ``removed`` in it, holds more of ``rest`` than each of its
    permutations does."""
    some, own = rest[evenly_spaced(len(rest), 200)], basis[:, removed.shape[1] :]
    # What is permuted lies partly in what is removed.
    free = len(basis) - 1
    held = ((some @ own) ** 2).sum() * (1 - removed.shape[1] / free)
    random = np.random.default_rng(0)
    orders = (random.permutation(len(basis)) for _ in range(draws))
    return own.size > 0 and all(((some[:, order] @ own) ** 2).sum() < held for order in orders)
