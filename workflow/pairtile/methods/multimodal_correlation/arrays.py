"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import NotRequired

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.preprocess.transitions import Lagged, lagged_samples


class ModeArrays(SampleArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | values | (genes, samples) | NaN where missing |
    | keys | (genes,) | of the names: random draws depend on them, whatever their order |
    | samples | (samples,) | names |
    | regulators | (regulators,) | their item numbers; empty: every gene with every gene |
    | lag | () | where targets are read later than sources: by so many samples |
    | columns | () | of two tables: items of the first; those after them are the regulators |
    | counts | (genes, samples) | where values were made from counts that are known: these |
    | effects_removed | () | whether effects were removed from the values made from counts |
    """

    values: NDArray[np.float64]
    keys: NDArray[np.uint64]
    samples: NDArray[np.str_]
    regulators: NDArray[np.int32]
    lag: NotRequired[NDArray[np.int64]]
    columns: NotRequired[NDArray[np.int64]]
    counts: NotRequired[NDArray[np.unsignedinteger]]
    effects_removed: NotRequired[NDArray[np.bool_]]


def lagged_of(state: ModeArrays, source: str = "samples") -> Lagged | None:
    """The samples of sources and of targets; None where they are the same. ``source``: what an
    error names.

    Raises InputError where no series has as many samples.
    """
    if "lag" not in state:
        return None
    series = state.get("sample_series", np.zeros(len(state["samples"]), dtype=np.int32))
    return lagged_samples(series, int(state["lag"]), source)


def source_values(state: ModeArrays, genes: int | slice) -> NDArray[np.float64]:
    """Values of a gene, or of some, as sources, float64 (..., samples): with a lag those so much
    earlier, each at the sample of its target, NaN where there is none."""
    values, lagged = np.asarray(state["values"][genes]), lagged_of(state)
    if lagged is None:
        return values
    earlier = np.full(values.shape, np.nan)
    earlier[..., lagged.target] = values[..., lagged.source]
    return earlier
