"""What a gold standard says of the genes of a table: true edges, and which edges it judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

WHOLE_TABLE = 0.75
"""A gold standard that names this share of the table's genes is taken to judge all of them."""


@dataclass(frozen=True)
class Truth:
    """The gold standard in numbers; edge source -> target is ``source * n_genes + target``."""

    universe: str
    """``all`` or ``targets``: see ``pairtile.evaluate``."""
    edges: NDArray[np.int64]
    """Edges that are true and judged, ascending."""
    is_source: NDArray[np.bool_]
    """Of each gene: whether it may be a source."""
    is_judged_target: NDArray[np.bool_]
    """Of each gene: whether edges to it are judged."""

    @property
    def n_genes(self) -> int:
        """Genes of the table."""
        return len(self.is_source)

    @property
    def n_candidates(self) -> int:
        """Judged edges, true or not."""
        both_roles = int((self.is_source & self.is_judged_target).sum())
        return int(self.is_source.sum()) * int(self.is_judged_target.sum()) - both_roles

    @property
    def n_candidate_pairs(self) -> int:
        """Unordered pairs with a judged direction."""
        both_roles = int((self.is_source & self.is_judged_target).sum())
        return self.n_candidates - both_roles * (both_roles - 1) // 2

    def judges(self, edge: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these edges are candidates."""
        source, target = edge // self.n_genes, edge % self.n_genes
        return self.is_source[source] & self.is_judged_target[target] & (source != target)


def require_columns(table: pd.DataFrame, columns: Sequence[str], what: str) -> None:
    """Raises ValueError naming the columns that a table lacks."""
    absent = [repr(name) for name in columns if name not in table]
    if absent:
        held = ", ".join(map(repr, table.columns)) or "none"
        raise ValueError(f"{what}: found columns {held}; expected {' and '.join(absent)}, too")


def read_truth(
    gold: pd.DataFrame, index: pd.Index[Any], is_source: NDArray[np.bool_], universe: str
) -> tuple[Truth, dict[str, int]]:
    """Known edges (columns ``source``, ``target``: names) as numbers of the genes in ``index``.

    is_source : bool (G,), who may be a source. universe : auto, all or targets.

    Returns the truth, and counts of what was left out and why, named as in the result of
    ``pairtile.evaluate``. Raises ValueError if no edge, or nothing else, is left.
    """
    require_columns(gold, ("source", "target"), "gold standard")
    source = index.get_indexer(pd.Index(gold["source"]))
    target = index.get_indexer(pd.Index(gold["target"]))
    is_self = (gold["source"] == gold["target"]).to_numpy()
    outside = ~is_self & ((source < 0) | (target < 0))
    not_regulator = ~is_self & ~outside & ~is_source[source]
    usable = ~(is_self | outside | not_regulator)
    edges = np.unique(source[usable].astype(np.int64) * len(index) + target[usable])
    counts = {
        "n_gold_read": len(gold),
        "n_gold_self": int(is_self.sum()),
        "n_gold_outside_table": int(outside.sum()),
        "n_gold_source_not_regulator": int(not_regulator.sum()),
        "n_gold_repeated": int(usable.sum()) - len(edges),
    }
    if len(edges) == 0:
        reasons = {
            "to itself": "self",
            "with a gene that is not of the table": "outside_table",
            "from a gene that is no regulator": "source_not_regulator",
        }
        why = ", ".join(
            f"{counts[f'n_gold_{key}']} {words}"
            for words, key in reasons.items()
            if counts[f"n_gold_{key}"]
        )
        raise ValueError(
            f"none of the {len(gold)} gold standard edges goes from a regulator to another gene "
            f"of the table ({why or 'the list is empty'}); expected at least one"
        )
    if universe == "auto":
        named = len(np.unique(np.concatenate([edges // len(index), edges % len(index)])))
        universe = "all" if named >= WHOLE_TABLE * len(index) else "targets"
    is_judged_target = np.full(len(index), universe == "all")
    is_judged_target[edges % len(index)] = True
    truth = Truth(universe, edges, is_source, is_judged_target)
    if truth.n_candidates == len(edges):
        raise ValueError("every candidate edge is true; expected some that are not")
    return truth, counts
