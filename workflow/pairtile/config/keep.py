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
from pairtile.config.values import Expected, Exponent, describe, join_list, validation_error

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

    words: ClassVar[tuple[str, ...]]
    forms: ClassVar[tuple[str, ...]]
    """Keys of the model: one, or several that stand together, sorted, as ``fdr top_edges``."""

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
    def describe(cls) -> str:
        """What is allowed, to follow "expected"."""
        written = [
            ", ".join(f"{key}: {'n' if key == 'top_edges' else 'x'}" for key in form.split())
            for form in cls.forms
        ]
        return join_list([*(f"{{{form}}}" for form in written), *cls.words]) + " (one of them)"

    @model_validator(mode="wrap")
    @classmethod
    def _read_form(cls, given: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(given, cls):
            return given
        if isinstance(given, str) and given in cls.words:
            made = handler({})
            made._word = given
            return made
        if not isinstance(given, Mapping) or " ".join(sorted(map(str, given))) not in cls.forms:
            raise validation_error(cls.describe(), [*cls.forms, *cls.words])
        for key, bound in given.items():
            if bound is None:
                raise validation_error(describe(None, cls.model_fields[key].metadata), key=key)
        return handler(given)

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
        forms = [
            {
                "type": "object",
                "properties": {key: known[key] for key in form.split()},
                "required": form.split(),
                "additionalProperties": False,
            }
            for form in cls.forms
        ]
        anything = [*forms, {"enum": [*cls.words], "type": "string"}]
        return {"anyOf": anything, "description": cls.__doc__}
