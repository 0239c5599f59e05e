"""The tables and levels of a search for predictor sets, read once for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.tables import read_result_table
from pairtile.methods.predictor_pairs.arrays import LevelArrays, PredictorArrays
from pairtile.methods.predictor_pairs.network import SET_NAMES, members
from pairtile.methods.predictor_pairs.rules import level_counts
from pairtile.report.method_report import Results, needed


@dataclass(frozen=True)
class Levels:
    """The state of a search, or of transfer entropy, and the row of each gene's name in it."""

    state: LevelArrays
    row: Mapping[str, int]

    @property
    def n_levels(self) -> int:
        """Number of levels q."""
        return int(self.state["n_levels"][0])

    def table(
        self, predictors: Sequence[str], target: str, lags: Sequence[int] = ()
    ) -> NDArray[np.int64]:
        """``level_counts`` of a set of predictors and its target, by their names; ``lags`` of each
        predictor, where there are several."""
        levels, rows = self.state["levels"], [self.row[name] for name in predictors]
        sources = np.atleast_2d(self.state["source_samples"])
        if lags:
            sources = sources[np.searchsorted(self.state["lags"], lags)]
        return level_counts(
            np.take_along_axis(levels[rows], sources, axis=1),
            levels[self.row[target], self.state["target_samples"]],
            self.n_levels,
        )

    def courses(self, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """What was measured of some genes, each of mean 0 and variance 1 unless it is constant."""
        found = {}
        for name in dict.fromkeys(names):
            row = np.array(self.state["values"][self.row[name]])
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
    return "" if (zeros == ones).any() else "".join("01"[int(one)] for one in ones > zeros)


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
        """What a set is called: predictor, pair, triple or quadruple."""
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


def is_transfer(results: Results) -> bool:
    """Whether ordered pairs were scored, by transfer entropy."""
    return results.parameters.get("score") == "transfer_entropy"


def predictor_results(results: Results) -> PredictorResults:
    """The predictor sets of an analysis, for ``results.cached``: read from ``predictors.tsv``,
    ``hyperedges.tsv`` and, where it is there, the state.

    Raises NotShown for transfer entropy, which has none; StoreError naming the file when a table is
    missing or is not what its name says.
    """
    needed(not is_transfer(results))
    folder = results.folder
    sets = sets_of_file(folder)
    kept = read_result_table(folder / "hyperedges.tsv", __package__)
    places = pd.MultiIndex.from_frame(sets[["target", "rank"]])
    sets["kept"] = places.isin(pd.MultiIndex.from_frame(kept[["target", "rank"]]))
    sets = results.labelled(sets, ["target", *members(sets)])
    sets["information_bits"] = sets["target_entropy_bits"] - sets["mce_bits"]
    if not results.state:
        return PredictorResults(sets)
    state = cast(PredictorArrays, results.state)
    draws = np.unique(state["null_class"], return_counts=True)[1]
    least = int(draws.min()) if draws.size else 0
    return PredictorResults(sets, Levels(state, results.rows), least)


def sets_of_file(folder: Path) -> pd.DataFrame:
    """``predictors.tsv``; without the columns of a second predictor where there is none."""
    sets = read_result_table(folder / "predictors.tsv", __package__)
    # Single predictors are written with a second one that has no name.
    if len(sets) and not sets["predictor_2"].any():
        sets = sets.drop(columns=["predictor_2", "gain_2", "spearman_2"])
    return sets
