"""The tables and levels of a search for predictor sets, read once for the report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.engine.state import MANIFEST, open_state
from pairtile.errors import StoreError
from pairtile.methods.predictor_pairs.network_sets import WORDS, members
from pairtile.methods.predictor_pairs.report_level_tables import Levels
from pairtile.report.results import Results

SETS, HYPEREDGES = "predictors.tsv", "hyperedges.tsv"
NUMBERS = (
    "mce_bits",
    "target_entropy_bits",
    "n_ties",
    "imp_bits",
    "p_value",
    "q_value",
    "mi_bits",
    "n_samples",
)
GAINS = ("gain_1", "gain_2", "gain_3")
NAMES = ("target", "predictor_1", "predictor_2", "predictor_3", "search")


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
        return WORDS[len(self.members)]

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


def read_predictor_results(folder: Path, items: pd.DataFrame) -> PredictorResults:
    """Read ``predictors.tsv``, ``hyperedges.tsv`` and, where it is there, the state of ``folder``.

    ``items`` is the analysis' table of items, kept ones first.

    Raises StoreError naming the file when a table is missing or is not what its name says.
    """
    sets = _read(folder / SETS, {"target", "rank", "predictor_1", "gain_1", *NUMBERS})
    # Single predictors are written with a second one that has no name.
    unused = [n for n in (2, 3) if f"predictor_{n}" in sets and not sets[f"predictor_{n}"].any()]
    if len(sets):
        sets = sets.drop(columns=[f"{kind}_{n}" for kind in ("predictor", "gain") for n in unused])
    kept = _read(folder / HYPEREDGES, {"target", "rank"})
    places = pd.MultiIndex.from_frame(sets[["target", "rank"]])
    sets["kept"] = places.isin(pd.MultiIndex.from_frame(kept[["target", "rank"]]))
    sets["information_bits"] = sets["target_entropy_bits"] - sets["mce_bits"]
    if not (folder / "state" / MANIFEST).is_file():
        return PredictorResults(sets)
    state = open_state(folder / "state")
    names = items.loc[items["kept"].astype(bool), "name"]
    levels = Levels(
        state["levels"],
        int(state["n_levels"][0]),
        np.asarray(state["source_samples"]),
        np.asarray(state["target_samples"]),
        {str(name): row for row, name in enumerate(names)},
    )
    classes = np.asarray(state["null_class"])
    draws = int(np.unique(classes, return_counts=True)[1].min()) if classes.size else 0
    return PredictorResults(sets, levels, draws)


def _read(path: Path, columns: set[str]) -> pd.DataFrame:
    if not path.is_file():
        raise StoreError.at(path, "", "no such file", "the table that the step tables writes")
    try:
        # A gene may be called NA or 1e5: names are text, and only numbers can be missing.
        table = pd.read_csv(
            path,
            sep="\t",
            dtype=dict.fromkeys(NAMES, str),
            keep_default_na=False,
            na_values={key: [""] for key in (*NUMBERS, *GAINS)},
        )
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a table") from error
    missing = sorted(columns - set(table.columns))
    if missing:
        raise StoreError.at(path, "columns", ", ".join(table.columns), ", ".join(missing))
    return table


def predictor_results(results: Results) -> PredictorResults:
    """The predictor sets of an analysis, for ``results.cached``."""
    return read_predictor_results(results.folder, results.items)
