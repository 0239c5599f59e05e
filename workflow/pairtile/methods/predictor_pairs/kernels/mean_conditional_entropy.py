"""Mean conditional entropy (MCE) of a target given a set of predictors, from integer counts.

This docstring is the one place where the order of operations is written down. The CPU and the GPU
follow it operation by operation in IEEE float64 without fused multiply-add, so that they agree in
every bit.

q levels, c predictors, M = q^c cells; n_xy samples in cell x with target level y, n_x = sum_y n_xy,
n_y = sum_x n_xy, S = sum_x n_x; a sample in which the target or a predictor of the set is missing
is in none of them. L[n] = n log2(n), L[0] = 0, is a table made on the host.

1. For every cell with n_x > 0, x in lexicographic order (first predictor slowest), the entropy of
   its samples n_x H(Y|x): ``h = L[n_x]``, then ``h = h - L[n_xy]`` for y = 0 .. q-1.
   poor_obs only: ``h = poor`` where n_x = 1, the entropy of (beta, (1-beta)/(q-1), ...), a host
   constant.
2. ``total = 0``; for every such cell in the same order ``total = total + h``, but with no_obs
   ``total = total + (h + (alpha * h) / n_x)``.
3. no_obs only: ``h_target = L[S]``, then ``h_target = h_target - L[n_y]`` for y = 0 .. q-1;
   ``total = total + (alpha * (M - observed cells)) * (h_target / S)``.
4. ``mce = total / S``; with no_obs ``mce = total / (S + alpha * M)``. Zero or less becomes +0.0.
5. ``key = int64(rint(mce * 1e9))``, half to even. Sets tie where keys are equal.

Sources: Lopes, Martins-Jr and Cesar 2008 (mean conditional entropy and the two penalties);
Borelli et al. 2013 (exhaustive search over pairs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit

PENALTIES = ("none", "no_obs", "poor_obs")
"""Penalties for cells that are not or poorly observed; kernels know them by their place here."""

NONE, NO_OBS, POOR_OBS = range(3)

NO_KEY = np.iinfo(np.int64).max
"""Key of a set that is not admissible: more than any."""


class Scoring(NamedTuple):
    """How sets are scored, as kernels take it.

    log_table float64 (n_samples + 1,): ``n_log_n_table``. penalty: place in ``PENALTIES``. poor:
    ``poor_entropy_bits``. min_samples: sets with fewer samples are not admissible.
    """

    log_table: NDArray[np.float64]
    penalty: int
    alpha: float
    poor: float
    min_samples: int


class BestLists(NamedTuple):
    """The best sets of each target so far: an ordered list with exact counts of ties.

    keys int64, scores float64 (the MCE in bits), ties int64 (n_targets, top), sets int32
    (n_targets, top, c), rows in ascending (key, predictors); filled int64 (n_targets,): how many
    rows there are. ties: on the last row of each key how many sets with this key were offered, 0 on
    its other rows (``finish`` moves the counts to the first rows).

    Sets may be offered in any order. Once a list is full, a key above its last one can never come
    back, so that counting ties of the keys in the list is enough to count them exactly.
    """

    keys: NDArray[np.int64]
    sets: NDArray[np.int32]
    scores: NDArray[np.float64]
    ties: NDArray[np.int64]
    filled: NDArray[np.int64]


def n_log_n_table(n_samples: int) -> NDArray[np.float64]:
    """Table L of ``n log2(n)`` for n = 0 .. n_samples."""
    table = np.zeros(n_samples + 1)
    n = np.arange(1, n_samples + 1, dtype=np.float64)
    table[1:] = n * np.log2(n)
    return table


def poor_entropy_bits(beta: float, n_levels: int) -> float:
    """Entropy of the distribution that ``poor_obs`` gives to a cell seen once."""
    others = (1.0 - beta) / (n_levels - 1)
    terms = [p * np.log2(p) for p in [beta] + [others] * (n_levels - 1) if p > 0.0]
    return max(0.0, -float(sum(terms)))


@njit(nogil=True, error_model="numpy")
def entropy_of_samples(log_table, counts, n):  # type: ignore[no-untyped-def]
    """n H of one row of counts that adds up to n, in bits."""
    h = log_table[n]
    for y in range(counts.shape[0]):
        h = h - log_table[counts[y]]
    return h


@njit(nogil=True, error_model="numpy", forceinline=True)
def mean_conditional_entropy(counts, scoring, of_target):  # type: ignore[no-untyped-def]
    """MCE in bits from counts (M cells, q target levels) that hold one sample or more.

    of_target: int scratch (q,)
    """
    log_table, penalty, alpha = scoring.log_table, scoring.penalty, scoring.alpha
    n_cells, n_levels = counts.shape
    total = 0.0
    n_samples = 0
    observed = 0
    for y in range(n_levels):
        of_target[y] = 0
    for x in range(n_cells):
        n = 0
        for y in range(n_levels):
            n += counts[x, y]
            of_target[y] += counts[x, y]
        if n == 0:
            continue
        n_samples += n
        observed += 1
        h = entropy_of_samples(log_table, counts[x], n)
        if penalty == POOR_OBS and n == 1:
            h = scoring.poor
        if penalty == NO_OBS:
            h = h + (alpha * h) / n
        total = total + h
    if penalty == NO_OBS:
        h = entropy_of_samples(log_table, of_target, n_samples)
        total = total + (alpha * (n_cells - observed)) * (h / n_samples)
        mce = total / (n_samples + alpha * n_cells)
    else:
        mce = total / n_samples
    return mce if mce > 0.0 else 0.0


@njit(nogil=True, error_model="numpy")
def key_of(mce_bits):  # type: ignore[no-untyped-def]
    """MCE in 1e-9 bit, the integer that sets are ordered by."""
    return np.int64(np.rint(mce_bits * 1e9))


@njit(nogil=True, inline="always")
def is_before(a, b, i, j):  # type: ignore[no-untyped-def]
    """Whether set a comes before the set in row (i, j) of b, lexicographically."""
    for k in range(a.shape[0]):
        if a[k] != b[i, j, k]:
            return a[k] < b[i, j, k]
    return False


@njit(nogil=True)
def offer(t, lists, key, candidate, score):  # type: ignore[no-untyped-def]
    """Count the set ``candidate`` int32 (c,) and keep it if it is among the best of list ``t``.

    Indices rather than slices, since a slice costs more than the rest of the usual call.
    """
    keys, sets, scores, ties, filled = lists
    end = keys.shape[1] - 1
    full = filled[t] > end
    if full:
        if key > keys[t, end]:
            return
        if key == keys[t, end] and not is_before(candidate, sets, t, end):
            ties[t, end] += 1  # by far the most frequent case where ties are many
            return
    place = 0  # of the candidate: the first row that comes after it
    after = filled[t]
    while place < after:
        middle = (place + after) >> 1
        if keys[t, middle] < key or (
            keys[t, middle] == key and not is_before(candidate, sets, t, middle)
        ):
            place = middle + 1
        else:
            after = middle
    last = place  # of the rows with the candidate's key, once it is in
    while last < filled[t] and keys[t, last] == key:
        last += 1
    count = 1
    if last > 0 and keys[t, last - 1] == key:
        count += ties[t, last - 1]
        ties[t, last - 1] = 0
    if full:
        if last > end:
            last = end
        elif end > 0 and keys[t, end - 1] == keys[t, end]:
            ties[t, end - 1] = ties[t, end]  # the last row goes, its key stays
    else:
        filled[t] += 1
    for row in range(filled[t] - 1, place, -1):
        keys[t, row] = keys[t, row - 1]
        scores[t, row] = scores[t, row - 1]
        ties[t, row] = ties[t, row - 1]
        for k in range(candidate.shape[0]):
            sets[t, row, k] = sets[t, row - 1, k]
    keys[t, place] = key
    scores[t, place] = score
    ties[t, place] = 0
    for k in range(candidate.shape[0]):
        sets[t, place, k] = candidate[k]
    ties[t, last] = count


@njit(nogil=True)
def finish(t, lists):  # type: ignore[no-untyped-def]
    """Move the counts of ties of list ``t`` from the last row of each key to the first."""
    keys, ties, filled = lists.keys, lists.ties, lists.filled
    first = 0
    for row in range(filled[t]):
        if row > 0 and keys[t, row] != keys[t, row - 1]:
            first = row
        count = ties[t, row]
        ties[t, row] = 0
        ties[t, first] += count
