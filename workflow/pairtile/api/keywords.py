"""Keywords of library functions that are settings: which key of the configuration each is.

A function has them in its signature, with the defaults and the descriptions of the models
(``tests/core/test_api_keywords.py`` holds them equal), and gives all its arguments:

    KEYWORDS = Keywords(MutualInformationConfig, "estimator.*", null="null.kind")

    def permutation_null(expression, *, bins="auto", ..., null="auto"):
        config = KEYWORDS.config(locals())
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pydantic.fields import FieldInfo

from pairtile.api.settings import analysis_config
from pairtile.config.models import Analysis, in_sections, models_in

M = TypeVar("M", bound=Analysis)


class Keywords(Generic[M]):
    """The settings of a library function.

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

    def __init__(self, model: type[M], *keys: str, **renamed: str) -> None:
        self.model = model
        names = {path: name for name, path in renamed.items()}
        self.places: dict[str, str] = {}
        for key in keys:
            section, _, own = key.rpartition(".")
            inner = self._section(section).model_fields if own == "*" else [own]
            for path in (f"{section}.{name}".lstrip(".") for name in inner):
                self.places[names.get(path, path.rpartition(".")[2])] = path

    def config(self, arguments: Mapping[str, Any], **more: object) -> M:
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
