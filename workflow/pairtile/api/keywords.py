"""Keywords of library functions that are settings: they come from the models of the configuration.

A function names its keys once, and ``inspect.signature``, ``help()``, the defaults, the checks, the
words of messages and the types for type checkers (``keyword_types.pyi`` beside the function,
written by ``python -m pairtile.config.describe``) are those of the models:

    KEYWORDS = Keywords(MutualInformationConfig, "estimator.*", null="null.kind")

    @KEYWORDS.signature
    def permutation_null(expression: ExpressionLike, **settings: Unpack[PermutationNull]) -> ...:
        config = KEYWORDS.config(settings)

The function gets all its keywords, those that were not given with their defaults.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from pairtile.api.settings import analysis_config, checked_section
from pairtile.api.table import SampleLabels
from pairtile.config import Analysis, Config
from pairtile.config.keep import Keep
from pairtile.config.models import ConfigModel, models_in
from pairtile.config.preprocess import TableAnalysis
from pairtile.config.values import Expected, Text, allowed, listed

M = TypeVar("M", bound=ConfigModel)
P = ParamSpec("P")
R = TypeVar("R")

TABLE = ("orientation", "layer", "obs")
"""Keywords of functions that take expression in any form."""
SAMPLES = ("series", "time", "step", "batch")
"""Keywords that say what is known of the samples."""
_LABELS = "array-like [shape: (samples,)], mapping or Series, or None"
_WIDTH = 96


class _Call(BaseModel):
    """What a call takes in memory where the configuration has the name of a column, or of a run."""

    series: Annotated[Any, Expected(_LABELS)] = Field(
        default=None,
        description=(
            "Which time course each sample is of: a label for each, in their order, or by the "
            "sample's name. None: one."
        ),
    )
    time: Annotated[Any, Expected(_LABELS)] = Field(
        default=None,
        description=(
            "When each sample was taken: samples are put in this order within their series. None: "
            "they stand in the order of time."
        ),
    )
    step: Annotated[Mapping[str, float] | None, Expected("a mapping, or None")] = Field(
        default=None,
        description=(
            "`{'time': 2, 'tolerance': 0.5}`: how long a step of `time` is; series are cut at "
            "others."
        ),
    )
    batch: Annotated[Any, Expected(_LABELS)] = Field(
        default=None, description="Which batch each sample is of."
    )
    backend: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Where to compute. `auto`: a usable GPU, else all CPU cores."
    )


class Keywords(Generic[M]):
    """The settings of a library function.

    Parameters
    ----------
    model
        The model of the method, or of a section.
    *keys
        Keys as they are called in the configuration, with the sections that they are in; the last
        part is the keyword. ``estimator.*``: all keys of a section. ``seed``, ``backend``, those in
        ``SAMPLES`` and, of methods, those in ``TABLE`` are known to all functions.
    optional
        Keywords whose default is shown as None; so are those of sections, lists and mappings. None
        then is the default of the model.
    defaults
        Of keywords that have another default than their key.
    **renamed
        Keyword -> key, where the two are called otherwise.
    """

    def __init__(
        self,
        model: type[M],
        *keys: str,
        optional: tuple[str, ...] = (),
        defaults: Mapping[str, object] | None = None,
        **renamed: str,
    ) -> None:
        self.model = model
        paths = [
            f"{key[:-1]}{name}" if key.endswith(".*") else key
            for key in keys
            for name in (self._section(key[:-2]) if key.endswith(".*") else [key])
        ]
        names = {path: name for name, path in renamed.items()}
        names = {p: names.get(p, p.rpartition(".")[2]) for p in [*paths, *renamed.values()]}
        self.places = {name: path for path, name in names.items()}
        self.fields = {name: self._field(path) for name, path in self.places.items()}
        self.defaults: dict[str, object] = {}
        self._left_out = set()
        for name, field in self.fields.items():
            default = _in_plain_types(field.get_default())
            if name in optional or isinstance(default, dict | list | tuple):
                self._left_out.add(name)
                default = None
            self.defaults[name] = default
        self.defaults |= defaults or {}

    def config(self, settings: Mapping[str, object], **more: object) -> M:
        """The checked model with these settings, complete; ``more``: other keys of it.

        Raises ValueError, one line for each fault, in words of the keywords.
        """
        nested: dict[str, Any] = {}
        for name, path in self.places.items():
            value = settings[name]
            if path in (*TABLE, *SAMPLES) or (value is None and name in self._left_out):
                continue
            if value is True and self._type(name).startswith("Mapping[str, Any] | bool"):
                value = {}  # the section that `False` turns off, with its defaults
            *sections, key = path.split(".")
            at = nested
            for section in sections:
                at = at.setdefault(section, {})
            at[key] = value
        if not issubclass(self.model, Analysis):
            return checked_section(self.model, nested)
        arguments = {path: name for name, path in self.places.items()}
        return analysis_config(self.model, arguments=arguments, **(nested | more))

    def signature(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function with these keywords in place of ``**settings``."""
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        given = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=self._type(name)
            )
            for name, default in self.defaults.items()
        ]
        whole = own.replace(parameters=[*kept, *given])

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in whole.parameters:
                    raise TypeError(
                        f"{function.__name__}() got an unexpected keyword argument {name!r}"
                    )
            for name, default in self.defaults.items():
                kwargs.setdefault(name, default)
            return function(*args, **kwargs)

        checked.__annotations__ = {p.name: p.annotation for p in whole.parameters.values()}
        checked.__annotations__["return"] = own.return_annotation
        checked.__signature__ = whole  # type: ignore[attr-defined]
        checked.keyword_types = self._typed_dict(function.__name__)  # type: ignore[attr-defined]
        head, returns, rest = inspect.cleandoc(function.__doc__ or "").partition("\nReturns\n---")
        checked.__doc__ = head.rstrip() + "\n" + self._about_all() + "\n" + returns + rest
        return checked

    def _section(self, key: str) -> list[str]:
        return list(models_in(self.model.model_fields[key].annotation)[0].model_fields)

    def _field(self, path: str) -> FieldInfo:
        for known in (_Call, self.model, TableAnalysis, Config):
            if path in known.model_fields:
                return known.model_fields[path]
        *sections, key = path.split(".")
        model: type[BaseModel] = self.model
        for section in sections:
            (model,) = models_in(model.model_fields[section].annotation)[:1]
        return model.model_fields[key]

    def _type(self, name: str) -> str:
        field = self.fields[name]
        text = type_text(field.annotation)
        if any(isinstance(kind, Text) and kind.what == "a path" for kind in field.metadata):
            text = text.replace("str", "str | PathLike[str]")
        if self.defaults[name] is None and "None" not in text and text != "Any":
            text += " | None"
        return text

    def _typed_dict(self, function: str) -> str:
        lines = [f"class {function.title().replace('_', '')}Keywords(TypedDict, total=False):"]
        for name in self.fields:
            line = f"    {name}: {self._type(name)}"
            if len(line) > 100:  # as formatters break it
                line = line.replace("[", "[\n        ").replace(", ", ",\n        ")
                line = line.replace("]", ",\n    ]")
            lines.append(line)
        return "\n".join(lines) + "\n"

    def _about_all(self) -> str:
        return "\n".join(line for name in self.fields for line in self._about(name))

    def _about(self, name: str) -> Iterator[str]:
        """What the model says of a keyword, as a section "Parameters" has it."""
        field = self.fields[name]
        kind = allowed(field.annotation, field.metadata)
        text = field.description or ""
        default = _in_plain_types(field.get_default())
        if name in self._left_out and default and kind:
            text += f" None: `{default!r}`."
        for path, argument in {p: n for n, p in self.places.items() if "." in p}.items():
            text = text.replace(path, argument)
        if not kind:
            (section,) = models_in(field.annotation)
            kind = f"a mapping with keys {listed(list(section.model_fields), 'and')}, or None"
        yield f"{name} : {_in_python(kind)}"  # parsers of docstrings want it in one line
        for line in textwrap.wrap(_in_python(text), _WIDTH - 4, break_on_hyphens=False):
            yield "    " + line


