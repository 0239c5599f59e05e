"""Transfer entropy of every ordered pair of genes (Schreiber 2000), as one estimator.

Rows of the pair space are sources, columns targets. Null and chunks take them from the same levels
as ``score``, each target beside its own past.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.chunk_file import Arrays, Rows, Summaries
from pairtile.engine.estimator import Cost, Estimator, MergedResults, PreparedInput, Ranking
from pairtile.engine.network import Network, sort_edges
from pairtile.engine.selection import Selection
from pairtile.engine.stages import NullStage
from pairtile.engine.tiles import TILE_EDGE, PairSpace, Tile
from pairtile.errors import ConfigError
from pairtile.methods.predictor_pairs.arrays import TransferArrays
from pairtile.methods.predictor_pairs.config import AUTO_FDR, KeepSets, PredictorPairsConfig
from pairtile.methods.predictor_pairs.network import auto_keep_message
from pairtile.methods.predictor_pairs.prepare import earlier_samples, prepare_predictors
from pairtile.methods.predictor_pairs.state import choose_null, source_orders
from pairtile.methods.predictor_pairs.transfer_entropy import (
    TransferNull,
    TransferScores,
    score_transfer,
    statistic,
    target_cells,
)
from pairtile.preprocess.null_design import inflation
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.ranks import spearman

message = messages_of(__package__)

NULL_DRAWS = 2_000_000
"""Draws of the null, of all targets together."""

STORED_BY_CHANCE = 2_000_000
"""Pairs that chunks write, were all of them unrelated: all, or those with the smallest p-values."""

INDIRECT = 0.05
"""An edge is indirect where so many of the draws, given what stands between, are as large."""


class TransferEntropy(NullStage, Estimator[PredictorPairsConfig, TransferArrays]):
    """Every source with every target, at the best of the lags."""

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        config: PredictorPairsConfig,
        seed: int,
        scratch: Path | None = None,
        sample: bool = False,
    ) -> PreparedInput[TransferArrays]:
        prepared = prepare_predictors(config, scratch)
        choice, on_null = choose_null(config, prepared)
        orders, on_orders = source_orders(choice, config.lags[-1], seed)
        at, steps = prepared.transitions.target_samples, range(1, config.history + 1)
        state: TransferArrays = {
            **prepared.design.state,
            "levels": prepared.levels,
            "values": prepared.values,
            "series": prepared.series,
            "source_samples": earlier_samples(prepared.series, at, config.lags),
            "target_samples": at,
            "history_samples": earlier_samples(prepared.series, at, steps),
            "predictors": prepared.predictors,
            "targets": prepared.targets,
            "lags": np.array(config.lags, dtype=np.int32),
            "n_levels": np.array([prepared.n_levels], dtype=np.int32),
            "null_orders": orders,
        }
        if config.levels is None:
            state = {**state, **prepared.quality.state(prepared.values)}
        return PreparedInput(
            prepared.items,
            state,
            prepared.counts,
            [*prepared.messages, *on_null, *on_orders],
            prepared.parameters | {"null": {"kind": choice.kind}},
        )

    @classmethod
    def resolve_auto(
        cls, config: PredictorPairsConfig, state: TransferArrays
    ) -> tuple[PredictorPairsConfig, list[Message]]:
        if "keep" not in vars(config) or config.keep.rule != "auto":
            return config, []
        keep = KeepSets.model_validate({"fdr": AUTO_FDR} if len(state["null_orders"]) else "best")
        return config.model_copy(update={"keep": keep}), [auto_keep_message(keep)]

    @classmethod
    def validate(
        cls, config: PredictorPairsConfig, state: TransferArrays, items: pd.DataFrame
    ) -> None:
        stored = _stored_p(state)
        if (config.keep.p_value or 0.0) > stored:
            raise ConfigError(
                f"keep.p_value is {config.keep.p_value:g}; of so many pairs those with p up to "
                f"{stored:.2g} are stored: choose a smaller one, or fdr"
            )

    @classmethod
    def space(cls, state: TransferArrays) -> PairSpace:
        return PairSpace("rectangle", int(state["predictors"].size), int(state["targets"].size))

    @classmethod
    def cost(
        cls, config: PredictorPairsConfig, state: TransferArrays, backend: str, threads: int
    ) -> Cost:
        # Measured: docs/speed.md. Of each lag: its counts, word by word, and the rest of a pair.
        samples, levels = int(state["target_samples"].size), int(state["n_levels"][0])
        counts, lags = levels ** (config.history + 2), state["lags"].size
        seconds = lags * (6e-8 + counts * (5e-9 + 1e-10 * samples / 32))
        draws = min(NULL_DRAWS, len(state["null_orders"]) * cls.space(state).rows)
        pairs = cls.space(state).pairs_in
        if backend == "cuda":
            return Cost(500.0 / seconds, pairs, null=draws, tile_edges=(TILE_EDGE, 4 * TILE_EDGE))
        return Cost(threads / seconds, pairs, null=draws)

    @classmethod
    def chunk_parameters(cls, config: PredictorPairsConfig) -> dict[str, object]:
        return {
            "score": config.score,
            "history": config.history,
            "min_samples": config.preprocess.min_samples,
        }

    def schema(self) -> pa.Schema:
        whole, real = pa.int32(), pa.float64()
        return pa.schema(
            [
                *(("i", whole), ("j", whole), ("te_bits", real), ("lag", whole)),
                *(("te_share", real), ("n_samples", whole), ("statistic", real)),
            ]
        )

    # --- null and tiles -------------------------------------------------------------------------

    @cached_property
    def cells(self) -> NDArray[np.int16]:
        """Past and next level of the targets (``target_cells``)."""
        levels = np.asarray(self.state["levels"])[self.state["targets"]]
        before = levels[:, self.state["history_samples"]].transpose(1, 0, 2)
        return target_cells(before, levels[:, self.state["target_samples"]], self.n_levels)

    @property
    def n_levels(self) -> int:
        """Number of levels q."""
        return int(self.state["n_levels"][0])

    def source_levels(self, items: NDArray[np.integer]) -> NDArray[np.int8]:
        """Levels of items as sources: int8 (items, lags, transitions)."""
        return np.asarray(self.state["levels"])[items][:, self.state["source_samples"]]

    def scores(self, sources: NDArray[np.int8], cells: NDArray[np.int16]) -> TransferScores:
        """Of sources (n, lags, transitions) with targets, given by their cells."""
        n_cells = self.n_levels ** (self.config.history + 1)
        least = self.config.preprocess.min_samples
        return score_transfer(sources, cells, n_cells, self.n_levels, least, self.device)

    def null(self, seed: int) -> dict[str, NDArray[np.generic]]:
        candidates, targets = np.asarray(self.state["predictors"]), self.state["targets"]
        orders = self.state["null_orders"]
        each = NULL_DRAWS // max(len(orders) * targets.size, 1)
        # So many sources in each order of the null need little memory.
        each = min(max(each, 1), 200, candidates.size)
        # Each order has sources of its own, keyed on its number alone.
        drawn = [
            np.random.default_rng([seed, 0x7472616E, draw]).permutation(candidates)[:each]
            for draw in range(len(orders))
        ]
        moved = [self.source_levels(some)[..., k] for some, k in zip(drawn, orders, strict=True)]
        empty = np.empty((0, *np.shape(self.state["source_samples"])), dtype=np.int8)
        scores = self.scores(np.concatenate([empty, *moved]), self.cells)
        larger = inflation(self.state, np.asarray(self.state["levels"]).shape[1])
        found = self.device.to_host(statistic(scores, self.device, larger))
        found[np.concatenate([candidates[:0], *drawn])[:, None] == targets] = np.nan
        return TransferNull.from_draws(found)._asdict()

    def selection(self, null: Arrays) -> Selection:
        stored = _stored_p(self.state)
        if stored >= 1.0 or not null["standardised"].size:
            return Selection(everything=True)
        return Selection(min_statistic=TransferNull(**null).least(stored)[None])

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        xp, to_host = self.device.xp, self.device.to_host
        sources, targets = self.state["predictors"][tile.rows], self.state["targets"][tile.columns]
        scores = self.scores(self.source_levels(sources), self.cells[tile.columns])
        found = statistic(scores, self.device)
        pairs = xp.asarray(sources[:, None] != targets)
        scored = pairs & (scores.place >= 0)
        classes = np.zeros(len(sources), np.int64), np.arange(tile.column_begin, tile.column_end)
        at = xp.nonzero(scored & selection.passed(xp, found, *classes, found))
        row, column = (to_host(place) for place in at)
        te_bits, past_bits, _, n_samples, place = (to_host(values[at]) for values in scores)
        rows = {
            "i": sources[row].astype(np.int32),
            "j": targets[column].astype(np.int32),
            "te_bits": te_bits,
            "lag": np.asarray(self.state["lags"])[place],
            "te_share": te_bits / np.where(past_bits > 0.0, past_bits, 1.0),
            "n_samples": n_samples,
            "statistic": to_host(found[at]),
        }
        counts = {"pairs": int(pairs.sum()), "pairs_scored": int(scored.sum())}
        return rows, {name: np.array([n], dtype=np.int64) for name, n in counts.items()}

    # --- network --------------------------------------------------------------------------------

    def tested(self, merged: MergedResults) -> pd.DataFrame:
        """The stored pairs with p- and q-values, sources and targets by item number."""
        pairs = merged.pairs.rename(columns={"i": "source", "j": "target"})
        column = np.full(len(np.asarray(self.state["levels"])), -1)
        column[self.state["targets"]] = np.arange(self.state["targets"].size)
        null = TransferNull(**merged.null)
        p = null.p_values(pairs["statistic"].to_numpy(), column[pairs["target"]])
        q = p
        if null.standardised.size:
            q = benjamini_hochberg(p, max(int(merged.sums["pairs_scored"].sum()), len(p)))
        return pairs.assign(p_value=p, q_value=q)

    def network(self, merged: MergedResults) -> Network:
        tested, keep = self.tested(merged), self.config.keep
        edges = sort_edges(tested[tested["te_bits"] > 0.0], "te_bits")
        if keep.rule in ("best", "best_fdr"):
            edges = edges.drop_duplicates("target")
        if keep.limit is not None:
            bound = "q_value" if keep.p_value is None else "p_value"
            edges = edges[edges[bound] <= keep.limit]
        edges, counts = edges.reset_index(drop=True), {"pairs_kept": len(edges)}
        if self.config.dpi and len(self.state["null_orders"]):
            edges = edges[~self.indirect(edges)].reset_index(drop=True)
            counts["indirect_edges"] = counts["pairs_kept"] - len(edges)
        values, lags = np.asarray(self.state["values"]), self.state["lags"]
        after = values[:, self.state["target_samples"]]
        before = values[:, self.state["source_samples"]].reshape(-1, after.shape[1])
        first = edges["source"].to_numpy() * lags.size + np.searchsorted(lags, edges["lag"])
        edges["spearman"] = spearman(before, first, after, edges["target"].to_numpy())
        columns = ["source", "target", "te_bits", "te_share", "spearman", "p_value", "q_value"]
        return Network(
            edges[[*columns, "lag", "n_samples"]],
            directed=True,
            score="te_bits",
            counts=counts,
            threshold_value=float(edges["te_bits"].min()) if len(edges) else None,
            threshold={"keep": keep.model_dump()},
        )

    def indirect(self, edges: pd.DataFrame) -> NDArray[np.bool_]:
        """Of each edge X -> Z, whether what X tells of Z is no more than chance given the level of
        a Y that has an edge with X, in either direction, and a stronger one to Z."""
        source, target, te = (edges[name].to_numpy() for name in ("source", "target", "te_bits"))
        joined = {*zip(source, target, strict=True), *zip(target, source, strict=True)}
        levels = self.source_levels(source)
        levels = levels[np.arange(len(edges)), np.searchsorted(self.state["lags"], edges["lag"])]
        cells = dict(zip(self.state["targets"].tolist(), self.cells, strict=True))
        n_cells = self.n_levels ** (self.config.history + 1)
        by_target = edges.groupby("target").indices
        gone = np.zeros(len(edges), dtype=bool)
        for edge in range(len(edges)):  # Y -> Z
            beside = by_target[target[edge]]
            weaker = beside[(te[beside] < te[edge]) & ~gone[beside]]
            weaker = weaker[[(source[k], source[edge]) in joined for k in weaker]]
            if not weaker.size:
                continue
            past, of_y = cells[int(target[edge])], levels[edge]
            known = np.where((past >= 0) & (of_y >= 0), past + of_y * n_cells, -1)[None]
            of_x = levels[weaker]
            drawn = np.concatenate([of_x[:, None], of_x[:, self.state["null_orders"]]], axis=1)
            sizes = n_cells * self.n_levels, self.n_levels
            drawn = drawn.reshape(-1, 1, of_x.shape[1])
            bits = score_transfer(drawn, known.astype(np.int16), *sizes, 1, self.device)[0]
            bits = self.device.to_host(bits).reshape(weaker.size, -1)
            gone[weaker] = (bits[:, 1:] >= bits[:, :1]).mean(axis=1) > INDIRECT
        return gone

    def ranking(self, merged: MergedResults) -> Ranking:
        columns = {"i": "source", "j": "target", "te_bits": "score"}
        edges = merged.pairs[[*columns]].rename(columns=columns)
        return Ranking(sort_edges(edges, "score"), directed=True)


def _stored_p(state: TransferArrays) -> float:
    """p-value up to which pairs are stored."""
    return min(1.0, STORED_BY_CHANCE / max(state["predictors"].size * state["targets"].size, 1))
