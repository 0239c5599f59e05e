"""Lower bounds of the score of pairs, cheap enough for every triple.

The entropy of three classes is at least 2 (1 - p0^2 - p1^2 - p2^2) + 6.79 p0 p1 p2 bits, equal at
the corners, at the middle of the sides and (6.7939... = 27 (log2 3 - 4/3)) at the centre; without
the third class it is 4 p (1 - p). For a cell with n samples, u and v of them at target levels 1 and
2, s = u + v, weight w (1, or 1 + alpha / n with no_obs), that is

    w n H >= s (A - B s) + u v (C - D s),
    A = 4 w, B = 4 w / n, D = 6.79 w / n^2, C = B + n D.

Summed over the cells it bounds S MCE from below, or (S + alpha M) MCE with no_obs, where cells not
observed add their known part; a cell that poor_obs gives a constant adds that.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_OBS, POOR_OBS
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_lanes import SCREEN

CENTRE = 6.793


def bound_coefficients(n_samples: int, penalty: int, alpha: float) -> NDArray[np.float32]:
    """A, B, C and D of a cell of n samples: float32 (n_samples + 1, 4), row n.

    Zero for empty cells and for those that poor_obs gives a constant.
    """
    coefficients = np.zeros((n_samples + 1, 4))
    n = np.arange(1, n_samples + 1, dtype=np.float64)
    weight = (n + alpha) / n if penalty == NO_OBS else np.ones(n_samples)
    if penalty == POOR_OBS:
        weight[:1] = 0.0
    coefficients[1:, 0] = 4.0 * weight
    coefficients[1:, 1] = 4.0 * weight / n
    coefficients[1:, 2] = (4.0 + CENTRE) * weight / n
    coefficients[1:, 3] = CENTRE * weight / n**2
    return coefficients.astype(np.float32)


@njit(cache=True, nogil=True, error_model="numpy")
def fixed_parts(sizes, penalty, alpha, poor):  # type: ignore[no-untyped-def]
    """What cells of these sizes add for any target: a factor of H(Y), and bits (float32)."""
    n_empty = 0
    n_alone = 0
    for x in range(sizes.shape[0]):
        n_empty += sizes[x] == 0
        n_alone += sizes[x] == 1
    return (
        np.float32(alpha * n_empty if penalty == NO_OBS else 0.0),
        np.float32(poor * n_alone if penalty == POOR_OBS else 0.0),
    )


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_binary(  # type: ignore[no-untyped-def]
    both,
    of_first,
    rest,
    here,
    of_second,
    sizes,
    coefficients,
    unseen,
    fixed,
    entropies,
    limits,
    hits,
):
    """Mark in hits uint8 (lanes,) the targets whose bound is within the limit; returns how many.

    All counts are of samples at target level 1, float32 (rows, lanes):

    both       with both predictors at level 1
    of_first   with the first predictor at level 1, in row ``here``
    of_second  with the second predictor at level 1
    rest       with the first predictor at level 0, in row ``here``

    sizes      int64 (M,): of the pair's cells, of which ``coefficients`` takes the row
    unseen, fixed       ``fixed_parts``
    entropies, limits   float32 (lanes,): H(Y) of the targets, and their limits
    """
    a00, b00 = coefficients[sizes[0], 0], coefficients[sizes[0], 1]
    a01, b01 = coefficients[sizes[1], 0], coefficients[sizes[1], 1]
    a10, b10 = coefficients[sizes[2], 0], coefficients[sizes[2], 1]
    a11, b11 = coefficients[sizes[3], 0], coefficients[sizes[3], 1]
    n_hits = 0
    for t in range(limits.shape[0]):
        u11 = both[0, t]
        u10 = of_first[here, t] - u11
        u01 = of_second[0, t] - u11
        u00 = rest[here, t] - u01
        bound = unseen * entropies[t] + fixed
        bound += u00 * (a00 - b00 * u00)
        bound += u01 * (a01 - b01 * u01)
        bound += u10 * (a10 - b10 * u10)
        bound += u11 * (a11 - b11 * u11)
        hit = bound <= limits[t]
        hits[t] = hit
        n_hits += hit
    return n_hits


@njit(cache=True, nogil=True, inline="always")
def _cell(u, v, a, b, c, d):  # type: ignore[no-untyped-def]
    s = u + v
    return s * (a - b * s) + u * v * (c - d * s)


@njit(cache=True, nogil=True, inline="always")
def _four(table, row):  # type: ignore[no-untyped-def]
    return table[row, 0], table[row, 1], table[row, 2], table[row, 3]


@njit(cache=True, nogil=True, fastmath=SCREEN, error_model="numpy")
def screen_ternary(  # type: ignore[no-untyped-def]
    both,
    of_first,
    rest,
    here,
    of_second,
    sizes,
    coefficients,
    unseen,
    fixed,
    entropies,
    limits,
    hits,
):
    """As ``screen_binary`` for three levels.

    u counts samples at target level 1, v at level 2. Rows of both are in the order of the levels
    from 1 of the first predictor, the second and the target (8); those of of_first and of_second,
    of predictor and target (4); those of rest, of the target (2).
    """
    a00, b00, c00, d00 = _four(coefficients, sizes[0])
    a01, b01, c01, d01 = _four(coefficients, sizes[1])
    a02, b02, c02, d02 = _four(coefficients, sizes[2])
    a10, b10, c10, d10 = _four(coefficients, sizes[3])
    a11, b11, c11, d11 = _four(coefficients, sizes[4])
    a12, b12, c12, d12 = _four(coefficients, sizes[5])
    a20, b20, c20, d20 = _four(coefficients, sizes[6])
    a21, b21, c21, d21 = _four(coefficients, sizes[7])
    a22, b22, c22, d22 = _four(coefficients, sizes[8])
    n_hits = 0
    for t in range(limits.shape[0]):
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
        bound = unseen * entropies[t] + fixed
        bound += _cell(u00, v00, a00, b00, c00, d00)
        bound += _cell(u01, v01, a01, b01, c01, d01)
        bound += _cell(u02, v02, a02, b02, c02, d02)
        bound += _cell(u10, v10, a10, b10, c10, d10)
        bound += _cell(u11, v11, a11, b11, c11, d11)
        bound += _cell(u12, v12, a12, b12, c12, d12)
        bound += _cell(u20, v20, a20, b20, c20, d20)
        bound += _cell(u21, v21, a21, b21, c21, d21)
        bound += _cell(u22, v22, a22, b22, c22, d22)
        hit = bound <= limits[t]
        hits[t] = hit
        n_hits += hit
    return n_hits
