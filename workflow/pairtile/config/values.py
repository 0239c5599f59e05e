"""What the type of a configuration key allows, in words.

Types are pydantic's own: ``Literal``, ``bool``, ``Annotated[int, Field(ge=1, le=64)]``. They are
the check; ``describe`` makes of them the words of the error message and the "type" column of
config/README.md. ``Text`` and ``Expected`` say what such a type does not. All are strict: text is
no number, ``true`` is no 1, 10.5 is no integer. One exception, because YAML 1.1 reads ``1e-5`` (no
decimal point) as text: numbers in exponent notation are taken as the numbers they look like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

T = TypeVar("T")

EXPECTED = "expected"
"""Error type whose message is what is allowed, in words."""

EXPONENT_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]{1,3}$"
"""What YAML 1.1 takes for text and everybody else for a number."""

# No control characters, no blanks at the ends.
_PRINTABLE = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"


def validation_error(
    expected: str, choices: Sequence[str] = (), key: str | tuple[str, ...] = ""
) -> PydanticCustomError:
    """The error that says what is allowed; ``choices`` are values to suggest when one is near.

    ``key``: which key of a section is at fault, where the check is the whole section's; ``a/b``
    is key b within a; a tuple, where keys may hold a stroke.
    """
    context = {"expected": expected, "choices": " ".join(choices), "key": key}
    return PydanticCustomError(EXPECTED, "{expected}", context)


def join_list(words: Sequence[str], last: str = "or") -> str:
    """``a, b or c``."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@dataclass(frozen=True)
class Text:
    """A line of text: ``what`` says of what. ``optional``: null means none."""

    what: str
    optional: bool = False

    def describe(self) -> str:
        """What is allowed, to follow "expected"."""
        text = f"{self.what} (text)"
        return f"{text} or null" if self.optional else text

    def __get_pydantic_core_schema__(
        self, annotation: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        text: CoreSchema = core_schema.str_schema(strict=True, pattern=_PRINTABLE)
        schema = core_schema.nullable_schema(text) if self.optional else text
        return _with_message(schema, self.describe())


@dataclass(frozen=True)
class Expected:
    """The words for a key of which its type does not say enough: one with several forms, say."""

    text: str

    def describe(self) -> str:
        return self.text


class FullDescription(Expected):
    """The words for a key whose type they describe whole: the one message, whatever is wrong in
    the value."""

    def __get_pydantic_core_schema__(
        self, annotation: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _with_message(handler(annotation), self.text)


def _with_message(schema: CoreSchema, text: str) -> CoreSchema:
    return core_schema.custom_error_schema(
        schema,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={"expected": text},
    )


def as_list(value: object) -> object:
    """A text stands for a list of one."""
    return [value] if isinstance(value, str) else value


def each_once(values: Sequence[T]) -> Sequence[T]:
    """Refuse what is there twice."""
    for n, value in enumerate(values):
        if value in values[:n]:
            raise validation_error(f"each once, but {value!r} is there twice")
    return values


def null_is_empty(value: object) -> object:
    """null stands for a mapping of nothing."""
    return {} if value is None else value


class Exponent:
    """Marks an integer that may be written as 1e6 or 1.0e+6: one that is often large."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return or_exponent(handler(schema))


def or_exponent(number: JsonSchemaValue) -> JsonSchemaValue:
    """The JSON schema of a number that may be text in exponent notation."""
    return {"anyOf": [number, {"pattern": EXPONENT_NUMBER, "type": "string"}]}


# --- what a type allows ---


def describe(annotation: object, facts: Iterable[object] = ()) -> str:
    """What a key of this type can hold, in words, to follow "expected"; "" for a section.

    ``facts``: what stands beside the type (``FieldInfo.metadata``).
    """
    phrases: list[str] = []
    null = ""
    for part, known in _forms(annotation, facts):
        for fact in (*known, part):
            if hasattr(fact, "describe"):
                return str(fact.describe())
        bounds = {
            key: getattr(fact, key) for key in _BOUNDS for fact in known if hasattr(fact, key)
        }
        if get_origin(part) is Literal:
            phrases += map(str, get_args(part))
        elif part is bool:
            phrases += ["true", "false"]
        elif part is int and bounds.keys() == {"ge", "le"}:
            phrases.append("an integer between {ge} and {le}".format(**bounds))
        elif part in (int, float):
            words = " and ".join(f"{_BOUNDS[key]} {bound:g}" for key, bound in bounds.items())
            phrases.append(f"{'an integer' if part is int else 'a number'} {words}".rstrip())
        elif part is NoneType:
            null = ", or null"
    return join_list(phrases) + null if phrases else ""


_BOUNDS = {"gt": "greater than", "ge": "of at least", "lt": "less than", "le": "at most"}


def words_of(annotation: object) -> list[str]:
    """Texts that a value of this type can be."""
    literals = [part for part, _ in _forms(annotation, ()) if get_origin(part) is Literal]
    return [word for literal in literals for word in get_args(literal) if isinstance(word, str)]


def item_of(annotation: object) -> object:
    """The type of a list's items; None for another type."""
    lists = (part for part, _ in _forms(annotation, ()) if get_origin(part) is tuple)
    return next((get_args(part)[0] for part in lists), None)


def _forms(annotation: object, facts: Iterable[object]) -> Iterator[tuple[object, list[object]]]:
    """The types of a union, or the one, each with what stands beside it."""
    facts = [inner for fact in facts for inner in getattr(fact, "metadata", [fact])]
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _forms(get_args(annotation)[0], [*facts, *get_args(annotation)[1:]])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _forms(part, facts)
    else:
        yield annotation, facts


def read_exponents(value: object, annotation: object, facts: Iterable[object]) -> object:
    """Text in exponent notation as a number, where the type has one that may be written so."""
    for part, known in _forms(annotation, facts):
        if get_origin(part) is tuple and isinstance(value, list | tuple):
            return type(value)(read_exponents(item, get_args(part)[0], ()) for item in value)
        whole = any(isinstance(fact, Exponent) for fact in known)
        if part is float or whole:
            if isinstance(value, str) and re.match(EXPONENT_NUMBER, value):
                value = float(value)
            if whole and isinstance(value, float) and value.is_integer():
                value = int(value)
    return value


def model_or_false(section: type[BaseModel], *words: str) -> Discriminator:
    """Distinguishes ``false``, a mapping and words, by the tags ``<false>``, ``<the model's name>``
    and ``<word>``, and refuses all else."""

    tag = f"<{section.__name__.lower()}>"

    def form(value: object) -> str | None:
        if value is False or (isinstance(value, str) and value in words):
            return f"<{value}>".lower()
        return tag if isinstance(value, Mapping | section) else None

    return Discriminator(
        form,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={
            "expected": model_or_false_form(section, *words),
            "choices": " ".join(words),
        },
    )


def model_or_false_form(section: type[BaseModel], *words: str) -> str:
    """What is allowed, in words."""
    mapping = f"or a mapping with keys {join_list(tuple(section.model_fields), 'and')}"
    return ", ".join([*words, "false", mapping])
