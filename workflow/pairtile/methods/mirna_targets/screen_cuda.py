"""The GPU's score pass of one block of pairs, and what follows it there.

A fast screen (two miRNAs in the halves of each register, one thread for a window of the text of all
references) finds the blocks of 16 diagonals on which any cell reaches the threshold; a second
kernel computes those few again, in full, and reports the best candidate of each diagonal. Long
miRNAs, and scores that the screen cannot hold, go to a plain kernel in 32-bit integers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets import search_plan as plan
from pairtile.methods.mirna_targets.kernels.miranda_scoring import CodedSequences, Scoring
from pairtile.methods.mirna_targets.search_plan import BLOCK_COLUMNS, THREADS, Group, blocks
from pairtile.methods.mirna_targets.traceback_cuda import trace

KERNELS = Path(__file__).parent / "kernels/miranda_alignment.cu"
PLAIN_THREADS = 128
FREE_SHARE = 4
"""Lists that may have to grow, and scratch, begin with at most one part in so many of what is
free."""


class BlockSearch:
    """The search of a block of references with a block of miRNAs."""

    def __init__(
        self,
        mirnas: CodedSequences,
        rows: NDArray[np.int64],
        references: CodedSequences,
        begin: int,
        end: int,
        scoring: Scoring,
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
        self.codes = references.codes[offsets[0] : offsets[-1]]
        self.offsets = offsets - offsets[0]
        self.groups, self.plain = plan.groups(self.lengths, rows, scoring)

    def candidates(self, allowed: NDArray[np.bool_] | None) -> tuple[NDArray[np.int32]]:
        """i, j, row, column, score: int32 (5, count), sorted as ``Candidates`` says."""
        fields = self._candidates(allowed)
        fields[1] += self.begin
        return (self.device.to_host(fields),)

    def alignments(
        self, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Numbers and states that ``target_traceback_cuda.trace`` gives."""
        references = CodedSequences(self.codes, self.offsets)
        fields = self._candidates(allowed)
        numbers, states = trace(fields, self.mirnas, references, self.scoring, self.device)
        numbers[1] += self.begin
        return self.device.to_host(numbers), self.device.to_host(states)

    def _candidates(self, allowed: NDArray[np.bool_] | None) -> Any:
        """i, j (within the block), row, column, score on the GPU."""
        found = [self.xp.empty((5, 0), dtype=np.int32)]
        if self.groups:
            found.append(self._screened())
        if len(self.plain):
            found.append(self._any_length())
        fields = found[-1] if len(found) < 3 else self.xp.concatenate(found, axis=1)
        if allowed is not None:
            wanted = self.xp.asarray(allowed[:, self.begin : self.begin + len(self.offsets) - 1])
            fields = fields[:, wanted[fields[0], fields[1]]]
        return _sorted(self.xp, fields)

    def _settings(self, lowest: int) -> tuple[np.int32, ...]:
        """What gaps cost (no less than ``lowest``), outside and in the seed; the threshold."""
        costs = [(self.scoring.open[k], self.scoring.extend[k]) for k in (0, 1)]
        values = (*costs[0], *costs[1], self.scoring.threshold)
        return tuple(np.int32(max(int(value), lowest)) for value in values)

    def _screened(self) -> Any:
        """Candidates of the miRNAs that the screen takes."""
        xp = self.xp
        lead = blocks(max(group.lead for group in self.groups)) * BLOCK_COLUMNS
        text = _Text(xp, self.codes, self.offsets, lead, max(group.span for group in self.groups))
        tasks = []
        for group in self.groups:
            scores = xp.asarray(plan.profiles(self.mirnas, group, self.scoring))
            tasks.append((group, scores, self._screen(group, scores, text)))

        def report(*appending: Any) -> None:
            for group, scores, found in tasks:
                if len(found):
                    kernel = cuda.load(KERNELS, group.defines).get_function("best_of_diagonals")
                    arguments = (
                        found,
                        np.uint64(len(found)),
                        text.letters,
                        scores,
                        np.int32(group.lead),
                        *self._settings(-plan.MAX_SCORE),
                        xp.asarray(self.lengths[group.mirnas].astype(np.int32)),
                        xp.asarray(group.mirnas.astype(np.int32)),
                        text.starts,
                        np.int32(text.count),
                        *appending,
                    )
                    kernel((-(-len(found) // 128),), (128,), arguments)

        return self._fields(4 * sum(len(found) for _, _, found in tasks), report)

    def _screen(self, group: Group, scores: Any, text: _Text) -> Any:
        """Blocks of diagonals to look at closely: uint32 (count, 2), miRNA of group and block."""
        n_pairs = len(scores) // 2
        lead_blocks = blocks(group.lead)
        n_resident = self._multiprocessors() * 1024
        n_groups, window_blocks = plan.windows(text.columns, lead_blocks, n_pairs, n_resident)
        kernel = cuda.load(KERNELS, group.defines).get_function("screen_diagonals")

        def run(found: Any, capacity: np.uint64, count: Any) -> None:
            arguments = (
                text.letters,
                scores,
                np.int32(n_groups),
                np.int32(-(-blocks(text.columns) // window_blocks)),
                np.int32(window_blocks),
                np.int64(text.lead // BLOCK_COLUMNS - lead_blocks),
                np.int32(lead_blocks),
                *self._settings(-plan.MAX_SCORE),
                found,
                capacity,
                count,
            )
            kernel((n_pairs * n_groups,), (THREADS,), arguments)

        n_blocks = len(group.mirnas) * blocks(text.columns)
        found, count = self._grown(lambda n: (n, 2), np.uint32, n_blocks // 64, run)
        return found[:count].copy()

    def _any_length(self) -> Any:
        """Candidates of the other miRNAs."""
        xp = self.xp
        rows = self.plain[np.argsort(self.lengths[self.plain], kind="stable")]
        longest = int(self.lengths[rows[-1]])
        limits = [self.scoring.span_limit(int(n)) for n in np.unique(self.lengths[rows])]
        spans = [limit for limit in limits if limit is not None]
        n_threads = self.device.free_bytes() // FREE_SHARE // (16 * longest)
        n_threads = max(PLAIN_THREADS, min(n_threads, self._multiprocessors() * 2048))
        if len(spans) == len(limits):
            text = _Text(xp, self.codes, self.offsets, longest + max(spans), max(spans))
            end = text.lead + text.columns
            length = max(4 * text.lead, -(-text.columns * len(rows) // n_threads))
            first = np.arange(text.lead, end, length)
            begins, ends = first - text.lead, np.minimum(first + length, end)
        else:
            # Alignments may span any number of columns: a window is a whole reference.
            text = _Text(xp, self.codes, self.offsets, 0, 0)
            by_length = np.argsort(-np.diff(self.offsets), kind="stable")
            begins, ends = self.offsets[:-1][by_length], self.offsets[1:][by_length]
            first = begins
        pair = np.full((2, 5, plan.CODES), -(1 << 30), dtype=np.int32)
        pair[:, :, : plan.BETWEEN] = self.scoring.pair
        tables = (self.mirnas.codes, self.mirnas.offsets, rows, pair, begins, ends, first)
        inputs = (text.letters, *(xp.asarray(table) for table in tables))
        n_tasks = len(rows) * len(begins)
        n_blocks = -(-min(n_threads, n_tasks) // PLAIN_THREADS)
        at_once = n_blocks * PLAIN_THREADS
        state = xp.empty((4 * longest, at_once), dtype=np.int32)
        kernel = cuda.load(KERNELS, {}).get_function("best_of_diagonals_any_length")

        def report(*appending: Any) -> None:
            for task in range(0, n_tasks, at_once):
                arguments = (
                    *inputs,
                    np.int32(len(begins)),
                    np.int32(len(spans) < len(limits)),
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

    def _fields(self, expected: int, report: Callable[..., None]) -> Any:
        """Candidates that ``report(fields, capacity, count)`` appends: int32 (5, count)."""
        fields, count = self._grown(lambda n: (5, n), np.int32, expected, report)
        return fields[:, :count]

    def _grown(
        self,
        shape: Callable[[int], tuple[int, int]],
        dtype: type,
        expected: int,
        append: Callable[..., None],
    ) -> tuple[Any, int]:
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


class _Text:
    """All references in one text on the GPU, 16 * code a letter, with room between them."""

    def __init__(
        self, xp: Any, codes: NDArray[np.uint8], offsets: NDArray[np.int64], lead: int, between: int
    ) -> None:
        """lead      columns before the first reference, a multiple of 16
        between   columns after each: no alignment that matters, no diagonal reaches across
        """
        self.lead = lead
        self.count = len(offsets) - 1
        self.columns = int(offsets[-1]) + between * self.count
        self.starts = xp.asarray(lead + offsets[:-1] + between * np.arange(self.count))
        # The last window may run beyond the last column, and the kernels read a block ahead.
        size = lead + self.columns + (plan.MAX_WINDOW_BLOCKS + 4) * BLOCK_COLUMNS
        self.letters = xp.full(size, plan.BETWEEN << 4, dtype=np.uint8)
        if len(codes):
            kernel = cuda.load(KERNELS, {}).get_function("lay_out_references")
            grid = (min(-(-len(codes) // 256), 65_535),)
            arguments = (xp.asarray(codes), xp.asarray(offsets), self.starts)
            kernel(grid, (256,), (*arguments, np.int32(self.count), self.letters))


def _sorted(xp: Any, fields: Any) -> Any:
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
