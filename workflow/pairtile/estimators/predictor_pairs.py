"""Predictor sets of least mean conditional entropy (Borelli et al. 2013), as one estimator.

The state is described in ``predictor_state``.

Rows of the pair space are the targets and, below them, the shuffled targets of the null; a column
is the first predictor of all sets that begin with it.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.estimators.base import (
    Estimator,
    Merged,
    PreparedInput,
    Ranking,
    Section,
    State,
    Written,
)
from pairtile.estimators.predictor_search import Best, PredictorSearch, SearchSettings, reduce_best
from pairtile.estimators.predictor_state import search_input
from pairtile.estimators.predictor_tables import judged_sets, write_predictor_tables
from pairtile.kernels.mean_conditional_entropy import NO_KEY
from pairtile.network.build import Network
from pairtile.network.predictor_sets import (
    edges_of_sets,
    kept_sets,
    lacking_warnings,
    set_counts,
    set_warnings,
    threshold_warnings,
    threshold_words,
)
from pairtile.prepare.predictors import prepare_predictors
from pairtile.selection import Selection
from pairtile.store import Rows, Summaries
from pairtile.tiles import PairSpace, Tile

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = NO_KEY - 1

HISTOGRAM_BINS = 200


class PredictorPairs(Estimator):
    """Exhaustive search for the predictor sets of every target, with a searched null."""

    method: ClassVar[str] = "predictor_pairs"
    sort_by: ClassVar[tuple[str, ...]] = ("target_row", "rank")
    work_unit: ClassVar[str] = "sets"

    def __init__(self, section: Section, state: State, device: Any, precision: str) -> None:
        super().__init__(section, state, device, precision)
        self.cardinality = int(state["cardinality"][0])
        self.n_targets = int(state["targets"].size)
        self.sffs = bool(section["estimator"]["cardinality"] > self.cardinality)
        self.top = int(section["estimator"]["top"])
        self._searches: dict[int, PredictorSearch] = {}
        # Of each row of the space, the best keys so far: what cannot be among the best of all
        # tiles need not be reported again. It changes chunk files, never the merged table.
        self._best_keys: dict[int, NDArray[np.int64]] = {}

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(cls, section: Section, seed: int, scratch: Path | None = None) -> PreparedInput:
        return search_input(section, prepare_predictors(section), seed)

    @classmethod
    def space(cls, state: State) -> PairSpace:
        rows = int(state["targets"].size) + len(state["null_class"])
        columns = int(state["predictors"].size) - int(state["cardinality"][0]) + 1
        return PairSpace("rectangle", rows, max(columns, 0))

    @classmethod
    def work(cls, state: State, tile: Tile) -> int:
        """Sets in a tile, those with the target's own gene included."""
        predictors, c = int(state["predictors"].size), int(state["cardinality"][0])
        # Sets whose first predictor is column k or a later one: those of the last predictors - k.
        sets = comb(predictors - tile.column_begin, c) - comb(predictors - tile.column_end, c)
        return (tile.row_end - tile.row_begin) * sets

    @classmethod
    def work_per_second(cls, section: Section, state: State, backend: str, threads: int) -> float:
        # Measured for pairs in tiles of 50 and of 500 samples: docs/speed.md.
        levels, c = int(state["n_levels"][0]), int(state["cardinality"][0])
        samples, missing = int(state["source_samples"].size), bool((state["levels"] < 0).any())
        if backend == "cuda":
            rate = {2: 7e11, 3: 2.2e11, 4: 8e10}[levels] / (1.0 + samples / 300)
            return rate / ((2.0 if missing else 1.0) * (levels if c == 3 else 1.0))
        rate = threads * {2: 1.5e9, 3: 3e8, 4: 6e7}[levels] / (1.0 + samples / 200)
        return rate / ((10.0 if missing else 1.0) * (2.0 * levels if c == 3 else 1.0))

    @classmethod
    def resolve_precision(cls, section: Section, backend: str) -> str:
        return "float64"

    @classmethod
    def chunk_parameters(cls, section: Section) -> dict[str, Any]:
        return {
            "estimator": section["estimator"],
            "min_samples": section["preprocess"]["min_samples"],
        }

    def schema(self) -> pa.Schema:
        third = [("k", pa.int32())] if self.cardinality == 3 else []
        return pa.schema(
            [
                ("i", pa.int32()),
                ("j", pa.int32()),
                *third,
                ("target", pa.int32()),
                ("target_row", pa.int32()),
                ("rank", pa.int32()),
                ("mce_bits", pa.float64()),
                ("n_ties", pa.int64()),
            ]
        )

    # --- tiles ----------------------------------------------------------------------------------

    def search_settings(self, top: int, cardinality: int | None = None) -> SearchSettings:
        """How sets are scored, for the section at hand."""
        estimator = self.section["estimator"]
        return SearchSettings(
            levels=int(self.state["n_levels"][0]),
            cardinality=self.cardinality if cardinality is None else cardinality,
            penalty=estimator["penalty"],
            alpha=float(estimator["alpha"]),
            beta=float(estimator["beta"]),
            top=top,
            min_samples=int(self.section["preprocess"]["min_samples"]),
        )

    def predictor_levels(self) -> NDArray[np.int8]:
        """Levels of the candidates, int8 (predictors, transitions)."""
        return self._levels(self.state["predictors"], "source_samples")

    def target_levels(self, rows: slice) -> NDArray[np.int8]:
        """Levels of rows of the space: targets, then shuffled targets."""
        real = self._levels(self.state["targets"][rows], "target_samples")
        drawn = slice(max(rows.start - self.n_targets, 0), max(rows.stop - self.n_targets, 0))
        return np.concatenate([real, np.asarray(self.state["null_levels"][drawn], dtype=np.int8)])

    def excluded(self, rows: slice) -> NDArray[np.int32]:
        """For rows of the space, the candidate that must not predict it; -1 where any may."""
        place = np.full(len(self.state["levels"]), -1, dtype=np.int32)
        place[self.state["predictors"]] = np.arange(self.state["predictors"].size)
        targets = np.asarray(self.state["targets"])
        drawn = np.asarray(self.state["null_exclude"])
        itself = np.where(drawn < 0, -1, place[targets[np.maximum(drawn, 0)]])
        everyone = np.concatenate([place[targets], itself])[rows].astype(np.int32)
        return np.full_like(everyone, -1) if self.section["estimator"]["self"] else everyone

    def _levels(self, items: NDArray[Any], samples: str) -> NDArray[np.int8]:
        rows = np.asarray(self.state["levels"])[np.asarray(items)]
        return np.ascontiguousarray(rows[:, np.asarray(self.state[samples])], dtype=np.int8)

    def search(self, top: int) -> PredictorSearch:
        """The search over the candidates, for lists of ``top`` sets."""
        if top not in self._searches:
            self._searches[top] = PredictorSearch(
                self.predictor_levels(), self.search_settings(top), self.device
            )
        return self._searches[top]

    def compute_tile(
        self, tile: Tile, selection: Selection, scan: State | None, cut: float
    ) -> tuple[Rows, Summaries]:
        middle = min(max(self.n_targets, tile.row_begin), tile.row_end)
        # Of a shuffled target only the best counts; those that SFFS grows from need as many seeds.
        null_top = self.top if self.sffs else 1
        parts = [
            self._best(begin, end, top, tile)
            for begin, end, top in (
                (tile.row_begin, middle, self.top),
                (middle, tile.row_end, null_top),
            )
            if end > begin
        ]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return rows, {"sets": np.array([self.work(self.state, tile)], dtype=np.int64)}

    def _best(self, begin: int, end: int, top: int, tile: Tile) -> dict[str, NDArray[Any]]:
        rows = slice(begin, end)
        known = self._best_keys.get(begin)
        if known is None:
            known = np.full((end - begin, top), EVERYTHING, dtype=np.int64)
        best = self.search(top).best(
            self.target_levels(rows),
            self.excluded(rows),
            tile.column_begin,
            tile.column_end,
            cut=known[:, -1].copy(),
        )
        self._best_keys[begin] = _with_keys(known, best)
        return self._columns(best, begin)

    def _columns(self, best: Best, first_row: int) -> dict[str, NDArray[Any]]:
        """The rows of ``schema`` for what a search found."""
        row = best.target.astype(np.int32) + np.int32(first_row)
        targets = np.append(self.state["targets"], np.int32(-1))
        items = np.asarray(self.state["predictors"])[best.predictors].astype(np.int32)
        columns: dict[str, NDArray[Any]] = {"i": items[:, 0]}
        columns["j"] = items[:, 1] if items.shape[1] > 1 else np.full(len(row), -1, dtype=np.int32)
        if items.shape[1] > 2:
            columns["k"] = items[:, 2]
        return columns | {
            "target": targets[np.minimum(row, self.n_targets)].astype(np.int32),
            "target_row": row,
            "rank": _ranks(row),
            "mce_bits": best.mce_bits,
            "n_ties": best.n_ties,
        }

    def reduce_band(self, rows: pa.Table) -> pa.Table:
        """The best sets of each target among those of all tiles, with their ties added up."""
        column = {name: rows[name].to_numpy() for name in rows.column_names}
        # Candidates are in the order of the item numbers, so either orders sets alike.
        names = ["i", "j", "k"][: self.cardinality]
        best = reduce_best(
            column["target_row"],
            np.stack([column[name] for name in names], axis=1),
            np.rint(column["mce_bits"] * 1e9).astype(np.int64),
            column["mce_bits"],
            column["n_ties"],
            self.top,
        )
        targets = np.append(self.state["targets"], np.int32(-1))
        found: dict[str, NDArray[Any]] = dict(zip(names, best.predictors.T, strict=True))
        if self.cardinality == 1:
            found["j"] = np.full(len(best), -1, dtype=np.int32)
        found |= {
            "target": targets[np.minimum(best.target, self.n_targets)],
            "target_row": best.target,
            "rank": _ranks(best.target),
            "mce_bits": best.mce_bits,
            "n_ties": _ties_of_every_row(best),
        }
        drawn = (best.target >= self.n_targets) & (found["rank"] > (self.top if self.sffs else 1))
        schema = self.schema()
        arrays = [pa.array(found[f.name][~drawn], type=f.type) for f in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    # --- network --------------------------------------------------------------------------------

    def network(self, merged: Merged) -> Network:
        sets = judged_sets(self, merged)
        kept = kept_sets(sets, self.section["keep"])
        edges = edges_of_sets(kept)
        return Network(
            edges.drop(columns="score"),
            directed=True,
            counts=set_counts(sets, kept, edges),
            threshold=threshold_words(sets, kept, self.section["keep"]),
            warnings=self.cautions(sets),
        )

    def cautions(self, sets: pd.DataFrame) -> list[str]:
        """In plain words: what ties leave open, and what too few samples or draws keep out."""
        wanted = int(self.section["estimator"]["cardinality"])
        itself = (self.excluded(slice(0, self.n_targets)) >= 0).astype(int)
        enough = int((self.state["predictors"].size - itself >= wanted).sum())
        least = int(self.section["preprocess"]["min_samples"])
        of_class = np.asarray(self.state["null_class"])
        draws = int(np.bincount(of_class).max()) if of_class.size else 0
        return [
            *set_warnings(sets, self.section),
            *lacking_warnings(sets, enough, wanted, least),
            *threshold_warnings(self.section["keep"], draws),
        ]

    def ranking(self, merged: Merged) -> Ranking:
        sets = judged_sets(self, merged)
        edges = edges_of_sets(sets[sets["target_entropy_bits"] > 0.0])
        return Ranking(edges[["source", "target"]].assign(score=edges["score"]), directed=True)

    def score_histogram(self, merged: Merged, network: Network) -> dict[str, NDArray[Any]]:
        pairs = merged.pairs[merged.pairs["rank"] == 1]
        rows = pairs["target_row"].to_numpy()
        real = rows < self.n_targets
        scores = pairs["mce_bits"].to_numpy()
        # Each draw stands for its share of the targets of its class.
        of_draw = np.asarray(self.state["null_class"])
        of_target = np.asarray(self.state["target_class"])
        classes = int(max(of_draw.max(initial=-1), of_target.max(initial=-1))) + 1
        targets = np.bincount(of_target[of_target >= 0], minlength=classes)
        share = (targets / np.maximum(np.bincount(of_draw, minlength=classes), 1))[of_draw]
        top = max(float(scores.max(initial=0.0)), 1e-3)
        bins = np.linspace(0.0, top, HISTOGRAM_BINS + 1)
        return {
            "edges": bins,
            "counts": np.histogram(scores[real], bins=bins)[0],
            "null_counts": np.histogram(
                scores[~real], bins=bins, weights=share[rows[~real] - self.n_targets]
            )[0],
            "threshold_bits": np.array(np.nan),
        }

    def write_tables(self, merged: Merged, items: pd.DataFrame, folder: Path) -> Written:
        sets = judged_sets(self, merged)
        return write_predictor_tables(sets, kept_sets(sets, self.section["keep"]), items, folder)


def _with_keys(known: NDArray[np.int64], best: Best) -> NDArray[np.int64]:
    """The smallest keys of each row, ascending, after those of ``best`` came in."""
    new = np.full_like(known, EVERYTHING)
    new[best.target, _ranks(best.target) - 1] = best.key
    return np.sort(np.concatenate([known, new], axis=1), axis=1)[:, : known.shape[1]]


def _ranks(rows: NDArray[Any]) -> NDArray[np.int32]:
    """1, 2, ... within each run of equal values."""
    place = np.arange(len(rows))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = rows[1:] != rows[:-1]
    return (place - np.maximum.accumulate(np.where(first, place, 0)) + 1).astype(np.int32)


def _ties_of_every_row(best: Best) -> NDArray[np.int64]:
    """The number of ties on all rows of a key, not on its first alone."""
    return best.n_ties[np.maximum.accumulate(np.where(best.n_ties > 0, np.arange(len(best)), 0))]
