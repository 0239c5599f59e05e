"""miRanda's candidates on the CPU: a vector pass finds columns, a scalar pass takes their cells.

``miranda_alignment.cu`` is the CUDA twin: the same arguments, the same ``Candidates``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.simd import LANES
from pairtile.methods.mirna_targets.kernels.dealing import dealt
from pairtile.methods.mirna_targets.kernels.miranda_candidates import (
    candidate_bounds,
    candidates_of_tasks,
)
from pairtile.methods.mirna_targets.kernels.miranda_score_pass import (
    Group,
    Tasks,
    group_mirnas,
    hot_columns,
    ranges,
)
from pairtile.methods.mirna_targets.kernels.miranda_scoring import (
    SEED_ROWS,
    Candidates,
    CodedSequences,
    Scoring,
)

__all__ = ["SEED_ROWS", "Candidates", "CodedSequences", "Scoring", "candidates"]

COLUMNS_AT_ONCE: Final = 2**24
"""Columns of one batch of tasks; the worst case takes 8 bytes for each."""

CANDIDATES_AT_ONCE: Final = 2**25
"""Room for candidates of one batch of tasks; 12 bytes each, taken only where written."""


def candidates(
    mirnas: CodedSequences,
    references: CodedSequences,
    scoring: Scoring,
    allowed: NDArray[np.bool_] | None = None,
) -> Candidates:
    """Candidates of all pairs of a block of miRNAs (5'->3') and a block of references.

    allowed   bool (miRNAs, references): pairs to look at; all where None
    """
    groups = group_mirnas(mirnas, scoring)
    scores = scoring.all_row_pair_scores(mirnas)
    parts = [
        part
        for tasks in _batches(groups, references, allowed)
        for part in _candidates_of_batch(tasks, mirnas, references, scoring, scores, allowed)
    ]
    empty = np.empty(0, dtype=np.int32)
    return _sorted_by_pair([(empty, empty, np.empty((3, 0), dtype=np.int32)), *parts])


def _batches(
    groups: list[Group], references: CodedSequences, allowed: NDArray[np.bool_] | None
) -> Iterator[Tasks]:
    """All pairs of a group and a reference, in batches of ``COLUMNS_AT_ONCE``."""
    lengths = np.diff(references.offsets)
    chosen: list[tuple[int, int]] = []
    columns = 0
    for number, group in enumerate(groups):
        if allowed is None:
            wanted = np.flatnonzero(lengths > 0)
        else:
            wanted = np.flatnonzero(allowed[group.members].any(axis=0) & (lengths > 0))
        for reference in wanted:
            if columns + lengths[reference] > COLUMNS_AT_ONCE and chosen:
                yield Tasks.of(groups, chosen)
                chosen, columns = [], 0
            chosen.append((number, int(reference)))
            columns += int(lengths[reference])
    if chosen:
        yield Tasks.of(groups, chosen)


Part = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""i and j of each candidate, and its row, column and score: (c,), (c,), (3, c)."""


def _candidates_of_batch(
    tasks: Tasks,
    mirnas: CodedSequences,
    references: CodedSequences,
    scoring: Scoring,
    scores: NDArray[np.int32],
    allowed: NDArray[np.bool_] | None,
) -> Iterator[Part]:
    hot = hot_columns(tasks, references, scoring)
    begin = references.offsets[tasks.reference]
    length = references.offsets[tasks.reference + 1] - begin
    member = np.stack([group.padded_members for group in tasks.groups])[tasks.group]
    is_pair = member >= 0
    if allowed is not None:
        is_pair &= allowed[member, tasks.reference[:, None]]
    mirna_length = np.diff(mirnas.offsets)
    rows = np.where(is_pair, mirna_length[member], 0)
    span, first_score = scoring.span_limits(mirna_length)[member], mirnas.offsets[member]
    found_columns = (hot.column, hot.lanes)
    bounds = np.zeros((len(tasks), LANES), dtype=np.int64)
    candidate_bounds(hot.first, hot.count, *found_columns, length, rows, span, bounds)
    gaps = scoring.gaps
    for some in _runs(bounds.sum(axis=1)):
        place = (np.cumsum(bounds[some]) - bounds[some].reshape(-1)).reshape(-1, LANES)
        out = np.empty((3, int(bounds[some].sum())), dtype=np.int32)
        found = np.zeros_like(bounds[some])
        candidates_of_tasks(
            dealt(len(found)),
            hot.first[some],
            hot.count[some],
            *found_columns,
            references.codes,
            begin[some],
            length[some],
            rows[some],
            span[some],
            scores,
            first_score[some],
            gaps,
            scoring.threshold,
            place,
            bounds[some],
            out,
            found,
        )
        task, lane = np.nonzero(found)
        numbers = found[task, lane]
        kept = ranges(place[task, lane], numbers)
        i = np.repeat(member[some][task, lane], numbers).astype(np.int32)
        j = np.repeat(tasks.reference[some][task], numbers).astype(np.int32)
        yield i, j, out[:, kept]


def _runs(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Slices of tasks whose sizes add up to at most ``CANDIDATES_AT_ONCE``, or of one task."""
    begin, total = 0, 0
    for k, size in enumerate(sizes):
        if total + size > CANDIDATES_AT_ONCE and k > begin:
            yield slice(begin, k)
            begin, total = k, 0
        total += int(size)
    yield slice(begin, len(sizes))


def _sorted_by_pair(parts: list[Part]) -> Candidates:
    """Put the parts together by (i, j); within a pair they are sorted already."""
    i = np.concatenate([part[0] for part in parts])
    j = np.concatenate([part[1] for part in parts])
    cells = np.concatenate([part[2] for part in parts], axis=1)
    pair = i.astype(np.int64) << 32 | j
    first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]]) if len(pair) else np.empty(0, int)
    count = np.diff(np.r_[first, len(pair)])
    order = np.argsort(pair[first], kind="stable")
    rows = ranges(first[order], count[order])
    row, column, score = cells[:, rows]
    return Candidates(i[rows], j[rows], row, column, score)
