"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import NotRequired

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.sample_arrays import SampleArrays


class PredictorArrays(SampleArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | levels | (genes, samples) | from 0; -1 where missing |
    | values | (genes, samples) | what the levels were made of, or they themselves; NaN: missing |
    | series | (samples,) | time series of each sample |
    | source_samples, target_samples | (transitions,) | samples of predictors and of their target; \
with several lags the first (lags, transitions) |
    | lags | (lags,) | where there are several |
    | predictors | | of the candidates the item number times the number of lags, and the place of \
its lag |
    | targets | | item numbers of the genes to explain |
    | cardinality | (1,) | size of the sets that tiles search: pairs, where triples come by SFFS |
    | n_levels | (1,) | |
    | null_levels, null_class, null_exclude, target_class | | ``null.NullTargets`` |
    """

    levels: NDArray[np.int8]
    values: NDArray[np.float64]
    series: NDArray[np.int32]
    source_samples: NDArray[np.int32]
    target_samples: NDArray[np.int32]
    predictors: NDArray[np.int32]
    targets: NDArray[np.int32]
    lags: NotRequired[NDArray[np.int32]]
    cardinality: NDArray[np.int32]
    n_levels: NDArray[np.int32]
    null_levels: NDArray[np.int8]
    null_class: NDArray[np.int32]
    null_exclude: NDArray[np.int32]
    target_class: NDArray[np.int32]
