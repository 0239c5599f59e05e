"""The candidate predictors of a search, and how their sets are scored: what the searches on CPU and
GPU are both given; and how an analysis gets these from its state."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pairtile.cpu.bit_planes import bit_planes
from pairtile.engine.estimator import Estimator
from pairtile.gpu.device import Device
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.config import (
    MAX_LEVELS,
    MIN_LEVELS,
    PredictorEstimatorConfig,
    PredictorPairsConfig,
)
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
        return Scoring(
            n_log_n_table(self.n_samples),
            self.settings.penalty_code,
            float(self.settings.alpha),
            float(self.settings.poor_bits),
            self.settings.min_samples,
        )

    @cached_property
    def cell_tables(self) -> CellTables:
        """What cells of each size add to bounds and scores."""
        scoring = self.scoring
        return CellTables(
            bound_coefficients(self.n_samples, scoring.penalty, scoring.alpha),
            *cell_entropies(self.settings.levels, scoring),
        )


class PredictorLevels(Estimator[PredictorPairsConfig, PredictorArrays]):
    """What the estimator reads from its state: levels of predictors and targets, as searches and
    tests take them."""

    def __init__(
        self,
        config: PredictorPairsConfig,
        state: PredictorArrays,
        device: Device,
        precision: str,
        seed: int = 0,
    ) -> None:
        super().__init__(config, state, device, precision, seed)
        self.cardinality = int(state["cardinality"][0])
        self.n_targets = int(state["targets"].size)
        self.sources = np.atleast_2d(state["source_samples"])
        self.lags = len(self.sources)
        self.sffs = config.estimator.cardinality > self.cardinality
        self.top = config.estimator.top
        # Of a shuffled target only the best counts; those that SFFS grows from need as many seeds.
        self.null_top = self.top if self.sffs else 1
        # Of each row of the space, the best keys so far: what cannot be among the best of all
        # tiles need not be reported again. It changes chunk files, never the merged table.
        self.best_keys: dict[int, NDArray[np.int64]] = {}
        # Not all steps have ``keep``.
        self.keep_by_auto = "keep" in vars(config) and config.keep.rule == "auto"

    def search_settings(self, top: int, cardinality: int | None = None) -> SearchSettings:
        """How sets are scored, for the section at hand."""
        decided = {
            "levels": int(self.state["n_levels"][0]),
            "cardinality": self.cardinality if cardinality is None else cardinality,
            "top": top,
            "min_samples": self.config.preprocess.min_samples,
            "lags": self.lags,
        }
        return SearchSettings(**(self.config.estimator.model_dump() | decided))

    def predictor_levels(self) -> NDArray[np.int8]:
        """Levels of the candidates, int8 (predictors, transitions)."""
        items, lags = np.divmod(np.asarray(self.state["predictors"]), self.lags)
        levels = np.asarray(self.state["levels"])[items[:, None], self.sources[lags]]
        return np.ascontiguousarray(levels, dtype=np.int8)

    def target_levels(self, rows: slice) -> NDArray[np.int8]:
        """Levels of rows of the space: targets, then shuffled targets."""
        of_targets = np.asarray(self.state["levels"])[np.asarray(self.state["targets"])[rows]]
        real = of_targets[:, np.asarray(self.state["target_samples"])].astype(np.int8)
        drawn = slice(max(rows.start - self.n_targets, 0), max(rows.stop - self.n_targets, 0))
        return np.concatenate([real, np.asarray(self.state["null_levels"][drawn], dtype=np.int8)])

    def places(self) -> NDArray[np.int32]:
        """Of each item at each lag, its number among the candidates; -1 where it is none."""
        place = np.full(len(self.state["levels"]) * self.lags, -1, dtype=np.int32)
        place[self.state["predictors"]] = np.arange(self.state["predictors"].size)
        return place

    def excluded(self, rows: slice) -> NDArray[np.int32]:
        """For rows of the space, the candidate (of several lags the gene's number among them) that
        must not predict it; -1 where any may."""
        place = self.places()[:: self.lags] // self.lags
        targets = np.asarray(self.state["targets"])
        drawn = np.asarray(self.state["null_exclude"])
        itself = np.where(drawn < 0, -1, place[targets[np.maximum(drawn, 0)]])
        everyone = np.concatenate([place[targets], itself])[rows].astype(np.int32)
        return np.full_like(everyone, -1) if self.config.estimator.self else everyone
