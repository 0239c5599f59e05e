"""Sums over each gene's scores, kept as integers so that they add up the same in any order.

Scores are turned into multiples of 2^-36 bits before they are summed: adding integers is exact,
so the sums do not depend on how the pairs were cut into tiles and chunks. 10^5 scores of at most
6 bits, squared, stay below 2^63.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIXED_POINT_ONE = float(1 << 36)
"""One bit (or one bit squared) in units of the integer sums."""

ROLES = ("source", "target")
KINDS = ("count", "sum", "squares")


@dataclass(frozen=True)
class ExactMoments:
    """Integer sums for each gene in both roles: int64 arrays (genes,) by ``ROLE_KIND``.

    ``target_*``: over the candidate sources of that gene; ``source_*``: over its targets.
    """

    sums: dict[str, NDArray[np.int64]]

    @classmethod
    def zeros(cls, genes: int) -> ExactMoments:
        """Nothing counted yet."""
        return cls({f"{r}_{k}": np.zeros(genes, dtype=np.int64) for r in ROLES for k in KINDS})

    def add(
        self, role: str, kind: str, genes: NDArray[np.int64], values: NDArray[np.int64]
    ) -> None:
        """Add to the sums of ``genes`` (each at most once)."""
        self.sums[f"{role}_{kind}"][genes] += values

    @classmethod
    def from_summaries(cls, summaries: Mapping[str, NDArray[np.int64]]) -> ExactMoments:
        """From what ``sums`` held, after storage and merging."""
        return cls({f"{r}_{k}": np.asarray(summaries[f"{r}_{k}"]) for r in ROLES for k in KINDS})

    def mean_sd(self, role: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and population standard deviation of each gene's scores; 0 where there are none."""
        count = np.maximum(self.sums[f"{role}_count"], 1).astype(np.float64)
        mean = self.sums[f"{role}_sum"] / FIXED_POINT_ONE / count
        variance = self.sums[f"{role}_squares"] / FIXED_POINT_ONE / count - mean * mean
        # Fixed point and subtraction leave about 1e-11; a smaller variance is none.
        return mean, np.sqrt(np.where(variance > 1e-10, variance, 0.0))
