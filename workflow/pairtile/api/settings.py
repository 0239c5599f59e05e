"""Settings of library calls, checked and completed by the model of the configuration.

So a setting means the same, has the same default and gives the same message in both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from pairtile.config.load import load_config
from pairtile.config.models import (
    Analysis,
    ConfigModel,
    InputFile,
    in_sections,
    marked,
    models_in,
)
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


class Keywords(Generic[A]):
    """Keywords of a library function that are settings: which key of the configuration each is.

    The function has them in its signature, with the defaults and the descriptions of the models
    (``tests/core/test_api_keywords.py`` holds them equal), and gives all its arguments:

        KEYWORDS = Keywords(MutualInformationConfig, "estimator.*", null="null.kind")

        def permutation_null(expression, *, bins="auto", ..., null="auto"):
            config = KEYWORDS.config(locals())

    Parameters
    ----------
    model
        The model of the method.
    *keys
        Keys as they are called in the configuration, with the sections that they are in; the last
        part is the keyword. ``estimator.*``: all keys of a section.
    **renamed
        Keyword -> key, where the two are called otherwise.
    """

    def __init__(self, model: type[A], *keys: str, **renamed: str) -> None:
        self.model = model
        names = {path: name for name, path in renamed.items()}
        self.places: dict[str, str] = {}
        for key in keys:
            section, _, own = key.rpartition(".")
            inner = self._section(section).model_fields if own == "*" else [own]
            for path in (f"{section}.{name}".lstrip(".") for name in inner):
                self.places[names.get(path, path.rpartition(".")[2])] = path

    def config(self, arguments: Mapping[str, Any], **more: object) -> A:
        """The checked model with these arguments of a call, complete.

        None is the default of a key that has another, and True a section with its defaults;
        ``more``: other keys. Raises ValueError, one line for each fault, in words of the keywords.
        """
        given: dict[str, object] = {}
        for name, path in self.places.items():
            value, field = arguments[name], self.field(path)
            if value is None and field.default is not None:
                continue
            if value is True and any(part.model_fields for part in models_in(field.annotation)):
                value = {}
            given[path] = value
        asked = {key: arguments[key] for key in ("seed", "backend") if key in arguments}
        words = {path: name for name, path in self.places.items()}
        return analysis_config(self.model, arguments=words, **asked, **(in_sections(given) | more))

    def field(self, path: str) -> FieldInfo:
        """What the model says of a key."""
        section, _, key = path.rpartition(".")
        return self._section(section).model_fields[key]

    def _section(self, name: str) -> type[Any]:
        return models_in(self.model.model_fields[name].annotation)[0] if name else self.model
