"""Errors whose message is written for the person who runs pairtile.

Scripts print such a message alone, without a traceback, and stop with a non-zero exit code.
Anything else that is raised is a defect of pairtile and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from os import PathLike
from typing import Self

_SHOWN = 1000
"""Characters of a part of a message: what a damaged file holds can be megabytes."""


class PairtileError(Exception):
    """Base of all errors that a user can cause and correct."""

    @classmethod
    def at(cls, file: str | PathLike[str], place: str, found: str, expected: str) -> Self:
        """Build the message: file, line or item, what was found, what is allowed."""
        where = f"{file}: {_legible(place)}" if place else f"{file}"
        return cls(f"{where}: found {_legible(found)}; expected {_legible(expected)}")


class InputError(PairtileError):
    """An input file that cannot be read, or whose content cannot be used."""


class ConfigError(PairtileError):
    """A configuration with unknown keys, wrong types or impossible values."""


class StoreError(PairtileError):
    """A chunk or result file that is missing, damaged, or belongs to another run."""


class DeviceError(PairtileError):
    """A backend that was asked for and cannot be had."""


def require_columns(table: Container[object], columns: Sequence[str], what: str) -> None:
    """Raises ValueError naming the columns that a table of a library call lacks; ``what``: what the
    call names it."""
    if absent := [name for name in columns if name not in table]:
        raise ValueError(
            f"{what}: found no column {', '.join(absent)}; expected {', '.join(columns)}"
        )


def _legible(text: str) -> str:
    """Short enough to be read, and without characters that would upset a terminal."""
    if len(text) > _SHOWN:
        text = f"{text[: _SHOWN // 2]} ... {text[-_SHOWN // 2 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
