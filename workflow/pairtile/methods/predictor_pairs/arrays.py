"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import NotRequired

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.sample_arrays import SampleArrays


class LevelArrays(SampleArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | levels | (genes, samples) | from 0; -1 where missing |
    | values | (genes, samples) | what the levels were made of, or they themselves; NaN: missing |
    | series | (samples,) | time series of each sample |
    | source_samples, target_samples | (transitions,) | samples of predictors and of their target; \
with several lags the first (lags, transitions) |
    | lags | (lags,) | where there are several |
    | targets | | item numbers of the genes to explain |
    | n_levels | (1,) | |
    """

    levels: NDArray[np.int8]
    values: NDArray[np.float64]
    series: NDArray[np.int32]
    source_samples: NDArray[np.int32]
    target_samples: NDArray[np.int32]
    lags: NotRequired[NDArray[np.int32]]
    predictors: NDArray[np.int32]
    targets: NDArray[np.int32]
    n_levels: NDArray[np.int32]


class PredictorArrays(LevelArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | predictors | | of the candidates the item number times the number of lags, and the place of \
its lag |
    | cardinality | (1,) | size of the sets that tiles search: pairs, where triples come by SFFS |
    | null_levels, null_class, null_exclude, target_class | | ``null.NullTargets`` |
    """

    cardinality: NDArray[np.int32]
    null_levels: NDArray[np.int8]
    null_class: NDArray[np.int32]
    null_exclude: NDArray[np.int32]
    target_class: NDArray[np.int32]


class TransferArrays(LevelArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | source_samples, lags | (lags, transitions), (lags,) | of one lag, too |
    | history_samples | (history, transitions) | samples of the target's past, the latest first |
    | predictors | | item numbers of the sources |
    | null_orders | (draws, transitions) | transitions whose source stands in the place of each |
    """

    history_samples: NDArray[np.int32]
    null_orders: NDArray[np.int32]
