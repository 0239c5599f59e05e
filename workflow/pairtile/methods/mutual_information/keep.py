"""What the key ``keep`` asks of an edge, whichever form it was given in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mutual_information.config import KeepRule


class Bar(NamedTuple):
    """What an edge must meet, and how many stay; None asks nothing.

    ``p_bound``, ``score_bound`` and ``top`` bound what can be kept, so that chunks know what to
    store before all pairs are scored; ``passes`` and ``top_edges`` (those with the highest scores,
    the first of equal ones) decide when they are.
    """

    p_value: float | None = None
    fdr: float | None = None
    score: float | None = None
    top_edges: int | None = None

    @classmethod
    def of(cls, keep: KeepRule) -> Bar:
        """The numbers that a form of ``keep`` has."""
        return cls(**dict(keep))

    @property
    def everything(self) -> bool:
        """Whether every pair is kept."""
        return self == Bar()

    @property
    def by_q_value(self) -> bool:
        """Whether q-values decide; where they do not, they need not be given."""
        return self.fdr is not None

    @property
    def by_p_value(self) -> bool:
        """Whether p- or q-values decide; where they do not, bootstraps need no null."""
        return self.p_value is not None or self.by_q_value

    @property
    def p_bound(self) -> float:
        """p-value up to which every pair must be stored; 0: p-values decide nothing."""
        if self.everything:
            return 1.0
        return self.p_value or self.fdr or 0.0  # a pair with q <= x has p <= x

    @property
    def score_bound(self) -> float | None:
        """Least score of a pair that is kept; None: scores alone do not bound it."""
        return self.score if self.p_value is None else None

    @property
    def top(self) -> int:
        """Least number of best pairs that must be stored."""
        return 0 if self.by_q_value else self.top_edges or 0

    def draws(self, resolved: int, n_pairs: int) -> float:
        """Draws of the null that are needed; a p-value takes ``resolved`` draws above it. (Some
        are drawn whatever is asked: ``permutations_needed``.)"""
        if self.p_value is not None:
            return resolved / self.p_value
        if self.fdr is not None:
            # A pair among a thousand kept has p near fdr * 1000 / n_pairs.
            return min(resolved * n_pairs / (1000.0 * self.fdr), 1e7)
        return 0.0  # p-values decide nothing

    def significant(self, p: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which pairs the p-value lets pass; all where none is asked."""
        return p <= (1.0 if self.p_value is None else self.p_value)

    def passes(self, score: NDArray[np.floating], p: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which edges pass, by their scores and p-values, one of each for each edge."""
        passed = self.significant(p)
        return passed if self.score is None else passed & (score >= self.score)
