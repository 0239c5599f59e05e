"""The levels of predictors and targets of a prepared analysis, as searches and tests take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.estimator import Estimator
from pairtile.gpu.device import Device
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.predictor_table import SearchSettings


class PredictorLevels(Estimator[PredictorPairsConfig, PredictorArrays]):
    """What the estimator reads from its state."""

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
        self.sffs = config.estimator.cardinality > self.cardinality
        self.top = config.estimator.top

    def search_settings(self, top: int, cardinality: int | None = None) -> SearchSettings:
        """How sets are scored, for the section at hand."""
        decided = {
            "levels": int(self.state["n_levels"][0]),
            "cardinality": self.cardinality if cardinality is None else cardinality,
            "top": top,
            "min_samples": self.config.preprocess.min_samples,
        }
        return SearchSettings(**(self.config.estimator.model_dump() | decided))

    def predictor_levels(self) -> NDArray[np.int8]:
        """Levels of the candidates, int8 (predictors, transitions)."""
        return self._levels(self.state["predictors"], self.state["source_samples"])

    def target_levels(self, rows: slice) -> NDArray[np.int8]:
        """Levels of rows of the space: targets, then shuffled targets."""
        real = self._levels(self.state["targets"][rows], self.state["target_samples"])
        drawn = slice(max(rows.start - self.n_targets, 0), max(rows.stop - self.n_targets, 0))
        return np.concatenate([real, np.asarray(self.state["null_levels"][drawn], dtype=np.int8)])

    def places(self) -> NDArray[np.int32]:
        """Of each item, its number among the candidates; -1 where it is none."""
        place = np.full(len(self.state["levels"]), -1, dtype=np.int32)
        place[self.state["predictors"]] = np.arange(self.state["predictors"].size)
        return place

    def excluded(self, rows: slice) -> NDArray[np.int32]:
        """For rows of the space, the candidate that must not predict it; -1 where any may."""
        place = self.places()
        targets = np.asarray(self.state["targets"])
        drawn = np.asarray(self.state["null_exclude"])
        itself = np.where(drawn < 0, -1, place[targets[np.maximum(drawn, 0)]])
        everyone = np.concatenate([place[targets], itself])[rows].astype(np.int32)
        return np.full_like(everyone, -1) if self.config.estimator.self else everyone

    def _levels(self, items: NDArray[np.integer], samples: NDArray[np.int32]) -> NDArray[np.int8]:
        rows = np.asarray(self.state["levels"])[np.asarray(items)]
        return np.ascontiguousarray(rows[:, np.asarray(samples)], dtype=np.int8)
