"""Rankings and networks in memory against a gold standard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

import pandas as pd

from pairtile.api.messages import issue_warnings
from pairtile.errors import require_columns
from pairtile.io.names import GeneNames
from pairtile.statistics import evaluation


@wraps(evaluation.evaluate)
def evaluate(
    ranking: pd.DataFrame,
    gold: pd.DataFrame,
    *,
    genes: Sequence[str],
    regulators: Sequence[str] | None = None,
    directed: bool = True,
    network: pd.DataFrame | None = None,
    network_directed: bool | None = None,
    universe: str = "auto",
    top: int = evaluation.TOP_EDGES,
) -> dict[str, Any]:
    require_columns(gold, ("source", "target"), "gold standard")
    names, kind = GeneNames([*map(str, genes)]), "names of the gold standard"
    gold, said = names.spell(gold, ["source", "target"], kind)
    issue_warnings(said)
    if regulators is not None:
        found = names.find(map(str, regulators)).rows.values()
        regulators = [genes[row] for rows in found for row in rows]
    return evaluation.evaluate(
        ranking,
        gold,
        genes=genes,
        regulators=regulators,
        directed=directed,
        network=network,
        network_directed=network_directed,
        universe=universe,
        top=top,
    )
