"""The methods of pairtile, by the name they have in a configuration."""

from __future__ import annotations

from importlib import import_module

from pairtile.estimators.base import Estimator

METHODS = {
    "mutual_information": "MutualInformation",
    "multimodal_correlation": "MultimodalCorrelation",
    "predictor_pairs": "PredictorPairs",
    "mirna_targets": "MirnaTargets",
    "trajectory_correlation": "TrajectoryCorrelation",
}
"""Method -> its class, in the module of the method's name; imported when first asked for."""


def estimator(method: str) -> type[Estimator]:
    """The estimator class of a method.

    Raises
    ------
    KeyError
        For a method that does not exist (the configuration's schema refuses it earlier).
    """
    name = METHODS[method]
    found: type[Estimator] = getattr(import_module(f"pairtile.estimators.{method}"), name)
    return found
