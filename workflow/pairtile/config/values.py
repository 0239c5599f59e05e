"""Kinds of value that a configuration key can hold: what is allowed, as a check and as text.

Each kind stands in an ``Annotated`` type and makes three things from one statement: the check, the
words of the error message, and the "type" column of config/README.md. All are strict: text is no
number, ``true`` is no 1, 10.5 is no integer. One exception, because YAML 1.1 reads ``1e-5`` (no
decimal point) as text: numbers in exponent notation are taken as the numbers they look like.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, Discriminator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

EXPECTED = "expected"
"""Error type whose message is what is allowed, in words."""

EXPONENT_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]{1,3}$"
"""What YAML 1.1 takes for text and everybody else for a number."""

# No control characters, no blanks at the ends.
_PRINTABLE = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"


def refusal(
    expected: str, choices: Sequence[str] = (), key: str | tuple[str, ...] = ""
) -> PydanticCustomError:
    """The error that says what is allowed; ``choices`` are values to suggest when one is near.

    ``key``: which key of a section is at fault, where the check is the whole section's; ``a/b``
    is key b within a; a tuple, where keys may hold a stroke.
    """
    context = {"expected": expected, "choices": " ".join(choices), "key": key}
    return PydanticCustomError(EXPECTED, "{expected}", context)


def listed(words: Sequence[str], last: str = "or") -> str:
    """``a, b or c``."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Value(ABC):
    """A kind of value: ``allowed`` in words, ``schema`` as check."""

    @abstractmethod
    def allowed(self, annotation: Any) -> str:
        """What is allowed, to follow "expected". ``annotation``: the type that it stands beside."""

    def choices(self, annotation: Any) -> Sequence[str]:
        """Texts that the value can be."""
        return ()

    @abstractmethod
    def schema(self, annotation: Any) -> CoreSchema:
        """The check, without its message."""

    def __get_pydantic_core_schema__(
        self, annotation: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.custom_error_schema(
            self.schema(annotation),
            custom_error_type=EXPECTED,
            custom_error_message="{expected}",
            custom_error_context={
                "expected": self.allowed(annotation),
                "choices": " ".join(self.choices(annotation)),
            },
        )


@dataclass(frozen=True)
class Expected:
    """A description for a key whose own type checks it: one with several forms, say."""

    text: str

    def allowed(self, annotation: Any) -> str:
        return self.text

    def __get_pydantic_core_schema__(
        self, annotation: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return handler(annotation)


@dataclass(frozen=True)
class Integer(Value):
    """An integer from ``low`` to ``high``, or the word ``word`` (words: ``none, auto``).

    exponent : take 1e6 and 1.0e+6 as 1000000 too (for keys that hold large numbers).
    high_text : how to name the upper limit where another key sets a lower one.
    optional : null means none.
    """

    low: int
    high: int
    word: str = ""
    exponent: bool = False
    high_text: str = ""
    optional: bool = False

    def allowed(self, annotation: Any) -> str:
        text = f"an integer between {self.low} and {self.high_text or self.high}"
        text = f"{self.word} or {text}" if self.word else text
        return f"{text}, or null" if self.optional else text

    def choices(self, annotation: Any) -> Sequence[str]:
        return self.word.split(", ") if self.word else ()

    def schema(self, annotation: Any) -> CoreSchema:
        schema: CoreSchema = core_schema.int_schema(strict=True, ge=self.low, le=self.high)
        if self.exponent:
            schema = _or_exponent(schema, whole=True)
        schema = _or_literals(schema, self.choices(annotation))
        return core_schema.nullable_schema(schema) if self.optional else schema


@dataclass(frozen=True)
class Number(Value):
    """A finite number, or the word ``word``; ``low`` and ``high`` are allowed themselves, ``above``
    and ``below`` not.

    ``optional``: null means none.
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    word: str = ""
    optional: bool = False

    def allowed(self, annotation: Any) -> str:
        phrases = (
            ("greater than", self.above),
            ("of at least", self.low),
            ("less than", self.below),
            ("at most", self.high),
        )
        bounds = " and ".join(f"{phrase} {x:g}" for phrase, x in phrases if x is not None)
        text = f"a number {bounds}".rstrip() + (", or null" if self.optional else "")
        return f"{self.word} or {text}" if self.word else text

    def choices(self, annotation: Any) -> Sequence[str]:
        return (self.word,) if self.word else ()

    def schema(self, annotation: Any) -> CoreSchema:
        number = core_schema.float_schema(
            strict=True,
            allow_inf_nan=False,
            ge=self.low,
            le=self.high,
            gt=self.above,
            lt=self.below,
        )
        schema = _or_literals(_or_exponent(number, whole=False), self.choices(annotation))
        return core_schema.nullable_schema(schema) if self.optional else schema


@dataclass(frozen=True)
class Choice(Value):
    """One of the texts of the ``Literal`` that it stands beside."""

    def allowed(self, annotation: Any) -> str:
        return listed(get_args(annotation))

    def choices(self, annotation: Any) -> Sequence[str]:
        return get_args(annotation)

    def schema(self, annotation: Any) -> CoreSchema:
        return core_schema.literal_schema(list(get_args(annotation)))


@dataclass(frozen=True)
class Boolean(Value):
    """``true`` or ``false``, or the word ``word``."""

    word: str = ""

    def allowed(self, annotation: Any) -> str:
        return listed([*self.choices(annotation), "true", "false"])

    def choices(self, annotation: Any) -> Sequence[str]:
        return (self.word,) if self.word else ()

    def schema(self, annotation: Any) -> CoreSchema:
        return _or_literals(core_schema.bool_schema(strict=True), self.choices(annotation))


@dataclass(frozen=True)
class Text(Value):
    """A line of text: ``what`` says of what. ``optional``: null means none."""

    what: str
    optional: bool = False

    def allowed(self, annotation: Any) -> str:
        text = f"{self.what} (text)"
        return f"{text} or null" if self.optional else text

    def schema(self, annotation: Any) -> CoreSchema:
        text: CoreSchema = core_schema.str_schema(strict=True, pattern=_PRINTABLE)
        return core_schema.nullable_schema(text) if self.optional else text


def _or_literals(schema: CoreSchema, literals: Sequence[str]) -> CoreSchema:
    if not literals:
        return schema
    return core_schema.union_schema([core_schema.literal_schema(list(literals)), schema])


def _or_exponent(schema: CoreSchema, whole: bool) -> CoreSchema:
    def as_number(value: Any) -> Any:
        number = value
        if isinstance(value, str) and re.match(EXPONENT_NUMBER, value):
            number = float(value)
        if whole and isinstance(number, float) and number.is_integer():
            number = int(number)
        return number

    text = core_schema.str_schema(pattern=EXPONENT_NUMBER)
    return core_schema.no_info_before_validator_function(
        as_number, schema, json_schema_input_schema=core_schema.union_schema([schema, text])
    )


def model_or_false(section: type[BaseModel]) -> Discriminator:
    """Distinguishes ``false`` from a mapping, and refuses all else."""

    tag = f"<{section.__name__.lower()}>"

    def form(value: Any) -> str | None:
        if value is False:
            return "<false>"
        return tag if isinstance(value, Mapping | section) else None

    return Discriminator(
        form,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={"expected": model_or_false_form(section), "choices": ""},
    )


def model_or_false_form(section: type[BaseModel]) -> str:
    """What is allowed, in words."""
    return f"false, or a mapping with keys {listed(tuple(section.model_fields), 'and')}"
