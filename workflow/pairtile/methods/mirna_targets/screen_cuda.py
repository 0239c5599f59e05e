"""The GPU's search of one block of pairs: score pass, filters and traceback.

A fast screen (two miRNAs in the halves of each register, one thread for a window of the text of all
references) finds the blocks of 16 diagonals on which any cell reaches the threshold; a second
kernel computes those few again, in full, and reports the best candidate of each diagonal. Long
miRNAs, and scores that the screen cannot hold, go to a plain kernel in 32-bit integers. Candidates
are sorted, filtered and traced back where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from pairtile.arrays import BoolArray, CupyArray, CupyKernel, Int32Array, Int64Array, UInt8Array
from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets.scoring import (
    SEED_ROWS,
    UNLIMITED,
    AlignmentScoring,
    SequenceBatch,
)

SCORE_PASS = Path(__file__).parent / "kernels/miranda_alignment.cu"
TRACE_THREADS = 128
SHARED_BYTES = 48 * 1024
"""Shared memory that a block may have without asking."""

PLAIN_THREADS = 128
FREE_SHARE = 4
"""Lists that may have to grow, and scratch, begin with at most one part in so many of what is
free."""


class BlockSearch:
    """The search of a block of references with a block of miRNAs."""

    def __init__(
        self,
        mirnas: SequenceBatch,
        rows: Int64Array,
        references: SequenceBatch,
        begin: int,
        end: int,
        scoring: AlignmentScoring,
        device: Device,
    ) -> None:
        """rows: miRNAs of the block; its references are ``begin`` to ``end`` - 1."""
        self.device = device
        self.xp = device.xp
        self.mirnas = mirnas
        self.lengths = np.diff(mirnas.offsets)
        self.scoring = scoring
        self.begin = begin
        offsets = references.offsets[begin : end + 1]
        text = references.text[offsets[0] : offsets[-1]]
        self.references = SequenceBatch(text, offsets - offsets[0])
        self.groups, self.plain = groups(self.lengths, rows, scoring)

    def candidates(self, allowed: BoolArray | None) -> tuple[Int32Array]:
        """i, j, row, column, score: int32 (5, count), sorted as ``Candidates`` says."""
        fields = self._candidates(allowed)
        fields[1] += self.begin
        return (self.device.to_host(fields),)

    def alignments(self, allowed: BoolArray | None) -> tuple[Int32Array, UInt8Array]:
        """What ``traced`` gives, references counted among all."""
        numbers, states = self.traced(allowed)
        numbers[1] += self.begin
        return self.device.to_host(numbers), self.device.to_host(states)

    def traced(self, allowed: BoolArray | None) -> tuple[CupyArray, CupyArray]:
        """Candidates filtered and traced back, on the GPU, references counted within the block.

        Returns int32 (8, count), of those left, the fields of ``candidates``, begin row and column,
        and number of states; uint8 (count, longest), the states.
        """
        xp, fields = self.xp, self._candidates(allowed)
        count = fields.shape[1]
        if count == 0:
            return xp.empty((8, 0), dtype=np.int32), xp.empty((0, 0), dtype=np.uint8)
        kernel = cuda.load(Path(__file__).parent / "kernels/miranda_traceback.cu", {}).get_function
        i, j, row, column, _ = (xp.ascontiguousarray(field) for field in fields)
        starts_pair = xp.ones(count + 1, dtype=bool)
        starts_pair[1:-1] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        first = xp.flatnonzero(starts_pair)
        n_pairs = len(first) - 1
        one_warp_each = (-(-n_pairs * 32 // TRACE_THREADS),), (TRACE_THREADS,)

        kept = xp.empty(count, dtype=np.uint8)
        scratch = xp.empty(count, dtype=np.int64)
        arguments = (first, np.int64(n_pairs), row, column, scratch, kept)
        kernel("far_from_better")(*one_warp_each, arguments)
        wanted = xp.flatnonzero(kept)
        found = xp.zeros((3, count), dtype=np.int32)
        states = self._trace(kernel("trace"), wanted, (i, j, row, column), found)
        arguments = (first, np.int64(n_pairs), column, found[1], scratch, kept)
        kernel("share_too_little")(*one_warp_each, arguments)

        left = xp.flatnonzero(kept)
        numbers = xp.concatenate([fields[:, left], found[:, left]])
        longest = int(numbers[7].max())
        return numbers, states[xp.flatnonzero(kept[wanted]), :longest]

    def _trace(
        self, kernel: CupyKernel, wanted: CupyArray, cells: tuple[CupyArray, ...], found: CupyArray
    ) -> CupyArray:
        """Trace some candidates; fills ``found`` (3, candidates), returns states (wanted, most)."""
        xp = self.xp
        spans = self.scoring.span_limits(self.lengths)
        used = xp.asnumpy(xp.unique(cells[0]))
        longest = int(self.lengths[used].max())
        columns = min(int(spans[used].max()), int(cells[3].max()))
        # CELLS_IN_WORD of the kernel.
        words = -(-longest // 8)
        # Each state takes a row of its own or an unpaired reference base.
        width = longest + columns
        states = xp.empty((len(wanted), width), dtype=np.uint8)

        n_threads = min(TRACE_THREADS, SHARED_BYTES // (8 * longest) // 32 * 32)
        in_shared = n_threads > 0
        n_threads = n_threads or TRACE_THREADS
        bytes_each = 4 * words * columns + (0 if in_shared else 8 * longest)
        most = self.device.free_bytes() // FREE_SHARE // bytes_each
        n_blocks = max(1, -(-min(most, self._multiprocessors() * 2048, len(wanted)) // n_threads))
        at_once = n_blocks * n_threads
        tracks = None if in_shared else xp.empty((2 * longest, at_once), dtype=np.int32)
        directions = xp.empty((words * columns, at_once), dtype=np.uint32)
        sequences = (self.mirnas, self.references)
        tables = [table for of in sequences for table in (of.codes, of.offsets)]
        inputs = [xp.asarray(table) for table in (*tables, spans, self.scoring.pair)]
        for begin in range(0, len(wanted), at_once):
            arguments = (
                wanted,
                np.int64(begin),
                np.int64(min(at_once, len(wanted) - begin)),
                *cells,
                *inputs,
                *(np.int32(cost) for cost in self.scoring.gaps),
                np.int32(words),
                np.uint64(0) if tracks is None else tracks,
                directions,
                *found,
                states,
                np.int32(width),
            )
            shared_bytes = 8 * longest * n_threads if in_shared else 0
            kernel((n_blocks,), (n_threads,), arguments, shared_mem=shared_bytes)
        return states

    def _candidates(self, allowed: BoolArray | None) -> CupyArray:
        """i, j (within the block), row, column, score on the GPU."""
        found = [self.xp.empty((5, 0), dtype=np.int32)]
        if self.groups:
            found.append(self._screened())
        if len(self.plain):
            found.append(self._any_length())
        fields = found[-1] if len(found) < 3 else self.xp.concatenate(found, axis=1)
        if allowed is not None:
            wanted = self.xp.asarray(allowed[:, self.begin : self.begin + len(self.references)])
            fields = fields[:, wanted[fields[0], fields[1]]]
        return _sorted(self.xp, fields)

    def _settings(self, lowest: int) -> tuple[np.int32, ...]:
        """What gaps cost (no less than ``lowest``), outside and in the seed; the threshold."""
        costs = [(self.scoring.open[k], self.scoring.extend[k]) for k in (0, 1)]
        values = (*costs[0], *costs[1], self.scoring.threshold)
        return tuple(np.int32(max(int(value), lowest)) for value in values)

    def _screened(self) -> CupyArray:
        """Candidates of the miRNAs that the screen takes."""
        xp = self.xp
        lead = blocks(max(group.lead for group in self.groups)) * BLOCK_COLUMNS
        text = _ReferenceText(xp, self.references, lead, max(group.span for group in self.groups))
        tasks = []
        for group in self.groups:
            scores = profiles(xp, self.mirnas, group, self.scoring)
            tasks.append((group, scores, self._screen(group, scores, text)))

        def report(*appending: CupyArray | np.uint64) -> None:
            for group, scores, found in tasks:
                if len(found):
                    kernel = cuda.load(SCORE_PASS, group.defines).get_function("best_of_diagonals")
                    arguments = (
                        found,
                        np.uint64(len(found)),
                        text.letters,
                        scores,
                        np.int32(group.lead),
                        *self._settings(-MAX_SCORE),
                        xp.asarray(self.lengths[group.mirnas].astype(np.int32)),
                        xp.asarray(group.mirnas.astype(np.int32)),
                        text.starts,
                        np.int32(text.count),
                        *appending,
                    )
                    kernel((-(-len(found) // 128),), (128,), arguments)

        return self._fields(4 * sum(len(found) for _, _, found in tasks), report)

    def _screen(self, group: ScreenGroup, scores: CupyArray, text: _ReferenceText) -> CupyArray:
        """Blocks of diagonals to look at closely: uint32 (count, 2), miRNA of group and block."""
        n_pairs = len(scores) // 2
        lead_blocks = blocks(group.lead)
        n_resident = self._multiprocessors() * 1024
        n_groups, window_blocks = windows(text.columns, lead_blocks, n_pairs, n_resident)
        kernel = cuda.load(SCORE_PASS, group.defines).get_function("screen_diagonals")

        def run(found: CupyArray, capacity: np.uint64, count: CupyArray) -> None:
            arguments = (
                text.letters,
                scores,
                np.int32(n_groups),
                np.int32(-(-blocks(text.columns) // window_blocks)),
                np.int32(window_blocks),
                np.int64(text.lead // BLOCK_COLUMNS - lead_blocks),
                np.int32(lead_blocks),
                *self._settings(-MAX_SCORE),
                found,
                capacity,
                count,
            )
            kernel((n_pairs * n_groups,), (THREADS,), arguments)

        n_blocks = len(group.mirnas) * blocks(text.columns)
        found, count = self._grown(lambda n: (n, 2), np.uint32, n_blocks // 64, run)
        return found[:count].copy()

    def _any_length(self) -> CupyArray:
        """Candidates of the other miRNAs."""
        xp = self.xp
        rows = self.plain[np.argsort(self.lengths[self.plain], kind="stable")]
        longest = int(self.lengths[rows[-1]])
        span = int(self.scoring.span_limits(self.lengths[rows]).max())
        n_threads = self.device.free_bytes() // FREE_SHARE // (16 * longest)
        n_threads = max(PLAIN_THREADS, min(n_threads, self._multiprocessors() * 2048))
        if span < UNLIMITED:
            text = _ReferenceText(xp, self.references, longest + span, span)
            end = text.lead + text.columns
            length = max(4 * text.lead, -(-text.columns * len(rows) // n_threads))
            first = np.arange(text.lead, end, length)
            begins, ends = first - text.lead, np.minimum(first + length, end)
        else:
            # Alignments may span any number of columns: a window is a whole reference.
            text = _ReferenceText(xp, self.references, 0, 0)
            offsets = self.references.offsets
            by_length = np.argsort(-np.diff(offsets), kind="stable")
            begins, ends = offsets[:-1][by_length], offsets[1:][by_length]
            first = begins
        pair = np.full((2, 5, CODES), -(1 << 30), dtype=np.int32)
        pair[:, :, :BETWEEN] = self.scoring.pair
        tables = (self.mirnas.codes, self.mirnas.offsets, rows, pair, begins, ends, first)
        inputs = (text.letters, *(xp.asarray(table) for table in tables))
        n_tasks = len(rows) * len(begins)
        n_blocks = -(-min(n_threads, n_tasks) // PLAIN_THREADS)
        at_once = n_blocks * PLAIN_THREADS
        state = xp.empty((4 * longest, at_once), dtype=np.int32)
        kernel = cuda.load(SCORE_PASS, {}).get_function("best_of_diagonals_any_length")

        def report(*appending: CupyArray | np.uint64) -> None:
            for task in range(0, n_tasks, at_once):
                arguments = (
                    *inputs,
                    np.int32(len(begins)),
                    np.int32(span == UNLIMITED),
                    np.int64(task),
                    np.int64(min(at_once, n_tasks - task)),
                    *self._settings(-(2**31)),
                    state,
                    text.starts,
                    np.int32(text.count),
                    *appending,
                )
                kernel((n_blocks,), (PLAIN_THREADS,), arguments)

        return self._fields(len(rows) * text.columns // 512, report)

    def _fields(self, expected: int, report: Callable[..., None]) -> CupyArray:
        """Candidates that ``report(fields, capacity, count)`` appends: int32 (5, count)."""
        fields, count = self._grown(lambda n: (5, n), np.int32, expected, report)
        return fields[:, :count]

    def _grown(
        self,
        shape: Callable[[int], tuple[int, int]],
        dtype: type,
        expected: int,
        append: Callable[..., None],
    ) -> tuple[CupyArray, int]:
        """A list and how much of it ``append(list, capacity, count)`` filled.

        ``append`` counts also what does not fit; then it runs again with as much room as it needs.
        """
        room = self.device.free_bytes() // FREE_SHARE // (4 * sum(shape(1)))
        capacity = max(1024, min(expected, room))
        count = self.xp.zeros(1, dtype=np.uint64)
        while True:
            places = self.xp.empty(shape(capacity), dtype=dtype)
            count.fill(0)
            append(places, np.uint64(capacity), count)
            needed = int(count[0])
            if needed <= capacity:
                return places, needed
            del places
            capacity = needed

    def _multiprocessors(self) -> int:
        return int(self.xp.cuda.Device().attributes["MultiProcessorCount"])


class _ReferenceText:
    """All references in one text on the GPU, 16 * code a letter, with room between them."""

    def __init__(self, xp: ModuleType, references: SequenceBatch, lead: int, between: int) -> None:
        """lead      columns before the first reference, a multiple of 16
        between   columns after each: no alignment that matters, no diagonal reaches across
        """
        codes, offsets = references.codes, references.offsets
        self.lead = lead
        self.count = len(references)
        self.columns = int(offsets[-1]) + between * self.count
        self.starts = xp.asarray(lead + offsets[:-1] + between * np.arange(self.count))
        # The last window may run beyond the last column, and the kernels read a block ahead.
        size = lead + self.columns + (MAX_WINDOW_BLOCKS + 4) * BLOCK_COLUMNS
        self.letters = xp.full(size, BETWEEN << 4, dtype=np.uint8)
        if len(codes):
            kernel = cuda.load(SCORE_PASS, {}).get_function("lay_out_references")
            grid = (min(-(-len(codes) // 256), 65_535),)
            arguments = (xp.asarray(codes), xp.asarray(offsets), self.starts)
            kernel(grid, (256,), (*arguments, np.int32(self.count), self.letters))


def _sorted(xp: ModuleType, fields: CupyArray) -> CupyArray:
    """By i, j, descending score, column, row."""
    if fields.shape[1] == 0:
        return fields
    i, j, row, column, score = range(5)
    order = (i, j, score, column, row)
    highest = [int(value) for value in fields.max(axis=1)]
    bits = [value.bit_length() for value in highest]
    if sum(bits) > 64:
        keys = [fields[k] if k != score else -fields[k] for k in reversed(order)]
        return fields[:, xp.lexsort(xp.stack(keys))]
    # One number holds a candidate: sorting numbers is faster than sorting rows.
    numbers = xp.zeros(fields.shape[1], dtype=np.uint64)
    for k in order:
        value = fields[k] if k != score else highest[k] - fields[k]
        numbers = (numbers << np.uint64(bits[k])) | value.astype(np.uint64)
    numbers.sort()
    for k in reversed(order):
        value = (numbers & np.uint64((1 << bits[k]) - 1)).astype(np.int32)
        fields[k] = value if k != score else highest[k] - value
        numbers >>= np.uint64(bits[k])
    return fields


# --- layout of the score pass: groups, profiles, windows; pure array code -------------------------


MAX_SCORE = 2047
"""Scores of the screen stay exact up to here: half-precision addition of integers."""

CODES = 6
"""Codes in the text: A, C, G, U, any other letter, and what stands between references."""

BETWEEN = 5

BLOCK_COLUMNS = 16
"""The screen looks at its result once in so many columns."""

THREADS = 64
"""Threads of a block of the screen, which share the profile of a pair of miRNAs."""

ROW_COUNTS = (9, 13, 15, 17, 19, 21, 23, 25, 29, 33, 41, 49)
"""Rows that the screen is compiled for. Most miRNAs have 22 letters, so 19 rows that can score."""

MAX_WINDOW_BLOCKS = 512


@dataclass(frozen=True)
class ScreenGroup:
    """miRNAs that the screen takes together.

    mirnas    rows of the miRNAs (int64)
    rows      rows kept in registers: n - rows .. n - 1 of each miRNA
    tracked   so many of the last of these can reach the threshold
    span      most columns that an alignment which reaches it can span
    """

    mirnas: Int64Array
    rows: int
    tracked: int
    span: int

    @property
    def lead(self) -> int:
        """Columns to run through before those whose scores must be exact."""
        return self.span + self.tracked

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros that the kernels are compiled with."""
        return {"ROWS": self.rows, "TRACKED": self.tracked}


