"""The network that a method makes of scored pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import HasMessages, Message


@dataclass
class Network(HasMessages):
    """Edges by gene number, best first, and the numbers that explain them."""

    edges: pd.DataFrame
    """source, target int32 (item numbers); then the columns of ``network.parquet``."""
    directed: bool
    score: str | None = None
    """The column that ranks the edges; None: it follows from the names of the columns."""
    value: str | None = None
    """The column of what an edge is worth where one number must do; None: ``score``."""
    counts: dict[str, int] = field(default_factory=dict)
    threshold_value: float | None = None
    """The least score of an edge, in the unit of the score."""
    threshold: dict[str, Any] = field(default_factory=dict)
    """How edges were chosen, for ``summary.json``."""
    arrays: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    """What later steps and the report need of how edges were chosen, for ``scores.npz``."""
    messages: list[Message] = field(default_factory=list)


def sort_edges(edges: pd.DataFrame, by: str, signed: bool = False) -> pd.DataFrame:
    """Best first, by size alone if ``signed``; equal scores by source and target number, so that
    the order is fixed."""
    score = edges[by].abs() if signed else edges[by]
    order = np.lexsort((edges["target"], edges["source"], -score.to_numpy()))
    return edges.iloc[order].reset_index(drop=True)
