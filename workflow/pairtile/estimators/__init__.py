"""The methods of pairtile, by the name they have in a configuration."""

from __future__ import annotations

from pairtile.estimators.base import Estimator


def estimator(method: str) -> type[Estimator]:
    """The estimator class of a method.

    Raises
    ------
    KeyError
        For a method that does not exist (the configuration's schema refuses it earlier).
    """
    if method == "mutual_information":
        from pairtile.estimators.mutual_information import MutualInformation

        return MutualInformation
    raise KeyError(method)