def table_keywords(settings: Mapping[str, object]) -> dict[str, Any]:
    """Those in ``TABLE``."""
    return {name: settings[name] for name in TABLE}


def label_keywords(settings: Mapping[str, object]) -> SampleLabels:
    """What is known of the samples, as ``label_table`` takes it."""
    return {name: settings[name] for name in SAMPLES if name != "step"}


def type_text(annotation: object) -> str:
    """The type of a key as the type of a keyword: sections are mappings, lists any sequence."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(parts[0])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(" | ".join(map(type_text, parts)).split(" | ")))
    if origin is Literal:
        return "bool" if parts == (False,) else f"Literal[{', '.join(map(repr_of, parts))}]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "Mapping[str, Any]" + " | str" * issubclass(annotation, Keep)
    if origin in (tuple, list):
        return "Sequence[Any]"
    if origin is dict:
        return "Mapping[str, Any]"
    if origin is not None:  # a mapping
        return str(annotation).replace("collections.abc.", "")
    return "None" if annotation is NoneType else getattr(annotation, "__name__", "Any")


def repr_of(value: object) -> str:
    """With the quotes that formatters of Python take."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _in_plain_types(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _in_python(text: str) -> str:
    """What a description of a key calls true, false and null."""
    text = re.sub(r"(?<![`\w.])null(?=[:;]|$)|(?<=or )null\b|(?<=as )null\b", "None", text)
    return re.sub(r"\b(true|false)(?=[:`,;.)]| or\b|$)", lambda m: m[0].title(), text)
