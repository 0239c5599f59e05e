"""What the states of expression methods hold of the samples."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray


class SampleArrays(TypedDict, total=False):
    """Arrays that are there where the samples, or their table, say so.

    | array | shape | meaning |
    |---|---|---|
    | sample_series, sample_batch | (samples,) | numbers from 0, as stated |
    | sample_time | (samples,) | as stated |
    | degrees_given_up | (1,) | by effects (``regress_out``) and factors, beside batches |
    | removed | (samples, columns) | batches, effects and factors that were removed |
    | explained | (samples, columns) | what the columns that a warning names would remove |
    | hidden_factors | (factors, samples) | what was removed, of variance 1 |
    | factor_columns | (factors,) | the annotation that each goes with |
    | factor_labels | (factors, samples) | its values |
    | order_autocorrelation | (2,) | ``null_design.dependence_arrays`` |
    | drifting | (1,) | share of genes that drift along the samples |
    | shared_loadings | (genes, factors) | of at most ``MAX_GENES``, on what samples share |
    | correlation_width | (1,) | variance of correlations of unrelated genes, over that by chance |
    | quality_* | (samples,) | ``quality.SampleQuality``; ``labels`` of the groups |
    | component_* | | the first two principal components of the prepared values |
    """

    sample_series: NDArray[np.int32]
    sample_batch: NDArray[np.int32]
    sample_time: NDArray[np.float64]
    degrees_given_up: NDArray[np.int64]
    removed: NDArray[np.float64]
    explained: NDArray[np.float64]
    hidden_factors: NDArray[np.float64]
    factor_columns: NDArray[np.str_]
    factor_labels: NDArray[np.str_]
    order_autocorrelation: NDArray[np.float64]
    drifting: NDArray[np.float64]
    shared_loadings: NDArray[np.float64]
    correlation_width: NDArray[np.float64]
    quality_samples: NDArray[np.str_]
    quality_counted: NDArray[np.bool_]
    quality_size: NDArray[np.float64]
    quality_zeros: NDArray[np.float64]
    quality_missing: NDArray[np.float64]
    quality_group: NDArray[np.int32]
    quality_labels: NDArray[np.str_]
    component_samples: NDArray[np.int64]
    component_scores: NDArray[np.float64]
    component_shares: NDArray[np.float64]
