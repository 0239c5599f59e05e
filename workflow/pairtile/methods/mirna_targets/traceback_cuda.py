"""Candidates to alignments on the GPU: the twin of ``kernels.miranda_traceback.trace_pairs``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets.kernels.miranda_scoring import (
    Candidates,
    CodedSequences,
    Scoring,
)

KERNELS = Path(__file__).parent / "kernels/miranda_traceback.cu"
THREADS = 128
SHARED_BYTES = 48 * 1024
"""Shared memory that a block may have without asking."""

FREE_SHARE = 4
"""Scratch takes at most one part in so many of what is free."""

CELLS_IN_WORD = 8


@dataclass(frozen=True)
class Traced:
    """Candidates that both filters leave, sorted by (i, j, rank), and their alignments.

    cells           the last aligned cell of each, and its score
    begin_row, begin_column   int32: the cell before the first aligned one
    state_count     int32: columns of the alignment
    states          uint8 (count, longest alignment): state of each column, the last one first
    """

    cells: Candidates
    begin_row: NDArray[np.int32]
    begin_column: NDArray[np.int32]
    state_count: NDArray[np.int32]
    states: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.cells)

    @classmethod
    def of(cls, numbers: NDArray[np.int32], states: NDArray[np.uint8]) -> Traced:
        """numbers: int32 (8, count), what ``trace`` gives."""
        i, j, row, column, score, begin_row, begin_column, state_count = numbers
        cells = Candidates(i=i, j=j, row=row, column=column, score=score)
        return cls(cells, begin_row, begin_column, state_count, states)


def trace(
    fields: Any,
    mirnas: CodedSequences,
    references: CodedSequences,
    scoring: Scoring,
    device: Device,
) -> tuple[Any, Any]:
    """Filter candidates and trace them back.

    fields    int32 (5, count) on the GPU: i, j, row, column, score, sorted as ``Candidates`` says

    Returns on the GPU: int32 (8, count), of those left, the fields, begin row and column, and
    number of states; uint8 (count, longest), the states.
    """
    xp = device.xp
    count = fields.shape[1]
    if count == 0:
        return xp.empty((8, 0), dtype=np.int32), xp.empty((0, 0), dtype=np.uint8)
    kernel = {
        name: cuda.load(KERNELS, {}).get_function(name)
        for name in ("far_from_better", "trace", "share_too_little")
    }
    i, j, row, column, _ = (xp.ascontiguousarray(field) for field in fields)
    starts_pair = xp.ones(count + 1, dtype=bool)
    starts_pair[1:-1] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
    first = xp.flatnonzero(starts_pair)
    n_pairs = len(first) - 1
    one_warp_each = (-(-n_pairs * 32 // THREADS),), (THREADS,)

    kept = xp.empty(count, dtype=np.uint8)
    scratch = xp.empty(count, dtype=np.int64)
    arguments = (first, np.int64(n_pairs), row, column, scratch, kept)
    kernel["far_from_better"](*one_warp_each, arguments)
    wanted = xp.flatnonzero(kept)
    found = xp.zeros((3, count), dtype=np.int32)
    states = _trace(kernel["trace"], wanted, (i, j, row, column), found, mirnas, references,
                    scoring, device)  # fmt: skip
    arguments = (first, np.int64(n_pairs), column, found[1], scratch, kept)
    kernel["share_too_little"](*one_warp_each, arguments)

    left = xp.flatnonzero(kept)
    numbers = xp.concatenate([fields[:, left], found[:, left]])
    longest = int(numbers[7].max())
    return numbers, states[xp.flatnonzero(kept[wanted]), :longest]


def _trace(
    kernel: Any,
    wanted: Any,
    cells: tuple[Any, ...],
    found: Any,
    mirnas: CodedSequences,
    references: CodedSequences,
    scoring: Scoring,
    device: Device,
) -> Any:
    """Trace some candidates; fill ``found`` (3, candidates) and return states (wanted, most)."""
    xp = device.xp
    lengths = np.diff(mirnas.offsets)
    spans = scoring.span_limits(lengths)
    used = xp.asnumpy(xp.unique(cells[0]))
    longest = int(lengths[used].max())
    columns = min(int(spans[used].max()), int(cells[3].max()))
    words = -(-longest // CELLS_IN_WORD)
    # Each state takes a row of its own or an unpaired reference base.
    width = longest + columns
    states = xp.empty((len(wanted), width), dtype=np.uint8)

    n_threads = min(THREADS, SHARED_BYTES // (8 * longest) // 32 * 32)
    in_shared = n_threads > 0
    n_threads = n_threads or THREADS
    bytes_each = 4 * words * columns + (0 if in_shared else 8 * longest)
    most = device.free_bytes() // FREE_SHARE // bytes_each
    most = min(most, int(xp.cuda.Device().attributes["MultiProcessorCount"]) * 2048, len(wanted))
    n_blocks = max(1, -(-most // n_threads))
    at_once = n_blocks * n_threads
    tracks = None if in_shared else xp.empty((2 * longest, at_once), dtype=np.int32)
    directions = xp.empty((words * columns, at_once), dtype=np.uint32)
    inputs = [
        xp.asarray(table)
        for table in (
            mirnas.codes,
            mirnas.offsets,
            references.codes,
            references.offsets,
            spans,
            scoring.pair,
        )
    ]
    for begin in range(0, len(wanted), at_once):
        arguments = (
            wanted,
            np.int64(begin),
            np.int64(min(at_once, len(wanted) - begin)),
            *cells,
            *inputs,
            *(np.int32(cost) for cost in scoring.gaps),
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
