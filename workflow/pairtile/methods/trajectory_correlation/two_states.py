"""Whether two states differ, with replicas as the unit: arrays in, arrays out.

Frames of one run are no independent samples, runs are. So a value is compared by how far the
replicas of each state scatter about their mean. Of few replicas the scatter of one pair is hardly
known; that of all pairs together says what to expect (Smyth 2004).
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from pairtile.arrays import Float64Array, Int64Array
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.tail import TAIL_DRAWS, tail_p_values

MAX_RELABELLINGS = 50
"""Divisions of the replicas into two groups that make the permutation null; more are drawn from."""

MAX_DEGREES_OF_FREEDOM = 1e6
"""Degrees of freedom that stand for a scatter that is the same for all."""


def compare_states(first: ArrayLike, second: ArrayLike, seed: int) -> pd.DataFrame:
    """Test differences, first minus second, of values measured in replicas of two states.

    Parameters
    ----------
    first, second
        float64 (replicas, values) of each state.
    seed
        Of the divisions that are drawn where there are more than ``MAX_RELABELLINGS``.

    Returns
    -------
    DataFrame
        A row for each value; NaN where not tested (fewer than two replicas, or a value is NaN).
        ``z``: the difference over its moderated standard error, ``standard_error``. ``p_value``: of
        Student's t, two-sided. ``p_permutation``: share of all values under all other divisions of
        the replicas whose z is as large, beyond these by their tail (``tail_p_values``).
        ``q_value``: Benjamini and Hochberg, of the larger of the two.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (first, second)]
    n_first, n_second = map(len, parts)
    values = np.concatenate(parts)
    known = np.isfinite(values).all(axis=0)
    columns = ["z", "standard_error", "p_value", "p_permutation", "q_value"]
    found = pd.DataFrame(np.nan, index=range(known.size), columns=columns)
    if min(n_first, n_second) < 2 or not known.any():
        return found
    values = values[:, known]
    z, freedom = moderated(values, n_first)
    difference = values[:n_first].mean(axis=0) - values[n_first:].mean(axis=0)
    error = np.divide(difference, z, out=np.full(z.size, np.nan), where=z != 0.0)
    size = np.sort(np.abs(z))
    exceeding, number, largest = np.zeros(size.size), 0, np.empty(0)
    for group in relabellings(n_first, n_second, seed):
        rest = np.setdiff1d(np.arange(len(values)), group)
        null, _ = moderated(values[np.concatenate([group, rest])], n_first)
        null = np.sort(np.abs(null))
        exceeding += null.size - np.searchsorted(null, size, side="left")
        number += null.size
        largest = np.sort(np.append(largest, null[-TAIL_DRAWS - 1 :]))[-TAIL_DRAWS - 1 :]
    rank = np.searchsorted(size, np.abs(z), side="left")
    p_value = 2.0 * scipy.stats.t.sf(np.abs(z), freedom)
    p_permutation = tail_p_values(size, exceeding, number, largest[::-1])[rank]
    q_value = benjamini_hochberg(np.maximum(p_value, p_permutation))
    found.loc[known] = np.column_stack([z, error, p_value, p_permutation, q_value])
    return found


def moderated(values: Float64Array, n_first: int) -> tuple[Float64Array, float]:
    """Difference of the means over its standard error, and its degrees of freedom.

    The variance of each value is drawn towards that of all by as much as these agree, with the
    prior of Smyth (2004), equations 7 to 12. ``values``: (replicas of both states, values);
    ``n_first``: replicas of the first. 0 where neither state scatters and the two are equal.
    """
    one, other = values[:n_first], values[n_first:]
    freedom = len(values) - 2
    squares = (((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in (one, other))
    variance = np.add(*squares) / freedom
    prior, prior_freedom = variance_prior(variance[variance > 0.0], freedom)
    drawn = (prior_freedom * prior + freedom * variance) / (prior_freedom + freedom)
    error = np.sqrt(drawn * (1.0 / len(one) + 1.0 / len(other)))
    difference = one.mean(axis=0) - other.mean(axis=0)
    z = np.divide(difference, error, out=np.zeros_like(difference), where=error > 0.0)
    return z, min(prior_freedom, MAX_DEGREES_OF_FREEDOM) + freedom


def variance_prior(variance: Float64Array, freedom: float) -> tuple[float, float]:
    """Scaled inverse chi squared that variances come from: its scale and degrees of freedom.

    ``variance``: float64 (values,), above 0, each with ``freedom`` degrees of freedom.
    """
    if variance.size < 3:
        return 0.0, 0.0
    logs = np.log(variance) - scipy.special.digamma(freedom / 2) + np.log(freedom / 2)
    spread = float(logs.var(ddof=1) - scipy.special.polygamma(1, freedom / 2))
    if spread <= scipy.special.polygamma(1, MAX_DEGREES_OF_FREEDOM / 2):
        return float(np.exp(logs.mean())), MAX_DEGREES_OF_FREEDOM
    # Trigamma lies between 1 / x and 1 / x + 1 / x^2, which brackets its inverse.
    ends = 0.5 / spread, 1.0 / spread + 1.0
    half = scipy.optimize.brentq(
        lambda half: float(scipy.special.polygamma(1, half)) - spread, *ends, xtol=1e-14
    )
    return float(np.exp(logs.mean() + scipy.special.digamma(half) - np.log(half))), 2.0 * half


def relabellings(n_first: int, n_second: int, seed: int) -> list[Int64Array]:
    """Divisions of all replicas other than the true one: the numbers of the first group of each.

    Of groups of one size a division and its mirror image are one. At most ``MAX_RELABELLINGS``.
    """
    n, true = n_first + n_second, tuple(range(n_first))
    mirrored = n_first == n_second
    total = comb(n, n_first) // (2 if mirrored else 1) - 1
    if total <= MAX_RELABELLINGS:
        every = combinations(range(n), n_first)
        wanted = [g for g in every if g != true and (not mirrored or 0 in g)]
        return [np.array(group, dtype=np.int64) for group in wanted]
    draw = np.random.default_rng(seed)
    found: set[tuple[int, ...]] = set()
    while len(found) < MAX_RELABELLINGS:
        group = tuple(np.sort(draw.permutation(n)[:n_first]).tolist())
        if mirrored and 0 not in group:
            group = tuple(sorted(set(range(n)) - set(group)))
        if group != true:
            found.add(group)
    return [np.array(group, dtype=np.int64) for group in sorted(found)]


def matched_communities(first: NDArray[np.integer], second: NDArray[np.integer]) -> Int64Array:
    """Communities of the second state by the numbers of those of the first that they share the most
    members with (each number once; Kuhn 1955); further ones get numbers after all of the first.

    ``first``, ``second``: (members,), from 1 on, 0 for none. Returns ``second`` renumbered.
    """
    n_first, n_second = int(first.max(initial=0)), int(second.max(initial=0))
    shared = np.zeros((n_second + 1, n_first + 1), dtype=np.int64)
    np.add.at(shared, (second, first), 1)
    number = np.zeros(n_second + 1, dtype=np.int64)
    rows, columns = scipy.optimize.linear_sum_assignment(-shared[1:, 1:])
    number[rows + 1] = (columns + 1) * (shared[rows + 1, columns + 1] > 0)
    new = np.flatnonzero(number[1:] == 0) + 1
    number[new] = n_first + 1 + np.arange(new.size)
    return number[second]
