"""The account of what preparation did to each gene."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pairtile.preprocess.statistics import RowStatistics

TOO_FEW = "too few samples"
CONSTANT = "constant"


class Account:
    """What happened to each input gene; all arrays have shape (input genes,)."""

    def __init__(self, n_genes: int) -> None:
        self.reason = np.full(n_genes, "", dtype=object)
        self.n_missing_input = np.zeros(n_genes, dtype=np.int32)
        self.n_zeros = np.zeros(n_genes, dtype=np.int32)
        self.n_observed = np.zeros(n_genes, dtype=np.int32)
        self.mean = np.full(n_genes, np.nan)
        self.sd = np.full(n_genes, np.nan)
        self.constant = np.zeros(n_genes, dtype=bool)
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def record(self, rows: np.ndarray, statistics: RowStatistics) -> None:
        """Write down the statistics of the genes ``rows``."""
        self.n_observed[rows] = statistics.n_observed
        self.mean[rows] = statistics.mean
        self.sd[rows] = statistics.sd
        self.constant[rows] = statistics.constant

    def drop(self, rows: np.ndarray, reason: str) -> None:
        """Mark genes as dropped; the first reason stays."""
        first = rows[self.reason[rows] == ""]
        self.reason[first] = reason

    def drop_constant(self) -> None:
        """Mark the genes that are constant by what is written down now."""
        self.drop(np.flatnonzero(self.constant), CONSTANT)

    def dropped(self) -> dict[str, int]:
        """Number of genes dropped, for each reason."""
        return {reason: int((self.reason == reason).sum()) for reason in (TOO_FEW, CONSTANT)}


def items_table(genes: Sequence[str], account: Account) -> pd.DataFrame:
    """One row per input gene: the kept ones in input order, then the dropped ones.

    | column | meaning |
    |---|---|
    | item | row number, int32; ``i`` and ``j`` of a pairs table are these |
    | name | as in the input |
    | kept, reason | whether it is scored; if not, why: ``too few samples`` or ``constant`` |
    | n_observed | samples with a value after preparation, int32 |
    | n_missing_input | missing values in the input, int32 |
    | n_zeros_to_missing | zeros that became missing under log2, int32 |
    | mean, sd | of the prepared values (population sd); of a dropped gene, when it was dropped |
    | constant | all observed values equal |
    | is_regulator | false here: the caller knows |
    """
    kept = account.reason == ""
    order = np.concatenate([np.flatnonzero(kept), np.flatnonzero(~kept)])
    return pd.DataFrame(
        {
            "item": np.arange(order.size, dtype=np.int32),
            "name": pd.Series([genes[k] for k in order], dtype=object),
            "kept": kept[order],
            "reason": pd.Series(account.reason[order], dtype=object),
            "n_observed": account.n_observed[order],
            "n_missing_input": account.n_missing_input[order],
            "n_zeros_to_missing": account.n_zeros[order],
            "mean": account.mean[order],
            "sd": account.sd[order],
            "constant": account.constant[order],
            "is_regulator": np.zeros(order.size, dtype=bool),
        }
    )
