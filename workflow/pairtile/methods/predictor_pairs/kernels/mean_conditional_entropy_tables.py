"""Exact scores of pairs by look-up: what a cell adds to the canonical sum, for all its counts.

A cell with n samples, u and v of them at target levels 1 and 2, adds a float64 that depends on
(n, u, v) only. Few samples make few such cells, and the sum over the cells in their order is then
the canonical score, bit for bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_OBS,
    POOR_OBS,
    entropy_of_samples,
)

MAX_ENTRIES = 1 << 17
"""Entries of a table (1 MiB) up to which look-ups are faster than a fresh count."""


def cell_entropies(
    n_levels: int, log_table: NDArray[np.float64], penalty: int, alpha: float, poor: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Table of what a cell adds, and where each cell size begins in it.

    ``table[row_of_size[n] + u]`` for two levels, ``table[row_of_size[n] + u * (n + 1) + v]`` for
    three. Both empty where the table would be too large.
    """
    n = np.arange(len(log_table), dtype=np.int64)
    width = (n + 1) ** (n_levels - 1)
    if n_levels > 3 or width.sum() > MAX_ENTRIES:
        return np.empty(0), np.empty(0, dtype=np.int64)
    table = np.zeros(width.sum())
    row_of_size = np.cumsum(width) - width
    _fill_table(log_table, n_levels, penalty, alpha, poor, table, row_of_size)
    return table, row_of_size


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_table(  # type: ignore[no-untyped-def]
    log_table, n_levels, penalty, alpha, poor, table, row_of_size
):
    counts = np.zeros(n_levels, np.int64)
    for n in range(1, row_of_size.shape[0]):
        for u in range(n + 1):
            for v in range(n - u + 1 if n_levels == 3 else 1):
                counts[0], counts[1] = n - u - v, u
                if n_levels == 3:
                    counts[2] = v
                h = entropy_of_samples(log_table, counts, n)
                if penalty == POOR_OBS and n == 1:
                    h = poor
                if penalty == NO_OBS:
                    h = h + (alpha * h) / n
                place = u * (n + 1) + v if n_levels == 3 else u
                table[row_of_size[n] + place] = h


@njit(cache=True, nogil=True, error_model="numpy")
def scores_of_hits(  # type: ignore[no-untyped-def]
    indices,
    n_hits,
    both,
    of_first,
    rest,
    here,
    of_second,
    entropies,
    sizes,
    table,
    row_of_size,
    alpha,
    divisor,
    scores,
):
    """Canonical MCE in bits of one pair for the targets in lanes ``indices[:n_hits]``.

    The counts are those of ``screen_binary`` or ``screen_ternary``. entropies: float64 (lanes,),
    H(Y); sizes: int64 (M,); alpha: 0 unless the penalty is no_obs; divisor: S or S + alpha M;
    scores: float64, one for each hit
    """
    n_cells = sizes.shape[0]
    not_observed = 0
    for x in range(n_cells):
        not_observed += sizes[x] == 0
    unseen = alpha * not_observed
    for i in range(n_hits):
        t = indices[i]
        total = 0.0
        if n_cells == 4:
            u11 = np.int64(both[0, t])
            u10 = np.int64(of_first[here, t]) - u11
            u01 = np.int64(of_second[0, t]) - u11
            u00 = np.int64(rest[here, t]) - u01
            total = total + table[row_of_size[sizes[0]] + u00]
            total = total + table[row_of_size[sizes[1]] + u01]
            total = total + table[row_of_size[sizes[2]] + u10]
            total = total + table[row_of_size[sizes[3]] + u11]
        else:
            u11, u12, u21, u22 = both[0, t], both[2, t], both[4, t], both[6, t]
            v11, v12, v21, v22 = both[1, t], both[3, t], both[5, t], both[7, t]
            u10 = of_first[4 * here, t] - u11 - u12
            u20 = of_first[4 * here + 2, t] - u21 - u22
            u01 = of_second[0, t] - u11 - u21
            u02 = of_second[2, t] - u12 - u22
            u00 = rest[2 * here, t] - u01 - u02
            v10 = of_first[4 * here + 1, t] - v11 - v12
            v20 = of_first[4 * here + 3, t] - v21 - v22
            v01 = of_second[1, t] - v11 - v21
            v02 = of_second[3, t] - v12 - v22
            v00 = rest[2 * here + 1, t] - v01 - v02
            total = total + table[_place(row_of_size, sizes[0], u00, v00)]
            total = total + table[_place(row_of_size, sizes[1], u01, v01)]
            total = total + table[_place(row_of_size, sizes[2], u02, v02)]
            total = total + table[_place(row_of_size, sizes[3], u10, v10)]
            total = total + table[_place(row_of_size, sizes[4], u11, v11)]
            total = total + table[_place(row_of_size, sizes[5], u12, v12)]
            total = total + table[_place(row_of_size, sizes[6], u20, v20)]
            total = total + table[_place(row_of_size, sizes[7], u21, v21)]
            total = total + table[_place(row_of_size, sizes[8], u22, v22)]
        total = total + unseen * entropies[t]
        mce = total / divisor
        scores[i] = mce if mce > 0.0 else 0.0


@njit(cache=True, nogil=True, inline="always")
def _place(row_of_size, n, u, v):  # type: ignore[no-untyped-def]
    return row_of_size[n] + np.int64(u) * (n + 1) + np.int64(v)
