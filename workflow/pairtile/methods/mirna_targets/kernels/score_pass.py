"""miRanda's score pass on the CPU: which cells can be the ends of hits. Two passes.

The vector pass runs through the columns of a reference with ``LANES`` miRNAs at once, one a lane,
and keeps one column of scores; it writes down the columns in which any lane reaches the threshold:
few, and found without a branch per cell. The scalar pass goes back to those columns only, pair by
pair, and takes the cells themselves. Rows are the inner loop of both, since a cell needs the cell
above it. ``miranda_alignment.cu`` is the CUDA twin of both together.

Vector pass. Rows of all lanes are aligned at the seed; a shorter miRNA has rows of score 0 in
front, where nothing is above 0, as in its own rows 1 and 2. Rows 1, 2 and n are left out: nothing
in rows 1 and 2 is above 0, and row n reaches the threshold only one column after, or in, a column
that is found. What is below 0 differs from miRanda's, without an effect on anything above.

Scalar pass. Starting ``span`` columns before a column with zero borders gives every alignment that
reaches the threshold there its exact scores and ties (``AlignmentScoring.span_limit``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.cpu.vectors import LANES, add, at_least, load, maximum, splat, store
from pairtile.methods.mirna_targets.scoring import SEED_ROWS

NEVER = -1
"""Value of c in the seed, where a miRNA base is never unpaired."""


class Costs(NamedTuple):
    """Of gaps, int64 (4,): open and extend outside the seed, then in it; and the threshold."""

    gaps: NDArray[np.int64]
    threshold: int


# --- vector pass --------------------------------------------------------------------------------


class GroupProfiles(NamedTuple):
    """Scores of groups of ``LANES`` miRNAs, one after the other.

    scores     int16 or int32 (total,): of each group [reference code, row, lane]
    start      int64 (groups,): where each group's scores begin
    outside    int64 (groups,): rows before the seed rows
    from_row   int64 (groups,): first row in which a miRNA can reach the threshold
    """

    scores: NDArray[np.signedinteger]
    start: NDArray[np.int64]
    outside: NDArray[np.int64]
    from_row: NDArray[np.int64]


class Windows(NamedTuple):
    """Stretches of references to scan: int64 (windows,) each.

    group        number of the group
    reference    where the reference begins in the codes
    lead         columns are computed from here, so that those of the window are exact
    begin, end   the window's columns, counted from 0, the last one not included
    """

    group: NDArray[np.int64]
    reference: NDArray[np.int64]
    lead: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


class CandidateColumns(NamedTuple):
    """Columns that reach the threshold, window by window or task by task.

    first, length  int64 (windows,): entries first .. first + length - 1 are those of a window
    column         int32: 1 .. m, ascending within a window
    lanes          uint32: bit k is set where miRNA k of the group reaches the threshold
    """

    first: NDArray[np.int64]
    length: NDArray[np.int64]
    column: NDArray[np.int32]
    lanes: NDArray[np.uint32]


@threaded(over="chosen")
def find_candidate_columns(first, last, chosen, codes, windows, groups, costs, found):  # type: ignore[no-untyped-def]
    """Scan some windows; fill the entries of ``found`` from its ``first`` on, and its ``length``.

    chosen   int64: numbers of the windows
    codes    uint8: all references, one after the other
    """
    for window in chosen[first:last]:
        group = windows.group[window]
        size = (groups.outside[group] + SEED_ROWS) * LANES
        start = groups.start[group]
        reference = windows.reference[window]
        place = found.first[window]
        room = place + windows.end[window] - windows.begin[window]
        found.length[window] = _scan(
            codes[reference : reference + windows.end[window]],
            (windows.lead[window], windows.begin[window]),
            groups.scores[start : start + 5 * size],
            (groups.outside[group], groups.from_row[group]),
            costs,
            found.column[place:room],
            found.lanes[place:room],
        )


@njit(nogil=True)
def _scan(codes, start, profile, rows_of_group, costs, column, lanes):  # type: ignore[no-untyped-def]
    """One group on one window of a reference: write columns and lanes, return how many.

    codes           from the reference's first letter to the window's last one
    start           column to begin with (lead), and column to report from (begin)
    rows_of_group   rows before the seed rows (outside), first row that can reach the threshold
    """
    lead, begin = start
    outside, from_row = rows_of_group
    gaps = costs.gaps
    rows = outside + SEED_ROWS
    # Of each row, at the last column: best, and b of the next column.
    best_of = np.empty(rows * LANES, profile.dtype)
    b_of = np.empty(rows * LANES, profile.dtype)
    zero = splat(profile, 0)
    open_0, extend_0 = splat(profile, gaps[0]), splat(profile, gaps[1])
    open_1, extend_1 = splat(profile, gaps[2]), splat(profile, gaps[3])
    least = splat(profile, costs.threshold)
    for row in range(rows):
        store(best_of, row * LANES, zero)
        store(b_of, row * LANES, zero)
    found = 0
    for position in range(lead, len(codes)):
        scores = np.int64(codes[position]) * (rows * LANES)
        diagonal = zero
        c = zero
        highest = zero
        for row in range(outside):
            at = row * LANES
            b = load(b_of, at)
            a = maximum(add(diagonal, load(profile, scores + at)), zero)
            diagonal = load(best_of, at)
            best = maximum(maximum(a, b), c)
            store(best_of, at, best)
            if row >= from_row:
                highest = maximum(highest, best)
            opened = add(a, open_0)
            store(b_of, at, maximum(opened, add(b, extend_0)))
            c = maximum(opened, add(c, extend_0))
        for row in range(outside, rows):
            at = row * LANES
            b = load(b_of, at)
            a = maximum(add(diagonal, load(profile, scores + at)), zero)
            diagonal = load(best_of, at)
            best = maximum(a, b)
            store(best_of, at, best)
            if row >= from_row:
                highest = maximum(highest, best)
            store(b_of, at, maximum(add(a, open_1), add(b, extend_1)))
        reached = at_least(highest, least)
        if reached != 0 and position >= begin:
            column[found] = position + 1
            lanes[found] = reached
            found += 1
    return found


# --- scalar pass --------------------------------------------------------------------------------


class LaneTasks(NamedTuple):
    """Groups on references, lane by lane.

    begin, length   int64 (tasks,): where the reference begins in the codes; its letters m
    rows            int64 (tasks, LANES): letters n of the lane's miRNA; 0: no such pair
    span            int64 (tasks, LANES): columns to go back
    first_score     int64 (tasks, LANES): first row of the lane's miRNA in the scores of all rows
    """

    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    rows: NDArray[np.int64]
    span: NDArray[np.int64]
    first_score: NDArray[np.int64]


class CandidateLists(NamedTuple):
    """Where the candidates of each lane of each task go.

    place   int64 (tasks, LANES): first entry in ``cells``
    room    int64 (tasks, LANES): of ``candidate_bounds``
    cells   int32 (3, total), written: row, column, score
    found   int64 (tasks, LANES), written: how many there are
    """

    place: NDArray[np.int64]
    room: NDArray[np.int64]
    cells: NDArray[np.int32]
    found: NDArray[np.int64]


class _Scratch(NamedTuple):
    """tracks: int64 (4, n + 1). best, row_of: int64, int32 (columns + n,), of each diagonal, entry
    column - first + n - row."""

    tracks: NDArray[np.int64]
    best: NDArray[np.int64]
    row_of: NDArray[np.int32]


@threaded(entries=1 << 8)
def candidate_bounds(first_task, last_task, columns, tasks, bounds):  # type: ignore[no-untyped-def]
    """How many candidates each lane of each task can have: ``bounds``, int64 (tasks, LANES)."""
    for task in range(first_task, last_task):
        first, length = columns.first[task], columns.length[task]
        column = columns.column[first : first + length]
        lanes = columns.lanes[first : first + length]
        for lane in range(LANES):
            bounds[task, lane] = 0
            n = tasks.rows[task, lane]
            k = _next_of_lane(lanes, lane, 0) if n > 0 else len(lanes)
            while k < len(lanes):
                begin = column[k]
                last, k = _end_of_region(
                    column, lanes, lane, k, tasks.length[task], tasks.span[task, lane]
                )
                bounds[task, lane] += last - begin + 1 + n


@threaded()
def candidates_of_tasks(first_task, last_task, columns, tasks, codes, scores, costs, lists):  # type: ignore[no-untyped-def]
    """Write the candidates of each lane of each task, in miRanda's order, to ``lists``.

    scores   int32 (rows of all miRNAs, 5)
    """
    for task in range(first_task, last_task):
        m = tasks.length[task]
        reference = codes[tasks.begin[task] : tasks.begin[task] + m]
        first, length = columns.first[task], columns.length[task]
        column = columns.column[first : first + length]
        lanes = columns.lanes[first : first + length]
        for lane in range(LANES):
            lists.found[task, lane] = 0
            room = lists.room[task, lane]
            if room == 0:
                continue
            n, span = tasks.rows[task, lane], tasks.span[task, lane]
            scratch = _Scratch(
                np.empty((4, n + 1), np.int64), np.empty(room, np.int64), np.empty(room, np.int32)
            )
            score, place = tasks.first_score[task, lane], lists.place[task, lane]
            of_rows = scores[score : score + n]
            cells = lists.cells[:, place : place + room]
            found = 0
            k = _next_of_lane(lanes, lane, 0)
            while k < len(lanes):
                begin = column[k]
                last, k = _end_of_region(column, lanes, lane, k, m, span)
                region = (max(begin - span, 0), begin, last)
                found = _candidates_of_region(
                    reference, region, of_rows, costs, scratch, cells, found
                )
            _sort(cells, found)
            lists.found[task, lane] = found


@njit(nogil=True)
def _next_of_lane(lanes, lane, k):  # type: ignore[no-untyped-def]
    while k < len(lanes) and not (lanes[k] >> lane) & 1:
        k += 1
    return k


@njit(nogil=True)
def _end_of_region(column, lanes, lane, k, m, span):  # type: ignore[no-untyped-def]
    """Last column of the region that begins with candidate column k, and the one after it.

    Row n reaches the threshold up to one column after a candidate column. Regions closer than
    ``span`` are one, so that no diagonal is in two.
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


