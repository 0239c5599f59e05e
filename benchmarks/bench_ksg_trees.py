"""Would a search tree find the neighbours of KSG faster than all distances do, on one core?

    python -m benchmarks.bench_ksg_trees

writes ``results/ksg_trees.DEVICE.json``: microseconds of a core for a frame of a pair, by

- ``all_distances``: what pairtile does with positions, in a tile of so many variables as ``TILES``
  has (distances of a variable are shared by its pairs);
- ``sorted``: what it does with long scalars, see ``ksg_scalars``;
- ``boxes``: frames of each variable in a k-d order, in boxes of 16, and groups of about
  sqrt(frames / 16) boxes. A query looks into the boxes of x that are nearer than the k-th joint
  neighbour so far, those of its own group first, and counts whole boxes in y where it can. Boxes
  are built once for each variable, which is not in the time;
- ``scipy``: ``cKDTree`` of the joint coordinates and of each variable (``query``,
  ``query_ball_point``). Its neighbours are those by the largest difference of a coordinate, not by
  the Euclidean distance within each variable, so that its values differ.

``boxes`` gives the values of ``all_distances``, or the script stops. Estimator 1, k = 6, no window.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import MotionPairs
from pairtile.methods.trajectory_correlation.kinds import SORTED_FROM
from scipy.signal import lfilter
from scipy.spatial import cKDTree
from scipy.special import digamma

from benchmarks.machine import write

K, LEAF, IN_BOXES = 6, 16, 4
"""Neighbours; frames in a box; variables whose pairs are searched in boxes."""

SERIES: dict[str, tuple[int, float]] = {
    "positions, independent frames": (3, 0.0),
    "positions, correlation time 50": (3, 50.0),
    "scalars, independent frames": (1, 0.0),
}
TILES = {2_000: 32, 10_000: 24, 20_000: 12}
"""Frames -> variables of a tile. Of wider tiles, pairs take somewhat less."""

Floats = NDArray[np.float64]


def series_of(variables: int, d: int, frames: int, tau: float) -> Floats:
    """Normal, AR(1) with memory exp(-t / tau); every second variable follows the one before."""
    phi = np.exp(-1.0 / tau) if tau else 0.0
    noise = np.random.default_rng(1).standard_normal((variables, d, frames + int(10 * tau)))
    moved = lfilter([np.sqrt(1.0 - phi * phi)], [1.0, -phi], noise, axis=2)[:, :, -frames:]
    moved[1::2] += 0.7 * moved[: len(moved[1::2]) * 2 : 2]
    return np.ascontiguousarray(moved)


# --- boxes ----------------------------------------------------------------------------------------


def boxes(points: Floats) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
    """Frames in a k-d order; points (boxes, d, LEAF); bounds (2, d, groups, boxes), of groups."""
    d, n = points.shape
    fan = max(1, round((n / LEAF) ** 0.5))
    groups = -(-n // (fan * LEAF))
    order, todo = np.arange(n), [(0, n)]
    while todo:
        begin, end = todo.pop()
        if end - begin <= LEAF:
            continue
        unit = fan * LEAF if end - begin > fan * LEAF else LEAF
        half = -(-(end - begin) // unit) // 2 * unit
        part = points[:, order[begin:end]]
        widest = part[np.ptp(part, axis=1).argmax()]
        order[begin:end] = order[begin:end][np.argpartition(widest, half)]
        todo += [(begin, begin + half), (begin + half, end)]
    padded = np.full((d, groups * fan * LEAF), np.inf)
    padded[:, :n] = points[:, order]
    parts = padded.reshape(d, groups, fan, LEAF)
    bounds = np.stack([parts.min(axis=3), parts.max(axis=3)])
    of_groups = np.stack([bounds[0].min(axis=2), bounds[1].max(axis=2)])[:, :, None]
    by_box = np.ascontiguousarray(parts.reshape(d, groups * fan, LEAF).transpose(1, 0, 2))
    return order, by_box, bounds, np.ascontiguousarray(of_groups)


@njit(inline="always")
def _box_distances(bounds, group, at, nearest, furthest):  # type: ignore[no-untyped-def]
    """Squared distances to the nearest and furthest place of each box: no frame in it is nearer or
    further, rounding included, since every step of the sum is monotonic."""
    nearest[:] = 0.0
    furthest[:] = 0.0
    for axis in range(at.shape[0]):
        for box in range(bounds.shape[3]):
            below = bounds[0, axis, group, box] - at[axis]
            above = at[axis] - bounds[1, axis, group, box]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            reach = max(abs(below), abs(above))
            nearest[box] += gap * gap
            furthest[box] += reach * reach


@njit(inline="always")
def _distances(points, box, at, out, row):  # type: ignore[no-untyped-def]
    """Squared distances of the frames of a box, summed as ``frame_distances`` does."""
    for s in range(LEAF):
        a = points[box, 0, s] - at[0]
        out[row, s] = a * a
    for axis in range(1, at.shape[0]):
        for s in range(LEAF):
            a = points[box, axis, s] - at[axis]
            out[row, s] += a * a


@njit
def _search(order, x, bounds, of_groups, y_in_x, p, at_x, at_y, best, in_x, in_y, room):  # type: ignore[no-untyped-def]
    """Distances of the boxes looked into; how many. ``best`` becomes the k joint neighbours'."""
    near_group, near_box, far = room
    fan = bounds.shape[3]
    best[:] = np.inf
    own = p // (LEAF * fan)
    n = 0
    _box_distances(of_groups, 0, at_x, near_group, far[: near_group.shape[0]])
    for turn in range(-1, bounds.shape[2]):
        group = own if turn < 0 else turn
        if turn == own or near_group[group] > best[-1]:
            continue
        _box_distances(bounds, group, at_x, near_box, far[:fan])
        for box in range(fan):
            if near_box[box] > best[-1]:
                continue
            _distances(x, group * fan + box, at_x, in_x, n)
            _distances(y_in_x, group * fan + box, at_y, in_y, n)
            for s in range(LEAF):
                joint = max(in_x[n, s], in_y[n, s])
                if joint < best[-1] and (group * fan + box) * LEAF + s != p:
                    place = best.shape[0] - 1
                    while place > 0 and best[place - 1] > joint:
                        best[place] = best[place - 1]
                        place -= 1
                    best[place] = joint
            n += 1
    return n


