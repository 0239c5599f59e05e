"""The engine of the exhaustive search: one set against many targets at once.

Vector lanes run over the targets of a chunk, padded to whole vectors; bit planes of targets lie
lane by lane, so that counting the samples of a cell is AND and population count over a vector. For
each set a screen computes in float32 a lower bound of every target's score, and only where it is
not above the target's limit is the set scored exactly and offered to the target's list. The limit
lies above the largest key still wanted by more than all rounding errors of a screen, and falls as
lists fill: most sets cost no more than their screen.

What is called for every set or hit and takes arrays in tuples is inlined by the compiler
(``forceinline``), else each call would count references to each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import popcount
from pairtile.cpu.njit import njit
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_KEY,
    NO_OBS,
    entropy_of_samples,
    is_before,
    key_of,
    mean_conditional_entropy,
    offer,
)

LANES = 16
"""Targets of a chunk are padded to a multiple of this."""

SCREEN = {"contract", "nsz"}
"""Compiler freedoms for the screen, which only has to keep within its margin."""


class Targets(NamedTuple):
    """A chunk of targets, some hundred at most.

    planes (n, q, words): bit planes. exclude (n,): the predictor whose sets a target does without,
    -1 for none. max_key (n,): the largest key wanted, updated. complete: whether no level of
    targets and predictors is missing. lags: so many neighbouring predictors count as one for
    ``exclude``.
    """

    planes: NDArray[np.uint32]
    exclude: NDArray[np.int32]
    max_key: NDArray[np.int64]
    complete: bool
    lags: int = 1


class Lanes(NamedTuple):
    """A chunk of targets in vector lanes, and scratch for one set.

    planes (q, words, lanes); entropies, entropies_32 (lanes,): H(Y), 0 where levels are missing;
    limits (lanes,): limit of the screen's bound, the largest MCE wanted times limit_scale; hits
    (lanes,): whether the bound is within the limit; indices (lanes + 8,), scores (lanes,): of hits.
    """

    planes: NDArray[np.uint32]
    entropies: NDArray[np.float64]
    entropies_32: NDArray[np.float32]
    limits: NDArray[np.float32]
    hits: NDArray[np.uint8]
    indices: NDArray[np.int64]
    scores: NDArray[np.float64]
    limit_scale: float


@njit(nogil=True, inline="always")
def margin_bits(n_cells):  # type: ignore[no-untyped-def]
    """More than the error of a screen, in bits of MCE.

    Bounds: rounding to float32 moves each of a cell's some six operations by at most 6e-8 of
    7 w_x n_x, and the w_x n_x add up to at most S + alpha M. Scores with a vectorised logarithm:
    it is off by at most 1e-6 of n log2(n), n <= S < 2^22. Either way each of the n_cells
    additions adds at most 6e-8 of 2 (S + alpha M).
    """
    return 5e-5 + 3e-7 * n_cells


@njit(nogil=True, error_model="numpy")
def limit_bits(key, n_cells):  # type: ignore[no-untyped-def]
    """Largest value of the screen, in bits of MCE, that a set of this key can have."""
    return (np.float64(key) + 0.5) * 1e-9 + margin_bits(n_cells)


@njit(nogil=True)
def lane_planes(targets, lanes):  # type: ignore[no-untyped-def]
    """Bit planes uint32 (q, words, lanes) of targets uint32 (n_targets, q, words); padding is 0."""
    n_targets, n_levels, words = targets.shape
    planes = np.zeros((n_levels, words, lanes), np.uint32)
    for level in range(n_levels):  # a loop: numba compiles a message for slices of unequal shapes
        for word in range(words):
            for t in range(n_targets):
                planes[level, word, t] = targets[t, level, word]
    return planes


@njit(nogil=True, error_model="numpy")
def start_lanes(targets, n_cells, scoring):  # type: ignore[no-untyped-def]
    """The lanes of a chunk of targets for sets of so many cells; nothing passes in padding."""
    n_targets = targets.planes.shape[0]
    n_samples = scoring.log_table.shape[0] - 1
    lanes = (n_targets + LANES - 1) // LANES * LANES
    entropies = np.zeros(lanes, np.float64)
    limit_scale = 1.0
    if targets.complete:
        limit_scale = np.float64(n_samples)
        if scoring.penalty == NO_OBS:
            limit_scale = n_samples + scoring.alpha * n_cells
        counts = np.empty(targets.planes.shape[1], np.int64)
        for t in range(n_targets):
            counts[:] = 0
            for y in range(counts.size):
                for w in range(targets.planes.shape[2]):
                    counts[y] += popcount(targets.planes[t, y, w])
            entropies[t] = entropy_of_samples(scoring.log_table, counts, n_samples) / n_samples
    limits = np.full(lanes, -np.inf, np.float32)
    for t in range(n_targets):
        key = targets.max_key[t]
        limits[t] = np.inf if key >= NO_KEY - 1 else limit_scale * limit_bits(key, n_cells)
    return Lanes(
        lane_planes(targets.planes, lanes),
        entropies,
        entropies.astype(np.float32),
        limits,
        np.zeros(lanes, np.uint8),
        np.empty(lanes + 8, np.int64),
        np.empty(lanes, np.float64),
        limit_scale,
    )


@njit(nogil=True, forceinline=True)
def count_lanes(cells, i, j, planes, y, counts, row):  # type: ignore[no-untyped-def]
    """Samples of cells[i, j] uint32 (words,) in each lane of planes[y] uint32 (words, lanes).

    counts: float32 (rows, lanes), row ``row`` is filled. Indices rather than slices throughout the
    search: a slice is reference-counted, which costs as much as dozens of lanes.
    """
    words, lanes = planes.shape[1:]
    word = cells[i, j, 0]
    if words == 1:
        for t in range(lanes):
            counts[row, t] = np.float32(np.int32(popcount(word & planes[y, 0, t])))
        return
    word_2 = cells[i, j, 1]
    for t in range(lanes):
        n = np.int32(popcount(word & planes[y, 0, t])) + np.int32(
            popcount(word_2 & planes[y, 1, t])
        )
        counts[row, t] = np.float32(n)
    for w in range(2, words - 1, 2):
        word, word_2 = cells[i, j, w], cells[i, j, w + 1]
        for t in range(lanes):
            n = np.int32(popcount(word & planes[y, w, t])) + np.int32(
                popcount(word_2 & planes[y, w + 1, t])
            )
            counts[row, t] += np.float32(n)
    if words & 1:
        word = cells[i, j, words - 1]
        for t in range(lanes):
            counts[row, t] += np.float32(np.int32(popcount(word & planes[y, words - 1, t])))


@njit(nogil=True)
def count_in_cells(cells, targets, t, counts):  # type: ignore[no-untyped-def]
    """Fill counts (M, q) of cells uint32 (m, M / m, words) with target t, uint32 (n, q, words)."""
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            for y in range(targets.shape[1]):
                n = 0
                for w in range(targets.shape[2]):
                    n += popcount(cells[i, j, w] & targets[t, y, w])
                counts[i * cells.shape[1] + j, y] = n


@njit(nogil=True)
def collect_hits(hits, indices):  # type: ignore[no-untyped-def]
    """Positions of the bytes of hits uint8 (a multiple of 8,) that are 1; returns how many."""
    words = hits.view(np.uint64)
    n = 0
    for word in range(words.shape[0]):
        if words[word] != 0:
            for t in range(8 * word, 8 * word + 8):
                indices[n] = t
                n += hits[t]
    return n


@njit(nogil=True, error_model="numpy", forceinline=True)
def score_counted(n_hits, cells, targets, scoring, lanes, counts):  # type: ignore[no-untyped-def]
    """The canonical scores of one set for its hits, from fresh counts.

    cells uint32 (m, M / m, words); counts: int64 scratch (M + 1, q)
    """
    n_cells = cells.shape[0] * cells.shape[1]
    of_cells, of_target = counts[:n_cells], counts[n_cells]
    planes, indices, scores = targets.planes, lanes.indices, lanes.scores
    for i in range(n_hits):
        count_in_cells(cells, planes, indices[i], of_cells)
        scores[i] = mean_conditional_entropy(of_cells, scoring, of_target)


@njit(nogil=True, error_model="numpy", forceinline=True)
def offer_hits(n_hits, candidate, n_cells, targets, lanes, lists):  # type: ignore[no-untyped-def]
    """Offer one set with its scores to the lists of its hits, and lower their limits."""
    # An array taken out of a tuple is reference-counted: once here, not once for each hit.
    keys, sets, ties, filled = lists.keys, lists.sets, lists.ties, lists.filled
    exclude, max_key = targets.exclude, targets.max_key
    indices, scores, limits = lanes.indices, lanes.scores, lanes.limits
    end = keys.shape[1] - 1
    for i in range(n_hits):
        t = indices[i]
        mce = scores[i]
        key = key_of(mce)
        excluded = key > max_key[t]
        for j in range(candidate.shape[0]):
            excluded |= candidate[j] // targets.lags == exclude[t]
        if excluded:
            continue
        if filled[t] > end and key == keys[t, end] and not is_before(candidate, sets, t, end):
            ties[t, end] += 1  # as ``offer`` does, without the call
            continue
        offer(t, lists, key, candidate, mce)
        if filled[t] > end and keys[t, end] < max_key[t]:
            max_key[t] = keys[t, end]
            limits[t] = lanes.limit_scale * limit_bits(max_key[t], n_cells)
