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
        self.sources = np.atleast_2d(state["source_samples"])
        self.lags = len(self.sources)
        self.sffs = config.estimator.cardinality > self.cardinality
        self.top = config.estimator.top

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
