"""miRanda's candidates on the CPU, batch by batch; ``kernels.score_pass`` does the work.

``search_cuda.candidates`` is the CUDA twin: the same arguments, the same ``Candidates``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.vectors import LANES
from pairtile.methods.mirna_targets.kernels.score_pass import (
    CandidateColumns,
    CandidateLists,
    Costs,
    GroupProfiles,
    LaneTasks,
    Windows,
    candidate_bounds,
    candidates_of_tasks,
    find_candidate_columns,
)
from pairtile.methods.mirna_targets.scoring import (
    SEED_ROWS,
    UNLIMITED,
    AlignmentScoring,
    Candidates,
    SequenceBatch,
    pair_starts,
    ranges,
    runs,
)

WINDOW: Final = 2**15
"""Columns that one thread takes at a time."""

COLUMNS_AT_ONCE: Final = 2**24
"""Columns of one batch of tasks; the worst case takes 8 bytes for each."""

CANDIDATES_AT_ONCE: Final = 2**25
"""Room for candidates of one batch of tasks; 12 bytes each, taken only where written."""


@dataclass(frozen=True)
class LaneGroup:
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

    groups: list[LaneGroup]
    group: NDArray[np.int64]
    reference: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.group)


def candidates(
    mirnas: SequenceBatch,
    references: SequenceBatch,
    scoring: AlignmentScoring,
    allowed: NDArray[np.bool_] | None = None,
) -> Candidates:
    """Candidates of all pairs of a block of miRNAs (5'->3') and a block of references.

    allowed   bool (miRNAs, references): pairs to look at; all where None
    """
    scores = scoring.all_row_pair_scores(mirnas)
    groups = group_mirnas(mirnas, scoring, scores)
    parts = [
        part
        for tasks in _batches(groups, references, allowed)
        for part in _candidates_of_batch(tasks, mirnas, references, scoring, scores, allowed)
    ]
    found = np.concatenate([np.empty((5, 0), dtype=np.int32), *parts], axis=1)
    # By (i, j); within a pair candidates are sorted already.
    ends = pair_starts(found[0], found[1])
    first, count = ends[:-1], np.diff(ends)
    order = np.argsort(found[0, first].astype(np.int64) << 32 | found[1, first], kind="stable")
    return Candidates(*found[:, ranges(first[order], count[order])])


# --- groups of miRNAs ---------------------------------------------------------------------------


def group_mirnas(
    mirnas: SequenceBatch, scoring: AlignmentScoring, scores: NDArray[np.int32]
) -> list[LaneGroup]:
    """Sort those miRNAs that can reach the threshold by length, and put them into groups.

    scores   ``scoring.all_row_pair_scores`` of them
    """
    lengths = np.diff(mirnas.offsets)
    different, number = np.unique(lengths, return_inverse=True)
    highest = np.array([scoring.highest_score(int(n)) for n in different], dtype=np.int64)
    able = highest[number] >= scoring.threshold
    order = np.flatnonzero(able)[np.argsort(lengths[able], kind="stable")]
    groups = []
    for k in range(0, len(order), LANES):
        members = order[k : k + LANES]
        longest = int(lengths[members].max())
        rows = max(longest - 3, SEED_ROWS)
        number_type = np.int16 if fits_int16(scoring, longest) else np.int32
        profile = np.zeros((5, rows, LANES), dtype=number_type)
        for lane, member in enumerate(members.tolist()):
            begin, end = mirnas.offsets[member : member + 2]
            of_lane = scores[begin + 2 : max(end - 1, begin + 2)]
            profile[:, rows - len(of_lane) :, lane] = of_lane.T
        reachable = np.cumsum(profile.max(axis=(0, 2)).astype(np.int64)) >= scoring.threshold
        from_row = int(np.argmax(reachable)) if reachable.any() else rows
        padded = np.pad(members, (0, LANES - len(members)), constant_values=-1)
        groups.append(LaneGroup(padded, profile.reshape(-1), longest, rows - SEED_ROWS, from_row))
    return groups


def fits_int16(scoring: AlignmentScoring, length: int) -> bool:
    """Whether no sum of the vector pass can leave 16 bits, for miRNAs of up to ``length``."""
    step = int(np.abs(scoring.pair).max())
    lowest = -int(scoring.open.min()) - int(scoring.extend.min()) + step
    highest = scoring.highest_score(length) + step
    return max(lowest, highest, scoring.threshold) <= np.iinfo(np.int16).max


def _batches(
    groups: list[LaneGroup], references: SequenceBatch, allowed: NDArray[np.bool_] | None
) -> Iterator[Tasks]:
    """All pairs of a group and a reference, in batches of ``COLUMNS_AT_ONCE``."""
    lengths = np.diff(references.offsets)
    wanted = np.tile(lengths > 0, (len(groups), 1))
    if allowed is not None:
        for row, group in zip(wanted, groups, strict=True):
            row &= allowed[group.members].any(axis=0)
    number, reference = np.nonzero(wanted)
    for some in runs(lengths[reference], COLUMNS_AT_ONCE):
        yield Tasks(groups, number[some], reference[some])


# --- vector pass: columns -----------------------------------------------------------------------


def candidate_columns(
    tasks: Tasks, references: SequenceBatch, scoring: AlignmentScoring
) -> CandidateColumns:
    """Columns in which any miRNA of a task reaches the threshold, on all cores."""
    task, windows = _windows(tasks, references, scoring)
    room = windows.end - windows.begin
    # Room for the worst case; memory that is never written is never taken.
    found = CandidateColumns(
        first=np.cumsum(room) - room,
        length=np.zeros(len(room), dtype=np.int64),
        column=np.empty(int(room.sum()), dtype=np.int32),
        lanes=np.empty(int(room.sum()), dtype=np.uint32),
    )
    for number_type in (np.int16, np.int32):
        of_type = np.array([g.profile.dtype == number_type for g in tasks.groups], dtype=bool)
        chosen = np.flatnonzero(of_type[windows.group])
        if len(chosen):
            profiles = _profiles(tasks.groups, number_type)
            costs = Costs(scoring.gaps, scoring.threshold)
            find_candidate_columns(chosen, references.codes, windows, profiles, costs, found)
    kept = ranges(found.first, found.length)
    of_tasks = np.bincount(task, weights=found.length, minlength=len(tasks)).astype(np.int64)
    first = np.cumsum(of_tasks) - of_tasks
    return CandidateColumns(first, of_tasks, found.column[kept], found.lanes[kept])


def _windows(
    tasks: Tasks, references: SequenceBatch, scoring: AlignmentScoring
) -> tuple[NDArray[np.int64], Windows]:
    """Tasks cut into windows of at most ``WINDOW`` columns, in order, and the task of each."""
    m = np.diff(references.offsets)[tasks.reference]
    longest = np.array([group.longest for group in tasks.groups], dtype=np.int64)
    span = scoring.span_limits(longest)[tasks.group]
    # Where an alignment may have any span, nothing is cut.
    step = np.where(span == UNLIMITED, UNLIMITED, WINDOW)
    task = np.repeat(np.arange(len(tasks)), -(-m // step))
    begin = ranges(np.zeros(len(tasks), dtype=np.int64), -(-m // step)) * step[task]
    windows = Windows(
        group=tasks.group[task],
        reference=references.offsets[tasks.reference[task]],
        lead=np.maximum(begin - span[task], 0),
        begin=begin,
        end=np.minimum(begin + step[task], m[task]),
    )
    return task, windows


def _profiles(groups: list[LaneGroup], number_type: type[np.signedinteger]) -> GroupProfiles:
    """Profiles of all groups whose scores are of a type; of the others nothing."""
    parts = [g.profile if g.profile.dtype == number_type else g.profile[:0] for g in groups]
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    return GroupProfiles(
        scores=np.concatenate(parts).astype(number_type),
        start=np.cumsum(sizes) - sizes,
        outside=np.array([group.outside for group in groups], dtype=np.int64),
        from_row=np.array([group.from_row for group in groups], dtype=np.int64),
    )


# --- scalar pass: cells -------------------------------------------------------------------------


def _candidates_of_batch(
    tasks: Tasks,
    mirnas: SequenceBatch,
    references: SequenceBatch,
    scoring: AlignmentScoring,
    scores: NDArray[np.int32],
    allowed: NDArray[np.bool_] | None,
) -> Iterator[NDArray[np.int32]]:
    """i, j, row, column and score of candidates: int32 (5, count)."""
    columns = candidate_columns(tasks, references, scoring)
    begin = references.offsets[tasks.reference]
    member = np.stack([group.padded_members for group in tasks.groups])[tasks.group]
    is_pair = member >= 0
    if allowed is not None:
        is_pair &= allowed[member, tasks.reference[:, None]]
    mirna_length = np.diff(mirnas.offsets)
    lane_tasks = LaneTasks(
        begin=begin,
        length=references.offsets[tasks.reference + 1] - begin,
        rows=np.where(is_pair, mirna_length[member], 0),
        span=scoring.span_limits(mirna_length)[member],
        first_score=mirnas.offsets[member],
    )
    bounds = np.zeros((len(tasks), LANES), dtype=np.int64)
    candidate_bounds(columns, lane_tasks, bounds)
    costs = Costs(scoring.gaps, scoring.threshold)
    for some in runs(bounds.sum(axis=1), CANDIDATES_AT_ONCE):
        room = bounds[some]
        lists = CandidateLists(
            place=(np.cumsum(room) - room.reshape(-1)).reshape(-1, LANES),
            room=room,
            cells=np.empty((3, int(room.sum())), dtype=np.int32),
            found=np.zeros_like(room),
        )
        candidates_of_tasks(
            columns._replace(first=columns.first[some], length=columns.length[some]),
            LaneTasks(*(values[some] for values in lane_tasks)),
            references.codes,
            scores,
            costs,
            lists,
        )
        task, lane = np.nonzero(lists.found)
        numbers = lists.found[task, lane]
        kept = ranges(lists.place[task, lane], numbers)
        i = np.repeat(member[some][task, lane], numbers)
        j = np.repeat(tasks.reference[some][task], numbers)
        yield np.vstack([i.astype(np.int32), j.astype(np.int32), lists.cells[:, kept]])