def groups(
    lengths: Int64Array, mirnas: Int64Array, scoring: AlignmentScoring
) -> tuple[list[ScreenGroup], Int64Array]:
    """Groups for the screen, and the miRNAs that only the plain kernel can take.

    lengths   letters of every miRNA, int64
    mirnas    rows of those wanted, int64

    Those that cannot reach the threshold at all are in neither. The plain kernel takes those of
    more than ``ROW_COUNTS[-1]`` + 3 letters, those that can score more than ``MAX_SCORE``, and
    all where a gap costs nothing, so that alignments may span any number of columns.
    """
    members: dict[int, list[Int64Array]] = {}
    settings: dict[int, list[tuple[int, int]]] = {}
    plain = [np.empty(0, dtype=np.int64)]
    for n in np.unique(lengths[mirnas]).tolist():
        rows_of_length = mirnas[lengths[mirnas] == n]
        highest = scoring.highest_score(n)
        if highest < scoring.threshold:
            continue
        span = scoring.span_limit(n)
        if span == UNLIMITED or highest > MAX_SCORE or n - 3 > ROW_COUNTS[-1]:
            plain.append(rows_of_length)
            continue
        rows = next(count for count in ROW_COUNTS if count >= n - 3)
        members.setdefault(rows, []).append(rows_of_length)
        settings.setdefault(rows, []).append((_rows_that_reach(n, scoring), span))
    found = []
    for rows, parts in members.items():
        tracked, span = (max(values) for values in zip(*settings[rows], strict=True))
        # It is compiled to watch so many of the last rows, or all.
        tracked = next((t for t in (4, 8, 16, 32) if tracked <= t <= rows), rows)
        found.append(ScreenGroup(np.concatenate(parts), rows, tracked, span))
    return found, np.concatenate(plain)


