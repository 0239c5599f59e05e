"""Levels of a predictor set against the levels of its target: counts, and how levels persist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def level_counts(
    predictors: NDArray[np.integer], target: NDArray[np.integer], n_levels: int
) -> NDArray[np.int64]:
    """How often the target is at each level, for every combination of the predictors' levels.

    Parameters
    ----------
    predictors : int, shape (c, n_samples), -1 where missing
    target : int, shape (n_samples,), -1 where missing
    n_levels
        Number of levels q.

    Returns
    -------
    int64, shape (q, ..., q) with c + 1 axes, the target's last. Samples in which any of the levels
    is missing are left out.

    Examples
    --------
    >>> level_counts(np.array([[0, 1, 1, 0]]), np.array([0, 1, 1, -1]), 2)
    array([[1, 0],
           [0, 2]])
    """
    together = np.vstack([predictors, target]).astype(np.int64)
    together = together[:, (together >= 0).all(axis=0)]
    shape = (n_levels,) * len(together)
    if not together.shape[1]:
        return np.zeros(shape, dtype=np.int64)
    cells = np.ravel_multi_index(tuple(together), shape)
    return np.bincount(cells, minlength=n_levels ** len(together)).reshape(shape).astype(np.int64)


def persistence(
    earlier: NDArray[np.integer], later: NDArray[np.integer], n_levels: int
) -> tuple[float, float]:
    """How often genes keep their level from one sample to its later one, and how often by chance.

    Parameters
    ----------
    earlier, later : int, shape (n_genes, n_transitions), -1 where missing
        Levels of the same genes.
    n_levels
        Number of levels.

    Returns
    -------
    Two shares of one, means over the genes that have more than one level: transitions at which the
    level stays, and what independent samples with the same levels would give. NaN without genes.
    """
    kept, chance = [], []
    for before, after in zip(earlier, later, strict=True):
        both = (before >= 0) & (after >= 0)
        before, after = before[both], after[both]
        if not both.any() or np.unique(np.concatenate([before, after])).size < 2:
            continue
        shares = [np.bincount(x, minlength=n_levels) / x.size for x in (before, after)]
        kept.append(float((before == after).mean()))
        chance.append(float(shares[0] @ shares[1]))
    if not kept:
        return float("nan"), float("nan")
    return float(np.mean(kept)), float(np.mean(chance))


@dataclass(frozen=True)
class Levels:
    """The levels that a search went through, and which sample predicts which.

    values : int8 (genes, samples), -1 where missing. source_samples, target_samples : int32
    (transitions,), where predictors and where their target are read. row : the row of each gene's
    name.
    """

    values: NDArray[np.int8]
    n_levels: int
    source_samples: NDArray[np.int32]
    target_samples: NDArray[np.int32]
    row: dict[str, int]

    def table(self, predictors: Sequence[str], target: str) -> NDArray[np.int64]:
        """``level_counts`` of a set of predictors and its target, by their names."""
        rows = [self.row[name] for name in predictors]
        return level_counts(
            self.values[rows][:, self.source_samples],
            self.values[self.row[target], self.target_samples],
            self.n_levels,
        )

    def persistence(self, genes: Sequence[str]) -> tuple[float, float]:
        """``persistence`` of some genes over the transitions of the search."""
        values = self.values[[self.row[name] for name in genes]]
        return persistence(
            values[:, self.source_samples], values[:, self.target_samples], self.n_levels
        )


RULES = {
    "0001": "both are 1 (AND)",
    "0111": "at least one is 1 (OR)",
    "0110": "exactly one is 1 (XOR)",
    "1001": "both are equal (XNOR)",
    "1110": "not both are 1 (NAND)",
    "1000": "neither is 1 (NOR)",
    "0010": "{0} is 1 and {1} is 0",
    "0100": "{1} is 1 and {0} is 0",
    "1011": "{0} is 1 or {1} is 0",
    "1101": "{1} is 1 or {0} is 0",
}
"""When a binary target is mostly 1, by its most frequent level at 00, 01, 10 and 11."""


def rule_of_two(counts: NDArray[np.integer], predictors: Sequence[str]) -> str:
    """When a binary target of two predictors is mostly at level 1, in words.

    "" for other numbers of levels and predictors, where a combination was not seen or has no most
    frequent level, and for rules that one of the predictors has no part in.
    """
    if counts.shape != (2, 2, 2):
        return ""
    zeros, ones = counts.reshape(4, 2).T
    if (zeros == ones).any():
        return ""
    return RULES.get("".join("01"[int(one)] for one in ones > zeros), "").format(*predictors)
