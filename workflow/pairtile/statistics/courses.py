"""Series that follow one course, as replicates of one stimulus do.

Genes that respond to one stimulus go together in time whether or not they act on each other, and
shifts and permutations take the course apart that they have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairtile.arrays import Float64Array, Int32Array, Int64Array, IntegerArray
from pairtile.engine.state import copy_rows
from pairtile.statistics.dependence import MAX_GENES, MAX_SAMPLES, evenly_spaced, standardised

MIN_CORRELATION = 0.15
"""Correlation that counts, of rows between two series."""


def moments_of(series: IntegerArray, times: Float64Array | None) -> Float64Array:
    """When each sample was taken: its place in the series, or the stated time where series are not
    all of one length.

    series : int (samples,), samples of one in the order of time. times : (samples,), as stated.
    """
    length = np.unique(series, return_counts=True)[1]
    if times is not None and (length != length[0]).any():
        return times
    place = np.empty(series.size)
    place[np.argsort(series, kind="stable")] = np.concatenate([np.arange(n) for n in length])
    return place


@dataclass(frozen=True)
class CommonCourses:
    """Which series follow one course, as replicates of one stimulus do.

    group : int64 (series,), from 0, series in the order of their numbers. within : correlation of
    rows between a series and the others of its group, mean over series; 0 for one that stands
    alone. mean : of all pairs of series. by_chance : the largest ``within`` and ``mean`` where each
    series is shifted along itself at random, all rows alike, so that its own course, and what rows
    share, stay.
    """

    group: Int64Array
    within: float
    mean: float
    by_chance: tuple[float, float]

    @property
    def is_shared(self) -> bool:
        """Whether series follow a course in common. One stimulus shows in ``mean``, many in
        ``within``."""
        return self.within > self.by_chance[0] or self.mean > self.by_chance[1]

    def clause(self, rows: str) -> str:
        """Which series follow one course, ``rows`` in words; empty where p-values need not keep
        it."""
        # Series of a random Boolean network, whose genes settle after a random start, fall into
        # chance groups with 0.1 to 0.3, and permutation is right; all of them into one they do not.
        as_one = self.group.size > 2 and not self.group.any()
        if not self.is_shared or self.within < (MIN_CORRELATION if as_one else 0.4):
            return ""
        number = np.bincount(self.group)
        number = number[number > 1]
        return (
            f"{number.sum()} series follow {number.size} course{'s' if number.size > 1 else ''} "
            f"({rows} correlate between those of one course with {self.within:.2f} on average, at "
            f"most {self.by_chance[0]:.2f} where series are shifted; between all series with "
            f"{self.mean:.2f}, at most {self.by_chance[1]:.2f})"
        )


def common_courses(
    values: Float64Array, series: Int32Array, moments: Float64Array, seed: int = 1
) -> CommonCourses:
    """Group series by the correlation of rows between them, over the moments that both have.

    values : float64 (rows, samples), NaN where missing. series : int32 (samples,), samples of one
    in the order of time. moments : (samples,), equal where samples of two series belong together.
    """
    n_samples = min(values.shape[1], MAX_SAMPLES)
    moments = moments[:n_samples]
    names, number = np.unique(series, return_inverse=True)
    n, number = names.size, number[:n_samples]
    rows = copy_rows(values[:, :n_samples], evenly_spaced(len(values), MAX_GENES))
    members = [np.flatnonzero(number == k) for k in range(n)]
    for here in members:
        rows[:, here] = standardised(rows[:, here])
    gram = rows.T @ rows
    gram *= n_samples / max(float(np.trace(gram)), 1e-300)
    one, other = np.nonzero((moments[:, None] == moments) & (number[:, None] < number))
    if not one.size:
        return CommonCourses(np.arange(n), 0.0, 0.0, (0.0, 0.0))
    pair = number[one] * n + number[other]
    weight = np.maximum(np.bincount(pair, minlength=n * n), 1)

    def measured(order: Int64Array) -> tuple[Int64Array, float, float]:
        products = gram[order[one], order[other]]
        upper = (np.bincount(pair, products, n * n) / weight).reshape(n, n)
        return *_alike(upper + upper.T), float(products.mean())

    random = np.random.default_rng([seed, 0x636F75727365])
    within = mean = 0.0
    for _ in range(199):
        order = np.arange(n_samples)
        # The first series stays: shifts that are equal in all leave everything together.
        for here in members[1:]:
            order[here] = np.roll(here, random.integers(max(1, here.size)))
        if (order != np.arange(n_samples)).any():
            shifted = measured(order)
            within, mean = max(within, shifted[1]), max(mean, shifted[2])
    return CommonCourses(*measured(np.arange(n_samples)), (within, mean))


def _alike(correlation: Float64Array) -> tuple[Int64Array, float]:
    """Groups by average linkage, and the mean correlation of each with the others of its group.

    Two groups are joined where their members correlate with ``MIN_CORRELATION`` or more, and not
    that much less than members of the closer group do with each other.
    """
    from scipy.cluster.hierarchy import average  # as slow to import as eigsh

    n = len(correlation)
    groups = {k: [k] for k in range(n)}
    within = dict.fromkeys(range(n), 0.0)
    for new, row in enumerate(average(1.0 - correlation[np.triu_indices(n, 1)]), start=n):
        one, other = int(row[0]), int(row[1])
        if one not in groups or other not in groups:
            continue  # a part of it was not joined
        if 1.0 - row[2] < max(MIN_CORRELATION, max(within[one], within[other]) - MIN_CORRELATION):
            continue
        here = groups.pop(one) + groups.pop(other)
        within[new] = correlation[np.ix_(here, here)].sum() / (len(here) * (len(here) - 1))
        groups[new] = here
    found = np.empty(n, dtype=np.int64)
    for number, here in enumerate(groups.values()):
        found[here] = number
    return found, sum(within[key] * len(here) for key, here in groups.items()) / n
