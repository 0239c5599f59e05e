"""How the GPU search over predictor sets is divided into blocks and batches.

A set is a left (its predictors but the last) and a right (its last predictor). A block is a
rectangle of lefts and rights, int32 (first left, first right, lefts, rights); sets of it whose
right does not come after the left's last predictor are not sets at all, and are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Blocks = NDArray[np.int32]

BLOCK_LEFTS = 8
BLOCK_RIGHTS = 512
LEAST_LEFTS = 2
LEAST_RIGHTS = 32
"""Eight for each warp of a CUDA block."""

LEAST_TILE_TARGETS = 32


def all_blocks(last: NDArray[np.int32], right_begin: int, right_end: int) -> Blocks:
    """Blocks that hold every set of the lefts with rights in [right_begin, right_end), each once.

    last : int32 (n_lefts,), the last predictor of every left; rights must come after it.
    """
    first_left = np.arange(0, len(last), BLOCK_LEFTS)
    lefts = np.minimum(BLOCK_LEFTS, len(last) - first_left)
    least = np.minimum.reduceat(last, first_left) if len(last) else last
    first_right = np.maximum(least + 1, right_begin)
    whole = np.stack([first_left, first_right, lefts, right_end - first_right], axis=1)
    whole = whole[whole[:, 3] > 0].astype(np.int32)
    return split(whole, BLOCK_LEFTS, BLOCK_RIGHTS)


def n_sets(blocks: Blocks) -> NDArray[np.int64]:
    """Sets of each block, counting those that are passed over."""
    return blocks[:, 2].astype(np.int64) * blocks[:, 3]


def split(blocks: Blocks, most_lefts: int, most_rights: int) -> Blocks:
    """The same sets in blocks of at most so many lefts and rights."""
    for axis, most in ((0, most_lefts), (1, most_rights)):
        parts = -(-blocks[:, 2 + axis] // most)
        number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        blocks = np.repeat(blocks, parts, axis=0)
        offset = (number * most).astype(np.int32)
        blocks[:, axis] += offset
        blocks[:, 2 + axis] = np.minimum(most, blocks[:, 2 + axis] - offset)
    return blocks


def batches(blocks: Blocks, done: int, first: int, growth: int) -> Iterator[Blocks]:
    """The blocks in batches: about ``first`` sets, then up to ``growth`` times those before.

    done : sets that were searched before these. The blocks come in a random order, always the
    same, so that the first batches are a fair sample of all.
    """
    blocks = blocks[np.random.default_rng(0).permutation(len(blocks))]
    if not done and len(blocks) and n_sets(blocks[:1]).sum() > first:
        fine = split(blocks[:1], LEAST_LEFTS, LEAST_RIGHTS)
        blocks = np.concatenate([fine, blocks[1:]])
    ends = np.cumsum(n_sets(blocks))
    begin = 0
    while begin < len(blocks):
        before = int(ends[begin - 1]) if begin else 0
        room = min(growth * (done + before), int(ends[-1])) if done + before else first
        end = max(begin + 1, int(np.searchsorted(ends, before + room, side="right")))
        yield blocks[begin:end]
        begin = end


def spread(blocks: Blocks, n_targets: int, tile_targets: int, busy: int) -> tuple[Blocks, int]:
    """Blocks and targets of a tile made smaller until there are ``busy`` of both together.

    tile_targets : largest number of targets of a tile, a multiple of 16; the one returned is
    too, and divides the targets evenly.
    """
    lefts, rights = BLOCK_LEFTS, BLOCK_RIGHTS
    width, height = blocks[:, 2], blocks[:, 3]

    def number() -> int:
        return int((-(-width // lefts) * -(-height // rights)).sum()) * -(
            -n_targets // tile_targets
        )

    while number() < busy:
        if rights > LEAST_RIGHTS:
            rights //= 2
        elif lefts > LEAST_LEFTS:
            lefts //= 2
        elif tile_targets > LEAST_TILE_TARGETS:
            tile_targets //= 2
        else:
            break
    even = -(-n_targets // -(-n_targets // tile_targets))
    return split(blocks, lefts, rights), -(-even // 16) * 16
