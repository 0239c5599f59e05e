"""Which samples a permutation may exchange: what the CPU and the GPU are both given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Exchange(NamedTuple):
    """Which samples are exchanged: those of a group with each other.

    by_group : int64 (samples,), samples sorted by group, in their order within each. start : int64
    (groups + 1,), where each group begins in it. group : int32 (samples,), of each sample.
    shifted : bool (groups,), whether a group is shifted along its order, else it is permuted.
    """

    by_group: NDArray[np.int64]
    start: NDArray[np.int64]
    group: NDArray[np.int32]
    shifted: NDArray[np.bool_]

    @classmethod
    def within(cls, group: NDArray[np.int32], shifted: NDArray[np.bool_]) -> Exchange:
        """From the group of each sample, numbered from 0."""
        sizes = np.bincount(group, minlength=shifted.size)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(np.argsort(group, kind="stable"), start, group, shifted)