@njit(nogil=True)
def _candidates_of_region(codes, region, scores, costs, scratch, cells, found):  # type: ignore[no-untyped-def]
    """Append the best candidate of each diagonal of a region; return how many so far.

    region   column before the first one to compute (the border is there), and the first and last
             column to look at
    cells    int32 (3, room): row, column, score
    """
    start, first, last = region
    n = scores.shape[0]
    threshold = costs.threshold
    best, row_of = scratch.best, scratch.row_of
    scratch.tracks[:] = 0
    best_of, a_of = scratch.tracks[0], scratch.tracks[1]
    b_of, c_of = scratch.tracks[2], scratch.tracks[3]
    diagonals = last - first + 1 + n
    best[:diagonals] = 0
    for column in range(start + 1, last + 1):
        _next_column(codes[column - 1], scores, costs.gaps, best_of, a_of, b_of, c_of)
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
            cells[0, found] = row
            cells[1, found] = diagonal + first - n + row
            cells[2, found] = best[diagonal]
            found += 1
    return found


@njit(nogil=True)
def _next_column(code, scores, gaps, best_of, a_of, b_of, c_of):  # type: ignore[no-untyped-def]
    """Step all rows of a pair by one column.

    code      of the column's reference letter
    scores    int32 (n, 5): score of each row, by code
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


@njit(nogil=True)
def _sort(found, count):  # type: ignore[no-untyped-def]
    """Sort the first ``count`` candidates as miRanda does: score descending, column, row."""
    if count < 2:
        return
    cells = found[:, :count]
    order = np.argsort((cells[1].astype(np.int64) << 32) | cells[0], kind="mergesort")
    order = order[np.argsort(-cells[2][order].astype(np.int64), kind="mergesort")]
    for part in range(3):
        ordered = cells[part][order]
        for k in range(count):
            cells[part, k] = ordered[k]
