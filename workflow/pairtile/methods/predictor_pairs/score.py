"""Predictor sets of least mean conditional entropy (Borelli et al. 2013), as one estimator.

Rows of the pair space are the targets and, below them, the shuffled targets of the null; a column
is the first predictor of all sets that begin with it.
"""

from __future__ import annotations

from functools import cached_property, partial
from math import comb
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.chunk_file import Rows, Summaries
from pairtile.engine.estimator import Cost, MergedResults, PreparedInput, Ranking, TableSummary
from pairtile.engine.network import Network
from pairtile.engine.selection import Selection
from pairtile.engine.stages import CandidateMerge
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.errors import ConfigError
from pairtile.gpu.device import choose, threads
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.best_sets import (
    ANY_KEY,
    best_keys,
    best_of_band,
    rows_found,
    rows_schema,
)
from pairtile.methods.predictor_pairs.config import (
    PredictorPairsConfig,
    auto_keep,
)
from pairtile.methods.predictor_pairs.network import (
    auto_keep_message,
    edges_of_sets,
    kept_sets,
    lacking_warnings,
    set_counts,
    set_warnings,
    threshold_warnings,
)
from pairtile.methods.predictor_pairs.predictor_table import PredictorLevels
from pairtile.methods.predictor_pairs.prepare import prepare_predictors
from pairtile.methods.predictor_pairs.rules import rule_network, write_rules
from pairtile.methods.predictor_pairs.search import PredictorSearch
from pairtile.methods.predictor_pairs.state import search_input
from pairtile.methods.predictor_pairs.tables import stored_sets, tested_sets, write_predictor_tables
from pairtile.methods.predictor_pairs.transfer_score import TransferEntropy
from pairtile.runtime.record import format_duration

message = messages_of(__package__)

MAX_SECONDS = 86_400.0
"""Time of a search for sets of four, by the cost model, from which on it has to be asked for."""


