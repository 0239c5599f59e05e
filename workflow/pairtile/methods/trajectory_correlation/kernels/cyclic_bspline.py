"""B-splines on a circle: weights of angles, and mutual information from dense joint tables.

A matrix product of dense weights (variables * bins, frames) gives the joint tables of all pairs of
a tile at once; a pair is a block of bins x bins of it, whose marginals are its own row and column
sums. Each pair's block is read once, row by row.

The circle is cut into ``bins`` equal intervals and the uniform spline runs on across the cut, so
that no angle is an end. (Clamped splines change the mutual information of two dihedrals by up to
0.4 nat with the choice of the angle's origin.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.threaded import threaded
from pairtile.splines.bspline import bspline_weights


def cyclic_weights(angles: NDArray[np.float64], bins: int, order: int) -> NDArray[np.float64]:
    """Weights of every frame of every angle: float64 (variables, bins, frames).

    angles : float64 (variables, frames), radians, with any multiple of 2 pi added. The weights of a
    frame add up to 1 and lie on ``order`` neighbouring bins, the last of which is followed by the
    first. Needs ``bins >= order``.
    """
    circle = 2.0 * np.pi
    z = np.mod(angles, circle) * (bins / circle)
    first, weights = bspline_weights(np.minimum(z, bins), bins + order - 1, order, "uniform")
    dense = np.zeros((angles.shape[0], bins, angles.shape[1]))
    for a in range(order):
        place = ((first.astype(np.int64) + a) % bins)[:, None, :]
        np.put_along_axis(dense, place, weights[:, None, :, a], axis=1)
    return dense


@threaded(entries=1 << 6)
def mutual_information_from_joint(first, last, joint, bins, mi_nats):  # type: ignore[no-untyped-def]
    """Mutual information of every pair from its joint table: twin of mutual_information.cu's.

    joint    float64 (rows * bins, columns * bins): summed products of weights
    mi_nats  float64 (rows, columns): filled in place
    """
    for row in range(first, last):
        column_sums = np.empty(bins)
        for column in range(mi_nats.shape[1]):
            column_sums[:] = 0.0
            score = 0.0
            total = 0.0
            for a in range(row * bins, (row + 1) * bins):
                row_sum = 0.0
                for b in range(bins):
                    cell = joint[a, column * bins + b]
                    row_sum += cell
                    column_sums[b] += cell
                    if cell > 0.0:
                        score += cell * np.log(cell)
                if row_sum > 0.0:
                    score -= row_sum * np.log(row_sum)
                total += row_sum
            for b in range(bins):
                if column_sums[b] > 0.0:
                    score -= column_sums[b] * np.log(column_sums[b])
            mi_nats[row, column] = max(0.0, score / total + np.log(total))
