"""How the GPU's score pass is laid out: groups of miRNAs, their profiles, windows of the text.

Pure array code, without a GPU; ``miranda_alignment.cu`` says what the kernels make of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.kernels.miranda_scoring import (
    SEED_ROWS,
    CodedSequences,
    Scoring,
)

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

TRACKED_COUNTS = (4, 8, 16, 32)
"""How many of the last rows it is compiled to watch; or all."""

MAX_WINDOW_BLOCKS = 512


@dataclass(frozen=True)
class Group:
    """miRNAs that the screen takes together.

    mirnas    rows of the miRNAs (int64)
    rows      rows kept in registers: n - rows .. n - 1 of each miRNA
    tracked   so many of the last of these can reach the threshold
    span      most columns that an alignment which reaches it can span
    """

    mirnas: NDArray[np.int64]
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
    lengths: NDArray[np.int64], mirnas: NDArray[np.int64], scoring: Scoring
) -> tuple[list[Group], NDArray[np.int64]]:
    """Groups for the screen, and the miRNAs that only the plain kernel can take.

    lengths   letters of every miRNA, int64
    mirnas    rows of those wanted, int64

    Those that cannot reach the threshold at all are in neither. The plain kernel takes those of
    more than ``ROW_COUNTS[-1]`` + 3 letters, those that can score more than ``MAX_SCORE``, and
    all where a gap costs nothing, so that alignments may span any number of columns.
    """
    members: dict[int, list[NDArray[np.int64]]] = {}
    settings: dict[int, list[tuple[int, int]]] = {}
    plain = [np.empty(0, dtype=np.int64)]
    for n in np.unique(lengths[mirnas]).tolist():
        rows_of_length = mirnas[lengths[mirnas] == n]
        highest = scoring.highest_score(n)
        if highest < scoring.threshold:
            continue
        span = scoring.span_limit(n)
        if span is None or highest > MAX_SCORE or n - 3 > ROW_COUNTS[-1]:
            plain.append(rows_of_length)
            continue
        rows = next(count for count in ROW_COUNTS if count >= n - 3)
        members.setdefault(rows, []).append(rows_of_length)
        settings.setdefault(rows, []).append((_rows_that_reach(n, scoring), span))
    found = []
    for rows, parts in members.items():
        tracked, span = (max(values) for values in zip(*settings[rows], strict=True))
        tracked = next((t for t in TRACKED_COUNTS if tracked <= t <= rows), rows)
        found.append(Group(np.concatenate(parts), rows, tracked, span))
    return found, np.concatenate(plain)


def _rows_that_reach(n: int, scoring: Scoring) -> int:
    """In how many rows, all of them before row n, a score can reach the threshold."""
    best = [max(int(scores.max()), 0) for scores in scoring.pair]
    reach = np.cumsum([best[row >= n - SEED_ROWS] for row in range(3, n)])
    return int((reach >= scoring.threshold).sum())


def profiles(mirnas: CodedSequences, group: Group, scoring: Scoring) -> NDArray[np.int16]:
    """Score of each row on each code: int16 (miRNAs, made even, CODES, rows, made 8, 16, ...).

    Rows that a shorter miRNA does not have, and its rows 1 and 2, score 0 on everything; the
    others never pair with what stands between references.
    """
    table = np.zeros((2, CODES, CODES), dtype=np.int16)  # [in the seed, miRNA code, text code]
    table[:, :BETWEEN, :BETWEEN] = np.maximum(scoring.pair, -MAX_SCORE)
    table[:, :BETWEEN, BETWEEN] = -MAX_SCORE
    begins = mirnas.offsets[group.mirnas]
    lengths = mirnas.offsets[group.mirnas + 1] - begins
    # Register row r is row n - rows + r: the letter at position rows - r, counted from 0.
    position = np.arange(group.rows, 0, -1)
    scored = position <= lengths[:, None] - 3
    letters = mirnas.codes[np.where(scored, begins[:, None] + position, begins[:, None])]
    letters = np.where(scored, letters, BETWEEN)
    in_seed = (position <= SEED_ROWS).astype(np.int64)
    shape = (len(lengths) + len(lengths) % 2, CODES, -(-group.rows // 8) * 8)
    found = np.zeros(shape, dtype=np.int16)
    found[: len(lengths), :, : group.rows] = table[in_seed, letters].transpose(0, 2, 1)
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
