"""The key ``keep``: which of the scored pairs become edges, read in one way for all methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pairtile.config.models import ConfigModel
from pairtile.config.values import Expected, Exponent, allowed, listed, refusal

Share = Annotated[
    float | None, Field(gt=0, le=1), Expected("a number greater than 0 and at most 1")
]
Number = Annotated[float | None, Expected("a number")]
TopEdges = Annotated[
    Annotated[int, Exponent(), Field(ge=1, le=1_000_000_000)] | None,
    Expected("an integer between 1 and 1000000000"),
]


class Keep(ConfigModel):
    """Which pairs become edges: a word, or bounds that an edge must meet.

    A method extends it with the bounds that it knows, as keys that are None where they ask nothing,
    and with its ``forms``. ``model_validate`` takes a word as it takes a mapping.
    """

    forms: ClassVar[tuple[str, ...]]
    """Words, and keys of the model: one of them, or several that stand together, sorted, as ``fdr
    top_edges``."""

    _word: str = PrivateAttr(default="")

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds that are given, by their keys."""
        return {key: value for key, value in self if value is not None}

    @property
    def rule(self) -> str:
        """The word, or the keys that are given."""
        return self._word or " ".join(self.bounds)

    @property
    def limit(self) -> float | None:
        """The bound, the first where there are several; None for a word."""
        return next(iter(self.bounds.values()), None)

    @classmethod
    def words(cls) -> list[str]:
        """Those of ``forms`` that are words."""
        return [form for form in cls.forms if form.split()[0] not in cls.model_fields]

    @classmethod
    def allowed(cls) -> str:
        """What is allowed, to follow "expected"."""
        written = {form: form for form in cls.words()}
        for form in cls.forms:
            numbers = (f"{key}: {'n' if key == 'top_edges' else 'x'}" for key in form.split())
            written.setdefault(form, f"{{{', '.join(numbers)}}}")
        return listed([written[form] for form in cls.forms]) + " (one of them)"

    @model_validator(mode="wrap")
    @classmethod
    def _read_form(cls, given: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(given, str) and given in cls.words():
            made = handler({})
            made._word = given
            return made
        if isinstance(given, Mapping):
            form = " ".join(sorted(map(str, given)))
            for key in form.split() if form in cls.forms else ():
                if given[key] is None:
                    raise refusal(allowed(None, cls.model_fields[key].metadata), key=key)
            if form in set(cls.forms) - {*cls.words()}:
                return handler(given)
        elif isinstance(given, cls):
            return given
        raise refusal(cls.allowed(), [form for form in cls.forms if " " not in form])

    @model_serializer
    def _as_written(self) -> object:
        return self._word or self.bounds

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        known = handler.resolve_ref_schema(handler(schema))["properties"]
        for number in known.values():  # a key that is given is not null
            number["anyOf"] = [kind for kind in number["anyOf"] if kind != {"type": "null"}]
            number.pop("default")
        words, forms = cls.words(), []
        for keys in (form.split() for form in cls.forms if form not in words):
            one = {"properties": {key: known[key] for key in keys}, "required": keys}
            forms.append({"type": "object", **one, "additionalProperties": False})
        anything = [*forms, {"enum": words, "type": "string"}]
        return {"anyOf": anything, "description": cls.__doc__}