@njit
def _nearer(points, bounds, of_groups, at, bound, out, room):  # type: ignore[no-untyped-def]
    """Frames nearer than the bound."""
    near_group, near_box, far_group, far_box = room
    fan = bounds.shape[3]
    n = 0
    _box_distances(of_groups, 0, at, near_group, far_group)
    for group in range(bounds.shape[2]):
        if near_group[group] >= bound:
            continue
        if far_group[group] < bound:
            n += fan * LEAF
            continue
        _box_distances(bounds, group, at, near_box, far_box)
        for box in range(fan):
            if near_box[box] >= bound:
                continue
            if far_box[box] < bound:
                n += LEAF
                continue
            _distances(points, group * fan + box, at, out, 0)
            for s in range(LEAF):
                n += out[0, s] < bound
    return n


@njit
def by_boxes(order, x, bounds_x, groups_x, points_y, y, bounds_y, groups_y, psi):  # type: ignore[no-untyped-def]
    """Sum over frames of psi[n_x] + psi[n_y], in their order."""
    d, frames = points_y.shape
    y_in_x = np.full(x.shape, np.inf)
    for p in range(frames):
        for axis in range(d):
            y_in_x[p // LEAF, axis, p % LEAF] = points_y[axis, order[p]]
    in_x, in_y = np.empty((x.shape[0], LEAF)), np.empty((x.shape[0], LEAF))
    fan, groups = bounds_x.shape[3], bounds_x.shape[2]
    near_group, near_box, far = np.empty(groups), np.empty(fan), np.empty(max(fan, groups))
    far_group, far_box = np.empty(groups), np.empty(fan)
    at_x, at_y, best, terms = np.empty(d), np.empty(d), np.empty(K), np.empty(frames)
    for p in range(frames):
        for axis in range(d):
            at_x[axis] = x[p // LEAF, axis, p % LEAF]
            at_y[axis] = points_y[axis, order[p]]
        room = (near_group, near_box, far)
        n = _search(order, x, bounds_x, groups_x, y_in_x, p, at_x, at_y, best, in_x, in_y, room)
        n_x = 0
        for row in range(n):
            for s in range(LEAF):
                n_x += in_x[row, s] < best[-1]
        counting = (near_group, near_box, far_group, far_box)
        n_y = _nearer(y, bounds_y, groups_y, at_y, best[-1], in_y, counting)
        terms[order[p]] = psi[n_x - 1] + psi[n_y - 1]  # the frame itself is no neighbour
    total = 0.0
    for term in terms:
        total += term
    return total


# --- the comparison -------------------------------------------------------------------------------


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Of a second call: the first compiles."""
    work()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def by_scipy(x: Floats, y: Floats) -> None:
    joint = np.ascontiguousarray(np.vstack([x, y]).T)
    radius = cKDTree(joint).query(joint, k=K + 1, p=np.inf)[0][:, -1]
    for points in (x.T, y.T):
        found = np.ascontiguousarray(points)
        cKDTree(found).query_ball_point(found, radius, p=np.inf, return_length=True)


def compare(d: int, frames: int, tau: float) -> dict[str, float]:
    """Microseconds of a core for a frame of a pair."""
    tile = TILES[frames]
    series = series_of(tile, d, frames, tau)
    device = choose("cpu")
    numba.set_num_threads(1)

    def all_pairs() -> tuple[float, Floats]:
        """Seconds of a pair, values."""
        pairs = MotionPairs(series, MotionEstimatorConfig(kind="ksg", theiler=0), device)
        seconds, mi_nats = cpu_seconds(lambda: pairs.block(slice(0, tile), slice(0, tile)))
        return seconds / (tile * (tile - 1) // 2), mi_nats

    with patch.dict(SORTED_FROM, {"cpu": frames + 1}):
        all_distances, mi_nats = all_pairs()
    psi = digamma(np.arange(1.0, frames + 2.0))
    built = [boxes(points) for points in series[:IN_BOXES]]
    chosen = list(itertools.combinations(range(IN_BOXES), 2))

    def all_boxes() -> list[float]:
        return [by_boxes(*built[i], series[j], *built[j][1:], psi) for i, j in chosen]

    seconds, sums = cpu_seconds(all_boxes)
    for (i, j), total in zip(chosen, sums, strict=True):
        nats = digamma(K) + digamma(frames) - total / frames
        if abs(nats - mi_nats[i, j]) > 1e-10:
            raise AssertionError(f"{nats} nats by boxes, {mi_nats[i, j]} by all distances")
    of_scipy, _ = cpu_seconds(lambda: by_scipy(series[0], series[1]))
    found = {
        "variables_of_the_tile": tile,
        "all_distances": all_distances / frames * 1e6,
        "boxes": seconds / len(chosen) / frames * 1e6,
        "scipy": of_scipy / frames * 1e6,
    }
    if d == 1:
        with patch.dict(SORTED_FROM, {"cpu": 0}):
            seconds, of_sorted = all_pairs()
        if np.nanmax(np.abs(of_sorted - mi_nats)) > 1e-10:
            raise AssertionError("sorted scalars give other values than all distances")
        found["sorted"] = seconds / frames * 1e6
    return found | {"times_faster_by_boxes": found["all_distances"] / found["boxes"]}


def run() -> dict[str, Any]:
    """All series and lengths."""
    return {
        name: {f"{n} frames": compare(d, n, tau) for n in TILES}
        for name, (d, tau) in SERIES.items()
    }


if __name__ == "__main__":
    results = run()
    print(json.dumps(results, indent=1))
    print(write("ksg_trees", "cpu", results))
