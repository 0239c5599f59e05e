"""Kendall's tau-a (Kendall 1938): concordant less discordant pairs of samples, over all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairtile.declare.messages import messages_of
from pairtile.engine.chunk_file import Rows, Summaries
from pairtile.engine.estimator import Cost, Estimator, MergedResults, PreparedInput
from pairtile.engine.network import Network, sort_edges
from pairtile.engine.selection import Selection
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.samples import read_arranged

from pairtile_kendall.config import TauConfig

message = messages_of(__package__)


class Signs(TypedDict):
    signs: NDArray[np.int8]  # (genes, pairs of samples), which of two samples has the larger value


class Kendall(Estimator[TauConfig, Signs]):
    """Tau-a of two genes is the mean product of their signs."""

    @classmethod
    def prepare(
        cls, config: TauConfig, seed: int, scratch: Path | None = None, sample: bool = False
    ) -> PreparedInput[Signs]:
        table, design = read_arranged(config, scratch)
        made = prepare_expression(table, config.preprocess, design=design)
        n = len(made.samples)
        first, second = np.triu_indices(n, 1)
        signs = np.sign(made.values[:, first] - made.values[:, second])
        signs = np.nan_to_num(signs).astype(np.int8)  # of a missing value: as of equal ones
        made.messages += [message("few_samples", samples=n)] if n < 50 else []
        chosen = {"preprocess": made.parameters}
        return PreparedInput(made.items, {"signs": signs}, made.counts, made.messages, chosen)

    @classmethod
    def space(cls, state: Signs) -> PairSpace:
        return PairSpace("triangle", len(state["signs"]), len(state["signs"]))

    @classmethod
    def cost(cls, config: TauConfig, state: Signs, backend: str, threads: int) -> Cost:
        return Cost(1e9 / state["signs"].shape[1], cls.space(state).pairs_in, tile_edges=(16, 16))

    def schema(self) -> pa.Schema:
        return pa.schema([("i", pa.int32()), ("j", pa.int32()), ("tau", pa.float64())])

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        signs = self.state["signs"]
        tau = signs[tile.rows].astype(float) @ signs[tile.columns].T / signs.shape[1]
        i, j = np.mgrid[tile.rows, tile.columns].astype(np.int32)
        kept = (i < j) & (np.abs(tau) >= self.config.min_tau)
        pairs = np.array([(i < j).sum()])
        rows = {"i": i[kept], "j": j[kept], "tau": tau[kept]}
        return rows, {"pairs": pairs, "pairs_scored": pairs}

    def network(self, merged: MergedResults) -> Network:
        edges = merged.pairs.rename(columns={"i": "source", "j": "target"})
        return Network(sort_edges(edges, "tau", signed=True), directed=False)
