"""A whole analysis in one process: null, tiles, merge, network; no files.

What the workflow does with a job for each step, for callers that need the result at once: each
bootstrap, ``pairtile.infer_network`` and the other functions of the library. Same tiles, same seed,
same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pandas as pd
import pyarrow as pa

from pairtile.engine.chunk_file import Rows, Summaries, add_summaries, column
from pairtile.engine.estimator import Estimator, Merged
from pairtile.engine.merging import row_order
from pairtile.engine.network import Network
from pairtile.engine.scoring import score_tiles
from pairtile.engine.stages import CandidateMerge, FirstPass, null_of, selection_of
from pairtile.engine.tiles import Tile
from pairtile.gpu.device import threads


def network_in_memory(opened: Estimator, tiles: Sequence[Tile], seed: int) -> Network:
    """Score all pairs of an analysis and make its network: edges by gene number.

    Parameters
    ----------
    opened
        The estimator on its state; its section says score, keep and DPI.
    tiles
        All tiles of its pair space.
    seed
        Of the null distribution.

    Returns
    -------
    Network
        That of the workflow for the same section, tiles, seed and backend, without bootstraps.
        ``counts`` has ``pairs``, ``pairs_scored`` and ``pairs_too_few_samples`` too.
    """
    merged = merged_in_memory(opened, tiles, seed)
    result = opened.network(merged)
    pairs, scored = (int(merged.sums[name].sum()) for name in ("pairs", "pairs_scored"))
    of_pairs = {"pairs": pairs, "pairs_scored": scored, "pairs_too_few_samples": pairs - scored}
    result.counts = {**of_pairs, **result.counts}
    return result


def all_tiles(opened: Estimator) -> list[Tile]:
    """The tiles of an analysis, as the workflow cuts them."""
    cost = opened.cost(opened.config, opened.state, opened.device.backend, threads())
    return opened.space(opened.state).tiles(*cost.tile_edges)


def merged_in_memory(opened: Estimator, tiles: Sequence[Tile], seed: int) -> Merged:
    """What chunks and merge leave of an analysis, from an estimator on its state and all tiles."""
    null = null_of(opened, seed)
    scan: Summaries | None = None
    if isinstance(opened, FirstPass) and opened.needs_scan(opened.config):
        scan = {}
        for tile in tiles:
            add_summaries(scan, opened.scan_tile(tile))
    sums: Summaries = {}
    selection = replace(selection_of(opened, null), scan=scan)
    scored = score_tiles(opened.score_tile, tiles, selection, sums)
    names = opened.schema().names
    bands = (
        _joined([rows for _, rows in band], names)
        for _, band in groupby(scored, lambda part: part[0].row_begin)
    )
    tables = list(map(opened.reduce_band, bands) if isinstance(opened, CandidateMerge) else bands)
    tables = tables or [opened.schema().empty_table()]
    table = pa.concat_tables(tables, promote_options="default")  # texts of no row have no type
    columns = {name: table[name].to_numpy() for name in names}
    order = row_order([columns[name] for name in opened.sort_by])
    pairs = pd.DataFrame({name: columns[name][order] for name in names})
    return Merged(pairs, sums, null, scan)


def _joined(parts: Sequence[Rows], names: Sequence[str]) -> pa.Table:
    whole = {name: np.concatenate([part[name] for part in parts]) for name in names}
    return pa.table(
        {
            name: values if values.ndim == 1 else column(values, pa.binary(values.shape[1]))
            for name, values in whole.items()
        }
    )
