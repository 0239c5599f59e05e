"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import NotRequired

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.sample_arrays import SampleArrays


class ModeArrays(SampleArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | values | (genes, samples) | NaN where missing |
    | keys | (genes,) | of the names: random draws depend on them, whatever their order |
    | samples | (samples,) | names |
    | regulators | (regulators,) | their item numbers; empty: every gene with every gene |
    | columns | () | of two tables: items of the first; those after them are the regulators |
    | counts | (genes, samples) | where values were made from counts that are known: these |
    | effects_removed | () | whether effects were removed from the values made from counts |
    """

    values: NDArray[np.float64]
    keys: NDArray[np.uint64]
    samples: NDArray[np.str_]
    regulators: NDArray[np.int32]
    columns: NotRequired[NDArray[np.int64]]
    counts: NotRequired[NDArray[np.unsignedinteger]]
    effects_removed: NotRequired[NDArray[np.bool_]]
