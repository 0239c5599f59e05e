"""Settings of library calls, checked and completed by the model of the configuration.

So a setting means the same, has the same default and gives the same message in both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
from pydantic import ValidationError

from pairtile.config.load import load_config
from pairtile.config.models import Analysis, ConfigModel, InputFile, marked
from pairtile.config.problems import line, problems
from pairtile.config.root import Config
from pairtile.errors import ConfigError
from pairtile.gpu.device import BACKENDS
from pairtile.steps.analysis_run import NAME

SectionMapping: TypeAlias = "Mapping[str, Any]"
"""A section of the configuration, as it would stand there."""

A = TypeVar("A", bound=Analysis)
S = TypeVar("S", bound=ConfigModel)


def analysis_config(
    model: type[A],
    *,
    seed: int = 1,
    backend: str = "auto",
    arguments: Mapping[str, str] | None = None,
    **settings: object,
) -> A:
    """A complete configuration of a method, as its estimator takes it.

    Parameters
    ----------
    model
        The configuration model of the method.
    seed, backend
        Checked with the rest; they are no part of the result.
    arguments
        What the caller's arguments are called, by their keys: ``null.kind`` -> ``null``.
    **settings
        Keys of the model; those left out have the configuration's defaults.

    Raises
    ------
    ValueError
        One line for each fault: ``KEY: found VALUE; expected WHAT``.
    """
    # The model asks for paths; here the values are in memory, and nothing reads them.
    needed = [key for key in marked(model, InputFile) if model.model_fields[key].is_required()]
    section = {"method": model.method_name(), **dict.fromkeys(needed, "in memory"), **settings}
    found = checked_analysis(section, seed, backend, arguments).analyses[NAME]
    assert isinstance(found, model)
    return found


def checked_analysis(
    section: Mapping[str, object],
    seed: int,
    backend: str,
    arguments: Mapping[str, str] | None = None,
) -> Config:
    """A configuration of one analysis; ``arguments`` and errors as of ``analysis_config``."""
    if backend not in BACKENDS:  # the configuration has one more, for runs of several jobs
        raise ValueError(f"backend: found {backend!r}; expected auto, cpu or cuda")
    config = {"seed": seed, "backend": backend, "analyses": {NAME: section}}
    try:
        return load_config(_to_builtin(config))
    except ConfigError as error:
        faults = [_in_words_of_arguments(f, arguments or {}) for f in str(error).splitlines()]
        raise ValueError("\n".join(faults)) from None


def checked_section(model: type[S], settings: Mapping[str, object]) -> S:
    """A section of the configuration by its model; its keys are arguments of the call.

    Raises ValueError, one line for each fault: ``KEY: found VALUE; expected WHAT``.
    """
    plain = _to_builtin(settings)
    try:
        return model.model_validate(plain)
    except ValidationError as error:
        faults = problems(error, plain, model)
    raise ValueError("\n".join(line(".".join(path), (), text) for path, text in faults))


def _to_builtin(value: object) -> Any:
    """numpy's numbers as Python's, and paths as text: the model is strict."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _to_builtin(inner) for key, inner in value.items()}
    return value


def _in_words_of_arguments(fault: str, arguments: Mapping[str, str]) -> str:
    fault = fault.removeprefix("config: ").removeprefix(f"analyses.{NAME}.")
    place, colon, rest = fault.partition(": ")
    for path, argument in arguments.items():
        if f"{place}.".startswith(f"{path}."):
            place = argument + place.removeprefix(path)
        rest = rest.replace(path, argument) if "." in path else rest
    return place + colon + rest
