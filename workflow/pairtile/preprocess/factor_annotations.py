"""Which annotation of the samples a hidden factor goes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

LEVEL = 0.05


class FactorAnnotation(NamedTuple):
    """``column``: the annotation that a factor goes with most clearly, "" where with none.
    ``p_value``: times the number of tests (Bonferroni), at most 1; NaN without a column to test."""

    column: str
    p_value: float


def annotations_of_factors(
    scores: NDArray[np.float64], columns: Mapping[str, Sequence[str]]
) -> list[FactorAnnotation]:
    """Test each factor against each column: numbers by Spearman's correlation, labels by the
    Kruskal-Wallis test, among the samples with a value.

    scores : float64 (factors, samples). columns : a text for each sample, "" where there is none.
    Columns of one value, or of as many labels as samples, are not tested.
    """
    tested = {name: cells for name, cells in columns.items() if _says_something(cells)}
    found = []
    for factor in scores:
        p = {
            name: _p_value(factor, cells) * len(tested) * len(scores)
            for name, cells in tested.items()
        }
        best = min(p, key=p.__getitem__, default="")
        least = min(1.0, p[best]) if p else np.nan
        found.append(FactorAnnotation(best if least <= LEVEL else "", least))
    return found


def _says_something(cells: Sequence[str]) -> bool:
    known = [cell for cell in cells if cell]
    numbers = pd.to_numeric(pd.Series(known, dtype=object), errors="coerce").notna().all()
    return len(set(known)) > 1 and (bool(numbers) or len(set(known)) <= len(known) / 2)


def _p_value(factor: NDArray[np.float64], cells: Sequence[str]) -> float:
    known = np.array([cell != "" for cell in cells])
    values, labels = factor[known], pd.Series(np.array(cells, dtype=object)[known])
    numbers = pd.to_numeric(labels, errors="coerce")
    if numbers.notna().all() and labels.nunique() > 2:
        return float(scipy.stats.spearmanr(values, numbers.to_numpy(np.float64)).pvalue)
    groups = [values[(labels == label).to_numpy()] for label in labels.unique()]
    return float(scipy.stats.kruskal(*groups).pvalue)
