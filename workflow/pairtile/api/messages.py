"""Warnings of library calls: the same that a run of the workflow has."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from pairtile.declare.messages import Message, warnings_of


def issue_warnings(messages: Iterable[Message]) -> list[Message]:
    """Issue each warning among the messages once, at the place that called the library.

    Returns the messages, each once.
    """
    found = list(dict.fromkeys(messages))
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("pairtile."):
        frame, level = frame.f_back, level + 1
    for text in warnings_of(found):
        warnings.warn(text, stacklevel=level)
    return found
