"""Notes and warnings, declared once in ``messages.toml`` of the room whose code measures them.

A room makes its function with ``message = messages_of(__package__)`` and calls
``message(code, n=3)``. The result is a ``str``, so that log, screen,
record, page, ``pairtile check`` and ``warnings.warn`` of the library all show the same sentence; it
also carries what tests and programs look at: its code, severity and numbers.
"""

from __future__ import annotations

import math
import string
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import Self


class Message(str):
    """A sentence for people, with the code, severity and numbers that it was made from.

    key : the configuration key that cures it; empty where none does.
    """

    code: str
    severity: str
    numbers: dict[str, object]
    key: str

    def __new__(
        cls,
        text: str,
        code: str = "",
        severity: str = "warning",
        numbers: dict[str, object] | None = None,
        key: str = "",
    ) -> Self:
        """Text as it is shown."""
        made = super().__new__(cls, text)
        made.code, made.severity, made.numbers, made.key = code, severity, numbers or {}, key
        return made

    def as_json(self) -> dict[str, object]:
        """For records and ``summary.json``."""
        # JSON has neither NaN nor infinity.
        numbers = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in self.numbers.items()
        }
        return {
            "code": self.code,
            "severity": self.severity,
            "text": str(self),
            "numbers": numbers,
            **({"key": self.key} if self.key else {}),
        }


class _Formatter(string.Formatter):
    """``str.format``, and ``{n:gene|genes}`` for "1 gene" or "1,200 genes"."""

    def format_field(self, value: object, format_spec: str) -> str:
        one, bar, many = format_spec.partition("|")
        if bar:
            return f"{value:,} {one if value == 1 else many}"
        return super().format_field(value, format_spec)


@cache
def declared_messages(package: str) -> dict[str, dict[str, str]]:
    """The content of a room's ``messages.toml``: code -> its fields.

    ``text``: what was found. ``effect``: what it does to the result. ``cure``: what to do, with
    ``key``, the configuration key that does it. ``severity``: ``note`` (what was decided),
    ``warning`` (what a user should look at) or ``severe`` (what makes the result doubtful).

    Raises
    ------
    ValueError
        A field that does not exist, a missing text, or another severity.
    """
    text = resources.files(package).joinpath("messages.toml").read_text(encoding="utf-8")
    declared: dict[str, dict[str, str]] = tomllib.loads(text)
    for code, fields in declared.items():
        if not {"severity", "text"} <= set(fields) <= {"severity", "text", "effect", "cure", "key"}:
            raise ValueError(f"{package}: message {code} has the fields {sorted(fields)}")
        if fields["severity"] not in ("note", "warning", "severe"):
            raise ValueError(f"{package}: message {code} has severity {fields['severity']}")
    return declared


def messages_of(package: str) -> Callable[..., Message]:
    """The function that makes the messages of a room: ``message(code, **numbers)``."""

    def message(code: str, **numbers: object) -> Message:
        fields = declared_messages(package)[code]
        sentences = (fields.get(part, "") for part in ("text", "effect", "cure"))
        text = _Formatter().vformat(" ".join(filter(None, sentences)), (), numbers)
        # Numbers of NumPy as those of Python: JSON holds no others.
        plain = {key: getattr(value, "item", lambda v=value: v)() for key, value in numbers.items()}
        return Message(text, code, fields["severity"], plain, fields.get("key", ""))

    return message


def notes_of(messages: Iterable[Message]) -> list[Message]:
    """Those that say what was decided."""
    return [message for message in messages if message.severity == "note"]


def warnings_of(messages: Iterable[Message]) -> list[Message]:
    """Those that a user should look at."""
    return [message for message in messages if message.severity != "note"]


class HasMessages:
    """What was found out along with a result: one list, of which notes and warnings are parts."""

    messages: list[Message]

    @property
    def notes(self) -> tuple[Message, ...]:
        """What was decided."""
        return tuple(notes_of(self.messages))

    @property
    def warnings(self) -> tuple[Message, ...]:
        """What a user should look at."""
        return tuple(warnings_of(self.messages))
