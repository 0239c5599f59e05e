"""Many targets at once: what the vector kernels of the exhaustive search share.

Vector lanes run over the targets of a chunk. A screen computes in float32 a lower bound of each
target's score, and only where it is not above the target's limit is the set scored exactly. The
limit lies above the largest key still wanted by more than all rounding errors of a screen.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.cpu.bit_planes import popcount
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_KEY,
    entropy_of_samples,
    key_of,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_best import is_before, offer

LANES = 16
"""Targets of a chunk are padded to a multiple of this."""

SCREEN = {"contract", "nsz"}
"""Compiler freedoms for the screen, which only has to keep within its margin."""


@njit(cache=True, nogil=True, inline="always")
def margin_bits(n_cells):  # type: ignore[no-untyped-def]
    """More than the error of a screen, in bits of MCE.

    Bounds: rounding to float32 moves each of a cell's some six operations by at most 6e-8 of
    7 w_x n_x, and the w_x n_x add up to at most S + alpha M. Scores with a vectorised logarithm:
    it is off by at most 1e-6 of n log2(n), n <= S < 2^22. Either way each of the n_cells
    additions adds at most 6e-8 of 2 (S + alpha M).
    """
    return 5e-5 + 3e-7 * n_cells


@njit(cache=True, nogil=True, error_model="numpy")
def limit_bits(key, n_cells):  # type: ignore[no-untyped-def]
    """Largest value of the screen, in bits of MCE, that a set of this key can have."""
    return (np.float64(key) + 0.5) * 1e-9 + margin_bits(n_cells)


@njit(cache=True, nogil=True)
def lane_planes(targets, lanes):  # type: ignore[no-untyped-def]
    """Bit planes uint32 (q, words, lanes) of targets uint32 (n_targets, q, words); padding is 0."""
    n_targets, n_levels, words = targets.shape
    planes = np.zeros((n_levels, words, lanes), np.uint32)
    for target in range(n_targets):
        for y in range(n_levels):
            for w in range(words):
                planes[y, w, target] = targets[target, y, w]
    return planes


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, error_model="numpy")
def entropy_of_target(targets, t, log_table):  # type: ignore[no-untyped-def]
    """H(Y) in bits of target t, bit planes uint32 (n_targets, q, words), nothing missing."""
    n_samples = log_table.shape[0] - 1
    counts = np.zeros(targets.shape[1], np.int64)
    for y in range(targets.shape[1]):
        for w in range(targets.shape[2]):
            counts[y] += popcount(targets[t, y, w])
    return entropy_of_samples(log_table, counts, n_samples) / n_samples


@njit(cache=True, nogil=True)
def count_in_cells(cells, targets, t, counts):  # type: ignore[no-untyped-def]
    """Fill counts (M, q) of cells uint32 (m, M / m, words) with target t, uint32 (n, q, words)."""
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            for y in range(targets.shape[1]):
                n = 0
                for w in range(targets.shape[2]):
                    n += popcount(cells[i, j, w] & targets[t, y, w])
                counts[i * cells.shape[1] + j, y] = n


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, error_model="numpy")
def offer_scored(  # type: ignore[no-untyped-def]
    indices,
    n_hits,
    mce,
    candidate,
    exclude,
    n_cells,
    limits,
    limit_scale,
    worst,
    keys,
    sets,
    scores,
    ties,
    filled,
):
    """Offer one set to the lists of the targets ``indices[:n_hits]``.

    mce      float64, one for each hit: the canonical score
    exclude  int32 (n_targets,): predictor whose sets a target does without
    limits   float32 (lanes,), worst  int64 (n_targets,): sink with the lists' largest keys
    """
    end = keys.shape[1] - 1
    for i in range(n_hits):
        t = indices[i]
        key = key_of(mce[i])
        excluded = key > worst[t]
        for j in range(candidate.shape[0]):
            excluded |= candidate[j] == exclude[t]
        if excluded:
            continue
        if filled[t] > end and key == keys[t, end] and not is_before(candidate, sets, t, end):
            ties[t, end] += 1  # as ``offer`` does, without the call
            continue
        offer(t, keys, sets, scores, ties, filled, key, candidate, mce[i])
        if filled[t] > end and keys[t, end] < worst[t]:
            worst[t] = keys[t, end]
            limits[t] = limit_scale * limit_bits(worst[t], n_cells)


@njit(cache=True, nogil=True)
def start_limits(cut, lanes, n_cells, limit_scale):  # type: ignore[no-untyped-def]
    """Limits float32 (lanes,) for the largest keys wanted; nothing passes in padding."""
    limits = np.full(lanes, -np.inf, np.float32)
    for t in range(cut.shape[0]):
        limits[t] = np.inf if cut[t] >= NO_KEY - 1 else limit_scale * limit_bits(cut[t], n_cells)
    return limits
