"""A whole analysis in one process: null, tiles, threshold, DPI; no files.

What the workflow does with a job for each step, for callers that need the network at once: each
bootstrap, and ``pairtile.infer_network``. Same tiles, same seed, same network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairtile.device import Device
from pairtile.network.build import Network, Pairs, build_network, p_values, q_values
from pairtile.network.moments import ExactMoments
from pairtile.network.significance import Null
from pairtile.selection import BestSoFar, Selection
from pairtile.store import RANK_SCORE, Rows, Summaries, add_summaries
from pairtile.tiles import Tile

PAIR_COLUMNS = ("i", "j", "mi_bits", "n_samples")


class GeneAnalysis(Protocol):
    """What is needed of an opened estimator; ``estimators.MutualInformation`` has it."""

    section: Mapping[str, Any]
    state: Mapping[str, NDArray[Any]]
    device: Device
    genes: int
    is_regulator: NDArray[np.bool_] | None

    def null(self, seed: int) -> dict[str, NDArray[Any]]:
        """Arrays of the null distribution."""
        ...

    def selection(self, null: Mapping[str, NDArray[Any]]) -> Selection:
        """Which rows can be part of the network."""
        ...

    def scan_tile(self, tile: Tile) -> Summaries:
        """A tile's sums."""
        ...

    def compute_tile(
        self,
        tile: Tile,
        selection: Selection,
        scan: Mapping[str, NDArray[Any]] | None,
        cut: float,
    ) -> tuple[Rows, Summaries]:
        """A tile's rows and summaries."""
        ...


def network_in_memory(opened: GeneAnalysis, tiles: Sequence[Tile], seed: int) -> Network:
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
        ``counts`` has ``pairs`` and ``pairs_scored`` too.
    """
    section = opened.section
    null_arrays = opened.null(seed)
    null = Null.from_arrays(null_arrays)
    scan: Summaries | None = None
    if section["score"] != "mi":
        scan = {}
        for tile in tiles:
            add_summaries(scan, opened.scan_tile(tile))
    pairs, totals = _scored_pairs(opened, tiles, opened.selection(null_arrays), scan)
    p, extrapolated = p_values(pairs, null)
    n_tests = int(totals["pairs_scored"].sum())
    q = q_values(
        p,
        n_tests,
        null,
        totals["statistic_histogram"],
        int(opened.state["z"].shape[1]),
        max(1.0, float(np.log2(section["estimator"]["bins"]))),
    )
    result = build_network(
        pairs,
        p,
        q,
        extrapolated,
        n_genes=opened.genes,
        keep=section["keep"],
        score=section["score"],
        moments=None if scan is None else ExactMoments.from_summaries(scan),
        dpi=section["dpi"] or None,
        is_regulator=opened.is_regulator,
        backend=opened.device.backend,
    )
    result.counts = {"pairs": int(totals["pairs"].sum()), "pairs_scored": n_tests, **result.counts}
    return result


def _scored_pairs(
    opened: GeneAnalysis, tiles: Sequence[Tile], selection: Selection, scan: Summaries | None
) -> tuple[Pairs, Summaries]:
    """The rows that chunks and merge would give, in the merged table's order; their summaries."""
    totals: Summaries = {}
    rows: list[dict[str, NDArray[Any]]] = []
    best = BestSoFar(selection.top)
    for tile in tiles:
        found, summary = opened.compute_tile(tile, selection, scan, best.cut)
        add_summaries(totals, summary)
        rows.append(dict(found))
        if selection.top:
            best.add(found[RANK_SCORE])
    if selection.top:
        rows = [best.prune(part) for part in rows]
    columns = {name: np.concatenate([part[name] for part in rows]) for name in PAIR_COLUMNS}
    order = np.lexsort((columns["j"], columns["i"]))
    return Pairs(*(columns[name][order] for name in PAIR_COLUMNS)), totals
