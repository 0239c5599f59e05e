"""The tables and levels of a search for predictor sets, read once for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.state import MANIFEST, open_state
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.network import SET_NAMES, members
from pairtile.report.results import Results, read_result_table


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


@dataclass(frozen=True)
class Levels:
    """The levels that a search went through, and which sample predicts which.

    values : int8 (genes, samples), -1 where missing. source_samples, target_samples : int32
    (transitions,), where predictors and where their target are read. row : the row of each gene's
    name. measured : float64 (genes, samples), what levels were made of, NaN where missing. series :
    int32 (samples,), the time series of each sample; None in a state of an earlier version.
    """

    values: NDArray[np.int8]
    n_levels: int
    source_samples: NDArray[np.int32]
    target_samples: NDArray[np.int32]
    row: dict[str, int]
    measured: NDArray[np.float64]
    series: NDArray[np.int32] | None = None

    def table(self, predictors: Sequence[str], target: str) -> NDArray[np.int64]:
        """``level_counts`` of a set of predictors and its target, by their names."""
        rows = [self.row[name] for name in predictors]
        return level_counts(
            self.values[rows][:, self.source_samples],
            self.values[self.row[target], self.target_samples],
            self.n_levels,
        )

    def courses(self, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """What was measured of some genes, each of mean 0 and variance 1 unless it is constant."""
        found = {}
        for name in dict.fromkeys(names):
            row = np.array(self.measured[self.row[name]])
            found[name] = (row - np.nanmean(row)) / (np.nanstd(row) or 1.0)
        return found


def rule_of_two(counts: NDArray[np.integer]) -> str:
    """The most frequent level of a binary target at 00, 01, 10 and 11 of its two predictors:
    ``0110`` for an exclusive or.

    "" for other numbers of levels and predictors, and where a combination was not seen or has no
    most frequent level.
    """
    if counts.shape != (2, 2, 2):
        return ""
    zeros, ones = counts.reshape(4, 2).T
    if (zeros == ones).any():
        return ""
    return "".join("01"[int(one)] for one in ones > zeros)


SETS, HYPEREDGES = "predictors.tsv", "hyperedges.tsv"
GAINS = ("gain_1", "gain_2", "gain_3")


@dataclass(frozen=True)
class PredictorResults:
    """What the report knows of predictor sets, beyond the network.

    ``sets``: the rows of ``predictors.tsv`` (one a reported set, best first for each target) and
    two columns more: ``kept``, whether the set makes edges, and ``information_bits``, what the
    set tells of its target after its penalty (H(Y) - MCE). ``levels`` and ``draws`` (shuffled
    targets behind each p-value, the least over all targets) are None where the state is gone.
    """

    sets: pd.DataFrame
    levels: Levels | None = None
    draws: int | None = None

    @cached_property
    def members(self) -> list[str]:
        """The columns that name the predictors of a set."""
        return members(self.sets)

    @property
    def word(self) -> str:
        """What a set is called: predictor, pair or triple."""
        return SET_NAMES[len(self.members)]

    @cached_property
    def best(self) -> pd.DataFrame:
        """The best set of each target that has more than one level, in the table's order."""
        first = self.sets[(self.sets["rank"] == 1) & (self.sets["target_entropy_bits"] > 0.0)]
        return first.reset_index(drop=True)

    @property
    def tied(self) -> pd.Series:
        """Of each row of ``best``, whether other sets score the same."""
        return self.best["n_ties"] > 1

    @property
    def tested(self) -> bool:
        """Whether there are p-values."""
        return bool(self.best["p_value"].notna().any())

    def clearest(self, limit: int) -> pd.DataFrame:
        """The ``limit`` best sets that tell most, without those that only stand first among equals.

        A set that is the best of several targets comes once, with the target of which it tells
        most; ``others`` counts the rest. Most informative first, equals by the target's name.
        """
        alone = self.best[~self.tied & (self.best["mi_bits"] > 0.0)]
        by = ["information_bits", "mi_bits", "target"]
        alone = alone.sort_values(by, ascending=[False, False, True])
        alone["others"] = alone.groupby(self.members)["target"].transform("size") - 1
        return alone.drop_duplicates(self.members).head(limit)


def predictor_results(results: Results) -> PredictorResults:
    """The predictor sets of an analysis, for ``results.cached``: read from ``predictors.tsv``,
    ``hyperedges.tsv`` and, where it is there, the state.

    Raises StoreError naming the file when a table is missing or is not what its name says.
    """
    folder = results.folder
    sets = read_result_table(folder / SETS, __package__)
    # Single predictors are written with a second one that has no name.
    unused = [n for n in (2, 3) if f"predictor_{n}" in sets and not sets[f"predictor_{n}"].any()]
    if len(sets):
        kinds = ("predictor", "gain", "spearman")
        sets = sets.drop(columns=[f"{kind}_{n}" for kind in kinds for n in unused])
    kept = read_result_table(folder / HYPEREDGES, __package__)
    places = pd.MultiIndex.from_frame(sets[["target", "rank"]])
    sets["kept"] = places.isin(pd.MultiIndex.from_frame(kept[["target", "rank"]]))
    sets = results.labelled(sets, ["target", *members(sets)])
    if not (folder / "state" / MANIFEST).is_file():
        return results_of(sets)
    names = results.items.loc[results.items["kept"].astype(bool), "name"]
    rows = {str(name): row for row, name in enumerate(names)}
    return results_of(sets, cast(PredictorArrays, open_state(folder / "state")), rows)


def results_of(
    sets: pd.DataFrame,
    state: PredictorArrays | None = None,
    rows: Mapping[Any, int] | None = None,
) -> PredictorResults:
    """From a table of sets, and the state with the row of each gene in it where they are there."""
    told = sets["target_entropy_bits"] - sets["mce_bits"]
    sets = sets.assign(information_bits=told)
    if state is None:
        return PredictorResults(sets)
    levels = Levels(
        state["levels"],
        int(state["n_levels"][0]),
        np.asarray(state["source_samples"]),
        np.asarray(state["target_samples"]),
        dict(rows or {}),
        state["values"],
        state.get("series"),
    )
    classes = np.asarray(state["null_class"])
    draws = int(np.unique(classes, return_counts=True)[1].min()) if classes.size else 0
    return PredictorResults(sets, levels, draws)
