"""A whole analysis in one process: null, tiles, merge, network; no files.

What the workflow does with a job for each step, for callers that need the result at once: each
bootstrap, ``pairtile.infer_network`` and the other functions of the library. Same tiles, same seed,
same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.engine.chunk_file import RANK_SCORE, Summaries, add_summaries
from pairtile.engine.estimator import Estimator, Merged
from pairtile.engine.merging import row_order
from pairtile.engine.network import Network
from pairtile.engine.selection import RunningTopK, Selection
from pairtile.engine.tiles import Tile


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


def merged_in_memory(opened: Estimator, tiles: Sequence[Tile], seed: int) -> Merged:
    """What chunks and merge leave of an analysis, from an estimator on its state and all tiles."""
    null = opened.null(seed)
    scan: Summaries | None = None
    if opened.needs_scan(opened.config):
        scan = {}
        for tile in tiles:
            add_summaries(scan, opened.scan_tile(tile))
    pairs, sums = _scored_pairs(opened, tiles, opened.selection(null), scan)
    return Merged(pairs, sums, null, scan)


def _scored_pairs(
    opened: Estimator, tiles: Sequence[Tile], selection: Selection, scan: Summaries | None
) -> tuple[pd.DataFrame, Summaries]:
    """The rows that chunks and merge would give, in the merged table's order; their summaries."""
    totals: Summaries = {}
    rows: list[dict[str, NDArray[Any]]] = []
    best = RunningTopK(selection.top)
    for tile in tiles:
        found, summary = opened.compute_tile(tile, selection, scan, best.threshold)
        add_summaries(totals, summary)
        rows.append(dict(found))
        if selection.top:
            best.add(found[RANK_SCORE])
    if selection.top:
        rows = [best.prune(part) for part in rows]
    names = opened.schema().names
    bands: dict[int, list[dict[str, NDArray[Any]]]] = {}
    for tile, part in zip(tiles, rows, strict=True):
        bands.setdefault(tile.row_begin, []).append(part)
    parts = [opened.reduce_band(_joined(band, names)) for band in bands.values()]
    parts = parts or [opened.schema().empty_table()]
    table = pa.concat_tables(parts, promote_options="default")  # texts of no row have no type
    columns = {name: table[name].to_numpy() for name in names}
    order = row_order([columns[name] for name in opened.sort_by])
    return pd.DataFrame({name: columns[name][order] for name in names}), totals


def _joined(parts: Sequence[dict[str, NDArray[Any]]], names: Sequence[str]) -> pa.Table:
    whole = {name: np.concatenate([part[name] for part in parts]) for name in names}
    return pa.table({name: _column(values) for name, values in whole.items()})


def _column(values: NDArray[Any]) -> Any:
    """Rows of bytes, shape (rows, width), as values of one width; all else as it is."""
    if values.ndim == 1:
        return values
    kind, data = pa.binary(values.shape[1]), np.ascontiguousarray(values, dtype=np.uint8)
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(data), [None, pa.py_buffer(data)])
