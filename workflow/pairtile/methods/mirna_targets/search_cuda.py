"""miRanda's score pass on the GPU, and what follows it there, in as large blocks as memory allows.

``candidates`` is the twin of ``search_cpu.candidates``; with ``alignments`` filters and traceback
follow on the GPU, too, so that only hits leave it. ``screen_cuda`` searches one block of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets.scoring import (
    AlignmentScoring,
    Candidates,
    SequenceBatch,
    Traced,
)
from pairtile.methods.mirna_targets.screen_cuda import BlockSearch

T = TypeVar("T")


def candidates(
    mirnas: SequenceBatch,
    references: SequenceBatch,
    scoring: AlignmentScoring,
    allowed: NDArray[np.bool_] | None = None,
    *,
    device: Device,
) -> Candidates:
    """Candidates of all pairs, as ``kernels.miranda_alignment.candidates`` gives, from the GPU.

    allowed   bool (miRNAs, references): pairs to report; all where None

    Where the GPU's memory does not suffice, halves the block of miRNAs, then that of references.

    Raises
    ------
    DeviceError
        If not even one miRNA with one reference fits.
    """
    found = in_blocks(BlockSearch.candidates, mirnas, references, scoring, allowed, device)
    if len(found) == 1:
        return Candidates(*found[0][0])
    fields, order = _joined([part for (part,) in found], 5)
    return Candidates(*fields[:, order])


def alignments(
    mirnas: SequenceBatch,
    references: SequenceBatch,
    scoring: AlignmentScoring,
    allowed: NDArray[np.bool_] | None = None,
    *,
    device: Device,
) -> Traced:
    """As ``candidates``, but filtered and traced back: what ``trace_pairs`` accepts of them."""
    found = in_blocks(BlockSearch.alignments, mirnas, references, scoring, allowed, device)
    if len(found) == 1:
        return Traced._make([*found[0][0], found[0][1]])
    numbers, order = _joined([part for part, _ in found], 8)
    longest = max((part.shape[1] for _, part in found), default=0)
    wide = [np.pad(part, ((0, 0), (0, longest - part.shape[1]))) for _, part in found]
    states = np.concatenate([np.empty((0, longest), dtype=np.uint8), *wide])
    return Traced._make([*numbers[:, order], states[order]])


def in_blocks(
    work: Callable[[BlockSearch, NDArray[np.bool_] | None], T],
    mirnas: SequenceBatch,
    references: SequenceBatch,
    scoring: AlignmentScoring,
    allowed: NDArray[np.bool_] | None,
    device: Device,
) -> list[T]:
    """What ``work`` gives of all pairs at once, or of blocks where memory does not suffice."""
    todo = [(np.arange(len(mirnas)), 0, len(references))] if len(mirnas) and len(references) else []
    found = []
    while todo:
        rows, begin, end = todo.pop()
        try:
            search = BlockSearch(mirnas, rows, references, begin, end, scoring, device)
            found.append(work(search, allowed))
        except device.xp.cuda.memory.OutOfMemoryError as error:
            device.xp.get_default_memory_pool().free_all_blocks()
            if len(rows) > 1:
                todo += [(half, begin, end) for half in np.array_split(rows, 2)]
            elif end - begin > 1:
                middle = (begin + end) // 2
                todo += [(rows, begin, middle), (rows, middle, end)]
            else:
                letters = int(references.offsets[end] - references.offsets[begin])
                raise DeviceError(
                    f"GPU memory: found no room to search a reference of {letters} letters with "
                    "one miRNA; expected a GPU with more free memory"
                ) from error
    return found


def _joined(
    parts: list[NDArray[np.int32]], rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The parts one behind the other, and the order that sorts them by (i, j): each is sorted, and
    no pair is in two of them."""
    fields = np.concatenate([np.empty((rows, 0), dtype=np.int32), *parts], axis=1)
    return fields, np.argsort(fields[0].astype(np.int64) << 32 | fields[1], kind="stable")
