"""The vector pass: columns in which any of ``LANES`` miRNAs reaches the threshold.

Lanes are miRNAs, their rows aligned at the seed; a shorter one has rows of score 0 in front, where
nothing is above 0, as in its own rows 1 and 2. Rows 1, 2 and n are left out: nothing in rows 1 and
2 is above 0, and row n reaches the threshold only one column after, or in, a column that is found.
What is below 0 differs from miRanda's, which has no effect on anything above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from pairtile.cpu.simd import LANES, add, at_least, load, maximum, splat, store
from pairtile.methods.mirna_targets.kernels.dealing import dealt
from pairtile.methods.mirna_targets.kernels.miranda_scoring import (
    SEED_ROWS,
    UNLIMITED,
    CodedSequences,
    Scoring,
)

WINDOW: Final = 2**15
"""Columns that one thread takes at a time."""


@dataclass(frozen=True)
class Group:
    """Up to ``LANES`` miRNAs of about one length, and their scores.

    padded_members   int64 (LANES,): their numbers within the block; -1 where a lane is empty
    profile          int16 or int32 (5 * rows * LANES,): score of [reference code, row, lane]
    longest          letters of its longest miRNA
    outside          rows before the seed rows
    from_row         first row in which a miRNA can reach the threshold
    """

    padded_members: NDArray[np.int64]
    profile: NDArray[np.signedinteger]
    longest: int
    outside: int
    from_row: int

    @property
    def members(self) -> NDArray[np.int64]:
        """Numbers of the miRNAs within the block, one a lane from lane 0 on."""
        return self.padded_members[self.padded_members >= 0]


@dataclass(frozen=True)
class Tasks:
    """Groups to run on references: ``groups[group[k]]`` on number ``reference[k]`` of the block."""

    groups: list[Group]
    group: NDArray[np.int64]
    reference: NDArray[np.int64]

    @classmethod
    def of(cls, groups: list[Group], chosen: list[tuple[int, int]]) -> Tasks:
        """Tasks of numbers (group, reference)."""
        group, reference = np.array(chosen, dtype=np.int64).T
        return cls(groups, np.ascontiguousarray(group), np.ascontiguousarray(reference))

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True)
class HotColumns:
    """Columns that reach the threshold, task by task.

    first, count   int64 (tasks,): a task's entries are first .. first + count - 1
    column         int32: 1 .. m, ascending within a task
    lanes          uint32: bit k is set where miRNA k of the group reaches the threshold
    """

    first: NDArray[np.int64]
    count: NDArray[np.int64]
    column: NDArray[np.int32]
    lanes: NDArray[np.uint32]


def group_mirnas(mirnas: CodedSequences, scoring: Scoring) -> list[Group]:
    """Sort those miRNAs that can reach the threshold by length, and put them into groups."""
    lengths = np.diff(mirnas.offsets)
    highest = {int(n): scoring.highest_score(int(n)) for n in np.unique(lengths)}
    able = np.array([highest[int(n)] >= scoring.threshold for n in lengths], dtype=bool)
    order = np.flatnonzero(able)[np.argsort(lengths[able], kind="stable")]
    dealt = [order[k : k + LANES] for k in range(0, len(order), LANES)]
    return [_group(mirnas, members, scoring) for members in dealt]


def hot_columns(tasks: Tasks, references: CodedSequences, scoring: Scoring) -> HotColumns:
    """Run the pass for each task, on all cores."""
    windows = _Windows.of(tasks, references, scoring)
    room = windows.end - windows.begin
    first = np.cumsum(room) - room
    # Room for the worst case; memory that is never written is never taken.
    column = np.empty(int(room.sum()), dtype=np.int32)
    lanes = np.empty(len(column), dtype=np.uint32)
    count = np.zeros(len(room), dtype=np.int64)
    group_of = tasks.group[windows.task]
    outside = np.array([group.outside for group in tasks.groups], dtype=np.int64)
    from_row = np.array([group.from_row for group in tasks.groups], dtype=np.int64)
    for number_type in (np.int16, np.int32):
        is_type = np.array([g.profile.dtype == number_type for g in tasks.groups], dtype=bool)
        chosen = np.flatnonzero(is_type[group_of])
        if not len(chosen):
            continue
        profiles = [
            group.profile if group.profile.dtype == number_type else group.profile[:0]
            for group in tasks.groups
        ]
        sizes = np.array([len(profile) for profile in profiles], dtype=np.int64)
        _score_pass(
            references.codes,
            chosen[dealt(len(chosen))],
            references.offsets[tasks.reference[windows.task]],
            windows.lead,
            windows.begin,
            windows.end,
            np.concatenate(profiles).astype(number_type),
            np.cumsum(sizes) - sizes,
            group_of,
            outside,
            from_row,
            scoring.gaps,
            scoring.threshold,
            first,
            count,
            column,
            lanes,
        )
    kept = ranges(first, count)
    of_tasks = np.bincount(windows.task, weights=count, minlength=len(tasks)).astype(np.int64)
    return HotColumns(np.cumsum(of_tasks) - of_tasks, of_tasks, column[kept], lanes[kept])


@dataclass(frozen=True)
class _Windows:
    """Tasks cut into windows of at most ``WINDOW`` columns, in order: int64 (windows,) each.

    task         number of the task
    lead         columns are computed from here, so that those of the window are exact
    begin, end   the window's columns, counted from 0, the last one not included
    """

    task: NDArray[np.int64]
    lead: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, tasks: Tasks, references: CodedSequences, scoring: Scoring) -> _Windows:
        m = np.diff(references.offsets)[tasks.reference]
        longest = np.array([group.longest for group in tasks.groups], dtype=np.int64)
        span = scoring.span_limits(longest)[tasks.group]
        # Where an alignment may have any span, nothing is cut.
        step = np.where(span == UNLIMITED, UNLIMITED, WINDOW)
        task = np.repeat(np.arange(len(tasks)), -(-m // step))
        begin = ranges(np.zeros(len(tasks), dtype=np.int64), -(-m // step)) * step[task]
        end = np.minimum(begin + step[task], m[task])
        return cls(task, np.maximum(begin - span[task], 0), begin, end)


def ranges(first: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """first[0], first[0] + 1, ... (count[0] numbers), then those of the next range, and so on."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum()), dtype=np.int64) + np.repeat(first - before, count)