def _rows_that_reach(n: int, scoring: AlignmentScoring) -> int:
    """In how many rows, all of them before row n, a score can reach the threshold."""
    best = [max(int(scores.max()), 0) for scores in scoring.pair]
    reach = np.cumsum([best[row >= n - SEED_ROWS] for row in range(3, n)])
    return int((reach >= scoring.threshold).sum())


def profiles(
    xp: ModuleType, mirnas: SequenceBatch, group: ScreenGroup, scoring: AlignmentScoring
) -> CupyArray:
    """Score of each row on each code: int16 (miRNAs, made even, CODES, rows, made 8, 16, ...).

    Rows that a shorter miRNA does not have, and its rows 1 and 2, score 0 on everything; the
    others never pair with what stands between references.
    """
    table = np.zeros((2, CODES, CODES), dtype=np.int16)  # [in the seed, miRNA code, text code]
    table[:, :BETWEEN, :BETWEEN] = np.maximum(scoring.pair, -MAX_SCORE)
    table[:, :BETWEEN, BETWEEN] = -MAX_SCORE
    begins = xp.asarray(mirnas.offsets[group.mirnas])
    lengths = xp.asarray(np.diff(mirnas.offsets)[group.mirnas])
    # Register row r is row n - rows + r: the letter at position rows - r, counted from 0.
    position = xp.arange(group.rows, 0, -1)
    scored = position <= lengths[:, None] - 3
    places = xp.where(scored, begins[:, None] + position, begins[:, None])
    letters = xp.where(scored, xp.asarray(mirnas.codes)[places], BETWEEN)
    in_seed = (position <= SEED_ROWS).astype(np.int64)
    shape = (len(lengths) + len(lengths) % 2, CODES, -(-group.rows // 8) * 8)
    found = xp.zeros(shape, dtype=np.int16)
    scores = xp.asarray(table)[in_seed, letters.astype(np.int64)]
    found[: len(lengths), :, : group.rows] = scores.transpose(0, 2, 1)
    return found


def windows(columns: int, lead_blocks: int, n_pairs: int, n_resident: int) -> tuple[int, int]:
    """Blocks of threads for each pair of miRNAs, and blocks of columns for each thread.

    n_resident   threads that the GPU runs at once

    Long windows waste little on their lead; short ones fill the GPU, and its last wave.
    """
    n_blocks = blocks(columns)
    fewest = -(-n_blocks // (THREADS * MAX_WINDOW_BLOCKS))
    most = -(-n_blocks // THREADS)
    choices = np.unique(np.geomspace(fewest, most, 256).astype(np.int64))
    length = -(-n_blocks // (THREADS * choices))
    waves = n_pairs * choices * THREADS / n_resident
    best = int(np.argmin((length + lead_blocks) * (waves + 0.5)))
    return int(choices[best]), int(length[best])


def blocks(columns: int) -> int:
    """Blocks of columns that hold so many."""
    return -(-columns // BLOCK_COLUMNS)
