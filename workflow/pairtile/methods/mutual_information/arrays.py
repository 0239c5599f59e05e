"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import NotRequired

import numpy as np
from numpy.typing import NDArray

from pairtile.preprocess.null_design import CourseArrays
from pairtile.preprocess.sample_arrays import SampleArrays

MAX_SAMPLES = 20_000
"""Of which permutation null, partial correlations and signs are taken: the null of n_samples * MI
is that of more samples to 0.1 % (Williams 1976, Biometrika 63:33, of 10 x 10 cells), the standard
error of a correlation 0.007."""


class GeneArrays(SampleArrays, CourseArrays, total=False):
    """Of each gene: ``observed``, its share of the samples, where any is missing;
    ``autocorrelation`` at lag 1."""

    observed: NDArray[np.float64]
    autocorrelation: NDArray[np.float64]


class SplineArrays(GeneArrays):
    """
    | array | shape | meaning |
    |---|---|---|
    | z | (genes, samples) | scaled to [0, bins - order + 1] over observed samples, NaN: missing |
    | entropy_bits | (genes,) | marginal entropy |
    | regulators | (regulators,) | their item numbers; empty: every gene with every gene |
    | z_source | (genes, samples) | with a lag: the same of the samples of sources; z: of targets |
    | columns | () | of two tables: items of the first; those after them are the regulators |
    | z_some | (genes, ``MAX_SAMPLES``) | of more samples, evenly spaced ones |
    | bins_order, by_rank | (2,), () | the estimator as decided |
    | shared_components | () | of most genes, which nobody states (``Dependence.factors``) |
    | scores | (genes, genes) | given ones, NaN: none; z then has no samples |
    | top_score | () | the largest of these |
    | null_bits | (draws,) | given scores of unrelated genes, float32, ascending |
    """

    z: NDArray[np.float64]
    entropy_bits: NDArray[np.float64]
    regulators: NDArray[np.int32]
    z_source: NotRequired[NDArray[np.float64]]
    columns: NotRequired[NDArray[np.int64]]
    z_some: NotRequired[NDArray[np.float64]]
    bins_order: NDArray[np.int64]
    by_rank: NDArray[np.bool_]
    shared_components: NDArray[np.int64]
    scores: NotRequired[NDArray[np.float64]]
    top_score: NotRequired[NDArray[np.float64]]
    null_bits: NotRequired[NDArray[np.float32]]
