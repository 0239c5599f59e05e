"""The candidate predictors of a search, and how their sets are scored: what the searches on CPU and
GPU are both given."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pairtile.cpu.bit_planes import bit_planes
from pairtile.gpu.device import Device
from pairtile.methods.predictor_pairs.config import MAX_LEVELS, MIN_LEVELS, PredictorEstimatorConfig
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    PENALTIES,
    Scoring,
    n_log_n_table,
    poor_entropy_bits,
)
from pairtile.methods.predictor_pairs.kernels.screens import bound_coefficients
from pairtile.methods.predictor_pairs.kernels.search import CellTables, cell_entropies

MAX_SAMPLES = 1 << 22
"""Counts and their float32 bounds are exact far beyond this; it keeps both so."""


class SearchSettings(PredictorEstimatorConfig):
    """What is searched, and how sets are scored: the section ``estimator``, for levels at hand."""

    levels: Annotated[int, Field(ge=MIN_LEVELS, le=MAX_LEVELS)]
    min_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Sets with fewer samples, all their levels present, are not admissible."""
    lags: Annotated[int, Field(ge=1)] = 1
    """Candidates that are one gene: that many neighbours."""

    @property
    def penalty_code(self) -> int:
        """The penalty as kernels know it: its place in ``PENALTIES``."""
        return PENALTIES.index(self.penalty)

    @property
    def poor_bits(self) -> float:
        """Entropy that ``poor_obs`` gives to a cell seen once."""
        return poor_entropy_bits(self.beta, self.levels)


class PredictorTable:
    """One table of candidate predictors.

    predictors : int8 (n_predictors, n_samples), levels 0 .. q-1, -1 where missing.
    """

    def __init__(
        self, predictors: NDArray[np.int8], settings: SearchSettings, device: Device
    ) -> None:
        self.settings = settings
        self.device = device
        self.predictors = np.ascontiguousarray(predictors, dtype=np.int8)
        self.n_predictors, self.n_samples = self.predictors.shape
        if self.n_samples > MAX_SAMPLES:
            raise ValueError(
                f"there are {self.n_samples:,} samples; expected up to {MAX_SAMPLES:,}"
            )
        self.planes = bit_planes(self.predictors, settings.levels)
        self.complete = bool((self.predictors >= 0).all())

    @cached_property
    def scoring(self) -> Scoring:
        """How sets are scored, as kernels take it."""
        settings = self.settings
        return Scoring(
            n_log_n_table(self.n_samples),
            settings.penalty_code,
            float(settings.alpha),
            float(settings.poor_bits),
            settings.min_samples,
        )

    @cached_property
    def cell_tables(self) -> CellTables:
        """What cells of each size add to bounds and scores."""
        scoring = self.scoring
        coefficients = bound_coefficients(self.n_samples, scoring.penalty, scoring.alpha)
        return CellTables(coefficients, *cell_entropies(self.settings.levels, scoring))
