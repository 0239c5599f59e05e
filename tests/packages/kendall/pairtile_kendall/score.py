"""Kendall's tau-a (Kendall 1938): concordant less discordant pairs of samples, over all of them.

State: ``signs`` int8 (genes, pairs of samples), which of two samples has the larger value; tau-a
of two genes is the mean product of their signs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairtile.engine.chunk_file import Arrays, Rows, Summaries
from pairtile.engine.estimator import Cost, Estimator, Merged, PreparedInput, State
from pairtile.engine.network import Network, sort_edges
from pairtile.engine.selection import Selection
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.errors import InputError
from pairtile.io.expression import read_expression
from pairtile.preprocess.expression import prepare_expression

from pairtile_kendall.config import KendallConfig

TILE_EDGE = 16
BINS = np.linspace(-1, 1, 41)


class Kendall(Estimator[KendallConfig]):
    """Kendall's tau-a of all pairs."""

    @classmethod
    def prepare(
        cls, config: KendallConfig, seed: int, scratch: Path | None = None
    ) -> PreparedInput:
        table = read_expression(config.expression, config.orientation, config.layer)
        ready = prepare_expression(table, config.preprocess)
        missing = np.isnan(ready.values).any(axis=1)
        if missing.any():
            gene = ready.genes[int(missing.argmax())]
            raise InputError.at(config.expression, f"gene {gene}", "missing values", "none")
        first, second = np.triu_indices(ready.values.shape[1], 1)
        signs = np.sign(ready.values[:, first] - ready.values[:, second]).astype(np.int8)
        return PreparedInput(
            ready.items, {"signs": signs}, ready.counts, ready.notes, ready.warnings
        )

    @classmethod
    def space(cls, state: State) -> PairSpace:
        return PairSpace("triangle", len(state["signs"]), len(state["signs"]))

    @classmethod
    def cost(cls, config: KendallConfig, state: State, backend: str, threads: int) -> Cost:
        rate = 1e9 / max(1, state["signs"].shape[1])
        return Cost(rate, cls.space(state).pairs_in, tile_edges=(TILE_EDGE, TILE_EDGE))

    def schema(self) -> pa.Schema:
        return pa.schema([("i", pa.int32()), ("j", pa.int32()), ("tau", pa.float64())])

    def score_tile(
        self, tile: Tile, selection: Selection, scan: Arrays | None, cut: float
    ) -> tuple[Rows, Summaries]:
        rows, columns = (
            self.state["signs"][begin:end].astype(np.float64)
            for begin, end in (
                (tile.row_begin, tile.row_end),
                (tile.column_begin, tile.column_end),
            )
        )
        tau = rows @ columns.T / rows.shape[1]
        i, j = np.indices(tau.shape) + np.array([tile.row_begin, tile.column_begin])[:, None, None]
        scored = i < j
        counts = {
            "counts": np.histogram(tau[scored], BINS)[0],
            "pairs": np.array([scored.sum()]),
            "pairs_scored": np.array([scored.sum()]),
        }
        kept = scored & (np.abs(tau) >= self.config.min_tau)
        found = {"i": i[kept].astype(np.int32), "j": j[kept].astype(np.int32), "tau": tau[kept]}
        return found, counts

    def network(self, merged: Merged) -> Network:
        edges = merged.pairs.rename(columns={"i": "source", "j": "target"})
        edges = sort_edges(edges.assign(size=edges["tau"].abs()), "size").drop(columns="size")
        return Network(edges, directed=False, counts={"edges": len(edges)})

    def result_arrays(self, merged: Merged, network: Network) -> dict[str, NDArray[Any]]:
        return {"edges": BINS, "counts": merged.sums["counts"]}
