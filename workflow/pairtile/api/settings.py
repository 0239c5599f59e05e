"""Settings of library calls, checked and completed by the model of the configuration.

So a setting means the same, has the same default and gives the same message in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairtile.config import load_config
from pairtile.errors import ConfigError

_NAME = "library"

_LEFT_OUT = ("config: ", f"analyses.{_NAME}.", "estimator.", "null.")
"""What the configuration's messages say before the name that an argument has in a library call."""


def analysis_section(*, seed: int = 1, backend: str = "auto", **settings: Any) -> dict[str, Any]:
    """A complete section of ``method: mutual_information``, as the estimator takes it.

    Parameters
    ----------
    seed, backend
        Checked with the rest; they are no part of the section.
    **settings
        Keys of the section; those left out have the configuration's defaults.

    Raises
    ------
    ValueError
        One line for each fault: ``KEY: found VALUE; expected WHAT``.
    """
    # The model asks for a path; here the values are in memory, and nothing reads it.
    section = {"method": "mutual_information", "expression": "in memory", **settings}
    config = {"seed": seed, "backend": backend, "analyses": {_NAME: section}}
    try:
        checked = load_config(_plain(config))
    except ConfigError as error:
        faults = map(_in_words_of_arguments, str(error).splitlines())
        raise ValueError("\n".join(faults)) from None
    return checked.analyses[_NAME].resolved()


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's: the model is strict."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return value


def _in_words_of_arguments(fault: str) -> str:
    for part in _LEFT_OUT:
        fault = fault.removeprefix(part)
    return fault
