"""What the key ``keep`` asks of an edge between genes, whichever form it was given in."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from pairtile.config.keep import Keep, Number, Share, TopEdges
from pairtile.methods.mutual_information.scores import SCORES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class KeepGenePairs(Keep):
    """Which pairs of genes become edges: by significance, by score, or the best of them."""

    # ``p_bound`` and ``top`` bound what can be kept, so that chunks know what to
    # store before all pairs are scored; ``passes`` and ``top_edges`` (those with the highest
    # scores, the first of equal ones) decide when they are.

    words: ClassVar[tuple[str, ...]] = ("all", "auto")
    forms: ClassVar[tuple[str, ...]] = ("p_value", "fdr", "score", "top_edges", "fdr top_edges")

    p_value: Share = Field(
        default=None,
        description=(
            "Keep pairs whose permutation p-value of mutual information is at most this. With n "
            "pairs tested, n times this number are kept by chance alone: 1e-5 of 2e8 pairs is "
            "2,000."
        ),
    )
    fdr: Share = Field(
        default=None,
        description=(
            "Keep pairs whose q-value (Benjamini-Hochberg, from the permutation p-values) is at "
            "most this: the expected share of unrelated pairs in the network, behind `dpi`."
        ),
    )
    score: Number = Field(
        default=None,
        description=(
            "Keep edges whose `score` is at least this: "
            + ", ".join(f"{score.unit or 'no unit'} for `{name}`" for name, score in SCORES.items())
            + "."
        ),
    )
    top_edges: TopEdges = Field(
        default=None,
        description=(
            "Keep this many edges, those with the highest `score`; beside `fdr` at most so many of "
            "those that meet it."
        ),
    )

    @property
    def by_p_value(self) -> bool:
        """Whether p- or q-values decide; where they do not, bootstraps need no null."""
        return self.p_value is not None or self.fdr is not None

    @property
    def p_bound(self) -> float:
        """p-value up to which every pair must be stored; 0: p-values decide nothing."""
        if self.rule == "all":
            return 1.0
        return self.p_value or self.fdr or 0.0  # a pair with q <= x has p <= x

    @property
    def top(self) -> int:
        """Least number of best pairs that must be stored."""
        return 0 if self.fdr is not None else self.top_edges or 0

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
