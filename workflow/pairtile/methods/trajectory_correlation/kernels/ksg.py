"""Nearest-neighbour (KSG) statistics of pairs of trajectories on the CPU: twin of ksg.cu.

For each pair and frame: how many frames lie nearer than the k-th joint neighbour, in either
variable. The estimator asks only which distances are smaller than which. So the distances of every
frame of a variable to all its frames are computed once for a whole tile, in float64, and kept
rounded to float32, as the int32 that has the same bits: rounding never turns an order round, and
the bits of numbers that are not negative sort as the numbers do. Where rounding makes two distances
equal whose order would matter (about one frame in ten thousand), the frame is done again in
float64. The counts are those of float64, at the price of float32.

Distances lie as (frames, variables, padded frames): what one frame of a pair needs is two rows side
by side, read in vectors. A few row variables share each column's row while a core's first cache
holds it. A pair's sum grows frame by frame, whatever the tile or the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import popcount
from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.cpu.vectors import LANES, at_least, choose, load, maximum, minimum, smallest, splat

FAR = 0x7F800000
"""Bits of infinity: what is excluded from being a neighbour, and padding."""

ROW_GROUP = 4
"""Row variables that use a column's distances while a core's first cache holds them."""


class Search(NamedTuple):
    """Which neighbours are sought.

    window : frames no further than this in time are none (0: only the frame itself).
    k : neighbours.
    variant : 1 counts frames nearer than the k-th joint neighbour; 2 counts frames no further in
        this variable than the furthest of the k joint neighbours.
    max_norm : the largest of the coordinates' differences, else Euclidean.
    """

    window: int
    k: int
    variant: int
    max_norm: bool


class Series(NamedTuple):
    """Variables of one side of a tile.

    distances : int32 (frames here, variables, padded), the bits of ``frame_distances``.
    points : float64 (variables, d, frames), to decide ties that rounding made.
    """

    distances: NDArray[np.int32]
    points: NDArray[np.float64]


# --- one frame ------------------------------------------------------------------------------------


@njit(nogil=True)
def distances_of_frame(points, t, window, max_norm, out):  # type: ignore[no-untyped-def]
    """Distances (squared where Euclidean in 2-D and more) of frame t to all frames.

    Computed in float64; kept in the type of ``out``.
    """
    d, n = points.shape
    first = points[0]
    first_t = first[t]
    if d == 1:
        for s in range(n):
            out[s] = abs(first[s] - first_t)
    elif d == 3:
        second, third = points[1], points[2]
        second_t, third_t = second[t], third[t]
        for s in range(n):
            a = first[s] - first_t
            b = second[s] - second_t
            c = third[s] - third_t
            out[s] = max(max(abs(a), abs(b)), abs(c)) if max_norm else (a * a + b * b) + c * c
    else:
        for s in range(n):
            distance = 0.0
            for axis in range(d):
                a = points[axis, s] - points[axis, t]
                distance = max(distance, abs(a)) if max_norm else distance + a * a
            out[s] = distance
    for s in range(max(0, t - window), min(n, t + window + 1)):
        out[s] = np.inf


@threaded(entries=1 << 14)
def frame_distances(first, last, points, first_frame, window, max_norm, out):  # type: ignore[no-untyped-def]
    """Rounded distances of some frames of each variable to all its frames.

    points       float64 (variables, d, frames)
    first_frame  the first of these frames
    window       frames no further than this in time are infinitely far (0: only the frame itself)
    max_norm     1: largest of the coordinates' differences; 0: Euclidean
    out          float32 (frames here, variables, padded frames); padding is infinite too
    """
    n = points.shape[2]
    for variable in range(out.shape[1]):
        own = points[variable]
        for t in range(first, last):
            row = out[t, variable]
            distances_of_frame(own, first_frame + t, window, max_norm, row[:n])
            row[n:] = np.inf


@njit(inline="always")
def _upper_bound(x, y, k):  # type: ignore[no-untyped-def]
    """k-th smallest of the two smallest joint distances in each lane: at least k lie within it."""
    far = splat(x, FAR)
    lowest = far
    second = far
    for s in range(0, x.shape[0], LANES):
        joint = maximum(load(x, s), load(y, s))
        second = minimum(second, maximum(lowest, joint))
        lowest = minimum(lowest, joint)
    taken = 0
    while True:
        bound = smallest(lowest)
        mask = at_least(splat(x, bound), lowest)
        taken += np.int64(popcount(mask))
        if taken >= k:
            return bound
        lowest = choose(mask, second, lowest)
        second = choose(mask, far, second)


@njit(inline="always")
def _counts(x, y, bound_x, bound_y):  # type: ignore[no-untyped-def]
    """Frames within both bounds; below bound_x, below bound_y; at bound_x, at bound_y."""
    at_x = splat(x, bound_x)
    at_y = splat(y, bound_y)
    below_x = splat(x, bound_x - 1)
    below_y = splat(y, bound_y - 1)
    both = 0
    n_x = 0
    n_y = 0
    within_x = 0
    within_y = 0
    for s in range(0, x.shape[0], LANES):
        vx = load(x, s)
        vy = load(y, s)
        mask_x = at_least(at_x, vx)
        mask_y = at_least(at_y, vy)
        both += np.int64(popcount(mask_x & mask_y))
        within_x += np.int64(popcount(mask_x))
        within_y += np.int64(popcount(mask_y))
        n_x += np.int64(popcount(at_least(below_x, vx)))
        n_y += np.int64(popcount(at_least(below_y, vy)))
    return both, n_x, n_y, within_x - n_x, within_y - n_y


@njit(inline="always")
def _largest_below(x, y, bound):  # type: ignore[no-untyped-def]
    """Number of joint distances below the bound, and the largest of them."""
    n = 0
    largest = -1
    for s in range(x.shape[0]):
        joint = max(x[s], y[s])
        if joint < bound:
            n += 1
            largest = max(largest, joint)
    return n, largest


@njit(inline="always")
def _reach(x, y, bound):  # type: ignore[no-untyped-def]
    """Largest distance in x, and in y, among the frames within the joint bound."""
    reach_x = 0
    reach_y = 0
    for s in range(x.shape[0]):
        if max(x[s], y[s]) <= bound:
            reach_x = max(reach_x, x[s])
            reach_y = max(reach_y, y[s])
    return reach_x, reach_y


@njit(inline="always")
def insert(best, joint):  # type: ignore[no-untyped-def]
    """Put a smaller number than the last into its place among ascending ones."""
    place = best.shape[0] - 1
    while place > 0 and best[place - 1] > joint:
        best[place] = best[place - 1]
        place -= 1
    best[place] = joint


@njit(inline="always")
def kth_joint(x, y, best):  # type: ignore[no-untyped-def]
    """k-th smallest joint distance. ``best``, float64 (k,), is overwritten with the k smallest."""
    last = best.shape[0] - 1
    best[:] = np.inf
    for s in range(x.shape[0]):
        joint = max(x[s], y[s])
        if joint < best[last]:
            insert(best, joint)
    return best[last]


@njit()
def _exact_counts(points_x, points_y, t, search, scratch):  # type: ignore[no-untyped-def]
    """As ``Search`` defines them, in float64 throughout."""
    x, y, best = scratch
    distances_of_frame(points_x, t, search.window, search.max_norm, x)
    distances_of_frame(points_y, t, search.window, search.max_norm, y)
    bound = kth_joint(x, y, best)
    if search.variant == 1:
        return (x < bound).sum(), (y < bound).sum()
    reach_x, reach_y = _reach(x, y, bound)
    return (x <= reach_x).sum(), (y <= reach_y).sum()


@njit(inline="always")
def _rounded_counts(x, y, k, variant):  # type: ignore[no-untyped-def]
    """Counts from rounded distances, and whether rounding cannot have changed them."""
    bound = _upper_bound(x, y, k)
    both, n_x, n_y, at_x, at_y = _counts(x, y, bound, bound)
    while both > k:
        # Some lane held three or more of the k nearest: go down to the k-th.
        n, lower = _largest_below(x, y, bound)
        if n < k:
            return n_x, n_y, False
        bound = lower
        both, n_x, n_y, at_x, at_y = _counts(x, y, bound, bound)
    if bound == FAR:
        return n_x, n_y, False
    if variant == 1:
        return n_x, n_y, at_x + at_y == 1
    reach_x, reach_y = _reach(x, y, bound)
    both, n_x, n_y, at_x, at_y = _counts(x, y, reach_x, reach_y)
    return n_x + at_x, n_y + at_y, at_x == 1 and at_y == 1


@threaded(group=ROW_GROUP, entries=1 << 4)
def neighbour_counts(first, last, x, y, first_frame, search, wanted, psi, total):  # type: ignore[no-untyped-def]
    """Add psi[n_x] + psi[n_y] of some frames to the totals of all pairs of a tile.

    x, y         ``Series`` of the rows and of the columns
    first_frame  the first of the frames that distances are of
    search       ``Search``
    wanted       bool (rows, columns): other pairs are left out
    psi          float64 (frames + 1,): what a count adds
    total        float64 (rows, columns): added to, frame by frame
    """
    distances_x, points_x = x
    distances_y, points_y = y
    k, variant = search.k, search.variant
    n = points_x.shape[2]
    scratch = (np.empty(n), np.empty(n), np.empty(k))
    for first_row in range(first, last, ROW_GROUP):
        last_row = min(last, first_row + ROW_GROUP)
        for t in range(distances_x.shape[0]):
            for column in range(distances_y.shape[1]):
                of_column = distances_y[t, column]
                for row in range(first_row, last_row):
                    if not wanted[row, column]:
                        continue
                    n_x, n_y, sure = _rounded_counts(distances_x[t, row], of_column, k, variant)
                    if not sure:
                        n_x, n_y = _exact_counts(
                            points_x[row], points_y[column], first_frame + t, search, scratch
                        )
                    total[row, column] += psi[n_x] + psi[n_y]
