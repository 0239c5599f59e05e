"""The estimator of the workflow, opened on values in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.prepare import spline_settings
from pairtile.methods.mutual_information.score import MutualInformation
from pairtile.splines.scorer import SplineSettings
from pairtile.splines.values import marginal_entropies, scaled


def open_analysis(
    values: NDArray[np.float64],
    regulators: NDArray[Any],
    config: MutualInformationConfig,
    device: Device,
) -> MutualInformation:
    """An estimator on ``values``, float64 (genes, samples), NaN where missing.

    ``regulators``: gene numbers, empty for every gene with every gene. ``config``: complete, as
    ``analysis_section`` gives it.
    """
    settings = spline_settings(config, "float64")
    z = scaled_genes(values, settings, config["estimator"]["transform"])
    state: dict[str, NDArray[Any]] = {
        "z": z,
        "entropy_bits": marginal_entropies(z, settings),
        "regulators": np.unique(np.asarray(regulators, dtype=np.int32)),
    }
    precision = MutualInformation.resolve_precision(config, device.backend)
    return MutualInformation(config, state, device, precision)


def scaled_genes(
    values: NDArray[np.float64], settings: SplineSettings, transform: str
) -> NDArray[np.float64]:
    """``scaled``, also where a gene has no value at all: it stays without."""
    empty = np.isnan(values).all(axis=1)
    if not empty.any():
        return scaled(values, settings, transform)
    z = np.full(values.shape, np.nan)
    if not empty.all():
        z[~empty] = scaled(values[~empty], settings, transform)
    return z
