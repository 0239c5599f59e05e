"""Transfer entropy of every source with every target, from bit planes.

A target's samples are cells: its past levels (the *history*, latest step slowest) and its next
level y, so that planes of cells AND planes of a source's levels x count the triples (h, x, y). The
CPU and the GPU (``transfer_entropy.cu``) follow this order in IEEE float64 without fused
multiply-add. L[n] = n log2(n).

1. ``past = 0``, ``given = 0``. For each history h: ``given = given - L[n_hxy]`` for each y, of it
   for each x; then for each level k ``past = past - L[n_h.k]`` (y = k) and ``given = given +
   L[n_hk.]`` (x = k); then ``past = past + L[n_h]``.
2. ``transfer = (past - given) / n``, at least 0; ``past = past / n``.
3. ``freedom`` is the sum over histories of (levels of x that were seen with it - 1) (levels of y
   that were seen with it - 1): twice n ln 2 times the transfer entropy of unrelated series of
   independent steps is about chi-square with so many degrees of freedom.
4. Of several lags the first counts whose transfer entropy no other exceeds by more than 1e-12 bit.

Source: Schreiber 2000, Phys. Rev. Lett. 85:461, equation 4; 3: Barnett & Bossomaier 2012, Phys.
Rev. Lett. 109:138105.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairtile.arrays import DeviceArray
from pairtile.cpu.njit import njit
from pairtile.methods.predictor_pairs.kernels.lanes import count_in_cells

TIE_BITS = 1e-12


class TransferScores(NamedTuple):
    """Of every source (rows) with every target (columns), at the best lag.

    transfer_bits, past_bits : float64, the transfer entropy and H(Y'|Y). freedom, n_samples : int32
    degrees of freedom, and samples in which all levels are present. place : int8, of the lag; -1
    where no lag has ``min_samples``.
    """

    transfer_bits: DeviceArray
    past_bits: DeviceArray
    freedom: DeviceArray
    n_samples: DeviceArray
    place: DeviceArray


@njit(nogil=True, error_model="numpy")
def _score(counts, log_table, margins):  # type: ignore[no-untyped-def]
    """n, n H(Y'|Y), n H(Y'|Y, X) and degrees of freedom of counts (histories * q, q).

    margins: int64 scratch (2, q), for samples at each y and at each x
    """
    n_levels = counts.shape[1]
    past = given = 0.0
    n_samples = freedom = 0
    for first in range(0, counts.shape[0], n_levels):
        margins[:] = 0
        for y in range(n_levels):
            for x in range(n_levels):
                n = counts[first + y, x]
                margins[0, y] += n
                margins[1, x] += n
                given -= log_table[n]
        n_history = levels_x = levels_y = 0
        for level in range(n_levels):
            n_history += margins[0, level]
            levels_y += margins[0, level] > 0
            levels_x += margins[1, level] > 0
            past -= log_table[margins[0, level]]
            given += log_table[margins[1, level]]
        past += log_table[n_history]
        freedom += max(levels_x - 1, 0) * max(levels_y - 1, 0)
        n_samples += n_history
    return n_samples, past, given, freedom


@njit(nogil=True, error_model="numpy")
def transfer_entropies(sources, lags, targets, log_table, min_samples, scores):  # type: ignore[no-untyped-def]
    """Fill ``scores``, a ``TransferScores``.

    sources: uint32 (n_sources * lags, q, words); targets: uint32 (n_targets, histories * q, words)
    """
    transfer_bits, past_bits, freedom, n_samples, place = scores
    counts = np.empty((targets.shape[1], sources.shape[1]), np.int64)
    margins = np.empty((2, sources.shape[1]), np.int64)
    place[:] = -1
    transfer_bits[:] = past_bits[:] = 0.0
    freedom[:] = n_samples[:] = 0
    for t in range(targets.shape[0]):
        cells = targets[t : t + 1]
        for row in range(sources.shape[0]):
            s, lag = row // lags, row % lags
            count_in_cells(cells, sources, row, counts)
            n, past, given, free = _score(counts, log_table, margins)
            bits = max((past - given) / max(n, 1), 0.0)
            better = place[s, t] < 0 or bits > transfer_bits[s, t] + TIE_BITS
            if n >= min_samples and better:
                transfer_bits[s, t], past_bits[s, t] = bits, past / n
                freedom[s, t], n_samples[s, t], place[s, t] = free, n, lag