class PredictorPairs(CandidateMerge, PredictorLevels):
    """Exhaustive search for the predictor sets of every target, with a searched null."""

    sort_by: ClassVar[tuple[str, ...]] = ("target_row", "rank")

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        config: PredictorPairsConfig,
        seed: int,
        scratch: Path | None = None,
        sample: bool = False,
    ) -> PreparedInput[PredictorArrays]:
        return search_input(config, prepare_predictors(config, scratch), seed)

    @classmethod
    def resolve_auto(
        cls, config: PredictorPairsConfig, state: PredictorArrays
    ) -> tuple[PredictorPairsConfig, list[Message]]:
        if "keep" not in vars(config) or config.keep.rule != "auto":
            return config, []
        keep = auto_keep(draws_of_a_test(state, config.null.permutations == "auto"))
        return config.model_copy(update={"keep": keep}), []

    @classmethod
    def validate(
        cls, config: PredictorPairsConfig, state: PredictorArrays, items: pd.DataFrame
    ) -> None:
        asked = config.estimator
        n_sets = comb(len(state["predictors"]), asked.cardinality) * cls.space(state).rows
        seconds = {
            backend: n_sets / cls.cost(config, state, backend, threads()).per_second
            for backend in ("cpu", "cuda")
        }
        if (
            asked.cardinality > 3
            and asked.search == "auto"
            and seconds[choose("auto").backend] > MAX_SECONDS
        ):
            raise ConfigError(
                f"estimator.cardinality: 4 makes {n_sets:,} sets of predictors times targets "
                f"(shuffled ones included): {format_duration(seconds['cpu'])} on this machine's "
                f"CPU, {format_duration(seconds['cuda'])} on a GPU. List fewer regulators or "
                "targets, or set fewer null.permutations or a smaller cardinality; search: "
                "exhaustive scores them all the same"
            )

    @classmethod
    def space(cls, state: PredictorArrays) -> PairSpace:
        rows = int(state["targets"].size) + len(state["null_class"])
        columns = int(state["predictors"].size) - int(state["cardinality"][0]) + 1
        return PairSpace("rectangle", rows, max(columns, 0))

    @classmethod
    def cost(
        cls, config: PredictorPairsConfig, state: PredictorArrays, backend: str, threads: int
    ) -> Cost:
        # Measured for pairs in tiles of 50 and of 500 samples: docs/speed.md.
        levels, c = int(state["n_levels"][0]), int(state["cardinality"][0])
        samples, missing = int(state["target_samples"].size), bool((state["levels"] < 0).any())
        if backend == "cuda":
            rate = {2: 7e11, 3: 2.2e11, 4: 8e10}[levels] / (1.0 + samples / 300)
            rate /= (2.0 if missing else 1.0) * levels ** max(c - 2, 0)
        else:
            rate = threads * {2: 1.5e9, 3: 3e8, 4: 6e7}[levels] / (1.0 + samples / 200)
            rate /= (10.0 if missing else 1.0) * (2.0 * levels ** (c - 2) if c > 2 else 1.0)
        return Cost(rate, partial(sets_in, state), unit="sets")

    @classmethod
    def chunk_parameters(cls, config: PredictorPairsConfig) -> dict[str, object]:
        return {
            "estimator": config.estimator,
            "min_samples": config.preprocess.min_samples,
        }

    def schema(self) -> pa.Schema:
        return rows_schema(self.cardinality)

    # --- tiles ----------------------------------------------------------------------------------

    @cached_property
    def searches(self) -> dict[int, PredictorSearch]:
        """The searches over the candidates, by how many sets they list."""
        levels = self.predictor_levels()
        return {
            top: PredictorSearch(levels, self.search_settings(top), self.device)
            for top in {self.top, self.null_top}
        }

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        middle = min(max(self.n_targets, tile.row_begin), tile.row_end)
        parts = []
        for begin, end, top in (
            (tile.row_begin, middle, self.top),
            (middle, tile.row_end, self.null_top),
        ):
            if end == begin:
                continue
            rows = slice(begin, end)
            known = self.best_keys.get(begin, np.full((end - begin, top), ANY_KEY))
            best = self.searches[top].best(
                self.target_levels(rows),
                self.excluded(rows),
                tile.column_begin,
                tile.column_end,
                max_key=known[:, -1].copy(),
            )
            self.best_keys[begin] = best_keys(known, best)
            parts.append(rows_found(self.state, best, begin))
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return found, {"sets": np.array([sets_in(self.state, tile)], dtype=np.int64)}

    def reduce_band(self, rows: pa.Table) -> pa.Table:
        """The best sets of each target among those of all tiles, with their ties added up."""
        return best_of_band(self.state, rows, self.top, self.null_top)

    # --- network --------------------------------------------------------------------------------

    def network(self, merged: MergedResults) -> Network:
        sets = tested_sets(self, merged)
        kept = kept_sets(sets, self.config.keep)
        edges = edges_of_sets(kept)
        wanted = self.config.estimator.cardinality
        itself = (self.excluded(slice(0, self.n_targets)) >= 0) * self.lags
        enough = int((self.state["predictors"].size - itself >= wanted).sum())
        # What ties leave open, and what too few samples or draws keep out.
        said = set_warnings(sets, self.config.estimator)
        said += lacking_warnings(sets, enough, wanted, self.config.preprocess.min_samples)
        if self.config.null.permutations != "auto":
            said += threshold_warnings(self.config.keep, draws_of_a_test(self.state))
        if self.keep_by_auto:
            said.append(auto_keep_message(self.config.keep))
        return Network(
            edges.drop(columns="score"),
            directed=True,
            counts=set_counts(sets, kept, edges),
            threshold={
                "keep": self.config.keep.model_dump(),
                "largest_kept_mce_bits": float(kept["mce_bits"].max()) if len(kept) else None,
                "tested_targets": int(((sets["rank"] == 1) & sets["p_value"].notna()).sum()),
            },
            arrays=stored_sets(self, sets),
            messages=said,
        )

    def ranking(self, merged: MergedResults) -> Ranking:
        sets = tested_sets(self, merged)
        edges = edges_of_sets(sets[sets["target_entropy_bits"] > 0.0])
        return Ranking(edges[["source", "target"]].assign(score=edges["score"]), directed=True)

    def result_arrays(
        self, merged: MergedResults, network: Network
    ) -> dict[str, NDArray[np.generic]]:
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
        bins = np.linspace(0.0, max(float(scores.max(initial=0.0)), 1e-3), 201)
        return network.arrays | {
            "edges": bins,
            "counts": np.histogram(scores[real], bins=bins)[0],
            "null_counts": np.histogram(
                scores[~real], bins=bins, weights=share[rows[~real] - self.n_targets]
            )[0],
            "threshold": np.array(np.nan),
            "threshold_unit": np.array("bits"),
        }

    def tables(self, merged: MergedResults, items: pd.DataFrame, folder: Path) -> TableSummary:
        sets = tested_sets(self, merged)
        kept = kept_sets(sets, self.config.keep)
        written = write_predictor_tables(sets, kept, items, folder)
        if self.config.rules:
            state = self.state
            levels = np.asarray(state["levels"])
            course = (self.sources, np.asarray(state["target_samples"]))
            names = items["name"].astype(str).tolist()
            after = levels[:, course[1]]
            before = levels[:, self.sources].reshape(-1, after.shape[1])
            lags = self.config.lags if self.lags > 1 else [1]
            network = rule_network(kept, names, before, after, int(state["n_levels"][0]), lags)
            of_rules = write_rules(network, levels, *course, folder)
            written.counts.update(of_rules.counts)
            written.messages.extend(of_rules.messages)
        return written


def estimator_of(
    config: PredictorPairsConfig | None,
) -> type[PredictorPairs] | type[TransferEntropy]:
    """The estimator of ``score``; without settings that of its default."""
    return TransferEntropy if config is not None and config.is_transfer else PredictorPairs


def sets_in(state: PredictorArrays, tile: Tile) -> int:
    """Sets in a tile, those with the target's own gene included."""
    predictors, c = int(state["predictors"].size), int(state["cardinality"][0])
    # Sets whose first predictor is column k or a later one: those of the last predictors - k.
    sets = comb(predictors - tile.column_begin, c) - comb(predictors - tile.column_end, c)
    return (tile.row_end - tile.row_begin) * sets


def draws_of_a_test(state: PredictorArrays, pooled: bool = False) -> int:
    """Shuffled targets that each target is compared with: its own, or those of all targets."""
    of_class = np.asarray(state["null_class"])
    return of_class.size if pooled or not of_class.size else int(np.bincount(of_class).max())
