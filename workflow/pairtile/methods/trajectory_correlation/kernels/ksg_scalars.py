"""Nearest-neighbour (KSG) statistics of pairs of scalars on the CPU: twin of ksg_scalars.cu.

The counts of ``ksg`` for variables of one coordinate, without looking at all frames. In the order
of x, a frame's joint neighbours lie to both sides of it, no further than the k-th found so far: of
independent variables, among about sqrt(k N) of N frames. How many frames are nearer than a bound in
one variable follows from its sorted values by bisection. All in float64.
"""

from __future__ import annotations

import numpy as np

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.trajectory_correlation.kernels.ksg import insert


@njit(inline="always")
def _kth_neighbour(x, y, order, place, window, best):  # type: ignore[no-untyped-def]
    """Joint distance of the k-th neighbour of a frame, given by its place in the order of x.

    ``best``, float64 (k,), is overwritten with the k smallest.
    """
    last = best.shape[0] - 1
    best[:] = np.inf
    for step in (1, -1):
        s = place + step
        while 0 <= s < x.shape[0]:
            gap = abs(x[s] - x[place])
            if gap >= best[last]:
                break
            joint = max(gap, abs(y[s] - y[place]))
            if joint < best[last] and abs(order[s] - order[place]) > window:
                insert(best, joint)
            s += step
    return best[last]


@njit(inline="always")
def _reach(x, y, order, place, window, bound):  # type: ignore[no-untyped-def]
    """Largest distance in x, and in y, among the neighbours within the joint bound."""
    reach_x = 0.0
    reach_y = 0.0
    for step in (1, -1):
        s = place + step
        while 0 <= s < x.shape[0]:
            gap_x = abs(x[s] - x[place])
            if gap_x > bound:
                break
            gap_y = abs(y[s] - y[place])
            if gap_y <= bound and abs(order[s] - order[place]) > window:
                reach_x = max(reach_x, gap_x)
                reach_y = max(reach_y, gap_y)
            s += step
    return reach_x, reach_y


@njit(inline="always")
def _is_near(distance, bound, variant):  # type: ignore[no-untyped-def]
    return distance < bound if variant == 1 else distance <= bound


@njit(inline="always")
def _near(ordered, points, t, bound, search):  # type: ignore[no-untyped-def]
    """Frames near frame t in one variable, those outside its window.

    ordered : float64 (frames,), the sorted values. points : float64 (frames,), as they follow.
    """
    window, _, variant, _ = search
    n = points.shape[0]
    own = points[t]
    # Distances fall towards the frame's own value and rise beyond it: a bisection on either side.
    first, high = 0, n
    while first < high:
        middle = (first + high) // 2
        if ordered[middle] >= own or _is_near(own - ordered[middle], bound, variant):
            high = middle
        else:
            first = middle + 1
    end, high = first, n
    while end < high:
        middle = (end + high) // 2
        if ordered[middle] < own or _is_near(ordered[middle] - own, bound, variant):
            end = middle + 1
        else:
            high = middle
    found = end - first
    for s in range(max(0, t - window), min(n, t + window + 1)):
        found -= _is_near(abs(points[s] - own), bound, variant)
    return found


@threaded(entries=1 << 2)
def psi_sums(first, last, x, y, rows, columns, search, psi, out):  # type: ignore[no-untyped-def]
    """Sums over all frames of psi[n_x] + psi[n_y], of some pairs.

    x, y           points, sorted points and their order, each (variables, frames); the order of y
                   is not used
    rows, columns  int64 (pairs,)
    search         ``ksg.Search``
    psi            float64 (frames + 1,): what a count adds
    out            float64 (pairs,)
    """
    points_x, sorted_x, order_x = x
    points_y, sorted_y, _ = y
    window, k, variant, _ = search
    n = points_x.shape[1]
    for pair in range(first, last):
        row, column = rows[pair], columns[pair]
        order = order_x[row]
        y_by_x = points_y[column][order]
        best = np.empty(k)
        terms = np.empty(n)
        for place in range(n):
            t = order[place]
            bound = _kth_neighbour(sorted_x[row], y_by_x, order, place, window, best)
            reach_x, reach_y = bound, bound
            if variant == 2:
                reach_x, reach_y = _reach(sorted_x[row], y_by_x, order, place, window, bound)
            n_x = _near(sorted_x[row], points_x[row], t, reach_x, search)
            n_y = _near(sorted_y[column], points_y[column], t, reach_y, search)
            terms[t] = psi[n_x] + psi[n_y]
        # Frame by frame, so that a pair and its mirror image give the same number.
        total = 0.0
        for term in terms:
            total += term
        out[pair] = total
