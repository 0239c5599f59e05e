"""What finds the modes of pairs of genes, as the configuration asks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.mixtures import PairMixtures
from pairtile.methods.multimodal_correlation.plain_correlation import PlainCorrelation


def pair_scorer(
    config: MultimodalCorrelationConfig,
    values: NDArray[np.float64],
    keys: NDArray[Any],
    device: Device,
    seed: int,
) -> PairMixtures | PlainCorrelation:
    """The estimator of ``config.estimator`` on a table; its ``tile`` gives the modes of a tile.

    values : float64 (genes, samples), NaN where missing. keys : uint64 (genes,), which random
    starts depend on, beside the seed.
    """
    if config.estimator.clustering == "none":
        return PlainCorrelation(values, config, device)
    return PairMixtures(values, keys, config, device, seed)
