"""Messages of a preparation, a network or a table by their codes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from pairtile.declare.messages import Message


def codes(messages: Iterable[str]) -> list[str]:
    """The code of each; empty for plain text."""
    return [getattr(text, "code", "") for text in messages]


def numbers_by_code(*messages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The numbers that each states; plain text has none."""
    return {text.code: text.numbers for text in chain(*messages) if isinstance(text, Message)}
