"""Which samples a permutation may exchange: what the CPU and the GPU are both given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.null_design import NullDesign


class Exchange(NamedTuple):
    """Which samples are exchanged: those of a group with each other.

    by_group : int64 (samples,), samples sorted by group, in their order within each. start : int64
    (groups + 1,), where each group begins in it. group : int32 (samples,), of each sample.
    step : int32 (groups,), by multiples of how many samples a group is shifted along its order, of
    which it has a whole number; 0: it is permuted.
    """

    by_group: NDArray[np.int64]
    start: NDArray[np.int64]
    group: NDArray[np.int32]
    step: NDArray[np.int32]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Samples of each group."""
        return np.diff(self.start)

    @classmethod
    def within(cls, design: NullDesign) -> Exchange:
        """As a null asks for."""
        group, step = design.groups, design.shifted.astype(np.int32)
        sizes = np.bincount(group, minlength=step.size)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        order = np.argsort(group, kind="stable")
        if design.courses is not None:
            step, order = step * design.courses.steps.astype(np.int32), design.courses.order
        return cls(order, start, group, step)
