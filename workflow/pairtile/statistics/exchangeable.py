"""Which samples may be exchanged between groups where there is nothing to find.

Permutation within blocks: Winkler et al. 2015, NeuroImage 123:253.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pairtile.arrays import Int32Array, IntegerArray


@dataclass(frozen=True)
class Exchangeable:
    """Which samples can be exchanged when there is nothing to find.

    series, batch : int32 (S,), as in the state; empty where none are stated. Labels are permuted
    among samples of a batch, and among whole series; a label that changes within a series is
    shifted round in it.
    """

    series: Int32Array
    batch: Int32Array

    @classmethod
    def of_state(cls, state: Mapping[str, object]) -> Exchangeable:
        """As the arrays ``sample_series`` and ``sample_batch`` of an analysis say."""
        none = np.empty(0, dtype=np.int32)
        return cls(
            np.asarray(state.get("sample_series", none), dtype=np.int32),
            np.asarray(state.get("sample_batch", none), dtype=np.int32),
        )

    def of_samples(self, there: IntegerArray) -> Exchangeable:
        """The same of some of the samples."""
        return Exchangeable(
            *(each[there] if each.size else each for each in (self.series, self.batch))
        )

    def permute(self, codes: Int32Array, draws: int) -> tuple[Int32Array, int]:
        """The codes permuted, int32 (draws, S), and how many units were exchanged.

        Samples without a code (-1) keep none. The permutations are the same in every run.
        """
        random = np.random.default_rng(0x6C616265)
        n_samples = codes.size
        there = np.flatnonzero(codes >= 0)
        batch = self.batch if self.batch.size else np.zeros(n_samples, np.int32)
        units = self.series if self.series.size else np.arange(n_samples)
        members = [there[units[there] == unit] for unit in np.unique(units[there])]
        permuted = np.tile(codes, (draws, 1))
        if all((codes[unit] == codes[unit[0]]).all() for unit in members):
            first = np.array([unit[0] for unit in members], dtype=np.int64)
            sizes = [len(unit) for unit in members]
            order = np.concatenate(members) if members else there
            groups = [np.flatnonzero(batch[first] == b) for b in np.unique(batch[first])]
            for row in permuted:
                of_unit = codes[first]
                for group in groups:
                    of_unit[group] = of_unit[random.permutation(group)]
                row[order] = np.repeat(of_unit, sizes)
            return permuted, len(members)
        for row in permuted:
            for unit in members:
                row[unit] = np.roll(row[unit], random.integers(unit.size))
        return permuted, there.size