def fits_int16(scoring: Scoring, length: int) -> bool:
    """Whether no sum of the pass can leave 16 bits, for miRNAs of up to ``length``."""
    step = int(np.abs(scoring.pair).max())
    lowest = -int(scoring.open.min()) - int(scoring.extend.min()) + step
    highest = scoring.highest_score(length) + step
    return max(lowest, highest, scoring.threshold) <= np.iinfo(np.int16).max


def _group(mirnas: CodedSequences, members: NDArray[np.int64], scoring: Scoring) -> Group:
    begins, ends = mirnas.offsets[members], mirnas.offsets[members + 1]
    longest = int((ends - begins).max())
    rows = max(longest - 3, SEED_ROWS)
    number_type = np.int16 if fits_int16(scoring, longest) else np.int32
    profile = np.zeros((5, rows, LANES), dtype=number_type)
    for lane, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        scores = scoring.row_pair_scores(mirnas.codes[begin:end])[2:-1]
        profile[:, rows - len(scores) :, lane] = scores.T
    reachable = np.cumsum(profile.max(axis=(0, 2)).astype(np.int64)) >= scoring.threshold
    from_row = int(np.argmax(reachable)) if reachable.any() else rows
    padded = np.full(LANES, -1, dtype=np.int64)
    padded[: len(members)] = members
    return Group(padded, profile.reshape(-1), longest, rows - SEED_ROWS, from_row)


@njit(cache=True, nogil=True)
def _scan(  # type: ignore[no-untyped-def]
    codes,
    lead,
    begin,
    profile,
    outside,
    from_row,
    gaps,
    threshold,
    best_of,
    b_of,
    column,
    lanes,
):
    """One group on one window of a reference: write columns and lanes, return how many.

    codes           from the reference's first letter to the window's last one
    best_of, b_of   of each row, at the last column: best, and b of the next column
    """
    rows = outside + SEED_ROWS
    zero = splat(profile, 0)
    open_0, extend_0 = splat(profile, gaps[0]), splat(profile, gaps[1])
    open_1, extend_1 = splat(profile, gaps[2]), splat(profile, gaps[3])
    least = splat(profile, threshold)
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


@njit(cache=True, nogil=True, parallel=True)
def _score_pass(  # type: ignore[no-untyped-def]
    codes,
    chosen,
    reference_begin,
    lead,
    begin,
    end,
    profiles,
    profile_start,
    group_of,
    outside,
    from_row,
    gaps,
    threshold,
    first,
    count,
    column,
    lanes,
):
    for k in prange(len(chosen)):
        window = chosen[k]
        group = group_of[window]
        size = (outside[group] + SEED_ROWS) * LANES
        start = profile_start[group]
        place = first[window]
        room = place + end[window] - begin[window]
        reference = reference_begin[window]
        count[window] = _scan(
            codes[reference : reference + end[window]],
            lead[window],
            begin[window],
            profiles[start : start + 5 * size],
            outside[group],
            from_row[group],
            gaps,
            threshold,
            np.empty(size, profiles.dtype),
            np.empty(size, profiles.dtype),
            column[place:room],
            lanes[place:room],
        )
