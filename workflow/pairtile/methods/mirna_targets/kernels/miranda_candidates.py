"""The scalar pass: the cells themselves, around the columns that the vector pass found.

Starting ``span`` columns before a column with zero borders gives every alignment that reaches the
threshold there its exact scores and ties (``Scoring.span_limit``).
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from pairtile.methods.mirna_targets.kernels.miranda_scoring import SEED_ROWS

NEVER = -1
"""Value of c in the seed, where a miRNA base is never unpaired."""


@njit(cache=True, nogil=True)
def next_column(code, scores, gaps, best_of, a_of, b_of, c_of):  # type: ignore[no-untyped-def]
    """Step all rows of a pair by one column.

    code      of the column's reference letter
    scores    int32 (n, 5): score of each row, by code
    gaps      int64 (4,): open and extend outside the seed, then in it
    best_of, a_of, b_of, c_of   int64 (n + 1,): the tracks of rows 0 .. n, row 0 is the border;
              of the column before, overwritten by those of this one
    """
    n = scores.shape[0]
    diagonal = best_of[0]
    for row in range(1, n + 1):
        seed = row != n and row >= n - SEED_ROWS
        gap_open, gap_extend = (gaps[2], gaps[3]) if seed else (gaps[0], gaps[1])
        b = max(a_of[row] + gap_open, b_of[row] + gap_extend)
        a = max(diagonal + scores[row - 1, code], 0)
        c = NEVER if seed else max(a_of[row - 1] + gap_open, c_of[row - 1] + gap_extend)
        diagonal = best_of[row]
        best_of[row] = max(a, b, c)
        a_of[row] = a
        b_of[row] = b
        c_of[row] = c


@njit(cache=True, nogil=True)
def _candidates_of_region(  # type: ignore[no-untyped-def]
    codes, start, first, last, scores, gaps, threshold, tracks, best, row_of, out, found
):
    """Append the best candidate of each diagonal of columns first .. last; return how many so far.

    start         column before the region's first one; the border is there
    tracks        int64 (4, n + 1): scratch
    best, row_of  int64, int32 (columns + n,): scratch, entry column - first + n - row
    out           int32 (3, capacity): row, column, score
    """
    n = scores.shape[0]
    tracks[:] = 0
    best_of, a_of, b_of, c_of = tracks[0], tracks[1], tracks[2], tracks[3]
    diagonals = last - first + 1 + n
    best[:diagonals] = 0
    for column in range(start + 1, last + 1):
        next_column(codes[column - 1], scores, gaps, best_of, a_of, b_of, c_of)
        if column < first:
            continue
        for row in range(1, n + 1):
            score = best_of[row]
            if score >= threshold and (score == a_of[row] or score != b_of[row]):
                # Columns ascend, so that a tie keeps the smaller column, hence the smaller row.
                diagonal = column - first + n - row
                if score > best[diagonal]:
                    best[diagonal] = score
                    row_of[diagonal] = row
    for diagonal in range(diagonals):
        if best[diagonal] > 0:
            row = row_of[diagonal]
            out[0, found] = row
            out[1, found] = diagonal + first - n + row
            out[2, found] = best[diagonal]
            found += 1
    return found


@njit(cache=True, nogil=True)
def _end_of_region(column, lanes, lane, k, m, span):  # type: ignore[no-untyped-def]
    """Last column of the region that begins with hot column k, and the hot column after it.

    Row n reaches the threshold up to one column after a hot one. Regions closer than ``span``
    are one, so that no diagonal is in two.
    """
    last = min(column[k] + 1, m)
    k += 1
    while k < len(column):
        if (lanes[k] >> lane) & 1:
            if column[k] - span > last:
                break
            last = min(column[k] + 1, m)
        k += 1
    return last, k


@njit(cache=True, nogil=True)
def _next_of_lane(lanes, lane, k):  # type: ignore[no-untyped-def]
    while k < len(lanes) and not (lanes[k] >> lane) & 1:
        k += 1
    return k


@njit(cache=True, nogil=True, parallel=True)
def candidate_bounds(  # type: ignore[no-untyped-def]
    first, count, column, lanes, task_lengths, lane_rows, lane_span, bounds
):
    """How many candidates each lane of each task can have: bounds int64 (tasks, LANES).

    first, count, column, lanes   of ``HotColumns``
    task_lengths                  int64 (tasks,): m
    lane_rows, lane_span          int64 (tasks, LANES): n (0: no such pair), and columns to go back
    """
    for task in prange(len(first)):
        columns = column[first[task] : first[task] + count[task]]
        masks = lanes[first[task] : first[task] + count[task]]
        for lane in range(lane_rows.shape[1]):
            bounds[task, lane] = 0
            n = lane_rows[task, lane]
            k = _next_of_lane(masks, lane, 0) if n > 0 else len(masks)
            while k < len(masks):
                begin = columns[k]
                last, k = _end_of_region(
                    columns, masks, lane, k, task_lengths[task], lane_span[task, lane]
                )
                bounds[task, lane] += last - begin + 1 + n


@njit(cache=True, nogil=True, parallel=True)
def candidates_of_tasks(  # type: ignore[no-untyped-def]
    order,
    first,
    count,
    column,
    lanes,
    codes,
    task_begin,
    task_lengths,
    lane_rows,
    lane_span,
    scores,
    lane_scores,
    gaps,
    threshold,
    place,
    bounds,
    out,
    found,
):
    """Write the candidates of each lane of each task to ``out`` from place[task, lane] on.

    order               int64 (tasks,): of ``dealt``
    codes, task_begin   the references' codes, and where each task's begins
    scores              int32 (rows of all miRNAs, 5)
    lane_scores         int64 (tasks, LANES): first row of a lane's miRNA in ``scores``
    bounds              of ``candidate_bounds``
    found               int64 (tasks, LANES): how many were written
    """
    for turn in prange(len(order)):
        task = order[turn]
        m = task_lengths[task]
        reference = codes[task_begin[task] : task_begin[task] + m]
        columns = column[first[task] : first[task] + count[task]]
        masks = lanes[first[task] : first[task] + count[task]]
        for lane in range(lane_rows.shape[1]):
            found[task, lane] = 0
            bound = bounds[task, lane]
            if bound == 0:
                continue
            n = lane_rows[task, lane]
            span = lane_span[task, lane]
            tracks = np.empty((4, n + 1), np.int64)
            best = np.empty(bound, np.int64)
            row_of = np.empty(bound, np.int32)
            begin = lane_scores[task, lane]
            where = place[task, lane]
            mine = out[:, where : where + bound]
            k = _next_of_lane(masks, lane, 0)
            while k < len(masks):
                hot = columns[k]
                last, k = _end_of_region(columns, masks, lane, k, m, span)
                found[task, lane] = _candidates_of_region(
                    reference,
                    max(hot - span, 0),
                    hot,
                    last,
                    scores[begin : begin + n],
                    gaps,
                    threshold,
                    tracks,
                    best,
                    row_of,
                    mine,
                    found[task, lane],
                )
            _sort(mine, found[task, lane])


@njit(cache=True, nogil=True)
def _before(found, first, second):  # type: ignore[no-untyped-def]
    """miRanda's order: score descending, column ascending, row ascending."""
    if found[2, first] != found[2, second]:
        return found[2, first] > found[2, second]
    if found[1, first] != found[1, second]:
        return found[1, first] < found[1, second]
    return found[0, first] < found[0, second]


@njit(cache=True, nogil=True)
def _sort(found, count):  # type: ignore[no-untyped-def]
    """Sort the first ``count`` candidates in place: merging runs of doubling length."""
    if count < 2:
        return
    order = np.arange(count)
    other = np.empty(count, np.int64)
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for k in range(begin, end):
                if left < middle and (
                    right >= end or not _before(found, order[right], order[left])
                ):
                    other[k] = order[left]
                    left += 1
                else:
                    other[k] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    for part in range(3):
        found[part, :count] = found[part][order]
